//! Calendar arithmetic on days since 1970-01-01 in the proleptic Gregorian calendar.
//!
//! Dates are split with the method of Neri and Schneider ("Euclidean affine functions and their application to calendar
//! algorithms", 2023): years start on 1 March, so that the leap day is the last of its year, and divisions by 1461/4 and
//! 2141/65536 give the year and the month without tables or branches.

/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_SHIFT: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;
const YEARS_PER_ERA: i64 = 400;
/// Nanoseconds in a day.
pub const NANOSECONDS_PER_DAY: i64 = 86_400_000_000_000;

/// A calendar day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Civil {
    /// Year; 0 is 1 BC.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
}

/// The calendar day of `days` since 1970-01-01; for every `i32` day and every timestamp in seconds.
#[inline(always)]
pub fn civil_from_days(days: i64) -> Civil {
    let shifted = days + EPOCH_SHIFT;
    let era = shifted.div_euclid(DAYS_PER_ERA);
    // 0 ..= 146096, as are all numbers below.
    let day_of_era = shifted.rem_euclid(DAYS_PER_ERA) as u32;
    let quarter_days = 4 * day_of_era + 3;
    let century = quarter_days / DAYS_PER_ERA as u32;
    let in_century = (quarter_days % DAYS_PER_ERA as u32) | 3;
    let year_of_century = in_century / 1461;
    let day_of_year = (in_century % 1461) / 4;
    let month_and_day = 2141 * day_of_year + 197_913;
    let (month, day) = (month_and_day >> 16, (month_and_day & 0xFFFF) / 2141 + 1);
    let next_year = day_of_year >= 306;
    Civil {
        year: era * YEARS_PER_ERA + (100 * century + year_of_century) as i64 + next_year as i64,
        month: (if next_year { month - 12 } else { month }) as i64,
        day: day as i64,
    }
}

/// Days since 1970-01-01; the inverse of [`civil_from_days`].
#[inline(always)]
pub fn days_from_civil(civil: Civil) -> i64 {
    let Civil { year, month, day } = civil;
    let before_march = (month <= 2) as i64;
    let year = year - before_march;
    let era = year.div_euclid(YEARS_PER_ERA);
    let year_of_era = year.rem_euclid(YEARS_PER_ERA);
    let month = month + 12 * before_march - 3;
    let day_of_year = (979 * month + 15) / 32 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_PER_ERA + day_of_era - EPOCH_SHIFT
}

/// Number of days in a month.
pub fn days_in_month(year: i64, month: i64) -> i64 {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the same day `months` later, or the last day of that month if it is shorter.
#[inline]
pub fn add_months(days: i64, months: i64) -> i64 {
    let civil = civil_from_days(days);
    let month = civil.year * 12 + civil.month - 1 + months;
    let (year, month) = (month.div_euclid(12), month.rem_euclid(12) + 1);
    days_from_civil(Civil { year, month, day: civil.day.min(days_in_month(year, month)) })
}

/// A field of a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateField {
    /// The year.
    Year,
    /// 1 to 4.
    Quarter,
    /// 1 to 12.
    Month,
    /// 1 to 31.
    Day,
    /// 0 (Sunday) to 6.
    DayOfWeek,
    /// 1 to 366.
    DayOfYear,
}

impl DateField {
    /// The field's value.
    #[inline(always)]
    pub fn of_days(self, days: i64) -> i32 {
        match self {
            DateField::Year => civil_from_days(days).year as i32,
            DateField::Quarter => ((civil_from_days(days).month + 2) / 3) as i32,
            DateField::Month => civil_from_days(days).month as i32,
            DateField::Day => civil_from_days(days).day as i32,
            // 1970-01-01 was a Thursday.
            DateField::DayOfWeek => (days + 4).rem_euclid(7) as i32,
            DateField::DayOfYear => {
                let civil = civil_from_days(days);
                (days - days_from_civil(Civil { month: 1, day: 1, ..civil }) + 1) as i32
            }
        }
    }
}

/// The unit that a date is truncated to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DateUnit {
    /// 1 January.
    Year,
    /// First day of January, April, July or October.
    Quarter,
    /// First of the month.
    Month,
    /// Monday.
    Week,
}

/// The first day of the unit that contains `days`.
#[inline]
pub fn truncate_days(days: i64, unit: DateUnit) -> i64 {
    let civil = civil_from_days(days);
    match unit {
        DateUnit::Year => days_from_civil(Civil { month: 1, day: 1, ..civil }),
        DateUnit::Quarter => days_from_civil(Civil { month: (civil.month - 1) / 3 * 3 + 1, day: 1, ..civil }),
        DateUnit::Month => days_from_civil(Civil { day: 1, ..civil }),
        DateUnit::Week => days - (days + 3).rem_euclid(7),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks day by day through more than two eras and compares with a calendar that counts.
    #[test]
    #[cfg_attr(miri, ignore = "too many days")]
    fn the_calendar_agrees_with_counting() {
        let (mut year, mut month, mut day) = (1500, 1, 1);
        let start = days_from_civil(Civil { year, month, day });
        assert_eq!(days_from_civil(Civil { year: 1970, month: 1, day: 1 }), 0);
        let (mut quarter_start, mut month_start, mut year_start) = (start, start, start);
        for days in start..start + 2 * DAYS_PER_ERA + 1000 {
            let civil = Civil { year, month, day };
            assert_eq!(civil_from_days(days), civil);
            assert_eq!(days_from_civil(civil), days);
            assert_eq!(truncate_days(days, DateUnit::Month), month_start);
            assert_eq!(truncate_days(days, DateUnit::Quarter), quarter_start);
            assert_eq!(truncate_days(days, DateUnit::Year), year_start);
            assert_eq!(DateField::DayOfYear.of_days(days) as i64, days - year_start + 1);
            day += 1;
            if day > days_in_month(year, month) {
                (day, month) = (1, month + 1);
                if month > 12 {
                    (month, year) = (1, year + 1);
                    year_start = days + 1;
                }
                month_start = days + 1;
                if month % 3 == 1 {
                    quarter_start = days + 1;
                }
            }
        }
    }

    #[test]
    fn weeks_and_months_have_known_days() {
        let date = |year, month, day| days_from_civil(Civil { year, month, day });
        assert_eq!(DateField::DayOfWeek.of_days(date(2024, 2, 29)), 4);
        assert_eq!(DateField::DayOfWeek.of_days(date(1900, 1, 1)), 1);
        assert_eq!(truncate_days(date(2024, 2, 29), DateUnit::Week), date(2024, 2, 26));
        assert_eq!(truncate_days(date(1969, 12, 28), DateUnit::Week), date(1969, 12, 22));
        assert_eq!(add_months(date(2024, 1, 31), 1), date(2024, 2, 29));
        assert_eq!(add_months(date(2024, 1, 31), -11), date(2023, 2, 28));
        assert_eq!(add_months(date(1995, 3, 15), 120), date(2005, 3, 15));
        assert_eq!(DateField::Quarter.of_days(date(1995, 9, 30)), 3);
        for days in [i32::MIN as i64, i32::MAX as i64] {
            assert_eq!(days_from_civil(civil_from_days(days)), days);
        }
    }
}
