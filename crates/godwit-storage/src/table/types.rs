//! Types of columns as bytes.

use arrow_schema::{DataType, Field, TimeUnit};
use godwit_common::{Error, Result};

use super::corrupt;
use crate::wire::Reader;

const UNITS: [TimeUnit; 4] = [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

/// Types without parameters by their number in the file. Appended to, never reordered.
const PLAIN: [DataType; 15] = [
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
];

/// Numbers of types with parameters.
const DECIMAL: u8 = 64;
const TIMESTAMP: u8 = 65;
const TIMESTAMP_WITH_ZONE: u8 = 66;
const TIME_32: u8 = 67;
const TIME_64: u8 = 68;

/// An error if tables can't hold columns of this type.
pub(super) fn check(field: &Field) -> Result<()> {
    write(field.data_type(), &mut Vec::new()).map_err(|_| {
        Error::unsupported(format!("a table with a column {} of type {}", field.name(), field.data_type()))
    })
}

pub(super) fn write(data_type: &DataType, out: &mut Vec<u8>) -> Result<()> {
    let unit = |unit: &TimeUnit| UNITS.iter().position(|known| known == unit).unwrap_or_default() as u8;
    match data_type {
        DataType::Decimal128(precision, scale) => out.extend([DECIMAL, *precision, *scale as u8]),
        DataType::Timestamp(ticks, None) => out.extend([TIMESTAMP, unit(ticks)]),
        DataType::Timestamp(ticks, Some(zone)) => {
            out.extend([TIMESTAMP_WITH_ZONE, unit(ticks)]);
            crate::wire::put_bytes(out, zone.as_bytes());
        }
        DataType::Time32(ticks) => out.extend([TIME_32, unit(ticks)]),
        DataType::Time64(ticks) => out.extend([TIME_64, unit(ticks)]),
        plain => match PLAIN.iter().position(|known| known == plain) {
            Some(number) => out.push(number as u8),
            None => return Err(Error::unsupported(format!("columns of type {plain}"))),
        },
    }
    Ok(())
}

pub(super) fn read(bytes: &mut Reader<'_>) -> Result<DataType> {
    let unit = |bytes: &mut Reader<'_>| UNITS.get(bytes.u8()? as usize).copied().ok_or_else(|| corrupt("time unit"));
    Ok(match bytes.u8()? {
        DECIMAL => DataType::Decimal128(bytes.u8()?, bytes.u8()? as i8),
        TIMESTAMP => DataType::Timestamp(unit(bytes)?, None),
        TIMESTAMP_WITH_ZONE => {
            let ticks = unit(bytes)?;
            DataType::Timestamp(ticks, Some(bytes.text()?.into()))
        }
        TIME_32 => DataType::Time32(unit(bytes)?),
        TIME_64 => DataType::Time64(unit(bytes)?),
        number => PLAIN.get(number as usize).cloned().ok_or_else(|| corrupt("unknown type"))?,
    })
}
