//! Tokens of text that is being typed, complete or not. Concatenated, they are the text.

use std::ops::Range;

use crate::shell::splitter::dollar_delimiter;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Space,
    /// A keyword or a name.
    Word,
    Number,
    /// '…', E'…' or $$…$$.
    Text,
    /// "…".
    QuotedName,
    Comment,
    /// One character.
    Symbol,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub kind: Kind,
    /// Byte range in the text.
    pub range: Range<usize>,
    /// Whether it is closed; false for open quotes and comments.
    pub is_closed: bool,
}

/// Returns the tokens of a text.
pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let (kind, bytes, is_closed) = token(&text[at..], first);
        tokens.push(Token { kind, range: at..at + bytes, is_closed });
        at += bytes;
    }
    tokens
}

/// Returns kind and length in bytes of the token at the start of `rest`, and whether it is closed.
fn token(rest: &str, first: char) -> (Kind, usize, bool) {
    let while_all = |is: fn(char) -> bool| rest.find(|character| !is(character)).unwrap_or(rest.len());
    if first.is_whitespace() {
        return (Kind::Space, while_all(char::is_whitespace), true);
    }
    if rest.starts_with("--") {
        return (Kind::Comment, rest.find('\n').unwrap_or(rest.len()), rest.contains('\n'));
    }
    if rest.starts_with("/*") {
        let (bytes, is_closed) = block_comment(rest);
        return (Kind::Comment, bytes, is_closed);
    }
    if rest.starts_with("e'") || rest.starts_with("E'") {
        let (bytes, is_closed) = quoted(&rest[1..], '\'', true);
        return (Kind::Text, bytes + 1, is_closed);
    }
    match first {
        '\'' => {
            let (bytes, is_closed) = quoted(rest, '\'', false);
            (Kind::Text, bytes, is_closed)
        }
        '"' => {
            let (bytes, is_closed) = quoted(rest, '"', false);
            (Kind::QuotedName, bytes, is_closed)
        }
        '$' => match dollar_delimiter(rest) {
            Some(delimiter) => match rest[delimiter.len()..].find(delimiter) {
                Some(end) => (Kind::Text, end + 2 * delimiter.len(), true),
                None => (Kind::Text, rest.len(), false),
            },
            None => (Kind::Symbol, 1, true),
        },
        '0'..='9' => (Kind::Number, number(rest), true),
        '.' if rest[1..].starts_with(|next: char| next.is_ascii_digit()) => (Kind::Number, number(rest), true),
        _ if first.is_alphabetic() || first == '_' => {
            (Kind::Word, while_all(|c| c.is_alphanumeric() || c == '_' || c == '$'), true)
        }
        _ => (Kind::Symbol, first.len_utf8(), true),
    }
}

/// Returns the length in bytes of a quoted string, and whether it is closed.
fn quoted(rest: &str, quote: char, has_escapes: bool) -> (usize, bool) {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if has_escapes && character == '\\' {
            characters.next();
        } else if character == quote && characters.next_if(|&(_, next)| next == quote).is_none() {
            return (at + 1, true);
        }
    }
    (rest.len(), false)
}

fn block_comment(rest: &str) -> (usize, bool) {
    let bytes = rest.as_bytes();
    let (mut at, mut levels) = (0, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => {
                levels += 1;
                at += 2;
            }
            b"*/" => {
                levels -= 1;
                at += 2;
                if levels == 0 {
                    return (at, true);
                }
            }
            _ => at += 1,
        }
    }
    (rest.len(), false)
}

/// Returns the length in bytes of a number: digits, a decimal point, an exponent.
fn number(rest: &str) -> usize {
    let is_part = |(at, character): (usize, char)| {
        character.is_alphanumeric()
            || character == '_'
            || character == '.'
            || (matches!(character, '+' | '-') && rest[..at].ends_with(['e', 'E']) && !rest.starts_with("0x"))
    };
    rest.char_indices().find(|&part| !is_part(part)).map_or(rest.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(Kind, &str)> {
        let tokens = tokens(text);
        assert_eq!(tokens.iter().map(|token| &text[token.range.clone()]).collect::<String>(), text);
        let is_seen = |token: &&Token| token.kind != Kind::Space;
        tokens.iter().filter(is_seen).map(|token| (token.kind, &text[token.range.clone()])).collect()
    }

    #[test]
    fn every_kind_is_told_apart() {
        use Kind::*;
        assert_eq!(
            kinds("SELECT a1, 'it''s' || E'x\\'y' FROM \"T\"\"x\" -- end\nWHERE x >= 1.5e-3 /* /* */ */;"),
            [
                (Word, "SELECT"),
                (Word, "a1"),
                (Symbol, ","),
                (Text, "'it''s'"),
                (Symbol, "|"),
                (Symbol, "|"),
                (Text, "E'x\\'y'"),
                (Word, "FROM"),
                (QuotedName, "\"T\"\"x\""),
                (Comment, "-- end"),
                (Word, "WHERE"),
                (Word, "x"),
                (Symbol, ">"),
                (Symbol, "="),
                (Number, "1.5e-3"),
                (Comment, "/* /* */ */"),
                (Symbol, ";"),
            ]
        );
        assert_eq!(kinds("$a$ x; $a$ $1"), [(Text, "$a$ x; $a$"), (Symbol, "$"), (Number, "1")]);
    }

    #[test]
    fn what_is_open_goes_to_the_end() {
        for text in ["'東京", "\"name", "E'a\\", "$$ text", "/* /* */", "-- x", "é'", "'''"] {
            let last = tokens(text).pop().unwrap();
            assert!(!last.is_closed && last.range.end == text.len(), "{text}: {last:?}");
        }
    }
}
