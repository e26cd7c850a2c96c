//! LIKE and other pattern matches.

use std::fmt::Write;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::Match;
use regex::RegexBuilder;

/// Whether the text matches the pattern. All kinds are translated to a regular expression.
pub(crate) fn matches(kind: Match, text: &str, pattern: &str, escape: Option<char>) -> Result<bool> {
    let expression = match kind {
        Match::Like | Match::ILike => like(pattern, escape)?,
        Match::Similar => similar(pattern, escape)?,
        Match::Glob => glob(pattern),
        Match::Regex | Match::IRegex => pattern.to_owned(),
    };
    let in_any_case = matches!(kind, Match::ILike | Match::IRegex);
    let across_lines = !matches!(kind, Match::Regex | Match::IRegex);
    let expression = RegexBuilder::new(&expression)
        .case_insensitive(in_any_case)
        .dot_matches_new_line(across_lines)
        .build()
        .map_err(|_| {
            let message = format!("'{pattern}' is not a regular expression");
            Error::user(message).with_code(SqlState::INVALID_REGULAR_EXPRESSION)
        })?;
    Ok(expression.is_match(text))
}

fn literal(out: &mut String, character: char) {
    out.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
}

fn escaped(characters: &mut std::str::Chars<'_>) -> Result<char> {
    let error = || Error::user("a pattern must not end with its escape character");
    characters.next().ok_or_else(|| error().with_code(SqlState::INVALID_PARAMETER_VALUE))
}

fn like(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut out = String::from("^");
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            _ if Some(character) == escape => literal(&mut out, escaped(&mut characters)?),
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            _ => literal(&mut out, character),
        }
    }
    out.push('$');
    Ok(out)
}

fn similar(pattern: &str, escape: Option<char>) -> Result<String> {
    let mut out = String::from("^(?:");
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            _ if Some(character) == escape => literal(&mut out, escaped(&mut characters)?),
            '%' => out.push_str(".*"),
            '_' => out.push('.'),
            '|' | '*' | '+' | '?' | '{' | '}' | '(' | ')' | '[' | ']' | '-' | ',' | '^' => out.push(character),
            _ => literal(&mut out, character),
        }
    }
    out.push_str(")$");
    Ok(out)
}

fn glob(pattern: &str) -> String {
    let mut out = String::from("^");
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match character {
            '*' => out.push_str(".*"),
            '?' => out.push('.'),
            '[' => {
                let set: String = characters.by_ref().take_while(|&character| character != ']').collect();
                let (negation, members) = set.strip_prefix('!').map_or(("", set.as_str()), |members| ("^", members));
                write!(out, "[{negation}{members}]").expect("strings take everything");
            }
            '\\' => characters.next().into_iter().for_each(|character| literal(&mut out, character)),
            _ => literal(&mut out, character),
        }
    }
    out.push('$');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let cases = [
            (Match::Like, "abc", "a%", None, true),
            (Match::Like, "abc", "b", None, false),
            (Match::Like, "a\nc", "a_c", None, true),
            (Match::Like, "a%c", "a\\%c", Some('\\'), true),
            (Match::Like, "abc", "a\\%c", Some('\\'), false),
            (Match::Like, "a.c", "a.c", None, true),
            (Match::Like, "abc", "a.c", None, false),
            (Match::ILike, "ÄB", "äb", None, true),
            (Match::Similar, "abc", "b", None, false),
            (Match::Similar, "abc", "a(b|x)_", None, true),
            (Match::Similar, "a.c", "a.c", None, true),
            (Match::Similar, "abc", "a.c", None, false),
            (Match::Glob, "abc", "a[!x]?", None, true),
            (Match::Glob, "abc", "a*b", None, false),
            (Match::Regex, "abc", "b.", None, true),
            (Match::Regex, "abc", "^b", None, false),
            (Match::IRegex, "abc", "B", None, true),
        ];
        for (kind, text, pattern, escape, expected) in cases {
            assert_eq!(matches(kind, text, pattern, escape).unwrap(), expected, "{text} {kind:?} {pattern}");
        }
        assert!(matches(Match::Regex, "a", "(", None).is_err());
        assert!(matches(Match::Like, "a", "a\\", Some('\\')).is_err());
    }
}
