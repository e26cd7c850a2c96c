//! Single values: DataFusion's scalars in and out.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use godwit_common::{Error, Result};
use godwit_vector::{Bitmap, ColumnType, Data, Flat, PhysicalType, ValueRange, Vector, from_arrow};

/// A value known at compile time, or NULL.
#[derive(Clone)]
pub(crate) struct Literal {
    /// One value; arbitrary if NULL.
    pub(crate) value: Flat,
    pub(crate) is_null: bool,
}

impl Literal {
    /// A scalar in its natural physical type, and the type of that column.
    pub(crate) fn of_scalar(scalar: &ScalarValue) -> Result<(Literal, ColumnType)> {
        let is_null = scalar.is_null();
        let array = scalar.to_array().map_err(|error| Error::unsupported(error.strip_backtrace()))?;
        let value = from_arrow(&array)?.to_flat();
        let mut output = ColumnType::new(scalar.data_type(), is_null)?;
        output.range = match scalar_to_integer(scalar) {
            Some(value) if output.physical.is_integer() => Some(ValueRange { min: value, max: value }),
            _ => None,
        };
        Ok((Literal { value, is_null }, output))
    }

    /// The single row of a vector.
    pub(crate) fn of_vector(vector: &Vector) -> Literal {
        assert_eq!(vector.len(), 1);
        Literal { value: vector.to_flat(), is_null: !vector.is_valid(0) }
    }

    /// `rows` rows of it.
    pub(crate) fn vector(&self, rows: usize) -> Vector {
        let vector = Vector::constant(self.value.clone(), rows);
        if self.is_null { vector.with_validity(Some(Bitmap::filled(rows, false).into())) } else { vector }
    }
}

/// If all rows of `vector` are one value or all are NULL by construction: that value.
pub(crate) fn constant_of(vector: &Vector) -> Option<Literal> {
    let Data::Constant(value) = vector.data() else { return None };
    match vector.validity() {
        None => Some(Literal { value: value.clone(), is_null: false }),
        Some(validity) if validity.count_ones() == 0 => Some(Literal { value: value.clone(), is_null: true }),
        Some(_) => None,
    }
}

/// A scalar as a flat vector of length 1 in its natural physical type (zero or empty for NULL, which the nullability
/// of the type tells), and its type with the range that it proves.
pub fn literal_value(scalar: &ScalarValue) -> Result<(Flat, ColumnType)> {
    let (literal, output) = Literal::of_scalar(scalar)?;
    Ok((literal.value, output))
}

/// The integer that a scalar's value is inside: unscaled decimal, days of a date, ticks of a time, 0 or 1 of a boolean.
/// `None` for NULL and for types whose values aren't integers inside.
pub fn scalar_to_integer(scalar: &ScalarValue) -> Option<i128> {
    use ScalarValue as S;
    match scalar {
        S::Boolean(v) => v.map(i128::from),
        S::Int8(v) => v.map(i128::from),
        S::Int16(v) => v.map(i128::from),
        S::Int32(v) | S::Date32(v) | S::Time32Second(v) | S::Time32Millisecond(v) | S::Decimal32(v, _, _) => {
            v.map(i128::from)
        }
        S::Int64(v)
        | S::Date64(v)
        | S::Time64Microsecond(v)
        | S::Time64Nanosecond(v)
        | S::TimestampSecond(v, _)
        | S::TimestampMillisecond(v, _)
        | S::TimestampMicrosecond(v, _)
        | S::TimestampNanosecond(v, _)
        | S::DurationSecond(v)
        | S::DurationMillisecond(v)
        | S::DurationMicrosecond(v)
        | S::DurationNanosecond(v)
        | S::Decimal64(v, _, _) => v.map(i128::from),
        S::UInt8(v) => v.map(i128::from),
        S::UInt16(v) => v.map(i128::from),
        S::UInt32(v) => v.map(i128::from),
        S::UInt64(v) => v.map(i128::from),
        S::Decimal128(v, _, _) => *v,
        S::Dictionary(_, value) => scalar_to_integer(value),
        _ => None,
    }
}

/// The scalar of type `logical` whose value inside is `value`: the inverse of [`scalar_to_integer`]. `None` if the type
/// has no such values or `value` doesn't fit.
pub fn scalar_from_integer(value: i128, logical: &DataType) -> Option<ScalarValue> {
    // Bounds of row groups are made of these for each scan: they need no array.
    match logical {
        DataType::Decimal128(precision, scale) => {
            return Some(ScalarValue::Decimal128(Some(value), *precision, *scale));
        }
        DataType::Boolean => return matches!(value, 0 | 1).then_some(ScalarValue::Boolean(Some(value == 1))),
        DataType::Int32 => return i32::try_from(value).ok().map(|value| ScalarValue::Int32(Some(value))),
        DataType::Int64 => return i64::try_from(value).ok().map(|value| ScalarValue::Int64(Some(value))),
        DataType::Date32 => return i32::try_from(value).ok().map(|value| ScalarValue::Date32(Some(value))),
        _ => {}
    }
    let physical = PhysicalType::natural(logical).ok()?;
    if !(ValueRange { min: value, max: value }).fits(physical) {
        return None;
    }
    let vector = Vector::flat(Flat::I128(vec![value].into()), None);
    let array = godwit_vector::to_arrow(&vector, logical).ok()?;
    ScalarValue::try_from_array(&array, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_integers_inside() {
        for scalar in [
            ScalarValue::Int8(Some(-3)),
            ScalarValue::UInt64(Some(u64::MAX)),
            ScalarValue::Date32(Some(9000)),
            ScalarValue::Decimal128(Some(-12345), 15, 2),
            ScalarValue::Decimal128(Some(10i128.pow(30)), 38, 4),
            ScalarValue::TimestampMicrosecond(Some(77), None),
            ScalarValue::Boolean(Some(true)),
        ] {
            let value = scalar_to_integer(&scalar).unwrap();
            assert_eq!(scalar_from_integer(value, &scalar.data_type()), Some(scalar.clone()));
            let (literal, output) = literal_value(&scalar).unwrap();
            assert_eq!(literal.len(), 1);
            assert!(!output.nullable);
            if output.physical != PhysicalType::Bool {
                assert_eq!(output.range, Some(ValueRange { min: value, max: value }));
            }
        }
        assert_eq!(scalar_to_integer(&ScalarValue::Utf8(Some("7".into()))), None);
        assert_eq!(scalar_from_integer(300, &DataType::Int8), None);
        assert!(literal_value(&ScalarValue::Int32(None)).unwrap().1.nullable);
    }
}
