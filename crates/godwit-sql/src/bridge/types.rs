//! SQL's types and values as Arrow's, and back.
//!
//! Arrow has fewer types than SQL: HUGEINT is a decimal of 38 digits there, UUID, JSON, BIT and ENUM are text. So the way
//! there and back doesn't end at the same type: who needs SQL's type keeps it, as the plan does.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};
use datafusion_common::ScalarValue;
use datafusion_common::arrow::array::types::IntervalMonthDayNano;
use datafusion_common::arrow::array::{
    Array, ArrayRef, FixedSizeListArray, ListArray, MapArray, StructArray, new_empty_array, new_null_array,
};
use datafusion_common::arrow::buffer::{NullBuffer, OffsetBuffer};
use godwit_common::{Error, Result};
use godwit_types::{Interval, SqlType, Value, format_value, parse_value};

/// The zone that TIMESTAMP WITH TIME ZONE counts in.
const UTC: &str = "UTC";

const NANOS_PER_MICRO: i64 = 1_000;

/// Arrow's type for values of a type.
pub(crate) fn arrow_type(ty: &SqlType) -> Result<DataType> {
    Ok(match ty {
        SqlType::Unknown => DataType::Null,
        SqlType::Boolean => DataType::Boolean,
        SqlType::TinyInt => DataType::Int8,
        SqlType::SmallInt => DataType::Int16,
        SqlType::Integer => DataType::Int32,
        SqlType::BigInt => DataType::Int64,
        SqlType::HugeInt => DataType::Decimal128(SqlType::DECIMAL_PRECISION_MAX, 0),
        SqlType::UTinyInt => DataType::UInt8,
        SqlType::USmallInt => DataType::UInt16,
        SqlType::UInteger => DataType::UInt32,
        SqlType::UBigInt => DataType::UInt64,
        SqlType::UHugeInt => return Err(unsupported(ty)),
        SqlType::Real => DataType::Float32,
        SqlType::Double => DataType::Float64,
        SqlType::Decimal { precision, scale } => {
            DataType::Decimal128(*precision, i8::try_from(*scale).expect("a scale is at most 38"))
        }
        SqlType::Varchar | SqlType::Bit | SqlType::Uuid | SqlType::Json | SqlType::Enum(_) => DataType::Utf8View,
        SqlType::Blob => DataType::BinaryView,
        SqlType::Date => DataType::Date32,
        SqlType::Time => DataType::Time64(TimeUnit::Microsecond),
        SqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::TimestampS => DataType::Timestamp(TimeUnit::Second, None),
        SqlType::TimestampMs => DataType::Timestamp(TimeUnit::Millisecond, None),
        SqlType::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        SqlType::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        SqlType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
        SqlType::List(element) => DataType::List(element_field(element)?),
        SqlType::Array(element, length) => {
            let length = i32::try_from(*length).map_err(|_| unsupported(ty))?;
            DataType::FixedSizeList(element_field(element)?, length)
        }
        SqlType::Struct(_) => DataType::Struct(struct_fields(ty)?),
        SqlType::Map(entry) => DataType::Map(entries_field(&entry.0, &entry.1)?, false),
    })
}

/// SQL's type for Arrow's; of types that differ only in layout, the same.
pub(crate) fn sql_type(ty: &DataType) -> Result<SqlType> {
    Ok(match ty {
        DataType::Null => SqlType::Unknown,
        DataType::Boolean => SqlType::Boolean,
        DataType::Int8 => SqlType::TinyInt,
        DataType::Int16 => SqlType::SmallInt,
        DataType::Int32 => SqlType::Integer,
        DataType::Int64 => SqlType::BigInt,
        DataType::UInt8 => SqlType::UTinyInt,
        DataType::UInt16 => SqlType::USmallInt,
        DataType::UInt32 => SqlType::UInteger,
        DataType::UInt64 => SqlType::UBigInt,
        DataType::Float16 | DataType::Float32 => SqlType::Real,
        DataType::Float64 => SqlType::Double,
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale) => decimal(*precision, *scale).ok_or_else(|| unreadable(ty))?,
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => SqlType::Varchar,
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => SqlType::Blob,
        DataType::Date32 => SqlType::Date,
        DataType::Date64 => SqlType::Timestamp,
        DataType::Time32(_) | DataType::Time64(_) => SqlType::Time,
        DataType::Timestamp(_, Some(_)) => SqlType::TimestampTz,
        DataType::Timestamp(unit, None) => match unit {
            TimeUnit::Second => SqlType::TimestampS,
            TimeUnit::Millisecond => SqlType::TimestampMs,
            TimeUnit::Microsecond => SqlType::Timestamp,
            TimeUnit::Nanosecond => SqlType::TimestampNs,
        },
        DataType::Interval(_) | DataType::Duration(_) => SqlType::Interval,
        DataType::Dictionary(_, values) => sql_type(values)?,
        DataType::RunEndEncoded(_, values) => sql_type(values.data_type())?,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::ListView(field)
        | DataType::LargeListView(field) => SqlType::list_of(sql_type(field.data_type())?),
        DataType::FixedSizeList(field, length) => {
            let length = u32::try_from(*length).map_err(|_| unreadable(ty))?;
            SqlType::Array(Arc::new(sql_type(field.data_type())?), length)
        }
        DataType::Struct(fields) => {
            let fields = fields.iter().map(|field| Ok((field.name().as_str(), sql_type(field.data_type())?)));
            SqlType::struct_of(fields.collect::<Result<Vec<_>>>()?)
        }
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                SqlType::Map(Arc::new((sql_type(fields[0].data_type())?, sql_type(fields[1].data_type())?)))
            }
            _ => return Err(unreadable(ty)),
        },
        DataType::Union(..) => return Err(unreadable(ty)),
    })
}

/// True if values of both Arrow types are the same to the executor: the types differ in layout at most.
pub(crate) fn is_same(a: &DataType, b: &DataType) -> bool {
    use DataType::{Binary, BinaryView, Dictionary, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    match (a, b) {
        (Dictionary(_, values), other) | (other, Dictionary(_, values)) => is_same(values, other),
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => true,
        (
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_),
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_),
        ) => true,
        _ => a.equals_datatype(b),
    }
}

fn decimal(precision: u8, scale: i8) -> Option<SqlType> {
    // A negative scale stands for zeros before the point.
    let (precision, scale) = match u8::try_from(scale) {
        Ok(scale) => (precision.max(scale), scale),
        Err(_) => (precision.checked_add(scale.unsigned_abs())?, 0),
    };
    (precision <= SqlType::DECIMAL_PRECISION_MAX).then(|| SqlType::decimal(precision, scale))
}

fn element_field(element: &SqlType) -> Result<Arc<Field>> {
    Ok(Arc::new(Field::new_list_field(arrow_type(element)?, true)))
}

fn struct_fields(ty: &SqlType) -> Result<Fields> {
    let fields = ty.fields().expect("only structs have fields");
    fields.iter().map(|field| Ok(Field::new(field.name.as_ref(), arrow_type(&field.ty)?, true))).collect()
}

fn entries_field(key: &SqlType, value: &SqlType) -> Result<Arc<Field>> {
    let key = Field::new("key", arrow_type(key)?, false);
    let value = Field::new("value", arrow_type(value)?, true);
    Ok(Arc::new(Field::new("entries", DataType::Struct(vec![key, value].into()), false)))
}

fn unsupported(ty: &SqlType) -> Error {
    Error::unsupported(format!("values of type {ty}")).with_hint("cast them to HUGEINT or DOUBLE")
}

fn unreadable(ty: &DataType) -> Error {
    Error::unsupported(format!("values of the Arrow type {ty}"))
}

/// A value as a constant of [`arrow_type`].
pub(crate) fn scalar(value: &Value, ty: &SqlType) -> Result<ScalarValue> {
    let data_type = arrow_type(ty)?;
    let of_type = |value: i128| ScalarValue::Decimal128(Some(value), SqlType::DECIMAL_PRECISION_MAX, 0);
    Ok(match (value, ty) {
        (Value::Null, _) => null(&data_type)?,
        (Value::Boolean(value), _) => ScalarValue::Boolean(Some(*value)),
        (Value::Integer(value), SqlType::Decimal { precision, scale }) => {
            let scale = i8::try_from(*scale).expect("a scale is at most 38");
            ScalarValue::Decimal128(Some(*value), *precision, scale)
        }
        (Value::Integer(value), SqlType::HugeInt) => of_type(*value),
        (Value::Integer(position), SqlType::Enum(_)) => text(&format_value(&Value::Integer(*position), ty)),
        (Value::Integer(value), _) => of_type(*value).cast_to(&data_type).map_err(|_| misfit(value, ty))?,
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
            let array = array_of(std::slice::from_ref(value), ty)?;
            ScalarValue::try_from_array(&array, 0).map_err(internal)?
        }
        (Value::UHuge(_), _) => return Err(unsupported(ty)),
    })
}

/// NULL of a type.
pub(crate) fn null(ty: &DataType) -> Result<ScalarValue> {
    ScalarValue::try_new_null(ty).map_err(internal)
}

/// Text as a constant.
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
pub(crate) fn arrow_interval(interval: Interval) -> Result<IntervalMonthDayNano> {
    let nanos = interval.micros.checked_mul(NANOS_PER_MICRO);
    let nanos = nanos.ok_or_else(|| Error::user("the interval's hours are out of range"))?;
    Ok(IntervalMonthDayNano::new(interval.months, interval.days, nanos))
}

/// An interval of Arrow's; what is below a microsecond is cut off.
pub(crate) fn sql_interval(interval: IntervalMonthDayNano) -> Interval {
    let micros = interval.nanoseconds / NANOS_PER_MICRO;
    Interval { months: interval.months, days: interval.days, micros }
}

/// Values of a type as an array.
fn array_of(values: &[Value], ty: &SqlType) -> Result<ArrayRef> {
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
            Arc::new(ListArray::new(Arc::clone(field), offsets, array_of(&elements, element)?, Some(valid)))
        }
        (SqlType::Array(element, length), DataType::FixedSizeList(field, size)) => {
            let padded = |value| match value {
                &Value::Null => vec![Value::Null; *length as usize],
                list => elements_of(list).to_vec(),
            };
            let elements: Vec<Value> = values.iter().flat_map(padded).collect();
            let elements = array_of(&elements, element)?;
            Arc::new(FixedSizeListArray::try_new(Arc::clone(field), *size, elements, Some(valid)).map_err(arrow)?)
        }
        (SqlType::Struct(types), DataType::Struct(fields)) => {
            let field_of = |at: usize| -> Vec<Value> {
                values
                    .iter()
                    .map(|value| if let Value::Struct(parts) = value { parts[at].clone() } else { Value::Null })
                    .collect()
            };
            let columns = types.iter().enumerate().map(|(at, field)| array_of(&field_of(at), &field.ty));
            let columns = columns.collect::<Result<Vec<_>>>()?;
            Arc::new(StructArray::try_new(fields.clone(), columns, Some(valid)).map_err(arrow)?)
        }
        (SqlType::Map(types), DataType::Map(field, _)) => {
            let entries =
                values.iter().flat_map(|value| if let Value::Map(entries) = value { &entries[..] } else { &[] });
            let (keys, mapped): (Vec<Value>, Vec<Value>) = entries.cloned().unzip();
            let DataType::Struct(fields) = field.data_type() else { return Err(unreadable(&data_type)) };
            let columns = vec![array_of(&keys, &types.0)?, array_of(&mapped, &types.1)?];
            let entries = StructArray::try_new(fields.clone(), columns, None).map_err(arrow)?;
            Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries, Some(valid), false).map_err(arrow)?)
        }
        _ => {
            let scalars = values.iter().map(|value| scalar(value, ty)).collect::<Result<Vec<_>>>()?;
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

/// A constant as a value of a type, which is that of the constant or one that it is the stand-in for; `None` if it isn't one
/// of these.
pub(crate) fn value(constant: &ScalarValue, ty: &SqlType) -> Option<Value> {
    if constant.is_null() {
        return Some(Value::Null);
    }
    let data_type = arrow_type(ty).ok()?;
    let constant = match constant.data_type() == data_type {
        true => constant.clone(),
        false => constant.cast_to(&data_type).ok()?,
    };
    Some(match &constant {
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
            SqlType::Uuid | SqlType::Enum(_) => parse_value(value, ty).ok()?,
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
        ScalarValue::List(list) => Value::List(values_of(&list.value(0), ty.element()?)?.into()),
        ScalarValue::FixedSizeList(list) => Value::List(values_of(&list.value(0), ty.element()?)?.into()),
        ScalarValue::Struct(parts) => {
            let part = |(column, field): (&ArrayRef, &godwit_types::StructField)| value_at(column, 0, &field.ty);
            let parts: Option<Vec<Value>> = parts.columns().iter().zip(ty.fields()?).map(part).collect();
            Value::Struct(parts?.into())
        }
        ScalarValue::Map(map) => {
            let SqlType::Map(types) = ty else { return None };
            let entries = map.value(0);
            let keys = values_of(entries.column(0), &types.0)?;
            let mapped = values_of(entries.column(1), &types.1)?;
            Value::Map(keys.into_iter().zip(mapped).collect())
        }
        _ => return None,
    })
}

fn values_of(array: &ArrayRef, ty: &SqlType) -> Option<Vec<Value>> {
    (0..array.len()).map(|row| value_at(array, row, ty)).collect()
}

/// The value in a row of an array.
pub(crate) fn value_at(array: &ArrayRef, row: usize, ty: &SqlType) -> Option<Value> {
    value(&ScalarValue::try_from_array(array, row).ok()?, ty)
}

fn misfit(value: &i128, ty: &SqlType) -> Error {
    Error::internal(format!("{value} is no {ty}"))
}

fn internal(error: datafusion_common::DataFusionError) -> Error {
    Error::internal(error.strip_backtrace())
}

fn arrow(error: arrow_schema::ArrowError) -> Error {
    Error::internal(error.to_string())
}
