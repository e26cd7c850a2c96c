//! Parts of texts by position.

use godwit_common::{Error, Result, SqlState};
use godwit_vector::kernels::string::char_count;

use super::characters::{after, before, size};
use crate::function::{Category, Form, Function, function};
use crate::rows::{Needle, Pace, Pattern, Text, Writer, checked_part, paced_part, part, text};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(&["left"], "The first characters of the text; with a negative count, all but the last ones")
            .example("left('abcd', 2)", "ab")
            .example("left('abcd', -1)", "abc")
            .form(part::<(i64,)>(|text, (count,)| left(text, count))),
        text_function(&["right"], "The last characters of the text; with a negative count, all but the first ones")
            .example("right('abcd', 2)", "cd")
            .form(part::<(i64,)>(|text, (count,)| right(text, count))),
        text_function(
            &["substring", "substr"],
            "The characters of the text from a place on, at most a number of them; places before the first count",
        )
        .example("substring('database', 5)", "base")
        .example("substring('database', 1, 4)", "data")
        .form(part::<(i64,)>(|text, (start,)| substring(text, start, i64::MAX)))
        .form(checked_part::<(i64, i64)>(
            |(_, length)| not_negative(length),
            |text, (start, length)| substring(text, start, length),
        )),
        text_function(
            &["split_part"],
            "The field with a number of a text that a separator divides; negative numbers count from the end",
        )
        .example("split_part('a,b,c', ',', 2)", "b")
        .example("split_part('a,b,c', ',', -1)", "c")
        .form(paced_part::<(Pattern, i64), Result<()>>(
            |(_, number)| not_zero(number),
            |text, (separator, number), pace| field(text, separator, number, pace),
        )),
        text_function(
            &["substring_index", "substr_index"],
            "The text before the separator's occurrence with a number; with a negative one, what is behind, from the end",
        )
        .example("substring_index('www.example.com', '.', 2)", "www.example")
        .example("substring_index('www.example.com', '.', -1)", "com")
        .form(paced_part::<(Pattern, i64), ()>(
            |_| (),
            |text, (separator, count), pace| before_occurrence(text, separator, count, pace),
        )),
        // Lists have their own forms.
        text_function(&["list_extract", "array_extract"], "The character at a place, from the end if it is negative")
            .example("array_extract('abc', 2)", "b")
            .example("array_extract('abc', -1)", "c")
            .form(character_at()),
        text_function(
            &["list_slice", "array_slice"],
            "The characters from a place to another, from the end if it is negative, maybe by a step",
        )
        .example("array_slice('abcdef', 2, -2)", "bcde")
        .example("array_slice('abcdef', 5, 1, -2)", "eca")
        .form(slice())
        .form(slice_by_step()),
    ]
}

/// `list_extract(text, place)`.
fn character_at() -> Form {
    part::<(i64,)>(|text, (place,)| match place {
        0 => "",
        1.. => {
            let rest = &text[after(text, size(place.unsigned_abs() - 1))..];
            &rest[..after(rest, 1)]
        }
        _ => {
            let length = before(text, size(place.unsigned_abs() - 1));
            let count = char_count(text.as_bytes()) as u64;
            if place.unsigned_abs() > count { "" } else { &text[before(&text[..length], 1)..length] }
        }
    })
}

/// `list_slice(text, first, last)`.
fn slice() -> Form {
    part::<(i64, i64)>(|text, (first, last)| {
        let (first, last) = if first < 0 || last < 0 {
            let length = char_count(text.as_bytes()) as i64;
            (from_start(first, length), from_start(last, length))
        } else {
            (first, last)
        };
        let first = first.max(1);
        substring(text, first, last.saturating_sub(first).saturating_add(1))
    })
}

/// `list_slice(text, first, last, step)`; a negative step goes backwards.
fn slice_by_step() -> Form {
    text::<(Text, i64, i64, i64), Text, _>(|(text, first, last, step), out: &mut Writer<'_>| {
        let length = char_count(text.as_bytes()) as i64;
        let (first, last) = (from_start(first, length), from_start(last, length));
        let stride = size(step.unsigned_abs());
        let (skipped, taken) = match step {
            0 => {
                let error = Error::user("the step of a slice is 0");
                return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
            }
            1.. => (first.max(1) - 1, last.min(length).saturating_sub(first.max(1) - 1)),
            _ => (length - first.min(length), first.min(length).saturating_sub(last.max(1) - 1)),
        };
        let size = |count: i64| usize::try_from(count).unwrap_or(0);
        let (skipped, taken) = (size(skipped), size(taken));
        match step > 0 {
            true => out.push_all(text.chars().skip(skipped).take(taken).step_by(stride)),
            false => out.push_all(text.chars().rev().skip(skipped).take(taken).step_by(stride)),
        }
    })
}

/// Converts a place to count from the start; -1 is the last one.
fn from_start(place: i64, length: i64) -> i64 {
    if place < 0 { place.saturating_add(length).saturating_add(1) } else { place }
}

fn left(text: &str, count: i64) -> &str {
    let characters = size(count.unsigned_abs());
    if count < 0 { &text[..before(text, characters)] } else { &text[..after(text, characters)] }
}

fn right(text: &str, count: i64) -> &str {
    let characters = size(count.unsigned_abs());
    if count < 0 { &text[after(text, characters)..] } else { &text[before(text, characters)..] }
}

pub(super) fn substring(text: &str, start: i64, length: i64) -> &str {
    let first = start.saturating_sub(1);
    let end = first.saturating_add(length);
    let size = |count: i64| usize::try_from(count).unwrap_or(0);
    if end <= 0 || end <= first {
        return "";
    }
    let rest = &text[after(text, size(first))..];
    &rest[..after(rest, size(end) - size(first))]
}

fn not_negative(length: i64) -> Result<()> {
    if length < 0 {
        let error = Error::user("the length of a substring must not be negative");
        return Err(error.with_code(SqlState::INVALID_PARAMETER_VALUE));
    }
    Ok(())
}

fn not_zero(number: i64) -> Result<()> {
    if number == 0 {
        return Err(Error::user("the number of a field must not be 0")
            .with_code(SqlState::INVALID_PARAMETER_VALUE)
            .with_hint("fields count from 1, or from -1 backwards"));
    }
    Ok(())
}

/// Returns a field; without a separator, the text is its first and last field.
fn field<'a>(text: &'a str, separator: Needle<'_>, number: i64, pace: &mut Pace<'_>) -> Result<&'a str> {
    let width = separator.bytes().len();
    if width == 0 {
        return Ok(if number.unsigned_abs() == 1 { text } else { "" });
    }
    let others = size(number.unsigned_abs() - 1);
    if number < 0 {
        let Some(rest) = nth_from_end(text, separator, others, pace)? else { return Ok("") };
        return Ok(&rest[last_occurrence(rest, separator, pace)?.map_or(0, |at| at + width)..]);
    }
    let mut rest = text;
    for _ in 0..others {
        match separator.find(rest.as_bytes(), pace)? {
            Some(at) => rest = &rest[at + width..],
            None => return Ok(""),
        }
    }
    Ok(&rest[..separator.find(rest.as_bytes(), pace)?.unwrap_or(rest.len())])
}

fn last_occurrence(text: &str, separator: Needle<'_>, pace: &mut Pace<'_>) -> Result<Option<usize>> {
    let found = memchr::memmem::rfind(text.as_bytes(), separator.bytes());
    pace.go(text.len() - found.unwrap_or(0))?;
    Ok(found)
}

/// Returns the text before the separator's n-th occurrence from the end; `None` if there are fewer.
fn nth_from_end<'a>(
    text: &'a str,
    separator: Needle<'_>,
    occurrences: usize,
    pace: &mut Pace<'_>,
) -> Result<Option<&'a str>> {
    let mut rest = text;
    for _ in 0..occurrences {
        match last_occurrence(rest, separator, pace)? {
            Some(at) => rest = &rest[..at],
            None => return Ok(None),
        }
    }
    Ok(Some(rest))
}

fn before_occurrence<'a>(text: &'a str, separator: Needle<'_>, count: i64, pace: &mut Pace<'_>) -> Result<&'a str> {
    let width = separator.bytes().len();
    if width == 0 || count == 0 {
        return Ok("");
    }
    let occurrences = size(count.unsigned_abs());
    if count < 0 {
        let rest = nth_from_end(text, separator, occurrences, pace)?;
        return Ok(rest.map_or(text, |rest| &text[rest.len() + width..]));
    }
    let mut start = 0;
    for _ in 1..occurrences {
        match separator.find(&text.as_bytes()[start..], pace)? {
            Some(at) => start += at + width,
            None => return Ok(text),
        }
    }
    let found = separator.find(&text.as_bytes()[start..], pace)?;
    Ok(found.map_or(text, |at| &text[..start + at]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{error_of, shown};

    proptest! {
        #[test]
        fn counts_are_characters(text in "[aé😀]{0,9}", count in -11_i64..11) {
            let characters: Vec<char> = text.chars().collect();
            let length = characters.len() as i64;
            let kept = if count < 0 { (length + count).max(0) } else { count.min(length) } as usize;
            prop_assert_eq!(left(&text, count), characters[..kept].iter().collect::<String>());
            prop_assert_eq!(right(&text, count), characters[characters.len() - kept..].iter().collect::<String>());
        }

        #[test]
        fn substrings_are_those_of_vectors(text in "[aé😀]{0,9}", start in -3_i64..12, length in 0_i64..12) {
            let expected = godwit_vector::kernels::string::substring(text.as_bytes(), start, Some(length));
            prop_assert_eq!(substring(&text, start, length).as_bytes(), expected);
        }
    }

    #[test]
    fn ends() {
        assert_eq!(shown("left", &["'grün'", "3"]), "grü");
        assert_eq!(shown("right", &["'grün'", "-1"]), "rün");
        for extreme in ["-9223372036854775807", "9223372036854775807"] {
            let all = if extreme.starts_with('-') { "" } else { "aé" };
            assert_eq!(shown("left", &["'aé'", extreme]), all);
            assert_eq!(shown("right", &["'aé'", extreme]), all);
        }
        assert_eq!(left("aé", i64::MIN), "");
        assert_eq!(right("aé", i64::MIN), "");
        assert_eq!(shown("left", &["'a'", "NULL"]), "NULL");
    }

    #[test]
    fn substrings() {
        assert_eq!(shown("substring", &["'grün'", "3", "1"]), "ü");
        assert_eq!(shown("substr", &["'database'", "5"]), "base");
        assert_eq!(shown("substr", &["'abc'", "-1", "3"]), "a");
        assert_eq!(shown("substr", &["'abc'", "-5"]), "abc");
        assert_eq!(shown("substr", &["'abc'", "2", "9223372036854775807"]), "bc");
        assert_eq!(shown("substr", &["'abc'", "9223372036854775807", "9223372036854775807"]), "");
        assert_eq!(shown("substr", &["'abc'", "-9223372036854775807", "9223372036854775807"]), "");
        assert!(error_of("substring", &["'abc'", "2", "-1"]).contains("must not be negative"));
        assert_eq!(shown("substring", &["NULL", "2", "-1"]), "NULL");
    }

    #[test]
    fn fields() {
        for (text, separator, number, expected) in [
            ("'a,b,c'", "','", "1", "a"),
            ("'a,b,c'", "','", "3", "c"),
            ("'a,b,c'", "','", "4", ""),
            ("'a,b,c'", "','", "-3", "a"),
            ("'a,b,c'", "','", "-4", ""),
            ("'aéébééc'", "'éé'", "-2", "b"),
            ("'abc'", "''", "1", "abc"),
            ("'abc'", "''", "-1", "abc"),
            ("'abc'", "''", "2", ""),
            ("''", "','", "1", ""),
            ("'abc'", "','", "-9223372036854775807", ""),
            ("'abc'", "','", "NULL", "NULL"),
        ] {
            assert_eq!(shown("split_part", &[text, separator, number]), expected, "{text} {separator} {number}");
        }
        assert!(error_of("split_part", &["'a'", "','", "0"]).contains("must not be 0"));
    }

    #[test]
    fn before_separators() {
        for (text, separator, count, expected) in [
            ("'www.a.com'", "'.'", "1", "www"),
            ("'www.a.com'", "'.'", "2", "www.a"),
            ("'www.a.com'", "'.'", "3", "www.a.com"),
            ("'www.a.com'", "'.'", "-1", "com"),
            ("'www.a.com'", "'.'", "-2", "a.com"),
            ("'www.a.com'", "'.'", "-9223372036854775807", "www.a.com"),
            ("'www.a.com'", "'.'", "0", ""),
            ("'www.a.com'", "''", "1", ""),
            ("''", "'.'", "1", ""),
        ] {
            assert_eq!(shown("substring_index", &[text, separator, count]), expected, "{text} {separator} {count}");
        }
    }

    #[test]
    fn places() {
        for (place, expected) in [("1", "a"), ("2", "é"), ("4", ""), ("0", ""), ("-1", "c"), ("-3", "a"), ("-4", "")] {
            assert_eq!(shown("list_extract", &["'aéc'", place]), expected, "{place}");
        }
        assert_eq!(shown("array_extract", &["''", "-9223372036854775807"]), "");
    }

    #[test]
    fn slices() {
        for (first, last, expected) in [
            ("2", "-2", "bcde"),
            ("-3", "-1", "def"),
            ("0", "2", "ab"),
            ("4", "2", ""),
            ("-9223372036854775807", "9223372036854775807", "abcdef"),
            ("NULL", "2", "NULL"),
        ] {
            assert_eq!(shown("array_slice", &["'abcdef'", first, last]), expected, "{first} {last}");
            assert_eq!(shown("list_slice", &["'abcdef'", first, last, "1"]), expected, "{first} {last}");
        }
        for (first, last, step, expected) in [
            ("5", "2", "-1", "edcb"),
            ("-1", "1", "-2", "fdb"),
            ("1", "6", "4", "ae"),
            ("2", "5", "-1", ""),
            ("9223372036854775807", "-9223372036854775807", "-9223372036854775807", "f"),
        ] {
            assert_eq!(shown("list_slice", &["'abcdef'", first, last, step]), expected, "{first} {last} {step}");
        }
        assert!(error_of("list_slice", &["'abc'", "1", "2", "0"]).contains("step"));
    }
}
