//! The columns that can be read, and their types.
//!
//! ```text
//! type in the file ──decoded──▶ type of the arrays, views in place of text in dictionaries ──plain──▶ type of the values
//! ```

use std::sync::Arc;

use arrow_schema::{DataType, Field, FieldRef, TimeUnit};
use godwit_catalog::as_view_type;
use godwit_common::{Error, Result};

/// A column of a file.
pub(super) struct Column {
    /// The field as its arrays are decoded, with the ids of dictionaries.
    pub decoded: Field,
    /// The field as it is read: name and Arrow type of the values, strings and binaries as views.
    pub field: Field,
}

impl Column {
    /// Checks a field; the error names the column and its type.
    pub(super) fn of(field: &Field) -> Result<Self> {
        let (name, stored) = (field.name(), field.data_type());
        let decoded = decoded(stored).ok_or_else(|| {
            Error::unsupported(format!("column {name} has the Arrow type {stored}"))
                .with_hint("leave the column out when the file is written, or cast it to another type")
        })?;
        let nullable = field.is_nullable() || *stored == DataType::Null;
        let field_read = Field::new(name, as_view_type(&plain(&decoded)), nullable);
        Ok(Self { decoded: field.clone().with_data_type(decoded), field: field_read })
    }
}

/// Returns the type as which arrays of a type are decoded; `None` for unsupported types.
pub(super) fn decoded(stored: &DataType) -> Option<DataType> {
    use DataType as D;
    let child = |field: &FieldRef| -> Option<FieldRef> {
        Some(Arc::new(field.as_ref().clone().with_data_type(decoded(field.data_type())?)))
    };
    Some(match stored {
        D::Null | D::Boolean => stored.clone(),
        D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64 => stored.clone(),
        D::Float16 | D::Float32 | D::Float64 => stored.clone(),
        D::Utf8 | D::LargeUtf8 | D::Utf8View | D::Binary | D::LargeBinary | D::BinaryView => stored.clone(),
        D::FixedSizeBinary(bytes) if *bytes >= 0 => stored.clone(),
        D::Date32 | D::Date64 | D::Timestamp(..) | D::Duration(_) | D::Interval(_) => stored.clone(),
        D::Time32(TimeUnit::Second | TimeUnit::Millisecond) => stored.clone(),
        D::Time64(TimeUnit::Microsecond | TimeUnit::Nanosecond) => stored.clone(),
        D::Decimal32(precision, scale) if is_decimal(*precision, *scale, 9) => stored.clone(),
        D::Decimal64(precision, scale) if is_decimal(*precision, *scale, 18) => stored.clone(),
        D::Decimal128(precision, scale) | D::Decimal256(precision, scale) if is_decimal(*precision, *scale, 38) => {
            stored.clone()
        }
        D::List(items) => D::List(child(items)?),
        D::LargeList(items) => D::LargeList(child(items)?),
        D::FixedSizeList(items, length) if *length >= 0 => D::FixedSizeList(child(items)?, *length),
        D::Struct(fields) => D::Struct(fields.iter().map(child).collect::<Option<_>>()?),
        D::Map(entries, is_sorted) => match entries.data_type() {
            D::Struct(fields) if fields.len() == 2 => D::Map(child(entries)?, *is_sorted),
            _ => return None,
        },
        // A dictionary whose values have dictionaries may lead back to itself.
        D::Dictionary(keys, values) if keys.is_integer() && !has_dictionary(values) => {
            D::Dictionary(keys.clone(), Box::new(as_view_type(&plain(&decoded(values)?))))
        }
        _ => return None,
    })
}

fn is_decimal(precision: u8, scale: i8, digits: u8) -> bool {
    (1..=digits).contains(&precision) && u8::try_from(scale).is_ok_and(|scale| scale <= precision)
}

fn has_dictionary(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Dictionary(..))
        || children(data_type).iter().any(|child| has_dictionary(child.data_type()))
}

/// Returns the type of the values in decoded arrays, as held by vectors.
pub(super) fn plain(decoded: &DataType) -> DataType {
    use DataType as D;
    let child = |field: &FieldRef| Arc::new(Field::new(field.name(), plain(field.data_type()), field.is_nullable()));
    match decoded {
        // The same as for an untyped NULL in SQL.
        D::Null => D::Utf8View,
        D::Float16 => D::Float32,
        D::Decimal256(precision, scale) => D::Decimal128(*precision, *scale),
        D::Dictionary(_, values) => values.as_ref().clone(),
        D::List(items) => D::List(child(items)),
        D::LargeList(items) => D::LargeList(child(items)),
        D::FixedSizeList(items, length) => D::FixedSizeList(child(items), *length),
        D::Struct(fields) => D::Struct(fields.iter().map(child).collect()),
        D::Map(entries, is_sorted) => D::Map(child(entries), *is_sorted),
        other => other.clone(),
    }
}

/// Returns the fields whose arrays follow that of a field.
pub(super) fn children(data_type: &DataType) -> &[FieldRef] {
    use DataType as D;
    match data_type {
        D::List(child) | D::LargeList(child) | D::FixedSizeList(child, _) | D::Map(child, _) => {
            std::slice::from_ref(child)
        }
        D::Struct(fields) => fields,
        _ => &[],
    }
}

/// Number of buffers of an array itself, without the variable number of buffers of views.
pub(super) fn own_buffers(data_type: &DataType) -> usize {
    use DataType as D;
    match data_type {
        D::Null => 0,
        D::Struct(_) | D::FixedSizeList(..) => 1,
        D::Utf8 | D::LargeUtf8 | D::Binary | D::LargeBinary => 3,
        _ => 2,
    }
}

/// Returns true for types with a variable number of buffers.
pub(super) fn is_view(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8View | DataType::BinaryView)
}
