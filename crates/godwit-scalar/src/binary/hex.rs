//! Bytes as hexadecimal digits.

use godwit_common::{Error, Result, SqlState};

use crate::rows::Writer;

pub(super) const LOWER: &[u8; 16] = b"0123456789abcdef";
pub(super) const UPPER: &[u8; 16] = b"0123456789ABCDEF";

/// Bytes that are written together.
const BLOCK: usize = 32;

/// Writes two digits for each byte.
pub(super) fn write(bytes: &[u8], digits: &[u8; 16], out: &mut Writer<'_>) -> Result<()> {
    out.reserve(bytes.len().saturating_mul(2))?;
    let mut written = [0; 2 * BLOCK];
    for block in bytes.chunks(BLOCK) {
        for (pair, byte) in written.as_chunks_mut::<2>().0.iter_mut().zip(block) {
            *pair = [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]];
        }
        out.push_bytes(&written[..2 * block.len()]);
        out.go(block.len())?;
    }
    Ok(())
}

/// The value of a digit.
pub(super) fn value(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

/// Decodes digits; if their number is odd, the first one stands alone.
pub(super) fn read(digits: &str, out: &mut Writer<'_>) -> Result<()> {
    let bytes = digits.as_bytes();
    let read = |at: usize| value(bytes[at]).ok_or_else(|| no_digit(digits, at));
    let alone = bytes.len() % 2;
    if alone == 1 {
        out.push_bytes(&[read(0)?]);
    }
    (alone..bytes.len()).step_by(2).try_for_each(|at| {
        out.push_bytes(&[read(at)? << 4 | read(at + 1)?]);
        out.go(1)
    })
}

/// Decodes pairs of digits, with blanks anywhere between.
pub(super) fn read_spaced(digits: &str, out: &mut Writer<'_>) -> Result<()> {
    let mut high = None;
    for (at, digit) in digits.bytes().enumerate().filter(|(_, digit)| !digit.is_ascii_whitespace()) {
        let value = value(digit).ok_or_else(|| no_digit(digits, at))?;
        match high.take() {
            None => high = Some(value),
            Some(high) => out.push_bytes(&[high << 4 | value]),
        }
        out.go(1)?;
    }
    match high {
        None => Ok(()),
        Some(_) => Err(Error::user("hexadecimal data has two digits for each byte, but their number is odd")
            .with_code(SqlState::INVALID_PARAMETER_VALUE)),
    }
}

fn no_digit(text: &str, at: usize) -> Error {
    let found = text[at..].chars().next().unwrap_or_default();
    Error::user(format!("'{found}' is no hexadecimal digit")).with_code(SqlState::INVALID_PARAMETER_VALUE)
}
