//! Numbers as text.

use std::fmt::Write;

use godwit_common::Result;

use super::digits::write_padded;
use super::{not_a, out_of_range};
use crate::exact::Exact;
use crate::{SqlType, Value};

/// A decimal number as written, without blanks and underscores: [sign] digits [. digits] [e exponent].
pub(crate) struct Written {
    negative: bool,
    /// All digits, without leading zeros.
    digits: Vec<u8>,
    /// Number of digits before the point; negative if zeros come first after the point.
    whole: i64,
    /// True if the number has an exponent.
    pub(crate) has_exponent: bool,
}

impl Written {
    /// Parses a number; `None` if the text isn't one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (negative, unsigned) = split_sign(text);
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], Some(parse_exponent(&unsigned[at + 1..])?)),
            None => (unsigned, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let mut digits = Vec::with_capacity(mantissa.len());
        push_digits(&mut digits, whole)?;
        let whole = digits.len();
        push_digits(&mut digits, fraction)?;
        let zeros = digits.iter().take_while(|&&digit| digit == 0).count();
        digits.drain(..zeros);
        let count = |length: usize| i64::try_from(length).expect("texts are shorter than 2^63");
        let whole = (count(whole) - count(zeros)).saturating_add(exponent.unwrap_or(0));
        Some(Self { negative, digits, whole, has_exponent: exponent.is_some() })
    }

    /// Rounds half away from zero to `scale` digits after the point; `None` beyond 128 bits.
    pub(crate) fn rounded(&self, scale: u8) -> Option<Exact> {
        let kept = self.whole.saturating_add(i64::from(scale));
        let mut magnitude = 0u128;
        if kept >= 0 && !self.digits.is_empty() {
            let kept = usize::try_from(kept).ok()?;
            // 128 bits hold fewer than 40 digits, and the first one isn't zero.
            if kept >= 40 {
                return None;
            }
            for at in 0..kept {
                let digit = self.digits.get(at).copied().unwrap_or(0);
                magnitude = magnitude.checked_mul(10)?.checked_add(u128::from(digit))?;
            }
            if self.digits.get(kept).is_some_and(|&digit| digit >= 5) {
                magnitude = magnitude.checked_add(1)?;
            }
        }
        Some(Exact { negative: self.negative, magnitude, scale })
    }

    /// Digits in total and after the point of the DECIMAL that holds it exactly; at least one in total.
    pub(crate) fn decimal_digits(&self) -> (i64, i64) {
        let count = i64::try_from(self.digits.len()).expect("texts are shorter than 2^63");
        let scale = (count - self.whole).max(0);
        (self.whole.max(0).saturating_add(scale).max(1), scale)
    }
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Parses an exponent. Exponents beyond what any number needs are clamped, which changes no result.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, text) = split_sign(text);
    let mut digits = Vec::with_capacity(text.len());
    push_digits(&mut digits, text)?;
    if digits.is_empty() {
        return None;
    }
    let magnitude = digits.iter().fold(0i64, |sum, &digit| sum.saturating_mul(10).saturating_add(i64::from(digit)));
    let magnitude = magnitude.min(i64::MAX / 4);
    Some(if negative { -magnitude } else { magnitude })
}

/// Digits with single underscores between them.
fn push_digits(digits: &mut Vec<u8>, text: &str) -> Option<()> {
    let mut after_digit = false;
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => digits.push(byte - b'0'),
            b'_' if after_digit => {}
            _ => return None,
        }
        after_digit = byte != b'_';
    }
    (text.is_empty() || after_digit).then_some(())
}

/// Parses an integer with a prefix: `0x2A`, `0o52`, `0b101010`. `None` if the text isn't one, else its sign and
/// magnitude, which is `None` beyond 128 bits.
pub(crate) fn parse_prefixed(text: &str) -> Option<(bool, Option<u128>)> {
    let (negative, unsigned) = split_sign(text);
    let (prefix, digits) = unsigned.split_at_checked(2)?;
    let radix = match prefix {
        "0x" | "0X" => 16,
        "0o" | "0O" => 8,
        "0b" | "0B" => 2,
        _ => return None,
    };
    let mut magnitude = Some(0u128);
    let mut after_digit = true;
    for character in digits.chars() {
        after_digit = match character.to_digit(radix) {
            Some(digit) => {
                let shifted = magnitude.and_then(|magnitude| magnitude.checked_mul(u128::from(radix)));
                magnitude = shifted.map(|shifted| shifted | u128::from(digit));
                true
            }
            None if character == '_' && after_digit => false,
            None => return None,
        };
    }
    (after_digit && !digits.is_empty()).then_some((negative, magnitude))
}

/// Parses integers and decimals.
pub(super) fn parse_exact(text: &str, ty: &SqlType) -> Result<Value> {
    let trimmed = text.trim();
    let exact = match parse_prefixed(trimmed) {
        Some((negative, magnitude)) => magnitude.map(|magnitude| Exact { negative, magnitude, scale: 0 }),
        None => {
            let scale = if let SqlType::Decimal { scale, .. } = ty { *scale } else { 0 };
            Written::parse(trimmed).ok_or_else(|| not_a(text, ty))?.rounded(scale)
        }
    };
    exact.and_then(|exact| exact.to_value(ty)).ok_or_else(|| out_of_range(trimmed, ty))
}

/// Parses REAL and DOUBLE, correctly rounded.
pub(super) fn parse_float(text: &str, ty: &SqlType) -> Result<Value> {
    let trimmed = text.trim();
    let (_, unsigned) = split_sign(trimmed);
    let is_word = ["inf", "infinity", "nan"].iter().any(|word| unsigned.eq_ignore_ascii_case(word));
    if !is_word && Written::parse(trimmed).is_none() {
        return Err(not_a(text, ty));
    }
    let plain = trimmed.replace('_', "");
    let value = read_float(&plain, ty).ok_or_else(|| not_a(text, ty))?;
    if value.is_infinite() && !is_word { Err(out_of_range(trimmed, ty)) } else { Ok(Value::Float(value)) }
}

/// Parses a number in Rust's notation, rounded once to the precision of the type.
pub(crate) fn read_float(text: &str, ty: &SqlType) -> Option<f64> {
    if *ty == SqlType::Real { text.parse::<f32>().ok().map(f64::from) } else { text.parse().ok() }
}

pub(super) fn write_decimal(out: &mut String, unscaled: i128, scale: u8) {
    if unscaled < 0 {
        out.push('-');
    }
    let magnitude = unscaled.unsigned_abs();
    if let (Ok(magnitude), Some(power)) = (u64::try_from(magnitude), 10u64.checked_pow(scale.into())) {
        write_padded(out, magnitude / power, 1);
        if scale > 0 {
            out.push('.');
            write_padded(out, magnitude % power, scale.into());
        }
        return;
    }
    let digits = format!("{magnitude:0>width$}", width = usize::from(scale) + 1);
    let (whole, fraction) = digits.split_at(digits.len() - usize::from(scale));
    let point = if scale == 0 { "" } else { "." };
    write!(out, "{whole}{point}{fraction}").expect("strings take everything");
}

/// Appends the shortest digits that read back as the same number; with an exponent beyond 16 digits before and 5 after
/// the point.
pub(super) fn write_float(out: &mut String, value: f64, is_real: bool) {
    if !value.is_finite() {
        return out.push_str(if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "inf"
        } else {
            "-inf"
        });
    }
    let mut buffer = zmij::Buffer::new();
    let written = shortest(&mut buffer, value, is_real);
    // The crate's form is ours, but for the plus sign of exponents.
    match written.split_once("e+") {
        None => out.push_str(written),
        Some((mantissa, exponent)) => out.extend([mantissa, "e", exponent]),
    }
}

/// Writes the shortest digits that read back as the same finite number; the even ones if two are equally near, as in
/// PostgreSQL.
pub(crate) fn shortest(buffer: &mut zmij::Buffer, value: f64, is_real: bool) -> &str {
    // A REAL's shortest digits, read as a DOUBLE, are that DOUBLE's shortest, too; written as one, exponents begin where
    // they do for DOUBLE.
    let value =
        if is_real { buffer.format_finite(value as f32).parse().expect("numbers are read back") } else { value };
    buffer.format_finite(value)
}
