//! Parsing of values in their usual spelling. Any other spelling, or an invalid one, gives `None` and is left to casts.

use std::ops::Range;

use godwit_vector::kernels::date::{Civil, days_from_civil, days_in_month};

/// Number of digits that surely fit into 64 bits with a sign.
const DIGITS_MAX: usize = 18;

/// Integers up to here and powers of ten up to 22 are exact as doubles, so a single division rounds correctly.
const EXACT_MANTISSA_MAX: u64 = 1 << 53;
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
];

const MICROS_PER_SECOND: i64 = 1_000_000;
const SECONDS_PER_DAY: i64 = 86_400;

/// `-12`
#[inline]
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = sign(text);
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let magnitude = number(digits)? as i64;
    Some(if is_negative { -magnitude } else { magnitude })
}

/// `-12.5`, as -1250 of hundredths; `None` if it has more digits than the type.
#[inline]
pub(super) fn decimal(text: &[u8], precision: u8, scale: i8) -> Option<i64> {
    let (is_negative, magnitude, places) = fixed_point(text)?;
    let missing = usize::try_from(scale).ok()?.checked_sub(places)?;
    let power = 10u64.checked_pow(missing as u32)?;
    let magnitude = magnitude.checked_mul(power)?;
    if magnitude >= 10u64.checked_pow(u32::from(precision).min(DIGITS_MAX as u32))? {
        return None;
    }
    Some(if is_negative { -(magnitude as i64) } else { magnitude as i64 })
}

/// `-12.5`, `6.02e23`
#[inline]
pub(super) fn float(text: &[u8]) -> Option<f64> {
    match fixed_point(text) {
        Some((is_negative, magnitude, places)) if magnitude <= EXACT_MANTISSA_MAX => {
            let value = magnitude as f64 / EXACT_POWERS[places];
            Some(if is_negative { -value } else { value })
        }
        _ => long_float(text),
    }
}

/// The same in 32 bits, rounded once; `None` if it is out of their range.
pub(super) fn real(text: &[u8]) -> Option<f32> {
    float(text)?;
    std::str::from_utf8(text).ok()?.parse().ok().filter(|value: &f32| value.is_finite())
}

/// Parses a float of any number of digits, with or without an exponent.
#[cold]
fn long_float(text: &[u8]) -> Option<f64> {
    let mut rest = sign(text).1;
    let mut digits = || {
        let count = rest.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(rest.len());
        let behind = &rest[count..];
        rest = behind.get(1..).unwrap_or_default();
        (count > 0).then(|| behind.first().copied())
    };
    let mut behind = digits()?;
    if behind == Some(b'.') {
        behind = digits()?;
    }
    let is_number = match behind {
        None => true,
        Some(b'e' | b'E') => {
            let exponent = rest.strip_prefix(b"-").or(rest.strip_prefix(b"+")).unwrap_or(rest);
            !exponent.is_empty() && exponent.iter().all(u8::is_ascii_digit)
        }
        Some(_) => false,
    };
    if is_number { std::str::from_utf8(text).ok()?.parse().ok() } else { None }
}

/// `true`
#[inline]
pub(super) fn boolean(text: &[u8]) -> Option<u8> {
    match text {
        b"true" => Some(1),
        b"false" => Some(0),
        _ => None,
    }
}

/// `2024-02-29`, in days since 1970.
#[inline]
pub(super) fn date(text: &[u8]) -> Option<i32> {
    let text: &[u8; 10] = text.try_into().ok()?;
    if (text[4], text[7]) != (b'-', b'-') {
        return None;
    }
    let (year, month, day) = (number(&text[..4])? as i64, number(&text[5..7])? as i64, number(&text[8..])? as i64);
    if !(1..=12).contains(&month) || day < 1 || day > days_in_month(year, month) {
        return None;
    }
    Some(days_from_civil(Civil { year, month, day }) as i32)
}

/// `2024-02-29 12:30:00.5`, in microseconds since 1970.
#[inline]
pub(super) fn timestamp(text: &[u8]) -> Option<i64> {
    let (day, time) = text.split_at_checked(10)?;
    let day = i64::from(date(day)?);
    let (clock, fraction) = time.split_at_checked(9)?;
    if !matches!(clock[0], b' ' | b'T') || (clock[3], clock[6]) != (b':', b':') {
        return None;
    }
    let below = |digits: Range<usize>, bound: u64| number(&clock[digits]).filter(|value| *value < bound);
    let (hours, minutes, seconds) = (below(1..3, 24)?, below(4..6, 60)?, below(7..9, 60)?);
    let micros = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => number(digits)? * 10u64.pow(6 - digits.len() as u32),
        _ => return None,
    };
    let seconds = day * SECONDS_PER_DAY + (hours * 3600 + minutes * 60 + seconds) as i64;
    Some(seconds * MICROS_PER_SECOND + micros as i64)
}

#[inline]
fn sign(text: &[u8]) -> (bool, &[u8]) {
    match text {
        [b'-', rest @ ..] => (true, rest),
        rest => (false, rest),
    }
}

/// Parses a number without a sign, of at most [`DIGITS_MAX`] digits.
#[inline]
fn number(digits: &[u8]) -> Option<u64> {
    let (eights, rest) = digits.as_chunks::<8>();
    let mut value = 0;
    for eight in eights {
        value = value * 100_000_000 + eight_digits(u64::from_le_bytes(*eight))?;
    }
    for &digit in rest {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

/// Parses eight digits, the first of which is the lowest byte.
#[inline]
fn eight_digits(text: u64) -> Option<u64> {
    const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);
    const SIXES: u64 = u64::from_le_bytes([6; 8]);
    const HIGH_HALVES: u64 = u64::from_le_bytes([0xf0; 8]);
    // Digits are 0x30 to 0x39: the upper half of each byte is 3, and stays so when 6 is added.
    if (text & HIGH_HALVES) | ((text.wrapping_add(SIXES) & HIGH_HALVES) >> 4) != ZEROS | ZEROS >> 4 {
        return None;
    }
    let ones = text - ZEROS;
    // Neighbours are combined: into pairs of digits, then of pairs, then of fours.
    let pairs = ones * 10 + (ones >> 8);
    let low = (pairs & 0x0000_00ff_0000_00ff).wrapping_mul(0x000f_4240_0000_0064);
    let high = (pairs >> 16 & 0x0000_00ff_0000_00ff).wrapping_mul(0x0000_2710_0000_0001);
    Some(low.wrapping_add(high) >> 32)
}

/// Returns the digits of a number with or without a point as one integer, and how many of them follow the point.
#[inline]
fn fixed_point(text: &[u8]) -> Option<(bool, u64, usize)> {
    let (is_negative, digits) = sign(text);
    if digits.len() > DIGITS_MAX {
        return None;
    }
    let mut value = 0;
    let mut point = None;
    for (at, &byte) in digits.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit <= 9 {
            value = value * 10 + u64::from(digit);
        } else if byte == b'.' && point.is_none() {
            point = Some(at);
        } else {
            return None;
        }
    }
    let places = point.map_or(0, |point| digits.len() - point - 1);
    // There must be a digit on either side of a point.
    let is_whole = if point.is_some() { places > 0 && places < digits.len() - 1 } else { !digits.is_empty() };
    is_whole.then_some((is_negative, value, places))
}

#[cfg(test)]
mod tests {
    use chrono::NaiveDate;
    use godwit_types::{SqlType, Value, parse_value};
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn usual_spellings_are_read() {
        assert_eq!(
            ["0", "-12", "123456789012345678"].map(|text| integer(text.as_bytes())),
            [Some(0), Some(-12), Some(123456789012345678)]
        );
        assert_eq!((float(b"-0.25"), float(b"6.02e+23"), float(b"1E-7")), (Some(-0.25), Some(6.02e23), Some(1e-7)));
        assert_eq!(decimal(b"12.5", 4, 2), Some(1250));
        assert_eq!((decimal(b"123.5", 4, 2), decimal(b"1.234", 9, 2)), (None, None));
        assert_eq!((date(b"1970-01-02"), date(b"2023-02-29"), date(b"2000-13-01")), (Some(1), None, None));
        assert_eq!(timestamp(b"1970-01-01 00:00:01.5"), Some(1_500_000));
        for none in ["", "-", ".", "1.", ".5", "1.e3", "1e", "e3", "+1", " 1", "1 ", "1_000", "--1", "0x1"] {
            let text = none.as_bytes();
            assert_eq!((integer(text), float(text), decimal(text, 9, 2)), (None, None, None), "{none}");
        }
    }

    proptest! {
        /// Every accepted value is read as the standard library or a cast reads it.
        #[test]
        fn values_are_those_of_others(text in "-?[0-9]{0,22}(\\.[0-9]{0,12})?(e-?[0-9]{1,2})?|[0-9:./-]{1,19}") {
            let bytes = text.as_bytes();
            if let Some(value) = integer(bytes) {
                prop_assert_eq!(Some(value), text.parse().ok());
            }
            if let Some(value) = float(bytes) {
                prop_assert_eq!(Some(value), text.parse().ok());
            }
            if let Some(value) = real(bytes) {
                prop_assert_eq!(Some(Value::Float(value.into())), parse_value(&text, &SqlType::Real).ok());
            }
            if let Some(value) = decimal(bytes, 18, 4) {
                prop_assert_eq!(Value::from(value), parse_value(&text, &SqlType::decimal(18, 4)).unwrap());
            }
        }

        #[test]
        fn moments_are_those_of_chrono(
            year in 0..=9999, month in 0u32..=13, day in 0u32..=32,
            hour in 0u32..=24, minute in 0u32..=60, second in 0u32..=60,
            micros in 0u32..1_000_000, places in 0usize..=6,
        ) {
            let expected = NaiveDate::from_ymd_opt(year, month, day);
            let day = format!("{year:04}-{month:02}-{day:02}");
            let days = expected.map(|day| day.signed_duration_since(NaiveDate::default()).num_days() as i32);
            prop_assert_eq!(date(day.as_bytes()), days);
            let micros = micros / 10u32.pow(6 - places as u32) * 10u32.pow(6 - places as u32);
            let fraction = if places == 0 { String::new() } else { format!(".{micros:06}")[..=places].to_owned() };
            let moment = format!("{day} {hour:02}:{minute:02}:{second:02}{fraction}");
            let expected = expected.and_then(|day| day.and_hms_micro_opt(hour, minute, second, micros));
            let expected = expected.map(|moment| moment.and_utc().timestamp_micros());
            prop_assert_eq!(timestamp(moment.as_bytes()), expected);
        }

        #[test]
        fn eight_digits_are_read_at_once(bytes in "[0-9/:a]{8}") {
            let expected = bytes.bytes().all(|byte| byte.is_ascii_digit()).then(|| bytes.parse::<u64>().unwrap());
            prop_assert_eq!(number(bytes.as_bytes()), expected);
        }
    }
}
