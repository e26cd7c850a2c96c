//! Physical types, and the types of columns as the plan knows them.

use arrow_schema::{DataType, TimeUnit};
use godwit_common::{Error, Result};

/// Runs `$body` with the native type `$T` of an integer type (`Bool` as `u8`), or `$other` for any other type.
#[macro_export]
macro_rules! match_integer_type {
    ($physical:expr, $T:ident => $body:expr) => {
        $crate::match_integer_type!($physical, $T => $body, other => unreachable!("{other:?} is not an integer type"))
    };
    ($physical:expr, $T:ident => $body:expr, $other:ident => $else:expr) => {
        match $physical {
            $crate::PhysicalType::Bool | $crate::PhysicalType::U8 => {
                type $T = u8;
                $body
            }
            $crate::PhysicalType::I8 => {
                type $T = i8;
                $body
            }
            $crate::PhysicalType::I16 => {
                type $T = i16;
                $body
            }
            $crate::PhysicalType::I32 => {
                type $T = i32;
                $body
            }
            $crate::PhysicalType::I64 => {
                type $T = i64;
                $body
            }
            $crate::PhysicalType::I128 => {
                type $T = i128;
                $body
            }
            $crate::PhysicalType::U16 => {
                type $T = u16;
                $body
            }
            $crate::PhysicalType::U32 => {
                type $T = u32;
                $body
            }
            $crate::PhysicalType::U64 => {
                type $T = u64;
                $body
            }
            $other => $else,
        }
    };
}

/// Runs `$body` with the native type `$T` of a fixed-width type (`Bool` as `u8`).
#[macro_export]
macro_rules! match_physical {
    ($physical:expr, $T:ident => $body:expr) => {
        $crate::match_integer_type!($physical, $T => $body, other => match other {
            $crate::PhysicalType::F32 => {
                type $T = f32;
                $body
            }
            $crate::PhysicalType::F64 => {
                type $T = f64;
                $body
            }
            other => unreachable!("{other:?} has no fixed width"),
        })
    };
}

/// The representation of a value in memory. Several logical types share one: DATE is `I32`, DECIMAL(15,2) is `I64`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PhysicalType {
    /// One byte, 0 or 1.
    Bool,
    /// Signed integers.
    I8,
    /// 16 bits.
    I16,
    /// 32 bits.
    I32,
    /// 64 bits.
    I64,
    /// 128 bits.
    I128,
    /// Unsigned integers.
    U8,
    /// 16 bits.
    U16,
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
    /// IEEE single.
    F32,
    /// IEEE double.
    F64,
    /// Bytes as a 16-byte [`StrView`](crate::StrView): text and binary.
    Str,
    /// Lists, structs, maps: an Arrow array carried along. Blocking operators store them as order-preserving bytes.
    Nested,
}

impl PhysicalType {
    /// Width of a value in a row or a flat vector, in bytes. Panics for `Nested`, which has none.
    pub fn width_bytes(self) -> usize {
        match self {
            PhysicalType::Bool | PhysicalType::I8 | PhysicalType::U8 => 1,
            PhysicalType::I16 | PhysicalType::U16 => 2,
            PhysicalType::I32 | PhysicalType::U32 | PhysicalType::F32 => 4,
            PhysicalType::I64 | PhysicalType::U64 | PhysicalType::F64 => 8,
            PhysicalType::I128 | PhysicalType::Str => 16,
            PhysicalType::Nested => panic!("nested values have no fixed width"),
        }
    }

    /// True for the integer types, 128 bits included.
    pub fn is_integer(self) -> bool {
        use PhysicalType::*;
        matches!(self, I8 | I16 | I32 | I64 | I128 | U8 | U16 | U32 | U64)
    }

    /// The physical type of a logical type if nothing is known about its values.
    pub fn natural(logical: &DataType) -> Result<PhysicalType> {
        Ok(match logical {
            DataType::Null | DataType::Boolean => PhysicalType::Bool,
            DataType::Int8 => PhysicalType::I8,
            DataType::Int16 => PhysicalType::I16,
            DataType::Int32 | DataType::Date32 | DataType::Time32(_) => PhysicalType::I32,
            DataType::Int64 | DataType::Date64 | DataType::Time64(_) | DataType::Timestamp(_, _) => PhysicalType::I64,
            DataType::Duration(_) => PhysicalType::I64,
            DataType::UInt8 => PhysicalType::U8,
            DataType::UInt16 => PhysicalType::U16,
            DataType::UInt32 => PhysicalType::U32,
            DataType::UInt64 => PhysicalType::U64,
            DataType::Float32 => PhysicalType::F32,
            DataType::Float64 => PhysicalType::F64,
            DataType::Decimal32(_, _) => PhysicalType::I32,
            DataType::Decimal64(_, _) => PhysicalType::I64,
            DataType::Decimal128(precision, _) => match precision {
                0..=9 => PhysicalType::I32,
                10..=18 => PhysicalType::I64,
                _ => PhysicalType::I128,
            },
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => PhysicalType::Str,
            DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                PhysicalType::Str
            }
            DataType::Dictionary(_, values) => PhysicalType::natural(values)?,
            DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(_, _)
            | DataType::Struct(_)
            | DataType::Map(_, _)
            | DataType::Interval(_) => PhysicalType::Nested,
            other => return Err(Error::unsupported(format!("values of type {other}"))),
        })
    }
}

/// Proven bounds of all non-NULL values of a column: unscaled decimals, days of dates, ticks of timestamps.
///
/// They come from statistics and interval arithmetic and are relied on: arithmetic skips overflow checks within them
/// and chooses the narrowest physical type that holds them. Readers check decoded values against them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueRange {
    /// Smallest possible value.
    pub min: i128,
    /// Largest possible value.
    pub max: i128,
}

impl ValueRange {
    /// True if every value fits into the integer type.
    pub fn fits(self, physical: PhysicalType) -> bool {
        ValueRange::of_type(physical).is_some_and(|limits| limits.min <= self.min && self.max <= limits.max)
    }

    /// The range of an integer type; `None` for all others.
    pub fn of_type(physical: PhysicalType) -> Option<ValueRange> {
        let (min, max) = match physical {
            PhysicalType::Bool => (0, 1),
            PhysicalType::I8 => (i8::MIN as i128, i8::MAX as i128),
            PhysicalType::I16 => (i16::MIN as i128, i16::MAX as i128),
            PhysicalType::I32 => (i32::MIN as i128, i32::MAX as i128),
            PhysicalType::I64 => (i64::MIN as i128, i64::MAX as i128),
            PhysicalType::I128 => (i128::MIN, i128::MAX),
            PhysicalType::U8 => (0, u8::MAX as i128),
            PhysicalType::U16 => (0, u16::MAX as i128),
            PhysicalType::U32 => (0, u32::MAX as i128),
            PhysicalType::U64 => (0, u64::MAX as i128),
            _ => return None,
        };
        Some(ValueRange { min, max })
    }

    /// Number of integers in the range, saturating.
    pub fn count(self) -> u128 {
        (self.max.wrapping_sub(self.min) as u128).saturating_add(1)
    }
}

/// What the plan knows about a column: its SQL type, the representation of its values in memory, and proven bounds.
///
/// `physical` may be narrower than the natural type: DECIMAL(38,4) is `I64` where `range` proves that this suffices.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnType {
    /// The SQL type, as Arrow spells it.
    pub logical: DataType,
    /// The representation of values in memory.
    pub physical: PhysicalType,
    /// False only if no NULL can occur.
    pub nullable: bool,
    /// Proven bounds; integers, decimals, dates and times only.
    pub range: Option<ValueRange>,
}

/// The columns of a chunk.
pub type RowType = Vec<ColumnType>;

impl ColumnType {
    /// Creates the type of a column of which only the SQL type is known.
    pub fn new(logical: DataType, nullable: bool) -> Result<Self> {
        Ok(Self { physical: PhysicalType::natural(&logical)?, logical, nullable, range: None })
    }

    /// The scale of a decimal, 0 for other types.
    pub fn scale(&self) -> i8 {
        match self.logical {
            DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => s,
            _ => 0,
        }
    }

    /// Bounds of the values: the proven ones, else those of the physical type; `None` if it isn't an integer type.
    pub fn bound(&self) -> Option<ValueRange> {
        self.range.or_else(|| ValueRange::of_type(self.physical))
    }

    /// Ticks per second of a time or timestamp type.
    pub fn ticks_per_second(unit: TimeUnit) -> i64 {
        match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => 1_000_000_000,
        }
    }
}
