//! Numbers in fields, without their signs.

use std::fmt::Write;

use super::field::prefix_of;
use super::template::Spec;

/// Writes the digits of a number, at least `least` of them.
pub(super) fn write_integer(out: &mut String, magnitude: u128, spec: &Spec, least: usize) {
    if spec.is_alternate {
        out.push_str(prefix_of(spec.kind));
    }
    let start = out.len();
    let written = match (spec.kind, u64::try_from(magnitude)) {
        (Some('x'), _) => write!(out, "{magnitude:x}"),
        (Some('X'), _) => write!(out, "{magnitude:X}"),
        (Some('b' | 'B'), _) => write!(out, "{magnitude:b}"),
        (Some('o'), _) => write!(out, "{}{magnitude:o}", if spec.is_alternate && magnitude > 0 { "0" } else { "" }),
        (_, Ok(narrow)) => write!(out, "{narrow}"),
        (_, Err(_)) => write!(out, "{magnitude}"),
    };
    written.expect("strings take everything");
    let missing = least.saturating_sub(out.len() - start);
    if missing > 0 {
        out.insert_str(start, &"0".repeat(missing));
    }
    if let Some(separator) = spec.separator {
        divide_thousands(out, start, out.len(), separator);
    }
}

/// Inserts separators between groups of three digits in a range.
fn divide_thousands(out: &mut String, start: usize, end: usize, separator: char) {
    let digits = out[start..end].to_owned();
    let mut divided = String::with_capacity(digits.len() * 2);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            divided.push(separator);
        }
        divided.push(digit);
    }
    out.replace_range(start..end, &divided);
}

/// Exponents for which shortest texts are written without one; the kind g decides by its digits.
const SHORTEST_EXPONENTS: std::ops::Range<i32> = -4..16;

/// Default number of digits.
const DIGITS: usize = 6;

/// Writes a float: in the format f, e or g, or as the shortest text that reads back as the same number.
pub(super) fn write_float(out: &mut String, number: f64, kind: Option<char>, spec: &Spec, precision: Option<usize>) {
    let is_upper = kind.is_some_and(char::is_uppercase);
    if !number.is_finite() {
        let name = if number.is_nan() { "nan" } else { "inf" };
        return out.push_str(&if is_upper { name.to_uppercase() } else { name.to_owned() });
    }
    let start = out.len();
    let number = number.abs();
    match kind.map(|kind| kind.to_ascii_lowercase()) {
        Some('f') => write!(out, "{number:.*}", precision.unwrap_or(DIGITS)).expect("strings take everything"),
        Some('e') => {
            let text = format!("{number:.*e}", precision.unwrap_or(DIGITS));
            write_exponential(out, &text);
        }
        Some(_) => write_general(out, number, precision.unwrap_or(DIGITS), spec.is_alternate, false),
        None => match precision {
            Some(digits) => write_general(out, number, digits, true, digits > 0),
            None => write_shortest(out, number),
        },
    }
    if is_upper {
        out[start..].make_ascii_uppercase();
    }
    let digits = out[start..].bytes().take_while(u8::is_ascii_digit).count();
    if spec.is_alternate && digits == out.len() - start {
        out.push('.');
    }
    if let Some(separator) = spec.separator {
        divide_thousands(out, start, start + digits, separator);
    }
}

/// Splits a text like `1.5e-7` into mantissa and exponent.
fn exponent_of(text: &str) -> (&str, i32) {
    let (mantissa, exponent) = text.split_once('e').expect("the text has an exponent");
    (mantissa, exponent.parse().expect("exponents of floats are small"))
}

/// Writes the exponent with a sign and at least two digits.
fn write_exponential(out: &mut String, text: &str) {
    let (mantissa, exponent) = exponent_of(text);
    let sign = if exponent < 0 { '-' } else { '+' };
    write!(out, "{mantissa}e{sign}{:02}", exponent.unsigned_abs()).expect("strings take everything");
}

fn write_shortest(out: &mut String, number: f64) {
    let text = format!("{number:e}");
    match SHORTEST_EXPONENTS.contains(&exponent_of(&text).1) {
        true => write!(out, "{number:?}").expect("strings take everything"),
        false => write_exponential(out, &text),
    }
}

/// Writes a total number of digits, without zeros at the end unless they are kept. Integers end in `.0` if they keep a
/// fraction.
fn write_general(out: &mut String, number: f64, digits: usize, keeps_zeros: bool, keeps_fraction: bool) {
    let digits = digits.max(1);
    let text = format!("{number:.*e}", digits - 1);
    let exponent = exponent_of(&text).1;
    let is_plain = exponent >= -4 && usize::try_from(exponent).map_or(true, |exponent| exponent < digits);
    let trimmed = |text: &str| -> String {
        match text.contains('.') && !keeps_zeros {
            true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
            false => text.to_owned(),
        }
    };
    if is_plain {
        let places = usize::try_from(digits as i64 - 1 - i64::from(exponent)).unwrap_or(0);
        let text = trimmed(&format!("{number:.places$}"));
        out.push_str(&text);
        if keeps_fraction && !text.contains('.') {
            out.push_str(".0");
        }
    } else {
        let (mantissa, _) = exponent_of(&text);
        write_exponential(out, &format!("{}e{exponent}", trimmed(mantissa)));
    }
}
