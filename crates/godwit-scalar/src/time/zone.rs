//! Conversion between local times and moments: `AT TIME ZONE`, and casts and operators if the session's time zone isn't
//! UTC. The binder passes the zone to each of them as a constant, so plans don't depend on sessions.

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::{Interval, SqlType, TimeTz as ZonedTime, TimeZone, Value};

use super::moment::{Chosen, bad_argument, constant_text, in_range, kind_of, time_function, with_constant};
use crate::choose::fits;
use crate::function::{Form, Function};
use crate::rows::{Answer, Argument, Intervals, Text, Time, TimeTz, Timestamp, TimestampTz, Writer, scalar, text};

pub(super) fn functions() -> Vec<Function> {
    vec![
        time_function(&["timezone"], "The local time of a moment in a time zone, or the moment of a local time")
            .example("timezone('Asia/Tokyo', TIMESTAMPTZ '2024-07-01 12:00:00+00')", "2024-07-01 21:00:00")
            .example("timezone('Asia/Tokyo', TIMESTAMP '2024-07-01 12:00:00')", "2024-07-01 03:00:00+00")
            .example("timezone('Asia/Tokyo', TIMETZ '12:00:00+03')", "18:00:00+09")
            .example("timezone(INTERVAL '2 hours', TIMESTAMPTZ '2024-07-01 12:00:00+00')", "2024-07-01 14:00:00")
            .chosen(
                "timezone(VARCHAR or INTERVAL, TIMESTAMP, TIMESTAMP WITH TIME ZONE or TIME WITH TIME ZONE)",
                at_zone,
            ),
        time_function(&["timezone_time"], "The time of day in a time zone, with its distance from UTC")
            .example("timezone_time('Asia/Tokyo', TIMESTAMPTZ '2024-07-01 12:00:00+00')", "21:00:00+09")
            .example("timezone_time('Asia/Tokyo', TIME '12:00:00')", "12:00:00+09")
            .chosen("timezone_time(VARCHAR, TIMESTAMP WITH TIME ZONE, TIME or VARCHAR)", time_in_zone),
        time_function(&["try_timezone_time"], "The time of day of a text in a time zone, or NULL if it isn't one")
            .example("try_timezone_time('Asia/Tokyo', 'noon')", "NULL")
            .chosen("try_timezone_time(VARCHAR, VARCHAR)", |arguments| {
                of_zone(arguments, &[SqlType::Varchar], |zone| {
                    zoned_time::<Text, _>(zone, |zone, text| Ok(read_time(zone, text).ok()))
                })
            }),
        time_function(&["timezone_text"], "A moment as text, as clocks of a time zone show it")
            .example("timezone_text('Asia/Tokyo', TIMESTAMPTZ '2024-07-01 12:00:00+00')", "2024-07-01 21:00:00+09")
            .chosen("timezone_text(VARCHAR, TIMESTAMP WITH TIME ZONE)", |arguments| {
                of_zone(arguments, &[SqlType::TimestampTz], |zone| match zone {
                    Some(zone) => text::<(TimestampTz,), Text, _>(move |(moment,), out| write(&zone, moment, out)),
                    None => text::<(Text, TimestampTz), Text, _>(|(zone, moment), out| {
                        write(&TimeZone::named(zone)?, moment, out)
                    }),
                })
            }),
        time_function(&["timezone_moment"], "The moment of a text, in a time zone if it doesn't say otherwise")
            .example("timezone_moment('Asia/Tokyo', '2024-07-01 12:00')", "2024-07-01 03:00:00+00")
            .chosen("timezone_moment(VARCHAR, VARCHAR)", |arguments| of_text(arguments, read)),
        time_function(&["try_timezone_moment"], "The moment of a text in a time zone, or NULL if it isn't one")
            .example("try_timezone_moment('Asia/Tokyo', 'noon')", "NULL")
            .chosen("try_timezone_moment(VARCHAR, VARCHAR)", |arguments| {
                of_text(arguments, |zone, text| Ok::<_, godwit_common::Error>(read(zone, text).ok()))
            }),
        time_function(&["timezone_add"], "A moment and an interval after it, by the calendar of a time zone")
            .example(
                "timezone_add('Europe/Berlin', TIMESTAMPTZ '2024-03-30 11:00:00+00', INTERVAL '1 day')",
                "2024-03-31 10:00:00+00",
            )
            .chosen("timezone_add(VARCHAR, TIMESTAMP WITH TIME ZONE, INTERVAL)", |arguments| {
                of_zone(arguments, &[SqlType::TimestampTz, SqlType::Interval], |zone| match zone {
                    Some(zone) => scalar::<(TimestampTz, Intervals), TimestampTz, _>(move |(moment, interval)| {
                        sum(&zone, moment, interval)
                    }),
                    None => scalar::<(Text, TimestampTz, Intervals), TimestampTz, _>(|(zone, moment, interval)| {
                        sum(&TimeZone::named(zone)?, moment, interval)
                    }),
                })
            }),
    ]
}

/// Returns the form for a constant zone, or for one that varies by row.
fn of_zone(arguments: &[ArgumentType<'_>], types: &[SqlType], form: impl FnOnce(Option<TimeZone>) -> Form) -> Chosen {
    let (zone, others) = arguments.split_first()?;
    let all_fit = fits(zone, &SqlType::Varchar)
        && others.len() == types.len()
        && others.iter().zip(types).all(|(argument, ty)| fits(argument, ty));
    if !all_fit {
        return None;
    }
    Some(match constant_text(zone).map(TimeZone::named).transpose() {
        Ok(Some(zone)) => Ok(with_constant(form(Some(zone)), 0)),
        Ok(None) => Ok(form(None)),
        Err(error) => Err(bad_argument(0, &error)),
    })
}

fn at_zone(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [zone, moment] = arguments else { return None };
    if *zone.ty == SqlType::Interval {
        return at_offset(&kind_of(moment));
    }
    match kind_of(moment) {
        SqlType::TimestampTz => of_zone(arguments, &[SqlType::TimestampTz], |zone| match zone {
            Some(zone) if zone.is_utc() => scalar::<(TimestampTz,), Timestamp, _>(|(moment,)| moment),
            Some(zone) => scalar::<(TimestampTz,), Timestamp, _>(move |(moment,)| local(&zone, moment)),
            None => scalar::<(Text, TimestampTz), Timestamp, _>(|(zone, at)| local(&TimeZone::named(zone)?, at)),
        }),
        SqlType::TimeTz => of_zone(arguments, &[SqlType::TimeTz], |zone| match zone {
            Some(zone) => scalar::<(TimeTz,), TimeTz, _>(move |(time,)| shown_in(&zone, time)),
            None => scalar::<(Text, TimeTz), TimeTz, _>(|(zone, time)| shown_in(&TimeZone::named(zone)?, time)),
        }),
        SqlType::Date | SqlType::Timestamp => of_zone(arguments, &[SqlType::Timestamp], |zone| match zone {
            Some(zone) if zone.is_utc() => scalar::<(Timestamp,), TimestampTz, _>(|(local,)| local),
            Some(zone) => scalar::<(Timestamp,), TimestampTz, _>(move |(local,)| moment_of(&zone, local)),
            None => scalar::<(Text, Timestamp), TimestampTz, _>(|(zone, at)| moment_of(&TimeZone::named(zone)?, at)),
        }),
        _ => None,
    }
}

/// Returns the form for a zone that is given by its distance from UTC.
fn at_offset(ty: &SqlType) -> Chosen {
    let zone = TimeZone::ahead_by;
    Some(Ok(match ty {
        SqlType::TimestampTz => {
            scalar::<(Intervals, TimestampTz), Timestamp, _>(move |(by, moment)| local(&zone(by)?, moment))
        }
        SqlType::TimeTz => scalar::<(Intervals, TimeTz), TimeTz, _>(move |(by, time)| shown_in(&zone(by)?, time)),
        SqlType::Date | SqlType::Timestamp => {
            scalar::<(Intervals, Timestamp), TimestampTz, _>(move |(by, at)| moment_of(&zone(by)?, at))
        }
        _ => return None,
    }))
}

fn local(zone: &TimeZone, moment: i64) -> Result<i64> {
    in_range(zone.local(moment), &SqlType::Timestamp)
}

fn moment_of(zone: &TimeZone, local: i64) -> Result<i64> {
    in_range(zone.moment(local), &SqlType::TimestampTz)
}

fn shown_in(zone: &TimeZone, bits: i64) -> Result<i64> {
    let time = ZonedTime::from_bits(bits).and_then(|time| time.at_offset(zone.offset_now()));
    in_range(time, &SqlType::TimeTz).map(ZonedTime::to_bits)
}

fn time_in_zone(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [_, value] = arguments else { return None };
    match kind_of(value) {
        SqlType::TimestampTz => of_zone(arguments, &[SqlType::TimestampTz], |zone| {
            zoned_time::<TimestampTz, _>(zone, |zone, moment| {
                time_of(zone, &Value::Timestamp(moment), &SqlType::TimestampTz)
            })
        }),
        SqlType::Time => of_zone(arguments, &[SqlType::Time], |zone| {
            zoned_time::<Time, _>(zone, |zone, micros| time_of(zone, &Value::Time(micros), &SqlType::Time))
        }),
        _ => of_zone(arguments, &[SqlType::Varchar], |zone| zoned_time::<Text, _>(zone, read_time)),
    }
}

/// Returns the form for the time of day that a value is in a zone, which is constant or varies by row.
fn zoned_time<A, O>(zone: Option<TimeZone>, of: fn(&TimeZone, A::Item<'_>) -> Result<O>) -> Form
where
    A: Argument + 'static,
    Result<O>: Answer<i64>,
    O: 'static,
{
    match zone {
        Some(zone) => scalar::<(A,), TimeTz, _>(move |(value,)| of(&zone, value)),
        None => scalar::<(Text, A), TimeTz, _>(move |(zone, value)| of(&TimeZone::named(zone)?, value)),
    }
}

fn read_time(zone: &TimeZone, text: &str) -> Result<i64> {
    time_of(zone, &Value::text(text), &SqlType::Varchar)
}

fn time_of(zone: &TimeZone, value: &Value, ty: &SqlType) -> Result<i64> {
    match zone.cast(value, ty, &SqlType::TimeTz)? {
        Value::TimeTz(time) => Ok(time.to_bits()),
        other => unreachable!("{other:?} is no time of day"),
    }
}

fn sum(zone: &TimeZone, moment: i64, interval: Interval) -> Result<i64> {
    in_range(zone.add(moment, interval), &SqlType::TimestampTz)
}

fn write(zone: &TimeZone, moment: i64, out: &mut Writer<'_>) -> Result<()> {
    if let Value::Text(text) = zone.cast(&Value::Timestamp(moment), &SqlType::TimestampTz, &SqlType::Varchar)? {
        out.push_str(&text);
    }
    Ok(())
}

fn read(zone: &TimeZone, text: &str) -> Result<i64> {
    match zone.cast(&Value::text(text), &SqlType::Varchar, &SqlType::TimestampTz)? {
        Value::Timestamp(moment) => Ok(moment),
        other => unreachable!("{other:?} is no moment"),
    }
}

fn of_text<O>(arguments: &[ArgumentType<'_>], read: fn(&TimeZone, &str) -> Result<O>) -> Chosen
where
    Result<O>: Answer<i64>,
    O: 'static,
{
    of_zone(arguments, &[SqlType::Varchar], move |zone| match zone {
        Some(zone) => scalar::<(Text,), TimestampTz, _>(move |(text,)| read(&zone, text)),
        None => scalar::<(Text, Text), TimestampTz, _>(move |(zone, text)| read(&TimeZone::named(zone)?, text)),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn zones() {
        let moment = "TIMESTAMPTZ '2024-07-01 12:00:00+00'";
        for (name, arguments, expected) in [
            ("timezone_time", &["'America/New_York'", moment][..], "08:00:00-04"),
            ("timezone_time", &["'Asia/Kolkata'", "TIME '12:00:00.5'"], "12:00:00.5+05:30"),
            ("timezone_time", &["'America/New_York'", "'2024-07-01 12:00'"], "12:00:00-04"),
            ("timezone_time", &["'America/New_York'", "'12:00+03'"], "12:00:00+03"),
            ("timezone_time", &["NULL", "'12:00+03'"], "NULL"),
            ("try_timezone_time", &["'Asia/Tokyo'", "'noon'"], "NULL"),
            ("try_timezone_time", &["'Asia/Tokyo'", "'12:00'"], "12:00:00+09"),
            ("timezone", &["'Asia/Tokyo'", "TIMETZ '22:00:00+03'"], "04:00:00+09"),
            ("timezone", &["INTERVAL '-3:30'", "TIMETZ '01:00:00+03'"], "18:30:00-03:30"),
            ("timezone", &["INTERVAL '-3:30'", "TIMESTAMP '2024-07-01 12:00:00'"], "2024-07-01 15:30:00+00"),
            ("timezone", &["'America/New_York'", moment], "2024-07-01 08:00:00"),
            ("timezone", &["'UTC'", moment], "2024-07-01 12:00:00"),
            ("timezone", &["'Asia/Kolkata'", "TIMESTAMP '2024-07-01 12:00:00'"], "2024-07-01 06:30:00+00"),
            ("timezone", &["'Europe/Berlin'", "DATE '2024-07-01'"], "2024-06-30 22:00:00+00"),
            ("timezone", &["'Europe/Berlin'", "TIMESTAMP '2024-03-31 02:30:00'"], "2024-03-31 01:30:00+00"),
            ("timezone", &["NULL", moment], "NULL"),
            ("timezone_text", &["'Europe/Berlin'", moment], "2024-07-01 14:00:00+02"),
            ("timezone_moment", &["'Europe/Berlin'", "'2024-07-01 12:00'"], "2024-07-01 10:00:00+00"),
            ("timezone_moment", &["'Europe/Berlin'", "'2024-07-01 12:00+00'"], "2024-07-01 12:00:00+00"),
            ("try_timezone_moment", &["'Europe/Berlin'", "'noon'"], "NULL"),
            (
                "timezone_add",
                &["'Europe/Berlin'", "TIMESTAMPTZ '2024-03-30 11:00:00+00'", "INTERVAL '24 hours'"],
                "2024-03-31 11:00:00+00",
            ),
        ] {
            assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        }
        assert!(error_of("timezone", &["INTERVAL '1 day'", "TIMETZ '10:00:00'"]).contains("without months and days"));
        assert!(error_of("timezone_time", &["'Europe/Berlin'", "TIMESTAMPTZ 'infinity'"]).contains("out of range"));
        assert!(error_of("timezone_moment", &["'Europe/Berlin'", "'noon'"]).contains("'noon' is not a"));
    }
}
