//! SIMILAR TO and GLOB as regular expressions that match the whole text.
//!
//! | SIMILAR TO | GLOB | |
//! |---|---|---|
//! | `%` | `*` | any characters |
//! | `_` | `?` | one character |
//! | `[a-z]`, `[^a-z]` | `[a-z]`, `[!a-z]` | one of a set, one outside |
//! | `|`, `*`, `+`, `?`, `{m,n}`, `( )` | | as in regular expressions |
//!
//! All other characters stand for themselves, as does any character after the escape character.

use godwit_common::{Error, Result, SqlState};

/// Returns the regular expression for a pattern of SIMILAR TO.
pub(crate) fn of_similar(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut out = String::from("^(?s:");
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == escape => put_literal(chars.next().ok_or_else(dangling_escape)?, &mut out),
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '(' => out.push_str("(?:"),
            '|' | '*' | '+' | '?' | '{' | '}' | ')' => out.push(c),
            '[' => put_set(&mut chars, '^', &mut out),
            c => put_literal(c, &mut out),
        }
    }
    out.push_str(")$");
    Ok(out)
}

/// Returns the regular expression for a pattern of GLOB.
pub(crate) fn of_glob(pattern: &str) -> String {
    let mut out = String::from("^(?s:");
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => put_set(&mut chars, '!', &mut out),
            '\\' => put_literal(chars.next().unwrap_or('\\'), &mut out),
            c => put_literal(c, &mut out),
        }
    }
    out.push_str(")$");
    out
}

/// The error for a pattern that ends with its escape character.
pub(crate) fn dangling_escape() -> Error {
    Error::user("a pattern must not end with its escape character").with_code(SqlState::INVALID_PARAMETER_VALUE)
}

/// Translates a set, after its opening bracket. A closing bracket stands for itself if it comes first; whatever a
/// regular expression would take for more than a character or a range is escaped.
fn put_set(chars: &mut std::str::Chars<'_>, negation: char, out: &mut String) {
    out.push('[');
    if chars.as_str().starts_with(negation) {
        chars.next();
        out.push('^');
    }
    let mut is_first = true;
    for c in chars.by_ref() {
        match c {
            ']' if !is_first => break,
            '-' => out.push('-'),
            c => put_literal(c, out),
        }
        is_first = false;
    }
    out.push(']');
}

fn put_literal(c: char, out: &mut String) {
    out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_texts() {
        let similar = [
            ("abc", "abc", true),
            ("abc", "a", false),
            ("abc", "a%", true),
            ("abc", "%(b|d)%", true),
            ("abc", "(b|c)%", false),
            ("abc", "[^x]b_", true),
            ("a]c", "a[]]c", true),
            ("a.c", "a.c", true),
            ("abc", "a.c", false),
            ("^a$", "^a$", true),
            ("aaa", "a{3}", true),
            ("a%c", "a#%c", true),
            ("abc", "a#%c", false),
            ("a\nc", "a_c", true),
            ("&", "[a&&&b]", true),
        ];
        for (text, pattern, expected) in similar {
            let regex = regex::Regex::new(&of_similar(pattern, Some('#')).unwrap()).unwrap();
            assert_eq!(regex.is_match(text), expected, "{text} SIMILAR TO {pattern}");
        }
        let globs = [
            ("abc", "a*", true),
            ("abc", "a*b", false),
            ("abc", "a[!x]?", true),
            ("abc", "a[b-c]c", true),
            ("a*c", "a\\*c", true),
            ("abc", "a\\*c", false),
            ("a(c", "a(c", true),
        ];
        for (text, pattern, expected) in globs {
            let regex = regex::Regex::new(&of_glob(pattern)).unwrap();
            assert_eq!(regex.is_match(text), expected, "{text} GLOB {pattern}");
        }
        assert!(of_similar("a#", Some('#')).is_err());
    }
}
