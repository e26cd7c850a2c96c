//! Containment, and the types of values.

use std::collections::HashMap;
use std::fmt::Write as _;

use godwit_common::Result;
use godwit_types::{is_json_while, write_json_string};

use super::node::{Kind, Node, STEPS_OF_VALUE, check_depth};
use super::of_documents;
use crate::function::{Category, Function, function};
use crate::rows::{Json, Pace, Text, scalar, scalar_checked, text};

pub(super) fn functions() -> Vec<Function> {
    let json = |names, description| function(Category::Json, names, description);
    let [contains_json, contains_text] = of_documents(2, |source| {
        scalar_checked::<(Text, Text), bool, _>(move |(text, part), work| {
            let mut pace = Pace::new(work);
            contains(source.node(text, &mut pace)?, source.node(part, &mut pace)?, 0, &mut pace)
        })
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
        json(&["json_valid"], "Whether the text is JSON")
            .example("json_valid('{\"a\": 1}')", "true")
            .form(scalar_checked::<(Text,), bool, _>(|(text,), work| is_json_while(text, || work.check())).total())
            .form(scalar::<(Json,), bool, _>(|(_,)| true)),
        json(&["json_contains"], "Whether the value, or one within it, has all parts of the other")
            .example("json_contains('{\"a\": [1, 2]}', '{\"a\": [2]}')", "true")
            .form(contains_json)
            .form(contains_text),
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

fn contains(node: Node<'_>, part: Node<'_>, depth: usize, pace: &mut Pace<'_>) -> Result<bool> {
    check_depth(depth)?;
    pace.go(STEPS_OF_VALUE)?;
    if has_parts(node, part, depth, pace)? {
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
fn has_parts(node: Node<'_>, part: Node<'_>, depth: usize, pace: &mut Pace<'_>) -> Result<bool> {
    check_depth(depth)?;
    pace.go(STEPS_OF_VALUE)?;
    if node.kind() != part.kind() {
        return Ok(false);
    }
    match part.kind() {
        Kind::Null | Kind::Boolean | Kind::Number => Ok(node.text() == part.text()),
        Kind::String => Ok(node.string()? == part.string()?),
        Kind::Array => {
            for wanted in part.elements() {
                let mut is_there = false;
                for element in node.elements() {
                    is_there = has_parts(element, wanted, depth + 1, pace)?;
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
                    Some(value) if has_parts(value, wanted, depth + 1, pace)? => {}
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
