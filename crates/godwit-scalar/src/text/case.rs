//! Upper and lower case, according to Unicode.

use std::str;

use godwit_common::Result;

use crate::function::{Category, Function, function};
use crate::rows::{Text, Writer, text};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(&["upper", "ucase"], "The text in upper case")
            .example("upper('grün')", "GRÜN")
            .example("upper('Straße')", "STRASSE")
            .form(text::<(Text,), Text, _>(|(text,), out| upper(text, out)).total()),
        text_function(&["lower", "lcase"], "The text in lower case")
            .example("lower('ÄB')", "äb")
            .example("lower('ΟΔΟΣ')", "οδος")
            .form(text::<(Text,), Text, _>(|(text,), out| lower(text, out)).total()),
        text_function(&["initcap"], "The text with each word in lower case but for its first letter")
            .example("initcap('hello WORLD')", "Hello World")
            .form(text::<(Text,), Text, _>(|(text,), out| words(text, out)).total()),
        text_function(&["casefold"], "The text without a difference of upper and lower case, for comparisons")
            .example("casefold('Straße')", "strasse")
            .form(text::<(Text,), Text, _>(|(text,), out| folded(text, out)).total()),
    ]
}

fn upper(text: &str, out: &mut Writer<'_>) -> Result<()> {
    out.by_pieces(text, |text, out| mapped(text, <[u8]>::make_ascii_uppercase, char::to_uppercase, out))
}

/// Writes a text with its characters mapped; ASCII is changed in place.
fn mapped<C: Iterator<Item = char>>(text: &str, ascii: fn(&mut [u8]), other: fn(char) -> C, out: &mut Writer<'_>) {
    for run in text.as_bytes().chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
        if run[0].is_ascii() {
            let start = out.row_mut().len();
            out.push_bytes(run);
            ascii(&mut out.row_mut()[start..]);
        } else {
            let run = str::from_utf8(run).expect("texts are cut between characters");
            run.chars().flat_map(other).for_each(|character| out.push(character));
        }
    }
}

/// The only letter whose lower case depends on its context: σ, or ς at the end of a word.
const SIGMA: char = 'Σ';

fn lower(text: &str, out: &mut Writer<'_>) -> Result<()> {
    if !text.is_ascii() && text.contains(SIGMA) {
        out.expect(text.len())?;
        // A blank ends a word.
        return text.split_inclusive(' ').try_for_each(|word| {
            out.push_str(&word.to_lowercase());
            out.go(word.len())
        });
    }
    out.by_pieces(text, |text, out| mapped(text, <[u8]>::make_ascii_lowercase, char::to_lowercase, out))
}

/// Capitalizes words, which consist of letters and digits.
fn words(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let mut is_in_word = false;
    out.by_pieces(text, |text, out| {
        if text.is_ascii() {
            let start = out.row_mut().len();
            out.push_str(text);
            for byte in &mut out.row_mut()[start..] {
                *byte = if is_in_word { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() };
                is_in_word = byte.is_ascii_alphanumeric();
            }
            return;
        }
        for character in text.chars() {
            match is_in_word {
                true => character.to_lowercase().for_each(|character| out.push(character)),
                false => character.to_uppercase().for_each(|character| out.push(character)),
            }
            is_in_word = character.is_alphanumeric();
        }
    })
}

/// Lower case of upper case unifies all forms of a letter; the dotless ı stays a letter of its own.
fn folded(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let fold = |character: char| character.to_lowercase().flat_map(char::to_uppercase).flat_map(char::to_lowercase);
    out.by_pieces(text, |text, out| {
        if text.is_ascii() {
            let start = out.row_mut().len();
            out.push_str(text);
            return out.row_mut()[start..].make_ascii_lowercase();
        }
        for character in text.chars() {
            match character {
                'ı' => out.push(character),
                _ => fold(character).for_each(|character| out.push(character)),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::shown;

    #[test]
    fn letters_of_all_scripts() {
        assert_eq!(shown("upper", &["'abc-1'"]), "ABC-1");
        assert_eq!(shown("ucase", &["'grün ß'"]), "GRÜN SS");
        assert_eq!(shown("lower", &["'ABC'"]), "abc");
        assert_eq!(shown("lcase", &["'ΟΔΟΣ Σ'"]), "οδος σ");
        assert_eq!(shown("lower", &["'ÄÖ'"]), "äö");
        assert_eq!(shown("upper", &["''"]), "");
        assert_eq!(shown("upper", &["NULL"]), "NULL");
    }

    #[test]
    fn long_texts_are_mapped_piece_by_piece() {
        let of = |name: &str, piece: &str| shown(name, &[&format!("'{}'", piece.repeat(30_000))]);
        for (name, piece, expected) in [
            ("upper", "aé ", "AÉ "),
            ("lower", "ABC", "abc"),
            ("lower", "ΟΔΟΣ ΟΔΟΣ! ", "οδος οδος! "),
            ("initcap", "abé de ", "Abé De "),
            ("initcap", "abc ", "Abc "),
            ("casefold", "Straße", "strasse"),
            ("reverse", "aé", "éa"),
            ("strip_accents", "aé", "ae"),
            ("nfc_normalize", "e\u{301}", "é"),
        ] {
            assert_eq!(of(name, piece), expected.repeat(30_000), "{name} of {piece}");
        }
    }

    #[test]
    fn words_begin_with_a_capital() {
        assert_eq!(shown("initcap", &["'hello wORLD foo-bar o''neil 3abc'"]), "Hello World Foo-Bar O''Neil 3abc");
        assert_eq!(shown("initcap", &["'éCOLE é_x'"]), "École É_X");
        assert_eq!(shown("initcap", &["''"]), "");
    }

    #[test]
    fn folding_makes_letters_equal() {
        for (one, other) in
            [("'STRASSE'", "'straße'"), ("'ẞ'", "'ss'"), ("'ΟΔΟΣ'", "'οδος'"), ("'Ä'", "'ä'"), ("'K'", "'k'")]
        {
            assert_eq!(shown("casefold", &[one]), shown("casefold", &[other]));
        }
        assert_ne!(shown("casefold", &["'ı'"]), shown("casefold", &["'i'"]));
    }
}
