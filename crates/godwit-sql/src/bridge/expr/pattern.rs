//! Patterns of SIMILAR TO and GLOB as regular expressions of the whole text.

use godwit_common::{Error, Result, SqlState};

/// `%` and `_` as in LIKE; `|`, `*`, `+`, `?`, `{…}`, `(…)`, `[…]` as in regular expressions; the rest stands for itself.
pub(super) fn of_similar(pattern: &str, escape: Option<char>) -> Result<String> {
    let escape = escape.unwrap_or('\\');
    let mut regex = String::from("(?s)^(?:");
    let mut characters = pattern.chars();
    let mut in_class = false;
    while let Some(character) = characters.next() {
        match character {
            _ if character == escape => {
                let Some(literal) = characters.next() else {
                    let error = Error::user("the pattern of SIMILAR TO ends with its escape character");
                    return Err(error.with_code(SqlState::INVALID_REGULAR_EXPRESSION));
                };
                push_literal(&mut regex, literal);
            }
            ']' if in_class => {
                in_class = false;
                regex.push(']');
            }
            '\\' => regex.push_str("\\\\"),
            _ if in_class => regex.push(character),
            '[' => {
                in_class = true;
                regex.push('[');
            }
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '|' | '*' | '+' | '?' | '{' | '}' | '(' | ')' => regex.push(character),
            _ => push_literal(&mut regex, character),
        }
    }
    regex.push_str(")$");
    Ok(regex)
}

/// `*` for any text, `?` for any character, `[…]` for one of some, `[!…]` for one of others; a backslash before a character
/// makes it stand for itself.
pub(super) fn of_glob(pattern: &str) -> String {
    let mut regex = String::from("(?s)^");
    let mut characters = pattern.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '\\' => push_literal(&mut regex, characters.next().unwrap_or('\\')),
            '[' if characters.clone().any(|next| next == ']') => {
                regex.push('[');
                if characters.next_if_eq(&'!').is_some() {
                    regex.push('^');
                }
                for member in characters.by_ref() {
                    match member {
                        ']' => break,
                        '-' => regex.push('-'),
                        _ => push_literal(&mut regex, member),
                    }
                }
                regex.push(']');
            }
            _ => push_literal(&mut regex, character),
        }
    }
    regex.push('$');
    regex
}

fn push_literal(regex: &mut String, character: char) {
    if character.is_ascii_punctuation() {
        regex.push('\\');
    }
    regex.push(character);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_is_a_regular_expression_of_the_whole_text() {
        let cases = [
            ("a%", "(?s)^(?:a.*)$"),
            ("a_|(b+)", "(?s)^(?:a.|(b+))$"),
            ("1.5$", "(?s)^(?:1\\.5\\$)$"),
            ("[a-c%]", "(?s)^(?:[a-c%])$"),
            ("\\%", "(?s)^(?:\\%)$"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(of_similar(pattern, None).unwrap(), expected, "{pattern}");
        }
        assert!(of_similar("a!", Some('!')).is_err());
    }

    #[test]
    fn globs() {
        for (pattern, expected) in
            [("*.rs", "(?s)^.*\\.rs$"), ("a?[!b-d]", "(?s)^a.[^b-d]$"), ("[", "(?s)^\\[$"), ("\\*", "(?s)^\\*$")]
        {
            assert_eq!(of_glob(pattern), expected, "{pattern}");
        }
    }
}
