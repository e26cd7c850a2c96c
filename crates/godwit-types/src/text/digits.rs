//! Digits of numbers, without going through the standard formatter.

use std::fmt::Write;

/// Most digits that are written at once.
const DIGITS_MAX: usize = 40;

/// The numbers from 0 to 99, in two digits each.
const PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + (number / 10) as u8, b'0' + (number % 10) as u8];
        number += 1;
    }
    pairs
};

/// Returns a number below 100 in two digits.
pub(super) fn pair(number: usize) -> [u8; 2] {
    PAIRS[number]
}

/// Appends an integer in decimal digits.
pub fn write_integer(out: &mut String, value: i128) {
    match u64::try_from(value.unsigned_abs()) {
        Ok(magnitude) => {
            if value < 0 {
                out.push('-');
            }
            write_padded(out, magnitude, 1);
        }
        Err(_) => write!(out, "{value}").expect("strings take everything"),
    }
}

/// Appends a number, padded with zeros to at least `places` digits.
pub(super) fn write_padded(out: &mut String, number: u64, places: usize) {
    assert!(places <= DIGITS_MAX);
    let mut digits = [b'0'; DIGITS_MAX];
    let (mut at, mut rest) = (DIGITS_MAX, number);
    while rest >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&PAIRS[(rest % 100) as usize]);
        rest /= 100;
    }
    if rest > 0 {
        at -= 1;
        digits[at] = b'0' + rest as u8;
    }
    let written = &digits[at.min(DIGITS_MAX - places)..];
    out.push_str(std::str::from_utf8(written).expect("digits are ASCII"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn integers() {
        for value in [0, 7, -10, 99, 100, 12_345, u64::MAX.into(), i128::from(u64::MAX) + 1, i128::MAX, i128::MIN] {
            assert_eq!(written(|out| write_integer(out, value)), value.to_string());
        }
        assert_eq!(written(|out| write_padded(out, 7, 2)), "07");
        assert_eq!(written(|out| write_padded(out, 0, 6)), "000000");
        assert_eq!(written(|out| write_padded(out, 123, 2)), "123");
    }
}
