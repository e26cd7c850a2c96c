//! Texts of a given length: padded, cut off, repeated.

use godwit_common::Result;
use godwit_vector::kernels::string::{char_count, substring};

use crate::function::{Category, Function, function};
use crate::rows::{Blob, Text, Writer, text};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(
            &["lpad"],
            "The text with a length in characters: filled up on the left, or cut off on the right",
        )
        .example("lpad('7', 3, '0')", "007")
        .example("lpad('godwit', 3, ' ')", "god")
        .form(text::<(Text, i64), Text, _>(|(text, length), out| padded(text, length, " ", Side::Left, out)))
        .form(text::<(Text, i64, Text), Text, _>(|(text, length, fill), out| {
            padded(text, length, fill, Side::Left, out)
        })),
        text_function(&["rpad"], "The text with a length in characters: filled up or cut off on the right")
            .example("rpad('7', 3, '0')", "700")
            .form(text::<(Text, i64), Text, _>(|(text, length), out| padded(text, length, " ", Side::Right, out)))
            .form(text::<(Text, i64, Text), Text, _>(|(text, length, fill), out| {
                padded(text, length, fill, Side::Right, out)
            })),
        text_function(&["repeat"], "The text or BLOB several times")
            .example("repeat('ab', 3)", "ababab")
            .example("repeat('-', 10)", "----------")
            .form(text::<(Text, i64), Text, _>(|(text, times), out| repeated(text.as_bytes(), times, out)))
            .form(text::<(Blob, i64), Blob, _>(|(bytes, times), out| repeated(bytes, times, out))),
    ]
}

enum Side {
    Left,
    Right,
}

fn padded(text: &str, length: i64, fill: &str, side: Side, out: &mut Writer<'_>) -> Result<()> {
    let length = usize::try_from(length).unwrap_or(0);
    let chars = char_count(text.as_bytes());
    if chars >= length || fill.is_empty() {
        let kept = substring(text.as_bytes(), 1, Some(i64::try_from(length).unwrap_or(i64::MAX)));
        out.push_bytes(kept);
        return Ok(());
    }
    let missing = length - chars;
    let (whole, rest) = (missing / char_count(fill.as_bytes()), missing % char_count(fill.as_bytes()));
    out.reserve(text.len().saturating_add(fill.len().saturating_mul(whole + 1)))?;
    if matches!(side, Side::Right) {
        out.push_str(text);
    }
    push_times(fill.as_bytes(), whole, out)?;
    out.push_bytes(substring(fill.as_bytes(), 1, Some(rest as i64)));
    if matches!(side, Side::Left) {
        out.push_str(text);
    }
    Ok(())
}

fn repeated(text: &[u8], times: i64, out: &mut Writer<'_>) -> Result<()> {
    let times = usize::try_from(times).unwrap_or(0);
    out.reserve(text.len().saturating_mul(times))?;
    push_times(text, times, out)
}

fn push_times(text: &[u8], times: usize, out: &mut Writer<'_>) -> Result<()> {
    if text.is_empty() {
        return Ok(());
    }
    (0..times).try_for_each(|_| {
        out.push_bytes(text);
        out.go(text.len())
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn lengths_are_characters() {
        assert_eq!(shown("lpad", &["'é'", "3", "'äö'"]), "äöé");
        assert_eq!(shown("rpad", &["'é'", "4", "'äö'"]), "éäöä");
        assert_eq!(shown("lpad", &["'abc'", "-1", "'x'"]), "");
        assert_eq!(shown("lpad", &["'abc'", "5", "''"]), "abc");
        assert_eq!(shown("rpad", &["NULL", "5", "'x'"]), "NULL");
    }

    #[test]
    fn what_is_too_long_is_refused_before_it_is_made() {
        assert!(error_of("lpad", &["'x'", "2147483647", "'y'"]).contains("longer than 1073741824 bytes"));
        assert!(error_of("repeat", &["'x'", "9223372036854775807"]).contains("longer than"));
        assert!(call("repeat", &["''", "9223372036854775807"]).is_ok());
    }
}
