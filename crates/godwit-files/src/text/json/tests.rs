//! Objects are read the same, whether their values are found in one pass or by trees.

use std::sync::Arc;

use godwit_common::Result;
use godwit_types::{SqlType, Value, parse_value};
use godwit_vector::Chunk;
use godwit_vector::sql::{Reader, arrow_type, field_of};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::columns::ColumnForm;
use super::super::cutter::Piece;
use super::Objects;

type Columns = [(&'static str, SqlType)];
type Rows = Vec<Vec<Value>>;

fn piece(text: &str) -> Piece {
    Piece { bytes: text.into(), first_line: 1, ..Piece::default() }
}

fn objects(columns: &Columns, rows_max: usize) -> Objects {
    let fields = columns.iter().map(|(name, ty)| Ok(Arc::new(field_of(*name, ty, true)?)));
    let fields = fields.collect::<Result<Vec<_>>>().unwrap();
    Objects::of_fields(&fields, ColumnForm::default(), rows_max, false, false).unwrap()
}

/// Returns the rows of all chunks that `next` returns; its own result if one isn't read.
fn rows(columns: &Columns, mut next: impl FnMut() -> Result<Option<Chunk>>) -> Result<Rows> {
    let mut rows = Vec::new();
    while let Some(chunk) = next()? {
        let readers = columns.iter().enumerate().map(|(column, (_, ty))| {
            let vector = chunk.dense(column);
            if ty.is_nested() {
                assert_eq!(*vector.to_flat().nested().data_type(), arrow_type(ty)?);
            }
            Reader::new(&vector, ty)
        });
        let readers = readers.collect::<Result<Vec<_>>>()?;
        for row in 0..chunk.len() {
            rows.push(readers.iter().map(|reader| reader.value(row)).collect::<Result<_>>()?);
        }
    }
    Ok(rows)
}

/// Returns the rows of a text; `None` if they aren't found in one pass.
fn found(columns: &Columns, text: &str, rows_max: usize) -> Option<Rows> {
    let (mut objects, piece, mut is_found) = (objects(columns, rows_max), piece(text), true);
    let next = || {
        let chunk = objects.next_found(&piece);
        is_found &= chunk.is_some();
        Ok(chunk.filter(|chunk| !chunk.is_empty()))
    };
    let rows = rows(columns, next).unwrap();
    is_found.then_some(rows)
}

fn by_trees(columns: &Columns, text: &str) -> Result<Rows> {
    let (mut objects, piece) = (objects(columns, 3), piece(text));
    rows(columns, || objects.next_trees(&piece))
}

fn type_named(name: &str) -> SqlType {
    SqlType::from_definition(name).unwrap()
}

fn values_of(ty: &SqlType, texts: &[&str]) -> Option<Rows> {
    let value = |text: &&str| if text.is_empty() { Value::Null } else { parse_value(text, ty).unwrap() };
    Some(texts.iter().map(|text| vec![value(text)]).collect())
}

#[test]
fn scalars_are_found() {
    let columns = [("a", SqlType::BigInt), ("b", SqlType::Varchar)];
    let text = r#"{"a": 1, "b": "x"}
        {"b":"a text that is longer than thirty-two bytes","skipped":-1.5e3,"a":null}
        {} {"a":-23,"c":true,"b":true}{"b": 7.0}
        {"a":1,"b":""} {"c":{"a":["}\"", {}]},"a":"2","b":"x\"y"} "#;
    let row =
        |a: Option<i64>, b: Option<&str>| vec![a.map_or(Value::Null, Value::from), b.map_or(Value::Null, Value::text)];
    let expected = vec![
        row(Some(1), Some("x")),
        row(None, Some("a text that is longer than thirty-two bytes")),
        row(None, None),
        row(Some(-23), Some("true")),
        row(None, Some("7.0")),
        row(Some(1), Some("")),
        row(Some(2), Some("x\"y")),
    ];
    assert_eq!(found(&columns, text, 2), Some(expected));
}

#[test]
fn nested_values_are_found() {
    for (ty, texts, expected) in [
        (type_named("BIGINT[]"), ["[1, null ,3]", "[]", "null"], ["[1, NULL, 3]", "[]", ""]),
        (
            type_named("VARCHAR[][]"),
            [r#"[["a\n", "b"], [], null]"#, "[[]]", "[null]"],
            ["[['a\n', b], [], NULL]", "[[]]", "[NULL]"],
        ),
        (type_named("BIGINT[2]"), ["[1,2]", "null", "[null,4]"], ["[1, 2]", "", "[NULL, 4]"]),
        (type_named("BIGINT[0]"), ["[]", "[]", "[ ]"], ["[]", "[]", "[]"]),
        (
            type_named(r#"STRUCT("x" BIGINT, "y" VARCHAR)"#),
            [r#"{"y": "b", "X": 1}"#, "{}", r#"{"z": [{}]}"#],
            ["{x: 1, y: b}", "{x: NULL, y: NULL}", "{x: NULL, y: NULL}"],
        ),
        (
            type_named("MAP(VARCHAR, BIGINT)"),
            [r#"{"k\t" : 1, "l": null}"#, "{}", "null"],
            ["{'k\t'=1, l=NULL}", "{}", ""],
        ),
    ] {
        let text: Vec<String> = texts.iter().map(|text| format!("{{\"a\": {text}}}")).collect();
        let (columns, expected) = ([("a", ty.clone())], values_of(&ty, &expected));
        assert_eq!(found(&columns, &text.concat(), 2), expected, "{ty}");
        assert_eq!(by_trees(&columns, &text.concat()).ok(), expected, "{ty}");
    }
}

#[test]
fn what_is_unusual_is_left_to_trees() {
    let columns = [
        ("a", SqlType::BigInt),
        ("b", SqlType::Varchar),
        ("l", type_named("BIGINT[]")),
        ("u", SqlType::Uuid),
        ("s", type_named(r#"STRUCT("x" BIGINT[2])"#)),
    ];
    for text in [
        r#"{"a": [1]}"#,
        r#"{"b": {"a": 1}}"#,
        r#"{"c": {"a": 1}"#,
        r#"{"b": "\x"}"#,
        r#"{"a": "x"}"#,
        r#"{"a": true}"#,
        r#"{"a": 1"#,
        r#"{"a": 1,}"#,
        r#"{"a" 1}"#,
        r#"{"a": 1} x"#,
        r#"{"a": 1, "a": 2}"#,
        r#"{"a": 1, "A": 2}"#,
        r#"{"\u0061": 1}"#,
        "{a: 1}",
        "[1]",
        "null",
        r#"{"l": [1, 2}"#,
        r#"{"l": [1,]}"#,
        r#"{"l": [[1]]}"#,
        r#"{"l": 1}"#,
        r#"{"l": {}}"#,
        r#"{"l": ["x"]}"#,
        r#"{"l": "#,
        r#"{"u": "550E8400-e29b-41d4-a716-446655440000"}"#,
        r#"{"s": []}"#,
        r#"{"s": {"x": [1]}}"#,
        r#"{"s": {"x": [1, 2], "x": null}}"#,
    ] {
        assert_eq!(found(&columns, text, 2), None, "{text}");
    }
}

fn types() -> impl Strategy<Value = SqlType> {
    use SqlType as T;
    let scalars = [T::BigInt, T::UTinyInt, T::Double, T::Real, T::decimal(9, 2), T::HugeInt, T::Varchar, T::Boolean];
    let others = [T::Date, T::Time, T::Timestamp, T::TimestampTz, T::Interval, T::Blob, T::Json, T::Uuid];
    select([scalars, others].concat()).prop_recursive(3, 24, 3, |part| {
        prop_oneof![
            part.clone().prop_map(T::list_of),
            (part.clone(), 1u32..3).prop_map(|(element, length)| T::Array(Arc::new(element), length)),
            vec(part.clone(), 1..4).prop_map(|parts| T::struct_of(["x", "y", "key \u{e9}"].into_iter().zip(parts))),
            part.prop_map(|value| T::Map(Arc::new((T::Varchar, value)))),
        ]
    })
}

/// Values of a type as JSON, in all spellings that are usual.
fn json_of(ty: &SqlType) -> BoxedStrategy<String> {
    let texts = |texts: &[&str]| select(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).boxed();
    let value = match ty {
        SqlType::Varchar => {
            let quoted =
                prop_oneof![r#""[a-z \u{e9}]{0,40}""#, r#""([a-z]{0,5}(\\["\\/bfnrt]|\\u00e9|\\ud83d\\ude00)){1,9}""#];
            prop_oneof![4 => quoted, 1 => texts(&["1", "-2.50", "true"])].boxed()
        }
        SqlType::Json => texts(&["[1, {\"a\": null}]", "\"x\"", "1.50", "{}", "true"]),
        SqlType::Boolean => texts(&["true", "false", "\"true\""]),
        SqlType::Date => texts(&["\"2020-02-29\"", "\"1969-12-31\"", "\"0044-03-15 BC\""]),
        SqlType::Time => texts(&["\"04:05:06.5\"", "\"23:59\""]),
        SqlType::Timestamp => texts(&["\"2020-01-31T04:05:06.5\"", "\"1969-12-31 00:00:00\""]),
        SqlType::TimestampTz => texts(&["\"2020-01-31T04:05:06Z\"", "\"2020-01-31 04:05:06+01:00\""]),
        SqlType::Interval => texts(&["\"1 month\"", "\"2 days 04:05:06\""]),
        SqlType::Blob => texts(&["\"\"", "\"plain\""]),
        SqlType::Uuid => texts(&["\"550e8400-e29b-41d4-a716-446655440000\""]),
        SqlType::Double | SqlType::Real | SqlType::Decimal { .. } => {
            prop_oneof![3 => "-?[0-9]{1,5}(\\.[0-9]{1,2})?", 1 => "\"[0-9]{1,3}\""].boxed()
        }
        SqlType::List(element) => lists(json_of(element), 0..4),
        SqlType::Array(element, length) => lists(json_of(element), *length as usize..*length as usize + 1),
        SqlType::Struct(fields) => object_of(fields.iter().map(|field| (field.name.to_string(), field.ty.clone()))),
        SqlType::Map(entry) => {
            let key = r#""([a-c]{0,2}|\\n)""#;
            let entry = (key, select(&[":", " : "][..]), json_of(&entry.1));
            let entry = entry.prop_map(|(key, colon, value)| format!("{key}{colon}{value}"));
            vec(entry, 0..4).prop_map(|entries| format!("{{{}}}", entries.join(", "))).boxed()
        }
        _ => prop_oneof![3 => "[0-9]{1,2}", 1 => "\"[0-9]{1,2}\""].boxed(),
    };
    prop_oneof![5 => value, 1 => Just("null".to_owned())].boxed()
}

fn lists(element: BoxedStrategy<String>, lengths: std::ops::Range<usize>) -> BoxedStrategy<String> {
    let comma = select(&[",", ", ", " ,\n "][..]);
    (vec(element, lengths), comma).prop_map(|(elements, comma)| format!("[{}]", elements.join(comma))).boxed()
}

/// An object with some of the fields, in any order, and sometimes with a key that no column reads.
fn object_of(fields: impl Iterator<Item = (String, SqlType)>) -> BoxedStrategy<String> {
    let field = |(name, ty): (String, SqlType)| {
        let is_upper = prop::bool::weighted(0.1);
        let key = is_upper.prop_map(move |is_upper| if is_upper { name.to_uppercase() } else { name.clone() });
        prop::option::weighted(0.8, (key, json_of(&ty)))
    };
    let other = prop::option::weighted(0.2, (Just("other".to_owned()), json_of(&type_named("BIGINT[]"))));
    let fields: Vec<_> = fields.map(|named| field(named).boxed()).chain([other.boxed()]).collect();
    let fields = fields.prop_map(|fields| fields.into_iter().flatten().collect::<Vec<_>>()).prop_shuffle();
    let colon = select(&[":", ": ", " : "][..]);
    (fields, colon)
        .prop_map(|(fields, colon)| {
            let fields = fields.into_iter().map(|(key, value)| format!("\"{key}\"{colon}{value}"));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        })
        .boxed()
}

/// Two columns, and objects with values for them.
fn columns_and_texts() -> impl Strategy<Value = ([(&'static str, SqlType); 2], Vec<String>)> {
    (types(), types()).prop_flat_map(|(a, b)| {
        let object = object_of([("a".to_owned(), a.clone()), ("b".to_owned(), b.clone())].into_iter());
        (Just([("a", a), ("b", b)]), vec(object, 1..8))
    })
}

proptest! {
    #[test]
    fn values_are_found_as_trees_have_them((columns, texts) in columns_and_texts(), rows_max in 1usize..5) {
        let text = texts.join("\n");
        let expected = by_trees(&columns, &text).unwrap();
        prop_assert_eq!(found(&columns, &text, rows_max), Some(expected));
    }

    /// Damaged text is read as by trees, or not at all.
    #[test]
    fn damaged_text_is_read_as_by_trees(
        (columns, texts) in columns_and_texts(),
        damages in vec((any::<prop::sample::Index>(), select(b"{}[],:\"\\ 1e-.nultx".to_vec())), 1..3),
    ) {
        let mut bytes = texts.join("\n").into_bytes();
        for (at, byte) in damages {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(expected) = by_trees(&columns, &text) {
            let (mut objects, piece) = (objects(&columns, 3), piece(&text));
            prop_assert_eq!(rows(&columns, || objects.next(&piece)).unwrap(), expected);
        }
    }
}
