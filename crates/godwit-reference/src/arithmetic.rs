//! `+ - * / %` and negation, by the types in the plan.
//!
//! Results out of the type's range and division by zero are errors, also for floats; a float that grows too large is
//! infinite. NULL gives NULL before anything is computed.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::Arithmetic;
use godwit_types::calendar::{date_of, is_finite_date};
use godwit_types::interval::{date_add, time_add, timestamp_add, timestamp_diff};
use godwit_types::{Interval, SqlType, Value, cast_value};

/// `a op b`.
pub(crate) fn compute(op: Arithmetic, a: (&Value, &SqlType), b: (&Value, &SqlType), ty: &SqlType) -> Result<Value> {
    let ((a, a_type), (b, b_type)) = (a, b);
    match (a, b) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::Float(a), Value::Float(b)) if ty.is_float() => floats(op, *a, *b, ty),
        (Value::Integer(a), Value::Integer(b)) => match (op, ty) {
            (Arithmetic::Divide, _) if !ty.is_integer() => Err(no_operation(op, a_type, b_type)),
            _ => in_range(integers(op, *a, *b)?, ty).ok_or_else(|| out_of_range(ty)),
        },
        (Value::UHuge(a), Value::UHuge(b)) => unsigned(op, *a, *b)?.map(Value::UHuge).ok_or_else(|| out_of_range(ty)),
        _ => times(op, (a, a_type), (b, b_type))?
            .ok_or_else(|| Error::user(format!("{ty} out of range")).with_code(SqlState::DATETIME_FIELD_OVERFLOW)),
    }
}

/// `-a`.
pub(crate) fn negate(value: &Value, ty: &SqlType) -> Result<Value> {
    match value {
        Value::Null => Ok(Value::Null),
        Value::Integer(value) => in_range(value.checked_neg(), ty).ok_or_else(|| out_of_range(ty)),
        Value::UHuge(0) => Ok(Value::UHuge(0)),
        Value::UHuge(_) => Err(out_of_range(ty)),
        Value::Float(value) => Ok(Value::Float(-value)),
        Value::Interval(value) => value.checked_neg().map(Value::Interval).ok_or_else(|| out_of_range(ty)),
        other => Err(Error::internal(format!("{other:?} has no sign"))),
    }
}

/// Converts the value to an integer or decimal type, if it is in range.
pub(crate) fn in_range(value: Option<i128>, ty: &SqlType) -> Option<Value> {
    let value = value?;
    let fits = match ty {
        SqlType::Decimal { precision, .. } => value.unsigned_abs() < 10u128.checked_pow(u32::from(*precision))?,
        _ => ty.integer_range().is_some_and(|(min, max)| (min..=max).contains(&value)),
    };
    fits.then_some(Value::Integer(value))
}

/// Returns the error for numbers out of their type's range.
pub(crate) fn out_of_range(ty: &SqlType) -> Error {
    Error::user(format!("overflow: the value is out of range for {ty}")).with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)
}

/// Returns the error for division by zero.
pub(crate) fn division_by_zero() -> Error {
    Error::user("division by zero").with_code(SqlState::DIVISION_BY_ZERO)
}

fn no_operation(op: Arithmetic, a: &SqlType, b: &SqlType) -> Error {
    Error::internal(format!("the plan computes {a} {} {b}", op.symbol()))
}

fn integers(op: Arithmetic, a: i128, b: i128) -> Result<Option<i128>> {
    Ok(match op {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide | Arithmetic::Modulo if b == 0 => return Err(division_by_zero()),
        Arithmetic::Divide => a.checked_div(b),
        Arithmetic::Modulo => Some(a.wrapping_rem(b)),
    })
}

fn unsigned(op: Arithmetic, a: u128, b: u128) -> Result<Option<u128>> {
    Ok(match op {
        Arithmetic::Add => a.checked_add(b),
        Arithmetic::Subtract => a.checked_sub(b),
        Arithmetic::Multiply => a.checked_mul(b),
        Arithmetic::Divide => Some(a.checked_div(b).ok_or_else(division_by_zero)?),
        Arithmetic::Modulo => Some(a.checked_rem(b).ok_or_else(division_by_zero)?),
    })
}

fn floats(op: Arithmetic, a: f64, b: f64, ty: &SqlType) -> Result<Value> {
    let value = match op {
        Arithmetic::Add => a + b,
        Arithmetic::Subtract => a - b,
        Arithmetic::Multiply => a * b,
        Arithmetic::Divide | Arithmetic::Modulo if b == 0.0 && !a.is_nan() => return Err(division_by_zero()),
        Arithmetic::Divide => a / b,
        Arithmetic::Modulo => a % b,
    };
    Ok(Value::Float(if *ty == SqlType::Real { f64::from(value as f32) } else { value }))
}

/// Computes dates, times and intervals; `None` if out of range.
fn times(op: Arithmetic, a: (&Value, &SqlType), b: (&Value, &SqlType)) -> Result<Option<Value>> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    use Value::{Date, Float, Integer, Time, Timestamp};
    let negated = |interval: Interval| interval.checked_neg();
    Ok(match (op, a.0, b.0) {
        (Add, Date(date), Integer(days)) | (Add, Integer(days), Date(date)) => date_plus(*date, *days),
        (Subtract, Date(date), Integer(days)) => days.checked_neg().and_then(|days| date_plus(*date, days)),
        (Subtract, Date(a), Date(b)) => Some(Integer(i128::from(*a) - i128::from(*b))),
        (Add, Date(date), Time(time)) | (Add, Time(time), Date(date)) => {
            date_add(*date, Interval { micros: *time, ..Interval::default() }).map(Timestamp)
        }
        (Add, Date(date), Value::Interval(interval)) | (Add, Value::Interval(interval), Date(date)) => {
            date_add(*date, *interval).map(Timestamp)
        }
        (Subtract, Date(date), Value::Interval(interval)) => {
            negated(*interval).and_then(|interval| date_add(*date, interval)).map(Timestamp)
        }
        (Add, Timestamp(at), Value::Interval(interval)) | (Add, Value::Interval(interval), Timestamp(at)) => {
            timestamp_add(*at, *interval).map(Timestamp)
        }
        (Subtract, Timestamp(at), Value::Interval(interval)) => {
            negated(*interval).and_then(|interval| timestamp_add(*at, interval)).map(Timestamp)
        }
        (Subtract, Timestamp(a), Timestamp(b)) => timestamp_diff(*a, *b).map(Value::Interval),
        (Add, Time(time), Value::Interval(interval)) | (Add, Value::Interval(interval), Time(time)) => {
            Some(Time(time_add(*time, *interval)))
        }
        (Subtract, Time(time), Value::Interval(interval)) => {
            negated(*interval).map(|interval| Time(time_add(*time, interval)))
        }
        (Subtract, Time(a), Time(b)) => Some(Value::Interval(Interval { micros: a - b, ..Interval::default() })),
        (Add, Value::Interval(a), Value::Interval(b)) => a.checked_add(*b).map(Value::Interval),
        (Subtract, Value::Interval(a), Value::Interval(b)) => a.checked_sub(*b).map(Value::Interval),
        (Multiply, Value::Interval(interval), Float(factor)) | (Multiply, Float(factor), Value::Interval(interval)) => {
            interval.checked_mul(*factor).map(Value::Interval)
        }
        (Divide, Value::Interval(_), Float(0.0)) => return Err(division_by_zero()),
        (Divide, Value::Interval(interval), Float(divisor)) => interval.checked_div(*divisor).map(Value::Interval),
        _ => return Err(no_operation(op, a.1, b.1)),
    })
}

fn date_plus(date: i32, days: i128) -> Option<Value> {
    match is_finite_date(date) {
        true => date_of(i64::try_from(i128::from(date).checked_add(days)?).ok()?).map(Value::Date),
        false => Some(Value::Date(date)),
    }
}

/// Computes `a op b` for operands that still have to be cast; `None` if out of range.
pub(crate) fn compute_cast(
    op: godwit_types::Arithmetic,
    a: (&Value, &SqlType),
    b: (&Value, &SqlType),
) -> Result<Option<(Value, SqlType)>> {
    let types = godwit_types::arithmetic_type(op, a.1, b.1);
    let types = types.ok_or_else(|| Error::internal(format!("the plan computes {op:?} of {} and {}", a.1, b.1)))?;
    let (left, right) = (cast_value(a.0, a.1, &types.left)?, cast_value(b.0, b.1, &types.right)?);
    let op = match op {
        godwit_types::Arithmetic::Add => Arithmetic::Add,
        godwit_types::Arithmetic::Subtract => Arithmetic::Subtract,
        godwit_types::Arithmetic::Multiply => Arithmetic::Multiply,
        godwit_types::Arithmetic::Divide => Arithmetic::Divide,
        godwit_types::Arithmetic::Modulo => Arithmetic::Modulo,
    };
    let value = compute(op, (&left, &types.left), (&right, &types.right), &types.result);
    Ok(value.ok().map(|value| (value, types.result)))
}
