//! Functions that the planner crates don't have: row by row on SQL's values, with the meaning that `godwit-types` gives
//! them. NULL if an argument is NULL.

use std::sync::Arc;

use arrow_schema::DataType;
use datafusion_common::arrow::array::new_empty_array;
use datafusion_common::{Result as PlanResult, ScalarValue};
use datafusion_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use godwit_common::{Error, Result, SqlState};
use godwit_plan::Arithmetic;
use godwit_types::calendar::{MICROS_PER_DAY, civil_from_days};
use godwit_types::interval::{IntervalUnit, time_add, timestamp_diff};
use godwit_types::{Interval, SqlType, Value};

use crate::binder::external;
use crate::bridge::types::{arrow_type, scalar, value_at};

/// What a function computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Computation {
    /// Fails with its argument as message.
    Fail,
    /// Boundaries of a unit between two timestamps.
    DateDifference,
    /// Arithmetic of dates, times and intervals that Arrow has no kernel for.
    Arithmetic(Arithmetic),
    /// A cast that Arrow hasn't, or makes another value of.
    Cast {
        /// NULL in place of an error.
        lenient: bool,
    },
}

/// A function with its types.
#[derive(Debug, PartialEq, Eq, Hash)]
struct RowFunction {
    name: &'static str,
    computation: Computation,
    arguments: Vec<SqlType>,
    result: SqlType,
    result_type: DataType,
    signature: Signature,
}

/// `error(message)`.
pub(super) fn error() -> Arc<ScalarUDF> {
    // Not while planning: it would fail though no row comes by.
    function("error", Computation::Fail, vec![SqlType::Varchar], SqlType::Varchar, Volatility::Stable)
}

/// `date_diff(unit, start, end)`.
pub(super) fn date_difference() -> Arc<ScalarUDF> {
    let arguments = vec![SqlType::Varchar, SqlType::Timestamp, SqlType::Timestamp];
    function("date_diff", Computation::DateDifference, arguments, SqlType::BigInt, Volatility::Immutable)
}

/// Arithmetic that is computed row by row; `None` if Arrow has a kernel with the same meaning.
pub(in crate::bridge) fn arithmetic(
    op: Arithmetic,
    left: &SqlType,
    right: &SqlType,
    result: &SqlType,
) -> Option<Arc<ScalarUDF>> {
    use SqlType::{Date, Interval, Time};
    let is_ours = match (left, right) {
        (Date, Date) => false,
        (Date, other) | (other, Date) => other.is_integer() || *other == Time,
        (Time, _) | (_, Time) => true,
        (Interval, other) | (other, Interval) => other.is_numeric(),
        _ => op == Arithmetic::Subtract && left.is_timestamp() && right.is_timestamp(),
    };
    let arguments = vec![left.clone(), right.clone()];
    let computation = Computation::Arithmetic(op);
    is_ours.then(|| function(op.symbol(), computation, arguments, result.clone(), Volatility::Immutable))
}

/// A cast that is computed row by row; `None` if the executor's has the same meaning.
pub(in crate::bridge) fn cast(from: &SqlType, to: &SqlType, lenient: bool) -> Option<Arc<ScalarUDF>> {
    use SqlType::{Bit, Blob, Enum, Interval, Json, Time, Uuid, Varchar};
    let is_stand_in = |ty: &SqlType| matches!(ty, Uuid | Json | Bit | Enum(_));
    let is_ours = match (from, to) {
        (Uuid | Json | Bit | Enum(_), Varchar) => false,
        (Interval, Varchar | Time) | (Varchar | Time, Interval) | (Blob, Varchar) | (Varchar, Blob) => true,
        (nested, Varchar) | (Varchar, nested) if nested.is_nested() => true,
        (SqlType::Struct(_), SqlType::Struct(_)) => true,
        _ => is_stand_in(from) || is_stand_in(to),
    };
    let volatility = Volatility::Immutable;
    is_ours.then(|| function("cast", Computation::Cast { lenient }, vec![from.clone()], to.clone(), volatility))
}

fn function(
    name: &'static str,
    computation: Computation,
    arguments: Vec<SqlType>,
    result: SqlType,
    volatility: Volatility,
) -> Arc<ScalarUDF> {
    let arrow = |ty: &SqlType| arrow_type(ty).expect("the functions above take types that Arrow has");
    let signature = Signature::exact(arguments.iter().map(arrow).collect(), volatility);
    let result_type = arrow(&result);
    Arc::new(ScalarUDF::from(RowFunction { name, computation, arguments, result, result_type, signature }))
}

impl RowFunction {
    fn compute(&self, values: &[Value]) -> Result<Value> {
        if values.iter().any(Value::is_null) {
            return Ok(Value::Null);
        }
        match (self.computation, values) {
            (Computation::Fail, [Value::Text(message)]) => Err(Error::user(message.as_ref())),
            (Computation::DateDifference, [Value::Text(unit), Value::Timestamp(start), Value::Timestamp(end)]) => {
                date_diff(unit, *start, *end).map(|count| Value::Integer(count.into()))
            }
            (Computation::Arithmetic(op), [left, right]) => {
                calculate(op, left, right).ok_or_else(|| self.out_of_range())
            }
            (Computation::Cast { lenient }, [value]) => {
                match godwit_types::cast_value(value, &self.arguments[0], &self.result) {
                    Err(_) if lenient => Ok(Value::Null),
                    cast => cast,
                }
            }
            _ => Err(Error::internal(format!("{} of other types than its own", self.name))),
        }
    }

    fn out_of_range(&self) -> Error {
        let error = Error::user(format!("the {} that {} gives is out of range", self.result, self.name));
        error.with_code(SqlState::DATETIME_FIELD_OVERFLOW)
    }
}

impl ScalarUDFImpl for RowFunction {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _arguments: &[DataType]) -> PlanResult<DataType> {
        Ok(self.result_type.clone())
    }

    fn invoke_with_args(&self, call: ScalarFunctionArgs) -> PlanResult<ColumnarValue> {
        let columns = ColumnarValue::values_to_arrays(&call.args)?;
        let rows = columns.first().map_or(0, |column| column.len());
        if rows == 0 {
            return Ok(ColumnarValue::Array(new_empty_array(&self.result_type)));
        }
        let mut results = Vec::with_capacity(rows);
        for row in 0..rows {
            let values = columns.iter().zip(&self.arguments).map(|(column, ty)| value_at(column, row, ty));
            let values: Option<Vec<Value>> = values.collect();
            let values = values.ok_or_else(|| external(Error::internal("an argument of another type")))?;
            let result = self.compute(&values).and_then(|value| scalar(&value, &self.result));
            results.push(result.map_err(external)?);
        }
        ScalarValue::iter_to_array(results).map(ColumnarValue::Array)
    }
}

/// `None` if the result is out of range.
fn calculate(op: Arithmetic, left: &Value, right: &Value) -> Option<Value> {
    use Arithmetic::{Add, Divide, Multiply, Subtract};
    Some(match (op, left, right) {
        (Subtract, Value::Timestamp(end), Value::Timestamp(start)) => Value::Interval(timestamp_diff(*end, *start)?),
        (Subtract, Value::Time(end), Value::Time(start)) => {
            Value::Interval(Interval { months: 0, days: 0, micros: end - start })
        }
        (Add, Value::Time(time), Value::Interval(interval)) | (Add, Value::Interval(interval), Value::Time(time)) => {
            Value::Time(time_add(*time, *interval))
        }
        (Subtract, Value::Time(time), Value::Interval(interval)) => {
            Value::Time(time_add(*time, Interval { micros: interval.micros.checked_neg()?, ..Interval::default() }))
        }
        (Add, Value::Date(date), Value::Time(time)) | (Add, Value::Time(time), Value::Date(date)) => {
            Value::Timestamp(i64::from(*date).checked_mul(MICROS_PER_DAY)?.checked_add(*time)?)
        }
        (Add, Value::Date(date), Value::Integer(days)) | (Add, Value::Integer(days), Value::Date(date)) => {
            Value::Date(i32::try_from(i128::from(*date).checked_add(*days)?).ok()?)
        }
        (Subtract, Value::Date(date), Value::Integer(days)) => {
            Value::Date(i32::try_from(i128::from(*date).checked_sub(*days)?).ok()?)
        }
        (Multiply, Value::Interval(interval), Value::Float(factor))
        | (Multiply, Value::Float(factor), Value::Interval(interval)) => {
            Value::Interval(interval.checked_mul(*factor)?)
        }
        (Divide, Value::Interval(interval), Value::Float(divisor)) => Value::Interval(interval.checked_div(*divisor)?),
        _ => return None,
    })
}

/// How many boundaries of a unit lie between two timestamps.
fn date_diff(unit: &str, start: i64, end: i64) -> Result<i64> {
    let Some(unit) = IntervalUnit::from_name(unit) else {
        let error = Error::user(format!("date_diff knows no unit {unit}")).with_code(SqlState::INVALID_PARAMETER_VALUE);
        return Err(error.with_hint("units are year, quarter, month, week, day, hour, minute, second"));
    };
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
