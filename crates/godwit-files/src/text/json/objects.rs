//! Finds the values of JSON objects in one pass over their text: where scalars are, how long lists are, what is NULL.
//! Anything unusual gives `None`, and is left to trees.
//!
//! ```text
//! {"a": 1, "b": [{"c": "x"}, null]}     a: scalars 1, 4    b: lists of 2 and 1
//! {"a": 4, "b": [{"c": "y"}]}           in b: structs, the second NULL    c: scalars "x", NULL, "y"
//! ```
//!
//! Most objects of a file have the same keys in the same order, so each key is first compared with the one that came
//! next last time.

use std::collections::HashMap;

use arrow_schema::{DataType, FieldRef};
use godwit_types::SqlType;
use godwit_vector::ColumnType;

use super::spans::{Span, SpanKind, skip_blanks};

/// Number of keys that are remembered. Files with more have objects as maps.
const KEYS_MAX: usize = 4096;

/// A range that ends before it begins, for a missing value.
const NOWHERE: [u32; 2] = [1; 2];

/// The values that a column takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A text; numbers and literals count as texts.
    Text,
    /// A text that denotes a value of another type, such as a date.
    Denoted,
    /// A text that denotes a UUID, which is kept as text.
    Uuid,
    /// A number, or a text that denotes one.
    Number,
    /// A literal, or a text that denotes one.
    Boolean,
    /// Any value as written.
    Json,
}

impl Form {
    fn of(ty: &SqlType) -> Option<Self> {
        match ty {
            SqlType::Varchar => Some(Form::Text),
            SqlType::Json => Some(Form::Json),
            SqlType::Uuid => Some(Form::Uuid),
            SqlType::Boolean => Some(Form::Boolean),
            SqlType::Unknown | SqlType::Bit | SqlType::Enum(_) => None,
            _ if ty.is_nested() => None,
            _ if ty.is_numeric() => Some(Form::Number),
            _ => Some(Form::Denoted),
        }
    }

    /// Returns where the characters of a value begin, and a byte after their end; `None` if it has another form.
    #[inline]
    fn place(self, start: usize, span: &Span) -> Option<[u32; 2]> {
        use SpanKind as S;
        let quotes = match (span.kind, self) {
            (S::Null, _) => return Some(NOWHERE),
            (_, Form::Json) => 0,
            (S::Text | S::EscapedText, _) => 1,
            (S::Number, Form::Number | Form::Text) | (S::Boolean, Form::Boolean | Form::Text) => 0,
            _ => return None,
        };
        Some([(start + quotes) as u32, (span.end - quotes + 1) as u32])
    }
}

/// All values of a column, or of a part of its values.
pub(super) enum Found {
    Scalars(Scalars),
    Lists(Lists),
    Structs(Structs),
}

impl Found {
    /// Prepares to find values of an SQL type that become arrays of an Arrow type; `None` if only trees have them.
    pub(super) fn of(ty: &SqlType, data_type: &DataType) -> Option<Self> {
        Some(match (ty, data_type) {
            (SqlType::List(element), DataType::List(field))
            | (SqlType::Array(element, _), DataType::FixedSizeList(field, _)) => {
                Found::Lists(Lists::of(data_type, None, Self::of(element, field.data_type())?))
            }
            (SqlType::Map(entry), DataType::Map(entries, _)) if entry.0 == SqlType::Varchar => {
                let DataType::Struct(fields) = entries.data_type() else { return None };
                let [key, value] = &fields[..] else { return None };
                let keys = Scalars::of(&entry.0, key.data_type())?;
                Found::Lists(Lists::of(data_type, Some(keys), Self::of(&entry.1, value.data_type())?))
            }
            (SqlType::Struct(types), DataType::Struct(fields)) => {
                let named = types.iter().zip(fields).map(|(part, field)| (&*part.name, &part.ty, field.data_type()));
                Found::Structs(Structs::of(data_type, named)?)
            }
            _ => Found::Scalars(Scalars::of(ty, data_type)?),
        })
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Found::Scalars(scalars) => scalars.places.len(),
            Found::Lists(lists) => lists.valid.len(),
            Found::Structs(structs) => structs.valid.len(),
        }
    }

    fn clear(&mut self) {
        match self {
            Found::Scalars(scalars) => scalars.clear(),
            Found::Lists(lists) => lists.clear(),
            Found::Structs(structs) => structs.clear(),
        }
    }

    /// Finds the value that begins at `at`; returns its end.
    #[inline]
    fn find(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        match self {
            Found::Scalars(scalars) => scalars.find(bytes, at),
            nested if bytes.get(at..)?.starts_with(b"null") => {
                nested.push_null();
                Some(at + 4)
            }
            Found::Lists(lists) => lists.find(bytes, at),
            Found::Structs(structs) => structs.find(bytes, at),
        }
    }

    fn push_null(&mut self) {
        match self {
            Found::Scalars(scalars) => scalars.places.push(NOWHERE),
            Found::Lists(lists) => lists.push_null(),
            Found::Structs(structs) => structs.push_null(),
        }
    }
}

/// Values that aren't taken apart.
pub(super) struct Scalars {
    pub form: Form,
    pub ty: ColumnType,
    /// For each value, where it begins, and a byte after its end.
    pub places: Vec<[u32; 2]>,
    /// True if some texts have escapes.
    pub are_escaped: bool,
}

impl Scalars {
    fn of(ty: &SqlType, data_type: &DataType) -> Option<Self> {
        let (form, ty) = (Form::of(ty)?, ColumnType::new(data_type.clone(), true).ok()?);
        Some(Self { form, ty, places: Vec::new(), are_escaped: false })
    }

    fn clear(&mut self) {
        self.places.clear();
        self.are_escaped = false;
    }

    #[inline]
    fn find(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let span = Span::find(bytes, at)?;
        self.places.push(self.form.place(at, &span)?);
        self.are_escaped |= span.kind == SpanKind::EscapedText;
        Some(span.end)
    }

    /// Finds the key that begins at `at`; returns where its value begins.
    fn find_key(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        if bytes.get(at) != Some(&b'"') {
            return None;
        }
        let colon = skip_blanks(bytes, self.find(bytes, at)?);
        (bytes.get(colon) == Some(&b':')).then(|| skip_blanks(bytes, colon + 1))
    }
}

/// Lists, arrays and maps.
pub(super) struct Lists {
    pub data_type: DataType,
    /// For maps.
    pub keys: Option<Scalars>,
    /// The elements of all lists, or the values of all maps.
    pub elements: Box<Found>,
    /// Where the elements of each list end, after a zero.
    pub ends: Vec<usize>,
    pub valid: Vec<bool>,
}

impl Lists {
    fn of(data_type: &DataType, keys: Option<Scalars>, elements: Found) -> Self {
        let (data_type, elements) = (data_type.clone(), Box::new(elements));
        Self { data_type, keys, elements, ends: vec![0], valid: Vec::new() }
    }

    fn clear(&mut self) {
        self.keys.iter_mut().for_each(Scalars::clear);
        self.elements.clear();
        self.ends.truncate(1);
        self.valid.clear();
    }

    /// The number of elements of each list, if it is fixed.
    fn size(&self) -> Option<usize> {
        match self.data_type {
            DataType::FixedSizeList(_, size) => usize::try_from(size).ok(),
            _ => None,
        }
    }

    fn find(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        let (open, close) = if self.keys.is_some() { (b'{', b'}') } else { (b'[', b']') };
        if bytes.get(at) != Some(&open) {
            return None;
        }
        let before = self.elements.len();
        let mut at = skip_blanks(bytes, at + 1);
        if bytes.get(at) != Some(&close) {
            loop {
                if let Some(keys) = &mut self.keys {
                    at = keys.find_key(bytes, at)?;
                }
                at = skip_blanks(bytes, self.elements.find(bytes, at)?);
                match bytes.get(at)? {
                    b',' => at = skip_blanks(bytes, at + 1),
                    end if *end == close => break,
                    _ => return None,
                }
            }
        }
        if self.size().is_some_and(|size| size != self.elements.len() - before) {
            return None;
        }
        self.push_end(true);
        Some(at + 1)
    }

    fn push_null(&mut self) {
        // Arrow has elements in arrays that are NULL.
        (0..self.size().unwrap_or(0)).for_each(|_| self.elements.push_null());
        self.push_end(false);
    }

    fn push_end(&mut self, is_valid: bool) {
        self.ends.push(self.elements.len());
        self.valid.push(is_valid);
    }
}

/// Objects with known keys.
pub(super) struct Structs {
    pub data_type: DataType,
    pub fields: Vec<Found>,
    pub valid: Vec<bool>,
    keys: Keys,
}

impl Structs {
    /// Prepares to find objects that are rows.
    pub(super) fn of_rows(columns: &[(String, SqlType)], fields: &[FieldRef]) -> Option<Self> {
        let named = columns.iter().zip(fields).map(|((name, ty), field)| (name.as_str(), ty, field.data_type()));
        Self::of(&DataType::Struct(fields.to_vec().into()), named)
    }

    fn of<'a>(data_type: &DataType, named: impl Iterator<Item = (&'a str, &'a SqlType, &'a DataType)>) -> Option<Self> {
        let (mut names, mut fields) = (Vec::new(), Vec::new());
        for (name, ty, data_type) in named {
            names.push(name.to_owned());
            fields.push(Found::of(ty, data_type)?);
        }
        Some(Self { data_type: data_type.clone(), fields, valid: Vec::new(), keys: Keys::of(names) })
    }

    /// Finds the next rows from `at`, and returns where the one after them begins.
    pub(super) fn find_rows(&mut self, bytes: &[u8], at: usize, rows_max: usize) -> Option<usize> {
        self.clear();
        let mut at = skip_blanks(bytes, at);
        while self.valid.len() < rows_max && at < bytes.len() {
            at = skip_blanks(bytes, self.find(bytes, at)?);
        }
        Some(at)
    }

    fn clear(&mut self) {
        self.fields.iter_mut().for_each(Found::clear);
        self.valid.clear();
    }

    fn find(&mut self, bytes: &[u8], at: usize) -> Option<usize> {
        if bytes.get(at) != Some(&b'{') {
            return None;
        }
        let before = self.valid.len();
        self.valid.push(true);
        let mut at = skip_blanks(bytes, at + 1);
        let (mut expected, mut found) = (0, 0);
        if bytes.get(at) != Some(&b'}') {
            loop {
                let (key, behind) = self.keys.find(bytes, at, expected)?;
                expected = key + 1;
                at = skip_blanks(bytes, behind);
                let end = match self.keys.known[key].field {
                    // Trees know which of several values counts.
                    Some(field) if self.fields[field].len() > before => return None,
                    Some(field) => {
                        found += 1;
                        self.fields[field].find(bytes, at)?
                    }
                    None => Span::find(bytes, at)?.end,
                };
                at = skip_blanks(bytes, end);
                match bytes.get(at)? {
                    b',' => at = skip_blanks(bytes, at + 1),
                    b'}' => break,
                    _ => return None,
                }
            }
        }
        if found < self.fields.len() {
            self.fields.iter_mut().filter(|field| field.len() == before).for_each(Found::push_null);
        }
        Some(at + 1)
    }

    fn push_null(&mut self) {
        self.valid.push(false);
        self.fields.iter_mut().for_each(Found::push_null);
    }
}

/// The keys of objects.
struct Keys {
    /// The names of fields.
    names: Vec<String>,
    /// Keys in the order in which they were first seen.
    known: Vec<Key>,
    /// Positions in `known`.
    places: HashMap<Vec<u8>, usize>,
}

/// A key seen before.
struct Key {
    /// As written, with the colon.
    text: Vec<u8>,
    /// The field that it names.
    field: Option<usize>,
}

impl Keys {
    fn of(names: Vec<String>) -> Self {
        Self { names, known: Vec::new(), places: HashMap::new() }
    }

    /// Returns the key that begins at `at`, and where it ends, including its colon.
    #[inline]
    fn find(&mut self, bytes: &[u8], at: usize, expected: usize) -> Option<(usize, usize)> {
        match self.known.get(expected) {
            Some(key) if begins_with(&bytes[at..], &key.text) => Some((expected, at + key.text.len())),
            _ => self.find_other(bytes, at),
        }
    }

    fn find_other(&mut self, bytes: &[u8], at: usize) -> Option<(usize, usize)> {
        let text = Span::find(bytes, at).filter(|span| span.kind == SpanKind::Text)?;
        let colon = skip_blanks(bytes, text.end);
        if bytes.get(colon) != Some(&b':') {
            return None;
        }
        let name = &bytes[at + 1..text.end - 1];
        if let Some(&place) = self.places.get(name) {
            return Some((place, colon + 1));
        }
        if self.known.len() == KEYS_MAX {
            return None;
        }
        let place = self.known.len();
        self.places.insert(name.to_vec(), place);
        self.known.push(Key { text: bytes[at..=colon].to_vec(), field: self.field(name) });
        Some((place, colon + 1))
    }

    /// Returns the field with a name, whose case matters only if several match.
    fn field(&self, name: &[u8]) -> Option<usize> {
        let exact = self.names.iter().position(|known| known.as_bytes() == name);
        exact.or_else(|| self.names.iter().position(|known| known.as_bytes().eq_ignore_ascii_case(name)))
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
