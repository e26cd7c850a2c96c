//! Lists as PostgreSQL writes arrays: `{1,NULL}`, `{"a,b",c}`, `{{1,2},{3}}`.
//!
//! Only double quotes quote, and only whole elements. In them and elsewhere, a backslash takes the character after it
//! as it is. Blanks around an element are ignored. Lists within lists may differ in length, as those of DuckDB do.

use std::borrow::Cow;

use super::nested::{end_of_quotes, unescaped};

/// An element's text; `None` for NULL.
type Element<'t> = Option<Cow<'t, str>>;

/// True if a list's text can only be one of PostgreSQL.
pub(super) fn is_array(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

/// Returns the elements of an array; `None` if the text isn't one.
pub(super) fn elements(text: &str) -> Option<Vec<Element<'_>>> {
    let mut rest = text.trim().strip_prefix('{')?.trim_start();
    let mut elements = Vec::new();
    if rest == "}" {
        return Some(elements);
    }
    loop {
        let (element, after) = element(rest)?;
        elements.push(element);
        let after = after.trim_start();
        match after.strip_prefix(',') {
            Some(next) => rest = next.trim_start(),
            None => return (after == "}").then_some(elements),
        }
    }
}

/// Takes an element from the start of a text, and returns what is behind it.
fn element(text: &str) -> Option<(Element<'_>, &str)> {
    let bytes = text.as_bytes();
    match bytes.first()? {
        b'"' => {
            let end = end_of_quotes(bytes, 0)?;
            Some((Some(unescaped(&text[1..end])), &text[end + 1..]))
        }
        b'{' => {
            let end = end_of_braces(bytes)?;
            Some((Some(text[..=end].into()), &text[end + 1..]))
        }
        _ => bare_element(text),
    }
}

fn bare_element(text: &str) -> Option<(Element<'_>, &str)> {
    let bytes = text.as_bytes();
    // The end of what has been read so far, without blanks.
    let (mut at, mut end) = (0, 0);
    loop {
        match *bytes.get(at)? {
            b',' | b'}' => break,
            b'"' | b'{' => return None,
            b'\\' => {
                at += 2;
                end = at;
            }
            byte => {
                at += 1;
                if !byte.is_ascii_whitespace() {
                    end = at;
                }
            }
        }
    }
    let element = match &text[..end] {
        "" => return None,
        null if null.eq_ignore_ascii_case("NULL") => None,
        other => Some(unescaped(other)),
    };
    Some((element, &text[at..]))
}

/// Returns the position of the brace that closes the first one.
fn end_of_braces(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match *bytes.get(at)? {
            b'"' => at = end_of_quotes(bytes, at)?,
            b'\\' => at += 1,
            b'{' => depth += 1,
            b'}' if depth == 1 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}
