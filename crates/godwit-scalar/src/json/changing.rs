//! Other texts of the same value, and values merged from several.

use std::collections::{HashMap, HashSet};

use godwit_common::Result;
use godwit_types::SqlType;

use super::node::{Kind, Node, STEPS_OF_VALUE, check_depth, string_length};
use super::of_documents;
use crate::function::{Category, Form, Function, function};
use crate::rows::{Json, Text, Writer, text};

pub(super) fn functions() -> Vec<Function> {
    let json = |names, description| function(Category::Json, names, description);
    let [compact_json, compact_text] = changed(SqlType::Json, |node, out| write_compact(node.text(), out));
    let [pretty_json, pretty_text] = changed(SqlType::Varchar, |node, out| write_pretty(node.text(), out));
    let [stripped_json, stripped_text] = changed(SqlType::Json, |node, out| write_without_nulls(node, 0, out));
    let [merged_json, merged_text] = of_documents(2, |source| {
        text::<(Text, Text), Json, _>(move |(target, patch), out| {
            let mut pace = out.pace();
            write_merged(Some(source.node(target, &mut pace)?), source.node(patch, &mut pace)?, 0, out)
        })
    });
    vec![
        json(&["json"], "The JSON value without blanks")
            .example("json('{\"a\" : 1}')", "{\"a\":1}")
            .form(compact_json)
            .form(compact_text),
        json(&["json_pretty", "jsonb_pretty"], "The JSON value in lines, indented")
            .example("json_pretty('[]')", "[]")
            .form(pretty_json)
            .form(pretty_text),
        json(&["json_strip_nulls", "jsonb_strip_nulls"], "The JSON value without members that are null")
            .example("json_strip_nulls('{\"a\": null, \"b\": 1}')", "{\"b\":1}")
            .form(stripped_json)
            .form(stripped_text),
        json(&["json_merge_patch"], "The first value with the members of the second; null takes a member away")
            .example("json_merge_patch('{\"a\": 1, \"b\": 2}', '{\"b\": null}')", "{\"a\":1}")
            .form(merged_json)
            .form(merged_text),
    ]
}

/// Forms that rewrite a value.
fn changed(result: SqlType, write: fn(Node<'_>, &mut Writer<'_>) -> Result<()>) -> [Form; 2] {
    of_documents(1, |source| {
        let form = text::<(Text,), Text, _>(move |(text,), out| write(source.node(text, &mut out.pace())?, out));
        form.with_types([SqlType::Varchar], result.clone())
    })
}

/// Writes a value without blanks.
pub(super) fn write_compact(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let mut rest = text;
    while let Some(end) = rest.bytes().position(|byte| byte == b'"' || byte.is_ascii_whitespace()) {
        let length = if rest.as_bytes()[end] == b'"' { string_length(&rest.as_bytes()[end..]) } else { 0 };
        out.push_str(&rest[..end + length]);
        rest = rest[end + length..].trim_ascii_start();
        out.go(end + length)?;
    }
    out.push_str(rest);
    Ok(())
}

/// Spaces per level.
const INDENT: usize = 4;

fn write_pretty(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0usize, 0);
    let new_line = |depth: usize, out: &mut Writer<'_>| {
        out.reserve(1 + INDENT * depth)?;
        out.push('\n');
        (0..depth).for_each(|_| out.push_bytes(&[b' '; INDENT]));
        Ok(())
    };
    while at < bytes.len() {
        let byte = bytes[at];
        match byte {
            b'"' => {
                let length = string_length(&bytes[at..]);
                out.push_bytes(&bytes[at..at + length]);
                at += length - 1;
            }
            b'[' | b'{' => {
                out.push_bytes(&[byte]);
                let behind = text[at + 1..].trim_ascii_start();
                if behind.starts_with([']', '}']) {
                    at = text.len() - behind.len();
                    out.push_bytes(&bytes[at..=at]);
                } else {
                    depth += 1;
                    new_line(depth, out)?;
                }
            }
            b']' | b'}' => {
                depth -= 1;
                new_line(depth, out)?;
                out.push_bytes(&[byte]);
            }
            b',' => {
                out.push(',');
                new_line(depth, out)?;
            }
            b':' => out.push_str(": "),
            byte if byte.is_ascii_whitespace() => {}
            byte => out.push_bytes(&[byte]),
        }
        at += 1;
        out.go(1)?;
    }
    Ok(())
}

fn write_without_nulls(node: Node<'_>, depth: usize, out: &mut Writer<'_>) -> Result<()> {
    check_depth(depth)?;
    out.go(STEPS_OF_VALUE)?;
    match node.kind() {
        Kind::Object => {
            out.push('{');
            for (at, (key, value)) in node.members().filter(|(_, value)| value.kind() != Kind::Null).enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                out.push_str(key.text());
                out.push(':');
                write_without_nulls(value, depth + 1, out)?;
            }
            out.push('}');
        }
        Kind::Array => {
            out.push('[');
            for (at, element) in node.elements().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                write_without_nulls(element, depth + 1, out)?;
            }
            out.push(']');
        }
        Kind::Null | Kind::Boolean | Kind::Number | Kind::String => out.push_str(node.text()),
    }
    Ok(())
}

/// Merges according to RFC 7396.
fn write_merged(target: Option<Node<'_>>, patch: Node<'_>, depth: usize, out: &mut Writer<'_>) -> Result<()> {
    check_depth(depth)?;
    if patch.kind() != Kind::Object {
        return write_compact(patch.text(), out);
    }
    let mut changes = HashMap::new();
    for (key, value) in patch.members() {
        out.go(STEPS_OF_VALUE)?;
        changes.entry(key.string()?).or_insert(value);
    }
    let mut known = HashSet::new();
    let mut count = 0;
    let mut write_key = |key: Node<'_>, out: &mut Writer<'_>| {
        out.push_str(if count == 0 { "" } else { "," });
        out.push_str(key.text());
        out.push(':');
        count += 1;
    };
    out.push('{');
    for (key, value) in target.into_iter().flat_map(Node::members) {
        let name = key.string()?;
        match changes.get(&name) {
            Some(change) if change.kind() == Kind::Null => {}
            Some(change) => {
                write_key(key, out);
                write_merged(Some(value), *change, depth + 1, out)?;
            }
            None => {
                write_key(key, out);
                write_compact(value.text(), out)?;
            }
        }
        known.insert(name);
    }
    for (key, value) in patch.members().filter(|(_, value)| value.kind() != Kind::Null) {
        if known.insert(key.string()?) {
            write_key(key, out);
            write_merged(None, value, depth + 1, out)?;
        }
    }
    out.push('}');
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn texts_of_the_same_value() {
        assert_eq!(shown("json", &[r#"' { "a b" : [ 1 , "x\" y" ] } '"#]), r#"{"a b":[1,"x\" y"]}"#);
        assert_eq!(shown("json", &["JSON '[1, 2]'"]), "[1,2]");
        assert!(error_of("json", &["'[1'"]).contains("not JSON"));
        assert_eq!(
            shown("json_pretty", &[r#"'{"a":[1,2,{ }],"b":"{,"}'"#]),
            "{\n    \"a\": [\n        1,\n        2,\n        {}\n    ],\n    \"b\": \"{,\"\n}"
        );
        assert_eq!(shown("json_strip_nulls", &[r#"'{"a": null, "b": [null, {"c": null}]}'"#]), r#"{"b":[null,{}]}"#);
        assert_eq!(shown("json_strip_nulls", &["NULL"]), "NULL");
    }

    #[test]
    fn values_are_merged() {
        let merged = |target: &str, patch: &str| {
            let (target, patch) = (format!("'{target}'"), format!("'{patch}'"));
            shown("json_merge_patch", &[&target, &patch])
        };
        assert_eq!(
            merged(r#"{"a":1,"b":{"c":2,"d":3}}"#, r#"{"b":{"c":null,"e":4},"a":[1]}"#),
            r#"{"a":[1],"b":{"d":3,"e":4}}"#
        );
        assert_eq!(merged("1", r#"{"a": null, "b": {"c": null}}"#), r#"{"b":{}}"#);
        assert_eq!(merged(r#"{"a": 1}"#, "[2, 3]"), "[2,3]");
        assert_eq!(merged("{}", r#"{"a": 1, "a": 2}"#), r#"{"a":1}"#);
        let deep = format!("'{}1{}'", "{\"a\":".repeat(2000), "}".repeat(2000));
        assert!(error_of("json_merge_patch", &["'{}'", &deep]).contains("1000 levels"));
    }
}
