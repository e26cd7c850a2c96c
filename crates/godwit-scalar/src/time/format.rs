//! Formats of `strftime`: their parts, and times written in them.
//!
//! The fields are DuckDB's. `%F`, `%D`, `%R` and `%T` stand for dates and times in full, `%3f`, `%6f` and `%9f` for
//! fractions of 3, 6 and 9 digits.

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::SqlType;
use godwit_types::calendar::infinity_text;

use super::moment::{
    Chosen, Moment, bad_argument, constant_text, invalid, kind_of, time_function, with_constant, zoned,
};
use super::names::{SHORT, day_name, month_name};
use crate::choose::fits;
use crate::function::{Form, Function};
use crate::rows::{Date, Text, Time, Timestamp, Writer, text, text_pieces};

pub(super) fn functions() -> Vec<Function> {
    let function = time_function(&["strftime", "date_format"], "A time as text, in a format of fields such as %Y")
        .example("strftime(DATE '2024-02-29', '%d.%m.%Y')", "29.02.2024")
        .chosen("strftime(TIMESTAMP, VARCHAR)", written::<Vec<Item>>);
    vec![function]
}

/// A part of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    Text(String),
    Field(Field),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    DayShort,
    DayName,
    /// From 0 for Sunday.
    DayOfWeek,
    /// From 1 for Monday.
    IsoDayOfWeek,
    MonthShort,
    MonthName,
    Year,
    IsoYear,
    Number(Number, Pad),
    HalfDay,
    Millisecond,
    Microsecond,
    Nanosecond,
    Offset,
    ZoneName,
}

/// Fixed-width numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Day,
    Month,
    YearOfCentury,
    Hour24,
    Hour12,
    Minute,
    Second,
    DayOfYear,
    /// Weeks that begin on Sundays; the days before the first Sunday are in week 0.
    SundayWeek,
    MondayWeek,
    IsoWeek,
}

/// The padding of short numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pad {
    Zeros,
    Nothing,
}

impl Number {
    pub(super) fn width(self) -> usize {
        if self == Self::DayOfYear { 3 } else { 2 }
    }

    #[inline]
    fn of(self, moment: Moment) -> i64 {
        match self {
            Self::Day => moment.civil().day,
            Self::Month => moment.civil().month,
            Self::YearOfCentury => moment.civil().year.abs() % 100,
            Self::Hour24 => moment.hour(),
            Self::Hour12 => (moment.hour() + 11) % 12 + 1,
            Self::Minute => moment.minute(),
            Self::Second => moment.second(),
            Self::DayOfYear => moment.day_of_year(),
            Self::SundayWeek => (moment.day_of_year() + 6 - moment.day_of_week()) / 7,
            Self::MondayWeek => (moment.day_of_year() + 7 - moment.iso_day_of_week()) / 7,
            Self::IsoWeek => moment.iso_week().1,
        }
    }
}

/// Parses a format; fails if it contains unknown fields.
pub(super) fn parse(format: &str) -> Result<Vec<Item>> {
    let mut parsed = Vec::new();
    for item in items(format) {
        match item? {
            Item::Text(text) => push_text(&mut parsed, &text),
            field => parsed.push(field),
        }
    }
    Ok(parsed)
}

/// Parses a format item by item.
fn items(format: &str) -> Items<'_> {
    Items { rest: format, within: "" }
}

struct Items<'f> {
    rest: &'f str,
    /// The rest of the format that a field stands for.
    within: &'f str,
}

impl Iterator for Items<'_> {
    type Item = Result<Item>;

    fn next(&mut self) -> Option<Result<Item>> {
        loop {
            let rest = if self.within.is_empty() { &mut self.rest } else { &mut self.within };
            let piece = text_pieces(rest).next()?;
            let length = memchr::memchr(b'%', piece.as_bytes()).unwrap_or(piece.len());
            if length > 0 {
                let (text, behind) = rest.split_at(length);
                *rest = behind;
                return Some(Ok(Item::Text(text.to_owned())));
            }
            let (specifier, behind) = split_specifier(&rest[1..]);
            *rest = behind;
            self.within = match specifier {
                "c" => "%Y-%m-%d %H:%M:%S",
                "x" | "F" => "%Y-%m-%d",
                "X" | "T" => "%H:%M:%S",
                "R" => "%H:%M",
                "D" => "%m/%d/%y",
                "%" => return Some(Ok(Item::Text("%".to_owned()))),
                _ => {
                    let unknown = || invalid(format!("there is no field '%{specifier}' in formats of times"));
                    return Some(field_of(specifier).map(Item::Field).ok_or_else(unknown));
                }
            };
        }
    }
}

pub(super) fn push_text(items: &mut Vec<Item>, text: &str) {
    match items.last_mut() {
        _ if text.is_empty() => {}
        Some(Item::Text(before)) => before.push_str(text),
        _ => items.push(Item::Text(text.to_owned())),
    }
}

/// Splits off the letter of a field with its modifiers.
fn split_specifier(text: &str) -> (&str, &str) {
    let prefix = text.len() - text.trim_start_matches(['-', '3', '6', '9']).len();
    let prefix = prefix.min(1);
    let letter = text[prefix..].chars().next().map_or(0, char::len_utf8);
    text.split_at(prefix + letter)
}

fn field_of(specifier: &str) -> Option<Field> {
    let (pad, letter) = match specifier.strip_prefix('-') {
        Some(letter) => (Pad::Nothing, letter),
        None => (Pad::Zeros, specifier),
    };
    let number = match letter {
        "d" => Number::Day,
        "m" => Number::Month,
        "y" => Number::YearOfCentury,
        "H" => Number::Hour24,
        "I" => Number::Hour12,
        "M" => Number::Minute,
        "S" => Number::Second,
        "j" => Number::DayOfYear,
        "U" if pad == Pad::Zeros => Number::SundayWeek,
        "W" if pad == Pad::Zeros => Number::MondayWeek,
        "V" if pad == Pad::Zeros => Number::IsoWeek,
        _ => {
            return Some(match specifier {
                "a" => Field::DayShort,
                "A" => Field::DayName,
                "w" => Field::DayOfWeek,
                "u" => Field::IsoDayOfWeek,
                "b" | "h" => Field::MonthShort,
                "B" => Field::MonthName,
                "Y" => Field::Year,
                "G" => Field::IsoYear,
                "p" => Field::HalfDay,
                "g" | "3f" => Field::Millisecond,
                "f" | "6f" => Field::Microsecond,
                "n" | "9f" => Field::Nanosecond,
                "z" => Field::Offset,
                "Z" => Field::ZoneName,
                _ => return None,
            });
        }
    };
    Some(Field::Number(number, pad))
}

/// A format in which a time can be written.
pub(super) trait Format: Sized + Send + Sync + 'static {
    fn parse(format: &str) -> Result<Self>;

    fn write(&self, moment: Moment, is_zoned: bool, out: &mut Writer<'_>) -> Result<()>;

    /// Writes a time, if there is one, in a format that is parsed meanwhile: the parts of a long format take many times its
    /// memory.
    fn write_parsing(format: &str, moment: Option<Moment>, is_zoned: bool, out: &mut Writer<'_>) -> Result<()>;
}

/// Maximum size of a constant format that is parsed once, in bytes.
const PARSED_BYTES_MAX: usize = 1 << 14;

/// A time that is written in a format, if it is finite.
enum Written {
    Finite(Moment),
    Infinite(&'static str),
}

impl Written {
    #[inline]
    fn new(moment: Option<Moment>, is_past: bool) -> Self {
        moment.map_or(Self::Infinite(infinity_text(is_past)), Self::Finite)
    }

    #[inline]
    fn of_timestamp(timestamp: i64) -> Self {
        Self::new(Moment::of_finite_timestamp(timestamp), timestamp < 0)
    }

    #[inline]
    fn of_date(days: i32) -> Self {
        Self::new(Moment::of_finite_date(days), days < 0)
    }

    fn write(self, format: &impl Format, is_zoned: bool, out: &mut Writer<'_>) -> Result<()> {
        match self {
            Self::Finite(moment) => format.write(moment, is_zoned, out),
            Self::Infinite(text) => {
                out.push_str(text);
                Ok(())
            }
        }
    }

    fn write_parsing<F: Format>(self, format: &str, is_zoned: bool, out: &mut Writer<'_>) -> Result<()> {
        match self {
            Self::Finite(moment) => F::write_parsing(format, Some(moment), is_zoned, out),
            Self::Infinite(text) => {
                out.push_str(text);
                F::write_parsing(format, None, is_zoned, out)
            }
        }
    }
}

impl Format for Vec<Item> {
    fn parse(format: &str) -> Result<Self> {
        parse(format)
    }

    fn write(&self, moment: Moment, is_zoned: bool, out: &mut Writer<'_>) -> Result<()> {
        self.iter().for_each(|item| item.write(moment, is_zoned, out));
        Ok(())
    }

    fn write_parsing(format: &str, moment: Option<Moment>, is_zoned: bool, out: &mut Writer<'_>) -> Result<()> {
        for item in items(format) {
            let item = item?;
            if let Some(moment) = moment {
                item.write(moment, is_zoned, out);
            }
            out.go(item.steps())?;
        }
        Ok(())
    }
}

/// What parsing and writing a field counts for.
pub(super) const STEPS_OF_FIELD: usize = 16;

impl Item {
    /// What parsing and writing it counts for.
    fn steps(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Field(_) => STEPS_OF_FIELD,
        }
    }

    fn write(&self, moment: Moment, is_zoned: bool, out: &mut Writer<'_>) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Field(field) => field.write(moment, is_zoned, out),
        }
    }
}

impl Field {
    fn write(self, moment: Moment, is_zoned: bool, out: &mut Writer<'_>) {
        let fraction = moment.fraction_micros();
        match self {
            Self::DayShort => out.push_str(&day_name(moment)[..SHORT]),
            Self::DayName => out.push_str(day_name(moment)),
            Self::DayOfWeek => push_number(out, moment.day_of_week(), 1),
            Self::IsoDayOfWeek => push_number(out, moment.iso_day_of_week(), 1),
            Self::MonthShort => out.push_str(&month_name(moment)[..SHORT]),
            Self::MonthName => out.push_str(month_name(moment)),
            Self::Year => push_year(out, moment.civil().year),
            Self::IsoYear => push_year(out, moment.iso_week().0),
            Self::Number(number, pad) => {
                push_number(out, number.of(moment), if pad == Pad::Zeros { number.width() } else { 1 });
            }
            Self::HalfDay => out.push_str(if moment.hour() < 12 { "AM" } else { "PM" }),
            Self::Millisecond => push_number(out, fraction / 1_000, 3),
            Self::Microsecond => push_number(out, fraction, 6),
            Self::Nanosecond => push_number(out, fraction * 1_000, 9),
            // Moments are in UTC, or were converted to local times of another zone.
            Self::Offset => out.push_str("+00"),
            Self::ZoneName => out.push_str(if is_zoned { "UTC" } else { "" }),
        }
    }
}

/// Writes a year; negative years are not padded.
fn push_year(out: &mut Writer<'_>, year: i64) {
    push_number(out, year, if year < 0 { 1 } else { 4 });
}

/// Writes a number, padded with zeros to a width of at most 20 digits.
pub(super) fn push_number(out: &mut Writer<'_>, number: i64, width: usize) {
    const DIGITS: usize = 20;
    let mut digits = [b'0'; DIGITS];
    let (mut at, mut rest) = (DIGITS, number.unsigned_abs());
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    if number < 0 {
        out.push_str("-");
    }
    out.push_bytes(&digits[at.min(DIGITS - width)..]);
}

/// Returns the form of a function that writes times in a format.
pub(super) fn written<F: Format>(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [value, format] = arguments else { return None };
    if !fits(format, &SqlType::Varchar) {
        return None;
    }
    let ty = kind_of(value);
    let Some(constant) = constant_text(format).filter(|format| format.len() <= PARSED_BYTES_MAX) else {
        return written_in_varying::<F>(&ty).map(Ok);
    };
    let format = match F::parse(constant) {
        Ok(format) => format,
        Err(error) => return Some(Err(bad_argument(1, &error))),
    };
    let form = match ty {
        SqlType::Date => {
            text::<(Date,), Text, _>(move |(days,), out| Written::of_date(days).write(&format, false, out))
        }
        SqlType::Time => {
            text::<(Time,), Text, _>(move |(micros,), out| Written::of_timestamp(micros).write(&format, false, out))
        }
        SqlType::Timestamp => {
            text::<(Timestamp,), Text, _>(move |(at,), out| Written::of_timestamp(at).write(&format, false, out))
        }
        SqlType::TimestampTz => {
            zoned(&text::<(Timestamp,), Text, _>(move |(at,), out| Written::of_timestamp(at).write(&format, true, out)))
        }
        _ => return None,
    };
    Some(Ok(with_constant(form.total(), 1)))
}

/// The form for formats that aren't constant.
fn written_in_varying<F: Format>(ty: &SqlType) -> Option<Form> {
    Some(match ty {
        SqlType::Date => text::<(Date, Text), Text, _>(|(days, format), out| {
            Written::of_date(days).write_parsing::<F>(format, false, out)
        }),
        SqlType::Time => text::<(Time, Text), Text, _>(|(micros, format), out| {
            Written::of_timestamp(micros).write_parsing::<F>(format, false, out)
        }),
        SqlType::Timestamp => text::<(Timestamp, Text), Text, _>(|(at, format), out| {
            Written::of_timestamp(at).write_parsing::<F>(format, false, out)
        }),
        SqlType::TimestampTz => zoned(&text::<(Timestamp, Text), Text, _>(|(at, format), out| {
            Written::of_timestamp(at).write_parsing::<F>(format, true, out)
        })),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::testing::shown;

    #[test]
    fn fields() {
        let moment = "TIMESTAMP '2024-02-03 04:05:06.789012'";
        for (format, expected) in [
            ("%a|%A|%w|%u", "Sat|Saturday|6|6"),
            ("%d|%-d|%b|%h|%B|%m|%-m", "03|3|Feb|Feb|February|02|2"),
            ("%y|%-y|%Y|%G|%V", "24|24|2024|2024|05"),
            ("%H|%-H|%I|%-I|%p|%M|%-M|%S|%-S", "04|4|04|4|AM|05|5|06|6"),
            ("%g|%f|%n|%3f|%6f", "789|789012|789012000|789|789012"),
            ("%j|%-j|%U|%W", "034|34|04|05"),
            ("%c|%x|%X|%T|%F|%D|%R", "2024-02-03 04:05:06|2024-02-03|04:05:06|04:05:06|2024-02-03|02/03/24|04:05"),
            ("%z%Z|%%|é", "+00|%|é"),
            ("no fields", "no fields"),
        ] {
            assert_eq!(shown("strftime", &[moment, &format!("'{format}'")]), expected, "{format}");
        }
        for (value, format, expected) in [
            ("DATE '2024-12-30'", "%G-%V %U %W %j", "2025-01 52 53 365"),
            ("DATE '2023-01-01'", "%G-%V %U %W %j %u %w", "2022-52 01 00 001 7 0"),
            ("TIMESTAMP '0005-02-03 14:05:06'", "%Y %y %-y %G %x", "0005 05 5 0005 0005-02-03"),
            ("TIMESTAMP '0044-03-15 14:05:06 BC'", "%Y %y %-y %G %c %j", "-43 43 43 -43 -43-03-15 14:05:06 074"),
            ("TIMESTAMP '12345-02-03 00:05:06'", "%Y %y %I %p", "12345 45 12 AM"),
            ("DATE '1582-10-10'", "%A %d", "Sunday 10"),
            ("DATE '2024-02-29'", "%j", "060"),
            ("TIME '13:04:05.5'", "%H:%M:%S.%g", "13:04:05.500"),
            ("TIMESTAMPTZ '2024-02-03 04:05:06+00'", "%z %Z", "+00 UTC"),
            ("TIMESTAMP '290000-01-01 BC'", "%Y", "-289999"),
            ("NULL", "%Y", "NULL"),
        ] {
            assert_eq!(shown("date_format", &[value, &format!("'{format}'")]), expected, "{value} {format}");
        }
        assert_eq!(shown("strftime", &["DATE '2024-02-29'", "NULL"]), "NULL");
    }

    #[test]
    fn formats_that_are_none() {
        for (format, field) in [("%q", "'%q'"), ("abc%", "'%'"), ("%-a", "'%-a'"), ("%é", "'%é'"), ("%-", "'%-'")] {
            assert!(parse(format).unwrap_err().message().contains(field), "{format}");
        }
        assert!(parse("").unwrap().is_empty());
    }
}
