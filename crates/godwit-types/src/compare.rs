//! The order of values.
//!
//! Each type has one total order, used by ORDER BY and by `<`. Numbers compare as numbers; −0 equals 0, NaN equals
//! itself and is greater than all others. Text and bytes compare byte by byte, labels of an ENUM by position. Intervals
//! compare as if months had 30 days and days 24 hours. Lists compare element by element, the shorter first; structs
//! field by field, maps entry by entry.
//!
//! A NULL inside a value is an element like any other, greater than all of them. A NULL operand makes SQL's comparisons
//! NULL: [`sql_compare`] returns `None`, whereas [`compare_values`] puts it last.

use std::cmp::Ordering;

use crate::{SqlType, Value};

/// Compares values of one type in its total order, NULL last.
///
/// # Panics
/// If a value isn't of the type, which is a bug in the caller.
pub fn compare_values(a: &Value, b: &Value, ty: &SqlType) -> Ordering {
    match (a, b) {
        (Value::Null, Value::Null) => Ordering::Equal,
        (Value::Null, _) => Ordering::Greater,
        (_, Value::Null) => Ordering::Less,
        (Value::Boolean(a), Value::Boolean(b)) => a.cmp(b),
        (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
        (Value::UHuge(a), Value::UHuge(b)) | (Value::Uuid(a), Value::Uuid(b)) => a.cmp(b),
        (Value::Float(a), Value::Float(b)) => compare_floats(*a, *b),
        (Value::Text(a), Value::Text(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Blob(a), Value::Blob(b)) => a.cmp(b),
        (Value::Date(a), Value::Date(b)) => a.cmp(b),
        (Value::Time(a), Value::Time(b)) | (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        (Value::TimeTz(a), Value::TimeTz(b)) => a.cmp(b),
        (Value::Interval(a), Value::Interval(b)) => a.estimate().cmp(&b.estimate()),
        (Value::List(_), Value::List(_)) | (Value::Struct(_), Value::Struct(_)) | (Value::Map(_), Value::Map(_)) => {
            compare_nested(a, b, ty)
        }
        _ => panic!("{a:?} and {b:?} aren't both {ty}"),
    }
}

/// Compares as `<`, `=` and `>` do: `None` if either value is NULL.
pub fn sql_compare(a: &Value, b: &Value, ty: &SqlType) -> Option<Ordering> {
    if a.is_null() || b.is_null() { None } else { Some(compare_values(a, b, ty)) }
}

/// `a = b`: `None` if either value is NULL.
pub fn sql_equals(a: &Value, b: &Value, ty: &SqlType) -> Option<bool> {
    sql_compare(a, b, ty).map(Ordering::is_eq)
}

/// Compares numbers, with −0 equal to 0 and NaN after all others.
pub fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn compare_nested(a: &Value, b: &Value, ty: &SqlType) -> Ordering {
    match (a, b, ty) {
        (Value::List(a), Value::List(b), SqlType::List(element) | SqlType::Array(element, _)) => {
            let first = a.iter().zip(b.iter()).map(|(a, b)| compare_values(a, b, element)).find(|order| order.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Struct(a), Value::Struct(b), SqlType::Struct(fields)) => {
            let mut orders =
                fields.iter().zip(a.iter().zip(b.iter())).map(|(field, (a, b))| compare_values(a, b, &field.ty));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        }
        (Value::Map(a), Value::Map(b), SqlType::Map(entry)) => {
            let compare = |(a, b): (&(Value, Value), &(Value, Value))| {
                compare_values(&a.0, &b.0, &entry.0).then_with(|| compare_values(&a.1, &b.1, &entry.1))
            };
            let first = a.iter().zip(b.iter()).map(compare).find(|order| order.is_ne());
            first.unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        _ => panic!("{a:?} and {b:?} aren't both {ty}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_value;

    #[test]
    fn in_order() {
        let cases: [(SqlType, &[&str]); 9] = [
            (SqlType::Boolean, &["false", "true"]),
            (SqlType::Double, &["-inf", "-1.5", "0", "2", "inf", "nan"]),
            (SqlType::decimal(5, 2), &["-1.5", "0", "0.01", "9"]),
            (SqlType::Varchar, &["", "Z", "a", "aa", "b", "ä"]),
            (SqlType::Blob, &["", "\\x00", "\\x0001", "\\xff"]),
            (SqlType::Interval, &["-1 month", "-1 day", "1 hour", "1 day", "29 days", "1 month", "31 days"]),
            (SqlType::Uuid, &["00000000-0000-0000-0000-000000000001", "ffffffff-0000-0000-0000-000000000000"]),
            (SqlType::list_of(SqlType::Integer), &["[]", "[1]", "[1, 2]", "[1, NULL]", "[2]", "[NULL]"]),
            (
                SqlType::struct_of([("a", SqlType::Integer), ("b", SqlType::Varchar)]),
                &["{'a': 1, 'b': x}", "{'a': 1, 'b': NULL}", "{'a': NULL, 'b': a}"],
            ),
        ];
        for (ty, texts) in cases {
            let values: Vec<Value> =
                texts.iter().map(|text| parse_value(text, &ty).unwrap()).chain([Value::Null]).collect();
            for (i, a) in values.iter().enumerate() {
                for (j, b) in values.iter().enumerate() {
                    assert_eq!(compare_values(a, b, &ty), i.cmp(&j), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn equal_though_different() {
        let zeros = (Value::Float(0.0), Value::Float(-0.0));
        assert_eq!(sql_equals(&zeros.0, &zeros.1, &SqlType::Double), Some(true));
        let nan = Value::Float(f64::NAN);
        assert_eq!(sql_equals(&nan, &nan, &SqlType::Double), Some(true));
        assert_eq!(sql_equals(&nan, &Value::Null, &SqlType::Double), None);
        let day = |text| parse_value(text, &SqlType::Interval).unwrap();
        assert_eq!(sql_equals(&day("1 month"), &day("30 days"), &SqlType::Interval), Some(true));
    }
}
