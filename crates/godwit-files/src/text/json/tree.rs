//! JSON values as trees, for nested types and unusual spellings.

use std::borrow::Cow;

/// Maximum nesting of lists and objects.
const DEPTH_MAX: usize = 256;

/// A value and its text.
pub(super) struct Node<'a> {
    pub raw: &'a str,
    pub kind: NodeKind<'a>,
}

pub(super) enum NodeKind<'a> {
    Null,
    Boolean(bool),
    Number,
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Object(Vec<(Cow<'a, str>, Node<'a>)>),
}

/// The flaw of a text that isn't JSON, and its position.
pub(super) struct Flaw {
    pub at: usize,
    pub what: &'static str,
}

/// Parses the value at `at`, skipping blanks; also returns where it ends.
pub(super) fn read(text: &str, at: usize) -> Result<(Node<'_>, usize), Flaw> {
    let mut reader = Reader { text, at, depth: 0 };
    let node = reader.value()?;
    Ok((node, reader.at))
}

/// Returns a text without its quotes as what its escapes stand for; `None` if one of them is wrong.
pub(super) fn unescaped(text: &str) -> Option<String> {
    let mut reader = Reader { text, at: 0, depth: 0 };
    let mut unescaped = String::with_capacity(text.len());
    while let Some(length) = memchr::memchr(b'\\', &text.as_bytes()[reader.at..]) {
        unescaped.push_str(&text[reader.at..reader.at + length]);
        reader.at += length;
        unescaped.push(reader.escaped().ok()?);
    }
    unescaped.push_str(&text[reader.at..]);
    Some(unescaped)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn flaw<T>(&self, what: &'static str) -> Result<T, Flaw> {
        Err(Flaw { at: self.at.min(self.text.len()), what })
    }

    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.text.as_bytes().get(self.at).copied()
    }

    fn value(&mut self) -> Result<Node<'a>, Flaw> {
        let first = self.peek();
        let start = self.at;
        let kind = match first {
            None => return self.flaw("the text ends where a value should be"),
            Some(b'"') => NodeKind::Text(self.string()?),
            Some(b'{') => self.nested(Self::object)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(_) => self.word()?,
        };
        Ok(Node { raw: &self.text[start..self.at], kind })
    }

    fn nested(&mut self, read: impl Fn(&mut Self) -> Result<NodeKind<'a>, Flaw>) -> Result<NodeKind<'a>, Flaw> {
        if self.depth == DEPTH_MAX {
            return self.flaw("lists and objects are nested too deeply");
        }
        self.depth += 1;
        self.at += 1;
        let kind = read(self);
        self.depth -= 1;
        kind
    }

    fn list(&mut self) -> Result<NodeKind<'a>, Flaw> {
        let mut nodes = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(NodeKind::List(nodes));
        }
        loop {
            nodes.push(self.value()?);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(NodeKind::List(nodes));
                }
                _ => return self.flaw("a comma or ] is missing"),
            }
        }
    }

    fn object(&mut self) -> Result<NodeKind<'a>, Flaw> {
        let mut fields = Vec::new();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(NodeKind::Object(fields));
        }
        loop {
            if self.peek() != Some(b'"') {
                return self.flaw("a key in quotes is missing");
            }
            let key = self.string()?;
            if self.peek() != Some(b':') {
                return self.flaw("a colon is missing behind a key");
            }
            self.at += 1;
            fields.push((key, self.value()?));
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(NodeKind::Object(fields));
                }
                _ => return self.flaw("a comma or } is missing"),
            }
        }
    }

    fn number(&mut self) -> Result<NodeKind<'a>, Flaw> {
        let rest = &self.text.as_bytes()[self.at..];
        let is_of_number = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'.' | b'-' | b'+' | b'e' | b'E');
        let length = rest.iter().take_while(is_of_number).count();
        if self.text[self.at..self.at + length].parse::<f64>().is_err() {
            return self.flaw("this is no number");
        }
        self.at += length;
        Ok(NodeKind::Number)
    }

    fn word(&mut self) -> Result<NodeKind<'a>, Flaw> {
        let rest = &self.text[self.at..];
        let words = [("null", NodeKind::Null), ("true", NodeKind::Boolean(true)), ("false", NodeKind::Boolean(false))];
        match words.into_iter().find(|(word, _)| rest.starts_with(word)) {
            Some((word, kind)) => {
                self.at += word.len();
                Ok(kind)
            }
            None => self.flaw("this is no value"),
        }
    }

    /// Parses a quoted string.
    fn string(&mut self) -> Result<Cow<'a, str>, Flaw> {
        self.at += 1;
        let start = self.at;
        let mut unescaped = String::new();
        let mut plain = start;
        loop {
            let Some(length) = memchr::memchr2(b'"', b'\\', &self.text.as_bytes()[self.at..]) else {
                self.at = start - 1;
                return self.flaw("a text isn't closed");
            };
            self.at += length;
            if self.text.as_bytes()[self.at] == b'"' {
                let last = &self.text[plain..self.at];
                self.at += 1;
                return Ok(match plain == start {
                    true => Cow::Borrowed(last),
                    false => Cow::Owned(unescaped + last),
                });
            }
            unescaped.push_str(&self.text[plain..self.at]);
            unescaped.push(self.escaped()?);
            plain = self.at;
        }
    }

    /// Parses the character after a backslash.
    fn escaped(&mut self) -> Result<char, Flaw> {
        let code = self.text.as_bytes().get(self.at + 1);
        let plain = match code {
            Some(b'n') => '\n',
            Some(b't') => '\t',
            Some(b'r') => '\r',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(&byte @ (b'"' | b'\\' | b'/')) => char::from(byte),
            Some(b'u') => {
                let high = self.hex(self.at + 2)?;
                self.at += 6;
                if !(0xD800..0xDC00).contains(&high) {
                    return Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                // Two halves of a character that needs more than 16 bits.
                if !self.text[self.at..].starts_with("\\u") {
                    return Ok(char::REPLACEMENT_CHARACTER);
                }
                let low = self.hex(self.at + 2)?;
                if !(0xDC00..0xE000).contains(&low) {
                    return Ok(char::REPLACEMENT_CHARACTER);
                }
                self.at += 6;
                let both = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                return Ok(char::from_u32(both).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            _ => return self.flaw("this is no escaped character"),
        };
        self.at += 2;
        Ok(plain)
    }

    fn hex(&self, at: usize) -> Result<u32, Flaw> {
        let digits = self.text.get(at..at + 4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        match digits.and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
            Some(code) => Ok(code),
            None => self.flaw("\\u needs four hexadecimal digits"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_unescaped() {
        let text = |json: &str| match read(json, 0) {
            Ok((Node { kind: NodeKind::Text(text), .. }, end)) if end == json.len() => text.into_owned(),
            _ => panic!("{json}"),
        };
        assert_eq!(text(r#""plain""#), "plain");
        assert_eq!(text(r#""a\"\\\/\n\u00e9\ud83d\ude00\ud83dx""#), "a\"\\/\né😀\u{FFFD}x");
    }

    #[test]
    fn flaws_have_places() {
        for (json, at) in
            [("[1, 2", 5), ("{\"a\" 1}", 5), ("[1 2]", 3), ("\"abc", 0), ("[tru]", 1), ("--1", 0), ("", 0)]
        {
            assert_eq!(read(json, 0).err().map(|flaw| flaw.at), Some(at), "{json}");
        }
        assert!(read(&"[".repeat(100_000), 0).is_err());
    }
}
