//! Lengths of texts, and the codes of their characters.

use godwit_common::{Error, Result, SqlState};
use godwit_vector::kernels::string::char_count;

use super::characters::number;
use crate::function::{Category, Function, function};
use crate::rows::{Blob, Text, TextBytes, Writer, scalar, text};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        // Lists have their own forms.
        text_function(
            &["length", "len", "character_length", "char_length"],
            "The number of characters of the text, or of bytes of the BLOB",
        )
        .example("length('grün')", "4")
        .form(scalar::<(TextBytes,), i32, _>(|(text,)| number(char_count(text))))
        .form(scalar::<(Blob,), i32, _>(|(bytes,)| number(bytes.len()))),
        text_function(&["octet_length", "strlen"], "The number of bytes of the text in UTF-8, or of the BLOB")
            .example("octet_length('grün')", "5")
            .form(scalar::<(TextBytes,), i32, _>(|(text,)| number(text.len())))
            .form(scalar::<(Blob,), i32, _>(|(bytes,)| number(bytes.len()))),
        text_function(&["bit_length"], "The number of bits of the text in UTF-8, or of the BLOB")
            .example("bit_length('grün')", "40")
            .form(scalar::<(TextBytes,), i32, _>(|(text,)| bits(text)))
            .form(scalar::<(Blob,), i32, _>(|(bytes,)| bits(bytes))),
        text_function(&["ascii"], "The number of the first character in Unicode; 0 for the empty text")
            .example("ascii('A')", "65")
            .form(scalar::<(Text,), i32, _>(|(text,)| first(text).unwrap_or(0))),
        text_function(&["unicode", "ord"], "The number of the first character in Unicode; -1 for the empty text")
            .example("unicode('ü')", "252")
            .form(scalar::<(Text,), i32, _>(|(text,)| first(text).unwrap_or(-1))),
        text_function(&["chr"], "The character with a number in Unicode")
            .example("chr(65)", "A")
            .example("chr(128512)", "😀")
            .form(text::<(i64,), Text, _>(|(number,), out| character(number, out))),
    ]
}

fn bits(bytes: &[u8]) -> Result<i32> {
    i32::try_from(bytes.len() * 8).map_err(|_| {
        Error::user("the number of bits is out of range for INTEGER").with_code(SqlState::NUMERIC_VALUE_OUT_OF_RANGE)
    })
}

fn first(text: &str) -> Option<i32> {
    text.chars().next().map(|first| first as i32)
}

fn character(number: i64, out: &mut Writer<'_>) -> Result<()> {
    let character = u32::try_from(number).ok().and_then(char::from_u32).filter(|&character| character != '\0');
    let character = character.ok_or_else(|| {
        Error::user(format!("no character has the number {number}"))
            .with_code(SqlState::PROGRAM_LIMIT_EXCEEDED)
            .with_hint("characters have the numbers 1 to 1114111, without 55296 to 57343")
    })?;
    out.push(character);
    Ok(())
}

#[cfg(test)]
mod tests {
    use godwit_types::SqlType;

    use crate::testing::{call, error_of, shown};

    #[test]
    fn characters_and_bytes() {
        for (text, characters, bytes, bits) in
            [("''", "0", "0", "0"), ("'grün'", "4", "5", "40"), ("'😀'", "1", "4", "32")]
        {
            for name in ["length", "len", "char_length", "character_length"] {
                assert_eq!(shown(name, &[text]), characters);
            }
            assert_eq!(shown("octet_length", &[text]), bytes);
            assert_eq!(shown("strlen", &[text]), bytes);
            assert_eq!(shown("bit_length", &[text]), bits);
        }
        assert_eq!(shown("length", &["BLOB 'a\\xFF'"]), "2");
        assert_eq!(shown("octet_length", &["BLOB '\\xFF'"]), "1");
        assert_eq!(shown("bit_length", &["BLOB '\\xFF'"]), "8");
        assert_eq!(shown("length", &["NULL"]), "NULL");
        assert_eq!(call("length", &["'a'"]).unwrap().1, SqlType::Integer);
    }

    #[test]
    fn numbers_of_characters() {
        assert_eq!(shown("ascii", &["'é'"]), "233");
        assert_eq!(shown("ascii", &["''"]), "0");
        assert_eq!(shown("ord", &["'😀a'"]), "128512");
        assert_eq!(shown("unicode", &["''"]), "-1");
        assert_eq!(shown("chr", &["128512"]), "😀");
        for number in ["0", "-1", "55296", "1114112", "9223372036854775807", "-9223372036854775807"] {
            assert_eq!(error_of("chr", &[number]), format!("no character has the number {number}"));
        }
    }
}
