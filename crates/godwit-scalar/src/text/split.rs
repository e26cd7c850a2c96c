//! Texts split into lists.

use godwit_common::Result;
use godwit_types::SqlType;
use memchr::memmem;

use crate::function::{Category, Function, function};
use crate::rows::{ListWriter, lists};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(
            &["string_to_array", "string_to_list"],
            "The fields of a text that a separator divides, its characters if the separator is NULL; \
             fields like the third text are NULL",
        )
        .example("string_to_array('a,b', ',')", "[a, b]")
        .example("string_to_array('a,-,b', ',', '-')", "[a, NULL, b]")
        .form(lists(vec![SqlType::Varchar; 2], |texts, out| {
            texts[0].map(|text| array(text, texts[1], None, out)).transpose()
        }))
        .form(lists(vec![SqlType::Varchar; 3], |texts, out| {
            texts[0].map(|text| array(text, texts[1], texts[2], out)).transpose()
        })),
        text_function(
            &["string_split", "str_split", "split"],
            "The parts of a text between separators, its characters if the separator is empty",
        )
        .example("string_split('a b', ' ')", "[a, b]")
        .example("string_split('abc', '')", "[a, b, c]")
        .form(lists(vec![SqlType::Varchar; 2], |texts, out| {
            texts[0].map(|text| split(text, texts[1], out)).transpose()
        })),
    ]
}

/// As in PostgreSQL: the empty text has no fields, an empty separator divides nothing.
fn array(text: &[u8], separator: Option<&[u8]>, null: Option<&[u8]>, out: &mut ListWriter<'_>) -> Result<()> {
    let mut push = |part| out.push_part((null != Some(part)).then_some(part));
    match separator {
        _ if text.is_empty() => Ok(()),
        None => characters(text).try_for_each(push),
        Some([]) => push(text),
        Some(separator) => divide(text, separator, push),
    }
}

/// As in DuckDB: the empty text has one part, an empty separator divides all characters, NULL nothing.
fn split(text: &[u8], separator: Option<&[u8]>, out: &mut ListWriter<'_>) -> Result<()> {
    match separator {
        Some([]) if !text.is_empty() => characters(text).try_for_each(|part| out.push_part(Some(part))),
        Some(separator) if !separator.is_empty() => divide(text, separator, |part| out.push_part(Some(part))),
        _ => out.push_part(Some(text)),
    }
}

/// Calls `push` with each part between separators.
fn divide<'a>(text: &'a [u8], separator: &[u8], mut push: impl FnMut(&'a [u8]) -> Result<()>) -> Result<()> {
    let mut start = 0;
    let mut next = |end: usize| push(&text[std::mem::replace(&mut start, end + separator.len())..end]);
    match separator {
        [byte] => memchr::memchr_iter(*byte, text).try_for_each(&mut next)?,
        _ => memmem::find_iter(text, separator).try_for_each(&mut next)?,
    }
    push(&text[start..])
}

fn characters(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.chunk_by(|_, next| next & 0xC0 == 0x80)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{error_of, shown};

    #[test]
    fn arrays_of_postgresql() {
        for (arguments, expected) in [
            (&["'a,b,'", "','"][..], "[a, b, '']"),
            (&["''", "','"], "[]"),
            (&["''", "''"], "[]"),
            (&["'abc'", "''"], "[abc]"),
            (&["'aéb'", "NULL"], "[a, é, b]"),
            (&["NULL", "','"], "NULL"),
            (&["'a,b,'", "','", "'b'"], "[a, NULL, '']"),
            (&["'a,b,'", "','", "''"], "[a, b, NULL]"),
            (&["'a,b'", "','", "NULL"], "[a, b]"),
            (&["'aba'", "NULL", "'a'"], "[NULL, b, NULL]"),
        ] {
            assert_eq!(shown("string_to_array", arguments), expected, "{arguments:?}");
        }
    }

    #[test]
    fn parts_of_duckdb() {
        for (text, separator, expected) in [
            ("'a--b--'", "'--'", "[a, b, '']"),
            ("''", "','", "['']"),
            ("''", "''", "['']"),
            ("'añb'", "''", "[a, ñ, b]"),
            ("'a,b'", "NULL", "['a,b']"),
            ("NULL", "','", "NULL"),
            ("'aaa'", "'aa'", "['', a]"),
        ] {
            for name in ["string_split", "str_split", "split"] {
                assert_eq!(shown(name, &[text, separator]), expected, "{text} {separator}");
            }
        }
    }

    #[test]
    fn lists_ask_for_memory() {
        let text = format!("'{}'", ",".repeat(600_000));
        assert!(error_of("string_split", &[&text, "','"]).contains("bytes"));
    }

    proptest! {
        #[test]
        fn parts_are_those_of_the_standard_library(text in "[ab,;é]{0,30}", separator in "[,;é]{1,2}") {
            let mut parts = Vec::new();
            divide(text.as_bytes(), separator.as_bytes(), |part| { parts.push(part); Ok(()) }).unwrap();
            prop_assert_eq!(parts, text.split(&separator).map(str::as_bytes).collect::<Vec<_>>());
        }
    }
}
