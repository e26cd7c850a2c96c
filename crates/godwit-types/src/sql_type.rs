//! The types of SQL.

use std::fmt;
use std::sync::Arc;

use godwit_common::{Error, Result};

/// The type of a column or an expression.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum SqlType {
    /// NULL and quoted text before their context determines the type. No column of a finished plan has it.
    Unknown,
    /// TRUE, FALSE.
    Boolean,
    /// 8 bits, signed.
    TinyInt,
    /// 16 bits, signed.
    SmallInt,
    /// 32 bits, signed.
    Integer,
    /// 64 bits, signed.
    BigInt,
    /// 128 bits, signed.
    HugeInt,
    /// 8 bits, unsigned.
    UTinyInt,
    /// 16 bits, unsigned.
    USmallInt,
    /// 32 bits, unsigned.
    UInteger,
    /// 64 bits, unsigned.
    UBigInt,
    /// 128 bits, unsigned.
    UHugeInt,
    /// IEEE single.
    Real,
    /// IEEE double.
    Double,
    /// Exact numbers of `precision` digits, `scale` of them after the point; 1 ≤ precision ≤ 38, scale ≤ precision.
    Decimal {
        /// Total number of digits.
        precision: u8,
        /// Digits after the point.
        scale: u8,
    },
    /// Text in UTF-8.
    Varchar,
    /// Bytes.
    Blob,
    /// Bits, held as text of zeros and ones.
    Bit,
    /// Days since 1970-01-01, as an `i32`.
    Date,
    /// Microseconds since midnight.
    Time,
    /// Microseconds since midnight, and the distance from UTC: a [`TimeTz`](crate::TimeTz).
    TimeTz,
    /// Microseconds since 1970-01-01, without time zone; years −290,000 to 290,000.
    Timestamp,
    /// The same in seconds, as found in files.
    TimestampS,
    /// The same in milliseconds, as found in files.
    TimestampMs,
    /// The same in nanoseconds, as found in files; years 1677 to 2262.
    TimestampNs,
    /// Microseconds since 1970-01-01 in UTC, shown in the session's time zone.
    TimestampTz,
    /// Months, days and microseconds.
    Interval,
    /// 128 bits, shown as a UUID.
    Uuid,
    /// JSON text.
    Json,
    /// One of the listed labels, in their order.
    Enum(Arc<EnumType>),
    /// Any number of values of a type.
    List(Arc<SqlType>),
    /// A fixed number of values of a type.
    Array(Arc<SqlType>, u32),
    /// Named fields, in order.
    Struct(Arc<[StructField]>),
    /// Values by distinct keys: (key, value).
    Map(Arc<(SqlType, SqlType)>),
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StructField {
    /// Name as written; names are compared in any case.
    pub name: Arc<str>,
    /// Type.
    pub ty: SqlType,
}

impl StructField {
    /// Returns the fields of `ROW(…)`, whose names are numbers.
    pub fn of_row(types: impl IntoIterator<Item = SqlType>) -> Arc<[StructField]> {
        types.into_iter().enumerate().map(|(at, ty)| Self { name: Self::name_in_row(at).into(), ty }).collect()
    }

    /// Returns true for fields as [`Self::of_row`] returns them.
    pub fn are_of_row(fields: &[StructField]) -> bool {
        fields.iter().enumerate().all(|(at, field)| *field.name == *Self::name_in_row(at))
    }

    /// Returns true if one struct comes from `ROW(…)` and the other has none of the names that it gives to fields: then
    /// these are matched by position.
    pub(crate) fn meet_by_place(a: &[StructField], b: &[StructField]) -> bool {
        let is_number = |name: &str| name.strip_prefix('v').is_some_and(|digits| digits.parse::<usize>().is_ok());
        let are_named = |fields: &[StructField]| !fields.iter().any(|field| is_number(&field.name));
        let is_row_beside = |row, named| Self::are_of_row(row) && are_named(named);
        a.len() == b.len() && (is_row_beside(a, b) || is_row_beside(b, a))
    }

    fn name_in_row(at: usize) -> String {
        format!("v{}", at + 1)
    }
}

/// An enumeration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct EnumType {
    /// Name for display; empty for an enumeration that was written inline.
    pub name: Arc<str>,
    /// Labels in order; a value is a position in this list.
    pub labels: Vec<Arc<str>>,
}

impl EnumType {
    /// Checks the position of a label as stored in a file; an error if there is no such label.
    pub fn checked_place(&self, place: i128) -> Result<i128> {
        let is_known = usize::try_from(place).is_ok_and(|place| place < self.labels.len());
        is_known.then_some(place).ok_or_else(|| Error::corrupt("a value of an ENUM is none of its labels"))
    }
}

impl SqlType {
    /// Most digits of a DECIMAL.
    pub const DECIMAL_PRECISION_MAX: u8 = 38;

    /// DECIMAL(precision, scale).
    pub const fn decimal(precision: u8, scale: u8) -> Self {
        SqlType::Decimal { precision, scale }
    }

    /// Returns the type of lists of this element type.
    pub fn list_of(element: SqlType) -> Self {
        SqlType::List(Arc::new(element))
    }

    /// Returns the type of structs with these fields.
    pub fn struct_of<'n>(fields: impl IntoIterator<Item = (&'n str, SqlType)>) -> Self {
        SqlType::Struct(fields.into_iter().map(|(name, ty)| StructField { name: name.into(), ty }).collect())
    }

    /// True for integers, signed or not.
    pub fn is_integer(&self) -> bool {
        self.is_signed_integer() || self.is_unsigned_integer()
    }

    /// True for TINYINT to HUGEINT.
    pub fn is_signed_integer(&self) -> bool {
        matches!(self, Self::TinyInt | Self::SmallInt | Self::Integer | Self::BigInt | Self::HugeInt)
    }

    /// True for UTINYINT to UHUGEINT.
    pub fn is_unsigned_integer(&self) -> bool {
        matches!(self, Self::UTinyInt | Self::USmallInt | Self::UInteger | Self::UBigInt | Self::UHugeInt)
    }

    /// True for REAL and DOUBLE.
    pub fn is_float(&self) -> bool {
        matches!(self, Self::Real | Self::Double)
    }

    /// True for DECIMAL.
    pub fn is_decimal(&self) -> bool {
        matches!(self, Self::Decimal { .. })
    }

    /// True for all numbers.
    pub fn is_numeric(&self) -> bool {
        self.is_integer() || self.is_float() || self.is_decimal()
    }

    /// True for all kinds of TIMESTAMP, with time zone or without.
    pub fn is_timestamp(&self) -> bool {
        matches!(self, Self::Timestamp | Self::TimestampS | Self::TimestampMs | Self::TimestampNs | Self::TimestampTz)
    }

    /// True for dates, times and timestamps; not for intervals.
    pub fn is_datetime(&self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::TimeTz) || self.is_timestamp()
    }

    /// True for types whose values lie on a line: numbers, dates, times and timestamps.
    pub fn is_linear(&self) -> bool {
        self.is_numeric() || self.is_timestamp() || matches!(self, Self::Date | Self::Time)
    }

    /// True for lists, arrays, structs and maps.
    pub fn is_nested(&self) -> bool {
        matches!(self, Self::List(_) | Self::Array(..) | Self::Struct(_) | Self::Map(_))
    }

    /// True if the type, or that of some part of its values, is such a type.
    pub fn has_part(&self, is_it: &dyn Fn(&SqlType) -> bool) -> bool {
        is_it(self)
            || match self {
                Self::List(element) | Self::Array(element, _) => element.has_part(is_it),
                Self::Struct(fields) => fields.iter().any(|field| field.ty.has_part(is_it)),
                Self::Map(entry) => entry.0.has_part(is_it) || entry.1.has_part(is_it),
                _ => false,
            }
    }

    /// The element type of a list or array.
    pub fn element(&self) -> Option<&SqlType> {
        match self {
            Self::List(element) | Self::Array(element, _) => Some(element),
            _ => None,
        }
    }

    /// The fields of a struct.
    pub fn fields(&self) -> Option<&[StructField]> {
        match self {
            Self::Struct(fields) => Some(fields),
            _ => None,
        }
    }

    /// Returns the type as which values leave the database, or come from files: with VARCHAR in place of ENUM, UHUGEINT
    /// and TIME WITH TIME ZONE, which Arrow doesn't have; `None` if it has none of them.
    pub fn for_exchange(&self) -> Option<SqlType> {
        match self {
            Self::Enum(_) | Self::UHugeInt | Self::TimeTz => Some(Self::Varchar),
            Self::List(element) => element.for_exchange().map(Self::list_of),
            Self::Array(element, length) => Some(Self::Array(Arc::new(element.for_exchange()?), *length)),
            Self::Struct(fields) => {
                let changed: Vec<_> = fields.iter().map(|field| field.ty.for_exchange()).collect();
                let of = |(field, ty): (&StructField, Option<SqlType>)| StructField {
                    name: field.name.clone(),
                    ty: ty.unwrap_or_else(|| field.ty.clone()),
                };
                let is_changed = changed.iter().any(Option::is_some);
                is_changed.then(|| Self::Struct(fields.iter().zip(changed).map(of).collect()))
            }
            Self::Map(entry) => match (entry.0.for_exchange(), entry.1.for_exchange()) {
                (None, None) => None,
                (key, value) => {
                    let (key, value) =
                        (key.unwrap_or_else(|| entry.0.clone()), value.unwrap_or_else(|| entry.1.clone()));
                    Some(Self::Map(Arc::new((key, value))))
                }
            },
            _ => None,
        }
    }

    /// Bits of an integer type.
    pub fn integer_bits(&self) -> Option<u32> {
        Some(match self {
            Self::TinyInt | Self::UTinyInt => 8,
            Self::SmallInt | Self::USmallInt => 16,
            Self::Integer | Self::UInteger => 32,
            Self::BigInt | Self::UBigInt => 64,
            Self::HugeInt | Self::UHugeInt => 128,
            _ => return None,
        })
    }

    /// Least and greatest value of an integer type; `None` for UHUGEINT, too, whose values exceed an `i128`.
    pub fn integer_range(&self) -> Option<(i128, i128)> {
        let unused = 128 - self.integer_bits()?;
        match self.is_signed_integer() {
            true => Some((i128::MIN >> unused, i128::MAX >> unused)),
            false => Some((0, i128::try_from(u128::MAX >> unused).ok()?)),
        }
    }

    /// Digits that hold every value of an integer or decimal type, and those after the point.
    pub fn decimal_digits(&self) -> Option<(u8, u8)> {
        Some(match self {
            Self::TinyInt | Self::UTinyInt => (3, 0),
            Self::SmallInt | Self::USmallInt => (5, 0),
            Self::Integer | Self::UInteger => (10, 0),
            Self::BigInt => (19, 0),
            Self::UBigInt => (20, 0),
            Self::HugeInt | Self::UHugeInt => (Self::DECIMAL_PRECISION_MAX, 0),
            Self::Decimal { precision, scale } => (*precision, *scale),
            _ => return None,
        })
    }
}

/// Writes the type as in SQL.
impl fmt::Display for SqlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Unknown => "UNKNOWN",
            Self::Boolean => "BOOLEAN",
            Self::TinyInt => "TINYINT",
            Self::SmallInt => "SMALLINT",
            Self::Integer => "INTEGER",
            Self::BigInt => "BIGINT",
            Self::HugeInt => "HUGEINT",
            Self::UTinyInt => "UTINYINT",
            Self::USmallInt => "USMALLINT",
            Self::UInteger => "UINTEGER",
            Self::UBigInt => "UBIGINT",
            Self::UHugeInt => "UHUGEINT",
            Self::Real => "REAL",
            Self::Double => "DOUBLE",
            Self::Decimal { precision, scale } => return write!(f, "DECIMAL({precision},{scale})"),
            Self::Varchar => "VARCHAR",
            Self::Blob => "BLOB",
            Self::Bit => "BIT",
            Self::Date => "DATE",
            Self::Time => "TIME",
            Self::TimeTz => "TIME WITH TIME ZONE",
            Self::Timestamp => "TIMESTAMP",
            Self::TimestampS => "TIMESTAMP_S",
            Self::TimestampMs => "TIMESTAMP_MS",
            Self::TimestampNs => "TIMESTAMP_NS",
            Self::TimestampTz => "TIMESTAMP WITH TIME ZONE",
            Self::Interval => "INTERVAL",
            Self::Uuid => "UUID",
            Self::Json => "JSON",
            Self::Enum(definition) => {
                if !definition.name.is_empty() {
                    return f.write_str(&definition.name);
                }
                f.write_str("ENUM(")?;
                for (index, label) in definition.labels.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}'{}'", label.replace('\'', "''"))?;
                }
                return f.write_str(")");
            }
            Self::List(element) => return write!(f, "{element}[]"),
            Self::Array(element, length) => return write!(f, "{element}[{length}]"),
            Self::Struct(fields) => {
                f.write_str("STRUCT(")?;
                for (index, field) in fields.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", " };
                    write!(f, "{separator}\"{}\" {}", field.name.replace('"', "\"\""), field.ty)?;
                }
                return f.write_str(")");
            }
            Self::Map(entry) => return write!(f, "MAP({}, {})", entry.0, entry.1),
        };
        f.write_str(name)
    }
}
