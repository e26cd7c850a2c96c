//! Arithmetic with intervals, after PostgreSQL.
//!
//! The parts are added one by one. A fraction of a month carries over into days, thirty to a month, and a fraction of a
//! day into microseconds; nothing ever goes the other way, except in the `justify` functions. All functions here return
//! `None` if a part overflows.

use crate::Interval;
use crate::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, SECONDS_PER_DAY};
use crate::calendar::{add_months, finite_timestamp, is_finite_timestamp, timestamp_of_date};

/// Days per month, where a month has to be a number of days.
const DAYS_PER_MONTH: i64 = 30;
/// Seconds per year of 365.25 days.
const SECONDS_PER_YEAR: i64 = 31_557_600;

/// The units of intervals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    /// A millionth of a second.
    Microsecond,
    /// A thousandth of a second.
    Millisecond,
    /// A second.
    Second,
    /// 60 seconds.
    Minute,
    /// 60 minutes.
    Hour,
    /// A day.
    Day,
    /// 7 days.
    Week,
    /// A month.
    Month,
    /// 3 months.
    Quarter,
    /// 12 months.
    Year,
    /// 10 years.
    Decade,
    /// 100 years.
    Century,
    /// 1000 years.
    Millennium,
}

/// The size of a unit, in the part of an interval that it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitSize {
    Months(i64),
    Days(i64),
    Micros(i64),
}

impl IntervalUnit {
    /// Returns the unit of this name: singular, plural or one of PostgreSQL's abbreviations, in any case.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "microsecond" | "microseconds" | "microsec" | "microsecs" | "usecond" | "useconds" | "usec" | "usecs"
            | "us" => Self::Microsecond,
            "millisecond" | "milliseconds" | "millisec" | "millisecs" | "msecond" | "mseconds" | "msec" | "msecs"
            | "ms" => Self::Millisecond,
            "second" | "seconds" | "sec" | "secs" | "s" => Self::Second,
            "minute" | "minutes" | "min" | "mins" | "m" => Self::Minute,
            "hour" | "hours" | "hr" | "hrs" | "h" => Self::Hour,
            "day" | "days" | "d" => Self::Day,
            "week" | "weeks" | "w" => Self::Week,
            "month" | "months" | "mon" | "mons" => Self::Month,
            "quarter" | "quarters" | "qtr" => Self::Quarter,
            "year" | "years" | "yr" | "yrs" | "y" => Self::Year,
            "decade" | "decades" | "dec" | "decs" => Self::Decade,
            "century" | "centuries" | "cent" | "c" => Self::Century,
            "millennium" | "millennia" | "millenniums" | "mil" | "mils" => Self::Millennium,
            _ => return None,
        })
    }

    pub(crate) fn size(self) -> UnitSize {
        match self {
            Self::Microsecond => UnitSize::Micros(1),
            Self::Millisecond => UnitSize::Micros(1_000),
            Self::Second => UnitSize::Micros(MICROS_PER_SECOND),
            Self::Minute => UnitSize::Micros(60 * MICROS_PER_SECOND),
            Self::Hour => UnitSize::Micros(3_600 * MICROS_PER_SECOND),
            Self::Day => UnitSize::Days(1),
            Self::Week => UnitSize::Days(7),
            Self::Month => UnitSize::Months(1),
            Self::Quarter => UnitSize::Months(3),
            Self::Year => UnitSize::Months(12),
            Self::Decade => UnitSize::Months(120),
            Self::Century => UnitSize::Months(1_200),
            Self::Millennium => UnitSize::Months(12_000),
        }
    }
}

impl Interval {
    /// Returns an interval of `count` units.
    pub fn of(count: i64, unit: IntervalUnit) -> Option<Self> {
        match unit.size() {
            UnitSize::Months(size) => Self::from_parts(count.checked_mul(size)?, 0, 0),
            UnitSize::Days(size) => Self::from_parts(0, count.checked_mul(size)?, 0),
            UnitSize::Micros(size) => Self::from_parts(0, 0, count.checked_mul(size)?),
        }
    }

    pub(crate) fn from_parts(months: i64, days: i64, micros: i64) -> Option<Self> {
        Some(Self { months: i32::try_from(months).ok()?, days: i32::try_from(days).ok()?, micros })
    }

    /// The sum, part by part.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(Self {
            months: self.months.checked_add(other.months)?,
            days: self.days.checked_add(other.days)?,
            micros: self.micros.checked_add(other.micros)?,
        })
    }

    /// The difference, part by part.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        Some(Self {
            months: self.months.checked_sub(other.months)?,
            days: self.days.checked_sub(other.days)?,
            micros: self.micros.checked_sub(other.micros)?,
        })
    }

    /// The interval with all signs reversed.
    pub fn checked_neg(self) -> Option<Self> {
        Self::default().checked_sub(self)
    }

    /// `factor` times as long. Whole factors are exact.
    pub fn checked_mul(self, factor: f64) -> Option<Self> {
        if factor.fract() == 0.0 && factor.abs() < i64::MAX as f64 {
            let factor = factor as i64;
            let part = |part: i32| i64::from(part).checked_mul(factor);
            return Self::from_parts(part(self.months)?, part(self.days)?, self.micros.checked_mul(factor)?);
        }
        self.scaled(|part| part * factor)
    }

    /// The interval divided by `divisor`; `None` for zero as well.
    pub fn checked_div(self, divisor: f64) -> Option<Self> {
        if divisor == 0.0 { None } else { self.scaled(|part| part / divisor) }
    }

    /// Scales each part; fractions of months and days carry over. Binary rounding errors below a microsecond are
    /// rounded off.
    fn scaled(self, scale: impl Fn(f64) -> f64) -> Option<Self> {
        let rounded = |seconds: f64| (seconds * 1e6).round_ties_even() / 1e6;
        let months = scale(f64::from(self.months));
        let days = scale(f64::from(self.days));
        let days_of_months = rounded(months.fract() * DAYS_PER_MONTH as f64);
        let seconds_per_day = SECONDS_PER_DAY as f64;
        let mut seconds = rounded((days.fract() + days_of_months.fract()) * seconds_per_day);
        let mut whole_days = days.trunc() + days_of_months.trunc();
        if seconds.abs() >= seconds_per_day {
            whole_days += (seconds / seconds_per_day).trunc();
            seconds %= seconds_per_day;
        }
        let micros = (scale(self.micros as f64) + seconds * 1e6).round_ties_even();
        let fits = |value: f64, limit: f64| (value.abs() < limit).then_some(value as i64);
        Self::from_parts(fits(months.trunc(), 1e18)?, fits(whole_days, 1e18)?, fits(micros, i64::MAX as f64)?)
    }

    /// Returns the microseconds for comparisons: a month has 30 days, a day 24 hours.
    pub fn estimate(self) -> i128 {
        let days = i64::from(self.months) * DAYS_PER_MONTH + i64::from(self.days);
        i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(self.micros)
    }

    /// Returns the microseconds as counted by `extract(epoch …)`: a year has 365.25 days, each remaining month 30.
    pub fn epoch_micros(self) -> i128 {
        let (years, months) = (i64::from(self.months / 12), i64::from(self.months % 12));
        let days = months * DAYS_PER_MONTH + i64::from(self.days);
        i128::from(years * SECONDS_PER_YEAR) * i128::from(MICROS_PER_SECOND)
            + i128::from(days) * i128::from(MICROS_PER_DAY)
            + i128::from(self.micros)
    }

    /// Converts every 24 hours to a day (`justify_hours`).
    pub fn justify_hours(self) -> Option<Self> {
        let days = i64::from(self.days) + self.micros / MICROS_PER_DAY;
        let (days, micros) = one_sign(days, self.micros % MICROS_PER_DAY, MICROS_PER_DAY);
        Self::from_parts(i64::from(self.months), days, micros)
    }

    /// Converts every 30 days to a month (`justify_days`).
    pub fn justify_days(self) -> Option<Self> {
        let months = i64::from(self.months) + i64::from(self.days) / DAYS_PER_MONTH;
        let (months, days) = one_sign(months, i64::from(self.days) % DAYS_PER_MONTH, DAYS_PER_MONTH);
        Self::from_parts(months, days, self.micros)
    }

    /// Does both, with the same sign in all parts (`justify_interval`).
    pub fn justify(self) -> Option<Self> {
        let total = self.estimate();
        let (days, micros) = (total / i128::from(MICROS_PER_DAY), total % i128::from(MICROS_PER_DAY));
        let (days, micros) = (i64::try_from(days).ok()?, i64::try_from(micros).ok()?);
        Self::from_parts(days / DAYS_PER_MONTH, days % DAYS_PER_MONTH, micros)
    }
}

/// Carries over one whole if the parts have different signs.
fn one_sign(whole: i64, rest: i64, size: i64) -> (i64, i64) {
    match (whole.signum(), rest.signum()) {
        (1, -1) => (whole - 1, rest + size),
        (-1, 1) => (whole + 1, rest - size),
        _ => (whole, rest),
    }
}

/// Adds an interval to a timestamp in microseconds: months first, then days, then the rest. If the month is too short,
/// the day becomes its last.
pub fn timestamp_add(timestamp: i64, interval: Interval) -> Option<i64> {
    if !is_finite_timestamp(timestamp) {
        return Some(timestamp);
    }
    let (days, time) = (timestamp.div_euclid(MICROS_PER_DAY), timestamp.rem_euclid(MICROS_PER_DAY));
    let days = if interval.months == 0 { days } else { add_months(days, i64::from(interval.months))? };
    let days = days.checked_add(i64::from(interval.days))?;
    let micros = i128::from(days) * i128::from(MICROS_PER_DAY) + i128::from(time) + i128::from(interval.micros);
    i64::try_from(micros).ok().and_then(finite_timestamp)
}

/// Subtracts an interval from a timestamp in microseconds.
pub fn timestamp_sub(timestamp: i64, interval: Interval) -> Option<i64> {
    timestamp_add(timestamp, interval.checked_neg()?)
}

/// Adds an interval to a date; the result is a TIMESTAMP.
pub fn date_add(date: i32, interval: Interval) -> Option<i64> {
    timestamp_add(timestamp_of_date(date, MICROS_PER_DAY)?, interval)
}

/// Adds an interval to a time, wrapping at midnight. Months and days don't count.
pub fn time_add(time: i64, interval: Interval) -> i64 {
    (time.rem_euclid(MICROS_PER_DAY) + interval.micros.rem_euclid(MICROS_PER_DAY)) % MICROS_PER_DAY
}

/// Returns the difference of two timestamps in microseconds, as days and microseconds; `None` if it is out of range, or
/// one of them is infinite.
pub fn timestamp_diff(end: i64, start: i64) -> Option<Interval> {
    let micros = finite_timestamp(end)?.checked_sub(finite_timestamp(start)?)?;
    Interval::from_parts(0, micros / MICROS_PER_DAY, micros % MICROS_PER_DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(months: i32, days: i32, micros: i64) -> Interval {
        Interval { months, days, micros }
    }

    const HOUR: i64 = 3_600 * MICROS_PER_SECOND;

    #[test]
    fn fractions_spill_downwards() {
        let cases = [
            (interval(1, 0, 0), 1.5, interval(1, 15, 0)),
            (interval(0, 1, 0), 0.5, interval(0, 0, 12 * HOUR)),
            (interval(14, 3, HOUR), 2.0, interval(28, 6, 2 * HOUR)),
            (interval(-1, 0, 0), 0.5, interval(0, -15, 0)),
            (interval(0, 0, i64::MAX), 1.0, interval(0, 0, i64::MAX)),
            (interval(1, 0, 0), 0.1, interval(0, 3, 0)),
        ];
        for (value, factor, expected) in cases {
            assert_eq!(value.checked_mul(factor), Some(expected), "{value:?} * {factor}");
        }
        assert_eq!(interval(0, 1, 0).checked_div(2.0), Some(interval(0, 0, 12 * HOUR)));
        assert_eq!(interval(3, 0, 0).checked_div(2.0), Some(interval(1, 15, 0)));
    }

    #[test]
    fn extremes_give_none() {
        let extremes = [interval(i32::MIN, i32::MIN, i64::MIN), interval(i32::MAX, i32::MAX, i64::MAX)];
        for value in extremes {
            for factor in [f64::NAN, f64::INFINITY, 1e300, -1e300, 2.0, 1.5, 9.3e18, -9.3e18] {
                assert_eq!(value.checked_mul(factor), None, "{value:?} {factor}");
            }
            assert_eq!(value.checked_div(0.0), None);
            assert_eq!(value.checked_div(f64::NAN), None);
            assert_eq!(value.checked_add(value), None);
            for timestamp in [i64::MIN, i64::MAX] {
                let (_, _) = (timestamp_add(timestamp, value), timestamp_sub(timestamp, value));
                let (_, _, _) = (value.justify(), value.justify_days(), value.justify_hours());
                let _ = time_add(timestamp, value);
            }
            let _ = (value.estimate(), value.epoch_micros(), date_add(i32::MAX, value), date_add(i32::MIN, value));
        }
        assert_eq!(extremes[0].checked_neg(), None);
        assert_eq!(timestamp_diff(i64::MAX, i64::MIN), None);
        assert_eq!(Interval::of(i64::MAX, IntervalUnit::Millennium), None);
    }

    #[test]
    fn justified() {
        assert_eq!(interval(0, 35, 0).justify_days(), Some(interval(1, 5, 0)));
        assert_eq!(interval(0, 0, 27 * HOUR).justify_hours(), Some(interval(0, 1, 3 * HOUR)));
        assert_eq!(interval(1, 0, -HOUR).justify(), Some(interval(0, 29, 23 * HOUR)));
        assert_eq!(interval(0, 2, -HOUR).justify_hours(), Some(interval(0, 1, 23 * HOUR)));
    }

    #[test]
    fn lengths() {
        assert_eq!(interval(24, 0, 0).epoch_micros(), 63_115_200_000_000);
        assert_eq!(interval(1, 0, 0).estimate(), interval(0, 30, 0).estimate());
        assert_eq!(interval(0, 1, 0).estimate(), interval(0, 0, 24 * HOUR).estimate());
    }

    #[test]
    fn moments() {
        let january_31_2000 = 10_987;
        assert_eq!(date_add(january_31_2000, interval(1, 1, HOUR)), Some((10_987 + 30) * MICROS_PER_DAY + HOUR));
        assert_eq!(timestamp_sub(0, interval(0, 1, HOUR)), Some(-MICROS_PER_DAY - HOUR));
        assert_eq!(timestamp_diff(25 * HOUR, 0), Some(interval(0, 1, HOUR)));
        assert_eq!(timestamp_diff(0, 25 * HOUR), Some(interval(0, -1, -HOUR)));
        assert_eq!(time_add(23 * HOUR, interval(5, 5, 2 * HOUR)), HOUR);
        assert_eq!(time_add(HOUR, interval(0, 0, -2 * HOUR)), 23 * HOUR);
    }
}
