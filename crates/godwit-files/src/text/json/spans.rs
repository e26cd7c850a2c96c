//! Finds where JSON values end without taking them apart.

use memchr::memchr2;

/// Maximum length of texts that are searched eight bytes at a time.
const SHORT_TEXT_BYTES: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpanKind {
    Text,
    /// A text with escapes.
    EscapedText,
    Number,
    Boolean,
    Null,
    /// A list or an object, whose inside isn't checked.
    Nested,
}

/// A value in a text.
pub(super) struct Span {
    pub kind: SpanKind,
    pub end: usize,
}

impl Span {
    /// Finds the value that begins at `at`.
    #[inline]
    pub(super) fn find(bytes: &[u8], at: usize) -> Option<Self> {
        let rest = bytes.get(at..)?;
        let (kind, length) = match rest.first()? {
            b'"' => {
                let (kind, length) = text_length(&rest[1..])?;
                (kind, length + 2)
            }
            b'-' | b'0'..=b'9' => {
                let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
                let end = 1 + rest[1..].iter().position(|byte| !is_of_number(byte))?;
                (SpanKind::Number, end)
            }
            b'{' | b'[' => (SpanKind::Nested, nested_length(rest)?),
            b't' if rest.starts_with(b"true") => (SpanKind::Boolean, 4),
            b'f' if rest.starts_with(b"false") => (SpanKind::Boolean, 5),
            b'n' if rest.starts_with(b"null") => (SpanKind::Null, 4),
            _ => return None,
        };
        Some(Self { kind, end: at + length })
    }
}

/// Returns the length of a text up to its closing quote.
#[inline]
fn text_length(bytes: &[u8]) -> Option<(SpanKind, usize)> {
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
            return plain_or_escaped(bytes, length);
        }
        length += 8;
    }
    length += memchr2(b'"', b'\\', &bytes[length..])?;
    plain_or_escaped(bytes, length)
}

/// Returns the length of a text whose first quote or backslash is at `special`.
#[inline]
fn plain_or_escaped(bytes: &[u8], special: usize) -> Option<(SpanKind, usize)> {
    match bytes[special] {
        b'"' => Some((SpanKind::Text, special)),
        _ => Some((SpanKind::EscapedText, closing_quote(bytes, special)?)),
    }
}

/// Returns where the text that `at` is in ends.
fn closing_quote(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
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
            b'"' => at = closing_quote(bytes, at + 1)?,
            _ => {}
        }
        at += 1;
    }
}

#[inline]
pub(super) fn skip_blanks(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}
