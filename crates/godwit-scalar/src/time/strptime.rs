//! Parsing of texts in the formats of `strftime`.
//!
//! Numbers may have fewer digits than are written, names are read in any case. A blank matches any number of blanks,
//! and blanks around the text are ignored. Missing fields are those of 1900-01-01 00:00.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::ArgumentType;
use godwit_types::{SqlType, TimeZone, Value};

use super::fields::Fields;
use super::format::{Field, Item, Number, parse};
use super::moment::{Chosen, bad_argument, constant_text, time_function, with_constant};
use super::names::{DAYS, MONTHS, find};
use crate::choose::fits;
use crate::function::{Form, Function};
use crate::rows::{Text, Timestamp, scalar};

pub(super) fn functions() -> Vec<Function> {
    vec![
        time_function(
            &["strptime"],
            "The timestamp of a text in a format such as %Y-%m-%d, or in the first fitting of a list",
        )
        .example("strptime('29.02.2024 10:11', '%d.%m.%Y %H:%M')", "2024-02-29 10:11:00")
        .chosen("strptime(VARCHAR, VARCHAR or VARCHAR[])", |arguments| reading(arguments, false)),
        time_function(&["try_strptime"], "The timestamp of a text in a format, or NULL if the text is in another")
            .example("try_strptime('tomorrow', '%d.%m.%Y')", "NULL")
            .chosen("try_strptime(VARCHAR, VARCHAR or VARCHAR[])", |arguments| reading(arguments, true)),
    ]
}

/// The default year.
pub(super) const YEAR: i64 = 1_900;

/// The error for a text that doesn't match a format.
pub(super) fn mismatch(text: &str, format: &str) -> Error {
    let shown: String = text.chars().take(60).collect();
    Error::user(format!("'{shown}' isn't in the format '{format}'")).with_code(SqlState::INVALID_TEXT_REPRESENTATION)
}

/// Reads the fields of a text; `None` if it doesn't match the format.
pub(super) fn read(items: &[Item], text: &str, fields: &mut Fields) -> Option<()> {
    let mut rest = trimmed(text);
    for item in items {
        match item {
            Item::Text(expected) => rest = after_text(rest, expected)?,
            Item::Field(field) => rest = field.read(rest, fields)?,
        }
    }
    trimmed(rest).is_empty().then_some(())
}

/// Strips blanks at the front; most texts have none.
#[inline]
fn trimmed(text: &str) -> &str {
    if text.as_bytes().first().is_some_and(|byte| byte.is_ascii_graphic()) { text } else { text.trim_start() }
}

fn after_text<'t>(mut text: &'t str, expected: &str) -> Option<&'t str> {
    if let Some(rest) = text.strip_prefix(expected)
        && !expected.ends_with(char::is_whitespace)
    {
        return Some(rest);
    }
    for character in expected.chars() {
        text = match character.is_whitespace() {
            true => text.trim_start(),
            false => text.strip_prefix(character)?,
        };
    }
    Some(text)
}

/// Reads digits at the start of a text: at least one and no more than `most`, which is at most 18.
#[inline]
pub(super) fn digits(text: &str, most: usize) -> Option<(i64, &str)> {
    let mut number = 0;
    let mut count = 0;
    for byte in text.bytes().take(most).take_while(u8::is_ascii_digit) {
        number = number * 10 + i64::from(byte - b'0');
        count += 1;
    }
    (count > 0).then(|| (number, &text[count..]))
}

/// Reads digits as a fraction of a second, in microseconds.
pub(super) fn fraction(text: &str, most: usize) -> Option<(i64, &str)> {
    let (number, rest) = digits(text, most)?;
    let count = (text.len() - rest.len()) as u32;
    Some((if count <= 6 { number * 10_i64.pow(6 - count) } else { number / 10_i64.pow(count - 6) }, rest))
}

impl Field {
    /// Reads a field; returns the rest of the text.
    fn read<'t>(self, text: &'t str, fields: &mut Fields) -> Option<&'t str> {
        let micros = |most| fraction(text, most);
        let (value, rest) = match self {
            Self::DayShort | Self::DayName => {
                let (day, length) = find(&DAYS, text)?;
                (&mut fields.day_of_week, Some((day as i64, &text[length..])))
            }
            Self::MonthShort | Self::MonthName => {
                let (month, length) = find(&MONTHS, text)?;
                (&mut fields.month, Some((month as i64 + 1, &text[length..])))
            }
            Self::DayOfWeek => (&mut fields.day_of_week, digits(text, 1).filter(|(day, _)| *day < 7)),
            Self::IsoDayOfWeek => {
                let day = digits(text, 1).filter(|(day, _)| (1..=7).contains(day));
                (&mut fields.day_of_week, day.map(|(day, rest)| (day % 7, rest)))
            }
            Self::Year => (&mut fields.year, digits(text, 4)),
            Self::IsoYear => (&mut fields.iso_year, digits(text, 4)),
            Self::Number(number, _) => return number.read(text, fields),
            Self::Millisecond => (&mut fields.micros, micros(3)),
            Self::Microsecond => (&mut fields.micros, micros(6)),
            Self::Nanosecond => (&mut fields.micros, micros(9)),
            Self::HalfDay => {
                let half = text.get(..2)?;
                let is_afternoon = half.eq_ignore_ascii_case("PM");
                if !is_afternoon && !half.eq_ignore_ascii_case("AM") {
                    return None;
                }
                fields.is_afternoon = Some(is_afternoon);
                return Some(&text[2..]);
            }
            Self::Offset => {
                let (seconds, rest) = offset(text)?;
                (&mut fields.offset, Some((seconds, rest)))
            }
            Self::ZoneName => {
                let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_/+-".contains(letter);
                let end = text.find(|letter| !is_part(letter)).unwrap_or(text.len());
                fields.zone = Some(TimeZone::named(&text[..end]).ok()?);
                return Some(&text[end..]);
            }
        };
        let (found, rest) = rest?;
        *value = Some(found);
        Some(rest)
    }
}

impl Number {
    fn read<'t>(self, text: &'t str, fields: &mut Fields) -> Option<&'t str> {
        let (found, rest) = digits(text, self.width())?;
        let (value, range) = match self {
            Self::Day => (&mut fields.day, 1..=31),
            Self::Month => (&mut fields.month, 1..=12),
            Self::YearOfCentury => {
                fields.year = Some(found + if found < 69 { 2_000 } else { 1_900 });
                return Some(rest);
            }
            Self::Hour24 => (&mut fields.hour, 0..=23),
            Self::Hour12 => (&mut fields.hour, 1..=12),
            Self::Minute => (&mut fields.minute, 0..=59),
            Self::Second => (&mut fields.second, 0..=59),
            Self::DayOfYear => (&mut fields.day_of_year, 1..=366),
            Self::SundayWeek => (&mut fields.sunday_week, 0..=53),
            Self::MondayWeek => (&mut fields.monday_week, 0..=53),
            Self::IsoWeek => (&mut fields.iso_week, 1..=53),
        };
        *value = Some(found).filter(|found| range.contains(found));
        value.map(|_| rest)
    }
}

/// Reads `+HH`, `+HHMM`, `+HH:MM` or `Z`, in seconds.
pub(super) fn offset(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text.strip_prefix(['Z', 'z']) {
        return Some((0, rest));
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, rest) = digits(text.strip_prefix(['+', '-'])?, 2)?;
    let minutes = digits(rest.strip_prefix(':').unwrap_or(rest), 2).filter(|(minutes, _)| *minutes < 60);
    let (minutes, rest) = minutes.unwrap_or((0, rest));
    Some((sign * (hours * 60 + minutes) * 60, rest))
}

fn tells_zone(items: &[Item]) -> bool {
    items.iter().any(|item| matches!(item, Item::Field(Field::Offset | Field::ZoneName)))
}

fn timestamp(formats: &[(String, Vec<Item>)], text: &str) -> Result<i64> {
    for (_, items) in formats {
        let mut fields = Fields::default();
        if read(items, text, &mut fields).is_some() {
            return fields.timestamp(YEAR).map_err(|error| error.context(format!("in '{text}'")));
        }
    }
    Err(mismatch(text, formats.first().map_or("", |(format, _)| format)))
}

fn parsed(format: &str) -> Result<(String, Vec<Item>)> {
    Ok((format.to_owned(), parse(format)?))
}

fn reading(arguments: &[ArgumentType<'_>], is_lenient: bool) -> Chosen {
    let [text, formats] = arguments else { return None };
    if !fits(text, &SqlType::Varchar) {
        return None;
    }
    let list = SqlType::list_of(SqlType::Varchar);
    let formats = match formats.value {
        Some(Value::List(formats)) if fits(arguments.last()?, &list) => {
            let text = |format: &Value| if let Value::Text(text) = format { Some(parsed(text)) } else { None };
            formats.iter().map(text).collect::<Option<Result<Vec<_>>>>()?
        }
        _ if !fits(formats, &SqlType::Varchar) => return None,
        _ => match constant_text(formats) {
            Some(format) => parsed(format).map(|format| vec![format]),
            None => return Some(Ok(reading_any(is_lenient))),
        },
    };
    let formats = match formats {
        Ok(formats) => formats,
        Err(error) => return Some(Err(bad_argument(1, &error))),
    };
    let is_zoned = formats.iter().any(|(_, items)| tells_zone(items));
    let is_list = arguments[1].ty.element().is_some();
    let form = match is_lenient {
        true => scalar::<(Text,), Timestamp, _>(move |(text,)| timestamp(&formats, text).ok()),
        false => scalar::<(Text,), Timestamp, _>(move |(text,)| timestamp(&formats, text)),
    };
    let form = Form { result: if is_zoned { SqlType::TimestampTz } else { SqlType::Timestamp }, ..form };
    let form = with_constant(form, 1);
    Some(Ok(if is_list { Form { arguments: vec![SqlType::Varchar, list], ..form } } else { form }))
}

/// Returns the form for a format that varies by row.
fn reading_any(is_lenient: bool) -> Form {
    match is_lenient {
        true => scalar::<(Text, Text), Timestamp, _>(|(text, format)| {
            let format = parsed(format)?;
            Ok::<_, Error>(timestamp(&[format], text).ok())
        }),
        false => scalar::<(Text, Text), Timestamp, _>(|(text, format)| timestamp(&[parsed(format)?], text)),
    }
}

#[cfg(test)]
mod tests {
    use godwit_types::{SqlType, Value, format_value};

    use crate::testing::{call, error_of, shown};

    #[test]
    fn texts_are_read() {
        for (text, format, expected) in [
            ("2024-02-03 04:05:06.789012", "%Y-%m-%d %H:%M:%S.%f", "2024-02-03 04:05:06.789012"),
            ("2024-02-03 04:05:06.7", "%Y-%m-%d %H:%M:%S.%f", "2024-02-03 04:05:06.7"),
            ("2024-02-03 04:05:06.789", "%c.%g", "2024-02-03 04:05:06.789"),
            ("2024-02-03 04:05:06.123456789", "%c.%n", "2024-02-03 04:05:06.123456"),
            ("24-2-3", "%y-%m-%d", "2024-02-03 00:00:00"),
            ("69-2-3", "%y-%-m-%-d", "1969-02-03 00:00:00"),
            ("Sat 3 Feb 2024 4 PM", "%a %d %b %Y %I %p", "2024-02-03 16:00:00"),
            ("saturday, february 3, 2024", "%A, %B %d, %Y", "2024-02-03 00:00:00"),
            ("2024-034", "%Y-%j", "2024-02-03 00:00:00"),
            ("2024 05 6", "%Y %U %w", "2024-02-10 00:00:00"),
            ("2024 05 6", "%Y %W %u", "2024-02-03 00:00:00"),
            ("2024 05 6", "%G %V %u", "2024-02-03 00:00:00"),
            ("2024 05", "%Y %U", "2024-02-04 00:00:00"),
            ("2024 05", "%G %V", "2024-01-29 00:00:00"),
            ("12:30", "%H:%M", "1900-01-01 12:30:00"),
            ("  2024-12-30  ", "%x", "2024-12-30 00:00:00"),
            ("2024-12-30 12:00 AM", "%F %I:%M %p", "2024-12-30 00:00:00"),
            ("2024-12-30 12:00 pm", "%F %I:%M %p", "2024-12-30 12:00:00"),
            ("2024-12-30 01:00 PM", "%F %H:%M %p", "2024-12-30 13:00:00"),
            ("20241230123456", "%Y%m%d%H%M%S", "2024-12-30 12:34:56"),
            ("44-01-01", "%Y-%m-%d", "0044-01-01 00:00:00"),
            ("100%", "%y0%%", "2010-01-01 00:00:00"),
            ("2024 \t 12", "%Y %m", "2024-12-01 00:00:00"),
            ("0", "%Y", "0001-01-01 00:00:00 BC"),
            ("2024-02-03 04:05:06 +02:30", "%c %z", "2024-02-03 01:35:06+00"),
            ("2024-02-03 04:05:06 -0800", "%c %z", "2024-02-03 12:05:06+00"),
            ("2024-02-03 04:05:06Z", "%c%z", "2024-02-03 04:05:06+00"),
            ("2024-02-03 04:05:06 Europe/Berlin", "%c %Z", "2024-02-03 03:05:06+00"),
        ] {
            let arguments = [format!("'{text}'"), format!("'{format}'")];
            assert_eq!(shown("strptime", &[&arguments[0], &arguments[1]]), expected, "{text} {format}");
        }
        assert_eq!(call("strptime", &["'1'", "'%d'"]).unwrap().1, SqlType::Timestamp);
        assert_eq!(shown("strptime", &["NULL", "'%d'"]), "NULL");
        assert_eq!(shown("strptime", &["'2024'", "NULL"]), "NULL");
    }

    proptest::proptest! {
        /// Years have four digits in formats, but may have more in templates.
        #[test]
        fn what_is_written_is_read(
            micros in -62_135_596_800_000_000_i64..253_402_300_800_000_000,
            years in 0..200_000_i64,
        ) {
            const FORMATS: [&str; 4] = [
                "'%Y-%m-%d %H:%M:%S.%f'",
                "'%j/%Y %I.%M.%S.%n %p'",
                "'%A %u %V %G %T.%f'",
                "'%B %-d, %Y %T.%f'",
            ];
            const TEMPLATES: [&str; 3] = [
                "'YYYY-MM-DD HH24:MI:SS.US'",
                "'YYYY AD, FMDDDth Day, SSSS US'",
                "'FMDD. FMMonth YYYY HH12:MI:SS.FF6 AM'",
            ];
            let read_back = |write: [&str; 2], read: [&str; 2], micros: i64| {
                let moment = format_value(&Value::Timestamp(micros), &SqlType::Timestamp);
                let text = format!("'{}'", shown(write[0], &[&format!("TIMESTAMP '{moment}'"), write[1]]));
                assert_eq!(shown(read[0], &[&text, read[1]]), moment, "{text}");
            };
            for format in FORMATS {
                read_back(["strftime", format], ["strptime", format], micros);
            }
            let far = micros + years * 365 * 86_400_000_000;
            for template in TEMPLATES {
                read_back(["to_char", template], ["to_timestamp", template], far);
            }
        }
    }

    #[test]
    fn texts_in_other_formats() {
        for (text, format) in [
            ("2024-13-30", "%Y-%m-%d"),
            ("2024-12-30x", "%Y-%m-%d"),
            ("2024-12-30", "%Y-%m-%d %H"),
            ("2024-12-30", "%Y %m %d"),
            ("24:00", "%H:%M"),
            ("13:00 PM", "%I:%M %p"),
            ("12345-01-01", "%Y-%m-%d"),
            ("-0044-01-01", "%Y-%m-%d"),
            ("00:00:60", "%H:%M:%S"),
            ("é", "%a"),
            ("", "%Y"),
            ("2024-01-01 Nowhere", "%x %Z"),
        ] {
            let (text, format) = (format!("'{text}'"), format!("'{format}'"));
            assert!(error_of("strptime", &[&text, &format]).contains("isn't in the format"), "{text} {format}");
            assert_eq!(shown("try_strptime", &[&text, &format]), "NULL", "{text} {format}");
        }
        assert!(error_of("strptime", &["'2024-02-30'", "'%Y-%m-%d'"]).contains("no such day"));
        assert!(error_of("strptime", &["'2023-366'", "'%Y-%j'"]).contains("no such day"));
        assert!(error_of("strptime", &["'13:00 PM'", "'%H:%M %p'"]).contains("no such time"));
        assert_eq!(shown("try_strptime", &["'2024-02-30'", "'%Y-%m-%d'"]), "NULL");
    }

    #[test]
    fn the_first_format_that_fits() {
        let formats = "VARCHAR[] '[%d.%m.%Y, %Y-%m-%d]'";
        assert_eq!(shown("strptime", &["'2024-01-02'", formats]), "2024-01-02 00:00:00");
        assert_eq!(shown("strptime", &["'02.01.2024'", formats]), "2024-01-02 00:00:00");
        assert_eq!(shown("try_strptime", &["'today'", formats]), "NULL");
    }
}
