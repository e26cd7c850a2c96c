//! Times made from numbers, and numbers from times.

use godwit_common::Result;
use godwit_types::calendar::{INFINITE_DAYS, INFINITE_TICKS, MICROS_PER_DAY, MICROS_PER_SECOND, date_of};
use godwit_types::calendar::{days_later, finite_timestamp, is_finite_date};
use godwit_types::interval::{date_add, time_add, timestamp_add};
use godwit_types::{Interval, IntervalUnit, SqlType, TimeTz as ZonedTime, TimeZone};

use super::moment::{
    MICROS_PER_HOUR, MICROS_PER_MINUTE, Moment, both, day_of, in_range, interval_result, invalid, time_function,
};
use crate::function::Function;
use crate::rows::{Date, Intervals, Text, Time, TimeTz, Timestamp, TimestampTz, scalar};

pub(super) fn functions() -> Vec<Function> {
    [makers(), zoned_makers(), counts(), epochs(), intervals()].into_iter().flatten().collect()
}

fn makers() -> Vec<Function> {
    vec![
        time_function(&["make_date"], "The date of a year, month and day, or of days since 1970; years below 0 are BC")
            .example("make_date(2024, 2, 29)", "2024-02-29")
            .form(scalar::<(i64, i64, i64), Date, _>(|(year, month, day)| date(year, month, day)))
            .form(scalar::<(i64,), Date, _>(|(days,)| {
                in_range(i32::try_from(days).ok().filter(|days| *days >= -INFINITE_DAYS), &SqlType::Date)
            })),
        time_function(&["make_time"], "The time of an hour, minute and second")
            .example("make_time(13, 4, 5.5)", "13:04:05.5")
            .form(scalar::<(i64, i64, f64), Time, _>(|(hour, minute, second)| time(hour, minute, second))),
        time_function(
            &["make_timestamp"],
            "The timestamp of a year, month, day, hour, minute and second, or of microseconds since 1970",
        )
        .example("make_timestamp(2024, 2, 29, 13, 4, 5.5)", "2024-02-29 13:04:05.5")
        .form(scalar::<(i64, i64, i64, i64, i64, f64), Timestamp, _>(|(year, month, day, hour, minute, second)| {
            timestamp(date(year, month, day)?, time(hour, minute, second)?)
        }))
        .form(scalar::<(i64,), Timestamp, _>(|(micros,)| {
            in_range((micros >= -INFINITE_TICKS).then_some(micros), &SqlType::Timestamp)
        })),
        time_function(&["make_timestamp_ms"], "The timestamp of milliseconds since 1970")
            .example("make_timestamp_ms(1500)", "1970-01-01 00:00:01.5")
            .form(scalar::<(i64,), Timestamp, _>(|(ms,)| in_range(ms.checked_mul(1_000), &SqlType::Timestamp))),
        time_function(&["make_timestamp_ns"], "The timestamp of nanoseconds since 1970")
            .example("make_timestamp_ns(1500000000)", "1970-01-01 00:00:01.5")
            .form(scalar::<(i64,), Timestamp, _>(|(ns,)| ns).with_types([SqlType::BigInt], SqlType::TimestampNs)),
    ]
}

/// Makes a date as in PostgreSQL: the year -1 is 1 BC, and there is no year 0.
fn date(year: i64, month: i64, day: i64) -> Result<i32> {
    let astronomical = if year < 0 { year.saturating_add(1) } else { year };
    let days = if year == 0 { None } else { day_of(astronomical, month, day) };
    days.and_then(date_of).ok_or_else(|| field_error(format!("there is no date {year}-{month:02}-{day:02}")))
}

fn field_error(message: String) -> godwit_common::Error {
    invalid(message).with_code(godwit_common::SqlState::DATETIME_FIELD_OVERFLOW)
}

/// Makes a time; seconds are rounded to microseconds.
fn time(hour: i64, minute: i64, second: f64) -> Result<i64> {
    let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..60.0).contains(&second);
    let micros = || hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + (second * 1e6).round() as i64;
    let micros = is_time.then(micros).filter(|&micros| micros < MICROS_PER_DAY);
    micros.ok_or_else(|| field_error(format!("there is no time {hour:02}:{minute:02}:{second}")))
}

fn timestamp(days: i32, micros: i64) -> Result<i64> {
    in_range(Moment { days: days.into(), micros }.timestamp(), &SqlType::Timestamp)
}

fn zoned_makers() -> Vec<Function> {
    let in_utc =
        scalar::<(i64, i64, i64, i64, i64, f64), TimestampTz, _>(|(year, month, day, hour, minute, second)| {
            timestamp(date(year, month, day)?, time(hour, minute, second)?)
        });
    let in_zone = scalar::<(i64, i64, i64, i64, i64, f64, Text), TimestampTz, _>(
        |(year, month, day, hour, minute, second, zone)| {
            let local = timestamp(date(year, month, day)?, time(hour, minute, second)?)?;
            in_range(TimeZone::named(zone)?.moment(local), &SqlType::TimestampTz)
        },
    );
    vec![
        time_function(&["make_timestamptz"], "The moment of a local time in UTC, or in a time zone")
            .example("make_timestamptz(2024, 7, 1, 12, 0, 0, 'Europe/Berlin')", "2024-07-01 10:00:00+00")
            .form(in_utc)
            .form(in_zone),
        time_function(&["to_local_time"], "A moment as a timestamp without time zone")
            .example("to_local_time(TIMESTAMPTZ '2024-07-01 12:00:00+00')", "2024-07-01 12:00:00")
            .form(scalar::<(Timestamp,), Timestamp, _>(|(timestamp,)| timestamp))
            .form(scalar::<(TimestampTz,), Timestamp, _>(|(moment,)| moment)),
        time_function(
            &["timetz_byte_comparable"],
            "A number by which times with time zone are sorted, as DuckDB makes it",
        )
        .example("timetz_byte_comparable(TIMETZ '12:30:00+03')", "1540131651584046799")
        .form(scalar::<(TimeTz,), u64, _>(|(time,)| ZonedTime::from_bits(time).map(duckdb_order))),
        time_function(&["from_unixtime"], "The timestamp of seconds since 1970; the moment, if a time zone is named")
            .example("from_unixtime(1)", "1970-01-01 00:00:01")
            .form(scalar::<(i64,), Timestamp, _>(|(seconds,)| micros_of_seconds(seconds)))
            .form(scalar::<(i64, Text), TimestampTz, _>(|(seconds, zone)| {
                TimeZone::named(zone)?;
                micros_of_seconds(seconds)
            })),
        time_function(&["date_add"], "A time and an interval after it")
            .example("date_add(DATE '2024-01-31', INTERVAL '1 month')", "2024-02-29 00:00:00")
            .form(scalar::<(Timestamp, Intervals), Timestamp, _>(|(timestamp, interval)| {
                in_range(timestamp_add(timestamp, interval), &SqlType::Timestamp)
            }))
            .form(scalar::<(Date, Intervals), Timestamp, _>(|(days, interval)| {
                in_range(date_add(days, interval), &SqlType::Timestamp)
            }))
            .form(scalar::<(TimestampTz, Intervals), TimestampTz, _>(|(moment, interval)| {
                in_range(timestamp_add(moment, interval), &SqlType::TimestampTz)
            }))
            .form(scalar::<(Time, Intervals), Time, _>(|(micros, interval)| time_add(micros, interval)))
            .form(scalar::<(TimeTz, Intervals), TimeTz, _>(|(time, interval)| {
                let time = ZonedTime::from_bits(time).and_then(|time| time.after(interval));
                in_range(time, &SqlType::TimeTz).map(ZonedTime::to_bits)
            }))
            .form(scalar::<(Date, i32), Date, _>(|(days, more)| {
                in_range(days_later(days, more.into()), &SqlType::Date)
            })),
    ]
}

/// Returns microseconds since midnight 15:59:59 west of UTC above the seconds from there.
fn duckdb_order(time: ZonedTime) -> u64 {
    let behind = ZonedTime::OFFSET_SECONDS_MAX - time.offset_seconds();
    let micros = time.local_micros() + behind * MICROS_PER_SECOND;
    (micros.unsigned_abs() << 24) | behind.unsigned_abs()
}

fn micros_of_seconds(seconds: i64) -> Result<i64> {
    in_range(seconds.checked_mul(MICROS_PER_SECOND), &SqlType::Timestamp)
}

/// Converts seconds since 1970, possibly with a fraction.
pub(super) fn micros_of_fraction(seconds: f64) -> Result<i64> {
    let micros = (seconds * 1e6).round();
    // Rounded to 2^63, the first value out of range.
    let limit = i64::MAX as f64;
    in_range((micros > -limit && micros < limit).then_some(micros as i64), &SqlType::Timestamp)
}

/// A function that returns the ticks of finite times since 1970, of a TIME since midnight, or of a whole INTERVAL.
fn ticks(
    names: &'static [&'static str],
    description: &'static str,
    example: (&'static str, &'static str),
    of_micros: fn(i128) -> i128,
) -> Function {
    let ticks = move |micros: i128| in_range(i64::try_from(of_micros(micros)).ok(), &SqlType::BigInt);
    let function = time_function(names, description).example(example.0, example.1);
    let day = i128::from(MICROS_PER_DAY);
    let of_timestamps = scalar::<(Timestamp,), i64, _>(move |(timestamp,)| {
        finite_timestamp(timestamp).map(|micros| ticks(micros.into())).transpose()
    });
    both(function, of_timestamps)
        .form(scalar::<(Date,), i64, _>(move |(days,)| {
            is_finite_date(days).then(|| ticks(i128::from(days) * day)).transpose()
        }))
        .form(scalar::<(Time,), i64, _>(move |(micros,)| ticks(micros.into())))
        .form(scalar::<(TimeTz,), i64, _>(move |(time,)| {
            ZonedTime::from_bits(time).map(|time| ticks(time.local_micros().into())).transpose()
        }))
        .form(scalar::<(Intervals,), i64, _>(move |(interval,)| ticks(interval.epoch_micros())))
}

fn epochs() -> Vec<Function> {
    vec![
        ticks(
            &["epoch_ms"],
            "Milliseconds since 1970, rounded; of an integer, the timestamp of these",
            ("epoch_ms(TIMESTAMP '1970-01-01 00:00:01.5')", "1500"),
            |micros| (micros + 500 * micros.signum()) / 1_000,
        )
        .form(scalar::<(i64,), Timestamp, _>(|(ms,)| in_range(ms.checked_mul(1_000), &SqlType::Timestamp))),
        ticks(
            &["epoch_us"],
            "Microseconds since 1970",
            ("epoch_us(TIMESTAMP '1970-01-01 00:00:01.5')", "1500000"),
            |micros| micros,
        ),
        ticks(
            &["epoch_ns"],
            "Nanoseconds since 1970",
            ("epoch_ns(TIMESTAMP '1970-01-01 00:00:01.5')", "1500000000"),
            |micros| micros * 1_000,
        )
        .form(
            scalar::<(i64,), i64, _>(|(ns,)| finite_timestamp(ns)).with_types([SqlType::TimestampNs], SqlType::BigInt),
        ),
    ]
}

/// A function from a number of units to an interval.
fn of_unit(
    names: &'static [&'static str],
    description: &'static str,
    example: (&'static str, &'static str),
    unit: IntervalUnit,
) -> Function {
    time_function(names, description)
        .example(example.0, example.1)
        .form(scalar::<(i64,), Intervals, _>(move |(count,)| interval_result(Interval::of(count, unit))))
}

/// Adds the form for fractional counts.
fn fractions(function: Function, micros: f64) -> Function {
    function.form(scalar::<(f64,), Intervals, _>(move |(count,)| {
        let micros = (count * micros).round();
        let limit = i64::MAX as f64;
        let micros = (micros >= -limit && micros < limit).then_some(micros as i64);
        interval_result(micros.map(|micros| Interval { micros, ..Interval::default() }))
    }))
}

fn counts() -> Vec<Function> {
    use IntervalUnit::{
        Century, Day, Decade, Hour, Microsecond, Millennium, Millisecond, Minute, Month, Quarter, Second, Week, Year,
    };
    vec![
        of_unit(&["to_millennia"], "An interval of thousands of years", ("to_millennia(1)", "1000 years"), Millennium),
        of_unit(&["to_centuries"], "An interval of hundreds of years", ("to_centuries(1)", "100 years"), Century),
        of_unit(&["to_decades"], "An interval of tens of years", ("to_decades(1)", "10 years"), Decade),
        of_unit(&["to_years"], "An interval of years", ("to_years(1)", "1 year"), Year),
        of_unit(&["to_quarters"], "An interval of three months each", ("to_quarters(2)", "6 months"), Quarter),
        of_unit(&["to_months"], "An interval of months", ("to_months(5)", "5 months"), Month),
        of_unit(&["to_weeks"], "An interval of weeks", ("to_weeks(2)", "14 days"), Week),
        of_unit(&["to_days"], "An interval of days", ("to_days(5)", "5 days"), Day),
        of_unit(&["to_hours"], "An interval of hours", ("to_hours(5)", "05:00:00"), Hour),
        of_unit(&["to_minutes"], "An interval of minutes", ("to_minutes(5)", "00:05:00"), Minute),
        fractions(of_unit(&["to_seconds"], "An interval of seconds", ("to_seconds(1.5)", "00:00:01.5"), Second), 1e6),
        fractions(
            of_unit(
                &["to_milliseconds"],
                "An interval of milliseconds",
                ("to_milliseconds(5)", "00:00:00.005"),
                Millisecond,
            ),
            1e3,
        ),
        of_unit(
            &["to_microseconds"],
            "An interval of microseconds",
            ("to_microseconds(5)", "00:00:00.000005"),
            Microsecond,
        ),
    ]
}

fn intervals() -> Vec<Function> {
    let justify =
        |names, description, example: (&'static str, &'static str), justify: fn(Interval) -> Option<Interval>| {
            let form = scalar::<(Intervals,), Intervals, _>(move |(interval,)| interval_result(justify(interval)));
            time_function(names, description).example(example.0, example.1).form(form)
        };
    vec![
        justify(
            &["justify_days"],
            "The interval with 30 days as a month",
            ("justify_days(INTERVAL '35 days')", "1 month 5 days"),
            Interval::justify_days,
        ),
        justify(
            &["justify_hours"],
            "The interval with 24 hours as a day",
            ("justify_hours(INTERVAL '27 hours')", "1 day 03:00:00"),
            Interval::justify_hours,
        ),
        justify(
            &["justify_interval", "normalized_interval"],
            "The interval with 24 hours as a day, 30 days as a month, and one sign",
            ("justify_interval(INTERVAL '1 month -1 hour')", "29 days 23:00:00"),
            Interval::justify,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use crate::testing::{call, error_of, shown};

    #[test]
    fn dates_and_times_of_numbers() {
        for (name, arguments, expected) in [
            ("make_date", &["2024", "2", "29"][..], "2024-02-29"),
            ("make_date", &["-44", "3", "15"], "0044-03-15 BC"),
            ("make_date", &["19782"], "2024-02-29"),
            ("make_time", &["13", "4", "5.678901"], "13:04:05.678901"),
            ("make_timestamp", &["2024", "2", "29", "13", "4", "5.5"], "2024-02-29 13:04:05.5"),
            ("make_timestamp", &["1500000"], "1970-01-01 00:00:01.5"),
            ("make_timestamp_ms", &["-1"], "1969-12-31 23:59:59.999"),
            ("make_timestamp_ns", &["1"], "1970-01-01 00:00:00.000000001"),
            ("make_timestamptz", &["2024", "7", "1", "12", "0", "0"], "2024-07-01 12:00:00+00"),
            ("make_timestamptz", &["2024", "7", "1", "12", "0", "0", "'Asia/Tokyo'"], "2024-07-01 03:00:00+00"),
            ("from_unixtime", &["1599572549"], "2020-09-08 13:42:29"),
            ("from_unixtime", &["1599572549", "'Europe/Berlin'"], "2020-09-08 13:42:29+00"),
            ("to_local_time", &["TIMESTAMPTZ '2024-07-01 12:00:00+00'"], "2024-07-01 12:00:00"),
            ("date_add", &["DATE '2024-01-31'", "INTERVAL '1 month'"], "2024-02-29 00:00:00"),
            ("date_add", &["DATE '2024-01-31'", "1"], "2024-02-01"),
            ("date_add", &["TIME '23:00:00'", "INTERVAL '2 hours'"], "01:00:00"),
            ("make_date", &["NULL", "2", "29"], "NULL"),
        ] {
            assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        }
        assert_eq!(error_of("make_date", &["2023", "2", "29"]), "there is no date 2023-02-29");
        assert!(error_of("make_date", &["0", "1", "1"]).contains("no date"));
        assert!(error_of("make_date", &["BIGINT '-9223372036854775808'", "1", "1"]).contains("no date"));
        assert!(error_of("make_time", &["24", "0", "0"]).contains("no time 24:00:0"));
        assert!(error_of("make_time", &["23", "59", "59.9999999"]).contains("no time"));
        assert!(error_of("make_time", &["1", "1", "DOUBLE 'nan'"]).contains("no time"));
        assert!(
            error_of("make_timestamp", &["300000", "1", "1", "0", "0", "0"]).contains("out of range for TIMESTAMP")
        );
        assert!(call("from_unixtime", &["9223372036854775807"]).is_err());
        assert!(error_of("from_unixtime", &["1", "'Nowhere'"]).contains("not known"));
    }

    #[test]
    fn numbers_of_times() {
        for (name, argument, expected) in [
            ("epoch_ms", "TIMESTAMP '2020-01-01'", "1577836800000"),
            ("epoch_ms", "701222400000", "1992-03-22 00:00:00"),
            ("epoch_ms", "INTERVAL '1 day'", "86400000"),
            ("epoch_ms", "TIMESTAMP '1969-12-31 23:59:59.999999'", "0"),
            ("epoch_ms", "TIMESTAMP '9999-12-31 23:59:59.999999'", "253402300800000"),
            ("epoch_us", "TIME '01:02:03.5'", "3723500000"),
            ("epoch_ns", "DATE '2020-01-01'", "1577836800000000000"),
            ("epoch_us", "TIMESTAMPTZ '1970-01-01 00:00:01+00'", "1000000"),
            ("epoch_ms", "NULL", "NULL"),
        ] {
            assert_eq!(shown(name, &[argument]), expected, "{name}({argument})");
        }
        assert!(error_of("epoch_ns", &["TIMESTAMP '9999-12-31'"]).contains("out of range for BIGINT"));
    }

    #[test]
    fn intervals_of_numbers() {
        for (name, arguments, expected) in [
            ("to_years", &["2"][..], "2 years"),
            ("to_seconds", &["-90"], "-00:01:30"),
            ("to_seconds", &["1.5"], "00:00:01.5"),
            ("to_milliseconds", &["1.5"], "00:00:00.0015"),
            ("justify_days", &["INTERVAL '35 days'"], "1 month 5 days"),
            ("justify_hours", &["INTERVAL '-27 hours'"], "-1 days -03:00:00"),
            ("normalized_interval", &["INTERVAL '30 days'"], "1 month"),
        ] {
            assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        }
        for (name, arguments) in [
            ("to_years", &["9223372036854775807"][..]),
            ("to_hours", &["9223372036854775807"]),
            ("to_seconds", &["1e300"]),
        ] {
            assert!(error_of(name, arguments).contains("out of range"), "{name}");
        }
    }
}
