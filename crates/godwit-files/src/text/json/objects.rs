//! Finds the values of flat JSON objects: texts without escapes, numbers, literals. Arrow's decoder handles the rest.
//!
//! Most objects of a file have the same keys in the same order, so each key is first compared with the one that came
//! next last time.

use std::collections::HashMap;

use arrow_schema::{DataType, TimeUnit};
use godwit_types::SqlType;
use godwit_vector::RowType;
use memchr::memchr2;

use super::super::columns::Nulls;
use super::super::values::Fields;

/// Number of keys that are remembered. Files with more have objects as maps.
const KEYS_MAX: usize = 4096;

/// Maximum length of texts that are searched eight bytes at a time.
const SHORT_TEXT_BYTES: usize = 32;

/// The values that a column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A text; numbers and literals count as texts.
    Text,
    /// A text with a date or a timestamp.
    Moment,
    Number,
    Boolean,
    /// Any value as written.
    Json,
}

impl Form {
    fn of(ty: &SqlType, data_type: &DataType) -> Option<Self> {
        use DataType as D;
        match data_type {
            D::Utf8View if *ty == SqlType::Json => Some(Form::Json),
            D::Utf8View => Some(Form::Text),
            D::Date32 | D::Timestamp(TimeUnit::Microsecond, _) | D::Time64(_) => Some(Form::Moment),
            D::Boolean => Some(Form::Boolean),
            D::Int8 | D::Int16 | D::Int32 | D::Int64 | D::UInt8 | D::UInt16 | D::UInt32 | D::UInt64 => {
                Some(Form::Number)
            }
            D::Float64 | D::Decimal128(_, _) => Some(Form::Number),
            _ => None,
        }
    }
}

/// A key seen before.
struct Key {
    /// As written, with the colon.
    text: Vec<u8>,
    /// The column that is read from it.
    column: Option<usize>,
}

/// Scans flat objects.
pub(super) struct FlatObjects {
    forms: Vec<Form>,
    columns: HashMap<Vec<u8>, usize>,
    /// Keys in the order in which they were first seen.
    keys: Vec<Key>,
    /// Positions in `keys` by name.
    known: HashMap<Vec<u8>, usize>,
    /// For each object and column, where the value begins, and a byte after its end.
    places: Vec<u32>,
    objects: usize,
}

/// A range that ends before it begins, for a missing value.
const NOWHERE: u32 = 1;

impl FlatObjects {
    /// Creates a scanner for columns of these names and types; `None` if their values aren't flat.
    pub(super) fn new<'a>(columns: impl Iterator<Item = (&'a str, &'a SqlType)>, types: &RowType) -> Option<Self> {
        let (mut forms, mut names) = (Vec::new(), HashMap::new());
        for (column, (name, ty)) in columns.enumerate() {
            forms.push(Form::of(ty, &types[column].logical)?);
            names.insert(name.as_bytes().to_vec(), column);
        }
        let (keys, known, places) = Default::default();
        Some(Self { forms, columns: names, keys, known, places, objects: 0 })
    }

    /// Returns the number of objects found.
    pub(super) fn len(&self) -> usize {
        self.objects
    }

    /// Returns the values of a column.
    pub(super) fn fields<'a>(&'a self, bytes: &'a [u8], column: usize) -> Fields<'a> {
        let (places, places_per_record) = (&self.places, 2 * self.forms.len());
        Fields { bytes, places, places_per_record, place: 2 * column, quote: None, nulls: Nulls::default() }
    }

    /// Finds the next objects from `at`, and returns where the one after them begins; `None` if any isn't flat.
    pub(super) fn find(&mut self, bytes: &[u8], at: usize, objects_max: usize) -> Option<usize> {
        self.places.clear();
        self.objects = 0;
        let mut at = skip_blanks(bytes, at);
        while self.objects < objects_max && at < bytes.len() {
            let end = self.object(bytes, at)?;
            self.objects += 1;
            at = skip_blanks(bytes, end);
        }
        Some(at)
    }

    /// Finds the values of the object that begins at `at`, and its end.
    fn object(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let first = self.places.len();
        self.places.resize(first + 2 * self.forms.len(), NOWHERE);
        if bytes[at] != b'{' {
            return None;
        }
        let mut at = skip_blanks(bytes, at + 1);
        if bytes.get(at) == Some(&b'}') {
            return Some(at + 1);
        }
        let mut expected = 0;
        loop {
            let (key, behind) = self.key(bytes, at, expected)?;
            expected = key + 1;
            at = skip_blanks(bytes, behind);
            let value = Value::find(bytes, at)?;
            if let Some(column) = self.keys[key].column {
                let (start, end) = value.place(self.forms[column], at)?;
                self.places[first + 2 * column] = start;
                self.places[first + 2 * column + 1] = end;
            }
            at = skip_blanks(bytes, value.end);
            match bytes.get(at)? {
                b',' => at = skip_blanks(bytes, at + 1),
                b'}' => return Some(at + 1),
                _ => return None,
            }
        }
    }

    /// Returns the key that begins at `at`, and where it ends, including its colon.
    #[inline]
    fn key(&mut self, bytes: &[u8], at: usize, expected: usize) -> Option<(usize, usize)> {
        match self.keys.get(expected) {
            Some(key) if begins_with(&bytes[at..], &key.text) => Some((expected, at + key.text.len())),
            _ => self.other_key(bytes, at),
        }
    }

    fn other_key(&mut self, bytes: &[u8], at: usize) -> Option<(usize, usize)> {
        let text = Value::find(bytes, at).filter(|value| value.kind == ValueKind::Text)?;
        let colon = skip_blanks(bytes, text.end);
        if bytes.get(colon) != Some(&b':') {
            return None;
        }
        let name = &bytes[at + 1..text.end - 1];
        if let Some(&known) = self.known.get(name) {
            return Some((known, colon + 1));
        }
        if self.keys.len() == KEYS_MAX {
            return None;
        }
        self.known.insert(name.to_vec(), self.keys.len());
        self.keys.push(Key { text: bytes[at..=colon].to_vec(), column: self.columns.get(name).copied() });
        Some((self.keys.len() - 1, colon + 1))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Text,
    Number,
    Boolean,
    Null,
    /// A list or an object.
    Nested,
}

/// A value that isn't taken apart.
struct Value {
    kind: ValueKind,
    end: usize,
}

impl Value {
    /// Finds the value that begins at `at`.
    #[inline]
    fn find(bytes: &[u8], at: usize) -> Option<Self> {
        let rest = bytes.get(at..)?;
        let (kind, length) = match rest.first()? {
            b'"' => {
                let end = 1 + text_length(&rest[1..])?;
                (ValueKind::Text, end + 1)
            }
            b'-' | b'0'..=b'9' => {
                let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
                let end = 1 + rest[1..].iter().position(|byte| !is_of_number(byte))?;
                (ValueKind::Number, end)
            }
            b'{' | b'[' => (ValueKind::Nested, nested_length(rest)?),
            b't' if rest.starts_with(b"true") => (ValueKind::Boolean, 4),
            b'f' if rest.starts_with(b"false") => (ValueKind::Boolean, 5),
            b'n' if rest.starts_with(b"null") => (ValueKind::Null, 4),
            _ => return None,
        };
        Some(Self { kind, end: at + length })
    }

    /// Returns where the characters of a value at `at` begin, and a byte after their end, for a column of `form`.
    #[inline]
    fn place(&self, form: Form, at: usize) -> Option<(u32, u32)> {
        let is_quoted = match (self.kind, form) {
            (ValueKind::Null, _) => return Some((NOWHERE, NOWHERE)),
            (_, Form::Json) => 0,
            (ValueKind::Text, Form::Text | Form::Moment) => 1,
            (ValueKind::Number, Form::Number | Form::Text) => 0,
            (ValueKind::Boolean, Form::Boolean | Form::Text) => 0,
            _ => return None,
        };
        Some(((at + is_quoted) as u32, (self.end - is_quoted + 1) as u32))
    }
}

/// Returns the length of a text up to its closing quote; `None` if it contains an escape.
#[inline]
fn text_length(bytes: &[u8]) -> Option<usize> {
    /// Returns the highest bit of each byte that is zero, and possibly of bytes after the first of these.
    fn zeros(bytes: u64) -> u64 {
        bytes.wrapping_sub(u64::from_le_bytes([0x01; 8])) & !bytes & u64::from_le_bytes([0x80; 8])
    }
    // Most texts are so short that calling `memchr` takes longer.
    let mut length = 0;
    for eight in bytes.as_chunks().0.iter().take(SHORT_TEXT_BYTES / 8) {
        let eight = u64::from_le_bytes(*eight);
        let found = zeros(eight ^ u64::from_le_bytes([b'"'; 8])) | zeros(eight ^ u64::from_le_bytes([b'\\'; 8]));
        if found != 0 {
            length += found.trailing_zeros() as usize / 8;
            return Some(length).filter(|_| bytes[length] == b'"');
        }
        length += 8;
    }
    length += memchr2(b'"', b'\\', &bytes[length..])?;
    Some(length).filter(|_| bytes[length] == b'"')
}

/// Returns the length of a list or an object; `None` if it has no end.
fn nested_length(bytes: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0usize, 0);
    loop {
        match *bytes.get(at)? {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            b'"' => {
                at += 1;
                loop {
                    at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
                    if bytes[at] == b'"' {
                        break;
                    }
                    at += 2;
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// Like `starts_with`, but without a call for keys of ordinary lengths.
#[inline]
fn begins_with(bytes: &[u8], text: &[u8]) -> bool {
    let Some(begin) = bytes.get(..text.len()) else { return false };
    match (text.first_chunk::<8>(), text.last_chunk::<8>()) {
        (Some(first), Some(last)) if text.len() <= 16 => {
            begin.first_chunk() == Some(first) && begin.last_chunk() == Some(last)
        }
        _ => begin == text,
    }
}

#[inline]
fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use godwit_vector::sql::column_type;

    use super::*;

    /// Returns the values of columns `a` (a number) and `b` (a text) of all objects; `None` if they aren't flat.
    fn found(text: &str) -> Option<Vec<[Option<String>; 2]>> {
        let columns = [("a", &SqlType::BigInt), ("b", &SqlType::Varchar)];
        let types = columns.iter().map(|(_, ty)| column_type(ty, true).unwrap()).collect();
        let mut objects = FlatObjects::new(columns.into_iter(), &types).unwrap();
        let (bytes, mut at, mut rows) = (text.as_bytes(), 0, Vec::new());
        while at < bytes.len() {
            at = objects.find(bytes, at, 2)?;
            let value =
                |column, row| Some(String::from_utf8_lossy(objects.fields(bytes, column).get(row)?).into_owned());
            rows.extend((0..objects.len()).map(|row| [value(0, row), value(1, row)]));
        }
        Some(rows)
    }

    #[test]
    fn values_of_flat_objects_are_found() {
        let text = r#"{"a": 1, "b": "x"}
            {"b":"a text that is longer than thirty-two bytes","skipped":-1.5e3,"a":null}
            {} {"a":-23,"c":true,"b":true}{"b": 7.0}
            {"a":1,"b":""} {"c":{"a":["}\"", {}]},"a":2} "#;
        let row = |a: Option<&str>, b: Option<&str>| [a.map(str::to_owned), b.map(str::to_owned)];
        assert_eq!(
            found(text),
            Some(vec![
                row(Some("1"), Some("x")),
                row(None, Some("a text that is longer than thirty-two bytes")),
                row(None, None),
                row(Some("-23"), Some("true")),
                row(None, Some("7.0")),
                row(Some("1"), Some("")),
                row(Some("2"), None),
            ])
        );
    }

    #[test]
    fn what_is_not_flat_is_left_to_others() {
        for text in [
            r#"{"a": [1]}"#,
            r#"{"b": {"a": 1}}"#,
            r#"{"c": {"a": 1}"#,
            r#"{"b": "x\"y"}"#,
            r#"{"b": "a text of more than thirty-two bytes\n"}"#,
            r#"{"a": "1"}"#,
            r#"{"a": true}"#,
            r#"{"a": 1"#,
            r#"{"a": 1,}"#,
            r#"{"a" 1}"#,
            r#"{"a": 1} x"#,
            r#"{"\u0061": 1}"#,
            "{a: 1}",
            "[1]",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
