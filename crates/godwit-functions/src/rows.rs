//! Functions of our own that compute one value after the other, with the meaning that `godwit-types` gives them.

use std::sync::{Arc, LazyLock};

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction, ScalarFunction, ScalarMatch, Volatility};
use godwit_types::calendar::{MICROS_PER_DAY, civil_from_days};
use godwit_types::{IntervalUnit, SqlType, Value};

use crate::arguments::fits;
use crate::implementation::{ScalarImplementation, ValueFunction};

/// One form of a function of the values of a row; a name may have several, which take another number of arguments each.
#[derive(Clone)]
pub struct RowFunction {
    /// The name.
    pub name: &'static str,
    /// The types of the arguments.
    pub arguments: Vec<SqlType>,
    /// The type of the value.
    pub result: SqlType,
    /// How often a call has to be evaluated.
    pub volatility: Volatility,
    /// Looks at the arguments that are constants, `None` for the others, when a statement is planned.
    pub check: Option<Check>,
    /// The value.
    pub compute: ValueFunction,
}

/// Says why a call can't be right.
pub type Check = Arc<dyn Fn(&[Option<&Value>]) -> Result<()> + Send + Sync>;

/// The functions that need no session.
pub(crate) static BUILT_IN: LazyLock<Vec<RowFunction>> = LazyLock::new(|| {
    vec![
        // Not while planning: it would fail though no row comes by.
        function("error", &[SqlType::Varchar], SqlType::Varchar, Volatility::Stable, fail),
        function("date_diff", &DATE_DIFF, SqlType::BigInt, Volatility::Immutable, date_diff),
        function("datediff", &DATE_DIFF, SqlType::BigInt, Volatility::Immutable, date_diff),
        function("version", &[], SqlType::Varchar, Volatility::Stable, version),
    ]
});

const DATE_DIFF: [SqlType; 3] = [SqlType::Varchar, SqlType::Timestamp, SqlType::Timestamp];

fn function(
    name: &'static str,
    arguments: &[SqlType],
    result: SqlType,
    volatility: Volatility,
    compute: fn(&[Value]) -> Result<Value>,
) -> RowFunction {
    RowFunction { name, arguments: arguments.to_vec(), result, volatility, check: None, compute: Arc::new(compute) }
}

/// The call of one of the forms.
pub(crate) fn resolve(
    forms: &[&RowFunction],
    arguments: &[ArgumentType<'_>],
) -> std::result::Result<ScalarMatch, NoFunction> {
    let takes = |form: &&&RowFunction| {
        form.arguments.len() == arguments.len()
            && arguments.iter().zip(&form.arguments).all(|(argument, ty)| fits(argument, ty))
    };
    let form = forms
        .iter()
        .find(takes)
        .ok_or_else(|| NoFunction::NoMatch { signatures: forms.iter().map(|form| signature(form)).collect() })?;
    if let Some(check) = &form.check {
        let constants: Vec<Option<&Value>> = arguments.iter().map(|argument| argument.value).collect();
        check(&constants)
            .map_err(|error| NoFunction::BadArgument { argument: Some(0), message: error.message().to_owned() })?;
    }
    let function = ScalarFunction {
        name: form.name.into(),
        volatility: form.volatility,
        strict: true,
        may_fail: true,
        implementation: Arc::new(ScalarImplementation::Values(Arc::clone(&form.compute))),
    };
    let nullable = arguments.iter().any(|argument| argument.nullable);
    Ok(ScalarMatch { function, argument_types: form.arguments.clone(), ty: form.result.clone(), nullable })
}

fn signature(form: &RowFunction) -> String {
    let types: Vec<String> = form.arguments.iter().map(SqlType::to_string).collect();
    format!("{}({})", form.name, types.join(", "))
}

fn misplaced(name: &str) -> Error {
    Error::internal(format!("{name} of other types than its own"))
}

/// `error(message)`: fails for each row that comes by.
fn fail(arguments: &[Value]) -> Result<Value> {
    match arguments {
        [Value::Text(message)] => Err(Error::user(message.as_ref())),
        _ => Err(misplaced("error")),
    }
}

fn version(_arguments: &[Value]) -> Result<Value> {
    Ok(Value::text(concat!("Godwit ", env!("CARGO_PKG_VERSION"))))
}

/// `date_diff(unit, start, end)`: how many boundaries of the unit lie between two timestamps.
fn date_diff(arguments: &[Value]) -> Result<Value> {
    let [Value::Text(unit), Value::Timestamp(start), Value::Timestamp(end)] = arguments else {
        return Err(misplaced("date_diff"));
    };
    let Some(unit) = IntervalUnit::from_name(unit) else {
        let error = Error::user(format!("date_diff knows no unit {unit}")).with_code(SqlState::INVALID_PARAMETER_VALUE);
        return Err(error.with_hint("units are year, quarter, month, week, day, hour, minute, second"));
    };
    boundaries(unit, *start, *end).map(|count| Value::Integer(count.into()))
}

fn boundaries(unit: IntervalUnit, start: i64, end: i64) -> Result<i64> {
    let months = |ticks: i64| {
        let civil = civil_from_days(ticks.div_euclid(MICROS_PER_DAY));
        civil.year * 12 + i64::from(civil.month) - 1
    };
    let between = |position: &dyn Fn(i64) -> i64| Ok(position(end) - position(start));
    let every = |micros: i64| between(&|ticks| ticks.div_euclid(micros));
    match unit {
        IntervalUnit::Microsecond => {
            end.checked_sub(start).ok_or_else(|| Error::user("the difference is out of range"))
        }
        IntervalUnit::Millisecond => every(1_000),
        IntervalUnit::Second => every(1_000_000),
        IntervalUnit::Minute => every(60_000_000),
        IntervalUnit::Hour => every(3_600_000_000),
        IntervalUnit::Day => every(MICROS_PER_DAY),
        // 1970-01-01 was a Thursday; weeks begin on Mondays.
        IntervalUnit::Week => between(&|ticks| (ticks.div_euclid(MICROS_PER_DAY) + 3).div_euclid(7)),
        IntervalUnit::Month => between(&months),
        IntervalUnit::Quarter => between(&|ticks| months(ticks).div_euclid(3)),
        IntervalUnit::Year => between(&|ticks| months(ticks).div_euclid(12)),
        IntervalUnit::Decade => between(&|ticks| months(ticks).div_euclid(120)),
        IntervalUnit::Century => between(&|ticks| (months(ticks) - 12).div_euclid(1_200)),
        IntervalUnit::Millennium => between(&|ticks| (months(ticks) - 12).div_euclid(12_000)),
    }
}
