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

/// Appends an unsigned number given as `digits · 10^exponent`, with the point after the first digit. It keeps the
/// exponent if it has more than 16 digits before the point or 5 after it.
pub(super) fn write_shortest(out: &mut String, scientific: &str) {
    let (mantissa, exponent) = scientific.split_once('e').expect("it is written with an exponent");
    let exponent: i32 = exponent.parse().expect("exponents are numbers");
    if !(-5..16).contains(&exponent) {
        return out.push_str(scientific);
    }
    let (first, others) = mantissa.split_at(1);
    let others = others.strip_prefix('.').unwrap_or(others);
    let places = exponent.unsigned_abs() as usize;
    if exponent < 0 {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', places - 1));
        out.push_str(first);
        return out.push_str(others);
    }
    out.push_str(first);
    let (whole, fraction) = others.split_at(places.min(others.len()));
    out.push_str(whole);
    out.extend(std::iter::repeat_n('0', places - whole.len()));
    out.push('.');
    out.push_str(if fraction.is_empty() { "0" } else { fraction });
}

#[cfg(test)]
mod tests {
    use super::super::numbers::write_float;
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

    #[test]
    fn floats() {
        for value in [0.0, 1.0, 0.1, 1.5, 12_345.678, 1e15, 1.234_567_890_123_456_7e15, 1e-5, 1.25e-5, 100.0, 5e-324] {
            let expected = match value {
                5e-324 => "5e-324".to_owned(),
                _ if f64::fract(value) == 0.0 => format!("{value}.0"),
                _ => value.to_string(),
            };
            assert_eq!(written(|out| write_shortest(out, &format!("{value:e}"))), expected);
            assert_eq!(written(|out| write_float(out, value, false)), expected);
        }
        // All magnitudes, against the standard formatter's digits.
        let mut bits = 1u64;
        for _ in 0..20_000 {
            bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let near_one = 0x3fe0 << 48 | bits >> 12;
            for value in [f64::from_bits(bits & !(1 << 63)), f64::from_bits(near_one), (bits >> 40) as f64 / 100.0] {
                if value.is_finite() {
                    // Where two of the shortest are equally near, the one that is even is taken, as in PostgreSQL.
                    let expected = written(|out| write_shortest(out, &format!("{value:e}")));
                    let double = written(|out| write_float(out, value, false));
                    assert_eq!((double.len(), double.parse()), (expected.len(), Ok(value)), "{double}, not {expected}");
                    assert_eq!(written(|out| write_float(out, -value, false)), format!("-{double}"));
                }
            }
        }
        assert_eq!(written(|out| write_shortest(out, "1e16")), "1e16");
        assert_eq!(written(|out| write_shortest(out, "9.9e-6")), "9.9e-6");
    }
}
