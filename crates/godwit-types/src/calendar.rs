//! Days and dates in the proleptic Gregorian calendar, in which the rules of 1582 apply to all times.
//!
//! Days are counted from 1970-01-01. Years are astronomical: year 0 is 1 BC. Arithmetic is in `i64`, which holds the
//! days of every timestamp of every unit, so any stored value can be shown; [`date_of`] checks the range of a DATE.

use crate::SqlType;

/// Microseconds per second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Seconds per day.
pub const SECONDS_PER_DAY: i64 = 86_400;
/// Microseconds per day.
pub const MICROS_PER_DAY: i64 = SECONDS_PER_DAY * MICROS_PER_SECOND;

/// Years beyond this aren't dates: more than a timestamp in seconds reaches, and far from an overflow of `i64`.
pub(crate) const YEAR_MAX: i64 = 300_000_000_000;
/// The calendar repeats itself every 400 years.
const DAYS_PER_400_YEARS: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;

/// A day by year, month and day of the month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Civil {
    /// Year; 0 is 1 BC.
    pub year: i64,
    /// Month, 1 to 12.
    pub month: u32,
    /// Day of the month, from 1.
    pub day: u32,
}

/// Returns the days from 1970-01-01 to a date; `None` if there is no such day.
///
/// Years are counted from March, so that the leap day is the last of its year and the months before it have a fixed
/// pattern of lengths: 153 days for each five of them.
pub fn days_from_civil(date: Civil) -> Option<i64> {
    let Civil { year, month, day } = date;
    if year.abs() > YEAR_MAX || day == 0 || day > days_in_month(year, month)? {
        return None;
    }
    let (march_year, month_from_march) =
        if month >= 3 { (year, i64::from(month) - 3) } else { (year - 1, i64::from(month) + 9) };
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let (era, year_of_era) = (march_year.div_euclid(400), march_year.rem_euclid(400));
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * DAYS_PER_400_YEARS + day_of_era - DAYS_TO_1970)
}

/// Returns the date that is `days` after 1970-01-01.
pub fn civil_from_days(days: i64) -> Civil {
    let from_march = days.saturating_add(DAYS_TO_1970);
    let (era, day_of_era) = (from_march.div_euclid(DAYS_PER_400_YEARS), from_march.rem_euclid(DAYS_PER_400_YEARS));
    // Minus the leap days before it, each year has 365 days.
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    let small = |value: i64| u32::try_from(value).expect("months and days are small");
    Civil { year, month: small(month), day: small(day) }
}

/// Returns the number of days in a month; `None` if there is no such month.
pub fn days_in_month(year: i64, month: u32) -> Option<u32> {
    Some(match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if is_leap_year(year) => 29,
        2 => 28,
        _ => return None,
    })
}

/// True for years with a 29th of February.
pub fn is_leap_year(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the day `months` after a day, at most the last of its month; `None` beyond all dates.
pub fn add_months(days: i64, months: i64) -> Option<i64> {
    let Civil { year, month, day } = civil_from_days(days);
    let months = year.checked_mul(12)?.checked_add(i64::from(month) - 1)?.checked_add(months)?;
    let (year, month) = (months.div_euclid(12), u32::try_from(months.rem_euclid(12) + 1).ok()?);
    days_from_civil(Civil { year, month, day: day.min(days_in_month(year, month)?) })
}

/// Returns the days as a DATE holds them; `None` if they are out of its range.
pub fn date_of(days: i64) -> Option<i32> {
    i32::try_from(days).ok().filter(|&days| is_finite_date(days))
}

/// The days of the DATE `infinity`; `-infinity` has as many before 1970, as in files of DuckDB. What lies beyond counts as
/// infinite, too.
pub const INFINITE_DAYS: i32 = i32::MAX;

/// The ticks of the TIMESTAMP `infinity`, of any unit; `-infinity` has as many before 1970.
pub const INFINITE_TICKS: i64 = i64::MAX;

/// Returns the text of an infinite DATE or TIMESTAMP.
pub fn infinity_text(is_past: bool) -> &'static str {
    if is_past { "-infinity" } else { "infinity" }
}

/// True unless a DATE is `infinity` or `-infinity`.
#[inline]
pub fn is_finite_date(days: i32) -> bool {
    days > -INFINITE_DAYS && days < INFINITE_DAYS
}

/// True unless a TIMESTAMP is `infinity` or `-infinity`.
#[inline]
pub fn is_finite_timestamp(ticks: i64) -> bool {
    ticks > -INFINITE_TICKS && ticks < INFINITE_TICKS
}

/// Returns the DATE that many days later; infinite ones stay. `None` if it is out of range.
pub fn days_later(date: i32, days: i128) -> Option<i32> {
    match is_finite_date(date) {
        true => date_of(i64::from(date).checked_add(i64::try_from(days).ok()?)?),
        false => Some(date),
    }
}

/// Returns the ticks, unless they are those of an infinite TIMESTAMP: the result of arithmetic is out of range then.
#[inline]
pub fn finite_timestamp(ticks: i64) -> Option<i64> {
    Some(ticks).filter(|&ticks| is_finite_timestamp(ticks))
}

/// Returns the first moment of a DATE as a TIMESTAMP with this many ticks per day; `None` if it is out of range.
#[inline]
pub fn timestamp_of_date(days: i32, ticks_per_day: i64) -> Option<i64> {
    match is_finite_date(days) {
        true => i64::from(days).checked_mul(ticks_per_day),
        false => Some(i64::from(days.signum()) * INFINITE_TICKS),
    }
}

/// Returns the DATE of a TIMESTAMP with this many ticks per day; `None` if it is out of range.
#[inline]
pub fn date_of_timestamp(ticks: i64, ticks_per_day: i64) -> Option<i32> {
    match is_finite_timestamp(ticks) {
        true => date_of(ticks.div_euclid(ticks_per_day)),
        false => Some(ticks.signum() as i32 * INFINITE_DAYS),
    }
}

/// Returns the ticks per second of a TIMESTAMP type.
///
/// # Panics
/// For other types.
pub fn ticks_per_second(ty: &SqlType) -> i64 {
    match ty {
        SqlType::TimestampS => 1,
        SqlType::TimestampMs => 1_000,
        SqlType::Timestamp | SqlType::TimestampTz => MICROS_PER_SECOND,
        SqlType::TimestampNs => 1_000_000_000,
        other => panic!("{other} has no ticks"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn days(year: i64, month: u32, day: u32) -> Option<i64> {
        days_from_civil(Civil { year, month, day })
    }

    #[test]
    fn known_days() {
        let cases = [
            ((1970, 1, 1), 0),
            ((1969, 12, 31), -1),
            ((2000, 2, 29), 11_016),
            ((2000, 3, 1), 11_017),
            ((1900, 3, 1), -25_508),
            ((1, 1, 1), -719_162),
            ((0, 12, 31), -719_163),
            ((5_881_580, 7, 11), i64::from(i32::MAX)),
        ];
        for ((year, month, day), expected) in cases {
            assert_eq!(days(year, month, day), Some(expected), "{year}-{month}-{day}");
            assert_eq!(civil_from_days(expected), Civil { year, month, day });
        }
        for (year, month, day) in
            [(2001, 2, 29), (1900, 2, 29), (2000, 13, 1), (2000, 0, 1), (2000, 1, 0), (2000, 4, 31)]
        {
            assert_eq!(days(year, month, day), None, "{year}-{month}-{day}");
        }
        assert_eq!(days(i64::MIN + 1, 1, 1), None);
    }

    #[test]
    fn every_day_of_eight_centuries_follows_the_one_before() {
        let first = days(1599, 12, 31).unwrap();
        let mut before = civil_from_days(first);
        for day in first + 1..first + 2 * DAYS_PER_400_YEARS {
            let date = civil_from_days(day);
            assert_eq!(days_from_civil(date), Some(day));
            let follows = match (date.day, date.month) {
                (1, 1) => date.year == before.year + 1 && before.month == 12 && before.day == 31,
                (1, _) => {
                    date.month == before.month + 1 && Some(before.day) == days_in_month(before.year, before.month)
                }
                _ => date.day == before.day + 1 && date.month == before.month,
            };
            assert!(follows, "{before:?} {date:?}");
            before = date;
        }
    }

    #[test]
    fn months_end_where_they_end() {
        let cases = [
            ((2001, 1, 31), 1, (2001, 2, 28)),
            ((2000, 1, 31), 1, (2000, 2, 29)),
            ((2000, 3, 31), -1, (2000, 2, 29)),
            ((2000, 2, 29), 12, (2001, 2, 28)),
            ((2000, 1, 15), -1, (1999, 12, 15)),
            ((1, 1, 1), -1, (0, 12, 1)),
        ];
        for ((year, month, day), months, (y, m, d)) in cases {
            assert_eq!(add_months(days(year, month, day).unwrap(), months), days(y, m, d));
        }
        for extreme in [i64::MIN, i64::MAX] {
            assert_eq!(add_months(0, extreme), None);
            assert_eq!(add_months(extreme, 1), None);
        }
    }
}
