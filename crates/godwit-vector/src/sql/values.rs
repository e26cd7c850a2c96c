//! Values as vectors and as Arrow arrays.
//!
//! A value says less than its type: a decimal holds only its digits, a label of an ENUM its position. So conversions in
//! both directions take the type.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, FixedSizeListArray, IntervalMonthDayNanoArray, ListArray, MapArray, StructArray, new_empty_array,
    new_null_array,
};
use arrow_buffer::{IntervalMonthDayNano, NullBuffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};
use godwit_common::{Error, Result, SqlState};
use godwit_types::{Interval, SqlType, Value, format_value};

use super::{Reader, arrow_type, column_type};
use crate::{
    Bitmap, Flat, Native, PhysicalType, StrColumn, Vector, from_arrow, in_layout, match_integer_type, to_arrow,
};

const NANOS_PER_MICRO: i64 = 1_000;

/// Converts an interval to Arrow's nanoseconds; fails if it is too long for them.
pub fn arrow_interval(interval: Interval) -> Result<IntervalMonthDayNano> {
    let nanos = interval.micros.checked_mul(NANOS_PER_MICRO).ok_or_else(|| {
        Error::user("the hours of the interval are out of range").with_code(SqlState::DATETIME_FIELD_OVERFLOW)
    })?;
    Ok(IntervalMonthDayNano::new(interval.months, interval.days, nanos))
}

/// Converts an interval of Arrow; fractions of a microsecond are cut off.
pub fn sql_interval(interval: IntervalMonthDayNano) -> Interval {
    let micros = interval.nanoseconds / NANOS_PER_MICRO;
    Interval { months: interval.months, days: interval.days, micros }
}

/// Converts values of a type to an array of its [`arrow_type`].
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
        (SqlType::Interval, _) => {
            let interval = |value: &Value| match value {
                Value::Interval(interval) => arrow_interval(*interval).map(Some),
                _ => Ok(None),
            };
            Arc::new(values.iter().map(interval).collect::<Result<IntervalMonthDayNanoArray>>()?)
        }
        _ => to_arrow(&vector_of_values(values, ty)?, &data_type)?,
    })
}

fn elements_of(value: &Value) -> &[Value] {
    match value {
        Value::List(elements) => elements,
        _ => &[],
    }
}

/// Returns the value of a row of an array whose type is the [`arrow_type`] of the SQL type or another layout of it.
pub fn value_at(array: &ArrayRef, row: usize, ty: &SqlType) -> Result<Value> {
    let single = in_layout(&array.slice(row, 1), &arrow_type(ty)?)?;
    Reader::new(&from_arrow(&single)?, ty)?.value(0)
}

fn arrow(error: ArrowError) -> Error {
    Error::internal(error.to_string())
}

/// Converts values of a type to a vector of its natural physical type.
pub fn vector_of_values(values: &[Value], ty: &SqlType) -> Result<Vector> {
    let validity = Bitmap::from_fn(values.len(), |row| !values[row].is_null());
    Ok(Vector::flat(flat_of(values, ty)?, Some(validity)))
}

fn flat_of(values: &[Value], ty: &SqlType) -> Result<Flat> {
    let physical = column_type(ty, true)?.physical;
    let float = |value: &Value| if let Value::Float(value) = value { *value } else { 0.0 };
    Ok(match physical {
        PhysicalType::Bool => {
            Flat::Bool(values.iter().map(|value| u8::from(*value == Value::Boolean(true))).collect::<Vec<_>>().into())
        }
        PhysicalType::F32 => Flat::F32(values.iter().map(|value| float(value) as f32).collect::<Vec<_>>().into()),
        PhysicalType::F64 => Flat::F64(values.iter().map(float).collect::<Vec<_>>().into()),
        PhysicalType::Str => Flat::Str(StrColumn::from_strings(values.iter().map(|value| bytes_of(value, ty)))),
        PhysicalType::Nested => Flat::Nested(array_of_values(values, ty)?),
        integer => match_integer_type!(integer, T => {
            T::into_flat(values.iter().map(|value| integer_of(value) as T).collect::<Vec<T>>().into())
        }),
    })
}

fn bytes_of<'v>(value: &'v Value, ty: &SqlType) -> Cow<'v, [u8]> {
    match value {
        Value::Null => Cow::Borrowed(&[]),
        Value::Text(text) => Cow::Borrowed(text.as_bytes()),
        Value::Blob(bytes) => Cow::Borrowed(bytes),
        Value::UHuge(number) => Cow::Owned(number.to_be_bytes().into()),
        other => Cow::Owned(format_value(other, ty).into_bytes()),
    }
}

fn integer_of(value: &Value) -> i128 {
    match value {
        Value::Integer(value) => *value,
        Value::Date(days) => i128::from(*days),
        Value::Time(ticks) | Value::Timestamp(ticks) => i128::from(*ticks),
        Value::TimeTz(time) => i128::from(time.to_bits()),
        Value::Null => 0,
        other => unreachable!("{other:?} is no integer inside"),
    }
}
