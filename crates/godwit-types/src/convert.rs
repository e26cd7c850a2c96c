//! The casts of single values.
//!
//! Rounding: decimals become integers half away from zero, floats half to even, both as in PostgreSQL. A float becomes
//! the DECIMAL of its shortest text: `0.1` stays `0.1`. Timestamps are rounded to coarser units half away from zero.
//! Nothing wraps: a value that doesn't fit is an error that names it and the type.
//!
//! Time zones: values here are in UTC; whatever depends on a session's zone is shifted beforehand.

mod bits;

use std::collections::HashSet;
use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};

use crate::calendar::{MICROS_PER_DAY, SECONDS_PER_DAY, date_of_timestamp, finite_timestamp, is_finite_timestamp};
use crate::calendar::{ticks_per_second, timestamp_of_date};
use crate::cast::{cast_kind, field_sources};
use crate::exact::Exact;
use crate::text::numbers::{Written, read_float, shortest};
use crate::text::{not_a, out_of_range, wrong_length};
use crate::{Interval, SqlType, StructField, TimeTz, Value, format_value, parse_value};

/// Casts a value to another type.
pub fn cast_value(value: &Value, from: &SqlType, to: &SqlType) -> Result<Value> {
    if cast_kind(from, to).is_none() {
        return Err(Error::user(format!("there is no cast from {from} to {to}")).with_code(SqlState::CANNOT_COERCE));
    }
    convert(value, from, to)
}

/// Casts a value between types that are known to have a cast.
fn convert(value: &Value, from: &SqlType, to: &SqlType) -> Result<Value> {
    if value.is_null() || from == to {
        return Ok(value.clone());
    }
    match (value, to) {
        (_, SqlType::Varchar) => Ok(Value::text(format_value(value, from))),
        (Value::Text(bits), _) if *from == SqlType::Bit => bits::read(bits, to),
        (Value::Text(text), _) => parse_value(text, to),
        (_, SqlType::Bit) => bits::of(value, from),
        (Value::List(_) | Value::Struct(_) | Value::Map(_), _) => convert_nested(value, from, to),
        (_, SqlType::Enum(_)) => parse_value(&format_value(value, from), to),
        (_, SqlType::Boolean) => Ok(Value::Boolean(is_true(value))),
        (Value::Boolean(value), _) => number_of(i128::from(*value), to),
        (_, SqlType::Real | SqlType::Double) => to_float(value, from, to),
        (Value::Float(_), _) => from_float(value, from, to),
        (Value::Integer(_) | Value::UHuge(_), _) => {
            let exact = Exact::of_value(value, from).and_then(|exact| exact.to_value(to));
            exact.ok_or_else(|| beyond(value, from, to))
        }
        _ => convert_time(value, from, to),
    }
}

/// Returns the error for a value out of the type's range.
fn beyond(value: &Value, from: &SqlType, to: &SqlType) -> Error {
    out_of_range(&format_value(value, from), to)
}

fn is_true(number: &Value) -> bool {
    match number {
        Value::Integer(value) => *value != 0,
        Value::UHuge(value) => *value != 0,
        Value::Float(value) => *value != 0.0,
        other => unreachable!("{other:?} has no cast to BOOLEAN"),
    }
}

/// Returns a small integer as a number of any type.
fn number_of(value: i128, to: &SqlType) -> Result<Value> {
    convert(&Value::Integer(value), &SqlType::TinyInt, to)
}

fn to_float(value: &Value, from: &SqlType, to: &SqlType) -> Result<Value> {
    let is_real = *to == SqlType::Real;
    let float = match *value {
        Value::Float(value) if is_real => f64::from(value as f32),
        Value::Float(value) => value,
        // Via text, a decimal is rounded only once.
        _ => read_float(&format_value(value, from), to).expect("numbers are written as they are read"),
    };
    let overflows = float.is_infinite() && !matches!(value, Value::Float(value) if value.is_infinite());
    if overflows { Err(beyond(value, from, to)) } else { Ok(Value::Float(float)) }
}

/// Converts to an integer or a DECIMAL.
fn from_float(value: &Value, from: &SqlType, to: &SqlType) -> Result<Value> {
    let Value::Float(float) = *value else { unreachable!("only floats come here") };
    let exact = match to {
        _ if !float.is_finite() => None,
        SqlType::Decimal { scale, .. } => {
            let mut buffer = zmij::Buffer::new();
            let digits = shortest(&mut buffer, float, *from == SqlType::Real);
            Written::parse(digits).and_then(|written| written.rounded(*scale))
        }
        _ => {
            let whole = float.round_ties_even();
            // The cast saturates: such values are out of any range.
            (whole.abs() < u128::MAX as f64).then(|| Exact {
                negative: whole < 0.0,
                magnitude: whole.abs() as u128,
                scale: 0,
            })
        }
    };
    exact.and_then(|exact| exact.to_value(to)).ok_or_else(|| beyond(value, from, to))
}

fn convert_time(value: &Value, from: &SqlType, to: &SqlType) -> Result<Value> {
    let converted = match (value, to) {
        (Value::Date(days), _) => {
            timestamp_of_date(*days, ticks_per_second(to) * SECONDS_PER_DAY).map(Value::Timestamp)
        }
        (Value::Timestamp(ticks), SqlType::Date) => {
            date_of_timestamp(*ticks, ticks_per_second(from) * SECONDS_PER_DAY).map(Value::Date)
        }
        (Value::Timestamp(ticks), SqlType::Time) if !is_finite_timestamp(*ticks) => None,
        (Value::Timestamp(ticks), SqlType::Time) => {
            let per_day = ticks_per_second(from) * SECONDS_PER_DAY;
            let time = i128::from(ticks.rem_euclid(per_day));
            rescaled(time, from, &SqlType::Timestamp).map(|micros| Value::Time(micros % MICROS_PER_DAY))
        }
        (Value::Timestamp(moment), SqlType::TimeTz) => finite_timestamp(*moment)
            .and_then(|micros| TimeTz::new(micros.rem_euclid(MICROS_PER_DAY), 0))
            .map(Value::TimeTz),
        (Value::Time(micros), SqlType::TimeTz) => TimeTz::new(*micros, 0).map(Value::TimeTz),
        (Value::TimeTz(time), SqlType::Time) => Some(Value::Time(time.local_micros())),
        (Value::Timestamp(ticks), _) if !is_finite_timestamp(*ticks) => Some(Value::Timestamp(*ticks)),
        (Value::Timestamp(ticks), _) => rescaled(i128::from(*ticks), from, to).map(Value::Timestamp),
        (Value::Time(micros), SqlType::Interval) => {
            Some(Value::Interval(Interval { micros: *micros, ..Interval::default() }))
        }
        (Value::Interval(interval), SqlType::Time) => Some(Value::Time(interval.micros.rem_euclid(MICROS_PER_DAY))),
        _ => unreachable!("{from} has no cast to {to}"),
    };
    converted.ok_or_else(|| beyond(value, from, to))
}

/// Converts ticks of one timestamp type to those of another.
fn rescaled(ticks: i128, from: &SqlType, to: &SqlType) -> Option<i64> {
    let (from, to) = (i128::from(ticks_per_second(from)), i128::from(ticks_per_second(to)));
    let ticks = if to >= from {
        ticks * (to / from)
    } else {
        let divisor = from / to;
        (ticks + ticks.signum() * (divisor / 2)) / divisor
    };
    i64::try_from(ticks).ok().and_then(finite_timestamp)
}

fn convert_nested(value: &Value, from: &SqlType, to: &SqlType) -> Result<Value> {
    match (value, from, to) {
        (Value::List(values), SqlType::List(from) | SqlType::Array(from, _), _) => {
            if let SqlType::Array(_, length) = to
                && values.len() != *length as usize
            {
                return Err(wrong_length(values.len(), to));
            }
            let element = to.element().expect("lists become lists");
            let values: Result<Arc<[Value]>> = values.iter().map(|value| convert(value, from, element)).collect();
            values.map(Value::List)
        }
        (Value::Struct(values), SqlType::Struct(from), SqlType::Struct(to)) => {
            let sources = field_sources(from, to).expect("the structs have a field in common");
            let field = |(field, source): (&StructField, Option<usize>)| match source {
                Some(source) => convert(&values[source], &from[source].ty, &field.ty),
                None => Ok(Value::Null),
            };
            to.iter().zip(sources).map(field).collect::<Result<_>>().map(Value::Struct)
        }
        (Value::Map(entries), SqlType::Map(parts), SqlType::Map(to_parts)) => {
            let mut keys = HashSet::new();
            let mut converted = Vec::with_capacity(entries.len());
            for (key, entry) in entries.iter() {
                let key = convert(key, &parts.0, &to_parts.0)?;
                if !keys.insert(key.clone()) {
                    return Err(not_a(&format_value(value, from), to).with_hint("two keys become one"));
                }
                converted.push((key, convert(entry, &parts.1, &to_parts.1)?));
            }
            Ok(Value::Map(converted.into()))
        }
        _ => unreachable!("{from} has no cast to {to}"),
    }
}

#[cfg(test)]
mod tests;
