//! Containment, and the types of values.

use std::collections::HashMap;
use std::fmt::Write as _;

use godwit_common::{Error, Result, SqlState};
use godwit_types::{is_json_while, write_json_string};

use super::node::{Kind, Node, STEPS_OF_VALUE, check_depth};
use super::{Source, of_documents, shown};
use crate::function::{Category, Function, function};
use crate::kernel::Work;
use crate::rows::{Json, Pace, Text, scalar, scalar_checked, text};

pub(super) fn functions() -> Vec<Function> {
    let json = |names, description| function(Category::Json, names, description);
    let [contains_json, contains_text] = of_documents(2, |source| {
        scalar_checked::<(Text, Text), bool, _>(move |(text, part), work| {
            let mut pace = Pace::new(work);
            contains(source.node(text, &mut pace)?, source.node(part, &mut pace)?, 0, &mut pace)
        })
    });
    let [has_parts_json, has_parts_text] = of_documents(2, |source| {
        scalar_checked::<(Text, Text), bool, _>(move |(text, part), work| has_all(source, text, part, work))
    });
    let [is_part_json, is_part_text] = of_documents(2, |source| {
        scalar_checked::<(Text, Text), bool, _>(move |(part, text), work| has_all(source, text, part, work))
    });
    let [kind_json, kind_text] = of_documents(1, |source| {
        scalar_checked::<(Text, Text), bool, _>(move |(text, kind), work| is_of_kind(source, text, kind, work))
    });
    let [structure_json, structure_text] = of_documents(1, |source| {
        text::<(Text,), Json, _>(move |(text,), out| {
            let mut pace = out.pace();
            let shape = shape_of(source.node(text, &mut pace)?, 0, &mut pace)?;
            let mut written = String::new();
            write_shape(if shape == Shape::Object(Vec::new()) { &Shape::Json } else { &shape }, &mut written);
            out.push_str(&written);
            Ok(())
        })
    });
    vec![
        json(&["json_valid"], "Whether the text is JSON, of the kind value, object, array or scalar: x IS JSON")
            .example("json_valid('{\"a\": 1}')", "true")
            .form(scalar_checked::<(Text,), bool, _>(|(text,), work| is_json_while(text, || work.check())).total())
            .form(scalar::<(Json,), bool, _>(|(_,)| true))
            .example("json_valid('[1]', 'object')", "false")
            .form(kind_json)
            .form(kind_text),
        json(&["json_contains"], "Whether the value, or one within it, has all parts of the other")
            .example("json_contains('{\"a\": [1, 2]}', '{\"a\": [2]}')", "true")
            .form(contains_json)
            .form(contains_text),
        json(
            &["jsonb_contains"],
            "Whether the value has all parts of the other at the same places, elements at any: the operator @>",
        )
        .example("jsonb_contains('{\"a\": [1, 2], \"b\": 3}', '{\"a\": [2.0]}')", "true")
        .form(has_parts_json)
        .form(has_parts_text),
        json(&["jsonb_contained"], "Whether the other value has all parts of the first: the operator <@")
            .example("jsonb_contained('[1, 1]', '[2, 1]')", "true")
            .form(is_part_json)
            .form(is_part_text),
        json(&["json_structure"], "The value with types in place of texts, numbers and truth values")
            .example("json_structure('{\"a\": [1, 2.5]}')", "{\"a\":[\"DOUBLE\"]}")
            .form(structure_json)
            .form(structure_text),
    ]
}

/// Returns the type of a number.
pub(super) fn number_type(text: &str) -> &'static str {
    if text.parse::<u64>().is_ok() {
        "UBIGINT"
    } else if text.parse::<i64>().is_ok() {
        "BIGINT"
    } else {
        "DOUBLE"
    }
}

/// Whether a text is JSON of a kind.
fn is_of_kind(source: Source, text: &str, kind: &str, work: &dyn Work) -> Result<bool> {
    let kinds: &[Kind] = match kind {
        "value" => &[Kind::Null, Kind::Boolean, Kind::Number, Kind::String, Kind::Array, Kind::Object],
        "scalar" => &[Kind::Null, Kind::Boolean, Kind::Number, Kind::String],
        "array" => &[Kind::Array],
        "object" => &[Kind::Object],
        _ => {
            let error = Error::user(format!("{} is no kind of JSON", shown(kind)));
            let error = error.with_code(SqlState::INVALID_PARAMETER_VALUE);
            return Err(error.with_hint("the kinds are value, object, array and scalar"));
        }
    };
    let is_json = source == Source::Json || is_json_while(text, || work.check())?;
    Ok(is_json && kinds.contains(&Node::new(text).kind()))
}

/// Whether the value has all parts of the other by PostgreSQL's rules: an array also has a value that is an element.
fn has_all(source: Source, text: &str, part: &str, work: &dyn Work) -> Result<bool> {
    let mut pace = Pace::new(work);
    let (node, part) = (source.node(text, &mut pace)?, source.node(part, &mut pace)?);
    if node.kind() != Kind::Array || matches!(part.kind(), Kind::Array | Kind::Object) {
        return has_parts(node, part, Numbers::ByValue, 0, &mut pace);
    }
    for element in node.elements() {
        if has_parts(element, part, Numbers::ByValue, 0, &mut pace)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// How numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// As texts.
    AsWritten,
    /// 1 is 1.0.
    ByValue,
}

/// A number without zeros at its ends: its digits, and the power of ten of the first one.
struct Digits<'t> {
    is_negative: bool,
    whole: &'t str,
    fraction: &'t str,
    power: i64,
}

impl<'t> Digits<'t> {
    /// Returns the digits of a JSON number; `None` if its power of ten is beyond 64 bits.
    fn of(number: &'t str) -> Option<Self> {
        let unsigned = number.trim_start_matches('-');
        let (digits, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let exponent: i64 = exponent.parse().ok()?;
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
        let first = if whole.is_empty() { fraction.len() - fraction.trim_start_matches('0').len() } else { 0 };
        let place = i64::try_from(whole.len()).ok()? - i64::try_from(first).ok()?;
        let is_zero = whole.is_empty() && fraction.is_empty();
        let power = if is_zero { 0 } else { exponent.checked_add(place)? };
        Some(Self { is_negative: number.len() > unsigned.len() && !is_zero, whole, fraction, power })
    }

    fn significant(&self) -> impl Iterator<Item = u8> {
        let whole = if self.fraction.is_empty() { self.whole.trim_end_matches('0') } else { self.whole };
        let fraction = if whole.is_empty() { self.fraction.trim_start_matches('0') } else { self.fraction };
        whole.bytes().chain(fraction.bytes())
    }
}

fn are_equal_numbers(one: &str, other: &str, numbers: Numbers) -> bool {
    one == other
        || numbers == Numbers::ByValue
            && Digits::of(one).zip(Digits::of(other)).is_some_and(|(one, other)| {
                (one.is_negative, one.power) == (other.is_negative, other.power)
                    && one.significant().eq(other.significant())
            })
}

fn contains(node: Node<'_>, part: Node<'_>, depth: usize, pace: &mut Pace<'_>) -> Result<bool> {
    check_depth(depth)?;
    pace.go(STEPS_OF_VALUE)?;
    if has_parts(node, part, Numbers::AsWritten, depth, pace)? {
        return Ok(true);
    }
    for inner in node.elements().chain(node.members().map(|(_, value)| value)) {
        if contains(inner, part, depth + 1, pace)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// True if the value itself has all parts of the other.
fn has_parts(node: Node<'_>, part: Node<'_>, numbers: Numbers, depth: usize, pace: &mut Pace<'_>) -> Result<bool> {
    check_depth(depth)?;
    pace.go(STEPS_OF_VALUE)?;
    if node.kind() != part.kind() {
        return Ok(false);
    }
    match part.kind() {
        Kind::Null | Kind::Boolean => Ok(node.text() == part.text()),
        Kind::Number => Ok(are_equal_numbers(node.text(), part.text(), numbers)),
        Kind::String => Ok(node.string()? == part.string()?),
        Kind::Array => {
            for wanted in part.elements() {
                let mut is_there = false;
                for element in node.elements() {
                    is_there = has_parts(element, wanted, numbers, depth + 1, pace)?;
                    if is_there {
                        break;
                    }
                }
                if !is_there {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Kind::Object => {
            for (key, wanted) in part.members() {
                match node.member(&key.string()?, pace)? {
                    Some(value) if has_parts(value, wanted, numbers, depth + 1, pace)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
    }
}

/// The type of a value.
#[derive(Debug, PartialEq, Eq)]
enum Shape {
    Null,
    Boolean,
    UBigInt,
    BigInt,
    Double,
    Varchar,
    Array(Box<Shape>),
    Object(Vec<(String, Shape)>),
    /// Values of different types.
    Json,
}

fn shape_of(node: Node<'_>, depth: usize, pace: &mut Pace<'_>) -> Result<Shape> {
    check_depth(depth)?;
    pace.go(STEPS_OF_VALUE)?;
    Ok(match node.kind() {
        Kind::Null => Shape::Null,
        Kind::Boolean => Shape::Boolean,
        Kind::Number => match number_type(node.text()) {
            "UBIGINT" => Shape::UBigInt,
            "BIGINT" => Shape::BigInt,
            _ => Shape::Double,
        },
        Kind::String => Shape::Varchar,
        Kind::Array => {
            let shapes = node.elements().map(|element| shape_of(element, depth + 1, pace));
            let merged = shapes.reduce(|all, shape| Ok(merged(all?, shape?))).unwrap_or(Ok(Shape::Null))?;
            Shape::Array(Box::new(merged))
        }
        Kind::Object => {
            let mut members: Vec<(String, Shape)> = Vec::new();
            let mut places = HashMap::new();
            for (key, value) in node.members() {
                let (key, shape) = (key.string()?.into_owned(), shape_of(value, depth + 1, pace)?);
                let place = *places.entry(key.clone()).or_insert(members.len());
                match members.get_mut(place) {
                    // A key that occurs twice has the type of both values.
                    Some((_, known)) => *known = merged(std::mem::replace(known, Shape::Null), shape),
                    None => members.push((key, shape)),
                }
            }
            Shape::Object(members)
        }
    })
}

/// Returns the common type of two values.
fn merged(one: Shape, other: Shape) -> Shape {
    use Shape::{Array, BigInt, Double, Json, Null, Object, UBigInt};
    match (one, other) {
        (one, other) if one == other => one,
        (Null, shape) | (shape, Null) => shape,
        (UBigInt | BigInt, UBigInt | BigInt) => BigInt,
        (UBigInt | BigInt | Double, UBigInt | BigInt | Double) => Double,
        (Array(one), Array(other)) => Array(Box::new(merged(*one, *other))),
        (Object(mut members), Object(others)) => {
            for (key, shape) in others {
                match members.iter_mut().find(|(known, _)| *known == key) {
                    Some((_, known)) => *known = merged(std::mem::replace(known, Null), shape),
                    None => members.push((key, shape)),
                }
            }
            Object(members)
        }
        _ => Json,
    }
}

fn write_shape(shape: &Shape, out: &mut String) {
    let name = match shape {
        Shape::Null => "NULL",
        Shape::Boolean => "BOOLEAN",
        Shape::UBigInt => "UBIGINT",
        Shape::BigInt => "BIGINT",
        Shape::Double => "DOUBLE",
        Shape::Varchar => "VARCHAR",
        Shape::Json => "JSON",
        Shape::Array(element) => {
            out.push('[');
            write_shape(element, out);
            return out.push(']');
        }
        Shape::Object(members) => {
            out.push('{');
            for (at, (key, shape)) in members.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_json_string(out, key);
                out.push(':');
                write_shape(shape, out);
            }
            return out.push('}');
        }
    };
    write!(out, "\"{name}\"").expect("strings take everything");
}

#[cfg(test)]
mod tests {
    use super::{Numbers, are_equal_numbers};
    use crate::testing::{error_of, shown};

    #[test]
    fn parts_are_contained() {
        let contains = |text: &str, part: &str| {
            let (text, part) = (format!("'{text}'"), format!("'{part}'"));
            let json = shown("json_contains", &[&format!("JSON {text}"), &format!("JSON {part}")]);
            assert_eq!(shown("json_contains", &[&text, &part]), json);
            json == "true"
        };
        assert!(contains(r#"{"a": [1, 2]}"#, r#"{"a": [2]}"#));
        assert!(contains("[1, 2, 3]", "2") && contains("[1, [2, 3]]", "[2]") && contains("[1, 2]", "[2, 1]"));
        assert!(contains(r#"{"a": {"b": 1, "c": 2}}"#, r#"{"b": 1}"#));
        assert!(contains(r#""\u0061""#, r#""a""#));
        assert!(!contains(r#""abc""#, r#""a""#) && !contains("1.0", "1") && !contains("[1]", "[[1]]"));
        let deep = format!("'{}{}'", "[".repeat(2000), "]".repeat(2000));
        assert!(error_of("json_contains", &[&deep, "'1'"]).contains("1000 levels"));
    }

    #[test]
    fn parts_are_contained_as_in_postgresql() {
        let contains = |text: &str, part: &str| {
            let (text, part) = (format!("'{text}'"), format!("'{part}'"));
            let json = shown("jsonb_contains", &[&format!("JSON {text}"), &format!("JSON {part}")]);
            assert_eq!(shown("jsonb_contains", &[&text, &part]), json);
            assert_eq!(shown("jsonb_contained", &[&part, &text]), json);
            json == "true"
        };
        assert!(
            contains(r#""foo""#, r#""foo""#) && contains("[1, 2, 3]", "[1, 3]") && contains("[1, 2, 3]", "[3, 1, 1]")
        );
        assert!(
            contains(r#"{"a": "x", "b": 1, "c": true}"#, r#"{"b": 1.0}"#) && contains(r#"["foo", "bar"]"#, r#""bar""#)
        );
        assert!(contains("[1, 2, [1, 3]]", "[[1, 3]]") && contains("[]", "[]") && contains("{}", "{}"));
        assert!(contains(r#"{"a": {"b": {"c": 1}}}"#, r#"{"a": {"b": {}}}"#) && contains("[[1, 2], 3]", "[[2]]"));
        assert!(!contains("[1, 2, [1, 3]]", "[1, 3]") && !contains(r#"{"a": {"b": 1}}"#, r#"{"b": 1}"#));
        assert!(!contains(r#""bar""#, r#"["bar"]"#) && !contains(r#"[{"a": 1}]"#, r#"{"a": 1}"#));
        assert!(!contains(r#"{"a": [1]}"#, r#"{"a": 1}"#) && !contains("[[1]]", "1") && !contains("[true]", "[false]"));
        assert_eq!(shown("jsonb_contains", &["JSON '1'", "NULL"]), "NULL");
        let deep = format!("'{}{}'", "[".repeat(2000), "]".repeat(2000));
        assert!(error_of("jsonb_contains", &[&deep, &deep]).contains("1000 levels"));
    }

    #[test]
    fn numbers_are_compared_by_value() {
        let equal = |one: &str, other: &str| {
            let is_equal = are_equal_numbers(one, other, Numbers::ByValue);
            assert_eq!(are_equal_numbers(other, one, Numbers::ByValue), is_equal);
            is_equal
        };
        let same = [
            ("1", "1.0"),
            ("1e2", "100"),
            ("0.01", "1E-2"),
            ("-0", "0.00e5"),
            ("120.50", "12.05e+1"),
            ("1.0e0", "10e-1"),
            ("0.0012", "12e-4"),
            ("1e99999999999999999999", "1e99999999999999999999"),
        ];
        assert!(same.iter().all(|(one, other)| equal(one, other)));
        let different = [("1", "-1"), ("1", "10"), ("1.01", "1.1"), ("1e2", "1e3"), ("0.1", "0.01"), ("101", "11")];
        assert!(!different.iter().any(|(one, other)| equal(one, other)));
        assert!(!equal("1e99999999999999999999", "1e99999999999999999998"));
        assert!(!equal("1e9223372036854775807", "10e9223372036854775806"));
    }

    #[test]
    fn kinds_are_told() {
        for (text, kind) in
            [("[1]", "array"), ("{}", "object"), ("7", "scalar"), ("\"x\"", "scalar"), ("null", "scalar")]
        {
            let (text, json) = (format!("'{text}'"), format!("JSON '{text}'"));
            for tried in ["array", "object", "scalar"] {
                let expected = (tried == kind).to_string();
                let tried = format!("'{tried}'");
                assert_eq!(shown("json_valid", &[&text, &tried]), expected);
                assert_eq!(shown("json_valid", &[&json, &tried]), expected);
            }
            assert_eq!(shown("json_valid", &[&text, "'value'"]), "true");
        }
        assert_eq!(shown("json_valid", &["'[1'", "'array'"]), "false");
        assert!(error_of("json_valid", &["'1'", "'list'"]).contains("'list' is no kind of JSON"));
    }

    #[test]
    fn structures() {
        let structure = |text: &str| shown("json_structure", &[&format!("'{text}'")]);
        assert_eq!(
            structure(r#"{"a":1,"c":[{"x":1},{"y":"s"}],"d":null,"e":[],"f":true,"g":[-1, 2]}"#),
            r#"{"a":"UBIGINT","c":[{"x":"UBIGINT","y":"VARCHAR"}],"d":"NULL","e":["NULL"],"f":"BOOLEAN","g":["BIGINT"]}"#
        );
        assert_eq!(structure(r#"[1, "a"]"#), r#"["JSON"]"#);
        assert_eq!(structure("{}"), r#""JSON""#);
        assert_eq!(structure(r#"{"a": null, "b": true, "a": 2, "a": 1.5}"#), r#"{"a":"DOUBLE","b":"BOOLEAN"}"#);
        assert_eq!(shown("json_valid", &["'{'"]), "false");
        assert_eq!(shown("json_valid", &["NULL"]), "NULL");
        assert_eq!(shown("json_valid", &["JSON '1'"]), "true");
    }
}
