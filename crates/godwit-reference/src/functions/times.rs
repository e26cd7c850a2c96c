//! Functions of dates and timestamps.

use godwit_common::{Error, Result, SqlState};
use godwit_types::calendar::{Civil, MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, date_of, days_from_civil};
use godwit_types::{SqlType, Value, cast_value};

use super::{Call, Nulls, Scalar, text_of, whole};

pub(super) const FUNCTIONS: &[Scalar] = &[
    Scalar::failing("date_part(VARCHAR, DATE) -> BIGINT", date_part),
    Scalar::failing("date_part(VARCHAR, TIMESTAMP) -> BIGINT", date_part),
    Scalar::failing("date_trunc(VARCHAR, DATE) -> TIMESTAMP", date_trunc),
    Scalar::failing("date_trunc(VARCHAR, TIMESTAMP) -> TIMESTAMP", date_trunc),
    Scalar::failing("make_date(BIGINT, BIGINT, BIGINT) -> DATE", make_date),
    Scalar::with_nulls(Nulls::Never, "now() -> TIMESTAMPTZ", |_| Ok(Value::Timestamp(NOW))),
];

/// The value of `now()` in all tests: 2024-02-29 12:00:00.
const NOW: i64 = 1_709_208_000 * MICROS_PER_SECOND;

/// Splits an argument into its day and the microseconds since midnight.
fn moment(value: &Value, ty: &SqlType) -> Result<(Civil, i64)> {
    let Value::Timestamp(at) = cast_value(value, ty, &SqlType::Timestamp)? else {
        return Err(Error::internal(format!("{value:?} is no {ty}")));
    };
    Ok((civil_from_days(at.div_euclid(MICROS_PER_DAY)), at.rem_euclid(MICROS_PER_DAY)))
}

fn no_field(name: &str) -> Error {
    Error::user(format!("there is no field of dates named {name}")).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

fn date_part(call: &Call<'_>) -> Result<Value> {
    let (date, micros) = moment(&call.args[1], &call.types[1])?;
    let field = text_of(&call.args[0]).to_lowercase();
    let seconds = micros / MICROS_PER_SECOND;
    Ok(Value::Integer(i128::from(match field.as_str() {
        "year" => date.year,
        "quarter" => i64::from((date.month - 1) / 3 + 1),
        "month" => i64::from(date.month),
        "day" => i64::from(date.day),
        "hour" => seconds / 3_600,
        "minute" => seconds / 60 % 60,
        "second" => seconds % 60,
        _ => return Err(no_field(&field)),
    })))
}

fn date_trunc(call: &Call<'_>) -> Result<Value> {
    let (date, micros) = moment(&call.args[1], &call.types[1])?;
    let field = text_of(&call.args[0]).to_lowercase();
    let first_of = |month: u32| Civil { month, day: 1, ..date };
    let within = |unit: i64| micros - micros % unit;
    let (date, micros) = match field.as_str() {
        "year" => (first_of(1), 0),
        "quarter" => (first_of((date.month - 1) / 3 * 3 + 1), 0),
        "month" => (first_of(date.month), 0),
        "day" => (date, 0),
        "hour" => (date, within(3_600 * MICROS_PER_SECOND)),
        "minute" => (date, within(60 * MICROS_PER_SECOND)),
        "second" => (date, within(MICROS_PER_SECOND)),
        _ => return Err(no_field(&field)),
    };
    let midnight = days_from_civil(date).and_then(|days| days.checked_mul(MICROS_PER_DAY));
    midnight.and_then(|midnight| midnight.checked_add(micros)).map(Value::Timestamp).ok_or_else(no_date)
}

fn make_date(call: &Call<'_>) -> Result<Value> {
    let part = |index: usize| u32::try_from(whole(&call.args[index])).map_err(|_| no_date());
    let date = Civil { year: whole(&call.args[0]), month: part(1)?, day: part(2)? };
    days_from_civil(date).and_then(date_of).map(Value::Date).ok_or_else(no_date)
}

fn no_date() -> Error {
    Error::user("there is no such date").with_code(SqlState::DATETIME_FIELD_OVERFLOW)
}
