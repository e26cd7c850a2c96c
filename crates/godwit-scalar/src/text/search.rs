//! Search for texts in texts.

use godwit_common::Result;
use godwit_vector::kernels::string::char_count;

use super::characters::number;
use crate::function::{Category, Function, function};
use crate::rows::{Needle, Pace, Pattern, TextBytes, scalar, scalar_checked};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        // Lists and maps have their own forms.
        text_function(&["contains"], "Whether the second text occurs in the first")
            .example("contains('abc', 'b')", "true")
            .form(
                scalar_checked::<(TextBytes, Pattern), bool, _>(|(text, part), work| {
                    Ok(part.find(text, &mut Pace::new(work))?.is_some())
                })
                .total(),
            ),
        text_function(&["starts_with", "prefix"], "Whether the first text starts with the second")
            .example("starts_with('abc', 'ab')", "true")
            .form(scalar::<(TextBytes, TextBytes), bool, _>(|(text, start)| text.starts_with(start))),
        text_function(&["ends_with", "suffix"], "Whether the first text ends with the second")
            .example("ends_with('abc', 'bc')", "true")
            .form(scalar::<(TextBytes, TextBytes), bool, _>(|(text, end)| text.ends_with(end))),
        text_function(
            &["strpos", "instr", "position"],
            "The place where the second text occurs first in the first one; 0 if it doesn't",
        )
        .example("strpos('banana', 'nan')", "3")
        .form(
            scalar_checked::<(TextBytes, Pattern), i32, _>(|(text, part), work| {
                place(text, part, &mut Pace::new(work))
            })
            .total(),
        ),
        text_function(&["find_in_set"], "The place of a text in a list that commas divide; 0 if it isn't there")
            .example("find_in_set('b', 'a,b,c')", "2")
            .form(
                scalar_checked::<(TextBytes, TextBytes), i32, _>(|(text, set), work| {
                    place_in_set(text, set, &mut Pace::new(work))
                })
                .total(),
            ),
    ]
}

fn place(text: &[u8], part: Needle<'_>, pace: &mut Pace<'_>) -> Result<i32> {
    Ok(part.find(text, pace)?.map_or(0, |at| number(char_count(&text[..at]) + 1)))
}

fn place_in_set(text: &[u8], set: &[u8], pace: &mut Pace<'_>) -> Result<i32> {
    if set.is_empty() {
        return Ok(0);
    }
    for (at, member) in set.split(|&byte| byte == b',').enumerate() {
        if member == text {
            return Ok(number(at + 1));
        }
        pace.go(member.len() + 1)?;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use godwit_types::SqlType;

    use crate::testing::{call, shown};

    #[test]
    fn parts_occur() {
        let long = format!("'{}needle'", "é".repeat(100));
        for (name, text, part, expected) in [
            ("contains", "'abc'", "'bc'", "true"),
            ("contains", "'abc'", "''", "true"),
            ("contains", "''", "'a'", "false"),
            ("contains", &long, "'needle'", "true"),
            ("starts_with", "'abc'", "''", "true"),
            ("prefix", "'abc'", "'bc'", "false"),
            ("suffix", "'abc'", "'bc'", "true"),
            ("ends_with", "'é'", "'é'", "true"),
            ("starts_with", "'abc'", "NULL", "NULL"),
            ("strpos", "'añb'", "'b'", "3"),
            ("strpos", "'abc'", "''", "1"),
            ("strpos", "''", "''", "1"),
            ("instr", "'abc'", "'x'", "0"),
            ("position", &long, "'needle'", "101"),
            ("strpos", "NULL", "'a'", "NULL"),
            ("find_in_set", "'b'", "'a,b,c'", "2"),
            ("find_in_set", "''", "'a,,c'", "2"),
            ("find_in_set", "''", "''", "0"),
            ("find_in_set", "'a,b'", "'a,b'", "0"),
        ] {
            assert_eq!(shown(name, &[text, part]), expected, "{name}({text}, {part})");
        }
        assert_eq!(call("strpos", &["'a'", "'a'"]).unwrap().1, SqlType::Integer);
    }
}
