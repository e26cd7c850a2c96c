//! Conversion of bytes to text and back.

use godwit_common::{Error, Result, SqlState};
use godwit_types::SqlType;

use super::{base64, hex};
use crate::function::{Category, Form, Function, function};
use crate::rows::{Blob, Text, Writer, Written, text};

pub(super) fn functions() -> Vec<Function> {
    let binary = |names, description| function(Category::Binary, names, description);
    let [encoded_blob, encoded_text] = of_bytes_and_format(encode);
    let [base64_blob, base64_text] = of_bytes(base64::write);
    let [hex_blob, hex_text] = of_bytes(|bytes, out| hex::write(bytes, hex::UPPER, out));
    vec![
        binary(
            &["encode"],
            "The bytes as text in a format: hex, base64, base64url, escape; without one, the bytes of the text",
        )
        .example("encode('godwit', 'hex')", "676f64776974")
        .example("encode('godwit')", "\\x676f64776974")
        .form(encoded_text)
        .form(encoded_blob)
        .form(text::<(Text,), Blob, _>(|(text,), out| out.push_str(text))),
        binary(&["decode"], "The bytes that a text in a format stands for; without one, the bytes as a text")
            .example("decode('676f64776974', 'hex')", "\\x676f64776974")
            .example("decode('\\x676f64'::BLOB)", "god")
            .form(text::<(Text, Text), Blob, _>(|(text, format), out| decode(text, format, out)))
            .form(text::<(Blob,), Text, _>(|(bytes,), out| {
                out.push_str(checked_text(bytes)?);
                Ok(())
            })),
        binary(&["to_base64", "base64"], "The bytes in base 64, in one line")
            .example("to_base64('godwit')", "Z29kd2l0")
            .form(base64_blob)
            .form(base64_text),
        binary(&["from_base64"], "The bytes of a text in base 64")
            .example("from_base64('Z29kd2l0')", "\\x676f64776974")
            .form(text::<(Text,), Blob, _>(|(text,), out| base64::read(text, out))),
        binary(&["hex"], "The bytes, or the bits of a number, as hexadecimal digits")
            .example("hex('godwit')", "676F64776974")
            .example("hex(255)", "FF")
            .form(hex_text)
            .form(hex_blob)
            .form(text::<(i64,), Text, _>(|(number,), out| write_digits(u128::from(number as u64), out)))
            .form(text::<(u64,), Text, _>(|(number,), out| write_digits(u128::from(number), out)))
            .form(text::<(i128,), Text, _>(|(number,), out| write_digits(number as u128, out))),
        binary(&["unhex", "from_hex"], "The bytes of hexadecimal digits")
            .example("unhex('676F64')", "\\x676f64")
            .form(text::<(Text,), Blob, _>(|(text,), out| hex::read(text, out))),
    ]
}

/// Forms for BLOB, and for the bytes of VARCHAR.
fn of_bytes<O: Written + 'static>(
    write: impl Fn(&[u8], &mut Writer<'_>) -> O + Send + Sync + Copy + 'static,
) -> [Form; 2] {
    let form = text::<(Blob,), Text, _>(move |(bytes,), out| write(bytes, out));
    [form.clone(), form.with_types([SqlType::Varchar], SqlType::Varchar)]
}

fn of_bytes_and_format(write: fn(&[u8], &str, &mut Writer<'_>) -> Result<()>) -> [Form; 2] {
    let form = text::<(Blob, Text), Text, _>(move |(bytes, format), out| write(bytes, format, out));
    [form.clone(), form.with_types([SqlType::Varchar, SqlType::Varchar], SqlType::Varchar)]
}

/// Returns the bytes as text if they are valid UTF-8.
pub(super) fn checked_text(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|error| {
        let at = error.valid_up_to();
        Error::user(format!("the bytes are no text in UTF-8: \\x{:02x} is not expected at byte {}", bytes[at], at + 1))
            .with_code(SqlState::INVALID_TEXT_REPRESENTATION)
    })
}

fn unknown_format(format: &str) -> Error {
    Error::user(format!("'{format}' is no format of bytes"))
        .with_code(SqlState::INVALID_PARAMETER_VALUE)
        .with_hint("formats are hex, base64, base64pad (in one line), base64url and escape")
}

/// Encodes in one of PostgreSQL's formats: lines of base64 are short.
fn encode(bytes: &[u8], format: &str, out: &mut Writer<'_>) -> Result<()> {
    match () {
        () if format.eq_ignore_ascii_case("hex") => hex::write(bytes, hex::LOWER, out),
        () if format.eq_ignore_ascii_case("base64") => base64::write_lines(bytes, out),
        () if format.eq_ignore_ascii_case("base64pad") => base64::write(bytes, out),
        () if format.eq_ignore_ascii_case("base64url") => base64::write_for_url(bytes, out),
        () if format.eq_ignore_ascii_case("escape") => escape(bytes, out),
        () => Err(unknown_format(format)),
    }
}

fn decode(text: &str, format: &str, out: &mut Writer<'_>) -> Result<()> {
    let is = |known: &str| format.eq_ignore_ascii_case(known);
    match () {
        () if is("hex") => hex::read_spaced(text, out),
        () if is("base64") || is("base64pad") || is("base64url") => base64::read(text, out),
        () if is("escape") => unescape(text, out),
        () => Err(unknown_format(format)),
    }
}

/// Writes zeros and non-ASCII bytes as a backslash and three octal digits, and doubles backslashes.
fn escape(bytes: &[u8], out: &mut Writer<'_>) -> Result<()> {
    for &byte in bytes {
        match byte {
            b'\\' => out.push_bytes(b"\\\\"),
            0 | 0x80.. => {
                out.reserve(4)?;
                out.push_bytes(&[b'\\', b'0' + (byte >> 6), b'0' + (byte >> 3 & 7), b'0' + (byte & 7)]);
            }
            byte => out.push_bytes(&[byte]),
        }
        out.go(1)?;
    }
    Ok(())
}

fn unescape(text: &str, out: &mut Writer<'_>) -> Result<()> {
    let mut rest = text.as_bytes();
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.push_bytes(&rest[..at]);
        let (byte, length) = match rest[at + 1..] {
            [b'\\', ..] => (b'\\', 2),
            [a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ..] => {
                ((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'), 4)
            }
            _ => {
                let message =
                    "a backslash in the format 'escape' comes before another one or three octal digits up to 377";
                return Err(Error::user(message).with_code(SqlState::INVALID_TEXT_REPRESENTATION));
            }
        };
        out.push_bytes(&[byte]);
        out.go(at + length)?;
        rest = &rest[at + length..];
    }
    out.push_bytes(rest);
    Ok(())
}

/// Writes the digits of a number, without leading zeros.
fn write_digits(number: u128, out: &mut Writer<'_>) {
    let digits = number.checked_ilog2().map_or(1, |bits| bits / 4 + 1);
    for at in (0..digits).rev() {
        out.push_bytes(&[hex::UPPER[(number >> (4 * at) & 15) as usize]]);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::testing::{error_of, shown};

    #[test]
    fn bytes_become_text() {
        let bytes = "BLOB '\\xff00616263'";
        assert_eq!(shown("encode", &[bytes, "'hex'"]), "ff00616263");
        assert_eq!(shown("encode", &[bytes, "'base64'"]), "/wBhYmM=");
        assert_eq!(shown("encode", &[bytes, "'BASE64URL'"]), "_wBhYmM");
        assert_eq!(shown("encode", &[bytes, "'escape'"]), "\\377\\000abc");
        assert_eq!(shown("encode", &["'a\\b'", "'escape'"]), "a\\\\b");
        let long = format!("'{}'", "a".repeat(58));
        assert_eq!(shown("encode", &[&long, "'base64'"]), format!("{}\nYQ==", "YWFh".repeat(19)));
        assert_eq!(shown("encode", &[&long, "'base64pad'"]), format!("{}YQ==", "YWFh".repeat(19)));
        assert_eq!(shown("to_base64", &[&long]), format!("{}YQ==", "YWFh".repeat(19)));
        assert_eq!(shown("base64", &["BLOB ''"]), "");
        assert_eq!(shown("encode", &["'é'"]), "\\xc3a9");
        assert_eq!(shown("encode", &["NULL"]), "NULL");
        assert_eq!(shown("encode", &["'a'", "NULL"]), "NULL");
        assert!(error_of("encode", &["'a'", "'rot13'"]).contains("'rot13' is no format"));
    }

    #[test]
    fn text_becomes_bytes() {
        assert_eq!(shown("decode", &["'61 62'", "'hex'"]), "\\x6162");
        assert!(error_of("decode", &["'6'", "'hex'"]).contains("odd"));
        assert!(error_of("decode", &["'6é'", "'hex'"]).contains("'é' is no hexadecimal digit"));
        assert_eq!(shown("decode", &["'YQ'", "'base64'"]), "\\x61");
        assert_eq!(shown("decode", &["'Y Q=\n='", "'base64'"]), "\\x61");
        for wrong in ["'Y'", "'YQ='", "'YQ==YQ=='", "'Y=Q='", "'YWFh='", "'=='"] {
            assert!(error_of("decode", &[wrong, "'base64'"]).contains("base 64"), "{wrong}");
        }
        assert!(error_of("from_base64", &["'YWFhé'"]).contains("'é' has no meaning at byte 5"));
        assert_eq!(shown("from_base64", &["'YWE='"]), "\\x6161");
        assert_eq!(shown("decode", &["'a\\377\\\\'", "'escape'"]), "\\x61ff5c");
        for wrong in ["'a\\'", "'a\\777'", "'\\1'"] {
            assert!(error_of("decode", &[wrong, "'escape'"]).contains("octal"));
        }
        assert_eq!(shown("decode", &["BLOB '\\xc3a9'"]), "é");
        assert!(error_of("decode", &["BLOB '\\x61ff'"]).contains("\\xff is not expected at byte 2"));
    }

    #[test]
    fn hexadecimal_digits() {
        assert_eq!(shown("hex", &["'é'"]), "C3A9");
        assert_eq!(shown("hex", &["BLOB '\\x01'"]), "01");
        assert_eq!(shown("hex", &["-1"]), "FFFFFFFFFFFFFFFF");
        assert_eq!(shown("hex", &["TINYINT '-1'"]), "FFFFFFFFFFFFFFFF");
        assert_eq!(shown("hex", &["HUGEINT '-1'"]), "F".repeat(32));
        assert_eq!(shown("hex", &["UBIGINT '18446744073709551615'"]), "F".repeat(16));
        assert_eq!(shown("hex", &["0"]), "0");
        assert_eq!(shown("hex", &["256"]), "100");
        assert_eq!(shown("unhex", &["'abc'"]), "\\x0abc");
        assert_eq!(shown("from_hex", &["''"]), "\\x");
        assert!(error_of("unhex", &["'0g'"]).contains("'g' is no hexadecimal digit"));
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            for format in ["hex", "base64", "base64pad", "base64url", "escape"] {
                let format = format!("'{format}'");
                let encoded = shown("encode", &[&format!("BLOB '\\x{digits}'"), &format]);
                if !encoded.contains('\'') {
                    prop_assert_eq!(shown("decode", &[&format!("'{encoded}'"), &format]), format!("\\x{digits}"));
                }
            }
        }
    }
}
