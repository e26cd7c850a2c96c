//! Characters as users perceive them: letters with accents, emoji of several parts; Unicode's grapheme clusters.

use unicode_segmentation::UnicodeSegmentation;

use super::characters::size;
use super::parts;
use crate::function::{Category, Function, function};
use crate::rows::{Text, part, scalar};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(&["length_grapheme"], "The number of grapheme clusters of the text")
            .example("length_grapheme('🤦🏼‍♂️🤦🏽‍♀️')", "2")
            .form(scalar::<(Text,), i64, _>(|(text,)| count(text) as i64)),
        text_function(
            &["left_grapheme"],
            "The first grapheme clusters of the text; with a negative count, all but the last ones",
        )
        .example("left_grapheme('🤦🏼‍♂️🤦🏽‍♀️', 1)", "🤦🏼‍♂️")
        .form(part::<(i64,)>(|text, (count,)| match count {
            0.. => &text[..after(text, size(count.unsigned_abs()))],
            _ => &text[..before(text, size(count.unsigned_abs()))],
        })),
        text_function(
            &["right_grapheme"],
            "The last grapheme clusters of the text; with a negative count, all but the first ones",
        )
        .example("right_grapheme('🤦🏼‍♂️🤦🏽‍♀️', 1)", "🤦🏽‍♀️")
        .form(part::<(i64,)>(|text, (count,)| match count {
            0.. => &text[before(text, size(count.unsigned_abs()))..],
            _ => &text[after(text, size(count.unsigned_abs()))..],
        })),
        text_function(
            &["substring_grapheme"],
            "The grapheme clusters of the text from a place on, from the end if it is negative, or a number of them; \
             a negative number are those before the place",
        )
        .example("substring_grapheme('🦆🤦🏼‍♂️🤦🏽‍♀️🦆', 3, 2)", "🤦🏽‍♀️🦆")
        .form(part::<(i64,)>(|text, (start,)| substring(text, start, i64::MAX)))
        .form(part::<(i64, i64)>(|text, (start, length)| substring(text, start, length))),
    ]
}

/// True for ASCII without carriage returns: each character is a cluster, except a carriage return with its line feed.
fn is_simple(text: &str) -> bool {
    text.is_ascii() && !text.contains('\r')
}

fn count(text: &str) -> usize {
    if is_simple(text) { text.len() } else { text.graphemes(true).count() }
}

fn after(text: &str, count: usize) -> usize {
    match is_simple(text) {
        true => count.min(text.len()),
        false => text.grapheme_indices(true).nth(count).map_or(text.len(), |(at, _)| at),
    }
}

fn before(text: &str, count: usize) -> usize {
    if is_simple(text) {
        return text.len().saturating_sub(count);
    }
    match count.checked_sub(1) {
        None => text.len(),
        Some(others) => text.grapheme_indices(true).rev().nth(others).map_or(0, |(at, _)| at),
    }
}

fn substring(text: &str, start: i64, length: i64) -> &str {
    let start = if start < 0 { start.saturating_add(count(text) as i64).saturating_add(1) } else { start };
    let (start, length) = match length {
        0.. => (start, length),
        _ => (start.saturating_add(length), length.saturating_neg()),
    };
    if is_simple(text) {
        return parts::substring(text, start, length);
    }
    let first = start.saturating_sub(1);
    let end = first.saturating_add(length);
    if end <= 0 {
        return "";
    }
    let place = |place: i64| after(text, usize::try_from(place).unwrap_or(0));
    &text[place(first)..place(end)]
}

#[cfg(test)]
mod tests {
    use crate::testing::shown;

    #[test]
    fn clusters_are_whole() {
        assert_eq!(shown("length_grapheme", &["'🤦🏼‍♂️🤦🏽‍♀️'"]), "2");
        assert_eq!(shown("length_grapheme", &["'e\u{301}\r\n'"]), "2");
        assert_eq!(shown("length_grapheme", &["''"]), "0");
        assert_eq!(shown("left_grapheme", &["'🤦🏼‍♂️a'", "1"]), "🤦🏼‍♂️");
        assert_eq!(shown("left_grapheme", &["'a🤦🏼‍♂️'", "-1"]), "a");
        assert_eq!(shown("left_grapheme", &["'abc'", "-1"]), "ab");
        assert_eq!(shown("right_grapheme", &["'a🤦🏼‍♂️'", "1"]), "🤦🏼‍♂️");
        assert_eq!(shown("right_grapheme", &["'🤦🏼‍♂️a'", "-1"]), "a");
        assert_eq!(shown("right_grapheme", &["'é'", "0"]), "");
        assert_eq!(shown("right_grapheme", &["'abc'", "-9223372036854775807"]), "");
        assert_eq!(shown("left_grapheme", &["'é'", "NULL"]), "NULL");
    }

    #[test]
    fn substrings_of_clusters() {
        for (text, start, length, expected) in [
            ("'🦆🤦🏼‍♂️🤦🏽‍♀️🦆'", "3", "2", "🤦🏽‍♀️🦆"),
            ("'🦆🤦🏼‍♂️🤦🏽‍♀️🦆'", "-2", "1", "🤦🏽‍♀️"),
            ("'abcdef'", "-3", "2", "de"),
            ("'abcdef'", "0", "2", "a"),
            ("'abcdef'", "-8", "4", "ab"),
            ("'abcdef'", "3", "-2", "ab"),
            ("'ébcdef'", "3", "-2", "éb"),
            ("'ébc'", "9223372036854775807", "9223372036854775807", ""),
            ("'ébc'", "-9223372036854775807", "-9223372036854775807", ""),
        ] {
            assert_eq!(shown("substring_grapheme", &[text, start, length]), expected, "{text} {start} {length}");
        }
        assert_eq!(shown("substring_grapheme", &["'éb'", "2"]), "b");
    }
}
