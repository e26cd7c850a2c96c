//! Parsing of texts in PostgreSQL's templates.
//!
//! As in PostgreSQL, blanks and separators of the template match any, its other text matches as many characters, and
//! text after the end of the template is ignored. Missing fields are those of 1 January of the year 1 BC.

use super::fields::Fields;
use super::names::{DAYS, MONTHS, find};
use super::strptime::{digits, fraction, offset};
use super::template::{Field, Part, ROMAN_MONTHS};

/// The default year: 1 BC.
pub(super) const YEAR: i64 = 0;

/// Reads the fields of a text; `None` if it doesn't match the template.
pub(super) fn read(parts: &[Part], text: &str, fields: &mut Fields) -> Option<()> {
    let mut rest = text.trim_start();
    for (at, part) in parts.iter().enumerate() {
        match part {
            Part::Text(expected) => rest = after_text(rest, expected),
            Part::Field { field, ordinal, .. } => {
                let is_bounded = !matches!(parts.get(at + 1), Some(Part::Field { .. }));
                rest = field.read(rest.trim_start(), is_bounded, fields)?;
                // Names are padded with blanks.
                if matches!(field, Field::MonthName | Field::DayName | Field::RomanMonth) {
                    rest = rest.trim_start();
                }
                if ordinal.is_some() {
                    rest = rest.get(2..)?;
                }
            }
        }
    }
    Some(())
}

fn after_text<'t>(mut text: &'t str, expected: &str) -> &'t str {
    for character in expected.chars() {
        let mut rest = text.chars();
        text = match rest.next() {
            _ if character.is_whitespace() => text.trim_start(),
            Some(found) if character.is_alphanumeric() || !found.is_alphanumeric() => rest.as_str(),
            _ => text,
        };
    }
    text
}

/// Completes years with fewer than four digits to the nearest to 2020.
fn completed(year: i64) -> i64 {
    match year {
        0..70 => year + 2_000,
        70..100 => year + 1_900,
        100..520 => year + 2_000,
        _ => year + 1_000,
    }
}

/// Maximum number of digits of a year.
const YEAR_DIGITS_MAX: usize = 7;

impl Field {
    /// Reads a field; returns the rest of the text. A number that isn't followed by another field may be longer: it is
    /// read whole, and is then out of range, rather than being cut in two.
    fn read<'t>(self, text: &'t str, is_bounded: bool, fields: &mut Fields) -> Option<&'t str> {
        let number = |most: usize| digits(text, if is_bounded { most.max(YEAR_DIGITS_MAX) } else { most });
        let year_digits = |count: u32| if count == 4 && is_bounded { YEAR_DIGITS_MAX } else { count as usize };
        let year = |count: u32| {
            let (year, rest) = number(year_digits(count))?;
            Some((if count < 4 { completed(year) } else { year }, rest))
        };
        match self {
            Self::Year(count) => store(&mut fields.year, year(count)),
            Self::YearWithComma => {
                let (thousands, rest) = number(3)?;
                let (ones, rest) = digits(rest.strip_prefix(',')?, 3)?;
                store(&mut fields.year, Some((thousands * 1_000 + ones, rest)))
            }
            Self::IsoYear(count) => store(&mut fields.iso_year, year(count)),
            Self::Century => {
                let (century, rest) = number(2)?;
                store(&mut fields.year, Some((century * 100 - 99, rest)))
            }
            Self::Quarter => number(1).map(|(_, rest)| rest),
            Self::Month => store(&mut fields.month, number(2)),
            Self::MonthName | Self::MonthShort => {
                let (month, length) = find(&MONTHS, text)?;
                store(&mut fields.month, Some((month as i64 + 1, &text[length..])))
            }
            Self::RomanMonth => store(&mut fields.month, roman_month(text)),
            Self::Day => store(&mut fields.day, number(2)),
            Self::DayOfYear => store(&mut fields.day_of_year, number(3)),
            Self::DayOfIsoYear => number(3).map(|(day, rest)| {
                fields.iso_week = Some((day - 1) / 7 + 1);
                fields.day_of_week = Some(day % 7);
                rest
            }),
            Self::DayOfWeek => store(&mut fields.day_of_week, number(1).map(|(day, rest)| (day - 1, rest))),
            Self::IsoDayOfWeek => store(&mut fields.day_of_week, number(1).map(|(day, rest)| (day % 7, rest))),
            Self::DayName | Self::DayShort => find(&DAYS, text).map(|(_, length)| &text[length..]),
            Self::WeekOfMonth => store(&mut fields.day, number(1).map(|(week, rest)| (week * 7 - 6, rest))),
            Self::WeekOfYear => store(&mut fields.day_of_year, number(2).map(|(week, rest)| (week * 7 - 6, rest))),
            Self::IsoWeek => store(&mut fields.iso_week, number(2)),
            Self::JulianDay => store(&mut fields.julian_day, number(10)),
            Self::Hour24 => store(&mut fields.hour, number(2)),
            Self::Hour12 => store(&mut fields.hour, number(2).filter(|(hour, _)| (1..=12).contains(hour))),
            Self::Minute => store(&mut fields.minute, number(2)),
            Self::Second => store(&mut fields.second, number(2)),
            Self::SecondsOfDay => store(&mut fields.seconds_of_day, number(5)),
            Self::Fraction(count) => store(&mut fields.micros, fraction(text, count as usize)),
            Self::HalfDay { .. } => {
                let (is_afternoon, rest) = word(text, ["am", "pm", "a.m.", "p.m."])?;
                fields.is_afternoon = Some(is_afternoon);
                Some(rest)
            }
            Self::Era { .. } => {
                let (is_before_christ, rest) = word(text, ["ad", "bc", "a.d.", "b.c."])?;
                fields.is_before_christ = is_before_christ;
                Some(rest)
            }
            Self::ZoneName | Self::Offset => store(&mut fields.offset, offset(text)),
            Self::OffsetHours => {
                let sign = if text.starts_with('-') { -1 } else { 1 };
                let (hours, rest) = digits(text.strip_prefix(['+', '-']).unwrap_or(text), 2)?;
                store(&mut fields.offset, Some((sign * hours * 3_600, rest)))
            }
            Self::OffsetMinutes => {
                let (minutes, rest) = number(2)?;
                let hours = fields.offset.unwrap_or(0);
                let minutes = if hours < 0 { -minutes } else { minutes };
                store(&mut fields.offset, Some((hours + minutes * 60, rest)))
            }
        }
    }
}

fn store<'t>(field: &mut Option<i64>, read: Option<(i64, &'t str)>) -> Option<&'t str> {
    let (value, rest) = read?;
    *field = Some(value);
    Some(rest)
}

fn roman_month(text: &str) -> Option<(i64, &str)> {
    let end = text.find(|letter: char| !"IVXivx".contains(letter)).unwrap_or(text.len());
    let month = ROMAN_MONTHS.iter().position(|month| month.eq_ignore_ascii_case(&text[..end]))?;
    Some((month as i64 + 1, &text[end..]))
}

/// Reads one of two words, each in two spellings; true for the second word.
fn word<'t>(text: &'t str, words: [&str; 4]) -> Option<(bool, &'t str)> {
    let begins = |word: &str| text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word));
    let at = words.iter().position(|word| begins(word))?;
    Some((at % 2 == 1, &text[words[at].len()..]))
}
