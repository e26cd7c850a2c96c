//! Fields of dates, times, timestamps and intervals.
//!
//! Fields are integers; those below the second include the whole second: 1.5 seconds are 1,500 milliseconds. Years are
//! astronomical: the year 0 is 1 BC. The fields of infinite times are NULL.

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, SECONDS_PER_DAY, finite_timestamp};
use godwit_types::{Interval, IntervalUnit, SqlType, TimeTz as ZonedTime};

use super::moment::{
    Chosen, JULIAN_DAY_OF_1970, MICROS_PER_HOUR, MICROS_PER_MINUTE, Moment, bad_argument, constant_text, invalid,
    kind_of, time_function, with_constant, zoned,
};
use crate::choose::fits;
use crate::function::{Form, Function};
use crate::rows::{Date, Intervals, Text, Time, TimeTz, Timestamp, scalar};

pub(super) fn functions() -> Vec<Function> {
    let date_part = time_function(&["date_part", "datepart"], "A field of a date, time, timestamp or interval")
        .example("date_part('year', DATE '2024-02-29')", "2024")
        .example("date_part('epoch', INTERVAL '1 minute')", "60.0")
        .chosen("date_part(VARCHAR, DATE, TIME, TIMESTAMP or INTERVAL)", date_part);
    NAMED.iter().map(named).chain([date_part]).collect()
}

/// A function that is named after a field: names, field, description, a call, its result.
type Named = (&'static [&'static str], Part, &'static str, &'static str, &'static str);

const NAMED: [Named; 24] = [
    (
        &["millennium"],
        Part::Millennium,
        "The millennium, which begins in 1001, 2001, …",
        "millennium(DATE '2001-01-01')",
        "3",
    ),
    (&["century"], Part::Century, "The century, which begins in 1901, 2001, …", "century(DATE '2000-12-31')", "20"),
    (&["decade"], Part::Decade, "The year divided by 10", "decade(DATE '1999-12-31')", "199"),
    (&["year"], Part::Year, "The year", "year(DATE '2024-02-29')", "2024"),
    (&["isoyear"], Part::IsoYear, "The year that the week belongs to", "isoyear(DATE '2024-12-30')", "2025"),
    (&["quarter"], Part::Quarter, "The quarter of the year", "quarter(DATE '2024-05-17')", "2"),
    (&["month"], Part::Month, "The month", "month(DATE '2024-05-17')", "5"),
    (&["week", "weekofyear"], Part::Week, "The week of the year, after ISO 8601", "week(DATE '2024-12-30')", "1"),
    (
        &["yearweek"],
        Part::YearWeek,
        "Year and week after ISO 8601 in one number",
        "yearweek(DATE '2024-12-30')",
        "202501",
    ),
    (&["day", "dayofmonth"], Part::Day, "The day of the month", "day(DATE '2024-05-17')", "17"),
    (
        &["dayofweek", "weekday"],
        Part::DayOfWeek,
        "The day of the week, Sunday being 0",
        "dayofweek(DATE '2024-05-17')",
        "5",
    ),
    (&["isodow"], Part::IsoDayOfWeek, "The day of the week, Monday being 1", "isodow(DATE '2024-05-19')", "7"),
    (&["dayofyear"], Part::DayOfYear, "The day of the year", "dayofyear(DATE '2024-03-01')", "61"),
    (&["hour"], Part::Hour, "The hour", "hour(TIME '12:30:00')", "12"),
    (&["minute"], Part::Minute, "The minute", "minute(TIME '12:30:00')", "30"),
    (&["second"], Part::Second, "The second", "second(TIME '12:30:01.5')", "1"),
    (&["millisecond"], Part::Millisecond, "Seconds in milliseconds", "millisecond(TIME '12:30:01.5')", "1500"),
    (&["microsecond"], Part::Microsecond, "Seconds in microseconds", "microsecond(TIME '12:30:01.5')", "1500000"),
    (&["nanosecond"], Part::Nanosecond, "Seconds in nanoseconds", "nanosecond(TIME '12:30:01.5')", "1500000000"),
    (
        &["epoch"],
        Part::Epoch,
        "Seconds since 1970, of a time since midnight, of an interval all",
        "epoch(TIME '00:01:01.5')",
        "61.5",
    ),
    (&["julian"], Part::Julian, "The Julian day", "julian(DATE '2020-01-01')", "2458850.0"),
    (&["era"], Part::Era, "1, or 0 before the year 1", "era(DATE '2024-01-01')", "1"),
    (
        &["timezone_hour"],
        Part::TimezoneHour,
        "Hours that the time zone is ahead of UTC",
        "timezone_hour(TIMESTAMP '2024-01-01')",
        "0",
    ),
    (
        &["timezone_minute"],
        Part::TimezoneMinute,
        "Minutes besides them",
        "timezone_minute(TIMESTAMP '2024-01-01')",
        "0",
    ),
];

/// A field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Millennium,
    Century,
    Decade,
    Year,
    IsoYear,
    Quarter,
    Month,
    Week,
    YearWeek,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    Era,
    Timezone,
    TimezoneHour,
    TimezoneMinute,
    /// A DOUBLE, like the next one.
    Epoch,
    Julian,
}

impl Part {
    fn named(name: &str) -> Result<Self> {
        Ok(match name.to_lowercase().as_str() {
            "isoyear" => Self::IsoYear,
            "yearweek" => Self::YearWeek,
            "weekofyear" => Self::Week,
            "dayofmonth" => Self::Day,
            "dow" | "dayofweek" | "weekday" => Self::DayOfWeek,
            "isodow" => Self::IsoDayOfWeek,
            "doy" | "dayofyear" => Self::DayOfYear,
            "nanosecond" | "nanoseconds" | "ns" => Self::Nanosecond,
            "era" => Self::Era,
            "timezone" => Self::Timezone,
            "timezone_hour" => Self::TimezoneHour,
            "timezone_minute" => Self::TimezoneMinute,
            "epoch" => Self::Epoch,
            "julian" => Self::Julian,
            other => match IntervalUnit::from_name(other) {
                Some(IntervalUnit::Microsecond) => Self::Microsecond,
                Some(IntervalUnit::Millisecond) => Self::Millisecond,
                Some(IntervalUnit::Second) => Self::Second,
                Some(IntervalUnit::Minute) => Self::Minute,
                Some(IntervalUnit::Hour) => Self::Hour,
                Some(IntervalUnit::Day) => Self::Day,
                Some(IntervalUnit::Week) => Self::Week,
                Some(IntervalUnit::Month) => Self::Month,
                Some(IntervalUnit::Quarter) => Self::Quarter,
                Some(IntervalUnit::Year) => Self::Year,
                Some(IntervalUnit::Decade) => Self::Decade,
                Some(IntervalUnit::Century) => Self::Century,
                Some(IntervalUnit::Millennium) => Self::Millennium,
                None => return Err(unknown_field(name)),
            },
        })
    }

    fn is_double(self) -> bool {
        matches!(self, Self::Epoch | Self::Julian)
    }

    /// Returns an integer field.
    #[inline(always)]
    fn of(self, moment: Moment) -> i64 {
        match self {
            Self::Millennium => era_of(moment.civil().year, 1_000),
            Self::Century => era_of(moment.civil().year, 100),
            Self::Decade => moment.civil().year.div_euclid(10),
            Self::Year => moment.civil().year,
            Self::IsoYear => moment.iso_week().0,
            Self::Quarter => (moment.civil().month + 2) / 3,
            Self::Month => moment.civil().month,
            Self::Week => moment.iso_week().1,
            Self::YearWeek => {
                let (year, week) = moment.iso_week();
                year * 100 + if year > 0 { week } else { -week }
            }
            Self::Day => moment.civil().day,
            Self::DayOfWeek => moment.day_of_week(),
            Self::IsoDayOfWeek => moment.iso_day_of_week(),
            Self::DayOfYear => moment.day_of_year(),
            Self::Hour => moment.hour(),
            Self::Minute => moment.minute(),
            Self::Second => moment.second(),
            Self::Millisecond => moment.micros % MICROS_PER_MINUTE / 1_000,
            Self::Microsecond => moment.micros % MICROS_PER_MINUTE,
            Self::Nanosecond => moment.micros % MICROS_PER_MINUTE * 1_000,
            Self::Era => i64::from(moment.civil().year > 0),
            // Times are in UTC here: those in other zones were converted to local time before.
            Self::Timezone | Self::TimezoneHour | Self::TimezoneMinute => 0,
            Self::Epoch | Self::Julian => unreachable!("it is a DOUBLE"),
        }
    }

    #[inline(always)]
    fn double_of(self, moment: Moment) -> f64 {
        match self {
            Self::Epoch => match moment.timestamp() {
                Some(micros) => micros as f64 / MICROS_PER_SECOND as f64,
                None => (moment.days * SECONDS_PER_DAY) as f64 + moment.micros as f64 / MICROS_PER_SECOND as f64,
            },
            Self::Julian => (moment.days + JULIAN_DAY_OF_1970) as f64 + moment.micros as f64 / MICROS_PER_DAY as f64,
            other => other.of(moment) as f64,
        }
    }

    /// True if TIME has this field.
    fn is_of_time(self) -> bool {
        use Part::{Epoch, Hour, Microsecond, Millisecond, Minute, Nanosecond, Second};
        matches!(self, Hour | Minute | Second | Millisecond | Microsecond | Nanosecond | Epoch)
    }

    /// True if TIME WITH TIME ZONE has this field.
    fn is_of_zoned_time(self) -> bool {
        self.is_of_time() || matches!(self, Self::Timezone | Self::TimezoneHour | Self::TimezoneMinute)
    }

    /// Returns an integer field of a time with its distance from UTC.
    fn of_zoned_time(self, time: ZonedTime) -> i64 {
        match self {
            Self::Timezone => time.offset_seconds(),
            Self::TimezoneHour => time.offset_seconds() / 3_600,
            Self::TimezoneMinute => time.offset_seconds() / 60 % 60,
            part => part.of(Moment { days: 0, micros: time.local_micros() }),
        }
    }

    fn double_of_zoned_time(self, time: ZonedTime) -> f64 {
        match self {
            Self::Epoch => self.double_of(Moment { days: 0, micros: time.local_micros() }),
            whole => whole.of_zoned_time(time) as f64,
        }
    }

    /// Returns an integer field of an interval, if it has it.
    fn of_interval(self, interval: Interval) -> Option<i64> {
        let (months, days, micros) = (i64::from(interval.months), i64::from(interval.days), interval.micros);
        Some(match self {
            Self::Millennium => months / 12_000,
            Self::Century => months / 1_200,
            Self::Decade => months / 120,
            Self::Year => months / 12,
            Self::Quarter => months % 12 / 3 + 1,
            Self::Month => months % 12,
            Self::Week => days / 7,
            Self::Day => days,
            Self::Hour => micros / MICROS_PER_HOUR,
            Self::Minute => micros / MICROS_PER_MINUTE % 60,
            Self::Second => micros % MICROS_PER_MINUTE / MICROS_PER_SECOND,
            Self::Millisecond => micros % MICROS_PER_MINUTE / 1_000,
            Self::Microsecond => micros % MICROS_PER_MINUTE,
            Self::Nanosecond => micros % MICROS_PER_MINUTE * 1_000,
            Self::Epoch => i64::try_from(interval.epoch_micros() / i128::from(MICROS_PER_SECOND)).ok()?,
            Self::IsoYear
            | Self::YearWeek
            | Self::DayOfWeek
            | Self::IsoDayOfWeek
            | Self::DayOfYear
            | Self::Era
            | Self::Timezone
            | Self::TimezoneHour
            | Self::TimezoneMinute
            | Self::Julian => return None,
        })
    }
}

fn unknown_field(name: &str) -> godwit_common::Error {
    invalid(format!("there is no field '{name}'"))
        .with_hint("fields are year, month, day, hour, minute, second, epoch, week, dow, doy and others")
}

/// Centuries and millennia begin with the year 1; there is no zeroth.
fn era_of(year: i64, length: i64) -> i64 {
    let era = (year - 1).div_euclid(length);
    if era < 0 { era } else { era + 1 }
}

/// Returns the form of a field for a type; `None` if there is none. Each field has its own loop.
fn form_of(part: Part, ty: &SqlType) -> Option<Form> {
    macro_rules! each {
        ($argument:ty, $moment:expr) => {
            each!($argument, $moment, Millennium Century Decade Year IsoYear Quarter Month Week YearWeek Day DayOfWeek
                IsoDayOfWeek DayOfYear Hour Minute Second Millisecond Microsecond Nanosecond Era Timezone TimezoneHour
                TimezoneMinute; Epoch Julian)
        };
        ($argument:ty, $moment:expr, $($whole:ident)*; $($double:ident)*) => {
            match part {
                $(Part::$whole => scalar::<($argument,), i64, _>(|(value,)| $moment(value).map(|moment| Part::$whole.of(moment))),)*
                $(Part::$double => scalar::<($argument,), f64, _>(|(value,)| $moment(value).map(|moment| Part::$double.double_of(moment))),)*
            }
        };
    }
    Some(match ty {
        SqlType::Date => each!(Date, Moment::of_finite_date),
        // Without a split into days and what is left.
        SqlType::Timestamp if part == Part::Epoch => scalar::<(Timestamp,), f64, _>(|(timestamp,)| {
            finite_timestamp(timestamp).map(|micros| micros as f64 / MICROS_PER_SECOND as f64)
        }),
        SqlType::Timestamp => each!(Timestamp, Moment::of_finite_timestamp),
        SqlType::TimestampNs if part == Part::Nanosecond => {
            let within_minute = |ns: i64| finite_timestamp(ns).map(|ns| ns.rem_euclid(NANOS_PER_MINUTE));
            scalar::<(i64,), i64, _>(move |(ns,)| within_minute(ns)).with_types([SqlType::TimestampNs], SqlType::BigInt)
        }
        SqlType::TimestampTz => zoned(&each!(Timestamp, Moment::of_finite_timestamp)),
        SqlType::Time if part.is_of_time() => each!(Time, |micros| Some(Moment { days: 0, micros })),
        SqlType::TimeTz if part == Part::Epoch => scalar::<(TimeTz,), f64, _>(|(bits,)| {
            ZonedTime::from_bits(bits).map(|time| Part::Epoch.double_of_zoned_time(time))
        }),
        SqlType::TimeTz if part.is_of_zoned_time() => {
            scalar::<(TimeTz,), i64, _>(move |(bits,)| ZonedTime::from_bits(bits).map(|time| part.of_zoned_time(time)))
        }
        SqlType::Interval if part == Part::Epoch => {
            scalar::<(Intervals,), f64, _>(|(interval,)| interval.epoch_micros() as f64 / MICROS_PER_SECOND as f64)
        }
        SqlType::Interval => {
            part.of_interval(Interval::default())?;
            scalar::<(Intervals,), i64, _>(move |(interval,)| part.of_interval(interval).unwrap_or_default())
        }
        _ => return None,
    })
}

const TYPES: [SqlType; 7] = [
    SqlType::Timestamp,
    SqlType::Date,
    SqlType::TimestampTz,
    SqlType::TimestampNs,
    SqlType::Time,
    SqlType::TimeTz,
    SqlType::Interval,
];

const NANOS_PER_MINUTE: i64 = 60_000_000_000;

fn named(&(names, part, description, call, value): &Named) -> Function {
    let function = time_function(names, description).example(call, value);
    TYPES.iter().filter_map(|ty| form_of(part, ty)).fold(function, Function::form)
}

fn date_part(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [field, value] = arguments else { return None };
    let ty = kind_of(value);
    if !fits(field, &SqlType::Varchar) || !TYPES.contains(&ty) {
        return None;
    }
    let Some(name) = constant_text(field) else { return Some(Ok(any_part(&ty))) };
    let part = match Part::named(name) {
        Ok(part) => part,
        Err(error) => return Some(Err(bad_argument(0, &error))),
    };
    let exact = form_of(part, value.ty);
    Some(match exact.or_else(|| form_of(part, &ty)) {
        Some(form) => Ok(with_constant(form, 0)),
        None => Err(bad_argument(0, &missing_field(name, &ty))),
    })
}

fn missing_field(name: &str, ty: &SqlType) -> godwit_common::Error {
    invalid(format!("values of type {ty} have no field '{name}'"))
}

/// Returns the form for a field that varies by row: a DOUBLE, because some fields are.
fn any_part(ty: &SqlType) -> Form {
    match ty {
        SqlType::Date => scalar::<(Text, Date), f64, _>(|(name, days)| double_of(name, Moment::of_finite_date(days))),
        SqlType::Time => scalar::<(Text, Time), f64, _>(|(name, micros)| match Part::named(name)? {
            part if part.is_of_time() => Ok(part.double_of(Moment { days: 0, micros })),
            _ => Err(missing_field(name, &SqlType::Time)),
        }),
        SqlType::TimeTz => scalar::<(Text, TimeTz), f64, _>(|(name, bits)| match Part::named(name)? {
            part if part.is_of_zoned_time() => {
                Ok(ZonedTime::from_bits(bits).map(|time| part.double_of_zoned_time(time)))
            }
            _ => Err(missing_field(name, &SqlType::TimeTz)),
        }),
        SqlType::Interval => scalar::<(Text, Intervals), f64, _>(|(name, interval)| {
            let part = Part::named(name)?;
            if part.is_double() && part != Part::Julian {
                return Ok(interval.epoch_micros() as f64 / MICROS_PER_SECOND as f64);
            }
            let whole = part.of_interval(interval).ok_or_else(|| missing_field(name, &SqlType::Interval))?;
            Ok(whole as f64)
        }),
        _ => {
            let form = scalar::<(Text, Timestamp), f64, _>(|(name, timestamp)| {
                double_of(name, Moment::of_finite_timestamp(timestamp))
            });
            if *ty == SqlType::TimestampTz { zoned(&form) } else { form }
        }
    }
}

/// Returns a field by name; infinite times have none.
fn double_of(name: &str, moment: Option<Moment>) -> Result<Option<f64>> {
    let part = Part::named(name)?;
    Ok(moment.map(|moment| part.double_of(moment)))
}

#[cfg(test)]
mod tests {
    use godwit_plan::{ArgumentType, NoFunction};
    use godwit_types::{SqlType, Value};

    use crate::testing::{call, shown};

    #[test]
    fn fields_of_dates() {
        let moment = "TIMESTAMP '2024-12-30 13:04:05.678901'";
        for (field, expected) in [
            ("millennium", "3"),
            ("century", "21"),
            ("decade", "202"),
            ("years", "2024"),
            ("isoyear", "2025"),
            ("QUARTER", "4"),
            ("mon", "12"),
            ("week", "1"),
            ("yearweek", "202501"),
            ("d", "30"),
            ("dow", "1"),
            ("isodow", "1"),
            ("doy", "365"),
            ("hour", "13"),
            ("minute", "4"),
            ("second", "5"),
            ("milliseconds", "5678"),
            ("us", "5678901"),
            ("nanosecond", "5678901000"),
            ("era", "1"),
            ("timezone", "0"),
            ("epoch", "1735563845.678901"),
            ("julian", "2460675.5445101727"),
        ] {
            let field = format!("'{field}'");
            assert_eq!(shown("date_part", &[&field, moment]), expected, "{field}");
        }
    }

    #[test]
    fn years_before_the_first() {
        for (name, date, expected) in [
            ("year", "0001-01-01 BC", "0"),
            ("century", "0001-01-01 BC", "-1"),
            ("century", "0100-01-01 BC", "-1"),
            ("century", "0101-01-01 BC", "-2"),
            ("millennium", "0001-01-01 BC", "-1"),
            ("decade", "0011-01-01 BC", "-1"),
            ("yearweek", "0001-01-01 BC", "-152"),
            ("era", "0001-01-01 BC", "0"),
            ("century", "2000-12-31", "20"),
            ("millennium", "2001-01-01", "3"),
            ("year", "5881580-07-10", "5881580"),
            ("dayofyear", "5877642-06-25 BC", "176"),
            ("weekday", "2024-05-19", "0"),
            ("hour", "2024-05-19", "0"),
        ] {
            assert_eq!(shown(name, &[&format!("DATE '{date}'")]), expected, "{name}({date})");
        }
        assert_eq!(shown("epoch", &["DATE '5881580-07-10'"]), "185542587014400.0");
        assert_eq!(shown("year", &["TIMESTAMP '290000-01-01'"]), "290000");
    }

    #[test]
    fn fields_of_times_and_intervals() {
        for (name, value, expected) in [
            ("hour", "TIME '13:04:05.5'", "13"),
            ("millisecond", "TIME '13:04:05.5'", "5500"),
            ("epoch", "TIME '01:02:03.5'", "3723.5"),
            ("hour", "INTERVAL '1 day 30:00:00'", "30"),
            ("month", "INTERVAL '14 months'", "2"),
            ("year", "INTERVAL '-14 months'", "-1"),
            ("quarter", "INTERVAL '14 months'", "1"),
            ("century", "INTERVAL '1401 years'", "14"),
            ("second", "INTERVAL '-61.5 seconds'", "-1"),
            ("microsecond", "INTERVAL '26.3434 seconds'", "26343400"),
            ("epoch", "INTERVAL '2 years'", "63115200.0"),
            ("year", "TIMESTAMPTZ '2024-02-29 00:00:00+00'", "2024"),
            ("year", "TIMESTAMP_S '2024-02-29 00:00:00'", "2024"),
            ("year", "NULL", "NULL"),
        ] {
            assert_eq!(shown(name, &[value]), expected, "{name}({value})");
        }
        assert_eq!(call("year", &["DATE '2024-01-01'"]).unwrap().1, SqlType::BigInt);
        assert_eq!(call("date_part", &["'epoch'", "DATE '2024-01-01'"]).unwrap().1, SqlType::Double);
    }

    fn refusal(field: &str, ty: SqlType) -> String {
        let field = Value::text(field);
        let argument = |ty, value| ArgumentType { ty, value, nullable: true, lambda_parameters: None };
        let arguments = [argument(&SqlType::Varchar, Some(&field)), argument(&ty, None)];
        match crate::choose("date_part", &arguments) {
            Err(NoFunction::BadArgument { argument: Some(0), message, .. }) => message,
            other => panic!("{:?}", other.map(|(_, form)| form.arguments)),
        }
    }

    #[test]
    fn fields_that_are_none() {
        assert_eq!(refusal("eon", SqlType::Date), "there is no field 'eon'");
        assert_eq!(refusal("year", SqlType::Time), "values of type TIME have no field 'year'");
        assert_eq!(refusal("julian", SqlType::Interval), "values of type INTERVAL have no field 'julian'");
    }

    #[test]
    fn fields_by_row_are_doubles() {
        let ty = SqlType::Timestamp;
        let form = super::any_part(&ty);
        assert_eq!((form.arguments, form.result), (vec![SqlType::Varchar, ty], SqlType::Double));
    }
}
