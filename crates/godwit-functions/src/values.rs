//! Values of SQL as Arrow's scalars and arrays, and back.
//!
//! A value says less than its type: a decimal is its digits, a label of an ENUM its place. So both ways take the type.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, ListArray, MapArray, StructArray, new_empty_array, new_null_array,
};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};
use datafusion_common::{DataFusionError, ScalarValue};
use godwit_common::{Error, Result, SqlState};
use godwit_types::{Interval, SqlType, StructField, Value, format_value, parse_value};

use crate::types::{UTC, arrow_type, unsupported};

const NANOS_PER_MICRO: i64 = 1_000;

/// A value as one of Arrow's, of the type's [`arrow_type`].
pub fn scalar_of_value(value: &Value, ty: &SqlType) -> Result<ScalarValue> {
    let data_type = arrow_type(ty)?;
    let of_type = |value: i128| ScalarValue::Decimal128(Some(value), SqlType::DECIMAL_PRECISION_MAX, 0);
    Ok(match (value, ty) {
        (Value::Null, _) => ScalarValue::try_new_null(&data_type).map_err(internal)?,
        (Value::Boolean(value), _) => ScalarValue::Boolean(Some(*value)),
        (Value::Integer(value), SqlType::Decimal { precision, scale }) => {
            let scale = i8::try_from(*scale).expect("a scale is at most 38");
            ScalarValue::Decimal128(Some(*value), *precision, scale)
        }
        (Value::Integer(value), SqlType::HugeInt) => of_type(*value),
        (Value::Integer(value), SqlType::Integer) => {
            ScalarValue::Int32(Some(i32::try_from(*value).map_err(|_| misfit(*value, ty))?))
        }
        (Value::Integer(value), SqlType::BigInt) => {
            ScalarValue::Int64(Some(i64::try_from(*value).map_err(|_| misfit(*value, ty))?))
        }
        (Value::Integer(value), _) => of_type(*value).cast_to(&data_type).map_err(|_| misfit(*value, ty))?,
        (Value::Float(value), SqlType::Real) => ScalarValue::Float32(Some(*value as f32)),
        (Value::Float(value), _) => ScalarValue::Float64(Some(*value)),
        (Value::Text(value), _) => text(value),
        (Value::Uuid(_), _) => text(&format_value(value, ty)),
        (Value::Blob(bytes), _) => ScalarValue::BinaryView(Some(bytes.to_vec())),
        (Value::Date(days), _) => ScalarValue::Date32(Some(*days)),
        (Value::Time(micros), _) => ScalarValue::Time64Microsecond(Some(*micros)),
        (Value::Timestamp(ticks), _) => timestamp(*ticks, ty),
        (Value::Interval(interval), _) => ScalarValue::IntervalMonthDayNano(Some(arrow_interval(*interval)?)),
        (Value::List(_) | Value::Struct(_) | Value::Map(_), _) => {
            let array = array_of_values(std::slice::from_ref(value), ty)?;
            ScalarValue::try_from_array(&array, 0).map_err(internal)?
        }
        (Value::UHuge(_), _) => return Err(unsupported(ty)),
    })
}

/// Text as a scalar.
pub(crate) fn text(value: &str) -> ScalarValue {
    ScalarValue::Utf8View(Some(value.to_owned()))
}

fn timestamp(ticks: i64, ty: &SqlType) -> ScalarValue {
    match ty {
        SqlType::TimestampS => ScalarValue::TimestampSecond(Some(ticks), None),
        SqlType::TimestampMs => ScalarValue::TimestampMillisecond(Some(ticks), None),
        SqlType::TimestampNs => ScalarValue::TimestampNanosecond(Some(ticks), None),
        SqlType::TimestampTz => ScalarValue::TimestampMicrosecond(Some(ticks), Some(UTC.into())),
        _ => ScalarValue::TimestampMicrosecond(Some(ticks), None),
    }
}

/// An interval in Arrow's nanoseconds; longer ones than these count are refused.
pub fn arrow_interval(interval: Interval) -> Result<IntervalMonthDayNano> {
    let nanos = interval.micros.checked_mul(NANOS_PER_MICRO).ok_or_else(|| {
        Error::user("the hours of the interval are out of range").with_code(SqlState::DATETIME_FIELD_OVERFLOW)
    })?;
    Ok(IntervalMonthDayNano::new(interval.months, interval.days, nanos))
}

/// An interval of Arrow's; what is below a microsecond is cut off.
pub fn sql_interval(interval: IntervalMonthDayNano) -> Interval {
    let micros = interval.nanoseconds / NANOS_PER_MICRO;
    Interval { months: interval.months, days: interval.days, micros }
}

/// Values of a type as an array of its [`arrow_type`].
pub fn array_of_values(values: &[Value], ty: &SqlType) -> Result<ArrayRef> {
    let data_type = arrow_type(ty)?;
    if values.is_empty() {
        return Ok(new_empty_array(&data_type));
    }
    if values.iter().all(Value::is_null) {
        return Ok(new_null_array(&data_type, values.len()));
    }
    let valid: NullBuffer = values.iter().map(|value| !value.is_null()).collect();
    let lengths = values.iter().map(|value| match value {
        Value::List(elements) => elements.len(),
        Value::Map(entries) => entries.len(),
        _ => 0,
    });
    let offsets = OffsetBuffer::from_lengths(lengths);
    Ok(match (ty, &data_type) {
        (SqlType::List(element), DataType::List(field)) => {
            let elements: Vec<Value> = values.iter().flat_map(elements_of).cloned().collect();
            Arc::new(ListArray::new(Arc::clone(field), offsets, array_of_values(&elements, element)?, Some(valid)))
        }
        (SqlType::Array(element, length), DataType::FixedSizeList(field, size)) => {
            let padded = |value| match value {
                &Value::Null => vec![Value::Null; *length as usize],
                list => elements_of(list).to_vec(),
            };
            let elements: Vec<Value> = values.iter().flat_map(padded).collect();
            let elements = array_of_values(&elements, element)?;
            Arc::new(FixedSizeListArray::try_new(Arc::clone(field), *size, elements, Some(valid)).map_err(arrow)?)
        }
        (SqlType::Struct(types), DataType::Struct(fields)) => {
            let field_of = |at: usize| -> Vec<Value> {
                values
                    .iter()
                    .map(|value| if let Value::Struct(parts) = value { parts[at].clone() } else { Value::Null })
                    .collect()
            };
            let columns = types.iter().enumerate().map(|(at, field)| array_of_values(&field_of(at), &field.ty));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            let array = StructArray::try_new_with_length(fields.clone(), columns, Some(valid), values.len());
            Arc::new(array.map_err(arrow)?)
        }
        (SqlType::Map(types), DataType::Map(field, _)) => {
            let entries =
                values.iter().flat_map(|value| if let Value::Map(entries) = value { &entries[..] } else { &[] });
            let (keys, mapped): (Vec<Value>, Vec<Value>) = entries.cloned().unzip();
            let DataType::Struct(fields) = field.data_type() else { unreachable!("the entries of a map are structs") };
            let columns = vec![array_of_values(&keys, &types.0)?, array_of_values(&mapped, &types.1)?];
            let entries = StructArray::try_new(fields.clone(), columns, None).map_err(arrow)?;
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, Some(valid), false).map_err(arrow)?)
        }
        _ => {
            let scalars = values.iter().map(|value| scalar_of_value(value, ty)).collect::<Result<Vec<_>>>()?;
            ScalarValue::iter_to_array(scalars).map_err(internal)?
        }
    })
}

fn elements_of(value: &Value) -> &[Value] {
    match value {
        Value::List(elements) => elements,
        _ => &[],
    }
}

/// One of Arrow's values as a value of a type, which its Arrow type is, stands for, or can be cast to.
pub fn value_of_scalar(scalar: &ScalarValue, ty: &SqlType) -> Result<Value> {
    if scalar.is_null() {
        return Ok(Value::Null);
    }
    let data_type = arrow_type(ty)?;
    let cast = match scalar.data_type() == data_type {
        true => None,
        false => Some(scalar.cast_to(&data_type).map_err(internal)?),
    };
    let scalar = cast.as_ref().unwrap_or(scalar);
    let value = match scalar {
        ScalarValue::Boolean(Some(value)) => Value::Boolean(*value),
        ScalarValue::Int8(Some(value)) => Value::Integer((*value).into()),
        ScalarValue::Int16(Some(value)) => Value::Integer((*value).into()),
        ScalarValue::Int32(Some(value)) => Value::Integer((*value).into()),
        ScalarValue::Int64(Some(value)) => Value::Integer((*value).into()),
        ScalarValue::UInt8(Some(value)) => Value::Integer((*value).into()),
        ScalarValue::UInt16(Some(value)) => Value::Integer((*value).into()),
        ScalarValue::UInt32(Some(value)) => Value::Integer((*value).into()),
        ScalarValue::UInt64(Some(value)) => Value::Integer((*value).into()),
        ScalarValue::Float32(Some(value)) => Value::Float((*value).into()),
        ScalarValue::Float64(Some(value)) => Value::Float(*value),
        ScalarValue::Decimal128(Some(value), ..) => Value::Integer(*value),
        ScalarValue::Utf8View(Some(value)) => match ty {
            SqlType::Uuid => parse_value(value, ty)?,
            _ => Value::text(value.as_str()),
        },
        ScalarValue::BinaryView(Some(bytes)) => Value::Blob(bytes.as_slice().into()),
        ScalarValue::Date32(Some(days)) => Value::Date(*days),
        ScalarValue::Time64Microsecond(Some(micros)) => Value::Time(*micros),
        ScalarValue::TimestampSecond(Some(ticks), _)
        | ScalarValue::TimestampMillisecond(Some(ticks), _)
        | ScalarValue::TimestampMicrosecond(Some(ticks), _)
        | ScalarValue::TimestampNanosecond(Some(ticks), _) => Value::Timestamp(*ticks),
        ScalarValue::IntervalMonthDayNano(Some(interval)) => Value::Interval(sql_interval(*interval)),
        nested => nested_value(nested, ty)?,
    };
    match (value, ty) {
        (Value::Integer(place), SqlType::Enum(labels)) => Ok(Value::Integer(labels.checked_place(place)?)),
        (value, _) => Ok(value),
    }
}

fn nested_value(scalar: &ScalarValue, ty: &SqlType) -> Result<Value> {
    Ok(match (scalar, ty) {
        (ScalarValue::List(list), SqlType::List(element)) => Value::List(values_of(&list.value(0), element)?.into()),
        (ScalarValue::FixedSizeList(list), SqlType::Array(element, _)) => {
            Value::List(values_of(&list.value(0), element)?.into())
        }
        (ScalarValue::Struct(parts), SqlType::Struct(fields)) => {
            let part = |(column, field): (&ArrayRef, &StructField)| value_at(column, 0, &field.ty);
            Value::Struct(parts.columns().iter().zip(fields.iter()).map(part).collect::<Result<_>>()?)
        }
        (ScalarValue::Map(map), SqlType::Map(types)) => {
            let entries = map.value(0);
            let keys = values_of(entries.column(0), &types.0)?;
            let mapped = values_of(entries.column(1), &types.1)?;
            Value::Map(keys.into_iter().zip(mapped).collect())
        }
        _ => return Err(Error::internal(format!("{scalar} is no {ty}"))),
    })
}

fn values_of(array: &ArrayRef, ty: &SqlType) -> Result<Vec<Value>> {
    (0..array.len()).map(|row| value_at(array, row, ty)).collect()
}

/// The value in a row of an array.
pub fn value_at(array: &ArrayRef, row: usize, ty: &SqlType) -> Result<Value> {
    value_of_scalar(&ScalarValue::try_from_array(array, row).map_err(internal)?, ty)
}

fn misfit(value: i128, ty: &SqlType) -> Error {
    Error::internal(format!("{value} is no {ty}"))
}

fn internal(error: DataFusionError) -> Error {
    Error::internal(error.strip_backtrace())
}

fn arrow(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}
