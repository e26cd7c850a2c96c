//! Characters for separating, quoting and commenting.

use godwit_catalog::CopyOption;
use godwit_common::{Error, Result};

/// A separator of fields: one to four bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Delimiter {
    bytes: [u8; 4],
    length: u8,
}

impl Delimiter {
    pub(crate) const fn one(byte: u8) -> Self {
        Self { bytes: [byte, 0, 0, 0], length: 1 }
    }

    pub(crate) fn of(option: &CopyOption) -> Result<Self> {
        let text = option.text()?.replace("\\t", "\t");
        let mut bytes = [0; 4];
        match text.len() {
            1..=4 if !text.contains(['\n', '\r']) => bytes[..text.len()].copy_from_slice(text.as_bytes()),
            _ => {
                return Err(Error::user(format!("{}: '{text}' can't separate fields", option.name))
                    .with_hint("a delimiter has at most four bytes, and no line break"));
            }
        }
        Ok(Self { bytes, length: text.len() as u8 })
    }

    #[inline]
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

/// Returns a character as text; empty if there is none.
pub(super) fn text_of(character: Option<u8>) -> String {
    character.map_or(String::new(), |byte| char::from(byte).to_string())
}

/// The characters that separate fields, quote and comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    pub delimiter: Delimiter,
    pub quote: Option<u8>,
    /// The escape before a quote in a quoted field; `None`: quotes are doubled.
    pub escape: Option<u8>,
    /// The start of a comment, which ends with the line.
    pub comment: Option<u8>,
    /// The end of a line: a line feed, possibly after a carriage return, or a carriage return.
    pub newline: u8,
}

impl Dialect {
    /// Returns delimiter, quote and escape as texts; empty if there is none.
    pub(super) fn texts(&self) -> [String; 3] {
        let delimiter = String::from_utf8_lossy(self.delimiter.bytes()).into_owned();
        [delimiter, text_of(self.quote), text_of(self.escape.or(self.quote))]
    }

    /// Returns true if quotes in quoted fields are doubled.
    pub(super) fn escapes_by_quote(&self) -> bool {
        self.escape.is_none_or(|escape| Some(escape) == self.quote)
    }

    /// Returns the delimiter, if records can be found by single characters outside of quotes.
    #[inline]
    pub(super) fn plain_delimiter(&self) -> Option<u8> {
        match (self.delimiter.bytes(), self.comment) {
            ([single], None) => Some(*single),
            _ => None,
        }
    }
}
