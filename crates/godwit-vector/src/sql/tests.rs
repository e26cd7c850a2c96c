//! Conversion of types and values to Arrow and back.

use std::sync::Arc;

use godwit_types::{EnumType, SqlType, Value, parse_value};

use super::*;
use crate::from_arrow;

#[test]
fn types_and_values_go_to_arrow_and_back() {
    use SqlType as T;
    let list = T::list_of(T::struct_of([("a", T::Interval), ("b", T::Map(Arc::new((T::Varchar, T::Date))))]));
    let labels = EnumType { name: "mood".into(), labels: vec!["sad".into(), "ok".into()] };
    let same = [
        (T::Boolean, "true"),
        (T::UBigInt, "18446744073709551615"),
        (T::Real, "1.5"),
        (T::decimal(38, 10), "-1.5"),
        (T::Varchar, "ä"),
        (T::Blob, "\\x00ff"),
        (T::Time, "23:59:59.999999"),
        (T::TimestampS, "9999-12-31 23:59:59"),
        (T::Timestamp, "9999-12-31 23:59:59"),
        (T::TimestampNs, "2000-01-01 00:00:00.000001"),
        (T::TimestampTz, "2000-01-01 00:00:00"),
        (T::Interval, "1 month -1 day 00:00:00.5"),
        (list, "[{'a': 1 day, 'b': {k=2000-01-01}}, NULL, {'a': NULL, 'b': {}}]"),
        (T::Array(Arc::new(T::Integer), 2), "[1, NULL]"),
    ];
    let stand_ins = [
        (T::HugeInt, "170141183460469231731687303715884105727", T::decimal(38, 0)),
        (T::Uuid, "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", T::Varchar),
        (T::Json, "[1]", T::Varchar),
        (T::Bit, "101", T::Varchar),
        (T::Enum(Arc::new(labels)), "ok", T::UTinyInt),
    ];
    let all = same.iter().map(|(ty, text)| (ty, text, ty)).chain(stand_ins.iter().map(|(ty, text, of)| (ty, text, of)));
    for (ty, text, back) in all {
        assert_eq!(sql_type(&arrow_type(ty).unwrap()).unwrap(), *back);
        assert_eq!(type_of_field(&field_of("a", ty, true).unwrap()).unwrap(), *ty);
        let value = parse_value(text, ty).unwrap();
        let array = array_of_values(&[value.clone(), Value::Null], ty).unwrap();
        assert_eq!(*array.data_type(), arrow_type(ty).unwrap(), "{ty}");
        assert_eq!(value_at(&array, 0, ty).unwrap(), value, "{ty}");
        assert!(value_at(&array, 1, ty).unwrap().is_null(), "{ty}");
    }
    let mood = field_of("a", &stand_ins[4].0, true).unwrap();
    let wrong = mood.with_data_type(arrow_type(&T::Varchar).unwrap());
    assert!(type_of_field(&wrong).unwrap_err().message().contains("a type that isn't one"));
}

#[test]
fn rows_are_written_as_text_and_as_json() {
    use SqlType as T;
    let nested = T::list_of(T::struct_of([("a b", T::Interval), ("m", T::Map(Arc::new((T::Integer, T::Json))))]));
    let cases = [
        (T::Boolean, "true", "true"),
        (T::BigInt, "-12", "-12"),
        (T::decimal(9, 2), "1.50", "1.50"),
        (T::Double, "1", "1.0"),
        (T::Double, "NaN", "\"NaN\""),
        (T::Varchar, "a\"\n\u{1}ä", "\"a\\\"\\n\\u0001ä\""),
        (T::Date, "2020-01-02", "\"2020-01-02\""),
        (T::Timestamp, "2020-01-02 03:04:05", "\"2020-01-02T03:04:05\""),
        (T::TimestampTz, "2020-01-02 03:04:05+00", "\"2020-01-02T03:04:05+00:00\""),
        (T::Json, "{\"a\":\n1}", "{\"a\": 1}"),
        (nested, "[{'a b': 1 day, 'm': {1=[1]}}, NULL]", "[{\"a b\":\"1 day\",\"m\":{\"1\":[1]}},null]"),
    ];
    for (ty, text, json) in cases {
        let value = parse_value(text, &ty).unwrap();
        let vector = from_arrow(&array_of_values(&[Value::Null, value.clone()], &ty).unwrap()).unwrap();
        let reader = Reader::new(&vector, &ty).unwrap();
        let (mut texts, mut jsons) = (String::new(), String::new());
        assert!(!reader.write_text(0, &mut texts).unwrap() && texts.is_empty());
        assert!(reader.write_text(1, &mut texts).unwrap());
        assert_eq!(texts, godwit_types::format_value(&value, &ty));
        reader.write_json(0, &mut jsons).unwrap();
        reader.write_json(1, &mut jsons).unwrap();
        assert_eq!(jsons, format!("null{json}"));
    }
}
