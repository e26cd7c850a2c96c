//! Unicode normalization and escapes.

use std::str::{self, FromStr};

use godwit_common::{Error, Result, SqlState};
use unicode_normalization::char::is_combining_mark;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::function::{Category, Function, function};
use crate::rows::{Pace, Text, Writer, text, text_pieces};

pub(super) fn functions() -> Vec<Function> {
    let text_function = |names, description| function(Category::Text, names, description);
    vec![
        text_function(
            &["normalize"],
            "The text in one of Unicode's normal forms: NFC, if none is said, NFD, NFKC or NFKD",
        )
        .example("normalize('ﬁ', 'NFKC')", "fi")
        .form(text::<(Text,), Text, _>(|(text,), out| normalized(text, Normal::Nfc, out)))
        .form(text::<(Text, Text), Text, _>(|(text, form), out| normalized(text, form.parse()?, out))),
        text_function(
            &["nfc_normalize"],
            "The text in Unicode's normal form NFC, in which letters and their accents are one",
        )
        .example("length(nfc_normalize('e' || chr(769)))", "1")
        .form(text::<(Text,), Text, _>(|(text,), out| normalized(text, Normal::Nfc, out)).total()),
        text_function(&["strip_accents"], "The text without accents and other marks on letters")
            .example("strip_accents('mühleisen')", "muhleisen")
            .form(text::<(Text,), Text, _>(|(text,), out| without_accents(text, out)).total()),
        text_function(
            &["unistr"],
            "The text with escapes like \\0061, \\u0061, \\+000061 and \\U00000061 replaced by their characters",
        )
        .example("unistr('d\\0061ta')", "data")
        .form(text::<(Text,), Text, _>(|(text,), out| unescaped(text, out))),
    ]
}

#[derive(Clone, Copy)]
enum Normal {
    Nfc,
    Nfd,
    Nfkc,
    Nfkd,
}

impl FromStr for Normal {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let forms = [("NFC", Self::Nfc), ("NFD", Self::Nfd), ("NFKC", Self::Nfkc), ("NFKD", Self::Nfkd)];
        let found = forms.into_iter().find(|(known, _)| name.eq_ignore_ascii_case(known));
        found.map(|(_, form)| form).ok_or_else(|| {
            Error::user(format!("'{name}' is no normal form"))
                .with_code(SqlState::INVALID_PARAMETER_VALUE)
                .with_hint("the forms are NFC, NFD, NFKC and NFKD")
        })
    }
}

fn normalized(text: &str, form: Normal, out: &mut Writer<'_>) -> Result<()> {
    out.expect(text.len())?;
    match form {
        _ if text.is_ascii() => {
            out.push_str(text);
            Ok(())
        }
        Normal::Nfc if is_normal(text, &mut out.pace())? => {
            out.push_str(text);
            Ok(())
        }
        Normal::Nfc => out.push_all(text.nfc()),
        Normal::Nfd => out.push_all(text.nfd()),
        Normal::Nfkc => out.push_all(text.nfkc()),
        Normal::Nfkd => out.push_all(text.nfkd()),
    }
}

/// True if a text is certainly in the form NFC already.
fn is_normal(text: &str, pace: &mut Pace<'_>) -> Result<bool> {
    // Marks may belong to a character before their piece.
    for piece in text_pieces(text) {
        if piece.starts_with(is_combining_mark) || is_nfc_quick(piece.chars()) != IsNormalized::Yes {
            return Ok(false);
        }
        pace.go(piece.len())?;
    }
    Ok(true)
}

/// Removes accents. ASCII stays as it is, whatever surrounds it.
fn without_accents(text: &str, out: &mut Writer<'_>) -> Result<()> {
    out.expect(text.len())?;
    for run in text.as_bytes().chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
        let run = str::from_utf8(run).expect("texts are cut between characters");
        match run.is_ascii() {
            true => out.push_str(run),
            false => out.push_all(run.nfd().filter(|&c| !is_combining_mark(c)).nfc())?,
        }
        out.go(1)?;
    }
    Ok(())
}

/// Decodes escapes; two of them may be the halves of a character beyond 16 bits.
fn unescaped(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(behind) = rest.strip_prefix("\\\\") {
            out.push('\\');
            out.go(at)?;
            rest = behind;
            continue;
        }
        out.go(at)?;
        let (number, behind) = escape(rest)?;
        rest = behind;
        let number = match number {
            0xD800..0xDC00 => {
                let (low, behind) =
                    escape(rest).ok().filter(|(low, _)| matches!(low, 0xDC00..0xE000)).ok_or_else(no_pair)?;
                rest = behind;
                0x1_0000 + ((number - 0xD800) << 10) + (low - 0xDC00)
            }
            0xDC00..0xE000 => return Err(no_pair()),
            _ => number,
        };
        let character = char::from_u32(number).filter(|&character| character != '\0');
        out.push(character.ok_or_else(|| wrong(format!("no character has the number {number}")))?);
    }
    out.push_str(rest);
    Ok(())
}

/// Returns the number of the escape at the start of a text, and the rest.
fn escape(text: &str) -> Result<(u32, &str)> {
    for (start, digits) in [("\\+", 6), ("\\u", 4), ("\\U", 8), ("\\", 4)] {
        let number = text.strip_prefix(start).and_then(|rest| rest.split_at_checked(digits));
        let Some((number, rest)) = number else { continue };
        if number.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok((u32::from_str_radix(number, 16).expect("eight hexadecimal digits fit"), rest));
        }
    }
    let shown: String = text.chars().take(10).collect();
    Err(wrong(format!("'{shown}' doesn't start with an escape"))
        .with_hint("escapes are \\XXXX, \\+XXXXXX, \\uXXXX, \\UXXXXXXXX and \\\\, with hexadecimal digits"))
}

fn no_pair() -> Error {
    wrong("an escape is one half of a character, without the other")
}

fn wrong(message: impl Into<String>) -> Error {
    Error::user(message).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn normal_forms() {
        assert_eq!(shown("normalize", &["'e\u{301}'"]), "é");
        assert_eq!(shown("nfc_normalize", &["'e\u{301}bc'"]), "ébc");
        assert_eq!(shown("nfc_normalize", &["'ﬁ'"]), "ﬁ");
        assert_eq!(shown("normalize", &["'é'", "'nfd'"]), "e\u{301}");
        assert_eq!(shown("normalize", &["'ﬁ'", "'NFKC'"]), "fi");
        assert_eq!(shown("normalize", &["'ﬁé'", "'NFKD'"]), "fie\u{301}");
        assert_eq!(shown("normalize", &["'abc'", "'NFC'"]), "abc");
        assert_eq!(shown("normalize", &["NULL"]), "NULL");
        assert!(error_of("normalize", &["'é'", "'NFX'"]).contains("normal form"));
    }

    #[test]
    fn accents() {
        assert_eq!(shown("strip_accents", &["'mühleisen ÀÉñ ø ł'"]), "muhleisen AEn ø ł");
        assert_eq!(shown("strip_accents", &["'한국어'"]), "한국어");
        assert_eq!(shown("strip_accents", &["''"]), "");
    }

    #[test]
    fn escapes() {
        assert_eq!(shown("unistr", &["'d\\0061t\\+000061'"]), "data");
        assert_eq!(shown("unistr", &["'d\\u0061t\\U00000061\\\\'"]), "data\\");
        assert_eq!(shown("unistr", &["'\\d83d\\de00é'"]), "😀é");
        for text in [
            "'wrong\\x'",
            "'\\'",
            "'\\d83d'",
            "'\\de00'",
            "'\\d83d\\0061'",
            "'\\U00110000'",
            "'\\0000'",
            "'\\UFFFFFFFF'",
            "'\\é123'",
        ] {
            error_of("unistr", &[text]);
        }
    }
}
