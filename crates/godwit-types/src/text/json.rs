//! JSON after RFC 8259: validates texts, writes strings. Nesting is kept on an explicit stack, so depth is bounded by
//! memory only.

use std::fmt::Write as _;
use std::mem::take;

/// Bytes between two questions whether to go on.
const ASK_BYTES: usize = 1 << 16;

/// Returns `Some` if the text is JSON, and `proceed`, which is asked in long texts, never returned false.
pub(super) fn check(text: &str, proceed: &mut dyn FnMut() -> bool) -> Option<()> {
    let mut text = Cursor { text: text.as_bytes(), at: 0 };
    let mut open = Open::default();
    let mut ask_at = ASK_BYTES;
    loop {
        if text.at >= ask_at {
            ask_at = text.at + ASK_BYTES;
            proceed().then_some(())?;
        }
        match text.next()? {
            b'[' => {
                text.at += 1;
                if text.next()? != b']' {
                    open.push(false);
                    continue;
                }
                text.at += 1;
            }
            b'{' => {
                text.at += 1;
                if text.next()? != b'}' {
                    open.push(true);
                    text.key()?;
                    continue;
                }
                text.at += 1;
            }
            _ => text.scalar()?,
        }
        // After a value: all that ends with it, then the next value of what is still open.
        loop {
            let Some(closing) = open.closing() else { return text.next().is_none().then_some(()) };
            let next = text.next()?;
            text.at += 1;
            if next == b',' {
                if closing == b'}' {
                    text.key()?;
                }
                break;
            }
            if next != closing {
                return None;
            }
            open.pop();
        }
    }
}

/// The arrays and objects that are open, in a bit each: most texts need no memory for it.
#[derive(Default)]
struct Open {
    /// The innermost ones, up to 64 of them, the last one in the lowest bit; set for objects.
    inner: u64,
    depth: usize,
    /// Those around them, 64 in a word.
    outer: Vec<u64>,
}

impl Open {
    fn push(&mut self, is_object: bool) {
        if self.depth > 0 && self.depth.is_multiple_of(64) {
            self.outer.push(take(&mut self.inner));
        }
        self.inner = self.inner << 1 | u64::from(is_object);
        self.depth += 1;
    }

    fn pop(&mut self) {
        self.inner >>= 1;
        self.depth -= 1;
        if self.depth.is_multiple_of(64) {
            self.inner = self.outer.pop().unwrap_or(0);
        }
    }

    /// Returns the bracket that closes the innermost one.
    fn closing(&self) -> Option<u8> {
        match (self.depth, self.inner & 1) {
            (0, _) => None,
            (_, 1) => Some(b'}'),
            _ => Some(b']'),
        }
    }
}

/// A text that is valid up to a place.
struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
}

/// Its moves return `None` if the text isn't valid.
impl Cursor<'_> {
    /// Skips blanks; returns the byte behind them, if there is one.
    #[inline]
    fn next(&mut self) -> Option<u8> {
        loop {
            let byte = *self.text.get(self.at)?;
            // One comparison for nearly all bytes.
            if byte > b' ' || !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(byte);
            }
            self.at += 1;
        }
    }

    /// Skips a string and a colon.
    fn key(&mut self) -> Option<()> {
        if self.next()? != b'"' {
            return None;
        }
        self.string()?;
        let colon = self.next()?;
        self.at += 1;
        (colon == b':').then_some(())
    }

    /// Skips a string, number or word.
    fn scalar(&mut self) -> Option<()> {
        let word: &[u8] = match self.text[self.at] {
            b'"' => return self.string(),
            b't' => b"true",
            b'f' => b"false",
            b'n' => b"null",
            _ => return self.number(),
        };
        let found = self.text[self.at..].starts_with(word);
        self.at += word.len();
        found.then_some(())
    }

    /// Skips a string.
    #[inline]
    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            self.at = special_in_string(self.text, self.at)?;
            let length = match self.text[self.at..] {
                [b'"', ..] => {
                    self.at += 1;
                    return Some(());
                }
                [b'\\', b'u', a, b, c, d, ..] if [a, b, c, d].iter().all(u8::is_ascii_hexdigit) => 6,
                [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
                _ => return None,
            };
            self.at += length;
        }
    }

    /// Skips a number: no leading zeros, digits on both sides of a point.
    #[inline]
    fn number(&mut self) -> Option<()> {
        self.skips(|byte| byte == b'-');
        if !self.skips(|byte| byte == b'0') {
            self.digits()?;
        }
        if matches!(self.text.get(self.at), Some(b'.' | b'e' | b'E')) { self.fraction_and_exponent() } else { Some(()) }
    }

    /// Skips what comes after the digits before a point or exponent.
    fn fraction_and_exponent(&mut self) -> Option<()> {
        if self.skips(|byte| byte == b'.') {
            self.digits()?;
        }
        if self.skips(|byte| matches!(byte, b'e' | b'E')) {
            self.skips(|byte| matches!(byte, b'-' | b'+'));
            self.digits()?;
        }
        Some(())
    }

    /// Skips digits, of which there is at least one.
    #[inline]
    fn digits(&mut self) -> Option<()> {
        let digits = self.text.get(self.at..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += digits;
        (digits > 0).then_some(())
    }

    /// Skips a byte if it is one of these.
    #[inline]
    fn skips(&mut self, is_one: impl Fn(u8) -> bool) -> bool {
        let is_next = self.text.get(self.at).is_some_and(|&byte| is_one(byte));
        self.at += usize::from(is_next);
        is_next
    }
}

/// Returns where the next quote, backslash or control character of a JSON string is, from a place in the text on.
#[inline]
pub fn special_in_string(text: &[u8], from: usize) -> Option<usize> {
    const fn all(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    // The highest bit of bytes below the bound; those above the lowest of them may be wrong, as differences borrow.
    let below = |word: u64, bound: u8| word.wrapping_sub(all(bound)) & !word & all(0x80);
    let mut at = from;
    // Eight bytes at once: most strings are short, and end before a SIMD search would have begun.
    while let Some(word) = text.get(at..at + 8) {
        let word = u64::from_le_bytes(word.try_into().expect("eight bytes"));
        let special = below(word ^ all(b'"'), 1) | below(word ^ all(b'\\'), 1) | below(word, b' ');
        if special != 0 {
            return Some(at + special.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = text.get(at..)?.iter();
    rest.clone().position(|&byte| matches!(byte, b'"' | b'\\' | 0..b' ')).map(|place| at + place)
}

/// Writes a text in quotes, with the escapes that JSON requires.
pub fn write_json_string(out: &mut String, text: &str) {
    out.push('"');
    write_json_escaped(out, text);
    out.push('"');
}

/// Writes what is between the quotes of [`write_json_string`]; a text can be written in several pieces.
pub fn write_json_escaped(out: &mut String, text: &str) {
    let mut written = 0;
    while let Some(at) = special_in_string(text.as_bytes(), written) {
        out.push_str(&text[written..at]);
        match text.as_bytes()[at] {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x08 => out.push_str("\\b"),
            0x0C => out.push_str("\\f"),
            byte => write!(out, "\\u{byte:04x}").expect("strings take everything"),
        }
        written = at + 1;
    }
    out.push_str(&text[written..]);
}
