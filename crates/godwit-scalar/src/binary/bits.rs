//! Single bits and bytes. Bits of a byte are counted from the lowest, as in PostgreSQL, those of a BIT from the left.

use godwit_common::{Error, Result, SqlState};
use godwit_types::SqlType;

use crate::function::{Category, Function, function};
use crate::rows::{Blob, Text, Writer, scalar, text};

pub(super) fn functions() -> Vec<Function> {
    let binary = |names, description| function(Category::Binary, names, description);
    let bit_of_bits = scalar::<(Text, i64), i32, _>(|(bits, at)| {
        let place = place(at, bits.len(), "bit")?;
        Ok(i32::from(bits.as_bytes()[place] == b'1'))
    });
    let with_bit_in_bits = text::<(Text, i64, i64), Text, _>(|(bits, at, bit), out| {
        let place = place(at, bits.len(), "bit")?;
        let digit = if is_set(bit)? { "1" } else { "0" };
        [&bits[..place], digit, &bits[place + 1..]].into_iter().for_each(|part| out.push_str(part));
        Ok(())
    });
    vec![
        binary(&["get_bit"], "A bit, counted from 0")
            .example("get_bit('\\x05'::BLOB, 2)", "1")
            .form(scalar::<(Blob, i64), i32, _>(|(bytes, at)| {
                let place = place(at, 8 * bytes.len(), "bit")?;
                Ok(i32::from(bytes[place / 8] >> (place % 8) & 1))
            }))
            .form(bit_of_bits.with_types([SqlType::Bit, SqlType::BigInt], SqlType::Integer)),
        binary(&["set_bit"], "The bits with one of them, counted from 0, set to 0 or 1")
            .example("set_bit('\\x05'::BLOB, 1, 1)", "\\x07")
            .form(text::<(Blob, i64, i64), Blob, _>(|(bytes, at, bit), out| {
                let place = place(at, 8 * bytes.len(), "bit")?;
                let mask = 1 << (place % 8);
                let byte = bytes[place / 8];
                write_with(bytes, place / 8, if is_set(bit)? { byte | mask } else { byte & !mask }, out);
                Ok(())
            }))
            .form(with_bit_in_bits.with_types([SqlType::Bit, SqlType::BigInt, SqlType::BigInt], SqlType::Bit)),
        binary(&["get_byte"], "A byte as a number, counted from 0")
            .example("get_byte('\\x05ff'::BLOB, 1)", "255")
            .form(scalar::<(Blob, i64), i32, _>(|(bytes, at)| {
                let place = place(at, bytes.len(), "byte")?;
                Ok(i32::from(bytes[place]))
            })),
        binary(&["set_byte"], "The bytes with one of them, counted from 0, set to the low bits of a number")
            .example("set_byte('\\x05ff'::BLOB, 1, 16)", "\\x0510")
            .form(text::<(Blob, i64, i64), Blob, _>(|(bytes, at, byte), out| {
                let place = place(at, bytes.len(), "byte")?;
                write_with(bytes, place, byte as u8, out);
                Ok(())
            })),
    ]
}

fn place(at: i64, count: usize, what: &str) -> Result<usize> {
    usize::try_from(at).ok().filter(|place| *place < count).ok_or_else(|| {
        let there_are = match count {
            0 => "there is none".to_owned(),
            _ => format!("they are 0 to {}", count - 1),
        };
        Error::user(format!("there is no {what} {at}: {there_are}")).with_code(SqlState::INVALID_PARAMETER_VALUE)
    })
}

fn is_set(bit: i64) -> Result<bool> {
    match bit {
        0 => Ok(false),
        1 => Ok(true),
        other => Err(Error::user(format!("a bit is 0 or 1, not {other}")).with_code(SqlState::INVALID_PARAMETER_VALUE)),
    }
}

fn write_with(bytes: &[u8], place: usize, byte: u8, out: &mut Writer<'_>) {
    out.push_bytes(bytes);
    // Without memory for the bytes, there is no such place, and the row is an error.
    if let Some(written) = out.row_mut().get_mut(place) {
        *written = byte;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn bits_are_got_and_set() {
        let bytes = "BLOB '\\x0180'";
        assert_eq!(shown("get_bit", &[bytes, "0"]), "1");
        assert_eq!(shown("get_bit", &[bytes, "15"]), "1");
        assert_eq!(shown("get_bit", &["BIT '0101'", "1"]), "1");
        assert_eq!(shown("get_byte", &[bytes, "1"]), "128");
        assert_eq!(shown("set_bit", &[bytes, "0", "0"]), "\\x0080");
        assert_eq!(shown("set_bit", &["BIT '0101'", "0", "1"]), "1101");
        assert_eq!(shown("set_byte", &[bytes, "0", "300"]), "\\x2c80");
        assert_eq!(shown("set_byte", &["BLOB '\\x00'", "0", "-1"]), "\\xff");
        assert_eq!(shown("set_byte", &[bytes, "NULL", "1"]), "NULL");
        assert!(error_of("get_bit", &[bytes, "16"]).contains("no bit 16: they are 0 to 15"));
        assert!(error_of("get_byte", &["BLOB ''", "0"]).contains("there is none"));
        assert!(error_of("get_byte", &[bytes, "BIGINT '-9223372036854775808'"]).contains("no byte"));
        assert!(error_of("set_bit", &[bytes, "0", "2"]).contains("0 or 1, not 2"));
    }
}
