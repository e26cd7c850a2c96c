//! SQL's types as Arrow types.
//!
//! Arrow has fewer types than SQL: HUGEINT becomes a decimal of 38 digits, UHUGEINT its bytes, UUID, JSON and BIT become
//! text, a label of an ENUM becomes its position, and a TIME WITH TIME ZONE an integer. The way back may thus end at
//! another type: code that needs the SQL type carries it along, as plans do. The columns of tables are Arrow fields, which
//! record it in their metadata ([`field_of`], [`type_of_field`]).
//!
//! | SQL | Arrow |
//! |---|---|
//! | integers, REAL, DOUBLE | the same |
//! | HUGEINT, DECIMAL | `Decimal128` |
//! | UHUGEINT | `BinaryView`, 16 bytes that compare as the numbers do, the highest first |
//! | VARCHAR, UUID, JSON, BIT | `Utf8View` |
//! | ENUM | the narrowest of `UInt8`, `UInt16`, `UInt32` for its positions |
//! | BLOB | `BinaryView` |
//! | TIME WITH TIME ZONE | `Int64`, the bits of a [`TimeTz`](godwit_types::TimeTz) |
//! | DATE, TIME, timestamps | `Date32`, `Time64(µs)`, `Timestamp` of the type's unit |
//! | INTERVAL, lists, structs, maps | `Interval(MonthDayNano)`, `List`, `FixedSizeList`, `Struct`, `Map` |

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, IntervalUnit, TimeUnit};
use godwit_common::{Error, Result};
use godwit_types::SqlType;

use crate::ColumnType;

/// The time zone of Arrow's type for TIMESTAMP WITH TIME ZONE.
pub(super) const UTC: &str = "UTC";

/// Key of the definition of the SQL type in a field's metadata, if Arrow's type doesn't determine it.
const SQL_TYPE: &str = "godwit.sql_type";

/// Key of a column's collation in its field's metadata.
const COLLATION: &str = "godwit.collation";

/// Returns the Arrow field of a column of type `ty`.
pub fn field_of(name: impl Into<String>, ty: &SqlType, nullable: bool) -> Result<Field> {
    let field = Field::new(name, arrow_type(ty)?, nullable);
    Ok(match sql_type(field.data_type())? == *ty {
        true => field,
        false => field.with_metadata([(SQL_TYPE.to_owned(), ty.definition())].into()),
    })
}

/// Returns the field with a collation in which its texts are compared, or without one.
pub fn with_collation(field: Field, collation: Option<&str>) -> Field {
    let mut metadata = field.metadata().clone();
    match collation {
        Some(collation) => metadata.insert(COLLATION.to_owned(), collation.to_owned()),
        None => metadata.remove(COLLATION),
    };
    field.with_metadata(metadata)
}

/// Returns the collation of a column.
pub fn collation_of_field(field: &Field) -> Option<&str> {
    field.metadata().get(COLLATION).map(String::as_str)
}

/// Returns the SQL type of a column.
pub fn type_of_field(field: &Field) -> Result<SqlType> {
    let Some(definition) = field.metadata().get(SQL_TYPE) else { return sql_type(field.data_type()) };
    let ty = SqlType::from_definition(definition);
    ty.filter(|ty| arrow_type(ty).is_ok_and(|kept| kept == *field.data_type()))
        .ok_or_else(|| Error::corrupt(format!("the column {} has a type that isn't one: {definition}", field.name())))
}

/// Returns the type of a column of which only the SQL type is known.
pub fn column_type(ty: &SqlType, nullable: bool) -> Result<ColumnType> {
    ColumnType::new(arrow_type(ty)?, nullable)
}

/// Returns the Arrow type for values of an SQL type.
pub fn arrow_type(ty: &SqlType) -> Result<DataType> {
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
        SqlType::Real => DataType::Float32,
        SqlType::Double => DataType::Float64,
        SqlType::Decimal { precision, scale } => {
            DataType::Decimal128(*precision, i8::try_from(*scale).expect("a scale is at most 38"))
        }
        SqlType::Varchar | SqlType::Bit | SqlType::Uuid | SqlType::Json => DataType::Utf8View,
        SqlType::Enum(definition) => match definition.labels.len().saturating_sub(1) {
            0..=0xFF => DataType::UInt8,
            0x100..=0xFFFF => DataType::UInt16,
            _ => DataType::UInt32,
        },
        SqlType::Blob | SqlType::UHugeInt => DataType::BinaryView,
        SqlType::Date => DataType::Date32,
        SqlType::Time => DataType::Time64(TimeUnit::Microsecond),
        SqlType::TimeTz => DataType::Int64,
        SqlType::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
        SqlType::TimestampS => DataType::Timestamp(TimeUnit::Second, None),
        SqlType::TimestampMs => DataType::Timestamp(TimeUnit::Millisecond, None),
        SqlType::TimestampNs => DataType::Timestamp(TimeUnit::Nanosecond, None),
        SqlType::TimestampTz => DataType::Timestamp(TimeUnit::Microsecond, Some(UTC.into())),
        SqlType::Interval => DataType::Interval(IntervalUnit::MonthDayNano),
        SqlType::List(element) => DataType::List(element_field(element)?),
        SqlType::Array(element, length) => {
            DataType::FixedSizeList(element_field(element)?, i32::try_from(*length).map_err(|_| unsupported(ty))?)
        }
        SqlType::Struct(fields) => {
            let field =
                |field: &godwit_types::StructField| Ok(Field::new(field.name.as_ref(), arrow_type(&field.ty)?, true));
            DataType::Struct(fields.iter().map(field).collect::<Result<Fields>>()?)
        }
        SqlType::Map(entry) => {
            let key = Field::new("key", arrow_type(&entry.0)?, false);
            let value = Field::new("value", arrow_type(&entry.1)?, true);
            let entries = Field::new("entries", DataType::Struct(vec![key, value].into()), false);
            DataType::Map(Arc::new(entries), false)
        }
    })
}

fn element_field(element: &SqlType) -> Result<Arc<Field>> {
    Ok(Arc::new(Field::new_list_field(arrow_type(element)?, true)))
}

/// Returns the SQL type for an Arrow type; the same one for types that differ only in layout.
pub fn sql_type(ty: &DataType) -> Result<SqlType> {
    use DataType as D;
    Ok(match ty {
        D::Null => SqlType::Unknown,
        D::Boolean => SqlType::Boolean,
        D::Int8 => SqlType::TinyInt,
        D::Int16 => SqlType::SmallInt,
        D::Int32 => SqlType::Integer,
        D::Int64 => SqlType::BigInt,
        D::UInt8 => SqlType::UTinyInt,
        D::UInt16 => SqlType::USmallInt,
        D::UInt32 => SqlType::UInteger,
        D::UInt64 => SqlType::UBigInt,
        D::Float16 | D::Float32 => SqlType::Real,
        D::Float64 => SqlType::Double,
        D::Decimal32(precision, scale)
        | D::Decimal64(precision, scale)
        | D::Decimal128(precision, scale)
        | D::Decimal256(precision, scale) => decimal(*precision, *scale).ok_or_else(|| unreadable(ty))?,
        D::Utf8 | D::LargeUtf8 | D::Utf8View => SqlType::Varchar,
        D::Binary | D::LargeBinary | D::BinaryView | D::FixedSizeBinary(_) => SqlType::Blob,
        D::Date32 => SqlType::Date,
        D::Date64 => SqlType::Timestamp,
        D::Time32(_) | D::Time64(_) => SqlType::Time,
        D::Timestamp(_, Some(_)) => SqlType::TimestampTz,
        D::Timestamp(TimeUnit::Second, None) => SqlType::TimestampS,
        D::Timestamp(TimeUnit::Millisecond, None) => SqlType::TimestampMs,
        D::Timestamp(TimeUnit::Microsecond, None) => SqlType::Timestamp,
        D::Timestamp(TimeUnit::Nanosecond, None) => SqlType::TimestampNs,
        D::Interval(_) | D::Duration(_) => SqlType::Interval,
        D::Dictionary(_, values) => sql_type(values)?,
        D::RunEndEncoded(_, values) => sql_type(values.data_type())?,
        D::List(field) | D::LargeList(field) | D::ListView(field) | D::LargeListView(field) => {
            SqlType::list_of(sql_type(field.data_type())?)
        }
        D::FixedSizeList(field, length) => {
            let length = u32::try_from(*length).map_err(|_| unreadable(ty))?;
            SqlType::Array(Arc::new(sql_type(field.data_type())?), length)
        }
        D::Struct(fields) => {
            let fields = fields.iter().map(|field| Ok((field.name().as_str(), sql_type(field.data_type())?)));
            SqlType::struct_of(fields.collect::<Result<Vec<_>>>()?)
        }
        D::Map(entries, _) => match entries.data_type() {
            D::Struct(fields) if fields.len() == 2 => {
                SqlType::Map(Arc::new((sql_type(fields[0].data_type())?, sql_type(fields[1].data_type())?)))
            }
            _ => return Err(unreadable(ty)),
        },
        D::Union(..) => return Err(unreadable(ty)),
    })
}

fn decimal(precision: u8, scale: i8) -> Option<SqlType> {
    // A negative scale stands for zeros before the decimal point.
    let (precision, scale) = match u8::try_from(scale) {
        Ok(scale) => (precision.max(scale), scale),
        Err(_) => (precision.checked_add(scale.unsigned_abs())?, 0),
    };
    (precision <= SqlType::DECIMAL_PRECISION_MAX).then(|| SqlType::decimal(precision, scale))
}

/// True if both Arrow types hold the same values: they differ at most in layout.
pub fn is_same_but_layout(a: &DataType, b: &DataType) -> bool {
    use DataType::{Binary, BinaryView, Dictionary, FixedSizeBinary, LargeBinary, LargeUtf8, Utf8, Utf8View};
    match (a, b) {
        (Dictionary(_, values), other) | (other, Dictionary(_, values)) => is_same_but_layout(values, other),
        (Utf8 | LargeUtf8 | Utf8View, Utf8 | LargeUtf8 | Utf8View) => true,
        (
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_),
            Binary | LargeBinary | BinaryView | FixedSizeBinary(_),
        ) => true,
        _ => a.equals_datatype(b),
    }
}

fn unsupported(ty: &SqlType) -> Error {
    Error::unsupported(format!("values of type {ty}"))
}

fn unreadable(ty: &DataType) -> Error {
    Error::unsupported(format!("values of the Arrow type {ty}"))
}
