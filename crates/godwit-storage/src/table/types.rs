//! Serialization of column types.
//!
//! ```text
//! number                                     a type without parameters
//! number, digits, unit, zone                 decimals, times
//! number, [length,] field                    lists           field: name, type, may be NULL
//! number, count, fields                      structs
//! number, keys are sorted, field             maps
//! number, count, (key, text)s, type          columns whose SQL type is more than that type
//! ```

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};
use godwit_common::{Error, Result};
use godwit_vector::PhysicalType;

use super::corrupt;
use crate::wire::{Reader, put_bytes, put_u32};

const UNITS: [TimeUnit; 4] = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

/// Types without parameters by their number in the file. Appended to, never reordered.
const PLAIN: [DataType; 23] = [
    DataType::Boolean,
    DataType::Int8,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt8,
    DataType::UInt16,
    DataType::UInt32,
    DataType::UInt64,
    DataType::Float32,
    DataType::Float64,
    DataType::Date32,
    DataType::Date64,
    DataType::Utf8View,
    DataType::BinaryView,
    // Only within nested types; columns use the view types.
    DataType::Utf8,
    DataType::LargeUtf8,
    DataType::Binary,
    DataType::LargeBinary,
    DataType::Null,
    DataType::Interval(IntervalUnit::YearMonth),
    DataType::Interval(IntervalUnit::DayTime),
    DataType::Interval(IntervalUnit::MonthDayNano),
];

/// Numbers of types with parameters.
const DECIMAL: u8 = 64;
const TIMESTAMP: u8 = 65;
const TIMESTAMP_WITH_ZONE: u8 = 66;
const TIME_32: u8 = 67;
const TIME_64: u8 = 68;
const LIST: u8 = 69;
const LARGE_LIST: u8 = 70;
const FIXED_SIZE_LIST: u8 = 71;
const STRUCT: u8 = 72;
const MAP: u8 = 73;
/// Precedes the type of a column with metadata.
const WITH_METADATA: u8 = 74;

/// Maximum depth of nested types: bounds the stack needed for reading hostile bytes.
const NESTING_MAX: usize = 64;

/// Maximum number of fields of a struct in a file.
const FIELDS_MAX: u32 = 1 << 16;

/// Maximum number of metadata entries of a column in a file.
const METADATA_MAX: u32 = 16;

/// The physical type in which a table keeps values of a type: nested ones as bytes.
pub fn stored_type(data_type: &DataType) -> Result<PhysicalType> {
    Ok(match PhysicalType::natural(data_type)? {
        PhysicalType::Nested => PhysicalType::Str,
        natural => natural,
    })
}

/// Fails if tables can't hold columns of this type.
pub(super) fn check(field: &Field) -> Result<()> {
    write(field, &mut Vec::new()).map_err(|_| {
        Error::unsupported(format!("a table with a column {} of type {}", field.name(), field.data_type()))
    })
}

/// Appends the type of a column, with the metadata that refines it.
pub(super) fn write(column: &Field, out: &mut Vec<u8>) -> Result<()> {
    if !column.metadata().is_empty() {
        out.push(WITH_METADATA);
        put_u32(out, column.metadata().len() as u32);
        let mut entries: Vec<_> = column.metadata().iter().collect();
        entries.sort();
        for (key, text) in entries {
            put_bytes(out, key.as_bytes());
            put_bytes(out, text.as_bytes());
        }
    }
    write_within(column.data_type(), 0, out)
}

fn write_within(data_type: &DataType, depth: usize, out: &mut Vec<u8>) -> Result<()> {
    if depth > NESTING_MAX {
        return Err(Error::unsupported(format!("types that are nested {NESTING_MAX} times")));
    }
    let unit = |unit: &TimeUnit| UNITS.iter().position(|known| known == unit).unwrap_or_default() as u8;
    match data_type {
        DataType::Decimal128(precision, scale) => out.extend([DECIMAL, *precision, *scale as u8]),
        DataType::Timestamp(ticks, None) => out.extend([TIMESTAMP, unit(ticks)]),
        DataType::Timestamp(ticks, Some(zone)) => {
            out.extend([TIMESTAMP_WITH_ZONE, unit(ticks)]);
            put_bytes(out, zone.as_bytes());
        }
        DataType::Time32(ticks) => out.extend([TIME_32, unit(ticks)]),
        DataType::Time64(ticks) => out.extend([TIME_64, unit(ticks)]),
        DataType::List(item) => {
            out.push(LIST);
            write_field(item, depth, out)?;
        }
        DataType::LargeList(item) => {
            out.push(LARGE_LIST);
            write_field(item, depth, out)?;
        }
        DataType::FixedSizeList(item, length) => {
            out.push(FIXED_SIZE_LIST);
            put_u32(out, *length as u32);
            write_field(item, depth, out)?;
        }
        DataType::Struct(fields) => {
            out.push(STRUCT);
            put_u32(out, fields.len() as u32);
            fields.iter().try_for_each(|field| write_field(field, depth, out))?;
        }
        DataType::Map(entries, keys_are_sorted) => {
            out.extend([MAP, *keys_are_sorted as u8]);
            write_field(entries, depth, out)?;
        }
        plain => match PLAIN.iter().position(|known| known == plain) {
            Some(number) => out.push(number as u8),
            None => return Err(Error::unsupported(format!("columns of type {plain}"))),
        },
    }
    Ok(())
}

fn write_field(field: &Field, depth: usize, out: &mut Vec<u8>) -> Result<()> {
    put_bytes(out, field.name().as_bytes());
    write_within(field.data_type(), depth + 1, out)?;
    out.push(field.is_nullable() as u8);
    Ok(())
}

/// Reads the type of the column with this name.
pub(super) fn read(name: &str, bytes: &mut Reader<'_>) -> Result<Field> {
    let mut metadata = HashMap::new();
    if bytes.0.first() == Some(&WITH_METADATA) {
        bytes.u8()?;
        let count = bytes.u32()?;
        if count > METADATA_MAX {
            return Err(corrupt("the metadata of a column"));
        }
        for _ in 0..count {
            metadata.insert(bytes.text()?.to_owned(), bytes.text()?.to_owned());
        }
    }
    Ok(Field::new(name, read_within(bytes, 0)?, true).with_metadata(metadata))
}

fn read_within(bytes: &mut Reader<'_>, depth: usize) -> Result<DataType> {
    if depth > NESTING_MAX {
        return Err(corrupt("a type is nested too deeply"));
    }
    let unit = |bytes: &mut Reader<'_>| UNITS.get(bytes.u8()? as usize).copied().ok_or_else(|| corrupt("time unit"));
    let field = |bytes: &mut Reader<'_>| {
        let (name, data_type) = (bytes.text()?.to_owned(), read_within(bytes, depth + 1)?);
        Ok::<_, Error>(Field::new(name, data_type, bytes.u8()? != 0))
    };
    Ok(match bytes.u8()? {
        DECIMAL => DataType::Decimal128(bytes.u8()?, bytes.u8()? as i8),
        TIMESTAMP => DataType::Timestamp(unit(bytes)?, None),
        TIMESTAMP_WITH_ZONE => {
            let ticks = unit(bytes)?;
            DataType::Timestamp(ticks, Some(bytes.text()?.into()))
        }
        TIME_32 => DataType::Time32(unit(bytes)?),
        TIME_64 => DataType::Time64(unit(bytes)?),
        LIST => DataType::List(Arc::new(field(bytes)?)),
        LARGE_LIST => DataType::LargeList(Arc::new(field(bytes)?)),
        FIXED_SIZE_LIST => {
            let length = i32::try_from(bytes.u32()?).map_err(|_| corrupt("length of lists"))?;
            DataType::FixedSizeList(Arc::new(field(bytes)?), length)
        }
        STRUCT => {
            let count = bytes.u32()?;
            if count > FIELDS_MAX {
                return Err(corrupt("fields of a struct"));
            }
            DataType::Struct((0..count).map(|_| field(bytes)).collect::<Result<Vec<Field>>>()?.into())
        }
        MAP => {
            let keys_are_sorted = bytes.u8()? != 0;
            let entries = field(bytes)?;
            if !matches!(entries.data_type(), DataType::Struct(fields) if fields.len() == 2) {
                return Err(corrupt("entries of a map"));
            }
            DataType::Map(Arc::new(entries), keys_are_sorted)
        }
        number => PLAIN.get(number as usize).cloned().ok_or_else(|| corrupt("unknown type"))?,
    })
}
