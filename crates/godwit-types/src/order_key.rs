//! Order keys: values whose representations compare as the values that they stand for.
//!
//! An interval's key is its length in microseconds, with months of 30 days. A nested value's key is the same value with
//! the keys of its parts. All other values are their own keys; labels of an ENUM are represented by their positions.
//! Code that hashes or sorts bytes uses a value's key where there is one.

use std::sync::Arc;

use crate::{SqlType, StructField, Value};

/// Returns the type of the keys by which values of a type are ordered and equal; `None` if they are their own keys.
pub fn order_key_type(ty: &SqlType) -> Option<SqlType> {
    let part = |ty: &SqlType| order_key_type(ty).unwrap_or_else(|| ty.clone());
    Some(match ty {
        SqlType::Interval => SqlType::HugeInt,
        SqlType::List(element) => SqlType::list_of(order_key_type(element)?),
        SqlType::Array(element, length) => SqlType::Array(Arc::new(order_key_type(element)?), *length),
        SqlType::Struct(fields) if fields.iter().any(|field| order_key_type(&field.ty).is_some()) => {
            let key = |field: &StructField| StructField { name: field.name.clone(), ty: part(&field.ty) };
            SqlType::Struct(fields.iter().map(key).collect())
        }
        SqlType::Map(entry) if order_key_type(&entry.0).or(order_key_type(&entry.1)).is_some() => {
            SqlType::Map(Arc::new((part(&entry.0), part(&entry.1))))
        }
        _ => return None,
    })
}

/// Returns the key of a value, of the type given by [`order_key_type`].
pub fn order_key(value: &Value) -> Value {
    match value {
        Value::Interval(interval) => Value::Integer(interval.estimate()),
        Value::List(elements) => Value::List(elements.iter().map(order_key).collect()),
        Value::Struct(fields) => Value::Struct(fields.iter().map(order_key).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (order_key(key), order_key(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EnumType, compare_values, parse_value};

    #[test]
    fn keys_compare_as_values_do() {
        let labels = SqlType::Enum(Arc::new(EnumType { name: "".into(), labels: vec!["b".into(), "a".into()] }));
        let cases: [(SqlType, &[&str]); 3] = [
            (SqlType::Interval, &["-1 month", "1 day", "24 hours", "29 days", "30 days", "1 month", "750 hours"]),
            (SqlType::list_of(SqlType::Interval), &["[]", "[1 day]", "[24:00:00, 1 day]", "[1 day, NULL]", "[2 days]"]),
            (
                SqlType::struct_of([("i", SqlType::Interval), ("l", labels), ("n", SqlType::Integer)]),
                &["{'i': 1 day, 'l': a, 'n': 1}", "{'i': 24:00:00, 'l': a, 'n': 1}", "{'i': 1 day, 'l': b, 'n': 2}"],
            ),
        ];
        for (ty, texts) in cases {
            let values: Vec<Value> = texts.iter().map(|text| parse_value(text, &ty).unwrap()).collect();
            let key_type = order_key_type(&ty).unwrap();
            assert!(order_key_type(&key_type).is_none());
            for a in &values {
                for b in &values {
                    let order = compare_values(a, b, &ty);
                    assert_eq!(compare_values(&order_key(a), &order_key(b), &key_type), order, "{a:?} {b:?}");
                    assert_eq!(order_key(a) == order_key(b), order.is_eq(), "{a:?} {b:?}");
                }
            }
        }
    }

    #[test]
    fn most_types_have_none() {
        let nested = SqlType::list_of(SqlType::struct_of([("a", SqlType::Integer)]));
        assert_eq!([order_key_type(&nested), order_key_type(&SqlType::Varchar)], [None, None]);
        let labels = SqlType::Enum(Arc::new(EnumType { name: "".into(), labels: vec!["a".into()] }));
        assert_eq!(order_key_type(&SqlType::list_of(labels)), None);
    }
}
