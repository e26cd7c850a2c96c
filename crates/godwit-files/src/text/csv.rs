//! Parses records and fields of CSV one after the other.
//!
//! ```text
//! field   ─▶ blanks? quote (anything, escaped quotes)* quote blanks? ─┬─▶ delimiter, line break, comment, end
//!         └▶ anything but those ─────────────────────────────────────┘
//! ```
//!
//! A field that continues after its closing quote is taken as written, including quotes.

use memchr::{memchr, memchr2};

use super::dialect::Dialect;

/// Parses records.
pub(super) struct Records {
    dialect: Dialect,
    /// True if quoted fields keep the quotes around them.
    keeps_quotes: bool,
    at: usize,
    /// Line number of `at`.
    line: u64,
    fields: Vec<u8>,
    ends: Vec<usize>,
    /// Number of comments on lines of their own.
    pub comments: u64,
    /// Observations so far.
    pub met: Met,
}

/// Observations on the records so far, for the sniffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Met {
    pub quoted: bool,
    /// A comment follows fields.
    pub comment_in_line: bool,
    /// A field continues after its closing quote.
    pub malformed: bool,
    /// The text ends within quotes.
    pub unclosed: bool,
}

/// The element after a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Behind {
    Field,
    /// The next record, or nothing.
    Record,
}

/// A field as written.
struct Token {
    start: usize,
    end: usize,
    /// True if it has escaped characters.
    is_escaped: bool,
    /// The quote around it.
    quote: Option<u8>,
    behind: Behind,
    /// Where the element after it begins.
    next: usize,
}

impl Records {
    /// Creates a parser for the beginning of bytes that start in line `first_line`.
    pub(super) fn new(dialect: &Dialect, first_line: u64) -> Self {
        let (fields, ends) = Default::default();
        let (keeps_quotes, met) = (false, Met::default());
        Self { dialect: *dialect, keeps_quotes, at: 0, line: first_line, fields, ends, comments: 0, met }
    }

    /// Quoted fields keep the quotes around them from now on.
    pub(super) fn keep_quotes(&mut self) {
        self.keeps_quotes = true;
    }

    /// Returns the line of the next record, or of comments before it.
    pub(super) fn line(&self) -> u64 {
        self.line
    }

    /// Returns where the next record begins.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns the fields of the next record of `bytes`, which must be the same for all calls; `None` at their end. An
    /// empty line is a record of one empty field.
    pub(super) fn next(&mut self, bytes: &[u8]) -> Option<Fields<'_>> {
        self.fields.clear();
        self.ends.clear();
        let begin = self.begin(bytes)?;
        let mut at = begin;
        let has_nothing_last = loop {
            let token = self.token(bytes, at);
            self.push(bytes, &token);
            let has_nothing = token.start == at && token.end == at;
            at = token.next;
            if token.behind == Behind::Record {
                break has_nothing;
            }
        };
        self.line += breaks(&bytes[begin..at]);
        self.at = at;
        let is_blank = is_blank(&bytes[begin..at]);
        let ends_empty = has_nothing_last && self.ends.len() > 1;
        Some(Fields { bytes: &self.fields, ends: &self.ends, is_blank, ends_empty, met: &mut self.met })
    }

    /// Returns true if the next record is an empty line.
    pub(super) fn at_blank_line(&mut self, bytes: &[u8]) -> bool {
        self.begin(bytes).is_some_and(|at| matches!(bytes[at], b'\n' | b'\r'))
    }

    /// Skips the next record; returns false at the end.
    pub(super) fn skip(&mut self, bytes: &[u8]) -> bool {
        let Some(begin) = self.begin(bytes) else { return false };
        let mut at = begin;
        loop {
            let token = self.token(bytes, at);
            at = token.next;
            if token.behind == Behind::Record {
                self.line += breaks(&bytes[begin..at]);
                self.at = at;
                return true;
            }
        }
    }

    /// Returns where the next record begins, after comments.
    fn begin(&mut self, bytes: &[u8]) -> Option<usize> {
        while let Some(&first) = bytes.get(self.at) {
            if Some(first) != self.dialect.comment {
                return Some(self.at);
            }
            self.at = behind_line(bytes, self.at);
            self.comments += 1;
            self.line += 1;
        }
        None
    }

    fn push(&mut self, bytes: &[u8], token: &Token) {
        let text = &bytes[token.start..token.end];
        let kept = token.quote.filter(|_| self.keeps_quotes);
        self.fields.extend(kept);
        if token.is_escaped {
            let escape = self.dialect.escape.or(self.dialect.quote);
            let mut at = 0;
            while at < text.len() {
                let next = text.get(at + 1);
                if Some(text[at]) == escape && (next.copied() == self.dialect.quote || next.copied() == escape) {
                    at += 1;
                }
                self.fields.push(text[at]);
                at += 1;
            }
        } else {
            self.fields.extend_from_slice(text);
        }
        self.fields.extend(kept);
        self.ends.push(self.fields.len());
    }

    fn token(&mut self, bytes: &[u8], start: usize) -> Token {
        let Some(quote) = self.dialect.quote else { return self.plain(bytes, start, start) };
        let mut at = start;
        if self.dialect.delimiter.bytes() != b" " {
            at += bytes[start..].iter().take_while(|&&byte| byte == b' ').count();
        }
        if bytes.get(at) == Some(&quote) {
            self.quoted(bytes, start, at + 1, quote)
        } else {
            self.plain(bytes, start, start)
        }
    }

    /// Parses a field whose opening quote is just before `begin`.
    fn quoted(&mut self, bytes: &[u8], start: usize, begin: usize, quote: u8) -> Token {
        self.met.quoted = true;
        let escape = self.dialect.escape.unwrap_or(quote);
        let (mut at, mut is_escaped) = (begin, false);
        let end = loop {
            let Some(next) = memchr2(quote, escape, &bytes[at..]) else {
                self.met.unclosed = true;
                let (end, quote) = (bytes.len(), Some(quote));
                return Token { start: begin, end, is_escaped, quote, behind: Behind::Record, next: end };
            };
            at += next;
            let follows = bytes.get(at + 1).copied();
            match bytes[at] == escape && (follows == Some(quote) || (follows == Some(escape) && escape != quote)) {
                true => {
                    is_escaped = true;
                    at += 2;
                }
                false if bytes[at] == quote => break at,
                false => at += 1,
            }
        };
        let behind = end + 1;
        let blanks = bytes[behind..].iter().take_while(|&&byte| byte == b' ').count();
        // A blank may be the delimiter.
        for at in [behind, behind + blanks] {
            if let Some((behind, next)) = self.separator(bytes, at) {
                return Token { start: begin, end, is_escaped, quote: Some(quote), behind, next };
            }
        }
        self.met.malformed = true;
        self.plain(bytes, start, behind)
    }

    /// Parses a field without quotes that ends at `at` or later.
    fn plain(&mut self, bytes: &[u8], start: usize, at: usize) -> Token {
        let first = self.dialect.delimiter.bytes()[0];
        let comment = self.dialect.comment;
        let may_end = |byte: u8| byte == first || byte == b'\n' || byte == b'\r' || Some(byte) == comment;
        let mut end = at;
        loop {
            match bytes[end..].iter().position(|&byte| may_end(byte)) {
                None => {
                    let next = bytes.len();
                    return Token { start, end: next, is_escaped: false, quote: None, behind: Behind::Record, next };
                }
                Some(distance) => end += distance,
            }
            if let Some((behind, next)) = self.separator(bytes, end) {
                return Token { start, end, is_escaped: false, quote: None, behind, next };
            }
            end += 1;
        }
    }

    /// Returns the element after a field that ends at `at`; `None`: the field continues.
    #[inline]
    fn separator(&mut self, bytes: &[u8], at: usize) -> Option<(Behind, usize)> {
        let rest = &bytes[at..];
        let delimiter = self.dialect.delimiter.bytes();
        match rest.first() {
            None => Some((Behind::Record, at)),
            Some(b'\n') => Some((Behind::Record, at + 1)),
            Some(b'\r') => Some((Behind::Record, at + if rest.get(1) == Some(&b'\n') { 2 } else { 1 })),
            Some(_) if rest.starts_with(delimiter) => Some((Behind::Field, at + delimiter.len())),
            Some(&first) if Some(first) == self.dialect.comment => {
                self.met.comment_in_line = true;
                Some((Behind::Record, behind_line(bytes, at)))
            }
            Some(_) => None,
        }
    }
}

/// Returns where the field at `index` of the record at the beginning of `bytes` begins, or where the next record does if
/// it has no such field.
pub(super) fn field_start(bytes: &[u8], dialect: &Dialect, index: usize) -> usize {
    let mut records = Records::new(dialect, 1);
    let mut start = records.begin(bytes).unwrap_or(bytes.len());
    for _ in 0..index {
        let token = records.token(bytes, start);
        start = token.next;
        if token.behind == Behind::Record {
            break;
        }
    }
    start
}

/// Returns where the line after that of `at` begins.
fn behind_line(bytes: &[u8], at: usize) -> usize {
    match memchr2(b'\n', b'\r', &bytes[at..]) {
        None => bytes.len(),
        Some(length) if bytes[at + length..].starts_with(b"\r\n") => at + length + 2,
        Some(length) => at + length + 1,
    }
}

fn is_blank(line: &[u8]) -> bool {
    line.iter().all(|&byte| byte == b'\n' || byte == b'\r')
}

/// Counts line breaks: line feeds, or else carriage returns.
pub(super) fn breaks(bytes: &[u8]) -> u64 {
    match memchr(b'\n', bytes) {
        Some(_) => memchr::memchr_iter(b'\n', bytes).count() as u64,
        None => memchr::memchr_iter(b'\r', bytes).count() as u64,
    }
}

/// The fields of a record, with quotes and escapes removed.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    ends: &'a [usize],
    /// True for an empty line.
    pub is_blank: bool,
    /// True if the last field only exists because a delimiter ends the record; it has no quotes either.
    pub ends_empty: bool,
    /// Observations up to its end.
    pub met: &'a mut Met,
}

impl<'a> Fields<'a> {
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn get(&self, index: usize) -> &'a [u8] {
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.bytes[start..self.ends[index]]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &'a [u8]> + '_ {
        (0..self.len()).map(|index| self.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::dialect::Delimiter;

    fn records(text: &str, dialect: &Dialect) -> (Vec<Vec<String>>, Met) {
        let mut records = Records::new(dialect, 1);
        let mut found = Vec::new();
        while let Some(fields) = records.next(text.as_bytes()) {
            found.push(fields.iter().map(|field| String::from_utf8_lossy(field).into_owned()).collect());
        }
        (found, records.met)
    }

    const USUAL: Dialect =
        Dialect { delimiter: Delimiter::one(b','), quote: Some(b'"'), escape: None, comment: None, newline: b'\n' };

    #[test]
    fn records_are_cut_into_fields() {
        let (found, met) = records("a, \"b\"\"c\" ,\"d\ne\"\r\n\r\n1,,\rx\"y", &USUAL);
        assert_eq!(found, [vec!["a", "b\"c", "d\ne"], vec![""], vec!["1", "", ""], vec!["x\"y"]]);
        assert_eq!(met, Met { quoted: true, ..Met::default() });
        let (found, met) = records("\"x\"y,1\n\"z", &USUAL);
        assert_eq!(found, [vec!["\"x\"y", "1"], vec!["z"]]);
        assert!(met.malformed && met.unclosed);
    }

    #[test]
    fn fields_have_places() {
        let starts = |bytes: &[u8]| [0, 1, 2, 3].map(|index| field_start(bytes, &USUAL, index));
        assert_eq!(starts(b"a, \"b,\"\"c\" ,d\n1,2\n"), [0, 2, 12, 14]);
        assert_eq!(starts(b"\"x\"y,\"1"), [0, 5, 7, 7]);
        assert_eq!(starts(b""), [0, 0, 0, 0]);
    }

    #[test]
    fn escapes_comments_and_long_delimiters_are_known() {
        let dialect = Dialect { escape: Some(b'\\'), comment: Some(b'#'), ..USUAL };
        let (found, met) = records("# one\na,\"b\\\"\\\\c\\d\"# two\n#\n", &dialect);
        assert_eq!((found, met.comment_in_line), (vec![vec!["a".to_owned(), "b\"\\c\\d".to_owned()]], true));
        let option = godwit_catalog::CopyOption::new("delim", "||");
        let dialect = Dialect { delimiter: Delimiter::of(&option).unwrap(), ..USUAL };
        assert_eq!(records("a|b||\"c||d\"||\n", &dialect).0, [vec!["a|b", "c||d", ""]]);
    }
}
