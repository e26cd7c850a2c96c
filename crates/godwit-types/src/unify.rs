//! The common type of several values: the rows of UNION and VALUES, the branches of CASE, the elements of a list, the
//! two sides of a comparison. After PostgreSQL's documentation, section 10.5 "UNION, CASE, and Related Constructs".

use std::sync::Arc;

use crate::cast::{Context, cast_kind, position_of};
use crate::{SqlType, StructField};

/// Returns the common type of values of both types; `None` if they have none.
///
/// - Quoted text and NULL take the type of the other; the result is unknown if both are.
/// - Numbers: the smallest integer that holds both, a DECIMAL of the digits of both, or the float.
/// - Lists, structs and maps: part by part.
/// - Otherwise the one to which the other is cast implicitly. Text and another type have none, except an ENUM or JSON,
///   which are texts.
pub fn common_type(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    use SqlType::{Enum, Json, Unknown, Varchar};
    match (a, b) {
        _ if a == b => Some(a.clone()),
        (Unknown, other) | (other, Unknown) => Some(other.clone()),
        (Enum(_), Enum(_)) | (Json | Enum(_), Varchar) | (Varchar, Json | Enum(_)) => Some(Varchar),
        _ if a.is_numeric() && b.is_numeric() => Some(common_number(a, b)),
        _ if a.is_nested() || b.is_nested() => common_nested(a, b),
        _ if is_implicit(a, b) => Some(b.clone()),
        _ if is_implicit(b, a) => Some(a.clone()),
        _ => None,
    }
}

fn is_implicit(from: &SqlType, to: &SqlType) -> bool {
    cast_kind(from, to).is_some_and(|cast| cast.context == Context::Implicit)
}

/// Returns the common type of two numbers. If one is a float, its type wins, and the exact one is rounded.
pub(crate) fn common_number(a: &SqlType, b: &SqlType) -> SqlType {
    match (a, b) {
        (SqlType::Double, _) | (_, SqlType::Double) => SqlType::Double,
        (SqlType::Real, _) | (_, SqlType::Real) => SqlType::Real,
        _ if a.is_integer() && b.is_integer() => common_integer(a, b),
        _ => common_decimal(a, b),
    }
}

/// Returns the smallest integer type that holds both. None holds HUGEINT and UHUGEINT: their common type is DOUBLE.
fn common_integer(a: &SqlType, b: &SqlType) -> SqlType {
    const SIGNED: [SqlType; 5] =
        [SqlType::TinyInt, SqlType::SmallInt, SqlType::Integer, SqlType::BigInt, SqlType::HugeInt];
    let smallest = SIGNED.iter().find(|ty| is_implicit(a, ty) && is_implicit(b, ty));
    if is_implicit(a, b) {
        b.clone()
    } else if is_implicit(b, a) {
        a.clone()
    } else {
        smallest.cloned().unwrap_or(SqlType::Double)
    }
}

/// Returns a DECIMAL with the digits of both, before and after the point. If these exceed the maximum, those after the
/// point give way. The 38 digits of HUGEINT themselves give way: sums are of that type, and hardly ever that long.
fn common_decimal(a: &SqlType, b: &SqlType) -> SqlType {
    let parts = |ty: &SqlType| ty.decimal_digits().expect("only exact numbers meet in a decimal");
    let ((a_precision, a_scale), (b_precision, b_scale)) = (parts(a), parts(b));
    let scale = a_scale.max(b_scale);
    if matches!(a, SqlType::HugeInt | SqlType::UHugeInt) || matches!(b, SqlType::HugeInt | SqlType::UHugeInt) {
        return SqlType::decimal(SqlType::DECIMAL_PRECISION_MAX, scale);
    }
    let whole = (a_precision - a_scale).max(b_precision - b_scale);
    let precision = (whole + scale).min(SqlType::DECIMAL_PRECISION_MAX);
    SqlType::decimal(precision, scale.min(SqlType::DECIMAL_PRECISION_MAX - whole))
}

/// Unifies part by part. An ARRAY stays one if both have its length.
fn common_nested(a: &SqlType, b: &SqlType) -> Option<SqlType> {
    Some(match (a, b) {
        (SqlType::Array(a, length), SqlType::Array(b, other)) if length == other => {
            SqlType::Array(common_type(a, b)?.into(), *length)
        }
        (SqlType::List(a) | SqlType::Array(a, _), SqlType::List(b) | SqlType::Array(b, _)) => {
            SqlType::list_of(common_type(a, b)?)
        }
        (SqlType::Struct(a), SqlType::Struct(b)) => SqlType::Struct(common_fields(a, b)?),
        (SqlType::Map(a), SqlType::Map(b)) => SqlType::Map((common_type(&a.0, &b.0)?, common_type(&a.1, &b.1)?).into()),
        _ => return None,
    })
}

/// Returns the fields of both structs, matched by name: those of the first, then those that only the second has.
/// `ROW(…)` is matched by position and takes the names of the other.
fn common_fields(a: &[StructField], b: &[StructField]) -> Option<Arc<[StructField]>> {
    let common = |name: &StructField, other: &StructField| {
        Some(StructField { name: name.name.clone(), ty: common_type(&name.ty, &other.ty)? })
    };
    if StructField::meet_by_place(a, b) {
        let (row, named) = if StructField::are_of_row(a) { (a, b) } else { (b, a) };
        return named.iter().zip(row).map(|(name, other)| common(name, other)).collect();
    }
    let of_first = a.iter().map(|field| match position_of(&field.name, b) {
        Some(at) => common(field, &b[at]),
        None => Some(field.clone()),
    });
    let of_second = b.iter().filter(|field| position_of(&field.name, a).is_none());
    of_first.chain(of_second.cloned().map(Some)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqlType as T;

    #[test]
    fn types_meet() {
        let cases = [
            (T::Unknown, T::Date, Some(T::Date)),
            (T::Unknown, T::Unknown, Some(T::Unknown)),
            (T::SmallInt, T::Integer, Some(T::Integer)),
            (T::UInteger, T::Integer, Some(T::BigInt)),
            (T::UTinyInt, T::TinyInt, Some(T::SmallInt)),
            (T::BigInt, T::UBigInt, Some(T::HugeInt)),
            (T::HugeInt, T::UHugeInt, Some(T::Double)),
            (T::UTinyInt, T::UHugeInt, Some(T::UHugeInt)),
            (T::Integer, T::decimal(2, 1), Some(T::decimal(11, 1))),
            (T::HugeInt, T::decimal(2, 1), Some(T::decimal(38, 1))),
            (T::decimal(10, 2), T::decimal(6, 4), Some(T::decimal(12, 4))),
            (T::decimal(38, 2), T::decimal(38, 10), Some(T::decimal(38, 2))),
            (T::decimal(10, 2), T::Real, Some(T::Real)),
            (T::BigInt, T::Real, Some(T::Real)),
            (T::Real, T::Double, Some(T::Double)),
            (T::Date, T::Timestamp, Some(T::Timestamp)),
            (T::Timestamp, T::TimestampTz, Some(T::TimestampTz)),
            (T::TimestampS, T::TimestampNs, Some(T::TimestampNs)),
            (T::Varchar, T::Integer, None),
            (T::Varchar, T::Json, Some(T::Varchar)),
            (T::Boolean, T::Integer, None),
            (T::Date, T::Integer, None),
            (T::list_of(T::Unknown), T::list_of(T::Date), Some(T::list_of(T::Date))),
            (T::Array(T::Integer.into(), 2), T::Array(T::BigInt.into(), 2), Some(T::Array(T::BigInt.into(), 2))),
            (T::Array(T::Integer.into(), 2), T::list_of(T::BigInt), Some(T::list_of(T::BigInt))),
            (T::list_of(T::Integer), T::Integer, None),
        ];
        for (a, b, expected) in cases {
            assert_eq!(common_type(&a, &b), expected, "{a} and {b}");
            assert_eq!(common_type(&b, &a), expected, "{b} and {a}");
        }
    }

    #[test]
    fn fields_meet_by_name() {
        let a = T::struct_of([("a", T::Integer), ("b", T::Unknown)]);
        let b = T::struct_of([("B", T::Date), ("A", T::BigInt)]);
        assert_eq!(common_type(&a, &b), Some(T::struct_of([("a", T::BigInt), ("b", T::Date)])));
    }

    #[test]
    fn what_meets_can_be_cast() {
        let all = crate::tests::sample_types();
        for a in &all {
            for b in &all {
                if let Some(common) = common_type(a, b) {
                    assert!(cast_kind(a, &common).is_some() && cast_kind(b, &common).is_some(), "{a}, {b}, {common}");
                }
            }
        }
    }
}
