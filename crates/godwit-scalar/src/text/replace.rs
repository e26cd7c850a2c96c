//! Texts with some characters replaced.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_types::SqlType;
use godwit_vector::kernels::string::char_count;
use godwit_vector::{Flat, Vector};

use super::parts::substring;
use crate::function::{Category, Form, Function, function};
use crate::kernel::{Kernel, Work};
use crate::rows::{Needle, Pattern, Strings, Text, TextBytes, Writer, for_each_row, text, valid_rows};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(&["replace"], "The text with another one in place of each occurrence of a part")
            .example("replace('banana', 'an', 'AN')", "bANANa")
            .form(text::<(TextBytes, Pattern, TextBytes), Text, _>(|(text, part, new), out| {
                replaced(text, part, new, out)
            })),
        text_function(
            &["translate"],
            "The text with characters of the first set changed to those at their places in the second, or removed",
        )
        .example("translate('12345', '143', 'ax')", "a2x5")
        .form(translation()),
        text_function(
            &["overlay"],
            "The text with another one in place of its characters from a place on: as many as that has, or a number",
        )
        .example("overlay('Txxxxas', 'hom', 2, 4)", "Thomas")
        .form(text::<(Text, Text, i64), Text, _>(|(text, new, start), out| {
            overlaid(text, new, start, char_count(new.as_bytes()) as i64, out)
        }))
        .form(text::<(Text, Text, i64, i64), Text, _>(|(text, new, start, length), out| {
            overlaid(text, new, start, length, out)
        })),
        text_function(&["reverse"], "The characters of the text in reverse")
            .example("reverse('abc')", "cba")
            .form(text::<(Text,), Text, _>(|(text,), out| reversed(text, out)).total()),
    ]
}

fn replaced(text: &[u8], part: Needle<'_>, new: &[u8], out: &mut Writer<'_>) -> Result<()> {
    let width = part.bytes().len();
    let mut rest = text;
    if width > 0 {
        let mut pace = out.pace();
        while let Some(at) = part.find(rest, &mut pace)? {
            out.reserve(at + new.len())?;
            pace.go(width)?;
            out.push_bytes(&rest[..at]);
            out.push_bytes(new);
            rest = &rest[at + width..];
        }
    }
    out.push_bytes(rest);
    Ok(())
}

fn overlaid(text: &str, new: &str, start: i64, length: i64, out: &mut Writer<'_>) -> Result<()> {
    if start < 1 {
        return Err(Error::user(format!("a text can't be placed at {start}"))
            .with_code(SqlState::INVALID_PARAMETER_VALUE)
            .with_hint("places count from 1"));
    }
    out.push_str(substring(text, 1, start - 1));
    out.push_str(new);
    out.push_str(substring(text, start.saturating_add(length), i64::MAX));
    Ok(())
}

fn reversed(text: &str, out: &mut Writer<'_>) -> Result<()> {
    if text.is_ascii() {
        out.push_str(text);
        out.row_mut().reverse();
        return Ok(());
    }
    out.expect(text.len())?;
    out.push_all(text.chars().rev())
}

fn translation() -> Form {
    Form::strict(vec![SqlType::Varchar; 3], SqlType::Varchar, false, false, Arc::new(Translate))
}

/// `translate(text, from, to)`. The mapping is computed once for consecutive rows with the same sets.
struct Translate;

impl Kernel for Translate {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let [texts, from, to] = [0, 1, 2].map(|at| Strings::of(&arguments[at]));
        let valid = valid_rows(arguments);
        let mut changes = Changes::new("", "");
        let mut sets: (&[u8], &[u8]) = (&[], &[]);
        let mut writer = Writer::new(rows, work);
        for_each_row(rows, valid.as_deref(), work, |row, is_valid| {
            if is_valid {
                if sets != (from.bytes(row), to.bytes(row)) {
                    sets = (from.bytes(row), to.bytes(row));
                    changes = Changes::new(from.text(row), to.text(row));
                }
                writer.by_pieces(texts.text(row), |piece, writer| changes.write(piece, writer))?;
            }
            writer.end_row()
        })?;
        Ok(Vector::flat(Flat::Str(writer.finish()), None).with_validity(valid))
    }
}

/// Replacements of characters, by others or by nothing.
struct Changes {
    ascii: [Option<char>; 128],
    others: HashMap<char, Option<char>>,
    /// True if every ASCII character becomes an ASCII character.
    keeps_ascii: bool,
}

impl Changes {
    fn new(from: &str, to: &str) -> Self {
        let mut changes = Self {
            ascii: std::array::from_fn(|at| char::from_u32(at as u32)),
            others: HashMap::new(),
            keeps_ascii: true,
        };
        let new = to.chars().map(Some).chain(std::iter::repeat(None));
        let pairs: Vec<(char, Option<char>)> = from.chars().zip(new).collect();
        // The first of equal characters wins.
        for &(old, new) in pairs.iter().rev() {
            match changes.ascii.get_mut(old as usize) {
                Some(change) => *change = new,
                None => {
                    changes.others.insert(old, new);
                }
            }
        }
        changes.keeps_ascii = changes.ascii.iter().all(|change| change.is_some_and(|new| new.is_ascii()));
        changes
    }

    fn write(&self, text: &str, out: &mut Writer<'_>) {
        if self.keeps_ascii && text.is_ascii() {
            out.push_str(text);
            let row = out.row_mut();
            let before = row.len().saturating_sub(text.len());
            for byte in &mut row[before..] {
                *byte = self.ascii[usize::from(*byte)].map_or(*byte, |new| new as u8);
            }
            return;
        }
        for old in text.chars() {
            let new = match self.ascii.get(old as usize) {
                Some(&new) => new,
                None => self.others.get(&old).copied().unwrap_or(Some(old)),
            };
            if let Some(new) = new {
                out.push(new);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::testing::{error_of, shown};

    #[test]
    fn long_texts_are_translated_piece_by_piece() {
        let text = |piece: &str| format!("'{}'", piece.repeat(50_000));
        let translated = |piece, from, to| shown("translate", &[&text(piece), from, to]);
        assert_eq!(format!("'{}'", translated("ab", "'ab'", "'ba'")), text("ba"));
        assert_eq!(format!("'{}'", translated("aéb", "'aé'", "'é'")), text("éb"));
    }

    #[test]
    fn parts_are_replaced() {
        assert_eq!(shown("replace", &["'banana'", "'an'", "''"]), "ba");
        assert_eq!(shown("replace", &["'abc'", "''", "'x'"]), "abc");
        assert_eq!(shown("replace", &["'aaa'", "'aa'", "'b'"]), "ba");
        assert_eq!(shown("replace", &["'éé'", "'é'", "'ab'"]), "abab");
        assert_eq!(shown("replace", &["'a'", "NULL", "'b'"]), "NULL");
    }

    proptest! {
        #[test]
        fn replacing_is_that_of_the_standard_library(text in "[abé]{0,80}", part in "[abé]{1,3}", new in "[xü]{0,3}") {
            let expected = text.replace(&part, &new);
            prop_assert_eq!(shown("replace", &[&format!("'{text}'"), &format!("'{part}'"), &format!("'{new}'")]), expected);
        }
    }

    #[test]
    fn characters_are_translated() {
        assert_eq!(shown("translate", &["'abc'", "'ab'", "'xy'"]), "xyc");
        assert_eq!(shown("translate", &["'12345'", "'143'", "'ax'"]), "a2x5");
        assert_eq!(shown("translate", &["'aa'", "'aa'", "'xy'"]), "xx");
        assert_eq!(shown("translate", &["'héé'", "'éh'", "'eé'"]), "éee");
        assert_eq!(shown("translate", &["'aé'", "'a'", "''"]), "é");
        assert_eq!(shown("translate", &["'aé'", "''", "'x'"]), "aé");
        assert_eq!(shown("translate", &["NULL", "''", "'x'"]), "NULL");
    }

    #[test]
    fn overlays() {
        assert_eq!(shown("overlay", &["'abcdef'", "'xyz'", "3"]), "abxyzf");
        assert_eq!(shown("overlay", &["'abcdef'", "'x'", "3", "0"]), "abxcdef");
        assert_eq!(shown("overlay", &["'abcdef'", "'x'", "3", "-1"]), "abxbcdef");
        assert_eq!(shown("overlay", &["'abcdef'", "'x'", "9"]), "abcdefx");
        assert_eq!(shown("overlay", &["'aéc'", "'x'", "2", "9223372036854775807"]), "ax");
        assert_eq!(shown("overlay", &["'aéc'", "'x'", "9223372036854775807", "-9223372036854775807"]), "aécxaéc");
        assert!(error_of("overlay", &["'abc'", "'x'", "0"]).contains("placed at 0"));
    }

    #[test]
    fn reverses() {
        assert_eq!(shown("reverse", &["'abc'"]), "cba");
        assert_eq!(shown("reverse", &["'añ😀'"]), "😀ña");
        assert_eq!(shown("reverse", &["''"]), "");
    }
}
