//! Names for the time at which the statement began.

use std::sync::Arc;

use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch, Volatility};
use godwit_scalar::Category;
use godwit_types::SqlType;

use crate::arguments::no_match;
use crate::documented::{self, Documented, function};
use crate::implementation::ScalarImplementation;
use crate::listed::{Listed, ListedKind};

/// Functions and their types, which determine how much of the time they show.
const CLOCKS: &[Documented<&SqlType>] = &[
    function(
        &["now", "current_timestamp", "get_current_timestamp", "transaction_timestamp", "statement_timestamp"],
        &SqlType::TimestampTz,
        "The instant at which the statement began",
    )
    .example("now() = current_timestamp", "true"),
    function(&["localtimestamp"], &SqlType::Timestamp, "The date and time at which the statement began")
        .example("localtimestamp = now()::TIMESTAMP", "true"),
    function(&["current_date", "today"], &SqlType::Date, "The date on which the statement began")
        .example("current_date = now()::DATE", "true"),
    function(
        &["current_time", "get_current_time"],
        &SqlType::TimeTz,
        "The time of day at which the statement began, with its zone",
    )
    .example("typeof(current_time)", "TIME WITH TIME ZONE"),
    function(&["localtime"], &SqlType::Time, "The time of day at which the statement began")
        .example("localtime = localtimestamp::TIME", "true"),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    documented::names(CLOCKS)
}

pub(crate) fn listed() -> impl Iterator<Item = Listed> {
    CLOCKS.iter().map(|function| {
        let signatures = vec![format!("{}()", function.names[0])];
        let listed = Listed::of(function, ListedKind::Scalar, Category::Time.title(), signatures);
        Listed { volatility: Some(Volatility::Stable), ..listed }
    })
}

/// Returns the clock of a name; `None` if there is none.
pub(crate) fn resolve(name: &str, arguments: &[ArgumentType<'_>]) -> Option<Result<ScalarMatch, NoFunction>> {
    let ty = documented::find(CLOCKS, name)?.form;
    if !arguments.is_empty() {
        return Some(Err(no_match(&[format!("{name}()")])));
    }
    let function = ScalarFunction {
        name: name.into(),
        volatility: Volatility::Stable,
        strict: true,
        may_fail: false,
        implementation: Arc::new(ScalarImplementation::Clock),
    };
    Some(Ok(ScalarMatch { function, argument_types: Vec::new(), ty: ty.clone(), nullable: false }))
}
