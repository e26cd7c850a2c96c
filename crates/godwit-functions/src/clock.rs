//! Names for the time at which the statement began.

use std::sync::Arc;

use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch, Volatility};
use godwit_types::SqlType;

use crate::arguments::no_match;
use crate::implementation::ScalarImplementation;

/// Names and their types, which determine how much of the time they show.
const CLOCKS: [(&str, SqlType); 11] = [
    ("now", SqlType::TimestampTz),
    ("current_timestamp", SqlType::TimestampTz),
    ("get_current_timestamp", SqlType::TimestampTz),
    ("transaction_timestamp", SqlType::TimestampTz),
    ("statement_timestamp", SqlType::TimestampTz),
    ("localtimestamp", SqlType::Timestamp),
    ("current_date", SqlType::Date),
    ("today", SqlType::Date),
    ("current_time", SqlType::TimeTz),
    ("get_current_time", SqlType::TimeTz),
    ("localtime", SqlType::Time),
];

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    CLOCKS.iter().map(|(name, _)| *name)
}

/// Returns the clock of a name; `None` if there is none.
pub(crate) fn resolve(name: &str, arguments: &[ArgumentType<'_>]) -> Option<Result<ScalarMatch, NoFunction>> {
    let (_, ty) = CLOCKS.iter().find(|(known, _)| *known == name)?;
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
