//! The lexer: splits text into tokens.
//!
//! The lexer finds where tokens begin and end; the value of a literal or a quoted name is read by [`literal`] when the
//! parser takes it. So a statement's end is known even if it contains an invalid escape, and a script is split by
//! lexing alone. Each byte is visited a bounded number of times.

pub(crate) mod literal;
mod token;

use godwit_common::{Error, Result, Span, SqlState};

pub(crate) use token::{Symbol, Token, TokenKind};

use crate::keyword::Keyword;

/// Reads the tokens of a script, one after the other.
#[derive(Debug, Clone)]
pub(crate) struct Lexer<'a> {
    text: &'a str,
    at: usize,
    is_unclosed: bool,
}

impl<'a> Lexer<'a> {
    /// Starts at byte `at`.
    pub(crate) fn new(text: &'a str, at: usize) -> Self {
        Self { text, at, is_unclosed: false }
    }

    /// Returns the next token; after the last, always [`TokenKind::End`].
    pub(crate) fn next(&mut self) -> Result<Token> {
        self.skip_blanks()?;
        let start = self.at;
        let Some(first) = self.byte(0) else {
            return Ok(Token { kind: TokenKind::End, span: Span::new(start, start) });
        };
        let kind = match first {
            b'\'' => self.quoted(TokenKind::String)?,
            b'"' => self.quoted(TokenKind::QuotedName)?,
            b'0'..=b'9' => self.number(),
            b'.' if self.byte(1).is_some_and(|next| next.is_ascii_digit()) => self.number(),
            b'$' => self.dollar()?,
            _ => match self.prefixed_quote()? {
                Some(kind) => kind,
                None if self.starts_word() => self.word(),
                None => self.symbol()?,
            },
        };
        Ok(Token { kind, span: Span::new(start, self.at) })
    }

    /// True if the last error was an unclosed quote or comment, which more text may complete.
    pub(crate) fn is_unclosed(&self) -> bool {
        self.is_unclosed
    }

    fn unclosed(&mut self, what: &str, end: &str, start: usize, length: usize) -> Error {
        self.is_unclosed = true;
        error_at(&format!("{what} isn't closed"), start, start + length).with_hint(format!("close it with {end}"))
    }

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.text.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Skips the bytes that satisfy `is_part`.
    fn skip_while(&mut self, is_part: impl Fn(u8) -> bool) {
        let bytes = &self.text.as_bytes()[self.at..];
        self.at += bytes.iter().position(|&byte| !is_part(byte)).unwrap_or(bytes.len());
    }

    /// Skips white space and comments.
    fn skip_blanks(&mut self) -> Result<()> {
        loop {
            match (self.byte(0), self.byte(1)) {
                (Some(byte), _) if byte.is_ascii_whitespace() || byte == 0x0b => self.at += 1,
                (Some(b'-'), Some(b'-')) => self.skip_while(|byte| byte != b'\n'),
                (Some(b'/'), Some(b'*')) => self.skip_comment()?,
                (Some(byte), _) if !byte.is_ascii() => match self.rest().chars().next() {
                    // A byte order mark is white space anywhere.
                    Some(blank) if blank.is_whitespace() || blank == '\u{feff}' => self.at += blank.len_utf8(),
                    _ => return Ok(()),
                },
                _ => return Ok(()),
            }
        }
    }

    /// Skips a comment in `/* */`, which may contain others.
    fn skip_comment(&mut self) -> Result<()> {
        let start = self.at;
        let mut depth = 0;
        loop {
            match (self.byte(0), self.byte(1)) {
                (Some(b'/'), Some(b'*')) => {
                    depth += 1;
                    self.at += 2;
                }
                (Some(b'*'), Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return Ok(());
                    }
                }
                (Some(_), _) => self.at += 1,
                (None, _) => return Err(self.unclosed("the comment that begins here", "*/", start, 2)),
            }
        }
    }

    /// Reads a quoted string or name that begins here. A doubled quote doesn't end it.
    fn quoted(&mut self, kind: TokenKind) -> Result<TokenKind> {
        let start = self.at;
        let quote = self.byte(0).expect("a quote stands here");
        let has_escapes = kind == TokenKind::EscapeString;
        self.at += 1;
        loop {
            self.skip_while(|byte| byte != quote && !(has_escapes && byte == b'\\'));
            match (self.byte(0), self.byte(1)) {
                (Some(b'\\'), Some(_)) if has_escapes => {
                    self.at += 1 + self.text[self.at + 1..].chars().next().map_or(0, char::len_utf8);
                }
                (Some(first), Some(second)) if first == quote && second == quote => self.at += 2,
                (Some(first), _) if first == quote => {
                    self.at += 1;
                    return Ok(kind);
                }
                _ if quote == b'"' => return Err(self.unclosed("the quoted name that begins here", "\"", start, 1)),
                _ => return Err(self.unclosed("the text that begins here", "'", start, 1)),
            }
        }
    }

    /// `E'…'`, `X'…'`, `B'…'`, `N'…'`, `U&'…'`, `U&"…"`.
    fn prefixed_quote(&mut self) -> Result<Option<TokenKind>> {
        let (prefix, kind) = match (self.byte(0).map(|byte| byte.to_ascii_lowercase()), self.byte(1), self.byte(2)) {
            (Some(b'e'), Some(b'\''), _) => (1, TokenKind::EscapeString),
            (Some(b'x'), Some(b'\''), _) => (1, TokenKind::Blob),
            (Some(b'b'), Some(b'\''), _) => (1, TokenKind::Bits),
            (Some(b'n'), Some(b'\''), _) => (1, TokenKind::String),
            (Some(b'u'), Some(b'&'), Some(b'\'')) => (2, TokenKind::UnicodeString),
            (Some(b'u'), Some(b'&'), Some(b'"')) => (2, TokenKind::UnicodeName),
            _ => return Ok(None),
        };
        self.at += prefix;
        self.quoted(kind).map(Some)
    }

    /// `$1`, `$name`, `$$…$$`, `$tag$…$tag$`.
    fn dollar(&mut self) -> Result<TokenKind> {
        let start = self.at;
        self.at += 1;
        if self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.skip_while(|byte| byte.is_ascii_digit());
            return Ok(TokenKind::Parameter);
        }
        let is_tag_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || !byte.is_ascii();
        self.skip_while(is_tag_part);
        if self.byte(0) != Some(b'$') {
            return match self.at - start {
                1 => Err(error_at("expected a number or a name behind $", start, self.at)),
                _ => Ok(TokenKind::Parameter),
            };
        }
        self.at += 1;
        let tag = &self.text[start..self.at];
        match self.rest().find(tag) {
            Some(end) => {
                self.at += end + tag.len();
                Ok(TokenKind::DollarString)
            }
            None => Err(self.unclosed("the text that begins here", tag, start, tag.len())),
        }
    }

    /// Reads a number by PostgreSQL's rules: `12`, `1_000`, `1.5`, `.5`, `5.`, `1e-5`, `0x1f`, `0o17`, `0b11`. Letters
    /// and digits directly after it make it [`TokenKind::BadNumber`].
    fn number(&mut self) -> TokenKind {
        let radix = match (self.byte(0), self.byte(1).map(|byte| byte.to_ascii_lowercase())) {
            (Some(b'0'), Some(b'x')) => 16,
            (Some(b'0'), Some(b'o')) => 8,
            (Some(b'0'), Some(b'b')) => 2,
            _ => 10,
        };
        if radix == 10 {
            self.digits(10);
            if self.byte(0) == Some(b'.') {
                self.at += 1;
                if self.byte(0) != Some(b'_') {
                    self.digits(10);
                }
            }
            let sign = usize::from(matches!(self.byte(1), Some(b'+' | b'-')));
            if matches!(self.byte(0), Some(b'e' | b'E'))
                && self.byte(1 + sign).is_some_and(|byte| byte.is_ascii_digit())
            {
                self.at += 1 + sign;
                self.digits(10);
            }
        } else {
            self.at += 2;
            let digits = self.at;
            self.digits(radix);
            if self.at == digits {
                self.skip_while(is_word_part);
                return TokenKind::BadNumber;
            }
        }
        if self.starts_word() || self.byte(0).is_some_and(|byte| byte.is_ascii_digit()) {
            self.skip_while(is_word_part);
            return TokenKind::BadNumber;
        }
        TokenKind::Number
    }

    /// Skips digits with single underscores between them (also before them if the radix has a prefix).
    fn digits(&mut self, radix: u32) {
        let is_digit = |byte: Option<u8>| byte.is_some_and(|byte| char::from(byte).is_digit(radix));
        loop {
            if is_digit(self.byte(0)) {
                self.at += 1;
            } else if self.byte(0) == Some(b'_') && is_digit(self.byte(1)) {
                self.at += 2;
            } else {
                return;
            }
        }
    }

    fn starts_word(&self) -> bool {
        match self.byte(0) {
            Some(byte) if byte.is_ascii() => byte.is_ascii_alphabetic() || byte == b'_',
            Some(_) => self.rest().chars().next().is_some_and(is_wide_letter),
            None => false,
        }
    }

    fn word(&mut self) -> TokenKind {
        let start = self.at;
        loop {
            self.skip_while(|byte| byte.is_ascii() && is_word_part(byte));
            match self.rest().chars().next() {
                Some(letter) if is_wide_letter(letter) => self.at += letter.len_utf8(),
                _ => return TokenKind::Word(Keyword::of(&self.text[start..self.at])),
            }
        }
    }

    fn symbol(&mut self) -> Result<TokenKind> {
        if let Some((text, symbol)) = Symbol::starting(self.rest()) {
            self.at += text.len();
            return Ok(TokenKind::Symbol(symbol));
        }
        let character = self.rest().chars().next().expect("a character stands here");
        let error = error_at(
            &format!("unexpected character {}", character.escape_debug()),
            self.at,
            self.at + character.len_utf8(),
        );
        Err(match character {
            '\u{2018}' | '\u{2019}' => error.with_hint("write texts in straight quotes: 'text'"),
            '\u{201c}' | '\u{201d}' => error.with_hint("write names in straight quotes: \"name\""),
            '`' => error.with_hint("write names in double quotes: \"name\""),
            '!' => error.with_hint("write <> for not equal, NOT for negation"),
            _ => error,
        })
    }
}

fn is_word_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || !byte.is_ascii()
}

/// True for characters beyond ASCII that are allowed in names: all but white space, control characters and quotes.
fn is_wide_letter(character: char) -> bool {
    !character.is_ascii()
        && !character.is_whitespace()
        && !character.is_control()
        && !matches!(character, '\u{2018}'..='\u{201f}' | '\u{feff}')
}

/// Returns a syntax error about a range of bytes.
pub(crate) fn error_at(message: &str, start: usize, end: usize) -> Error {
    Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(Span::new(start, end))
}
