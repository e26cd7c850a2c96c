//! Texts as parts of URLs.

use godwit_common::Result;

use super::encodings::checked_text;
use super::hex;
use crate::function::{Category, Function, function};
use crate::rows::{Text, Writer, text};

pub(super) fn functions() -> Vec<Function> {
    vec![
        function(Category::Binary, &["url_encode"], "The text as a part of a URL: other characters as `%` and digits")
            .example("url_encode('a b/c')", "a%20b%2Fc")
            .form(text::<(Text,), Text, _>(|(text,), out| encode(text, out))),
        function(Category::Binary, &["url_decode"], "The text that a part of a URL stands for")
            .example("url_decode('a%20b%2Fc')", "a b/c")
            .form(text::<(Text,), Text, _>(|(text,), out| decode(text, out))),
    ]
}

fn encode(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let is_kept = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|byte| !is_kept(byte)) {
        out.reserve(at + 3)?;
        out.go(at + 1)?;
        out.push_bytes(&rest[..at]);
        let byte = rest[at];
        out.push_bytes(&[b'%', hex::UPPER[usize::from(byte >> 4)], hex::UPPER[usize::from(byte & 15)]]);
        rest = &rest[at + 1..];
    }
    out.push_bytes(rest);
    Ok(())
}

/// A `%` without two digits stands for itself.
fn decode(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let mut rest = text.as_bytes();
    while let Some(at) = memchr::memchr(b'%', rest) {
        out.push_bytes(&rest[..at]);
        out.go(at + 1)?;
        let byte = match rest[at + 1..] {
            [high, low, ..] => hex::value(high).zip(hex::value(low)).map(|(high, low)| high << 4 | low),
            _ => None,
        };
        out.push_bytes(&[byte.unwrap_or(b'%')]);
        rest = &rest[at + if byte.is_some() { 3 } else { 1 }..];
    }
    out.push_bytes(rest);
    checked_text(out.row_mut()).map(drop)
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn urls_are_encoded_and_decoded() {
        assert_eq!(shown("url_encode", &["'a b/é+~'"]), "a%20b%2F%C3%A9%2B~");
        assert_eq!(shown("url_decode", &["'a%20b%2F+%zz%'"]), "a b/+%zz%");
        assert_eq!(shown("url_decode", &["'%e2%82%ac%4'"]), "€%4");
        assert_eq!(shown("url_encode", &["''"]), "");
        assert_eq!(shown("url_decode", &["NULL"]), "NULL");
        assert!(error_of("url_decode", &["'%ff'"]).contains("UTF-8"));
    }
}
