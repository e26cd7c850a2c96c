//! `to_char(number, template)` with PostgreSQL's templates, such as `9,990.00`.
//!
//! | pattern | place of |
//! |---|---|
//! | `9`, `0` | a digit; leading zeros are blanks, but zeros from the first `0` on |
//! | `.` `D`, `,` `G`, `L` | the point, a separator of groups, the currency |
//! | `S` | a sign, before the digits or at the end |
//! | `MI`, `PL`, `SG`, `PR` | a minus, a plus, either, `<` and `>` around negative numbers |
//! | `V` | shifts by as many powers of ten as digits follow |
//! | `TH`, `RN`, `EEEE` | the suffix of an ordinal, a Roman numeral, an exponent |
//! | `FM` | removes blanks and zeros that are only padding |
//!
//! A number with more digits than places is shown as `#`.

mod reading;

use std::fmt::Write;
use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::{SqlType, Value};
use godwit_vector::Vector;

pub(super) use self::reading::to_number;
use super::digits::{Digits, digits_of};
use crate::choose::fits;
use crate::function::Form;
use crate::kernel::{Kernel, Work};
use crate::list::types::bad_argument;
use crate::rows::{Text, Writer, text};

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    /// A digit before the point; the number is its place, from 0.
    Whole(usize),
    /// A digit after the point.
    Fraction(usize),
    Point,
    Group,
    Currency,
    TrailingSign,
    Minus,
    Plus,
    Sign,
    Ordinal {
        upper: bool,
    },
}

/// The sign before the first digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leading {
    /// A minus or a blank.
    Minus,
    /// A minus or a plus.
    Either,
    /// `<`, which is closed at the end.
    Bracket,
    /// The template has another place for it.
    Nothing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Template {
    parts: Vec<Part>,
    whole_places: usize,
    fraction_places: usize,
    /// Number of powers of ten by which the number is shifted.
    shift: usize,
    /// The first place before the point that is never blank.
    first_zero: usize,
    /// Places after the point that are never left out.
    fraction_zeros: usize,
    leading: Leading,
    is_filled: bool,
    has_exponent: bool,
    /// For a Roman numeral: whether it is in upper case.
    roman: Option<bool>,
}

/// Maximum number of parts: far more than numbers have digits.
const PARTS_MAX: usize = 1_000;

const PATTERNS: [&str; 19] =
    ["EEEE", "FM", "MI", "PL", "SG", "PR", "TH", "RN", "9", "0", ".", "D", ",", "G", "L", "$", "S", "V", "\""];

fn parse(template: &str) -> Result<Template> {
    let mut parsed = Template {
        parts: Vec::new(),
        whole_places: 0,
        fraction_places: 0,
        shift: 0,
        first_zero: usize::MAX,
        fraction_zeros: 0,
        leading: Leading::Minus,
        is_filled: true,
        has_exponent: false,
        roman: None,
    };
    let (mut has_point, mut is_shifting) = (false, false);
    let mut rest = template;
    while let Some(first) = rest.chars().next() {
        let begins =
            |pattern: &&&str| rest.get(..pattern.len()).is_some_and(|start| start.eq_ignore_ascii_case(pattern));
        let Some(pattern) = PATTERNS.iter().find(begins) else {
            parsed.push_text(&rest[..first.len_utf8()]);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        let is_upper = first.is_ascii_uppercase();
        rest = &rest[pattern.len()..];
        match *pattern {
            "9" | "0" if has_point => parsed.put_fraction(*pattern == "0"),
            "9" | "0" => {
                parsed.put_whole(*pattern == "0");
                parsed.shift += usize::from(is_shifting);
            }
            "." | "D" if has_point || is_shifting => return Err(refused("a second point")),
            "." | "D" => {
                has_point = true;
                parsed.parts.push(Part::Point);
            }
            "V" if has_point || is_shifting => return Err(refused("V and a point")),
            "V" => is_shifting = true,
            "," | "G" => parsed.parts.push(Part::Group),
            "L" => parsed.parts.push(Part::Currency),
            "$" => parsed.push_text("$"),
            "S" if parsed.whole_places == 0 => parsed.leading = Leading::Either,
            "S" => parsed.put_sign(Part::TrailingSign),
            "MI" => parsed.put_sign(Part::Minus),
            "SG" => parsed.put_sign(Part::Sign),
            "PL" => parsed.parts.push(Part::Plus),
            "PR" => parsed.leading = Leading::Bracket,
            "FM" => parsed.is_filled = false,
            "TH" => parsed.parts.push(Part::Ordinal { upper: is_upper }),
            "RN" => parsed.roman = Some(is_upper),
            "EEEE" => parsed.has_exponent = true,
            quote => {
                debug_assert_eq!(quote, "\"");
                let end = rest.find('"').unwrap_or(rest.len());
                parsed.push_text(&rest[..end]);
                rest = rest.get(end + 1..).unwrap_or("");
            }
        }
    }
    match parsed.parts.len() > PARTS_MAX {
        true => Err(refused(&format!("more than {PARTS_MAX} parts"))),
        false => Ok(parsed),
    }
}

fn refused(what: &str) -> Error {
    Error::user(format!("a template of numbers can't have {what}")).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

impl Template {
    fn push_text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(before)) => before.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    fn put_whole(&mut self, is_zero: bool) {
        if is_zero {
            self.first_zero = self.first_zero.min(self.whole_places);
        }
        self.parts.push(Part::Whole(self.whole_places));
        self.whole_places += 1;
    }

    fn put_fraction(&mut self, is_zero: bool) {
        self.parts.push(Part::Fraction(self.fraction_places));
        self.fraction_places += 1;
        if is_zero {
            self.fraction_zeros = self.fraction_places;
        }
    }

    fn put_sign(&mut self, place: Part) {
        self.leading = Leading::Nothing;
        self.parts.push(place);
    }

    /// Writes a number whose last digits are those after the point.
    fn write(&self, is_negative: bool, digits: &str, out: &mut Writer<'_>) {
        let digits = format!("{digits:0>width$}", width = self.fraction_places + 1);
        let (whole, fraction) = digits.split_at(digits.len() - self.fraction_places);
        let whole = if whole == "0" && self.fraction_places > 0 { "" } else { whole };
        if whole.len() > self.whole_places.max(usize::from(whole == "0")) {
            let hashes = ["#".repeat(self.whole_places), "#".repeat(self.fraction_places)];
            return self.write_parts(is_negative, &hashes[0], &hashes[1], out);
        }
        let is_zero = digits.bytes().all(|digit| digit == b'0');
        self.write_parts(is_negative && !is_zero, whole, fraction, out);
    }

    fn write_parts(&self, is_negative: bool, whole: &str, fraction: &str, out: &mut Writer<'_>) {
        // The first place with a digit.
        let first = (self.whole_places - whole.len().min(self.whole_places)).min(self.first_zero);
        let kept = match self.is_filled {
            true => self.fraction_places,
            false => fraction.trim_end_matches('0').len().max(self.fraction_zeros),
        };
        let mut sign = Some(self.leading).filter(|leading| *leading != Leading::Nothing);
        let mut place = 0;
        for part in &self.parts {
            let is_digit = match part {
                Part::Whole(at) => {
                    place = at + 1;
                    *at >= first
                }
                Part::Point => true,
                _ => false,
            };
            if let Some(leading) = sign.filter(|_| is_digit) {
                self.write_leading(leading, is_negative, out);
                sign = None;
            }
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Whole(at) if *at >= first => {
                    let from_end = self.whole_places - at;
                    let digit = whole.len().checked_sub(from_end).map_or("0", |digit| &whole[digit..=digit]);
                    out.push_str(digit);
                }
                Part::Whole(_) => self.push_blank(out),
                Part::Fraction(at) if *at < kept => out.push_str(&fraction[*at..=*at]),
                Part::Fraction(_) => {}
                Part::Point => out.push('.'),
                Part::Group if place > first => out.push(','),
                Part::Group => self.push_blank(out),
                Part::Currency => out.push('$'),
                Part::TrailingSign | Part::Sign => out.push(if is_negative { '-' } else { '+' }),
                Part::Minus if is_negative => out.push('-'),
                Part::Plus if !is_negative => out.push('+'),
                Part::Minus | Part::Plus => self.push_blank(out),
                Part::Ordinal { upper } => {
                    if !is_negative && self.fraction_places == 0 {
                        push_ordinal(whole, *upper, out);
                    }
                }
            }
        }
        if self.leading == Leading::Bracket {
            if is_negative { out.push('>') } else { self.push_blank(out) }
        }
    }

    fn write_leading(&self, leading: Leading, is_negative: bool, out: &mut Writer<'_>) {
        match (leading, is_negative) {
            (Leading::Minus | Leading::Either, true) => out.push('-'),
            (Leading::Either, false) => out.push('+'),
            (Leading::Bracket, true) => out.push('<'),
            (Leading::Minus | Leading::Bracket, false) => self.push_blank(out),
            (Leading::Nothing, _) => {}
        }
    }

    fn push_blank(&self, out: &mut Writer<'_>) {
        if self.is_filled {
            out.push(' ');
        }
    }

    fn write_roman(&self, number: Option<u32>, is_upper: bool, out: &mut Writer<'_>) {
        const WIDTH: usize = 15;
        let roman = number.filter(|number| (1..4_000).contains(number)).map_or("#".repeat(WIDTH), roman);
        let roman = if is_upper { roman } else { roman.to_lowercase() };
        let missing = if self.is_filled { WIDTH.saturating_sub(roman.len()) } else { 0 };
        (0..missing).for_each(|_| out.push(' '));
        out.push_str(&roman);
    }

    /// Writes one digit before the point, and an exponent of at least two.
    fn write_exponent(&self, number: f64, out: &mut Writer<'_>) {
        let text = format!("{number:.places$e}", places = self.fraction_places);
        let (mantissa, exponent) = text.split_once('e').expect("it is written with one");
        let exponent: i32 = exponent.parse().expect("exponents are numbers");
        if !number.is_sign_negative() {
            self.push_blank(out);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{mantissa}e{sign}{:02}", exponent.abs()).expect("writers take everything");
    }

    /// Writes a decimal with a scale.
    fn write_decimal(&self, digits: i128, scale: u32, out: &mut Writer<'_>) {
        if let Some(is_upper) = self.roman {
            let whole = Digits::nearest(digits, i128::power_of_ten(scale).unwrap_or(i128::MAX));
            return self.write_roman(u32::try_from(whole).ok(), is_upper, out);
        }
        if self.has_exponent {
            return self.write_exponent(digits as f64 / 10f64.powi(scale.cast_signed()), out);
        }
        let shown = i64::try_from(self.fraction_places + self.shift).unwrap_or(i64::MAX) - i64::from(scale);
        let power = u32::try_from(shown.unsigned_abs()).ok().and_then(i128::power_of_ten);
        let magnitude = match power {
            Some(power) if shown < 0 => Digits::nearest(digits, power).unsigned_abs().to_string(),
            None if shown < 0 => "0".to_owned(),
            // Appends zeros as text: the number may exceed 128 bits.
            _ => format!("{}{}", digits.unsigned_abs(), "0".repeat(shown as usize)),
        };
        let magnitude = magnitude.trim_start_matches('0');
        self.write(digits < 0, if magnitude.is_empty() { "0" } else { magnitude }, out);
    }

    fn write_float(&self, number: f64, out: &mut Writer<'_>) {
        if number.is_nan() {
            return out.push_str("NaN");
        }
        if let Some(is_upper) = self.roman {
            return self.write_roman((number.abs() < 4_000.0).then_some(number.round() as u32), is_upper, out);
        }
        if self.has_exponent && number.is_finite() {
            return self.write_exponent(number, out);
        }
        let shifted = number * 10f64.powi(i32::try_from(self.shift).unwrap_or(i32::MAX));
        let digits = match shifted.is_finite() {
            true => format!("{:.places$}", shifted.abs(), places = self.fraction_places).replace('.', ""),
            // More digits than there are places.
            false => "9".repeat(self.whole_places + self.fraction_places + 1),
        };
        let digits = digits.trim_start_matches('0');
        self.write(number < 0.0, if digits.is_empty() { "0" } else { digits }, out);
    }
}

fn push_ordinal(whole: &str, is_upper: bool, out: &mut Writer<'_>) {
    let is_teen = whole.len() > 1 && whole.as_bytes()[whole.len() - 2] == b'1';
    let ending = match whole.as_bytes().last() {
        Some(b'1') if !is_teen => "st",
        Some(b'2') if !is_teen => "nd",
        Some(b'3') if !is_teen => "rd",
        _ => "th",
    };
    out.push_str(&if is_upper { ending.to_uppercase() } else { ending.to_owned() });
}

fn roman(mut number: u32) -> String {
    const SYMBOLS: [(u32, &str); 13] = [
        (1_000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut text = String::new();
    for (value, symbol) in SYMBOLS {
        while number >= value {
            text.push_str(symbol);
            number -= value;
        }
    }
    text
}

type Chosen = Option<std::result::Result<Form, NoFunction>>;

/// Returns the form if the first argument is a number.
pub(crate) fn to_char_of_number(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [number, template] = arguments else { return None };
    if !number.ty.is_numeric() || !fits(template, &SqlType::Varchar) {
        return None;
    }
    let constant = match template.value {
        Some(Value::Text(template)) => match parse(template) {
            Ok(template) => Some(template),
            Err(error) => {
                let message = error.message().to_owned();
                return Some(Err(bad_argument(1, message)));
            }
        },
        _ => None,
    };
    Some(Ok(match number.ty {
        SqlType::Real | SqlType::Double => text::<(f64, Text), Text, _>(move |(number, template), out| {
            match &constant {
                Some(template) => template.write_float(number, out),
                None => parse(template)?.write_float(number, out),
            }
            Ok(())
        }),
        ty => {
            let scale = ty.decimal_digits().map_or(0, |(_, scale)| scale.into());
            let form = text::<(i128, Text), Text, _>(move |(digits, template), out| {
                match &constant {
                    Some(template) => template.write_decimal(digits, scale, out),
                    None => parse(template)?.write_decimal(digits, scale, out),
                }
                Ok(())
            });
            Form { arguments: vec![ty.clone(), SqlType::Varchar], kernel: Arc::new(OfDigits(form.kernel)), ..form }
        }
    }))
}

/// Widens the digits of the first argument to 128 bits.
struct OfDigits(Arc<dyn Kernel>);

impl Kernel for OfDigits {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let mut wide = arguments.to_vec();
        let digits = digits_of::<i128>(&arguments[0]);
        wide[0] = Vector::from_values(digits, None).with_validity(arguments[0].validity().cloned());
        self.0.evaluate(&wide, rows, work)
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::testing::shown;

    #[test]
    fn numbers_in_templates() {
        for (number, template, expected) in [
            ("485", "999", " 485"),
            ("-485", "999", "-485"),
            ("485", "9 9 9", " 4 8 5"),
            ("1485", "9,999", " 1,485"),
            ("485", "9,999", "   485"),
            ("-12", "9,999", "   -12"),
            ("148.5", "999.999", " 148.500"),
            ("148.5", "FM999.999", "148.5"),
            ("148.5", "FM999.990", "148.500"),
            ("3148.5", "9G999D999", " 3,148.500"),
            ("-485", "999S", "485-"),
            ("-485", "999MI", "485-"),
            ("485", "999MI", "485 "),
            ("485", "FM999MI", "485"),
            ("485", "PL999", "+ 485"),
            ("485", "SG999", "+485"),
            ("-485", "SG999", "-485"),
            ("-485", "9SG99", "4-85"),
            ("-485", "999PR", "<485>"),
            ("485", "999PR", " 485 "),
            ("485", "S999", "+485"),
            ("-12", "S9999", "  -12"),
            ("485", "L999", "$ 485"),
            ("482", "999th", " 482nd"),
            ("11", "FM99TH", "11TH"),
            ("485", "\"Good number:\"999", "Good number: 485"),
            ("485.8", "\"Pre:\"999\" Post:\" .999", "Pre: 485 Post: .800"),
            ("12", "99V999", " 12000"),
            ("12.4", "99V999", " 12400"),
            ("12.45", "99V9", " 125"),
            ("0.1", "9.9", "  .1"),
            ("0.1", "0.9", " 0.1"),
            ("-0.1", "FM9.99", "-.1"),
            ("0", "9", " 0"),
            ("0", "99", "  0"),
            ("0", "9.9", "  .0"),
            ("12", "FM99.99", "12."),
            ("12", "0000", " 0012"),
            ("12", "9990", "   12"),
            ("12", "9990.00", "   12.00"),
            ("1234.5", "FM9,990.00", "1,234.50"),
            ("1234", "99", " ##"),
            ("1234.5", "99.9", " ##.#"),
            ("-1234", "99", "-##"),
            ("0.005", "0.00", " 0.01"),
            ("-0.001", "0.00", " 0.00"),
            ("485", "RN", "        CDLXXXV"),
            ("485", "FMrn", "cdlxxxv"),
            ("4000", "FMRN", "###############"),
            ("0.0004859", "9.99EEEE", " 4.86e-04"),
            ("-1234", "9.99EEEE", "-1.23e+03"),
            ("DOUBLE '1234.567'", "9,999.99", " 1,234.57"),
            ("DOUBLE '-0.5'", "0.9", "-0.5"),
            ("DOUBLE 'nan'", "999", "NaN"),
            ("DOUBLE 'inf'", "99.9", " ##.#"),
            ("1e300", "99", " ##"),
            ("HUGEINT '-170141183460469231731687303715884105728'", "9", "-#"),
            ("DECIMAL(38,38) '0.00000000000000000000000000000000000001'", "0.9", " 0.0"),
            ("NULL", "YYYY", "NULL"),
        ] {
            assert_eq!(shown("to_char", &[number, &format!("'{template}'")]), expected, "{number} {template}");
        }
    }

    #[test]
    fn templates_that_are_none() {
        assert!(parse("9.9.9").unwrap_err().message().contains("a second point"));
        assert!(parse("9V9.9").is_err());
        assert!(parse(&"9".repeat(100_000)).unwrap_err().message().contains("more than 1000 parts"));
        assert!(parse("9.9V9").is_err());
    }
}
