//! Times as text in PostgreSQL's templates, and times made from texts and from seconds.

use godwit_common::{Error, Result};
use godwit_plan::ArgumentType;
use godwit_types::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, SECONDS_PER_DAY, date_of, date_of_timestamp};
use godwit_types::calendar::{finite_timestamp, is_finite_date, is_finite_timestamp};
use godwit_types::{SqlType, Value, parse_value};

use super::fields::Fields;
use super::format::{Format as _, written};
use super::make::micros_of_fraction;
use super::moment::{Chosen, Moment, bad_argument, both, constant_text, in_range, out_of_range, time_function};
use super::template::Pattern;
use super::{strptime, template_read};
use crate::choose::fits;
use crate::function::{Form, Function};
use crate::number::to_char_of_number;
use crate::rows::{Answer, Date, Fixed, Text, Time, Timestamp, TimestampTz, scalar};

pub(super) fn functions() -> Vec<Function> {
    let to_char =
        time_function(&["to_char"], "A time or number as text, in a template such as 'YYYY-MM-DD' or '990.00'")
            .example("to_char(DATE '2024-02-29', 'DD.MM.YYYY')", "29.02.2024")
            .example("to_char(1234.5, 'FM9,990.00')", "1,234.50")
            .chosen("to_char(TIMESTAMP or number, VARCHAR)", |arguments| {
                to_char_of_number(arguments).or_else(|| written::<Pattern>(arguments))
            });
    let mut functions = vec![to_char, to_date(), to_time(), to_timestamp(), to_unixtime()];
    functions.extend(ticks());
    functions
}

/// A pattern and its text.
struct Named {
    text: String,
    pattern: Pattern,
}

impl Named {
    fn parse(text: &str) -> Result<Self> {
        Ok(Self { text: text.to_owned(), pattern: Pattern::parse(text)? })
    }

    /// Reads the fields of a text; returns the default year.
    fn read(&self, text: &str, fields: &mut Fields) -> Option<i64> {
        match &self.pattern {
            Pattern::Format(items) => strptime::read(items, text, fields).map(|()| strptime::YEAR),
            Pattern::Template(parts) => template_read::read(parts, text, fields).map(|()| template_read::YEAR),
        }
    }
}

/// Makes a value from the fields of a text, according to the first pattern that fits.
fn read<T>(patterns: &[Named], text: &str, make: impl Fn(&Fields, i64) -> Result<T>) -> Result<T> {
    for pattern in patterns {
        let mut fields = Fields::default();
        if let Some(year) = pattern.read(text, &mut fields) {
            return make(&fields, year).map_err(|error| error.context(format!("in '{text}'")));
        }
    }
    Err(strptime::mismatch(text, patterns.first().map_or("", |pattern| &pattern.text)))
}

/// Returns the form for a text and patterns, of which the first that fits is used.
fn of_text<R>(arguments: &[ArgumentType<'_>], make: fn(&Fields, i64) -> Result<R::Native>) -> Chosen
where
    R: Fixed,
    R::Native: 'static,
    Result<R::Native>: Answer<R::Native>,
{
    let all_fit = arguments.len() >= 2 && arguments.iter().all(|argument| fits(argument, &SqlType::Varchar));
    if !all_fit {
        return None;
    }
    let constants: Option<Vec<&str>> = arguments[1..].iter().map(constant_text).collect();
    Some(match constants.map(|patterns| patterns.into_iter().map(Named::parse).collect::<Result<Vec<_>>>()) {
        Some(Ok(patterns)) => {
            let form = scalar::<(Text,), R, _>(move |(text,)| read(&patterns, text, make));
            Ok((1..arguments.len()).fold(form, super::moment::with_constant))
        }
        Some(Err(error)) => Err(bad_argument(1, &error)),
        None if arguments.len() == 2 => {
            Ok(scalar::<(Text, Text), R, _>(move |(text, pattern)| read(&[Named::parse(pattern)?], text, make)))
        }
        None => return None,
    })
}

/// Creates the form for a text read as in a cast.
fn cast<R: Fixed>(of: fn(Value) -> Option<R::Native>) -> Form
where
    R::Native: 'static,
    Result<R::Native>: Answer<R::Native>,
{
    scalar::<(Text,), R, _>(move |(text,)| {
        of(parse_value(text, &R::TYPE)?).ok_or_else(|| Error::internal("a value is of another type"))
    })
}

fn days(value: Value) -> Option<i32> {
    if let Value::Date(days) = value { Some(days) } else { None }
}

fn ticks_of(value: Value) -> Option<i64> {
    if let Value::Timestamp(ticks) | Value::Time(ticks) = value { Some(ticks) } else { None }
}

fn date(timestamp: i64) -> Result<i32> {
    in_range(date_of_timestamp(timestamp, MICROS_PER_DAY), &SqlType::Date)
}

/// Returns the time of day; infinite timestamps have none.
fn time_of_day(timestamp: i64) -> Result<i64> {
    in_range(Moment::of_finite_timestamp(timestamp), &SqlType::Time).map(|moment| moment.micros)
}

fn to_date() -> Function {
    time_function(&["to_date", "date"], "The date of a text, which may be in a format or template, or of a timestamp")
        .example("to_date('29.02.2024', 'DD.MM.YYYY')", "2024-02-29")
        .form(cast::<Date>(days))
        .form(scalar::<(Date,), Date, _>(|(days,)| days))
        .form(scalar::<(Timestamp,), Date, _>(|(timestamp,)| date(timestamp)))
        .form(scalar::<(TimestampTz,), Date, _>(|(timestamp,)| date(timestamp)))
        .form(scalar::<(i64,), Date, _>(|(days,)| in_range(date_of(days), &SqlType::Date)))
        .chosen("to_date(VARCHAR, VARCHAR, …)", |arguments| {
            of_text::<Date>(arguments, |fields, year| in_range(date_of(fields.days(year)?), &SqlType::Date))
        })
}

fn to_time() -> Function {
    time_function(&["to_time"], "The time of day of a text, which may be in a format or template, or of a timestamp")
        .example("to_time('12.30', 'HH24.MI')", "12:30:00")
        .form(cast::<Time>(ticks_of))
        .form(scalar::<(Time,), Time, _>(|(micros,)| micros))
        .form(scalar::<(Timestamp,), Time, _>(|(timestamp,)| time_of_day(timestamp)))
        .form(scalar::<(TimestampTz,), Time, _>(|(timestamp,)| time_of_day(timestamp)))
        .chosen("to_time(VARCHAR, VARCHAR, …)", |arguments| of_text::<Time>(arguments, |fields, _| fields.time()))
}

fn to_timestamp() -> Function {
    time_function(
        &["to_timestamp"],
        "The moment that is a number of seconds after 1970 began, or the timestamp of a text, which may be in a format or \
         template",
    )
    .example("to_timestamp('29.02.2024 10:11', 'DD.MM.YYYY HH24:MI')", "2024-02-29 10:11:00")
    .example("to_timestamp(1.5)", "1970-01-01 00:00:01.5+00")
    .form(cast::<Timestamp>(ticks_of))
    .form(scalar::<(i64,), TimestampTz, _>(|(seconds,)| {
        in_range(seconds.checked_mul(MICROS_PER_SECOND), &SqlType::TimestampTz)
    }))
    .form(scalar::<(f64,), TimestampTz, _>(|(seconds,)| micros_of_fraction(seconds)))
    .form(scalar::<(Timestamp,), Timestamp, _>(|(timestamp,)| timestamp))
    .form(scalar::<(TimestampTz,), TimestampTz, _>(|(timestamp,)| timestamp))
    .chosen("to_timestamp(VARCHAR, VARCHAR, …)", |arguments| of_text::<Timestamp>(arguments, Fields::timestamp))
}

fn to_unixtime() -> Function {
    let seconds = |timestamp: i64| finite_timestamp(timestamp).map(|micros| micros.div_euclid(MICROS_PER_SECOND));
    let function =
        time_function(&["to_unixtime"], "Whole seconds since 1970 of a time, or of a text, which may be in a format")
            .example("to_unixtime(TIMESTAMP '1970-01-01 00:01:00')", "60")
            .form(scalar::<(Text,), i64, _>(move |(text,)| {
                let timestamp = ticks_of(parse_value(text, &SqlType::Timestamp)?);
                timestamp.map(seconds).ok_or_else(|| out_of_range(&SqlType::Timestamp))
            }))
            .form(scalar::<(Date,), i64, _>(|(days,)| is_finite_date(days).then(|| i64::from(days) * SECONDS_PER_DAY)))
            .form(scalar::<(i64,), i64, _>(|(seconds,)| seconds))
            .form(scalar::<(f64,), i64, _>(move |(number,)| micros_of_fraction(number).map(seconds)));
    both(function, scalar::<(Timestamp,), i64, _>(move |(timestamp,)| seconds(timestamp)))
        .chosen("to_unixtime(VARCHAR, VARCHAR, …)", |arguments| {
            of_text::<i64>(arguments, |fields, year| Ok(fields.timestamp(year)?.div_euclid(MICROS_PER_SECOND)))
        })
}

/// Timestamps in other ticks: names, an example, the type, the length of a tick.
fn ticks() -> Vec<Function> {
    let function = |names, description, example: (&'static str, &'static str), ty: SqlType, nanos: i64| {
        let of = ty.clone();
        // Ticks per microsecond if they are shorter, otherwise microseconds per tick.
        let (ticks_of_timestamp, per_tick) = (1_000 / nanos.min(1_000), nanos.max(1_000) / 1_000);
        let rescaled = move |micros: i64| match is_finite_timestamp(micros) {
            true => in_range(micros.div_euclid(per_tick).checked_mul(ticks_of_timestamp), &of),
            false => Ok(micros),
        };
        let of_timestamp = {
            let rescaled = rescaled.clone();
            scalar::<(Timestamp,), Timestamp, _>(move |(timestamp,)| rescaled(timestamp))
        };
        let of_text = scalar::<(Text,), Timestamp, _>(move |(text,)| {
            let timestamp = ticks_of(parse_value(text, &SqlType::Timestamp)?);
            rescaled(timestamp.ok_or_else(|| out_of_range(&SqlType::Timestamp))?)
        });
        time_function(names, description)
            .example(example.0, example.1)
            .form(of_text.with_types([SqlType::Varchar], ty.clone()))
            .form(scalar::<(i64,), Timestamp, _>(|(ticks,)| ticks).with_types([SqlType::BigInt], ty.clone()))
            .form(of_timestamp.clone().with_types([SqlType::Timestamp], ty.clone()))
            .form(of_timestamp.with_types([SqlType::TimestampTz], ty))
    };
    vec![
        function(
            &["to_timestamp_seconds"],
            "The timestamp of whole seconds since 1970, or of a text",
            ("to_timestamp_seconds(60)", "1970-01-01 00:01:00"),
            SqlType::TimestampS,
            1_000_000_000,
        ),
        function(
            &["to_timestamp_millis"],
            "The timestamp of milliseconds since 1970, or of a text",
            ("to_timestamp_millis(1500)", "1970-01-01 00:00:01.5"),
            SqlType::TimestampMs,
            1_000_000,
        ),
        function(
            &["to_timestamp_micros"],
            "The timestamp of microseconds since 1970, or of a text",
            ("to_timestamp_micros(1500000)", "1970-01-01 00:00:01.5"),
            SqlType::Timestamp,
            1_000,
        ),
        function(
            &["to_timestamp_nanos"],
            "The timestamp of nanoseconds since 1970, or of a text",
            ("to_timestamp_nanos(1500000000)", "1970-01-01 00:00:01.5"),
            SqlType::TimestampNs,
            1,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn templates_are_written() {
        let moment = "TIMESTAMP '2020-01-05 13:04:05.006007'";
        for (template, expected) in [
            ("YYYY-MM-DD", "2020-01-05"),
            ("YY/FMMM/FMDD", "20/1/5"),
            ("HH24:MI:SS.MS US", "13:04:05.006 006007"),
            ("HH12 AM, hh pm, P.M.", "01 PM, 01 pm, P.M."),
            ("Day|FMDay, FMMonth MON dy", "Sunday   |Sunday, January JAN sun"),
            ("\"Quarter\" Q, DDD D ID", "Quarter 1, 005 1 7"),
            ("%Y", "2020"),
            ("YYY Y Y,YYY IYYY IY IW IDDD", "020 0 2,020 2020 20 01 007"),
            ("W WW CC J", "1 01 21 2458854"),
            ("RM|FMrm", "I   |i"),
            ("FF1 FF4 SSSS", "0 0060 47045"),
            ("FMDDth FMDDDTH", "5th 5TH"),
            ("YYYY-MM-DDTHH24:MI", "2020-01-05T13:04"),
            ("YYYY AD b.c.", "2020 AD a.d."),
            ("\"a\\\"b\" é", "a\"b é"),
            ("OF TZH:TZM|TZ", "+00 +00:00|"),
            ("", ""),
        ] {
            assert_eq!(shown("to_char", &[moment, &format!("'{template}'")]), expected, "{template}");
        }
        for (value, template, expected) in [
            ("DATE '0044-03-15 BC'", "YYYY BC CC", "0044 BC -01"),
            ("DATE '12345-03-15'", "YYYY-MM", "12345-03"),
            ("TIMESTAMPTZ '2024-01-01 00:00:00+00'", "HH24 HH12 AM TZ tz", "00 12 AM UTC utc"),
            ("TIME '13:04:05'", "HH24:MI", "13:04"),
            ("DATE '2021-01-11'", "DDth", "11th"),
            ("DATE '2021-01-22'", "FMDDth FMMMth", "22nd 1st"),
            ("NULL", "YYYY", "NULL"),
        ] {
            assert_eq!(shown("to_char", &[value, &format!("'{template}'")]), expected, "{value} {template}");
        }
    }

    #[test]
    fn templates_are_read() {
        for (name, text, template, expected) in [
            ("to_date", "29.02.2024", "DD.MM.YYYY", "2024-02-29"),
            ("to_date", "20240229", "YYYYMMDD", "2024-02-29"),
            ("to_date", "2024-2-9", "YYYY-MM-DD", "2024-02-09"),
            ("to_date", "05 Dec 2000", "DD Mon YYYY", "2000-12-05"),
            ("to_date", "5 december 00", "FMDD FMMonth YY", "2000-12-05"),
            ("to_date", "2024/02/29 and more", "YYYY-MM-DD", "2024-02-29"),
            ("to_date", "2024-060", "YYYY-DDD", "2024-02-29"),
            ("to_date", "2024-W09-4", "IYYY-\"W\"IW-ID", "2024-02-29"),
            ("to_date", "2458854", "J", "2020-01-05"),
            ("to_date", "44 BC", "YYYY BC", "0044-01-01 BC"),
            ("to_date", "12345-01-02", "YYYY-MM-DD", "12345-01-02"),
            ("to_date", "5th IX 95", "DDth RM YY", "1995-09-05"),
            ("to_date", "29.02.2024", "%d.%m.%Y", "2024-02-29"),
            ("to_timestamp", "05 Dec 2000 01:02:03.5 PM", "DD Mon YYYY HH12:MI:SS.MS PM", "2000-12-05 13:02:03.5"),
            ("to_timestamp", "2024-07-01 12:00+02", "YYYY-MM-DD HH24:MITZH", "2024-07-01 10:00:00"),
            ("to_timestamp", "2024-07-01 12:00 -03:30", "YYYY-MM-DD HH24:MI TZH:TZM", "2024-07-01 15:30:00"),
            ("to_timestamp", "3600", "SSSS", "0001-01-01 01:00:00 BC"),
            ("to_time", "12.30", "HH24.MI", "12:30:00"),
            ("to_time", "123045", "%H%M%S", "12:30:45"),
            ("to_unixtime", "01.01.1970 00:01", "%d.%m.%Y %H:%M", "60"),
        ] {
            let (text, template) = (format!("'{text}'"), format!("'{template}'"));
            assert_eq!(shown(name, &[&text, &template]), expected, "{name} {text} {template}");
        }
        assert!(error_of("to_date", &["'30.02.2024'", "'DD.MM.YYYY'"]).contains("no such day"));
        assert!(error_of("to_date", &["'x'", "'DD.MM.YYYY'"]).contains("isn't in the format"));
        assert!(error_of("to_time", &["'25:00'", "'HH24:MI'"]).contains("no such time"));
        assert_eq!(shown("to_date", &["'1.2.24'", "'%Y-%m-%d'", "'%d.%m.%y'"]), "2024-02-01");
        assert_eq!(shown("to_date", &["NULL", "'YYYY'"]), "NULL");
        assert!(error_of("to_date", &["'9999999999'", "'J'"]).contains("out of range for DATE"));
    }

    #[test]
    fn texts_and_numbers() {
        for (name, argument, expected) in [
            ("to_date", "'2024-02-29'", "2024-02-29"),
            ("date", "TIMESTAMP '2024-02-29 23:00:00'", "2024-02-29"),
            ("to_date", "19782", "2024-02-29"),
            ("to_time", "'12:30'", "12:30:00"),
            ("to_timestamp", "'2024-02-29 10:11:12'", "2024-02-29 10:11:12"),
            ("to_timestamp", "1000000000000", "33658-09-27 01:46:40+00"),
            ("to_timestamp", "1.5", "1970-01-01 00:00:01.5+00"),
            ("to_timestamp", "DATE '2024-02-29'", "2024-02-29 00:00:00"),
            ("to_timestamp_seconds", "60", "1970-01-01 00:01:00"),
            ("to_timestamp_seconds", "TIMESTAMP '1969-12-31 23:59:59.5'", "1969-12-31 23:59:59"),
            ("to_timestamp_millis", "'2024-02-29 10:11:12.5'", "2024-02-29 10:11:12.5"),
            ("to_timestamp_micros", "-1", "1969-12-31 23:59:59.999999"),
            ("to_timestamp_nanos", "1", "1970-01-01 00:00:00.000000001"),
            ("to_timestamp_nanos", "TIMESTAMP '2024-02-29 10:11:12.5'", "2024-02-29 10:11:12.5"),
            ("to_unixtime", "TIMESTAMP '1969-12-31 23:59:59.5'", "-1"),
            ("to_unixtime", "'1970-01-01 00:01:00'", "60"),
            ("to_unixtime", "DATE '1970-01-02'", "86400"),
        ] {
            assert_eq!(shown(name, &[argument]), expected, "{name}({argument})");
        }
        for argument in ["9223372036854775807", "DOUBLE 'nan'", "1e300", "DOUBLE '-inf'"] {
            assert!(error_of("to_timestamp", &[argument]).contains("out of range for TIMESTAMP"), "{argument}");
        }
        assert!(error_of("to_timestamp_nanos", &["TIMESTAMP '9999-12-31'"]).contains("out of range for TIMESTAMP_NS"));
        assert!(call("to_date", &["'nonsense'"]).is_err());
    }
}
