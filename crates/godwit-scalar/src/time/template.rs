//! PostgreSQL's templates of times, such as `YYYY-MM-DD`: their parts, and times written in them.

use godwit_common::Result;

use super::format::{self, Format, Item, STEPS_OF_FIELD, push_number};
use super::moment::{JULIAN_DAY_OF_1970, Moment, iso_year_start};
use super::names::{SHORT, day_name, month_name};
use crate::rows::Writer;

/// A field of a template. Of years, the given number of last digits is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Year(u32),
    YearWithComma,
    IsoYear(u32),
    Century,
    Era {
        dotted: bool,
    },
    Quarter,
    Month,
    MonthName,
    MonthShort,
    RomanMonth,
    Day,
    DayOfYear,
    DayOfIsoYear,
    /// From 1 for Sunday.
    DayOfWeek,
    /// From 1 for Monday.
    IsoDayOfWeek,
    DayName,
    DayShort,
    WeekOfMonth,
    WeekOfYear,
    IsoWeek,
    JulianDay,
    Hour24,
    Hour12,
    Minute,
    Second,
    SecondsOfDay,
    /// The first digits of the fraction.
    Fraction(u32),
    HalfDay {
        dotted: bool,
    },
    ZoneName,
    Offset,
    OffsetHours,
    OffsetMinutes,
}

/// Returns the patterns that begin with a letter. Of those that begin alike, the longer comes first.
fn patterns_of(first: char) -> &'static [(&'static str, Field)] {
    match first.to_ascii_uppercase() {
        'Y' => &[
            ("Y,YYY", Field::YearWithComma),
            ("YYYY", Field::Year(4)),
            ("YYY", Field::Year(3)),
            ("YY", Field::Year(2)),
            ("Y", Field::Year(1)),
        ],
        'I' => &[
            ("IYYY", Field::IsoYear(4)),
            ("IYY", Field::IsoYear(3)),
            ("IY", Field::IsoYear(2)),
            ("IW", Field::IsoWeek),
            ("IDDD", Field::DayOfIsoYear),
            ("ID", Field::IsoDayOfWeek),
            ("I", Field::IsoYear(1)),
        ],
        'Q' => &[("Q", Field::Quarter)],
        'M' => &[
            ("MONTH", Field::MonthName),
            ("MON", Field::MonthShort),
            ("MM", Field::Month),
            ("MI", Field::Minute),
            ("MS", Field::Fraction(3)),
        ],
        'D' => &[
            ("DAY", Field::DayName),
            ("DDD", Field::DayOfYear),
            ("DD", Field::Day),
            ("DY", Field::DayShort),
            ("D", Field::DayOfWeek),
        ],
        'H' => &[("HH24", Field::Hour24), ("HH12", Field::Hour12), ("HH", Field::Hour12)],
        'S' => &[("SSSSS", Field::SecondsOfDay), ("SSSS", Field::SecondsOfDay), ("SS", Field::Second)],
        'U' => &[("US", Field::Fraction(6))],
        'F' => &[
            ("FF1", Field::Fraction(1)),
            ("FF2", Field::Fraction(2)),
            ("FF3", Field::Fraction(3)),
            ("FF4", Field::Fraction(4)),
            ("FF5", Field::Fraction(5)),
            ("FF6", Field::Fraction(6)),
        ],
        'A' => &[
            ("AM", Field::HalfDay { dotted: false }),
            ("A.M.", Field::HalfDay { dotted: true }),
            ("AD", Field::Era { dotted: false }),
            ("A.D.", Field::Era { dotted: true }),
        ],
        'P' => &[("PM", Field::HalfDay { dotted: false }), ("P.M.", Field::HalfDay { dotted: true })],
        'B' => &[("BC", Field::Era { dotted: false }), ("B.C.", Field::Era { dotted: true })],
        'W' => &[("WW", Field::WeekOfYear), ("W", Field::WeekOfMonth)],
        'C' => &[("CC", Field::Century)],
        'J' => &[("J", Field::JulianDay)],
        'R' => &[("RM", Field::RomanMonth)],
        'T' => &[("TZH", Field::OffsetHours), ("TZM", Field::OffsetMinutes), ("TZ", Field::ZoneName)],
        'O' => &[("OF", Field::Offset)],
        _ => &[],
    }
}

pub(super) const ROMAN_MONTHS: [&str; 12] = ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// Names of months and days are padded with blanks to the longest name.
const NAME_WIDTH: usize = 9;
const ROMAN_WIDTH: usize = 4;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    Text(String),
    Field {
        field: Field,
        letters: Letters,
        /// True if numbers are padded with zeros and names with blanks: without `FM`.
        is_filled: bool,
        /// With `TH`: 1st, 2nd, 3rd.
        ordinal: Option<Letters>,
    },
}

/// The case of words: that of their pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Upper,
    Lower,
    Capitalized,
}

impl Letters {
    fn of(pattern: &str) -> Self {
        let mut upper = pattern.chars().filter(|c| c.is_alphabetic()).map(|letter| letter.is_ascii_uppercase());
        match (upper.next(), upper.next()) {
            (Some(true), Some(false)) => Self::Capitalized,
            (Some(true), _) => Self::Upper,
            _ => Self::Lower,
        }
    }

    /// Writes a word, which is ASCII.
    fn push(self, word: &str, out: &mut Writer<'_>) {
        for (at, letter) in word.chars().enumerate() {
            out.push(match self {
                Self::Upper => letter.to_ascii_uppercase(),
                Self::Capitalized if at == 0 => letter.to_ascii_uppercase(),
                Self::Lower | Self::Capitalized => letter.to_ascii_lowercase(),
            });
        }
    }
}

/// Parses a template; whatever isn't a pattern, or is in double quotes, is text.
pub(super) fn parse(template: &str) -> Parts<'_> {
    Parts { rest: template, is_quoted: false }
}

/// The parts of a template.
pub(super) struct Parts<'t> {
    rest: &'t str,
    is_quoted: bool,
}

/// Size at which a text becomes a part, in bytes.
const TEXT_BYTES: usize = 1 << 12;

impl Iterator for Parts<'_> {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let mut text = String::new();
        while let Some(first) = self.rest.chars().next().filter(|_| text.len() < TEXT_BYTES) {
            if first == '"' {
                self.is_quoted = !self.is_quoted;
                self.rest = &self.rest[1..];
                continue;
            }
            if let Some((field, behind)) = self.field(first) {
                if text.is_empty() {
                    self.rest = behind;
                    return Some(field);
                }
                break;
            }
            if let Some(behind) = strip(self.rest, "FX").filter(|_| !self.is_quoted) {
                self.rest = behind;
                continue;
            }
            let escaped = self.rest.strip_prefix('\\').filter(|after| !after.is_empty());
            let character = escaped.and_then(|after| after.chars().next()).unwrap_or(first);
            text.push(character);
            self.rest = &escaped.unwrap_or(self.rest)[character.len_utf8()..];
        }
        (!text.is_empty()).then_some(Part::Text(text))
    }
}

impl<'t> Parts<'t> {
    /// Returns the field at the start of the rest, and what is behind it.
    fn field(&self, first: char) -> Option<(Part, &'t str)> {
        if self.is_quoted || !first.is_ascii_alphabetic() {
            return None;
        }
        let unfilled = strip(self.rest, "FM").or_else(|| strip(self.rest, "TM"));
        let after = unfilled.unwrap_or(self.rest);
        let known = patterns_of(after.chars().next()?);
        let (pattern, field, behind) =
            known.iter().find_map(|&(name, field)| Some((name, field, strip(after, name)?)))?;
        let (ordinal, behind) = split_ordinal(behind);
        let letters = Letters::of(&after[..pattern.len()]);
        Some((Part::Field { field, letters, is_filled: unfilled.is_none(), ordinal }, behind))
    }
}

/// Splits off `TH` after a number, but not that of `DDTHH24`, which separates day and hour.
fn split_ordinal(text: &str) -> (Option<Letters>, &str) {
    match strip(text, "TH") {
        Some(behind) if !behind.starts_with(['H', 'h']) => (Some(Letters::of(&text[..2])), behind),
        _ => (None, text),
    }
}

/// Strips a prefix, in any case.
fn strip<'t>(text: &'t str, prefix: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// A template, or a format of `strftime`, which contains a percent sign.
pub(super) enum Pattern {
    Template(Vec<Part>),
    Format(Vec<Item>),
}

impl Format for Pattern {
    fn parse(pattern: &str) -> Result<Self> {
        Ok(match pattern.contains('%') {
            true => Self::Format(format::parse(pattern)?),
            false => Self::Template(parse(pattern).collect()),
        })
    }

    fn write(&self, moment: Moment, is_zoned: bool, out: &mut Writer<'_>) -> Result<()> {
        match self {
            Self::Format(items) => items.write(moment, is_zoned, out),
            Self::Template(parts) => {
                parts.iter().for_each(|part| part.write(moment, is_zoned, out));
                Ok(())
            }
        }
    }

    fn write_parsing(pattern: &str, moment: Option<Moment>, is_zoned: bool, out: &mut Writer<'_>) -> Result<()> {
        if pattern.contains('%') {
            return Vec::<Item>::write_parsing(pattern, moment, is_zoned, out);
        }
        // Any text is a template.
        let Some(moment) = moment else { return Ok(()) };
        parse(pattern).try_for_each(|part| {
            part.write(moment, is_zoned, out);
            out.go(if let Part::Text(text) = &part { text.len() } else { STEPS_OF_FIELD })
        })
    }
}

/// The content of a field.
enum Shown {
    /// With its minimum number of digits.
    Number(i64, usize),
    /// With its minimum number of characters.
    Word(&'static str, usize),
    /// In the same case whatever the case of the pattern.
    Fixed(&'static str),
}

impl Part {
    fn write(&self, moment: Moment, is_zoned: bool, out: &mut Writer<'_>) {
        let (field, letters, is_filled, ordinal) = match self {
            Self::Text(literal) => return out.push_str(literal),
            Self::Field { field, letters, is_filled, ordinal } => (*field, *letters, *is_filled, *ordinal),
        };
        if field == Field::YearWithComma {
            let year = counted(moment.civil().year);
            push_number(out, year / 1_000, 1);
            out.push(',');
            return push_number(out, year % 1_000, 3);
        }
        match field.shown(moment, is_zoned) {
            Shown::Number(number, width) => {
                push_number(out, number, if is_filled { width } else { 1 });
                if let Some(letters) = ordinal {
                    letters.push(ordinal_suffix(number), out);
                }
            }
            Shown::Word(word, width) => {
                letters.push(word, out);
                let missing = if is_filled { width.saturating_sub(word.len()) } else { 0 };
                (0..missing).for_each(|_| out.push(' '));
            }
            Shown::Fixed(word) => out.push_str(word),
        }
    }
}

/// Converts a year to count from 1 in both directions: the year 0 is 1 BC.
fn counted(year: i64) -> i64 {
    if year > 0 { year } else { 1 - year }
}

fn ordinal_suffix(number: i64) -> &'static str {
    match (number.abs() % 100, number.abs() % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    }
}

impl Field {
    fn shown(self, moment: Moment, is_zoned: bool) -> Shown {
        let civil = moment.civil();
        let last_digits = |year: i64, digits: u32| match digits {
            4 => Shown::Number(counted(year), 4),
            _ => Shown::Number(counted(year) % 10_i64.pow(digits), digits as usize),
        };
        match self {
            Self::Year(digits) => last_digits(civil.year, digits),
            Self::YearWithComma => unreachable!("it is written by itself"),
            Self::IsoYear(digits) => last_digits(moment.iso_week().0, digits),
            Self::Century if civil.year > 0 => Shown::Number((civil.year + 99) / 100, 2),
            Self::Century => Shown::Number(civil.year / 100 - 1, 2),
            Self::Era { dotted } => Shown::Word(
                match (civil.year > 0, dotted) {
                    (true, false) => "AD",
                    (true, true) => "A.D.",
                    (false, false) => "BC",
                    (false, true) => "B.C.",
                },
                0,
            ),
            Self::Quarter => Shown::Number((civil.month + 2) / 3, 1),
            Self::Month => Shown::Number(civil.month, 2),
            Self::MonthName => Shown::Word(month_name(moment), NAME_WIDTH),
            Self::MonthShort => Shown::Word(&month_name(moment)[..SHORT], 0),
            Self::RomanMonth => Shown::Word(ROMAN_MONTHS[civil.month as usize - 1], ROMAN_WIDTH),
            Self::Day => Shown::Number(civil.day, 2),
            Self::DayOfYear => Shown::Number(moment.day_of_year(), 3),
            Self::DayOfIsoYear => Shown::Number(moment.days - iso_year_start(moment.iso_week().0) + 1, 3),
            Self::DayOfWeek => Shown::Number(moment.day_of_week() + 1, 1),
            Self::IsoDayOfWeek => Shown::Number(moment.iso_day_of_week(), 1),
            Self::DayName => Shown::Word(day_name(moment), NAME_WIDTH),
            Self::DayShort => Shown::Word(&day_name(moment)[..SHORT], 0),
            Self::WeekOfMonth => Shown::Number((civil.day - 1) / 7 + 1, 1),
            Self::WeekOfYear => Shown::Number((moment.day_of_year() - 1) / 7 + 1, 2),
            Self::IsoWeek => Shown::Number(moment.iso_week().1, 2),
            Self::JulianDay => Shown::Number(moment.days + JULIAN_DAY_OF_1970, 1),
            Self::Hour24 => Shown::Number(moment.hour(), 2),
            Self::Hour12 => Shown::Number((moment.hour() + 11) % 12 + 1, 2),
            Self::Minute => Shown::Number(moment.minute(), 2),
            Self::Second => Shown::Number(moment.second(), 2),
            Self::SecondsOfDay => Shown::Number(moment.micros / 1_000_000, 1),
            Self::Fraction(digits) => Shown::Number(moment.fraction_micros() / 10_i64.pow(6 - digits), digits as usize),
            Self::HalfDay { dotted } => Shown::Word(
                match (moment.hour() < 12, dotted) {
                    (true, false) => "AM",
                    (true, true) => "A.M.",
                    (false, false) => "PM",
                    (false, true) => "P.M.",
                },
                0,
            ),
            Self::ZoneName => Shown::Word(if is_zoned { "UTC" } else { "" }, 0),
            Self::Offset | Self::OffsetHours => Shown::Fixed("+00"),
            Self::OffsetMinutes => Shown::Fixed("00"),
        }
    }
}
