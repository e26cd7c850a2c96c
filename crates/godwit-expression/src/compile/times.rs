//! Arithmetic of dates, times and intervals.
//!
//! Dates and timestamps are integers inside: integer kernels, with proven ranges, add days to dates, and fixed
//! intervals to both. A constant interval of months moves along the calendar. The rest is computed row by row.

use godwit_common::{Error, Result, SqlState};
use godwit_types::calendar::{MICROS_PER_DAY, days_later};
use godwit_types::interval::{date_add, time_add, timestamp_add, timestamp_diff};
use godwit_types::{Arithmetic, Interval, SqlType, Value};
use godwit_vector::kernels::arithmetic::Arithmetic as Operator;
use godwit_vector::sql::arrow_type;
use godwit_vector::{ColumnType, PhysicalType, ValueRange};

use super::arithmetic::{Operand, operator};
use super::casts::midnight;
use super::checked::Checked;
use super::rows::RowFunction;
use super::values::literal_value;
use crate::arithmetic::{Target, compile_exact, division_by_zero, integer_literal, shortened};
use crate::cast::to_physical;
use crate::temporal::{FINITE_DAYS, FINITE_TICKS, is_proven_finite};
use crate::{Expression, range};

use Arithmetic::{Add, Divide, Multiply, Subtract};

/// Compiles `a op b` to a value of type `ty`.
pub(super) fn compile(op: Arithmetic, operands: [Operand<'_>; 2], ty: &SqlType, text: &str) -> Result<Expression> {
    use SqlType::{BigInt, Date};
    let [(a, a_type), (b, b_type)] = operands;
    match (op, a_type, b_type) {
        (Subtract, Date, Date) => as_integers(op, a, b, &BigInt, text),
        (Add | Subtract, Date, other) if other.is_integer() && is_proven_finite(&a) => {
            as_integers(op, a, b, &Date, text)
        }
        (Add, other, Date) if other.is_integer() && is_proven_finite(&b) => as_integers(op, a, b, &Date, text),
        _ => {
            let is_moment = |ty: &SqlType| *ty == Date || ty.is_timestamp();
            let shifted = match (op, literal_value(&a, a_type), literal_value(&b, b_type)) {
                (Add, Some(Value::Interval(by)), _) if is_moment(b_type) => shift(&b, b_type, Some(by), ty, text)?,
                (Add, _, Some(Value::Interval(by))) if is_moment(a_type) => shift(&a, a_type, Some(by), ty, text)?,
                (Subtract, _, Some(Value::Interval(by))) if is_moment(a_type) => {
                    shift(&a, a_type, by.checked_neg(), ty, text)?
                }
                _ => None,
            };
            match shifted {
                Some(shifted) => Ok(shifted),
                None if *ty == SqlType::Interval || ty.is_datetime() => by_rows(op, (a, a_type), (b, b_type), ty, text),
                None => Err(Error::internal(format!("the plan computes {a_type} {} {b_type}", op.symbol()))),
            }
        }
    }
}

/// The error for results that don't fit their type.
pub(super) fn out_of_range(what: &str, text: &str) -> Error {
    Error::user(format!("{what} overflow in {text}")).with_code(SqlState::DATETIME_FIELD_OVERFLOW)
}

/// Compiles the integer operation on the integers that represent the values.
fn as_integers(op: Arithmetic, a: Expression, b: Expression, ty: &SqlType, text: &str) -> Result<Expression> {
    let logical = arrow_type(ty)?;
    let limit = match ty {
        SqlType::Date => FINITE_DAYS,
        _ => ValueRange::of_type(PhysicalType::natural(&logical)?).expect("times are integers inside"),
    };
    compile_exact(operator(op), a, b, &Target { logical: &logical, limit, what: name_of(ty) }, text)
}

/// The name of a type for messages.
fn name_of(ty: &SqlType) -> &'static str {
    match ty {
        SqlType::Date => "date",
        SqlType::Time | SqlType::TimeTz => "time",
        SqlType::Interval => "interval",
        _ if ty.is_timestamp() => "timestamp",
        _ => "integer",
    }
}

/// Moves a date or timestamp by a constant interval; `None` if this must be computed row by row.
fn shift(
    moment: &Expression,
    from: &SqlType,
    by: Option<Interval>,
    ty: &SqlType,
    text: &str,
) -> Result<Option<Expression>> {
    let Some(by) = by else { return Ok(None) };
    let moment = if *from == SqlType::Date { midnight(moment.clone(), ty, text)? } else { moment.clone() };
    let logical = arrow_type(ty)?;
    if by.months == 0 && is_proven_finite(&moment) {
        let micros = i128::from(by.days) * i128::from(MICROS_PER_DAY) + i128::from(by.micros);
        let target = Target { logical: &logical, limit: FINITE_TICKS, what: "timestamp" };
        return compile_exact(Operator::Add, moment, integer_literal(micros, &logical), &target, text).map(Some);
    }
    let moment = to_physical(&moment, PhysicalType::I64);
    let bound = moment.output().range;
    let moved = |ticks: i128| timestamp_add(i64::try_from(ticks).ok()?, by).map(i128::from);
    let proven = bound.and_then(|bound| Some(range::new(moved(bound.min)?, moved(bound.max)?)));
    let proven = proven.filter(|_| is_proven_finite(&moment));
    let output = ColumnType { logical, physical: PhysicalType::I64, nullable: moment.output().nullable, range: proven };
    let failure = out_of_range("timestamp", &shortened(text));
    let kernel = Checked::new(move |ticks: i64| timestamp_add(ticks, by), failure).failing(proven.is_none());
    Ok(Some(Expression::strict(kernel, vec![moment], output)))
}

fn by_rows(op: Arithmetic, a: Operand<'_>, b: Operand<'_>, ty: &SqlType, text: &str) -> Result<Expression> {
    let ((a, a_type), (b, b_type)) = (a, b);
    let nullable = a.output().nullable || b.output().nullable;
    let (what, shown) = (name_of(ty), shortened(text));
    let function = RowFunction {
        ty: ty.clone(),
        is_strict: true,
        can_fail: true,
        is_volatile: false,
        compute: move |values: &[Value]| {
            if let (Divide, Value::Float(0.0)) = (op, &values[1]) {
                return Err(division_by_zero(&shown));
            }
            compute(op, &values[0], &values[1]).ok_or_else(|| out_of_range(what, &shown))
        },
    };
    function.call(vec![(a, a_type.clone()), (b, b_type.clone())], nullable)
}

/// `None` beyond the range of the result.
fn compute(op: Arithmetic, a: &Value, b: &Value) -> Option<Value> {
    use Value::{Date, Float, Time, TimeTz, Timestamp};
    let time_between = |end: i64, start: i64| Interval { micros: end - start, ..Interval::default() };
    Some(match (op, a, b) {
        (Add, Date(date), Value::Integer(days)) | (Add, Value::Integer(days), Date(date)) => {
            Date(days_later(*date, *days)?)
        }
        (Subtract, Date(date), Value::Integer(days)) => Date(days_later(*date, days.checked_neg()?)?),
        (Add, Date(date), Value::Interval(by)) | (Add, Value::Interval(by), Date(date)) => {
            Timestamp(date_add(*date, *by)?)
        }
        (Subtract, Date(date), Value::Interval(by)) => Timestamp(date_add(*date, by.checked_neg()?)?),
        (Add, Date(date), Time(time)) | (Add, Time(time), Date(date)) => {
            let by = Interval { micros: *time, ..Interval::default() };
            Timestamp(date_add(*date, by)?)
        }
        (Add, Timestamp(at), Value::Interval(by)) | (Add, Value::Interval(by), Timestamp(at)) => {
            Timestamp(timestamp_add(*at, *by)?)
        }
        (Subtract, Timestamp(at), Value::Interval(by)) => Timestamp(timestamp_add(*at, by.checked_neg()?)?),
        (Subtract, Timestamp(end), Timestamp(start)) => Value::Interval(timestamp_diff(*end, *start)?),
        (Add, Time(time), Value::Interval(by)) | (Add, Value::Interval(by), Time(time)) => Time(time_add(*time, *by)),
        (Subtract, Time(time), Value::Interval(by)) => Time(time_add(*time, by.checked_neg()?)),
        (Add, Date(date), TimeTz(time)) | (Add, TimeTz(time), Date(date)) => {
            let by = Interval { micros: time.utc_micros(), ..Interval::default() };
            Timestamp(date_add(*date, by)?)
        }
        (Add, TimeTz(time), Value::Interval(by)) | (Add, Value::Interval(by), TimeTz(time)) => TimeTz(time.after(*by)?),
        (Subtract, TimeTz(time), Value::Interval(by)) => TimeTz(time.after(by.checked_neg()?)?),
        (Subtract, Time(end), Time(start)) => Value::Interval(time_between(*end, *start)),
        (Add, Value::Interval(a), Value::Interval(b)) => Value::Interval(a.checked_add(*b)?),
        (Subtract, Value::Interval(a), Value::Interval(b)) => Value::Interval(a.checked_sub(*b)?),
        (Multiply, Value::Interval(interval), Float(factor)) | (Multiply, Float(factor), Value::Interval(interval)) => {
            Value::Interval(interval.checked_mul(*factor)?)
        }
        (Divide, Value::Interval(interval), Float(divisor)) => Value::Interval(interval.checked_div(*divisor)?),
        _ => return None,
    })
}
