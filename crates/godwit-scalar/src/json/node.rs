//! A value within a checked JSON text.

use std::borrow::Cow;

use godwit_common::{Error, Result, SqlState};
use godwit_types::special_in_string;

use crate::rows::Pace;

/// A value: a part of a valid JSON text, without surrounding blanks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Node<'t> {
    text: &'t str,
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Null,
    Boolean,
    Number,
    String,
    Array,
    Object,
}

/// Maximum nesting for functions that visit all parts of a value.
pub(super) const DEPTH_MAX: usize = 1_000;

/// What looking at a value counts for, in steps of a [`Pace`].
pub(super) const STEPS_OF_VALUE: usize = 16;

/// Fails if a value is nested too deeply.
pub(super) fn check_depth(depth: usize) -> Result<()> {
    if depth <= DEPTH_MAX {
        return Ok(());
    }
    Err(Error::user(format!("the JSON value is nested more than {DEPTH_MAX} levels deep"))
        .with_code(SqlState::STATEMENT_TOO_COMPLEX))
}

impl<'t> Node<'t> {
    /// Returns the value of a JSON text.
    pub(super) fn new(text: &'t str) -> Self {
        Self { text: text.trim_ascii() }
    }

    pub(super) fn text(self) -> &'t str {
        self.text
    }

    pub(super) fn kind(self) -> Kind {
        match self.text.as_bytes().first() {
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b't' | b'f') => Kind::Boolean,
            Some(b'n') => Kind::Null,
            _ => Kind::Number,
        }
    }

    /// Returns the elements of an array; none for other values.
    pub(super) fn elements(self) -> impl Iterator<Item = Node<'t>> {
        let inside = if self.kind() == Kind::Array { &self.text[1..] } else { "]" };
        Parts { text: inside, at: 0 }.map(|(_, element)| element)
    }

    /// Returns the number of elements of an array.
    pub(super) fn element_count(self, pace: &mut Pace<'_>) -> Result<usize> {
        let mut count = 0;
        for element in self.elements() {
            pace.go(element.text.len())?;
            count += 1;
        }
        Ok(count)
    }

    /// Returns the members of an object, with their keys as written; none for other values.
    pub(super) fn members(self) -> impl Iterator<Item = (Node<'t>, Node<'t>)> {
        let inside = if self.kind() == Kind::Object { &self.text[1..] } else { "}" };
        Parts { text: inside, at: 0 }.filter_map(|(key, value)| key.map(|key| (key, value)))
    }

    /// Returns the value of a key.
    pub(super) fn member(self, key: &str, pace: &mut Pace<'_>) -> Result<Option<Node<'t>>> {
        for (written, value) in self.members() {
            pace.go(written.text.len() + value.text.len())?;
            if written.is_string(key)? {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    /// True if this is the string of a text.
    pub(super) fn is_string(self, text: &str) -> Result<bool> {
        let inside = self.inside();
        // Escapes are longer than what they stand for.
        let may_have_escapes = inside.len() > text.len() && memchr::memchr(b'\\', inside.as_bytes()).is_some();
        Ok(inside == text || may_have_escapes && self.string()? == text)
    }

    /// Returns the text between the quotes of a string.
    fn inside(self) -> &'t str {
        &self.text[1..self.text.len() - 1]
    }

    /// Returns the text of a string, without escapes.
    pub(super) fn string(self) -> Result<Cow<'t, str>> {
        let inside = self.inside();
        let Some(first) = memchr::memchr(b'\\', inside.as_bytes()) else { return Ok(Cow::Borrowed(inside)) };
        let mut out = inside[..first].to_owned();
        let mut rest = &inside[first..];
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            out.push_str(&rest[..at]);
            let (character, length) = escaped(&rest[at + 1..])?;
            out.push(character);
            rest = &rest[at + 1 + length..];
        }
        out.push_str(rest);
        Ok(Cow::Owned(out))
    }
}

/// Decodes an escape after its backslash; returns the character and the number of bytes.
fn escaped(text: &str) -> Result<(char, usize)> {
    let simple = match text.as_bytes()[0] {
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode(text),
        other => char::from(other),
    };
    Ok((simple, 1))
}

/// Decodes `u` and four digits, or two of these for a character beyond 16 bits.
fn unicode(text: &str) -> Result<(char, usize)> {
    let unit = |at: usize| text.get(at..at + 4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    let units = [unit(1), text[5..].strip_prefix("\\u").and_then(|_| unit(7))];
    match char::decode_utf16(units.into_iter().flatten()).next() {
        Some(Ok(character)) => Ok((character, if character.len_utf16() == 2 { 11 } else { 5 })),
        _ => Err(Error::user(format!("\\{} in a JSON string is half of a character", &text[..5]))
            .with_code(SqlState::INVALID_TEXT_REPRESENTATION)),
    }
}

/// Elements or members, after the opening bracket.
struct Parts<'t> {
    text: &'t str,
    /// Where the next one, or the comma before it, is looked for.
    at: usize,
}

impl<'t> Iterator for Parts<'t> {
    type Item = (Option<Node<'t>>, Node<'t>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.behind_blanks() == Some(b',') {
            self.at += 1;
        }
        if matches!(self.behind_blanks(), None | Some(b']' | b'}')) {
            return None;
        }
        let first = self.take();
        if self.behind_blanks() != Some(b':') {
            return Some((None, first));
        }
        self.at += 1;
        self.behind_blanks();
        Some((Some(first), self.take()))
    }
}

impl<'t> Parts<'t> {
    /// Skips blanks; returns the byte behind them.
    #[inline]
    fn behind_blanks(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.as_bytes().get(self.at)?;
            if byte > b' ' || !byte.is_ascii_whitespace() {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Takes the next value.
    fn take(&mut self) -> Node<'t> {
        let begin = self.at;
        self.at += value_length(&self.text.as_bytes()[begin..]);
        Node { text: &self.text[begin..self.at] }
    }
}

/// Returns the length of the value at the start of a valid text, in bytes.
fn value_length(text: &[u8]) -> usize {
    match text.first() {
        Some(b'"') => string_length(text),
        Some(b'[' | b'{') => {
            let (mut depth, mut at) = (0usize, 0);
            while at < text.len() {
                match text[at] {
                    b'"' => at += string_length(&text[at..]) - 1,
                    b'[' | b'{' => depth += 1,
                    b']' | b'}' => depth -= 1,
                    _ => {}
                }
                at += 1;
                if depth == 0 {
                    break;
                }
            }
            at
        }
        _ => {
            // Numbers and words have none of the bytes that may come after them.
            let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | 0..=b' ');
            text.iter().position(ends).unwrap_or(text.len())
        }
    }
}

/// Returns the length of a string with its quotes, in bytes.
pub(super) fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = special_in_string(text, at) {
        if text[found] == b'"' {
            return found + 1;
        }
        // An escape, whose second byte may be a quote.
        at = found + 2;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Bounded;

    #[test]
    fn parts_are_found() {
        let node = Node::new(r#" { "a" : [1, {"x": "]}"}, "\"]"], "b":2 , "c\u00e9": null } "#);
        assert_eq!(node.kind(), Kind::Object);
        let work = Bounded::new(0);
        let keys: Vec<_> = node.members().map(|(key, _)| key.string().unwrap().into_owned()).collect();
        assert_eq!(keys, ["a", "b", "cé"]);
        let array = node.member("a", &mut Pace::new(&work)).unwrap().unwrap();
        let elements: Vec<_> = array.elements().map(Node::text).collect();
        assert_eq!(elements, ["1", r#"{"x": "]}"}"#, r#""\"]""#]);
        assert_eq!(node.member("cé", &mut Pace::new(&work)).unwrap().unwrap().kind(), Kind::Null);
        assert_eq!(node.member("x", &mut Pace::new(&work)).unwrap(), None);
        assert_eq!(Node::new("[ ]").elements().count() + Node::new("{}").members().count(), 0);
        assert_eq!(Node::new("1").elements().count() + Node::new("[1]").members().count(), 0);
    }

    #[test]
    fn strings_lose_their_escapes() {
        let string = |text| Node::new(text).string().map(Cow::into_owned);
        assert_eq!(string(r#""a\n\"\\\/\u00e9\ud83d\ude00é""#).unwrap(), "a\n\"\\/é😀é");
        assert!(string(r#""\ud83d""#).unwrap_err().message().contains("half of a character"));
        assert!(string(r#""\ude00\u0041""#).is_err());
        assert!(string(r#""\ud83d\u0041""#).is_err());
        assert_eq!(string(r#""\u0041\ud83d\ude00""#).unwrap(), "A😀");
    }
}
