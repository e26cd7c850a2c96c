//! Lists, structs and maps as text: `[1, NULL]`, `{'a': 1, 'b': x}`, `{k=v}`; a struct also as `(1, x)`.
//!
//! A part is written as its type writes it. Ambiguous text is quoted: if it is empty, contains brackets, commas, quotes
//! or the like, or reads NULL. In quotes, a backslash escapes the character after it. The reader accepts quotes of both
//! kinds around any part; outside of quotes, blanks around a part are ignored. It also takes lists as PostgreSQL writes
//! them: a list's text that begins with a brace ([`super::arrays`]).

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};

use super::arrays::{elements, is_array};
use super::{not_a, parse_value, quoted, write_value};
use crate::{SqlType, StructField, Value};

pub(super) fn parse(text: &str, ty: &SqlType) -> Result<Value> {
    let not = || not_a(text, ty);
    let inside = |open: char, close: char| text.trim().strip_prefix(open)?.strip_suffix(close);
    match ty {
        SqlType::List(element) | SqlType::Array(element, _) => {
            let values: Result<Vec<Value>> = if is_array(text) {
                let elements = elements(text).ok_or_else(not)?.into_iter();
                elements.map(|part| part.map_or(Ok(Value::Null), |part| parse_value(&part, element))).collect()
            } else {
                let parts = split(inside('[', ']').ok_or_else(not)?).ok_or_else(not)?;
                parts.iter().map(|part| parse_part(part, element)).collect()
            };
            let values = values?;
            match ty {
                SqlType::Array(_, length) if values.len() != *length as usize => Err(wrong_length(values.len(), ty)),
                _ => Ok(Value::List(values.into())),
            }
        }
        SqlType::Struct(fields) => match inside('(', ')') {
            Some(inner) => parse_row(&split(inner).ok_or_else(not)?, fields).unwrap_or_else(|| Err(not())),
            None => {
                let parts = split(inside('{', '}').ok_or_else(not)?).ok_or_else(not)?;
                parse_fields(&parts, fields, text, ty)
            }
        },
        SqlType::Map(entry) => {
            let parts = split(inside('{', '}').ok_or_else(not)?).ok_or_else(not)?;
            let mut entries: Vec<(Value, Value)> = Vec::with_capacity(parts.len());
            let mut keys = HashSet::new();
            for part in &parts {
                let (key, value) = split_pair(part, '=').ok_or_else(not)?;
                let key = parse_part(key, &entry.0)?;
                if key.is_null() || !keys.insert(key.clone()) {
                    return Err(bad_key(&key, text));
                }
                entries.push((key, parse_part(value, &entry.1)?));
            }
            Ok(Value::Map(entries.into()))
        }
        _ => unreachable!("only nested types come here"),
    }
}

/// Returns the error for a list whose length differs from its type's.
pub(crate) fn wrong_length(length: usize, ty: &SqlType) -> Error {
    Error::user(format!("a list of {length} values is not of type {ty}")).with_code(SqlState::DATA_EXCEPTION)
}

fn bad_key(key: &Value, text: &str) -> Error {
    let what = if key.is_null() { "a key is NULL" } else { "a key is there twice" };
    Error::user(format!("{} is not a MAP: {what}", quoted(text))).with_code(SqlState::INVALID_TEXT_REPRESENTATION)
}

/// `(1, x)`: fields by position. `None` if their number differs.
fn parse_row(parts: &[&str], fields: &[StructField]) -> Option<Result<Value>> {
    if parts.len() != fields.len() {
        return None;
    }
    let values: Result<Vec<Value>> =
        parts.iter().zip(fields).map(|(part, field)| parse_part(part, &field.ty)).collect();
    Some(values.map(|values| Value::Struct(values.into())))
}

/// `{'a': 1}`: fields by name; missing ones are NULL.
fn parse_fields(parts: &[&str], fields: &[StructField], text: &str, ty: &SqlType) -> Result<Value> {
    let mut values = vec![Value::Null; fields.len()];
    for part in parts {
        let (name, value) = split_pair(part, ':').ok_or_else(|| not_a(text, ty))?;
        let name = unquoted(name);
        let position = fields.iter().position(|field| field.name.eq_ignore_ascii_case(&name)).ok_or_else(|| {
            Error::user(format!("{ty} has no field {}", quoted(&name))).with_code(SqlState::INVALID_TEXT_REPRESENTATION)
        })?;
        values[position] = parse_part(value, &fields[position].ty)?;
    }
    Ok(Value::Struct(values.into()))
}

fn parse_part(part: &str, ty: &SqlType) -> Result<Value> {
    if part.eq_ignore_ascii_case("NULL") {
        return Ok(Value::Null);
    }
    parse_value(&unquoted(part), ty)
}

/// Finds positions outside of quotes and brackets, one by one; `None` at the end if these aren't balanced.
struct Outline<'t> {
    text: &'t str,
    at: usize,
    open: Vec<u8>,
    /// A quote opens only at the start of a part.
    part_begins: bool,
}

impl<'t> Outline<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, at: 0, open: Vec::new(), part_begins: true }
    }

    /// Returns the next position of one of these characters; the end if there is none.
    fn find(&mut self, wanted: &[u8]) -> Option<usize> {
        let bytes = self.text.as_bytes();
        while let Some(&byte) = bytes.get(self.at) {
            if self.open.is_empty() && wanted.contains(&byte) {
                self.at += 1;
                self.part_begins = true;
                return Some(self.at - 1);
            }
            match byte {
                b'"' | b'\'' if self.part_begins => self.at = end_of_quotes(bytes, self.at)?,
                b'[' => self.open.push(b']'),
                b'{' => self.open.push(b'}'),
                b'(' => self.open.push(b')'),
                b']' | b'}' | b')' if self.open.pop() != Some(byte) => return None,
                _ => {}
            }
            self.part_begins = matches!(byte, b'[' | b'{' | b'(' | b',' | b':' | b'=')
                || self.part_begins && byte.is_ascii_whitespace();
            self.at += 1;
        }
        self.open.is_empty().then_some(bytes.len())
    }
}

/// Returns the position of the quote that closes the one at `start`.
pub(super) fn end_of_quotes(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    while *bytes.get(at)? != bytes[start] {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    Some(at)
}

/// Returns the parts between commas, without surrounding blanks; none if the text is blank.
fn split(text: &str) -> Option<Vec<&str>> {
    if text.trim().is_empty() {
        return Some(Vec::new());
    }
    let mut outline = Outline::new(text);
    let mut parts = Vec::new();
    let mut start = 0;
    loop {
        let end = outline.find(b",")?;
        let part = text[start..end].trim();
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        if end == text.len() {
            return Some(parts);
        }
        start = end + 1;
    }
}

/// Splits an entry into key and value.
fn split_pair(text: &str, separator: char) -> Option<(&str, &str)> {
    let at = Outline::new(text).find(&[u8::try_from(separator).ok()?])?;
    (at < text.len()).then(|| (text[..at].trim(), text[at + 1..].trim()))
}

/// Removes surrounding quotes, and backslashes inside.
fn unquoted(part: &str) -> Cow<'_, str> {
    let bytes = part.as_bytes();
    let is_quoted = matches!(bytes.first(), Some(b'"' | b'\'')) && end_of_quotes(bytes, 0) == Some(bytes.len() - 1);
    if !is_quoted {
        return part.into();
    }
    unescaped(&part[1..part.len() - 1])
}

/// Removes the backslash before each character that one escapes.
pub(super) fn unescaped(escaped: &str) -> Cow<'_, str> {
    if !escaped.contains('\\') {
        return escaped.into();
    }
    let mut text = String::with_capacity(escaped.len());
    let mut characters = escaped.chars();
    while let Some(character) = characters.next() {
        text.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    text.into()
}

pub(super) fn write(out: &mut String, value: &Value, ty: &SqlType) {
    match (value, ty) {
        (Value::List(values), SqlType::List(element) | SqlType::Array(element, _)) => {
            write_all(out, ['[', ']'], values, |out, value| write_part(out, value, element));
        }
        (Value::Struct(values), SqlType::Struct(fields)) => {
            let fields: Vec<(&StructField, &Value)> = fields.iter().zip(values.iter()).collect();
            write_all(out, ['{', '}'], &fields, |out, (field, value)| {
                write_quoted(out, &field.name);
                out.push_str(": ");
                write_part(out, value, &field.ty);
            });
        }
        (Value::Map(entries), SqlType::Map(entry)) => {
            write_all(out, ['{', '}'], entries, |out, (key, value)| {
                write_part(out, key, &entry.0);
                out.push('=');
                write_part(out, value, &entry.1);
            });
        }
        _ => panic!("{value:?} isn't of type {ty}"),
    }
}

fn write_all<P>(out: &mut String, brackets: [char; 2], parts: &[P], write: impl Fn(&mut String, &P)) {
    out.push(brackets[0]);
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.push_str(", ");
        }
        write(out, part);
    }
    out.push(brackets[1]);
}

/// Appends a value as it is written within a nested one.
pub fn write_part(out: &mut String, value: &Value, ty: &SqlType) {
    let text: Option<Arc<str>> = match (value, ty) {
        (Value::Text(text), _) => Some(text.clone()),
        (Value::Integer(position), SqlType::Enum(labels)) => Some(super::label(*position, labels).clone()),
        _ => None,
    };
    match text {
        Some(text) if needs_quotes(&text) => write_quoted(out, &text),
        Some(text) => out.push_str(&text),
        None => write_value(out, value, ty),
    }
}

/// True if a text is written in quotes within a nested value.
pub fn needs_quotes(text: &str) -> bool {
    text.is_empty()
        || text.trim() != text
        || text.eq_ignore_ascii_case("NULL")
        || text.contains(['[', ']', '{', '}', '(', ')', ',', ':', '=', '\'', '"', '\\'])
}

/// Appends a text as it is written in quotes within a nested value.
pub fn write_quoted(out: &mut String, text: &str) {
    out.push('\'');
    write_escaped(out, text);
    out.push('\'');
}

/// Appends what is between the quotes of [`write_quoted`]; a text can be written in several pieces.
pub fn write_escaped(out: &mut String, text: &str) {
    for character in text.chars() {
        if matches!(character, '\'' | '\\') {
            out.push('\\');
        }
        out.push(character);
    }
}
