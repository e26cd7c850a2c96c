//! Times truncated to a unit, or to intervals of equal width.

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, add_months, date_of, date_of_timestamp};
use godwit_types::calendar::{is_finite_timestamp, timestamp_of_date};
use godwit_types::interval::{timestamp_add, timestamp_sub};
use godwit_types::{Interval, IntervalUnit, SqlType, TimeZone};
use godwit_vector::kernels::date::{Civil, DateUnit, days_from_civil, days_in_month, truncate_days};

use super::moment::{
    Chosen, MICROS_PER_HOUR, MICROS_PER_MINUTE, Moment, bad_argument, both, constant_text, in_range, interval_result,
    invalid, iso_year_start, kind_of, time_function, with_constant, zoned,
};
use crate::choose::fits;
use crate::function::{Form, Function};
use crate::rows::{Date, Intervals, Text, Time, Timestamp, TimestampTz, scalar};

pub(super) fn functions() -> Vec<Function> {
    let date_trunc = time_function(&["date_trunc", "datetrunc"], "The beginning of the unit that a time lies in")
        .example("date_trunc('month', TIMESTAMP '2001-05-17 10:20:30')", "2001-05-01 00:00:00")
        .example("date_trunc('hour', INTERVAL '1 day 10:20:30')", "1 day 10:00:00")
        .chosen("date_trunc(VARCHAR, TIMESTAMP, TIME or INTERVAL)", date_trunc);
    let last_day = time_function(&["last_day"], "The last day of the month")
        .example("last_day(DATE '2024-02-05')", "2024-02-29")
        .form(scalar::<(Timestamp,), Date, _>(|(timestamp,)| last_day(Moment::of_finite_timestamp(timestamp))))
        .form(scalar::<(Date,), Date, _>(|(days,)| last_day(Moment::of_finite_date(days))))
        .form(scalar::<(TimestampTz,), Date, _>(|(timestamp,)| last_day(Moment::of_finite_timestamp(timestamp))));
    vec![date_trunc, date_bin(), time_bucket(), last_day]
}

/// Infinite times have none.
fn last_day(moment: Option<Moment>) -> Result<Option<i32>> {
    let Some(moment) = moment else { return Ok(None) };
    let Civil { year, month, .. } = moment.civil();
    let last = date_of(days_from_civil(Civil { year, month, day: days_in_month(year, month) }));
    in_range(last, &SqlType::Date).map(Some)
}

/// The unit to which a time is truncated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Millennium,
    Century,
    Decade,
    Year,
    IsoYear,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
}

impl Unit {
    fn named(name: &str) -> Result<Self> {
        if name.eq_ignore_ascii_case("isoyear") {
            return Ok(Self::IsoYear);
        }
        Ok(match IntervalUnit::from_name(name) {
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
            None => {
                let error = invalid(format!("there is no unit '{name}'"));
                return Err(
                    error.with_hint("units are year, quarter, month, week, day, hour, minute, second and others")
                );
            }
        })
    }

    /// Returns the microseconds of a unit of the clock.
    const fn micros(self) -> Option<i64> {
        Some(match self {
            Self::Microsecond => 1,
            Self::Millisecond => 1_000,
            Self::Second => MICROS_PER_SECOND,
            Self::Minute => MICROS_PER_MINUTE,
            Self::Hour => MICROS_PER_HOUR,
            Self::Day => MICROS_PER_DAY,
            _ => return None,
        })
    }

    /// Returns the first day of a unit of the calendar.
    #[inline(always)]
    fn first_day(self, days: i64) -> i64 {
        let year_start = |year| days_from_civil(Civil { year, month: 1, day: 1 });
        let moment = Moment { days, micros: 0 };
        match self {
            // They begin with the years 1, 1001, 1901.
            Self::Millennium => year_start((moment.civil().year - 1).div_euclid(1_000) * 1_000 + 1),
            Self::Century => year_start((moment.civil().year - 1).div_euclid(100) * 100 + 1),
            Self::Decade => year_start(moment.civil().year.div_euclid(10) * 10),
            Self::Year => truncate_days(days, DateUnit::Year),
            Self::IsoYear => iso_year_start(moment.iso_week().0),
            Self::Quarter => truncate_days(days, DateUnit::Quarter),
            Self::Month => truncate_days(days, DateUnit::Month),
            Self::Week => truncate_days(days, DateUnit::Week),
            Self::Day | Self::Hour | Self::Minute | Self::Second | Self::Millisecond | Self::Microsecond => days,
        }
    }

    #[inline(always)]
    fn of_timestamp(self, timestamp: i64) -> Result<i64> {
        if !is_finite_timestamp(timestamp) {
            return Ok(timestamp);
        }
        let cut = match self.micros() {
            Some(micros) => timestamp.checked_sub(timestamp.rem_euclid(micros)),
            None => self.first_day(timestamp.div_euclid(MICROS_PER_DAY)).checked_mul(MICROS_PER_DAY),
        };
        in_range(cut, &SqlType::Timestamp)
    }

    fn of_time(self, micros: i64) -> i64 {
        micros - self.micros().map_or(micros, |unit| micros.rem_euclid(unit))
    }

    /// Sets parts below the unit to 0; each part is truncated toward zero.
    fn of_interval(self, interval: Interval) -> Interval {
        let months = |unit: i32| Interval { months: interval.months / unit * unit, ..Interval::default() };
        let days = |unit: i32| Interval { days: interval.days / unit * unit, micros: 0, ..interval };
        match self {
            Self::Millennium => months(12_000),
            Self::Century => months(1_200),
            Self::Decade => months(120),
            Self::Year | Self::IsoYear => months(12),
            Self::Quarter => months(3),
            Self::Month => months(1),
            Self::Week => days(7),
            Self::Day => days(1),
            Self::Hour | Self::Minute | Self::Second | Self::Millisecond | Self::Microsecond => {
                let unit = self.micros().unwrap_or(1);
                Interval { micros: interval.micros / unit * unit, ..interval }
            }
        }
    }
}

fn date_trunc(arguments: &[ArgumentType<'_>]) -> Chosen {
    let [unit, value] = arguments else { return None };
    if !fits(unit, &SqlType::Varchar) {
        return None;
    }
    let ty = match kind_of(value) {
        SqlType::Date => SqlType::Timestamp,
        other => other,
    };
    let constant = constant_text(unit).map(Unit::named).transpose();
    Some(match constant {
        Ok(Some(unit)) => Ok(with_constant(truncation(unit, &ty)?, 0)),
        Ok(None) => Ok(any_truncation(&ty)?),
        Err(error) => Err(bad_argument(0, &error)),
    })
}

/// Returns the form for a constant unit; each has its own loop.
fn truncation(unit: Unit, ty: &SqlType) -> Option<Form> {
    macro_rules! each {
        ($($unit:ident)*) => {
            match unit {
                $(Unit::$unit => scalar::<(Timestamp,), Timestamp, _>(|(at,)| Unit::$unit.of_timestamp(at)),)*
            }
        };
    }
    Some(match ty {
        SqlType::Timestamp | SqlType::TimestampTz => {
            let form = each!(Millennium Century Decade Year IsoYear Quarter Month Week Day Hour Minute Second Millisecond
                Microsecond);
            if *ty == SqlType::TimestampTz { zoned(&form) } else { form }
        }
        SqlType::Time => scalar::<(Time,), Time, _>(move |(micros,)| unit.of_time(micros)),
        SqlType::Interval => {
            scalar::<(Intervals,), Intervals, _>(move |(interval,)| interval_result(Some(unit.of_interval(interval))))
        }
        _ => return None,
    })
}

/// Returns the form for a unit that varies by row.
fn any_truncation(ty: &SqlType) -> Option<Form> {
    let of_timestamps =
        || scalar::<(Text, Timestamp), Timestamp, _>(|(unit, timestamp)| Unit::named(unit)?.of_timestamp(timestamp));
    Some(match ty {
        SqlType::Timestamp => of_timestamps(),
        SqlType::TimestampTz => zoned(&of_timestamps()),
        SqlType::Time => scalar::<(Text, Time), Time, _>(|(unit, micros)| Ok(Unit::named(unit)?.of_time(micros))),
        SqlType::Interval => scalar::<(Text, Intervals), Intervals, _>(|(unit, interval)| {
            interval_result(Some(Unit::named(unit)?.of_interval(interval)))
        }),
        _ => return None,
    })
}

/// 2000-01-03, a Monday.
const MONDAY: i64 = 10_959 * MICROS_PER_DAY;
/// 2000-01-01.
const MILLENNIUM: i64 = 10_957 * MICROS_PER_DAY;

/// Returns the start of the bin that contains a timestamp; one bin starts at `origin`. Widths are months, or days and
/// microseconds. Infinite timestamps stay.
fn bin(width: Interval, timestamp: i64, origin: i64) -> Result<i64> {
    if !is_finite_timestamp(timestamp) {
        return Ok(timestamp);
    }
    let micros = i128::from(width.days) * i128::from(MICROS_PER_DAY) + i128::from(width.micros);
    if width.months != 0 && micros != 0 {
        return Err(invalid("the width of bins is either months, or days and hours"));
    }
    if width.months < 0 || micros < 0 || width.months == 0 && micros == 0 {
        return Err(invalid("the width of bins must be greater than 0"));
    }
    if !is_finite_timestamp(origin) {
        return Err(invalid("the origin of bins is infinite"));
    }
    let start = match width.months {
        0 => match (i64::try_from(micros), timestamp.checked_sub(origin)) {
            (Ok(micros), Some(distance)) => timestamp.checked_sub(distance.rem_euclid(micros)),
            _ => {
                let (timestamp, origin) = (i128::from(timestamp), i128::from(origin));
                i64::try_from(timestamp - (timestamp - origin).rem_euclid(micros)).ok()
            }
        },
        months => bin_of_months(months.into(), timestamp, origin),
    };
    in_range(start, &SqlType::Timestamp)
}

fn bin_of_months(width: i64, timestamp: i64, origin: i64) -> Option<i64> {
    let months = |moment: Moment| {
        let Civil { year, month, .. } = moment.civil();
        year * 12 + month
    };
    let (moment, first) = (Moment::of_timestamp(timestamp), Moment::of_timestamp(origin));
    let bins = (months(moment) - months(first)).div_euclid(width);
    let start = |bins: i64| Moment { days: add_months(first.days, bins * width)?, ..first }.timestamp();
    match start(bins)? {
        late if late > timestamp => start(bins - 1),
        start => Some(start),
    }
}

fn date_bin() -> Function {
    let function = time_function(&["date_bin"], "The beginning of the bin of a width that a time lies in")
        .example("date_bin(INTERVAL '15 minutes', TIMESTAMP '2024-05-17 10:20:30')", "2024-05-17 10:15:00");
    let of_timestamps = scalar::<(Intervals, Timestamp), Timestamp, _>(|(width, timestamp)| bin(width, timestamp, 0));
    let with_origin = scalar::<(Intervals, Timestamp, Timestamp), Timestamp, _>(|(width, timestamp, origin)| {
        bin(width, timestamp, origin)
    });
    both(both(function, of_timestamps), with_origin)
        .form(scalar::<(Intervals, Time), Time, _>(|(width, micros)| bin(width, micros, 0).map(|start| start.max(0))))
}

/// Months are counted from 2000-01-01, all other widths from the Monday after it.
fn origin_of(width: Interval) -> i64 {
    if width.months == 0 { MONDAY } else { MILLENNIUM }
}

/// Like [`bucket`]; NULL for an infinite origin, like DuckDB's.
fn bucket_from(width: Interval, timestamp: i64, origin: i64) -> Result<Option<i64>> {
    is_finite_timestamp(origin).then(|| bucket(width, timestamp, origin)).transpose()
}

/// Like [`bin`], but buckets of months start on the first of a month.
fn bucket(width: Interval, timestamp: i64, origin: i64) -> Result<i64> {
    let origin = if width.months == 0 { origin } else { Unit::Month.of_timestamp(origin)? };
    bin(width, timestamp, origin)
}

fn bucket_with_offset(width: Interval, timestamp: i64, offset: Interval) -> Result<i64> {
    let ty = SqlType::Timestamp;
    let shifted = in_range(timestamp_sub(timestamp, offset), &ty)?;
    in_range(timestamp_add(bucket(width, shifted, origin_of(width))?, offset), &ty)
}

fn bucket_in_zone(width: Interval, moment: i64, zone: &str) -> Result<i64> {
    let (zone, ty) = (TimeZone::named(zone)?, SqlType::TimestampTz);
    let local = in_range(zone.local(moment), &ty)?;
    in_range(zone.moment(bucket(width, local, origin_of(width))?), &ty)
}

fn midnight(days: i32) -> Result<i64> {
    in_range(timestamp_of_date(days, MICROS_PER_DAY), &SqlType::Timestamp)
}

fn date(timestamp: i64) -> Result<i32> {
    in_range(date_of_timestamp(timestamp, MICROS_PER_DAY), &SqlType::Date)
}

fn time_bucket() -> Function {
    let function = time_function(
        &["time_bucket"],
        "The beginning of the bucket of a width that a time lies in, from an origin or with an offset",
    )
    .example("time_bucket(INTERVAL '1 hour', TIMESTAMP '2024-05-17 13:14:15')", "2024-05-17 13:00:00");
    let plain = scalar::<(Intervals, Timestamp), Timestamp, _>(|(width, at)| bucket(width, at, origin_of(width)));
    let with_origin =
        scalar::<(Intervals, Timestamp, Timestamp), Timestamp, _>(|(width, at, origin)| bucket_from(width, at, origin));
    let with_offset = scalar::<(Intervals, Timestamp, Intervals), Timestamp, _>(|(width, at, offset)| {
        bucket_with_offset(width, at, offset)
    });
    both(both(both(function, plain), with_origin), with_offset)
        .form(scalar::<(Intervals, Date), Date, _>(|(width, days)| {
            date(bucket(width, midnight(days)?, origin_of(width))?)
        }))
        .form(scalar::<(Intervals, Date, Date), Date, _>(|(width, days, origin)| {
            bucket_from(width, midnight(days)?, midnight(origin)?)?.map(date).transpose()
        }))
        .form(scalar::<(Intervals, Date, Intervals), Date, _>(|(width, days, offset)| {
            date(bucket_with_offset(width, midnight(days)?, offset)?)
        }))
        .form(scalar::<(Intervals, TimestampTz, Text), TimestampTz, _>(|(width, moment, zone)| {
            bucket_in_zone(width, moment, zone)
        }))
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn units() {
        let moment = "TIMESTAMP '2020-05-17 10:11:12.123456'";
        for (unit, expected) in [
            ("millennium", "2001-01-01 00:00:00"),
            ("century", "2001-01-01 00:00:00"),
            ("decade", "2020-01-01 00:00:00"),
            ("Year", "2020-01-01 00:00:00"),
            ("isoyear", "2019-12-30 00:00:00"),
            ("quarter", "2020-04-01 00:00:00"),
            ("month", "2020-05-01 00:00:00"),
            ("week", "2020-05-11 00:00:00"),
            ("day", "2020-05-17 00:00:00"),
            ("hours", "2020-05-17 10:00:00"),
            ("minute", "2020-05-17 10:11:00"),
            ("second", "2020-05-17 10:11:12"),
            ("ms", "2020-05-17 10:11:12.123"),
            ("us", "2020-05-17 10:11:12.123456"),
        ] {
            assert_eq!(shown("date_trunc", &[&format!("'{unit}'"), moment]), expected, "{unit}");
        }
        for (unit, value, expected) in [
            ("'month'", "DATE '2020-05-17'", "2020-05-01 00:00:00"),
            ("'month'", "TIMESTAMPTZ '2020-05-17 10:00:00+00'", "2020-05-01 00:00:00+00"),
            ("'century'", "TIMESTAMP '0001-01-01 BC'", "0100-01-01 00:00:00 BC"),
            ("'day'", "TIMESTAMP '0044-03-15 12:00:00 BC'", "0044-03-15 00:00:00 BC"),
            ("'hour'", "TIME '10:11:12'", "10:00:00"),
            ("'year'", "INTERVAL '14 months 3 days'", "1 year"),
            ("'quarter'", "INTERVAL '14 months 3 days'", "1 year"),
            ("'week'", "INTERVAL '1 month 10 days 05:00:00'", "1 month 7 days"),
            ("'hour'", "INTERVAL '-1 days -05:30:00'", "-1 days -05:00:00"),
            ("'century'", "INTERVAL '-140 years'", "-100 years"),
            ("NULL", "TIMESTAMP '2020-05-17'", "NULL"),
            ("'day'", "NULL", "NULL"),
        ] {
            assert_eq!(shown("date_trunc", &[unit, value]), expected, "{unit} {value}");
        }
        assert!(error_of("date_trunc", &["'century'", "TIMESTAMP '290301-01-01 BC'"]).contains("out of range"));
    }

    #[test]
    fn bins() {
        for (name, arguments, expected) in [
            ("date_bin", &["INTERVAL '15 minutes'", "TIMESTAMP '2024-05-17 10:20:30'"][..], "2024-05-17 10:15:00"),
            (
                "date_bin",
                &["INTERVAL '15 minutes'", "TIMESTAMP '2020-02-11 15:44:17'", "TIMESTAMP '2001-01-01 00:02:30'"],
                "2020-02-11 15:32:30",
            ),
            (
                "date_bin",
                &["INTERVAL '1 month'", "TIMESTAMP '2024-05-14'", "TIMESTAMP '2000-01-15'"],
                "2024-04-15 00:00:00",
            ),
            ("date_bin", &["INTERVAL '1 hour'", "TIME '10:20:30'"], "10:00:00"),
            ("time_bucket", &["INTERVAL '1 hour'", "TIMESTAMP '2024-05-17 13:14:15'"], "2024-05-17 13:00:00"),
            ("time_bucket", &["INTERVAL '1 month'", "DATE '2024-05-17'"], "2024-05-01"),
            ("time_bucket", &["INTERVAL '2 weeks'", "DATE '2024-05-17'"], "2024-05-06"),
            (
                "time_bucket",
                &["INTERVAL '10 days'", "TIMESTAMP '2024-05-17'", "TIMESTAMP '2024-05-15'"],
                "2024-05-15 00:00:00",
            ),
            (
                "time_bucket",
                &["INTERVAL '10 days'", "TIMESTAMP '2024-05-17'", "INTERVAL '2 days'"],
                "2024-05-08 00:00:00",
            ),
            ("time_bucket", &["INTERVAL '3 months'", "TIMESTAMP '1999-05-17'"], "1999-04-01 00:00:00"),
            (
                "time_bucket",
                &["INTERVAL '3 months'", "TIMESTAMP '1999-05-17'", "TIMESTAMP '2000-02-15'"],
                "1999-05-01 00:00:00",
            ),
            (
                "time_bucket",
                &["INTERVAL '1 day'", "TIMESTAMPTZ '2024-05-17 23:30:00+00'", "'Europe/Berlin'"],
                "2024-05-17 22:00:00+00",
            ),
            ("time_bucket", &["INTERVAL '1 hour'", "NULL"], "NULL"),
        ] {
            assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        }
        let moment = "TIMESTAMP '1999-05-17'";
        assert!(error_of("time_bucket", &["INTERVAL '-1 days'", moment]).contains("greater than 0"));
        assert!(error_of("time_bucket", &["INTERVAL '1 month 1 day'", moment]).contains("either months"));
        assert!(error_of("date_bin", &["INTERVAL '0 days'", moment]).contains("greater than 0"));
    }

    #[test]
    fn last_days() {
        assert_eq!(shown("last_day", &["DATE '2024-02-05'"]), "2024-02-29");
        assert_eq!(shown("last_day", &["TIMESTAMP '2023-12-31 23:59:59'"]), "2023-12-31");
        assert_eq!(shown("last_day", &["DATE '1900-02-01'"]), "1900-02-28");
        assert!(error_of("last_day", &["DATE '5881580-07-10'"]).contains("out of range for DATE"));
    }
}
