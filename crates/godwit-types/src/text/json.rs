//! Validates JSON after RFC 8259. Nesting is kept on an explicit stack, so depth is bounded by memory only.

use std::mem::take;

/// The tokens that may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// After `[`.
    ValueOrEnd,
    /// After `{`.
    KeyOrEnd,
    Key,
    /// After a value.
    CommaOrEnd,
}

/// Returns `Some` if the text is JSON.
pub(super) fn check(text: &str) -> Option<()> {
    let mut rest = text.as_bytes();
    let mut open = Open::default();
    let mut expect = Expect::Value;
    loop {
        rest = rest.trim_ascii_start();
        if expect == Expect::CommaOrEnd && open.is_empty() {
            return rest.is_empty().then_some(());
        }
        let (&next, behind) = rest.split_first()?;
        expect = match (expect, next) {
            (Expect::ValueOrEnd, b']') | (Expect::KeyOrEnd, b'}') => {
                open.pop();
                rest = behind;
                Expect::CommaOrEnd
            }
            (Expect::CommaOrEnd, b',') => {
                rest = behind;
                if open.closing() == Some(b'}') { Expect::Key } else { Expect::Value }
            }
            (Expect::CommaOrEnd, close) if open.closing() == Some(close) => {
                open.pop();
                rest = behind;
                Expect::CommaOrEnd
            }
            (Expect::Key | Expect::KeyOrEnd, b'"') => {
                rest = string(behind)?.trim_ascii_start().strip_prefix(b":")?;
                Expect::Value
            }
            (Expect::Value | Expect::ValueOrEnd, b'[') => {
                open.push(false);
                rest = behind;
                Expect::ValueOrEnd
            }
            (Expect::Value | Expect::ValueOrEnd, b'{') => {
                open.push(true);
                rest = behind;
                Expect::KeyOrEnd
            }
            (Expect::Value | Expect::ValueOrEnd, _) => {
                rest = scalar(rest)?;
                Expect::CommaOrEnd
            }
            _ => return None,
        };
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
    fn is_empty(&self) -> bool {
        self.depth == 0
    }

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

/// Returns the rest after a string, number or word.
fn scalar(text: &[u8]) -> Option<&[u8]> {
    match *text.first()? {
        b'"' => string(&text[1..]),
        b't' => text.strip_prefix(b"true"),
        b'f' => text.strip_prefix(b"false"),
        b'n' => text.strip_prefix(b"null"),
        _ => number(text),
    }
}

/// Returns the rest after a string whose opening quote is already consumed.
fn string(mut text: &[u8]) -> Option<&[u8]> {
    loop {
        // Most characters stand for themselves.
        let plain = text.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1F))?;
        text = match text[plain..] {
            [b'"', ref behind @ ..] => return Some(behind),
            [b'\\', b'u', a, b, c, d, ref behind @ ..] => {
                [a, b, c, d].iter().all(u8::is_ascii_hexdigit).then_some(behind)?
            }
            [b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't', ref behind @ ..] => behind,
            _ => return None,
        };
    }
}

/// Returns the rest after a number: no leading zeros, digits on both sides of a point.
fn number(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text.strip_prefix(b"-").unwrap_or(text);
    rest = match rest.strip_prefix(b"0") {
        Some(behind) => behind,
        None => digits(rest)?,
    };
    if let Some(behind) = rest.strip_prefix(b".") {
        rest = digits(behind)?;
    }
    if let [b'e' | b'E', behind @ ..] = rest {
        let behind = behind.strip_prefix(b"-").or_else(|| behind.strip_prefix(b"+")).unwrap_or(behind);
        rest = digits(behind)?;
    }
    Some(rest)
}

/// Returns the rest after digits, of which there is at least one.
fn digits(text: &[u8]) -> Option<&[u8]> {
    let count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (count > 0).then(|| &text[count..])
}
