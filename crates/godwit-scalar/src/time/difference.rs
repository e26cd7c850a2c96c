//! Differences between two times.

use godwit_common::Result;
use godwit_plan::ArgumentType;
use godwit_types::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, add_months, is_finite_timestamp};
use godwit_types::{Interval, IntervalUnit, SqlType};
use godwit_vector::kernels::date::{Civil, days_in_month};

use super::moment::{
    Chosen, MICROS_PER_HOUR, MICROS_PER_MINUTE, Moment, bad_argument, both, constant_text, in_range, interval_result,
    invalid, kind_of, time_function, with_constant, zoned,
};
use crate::choose::fits;
use crate::function::{Form, Function};
use crate::rows::{Date, Intervals, Text, Time, Timestamp, scalar};

pub(super) fn functions() -> Vec<Function> {
    let age = time_function(&["age"], "The time from the second to the first, in years, months, days and hours")
        .example("age(TIMESTAMP '2001-04-10', TIMESTAMP '1957-06-13')", "43 years 9 months 27 days");
    vec![
        time_function(&["date_diff", "datediff"], "How many boundaries of a unit lie between two times")
            .example("date_diff('year', DATE '2020-12-31', DATE '2021-01-01')", "1")
            .chosen("date_diff(VARCHAR, start, end)", |arguments| difference(arguments, Count::Boundaries)),
        time_function(&["date_sub", "datesub"], "How many whole units lie between two times")
            .example("date_sub('year', DATE '2020-12-31', DATE '2021-01-01')", "0")
            .chosen("date_sub(VARCHAR, start, end)", |arguments| difference(arguments, Count::Whole)),
        both(
            age,
            scalar::<(Timestamp, Timestamp), Intervals, _>(|(end, start)| {
                let are_finite = is_finite_timestamp(end) && is_finite_timestamp(start);
                are_finite.then(|| interval_result(Some(age_of(end, start)))).transpose()
            }),
        ),
    ]
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Count {
    Boundaries,
    Whole,
}

/// The unit that is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Plain(IntervalUnit),
    IsoYear,
}

impl Unit {
    fn named(name: &str) -> Result<Self> {
        if name.eq_ignore_ascii_case("isoyear") {
            return Ok(Self::IsoYear);
        }
        IntervalUnit::from_name(name).map(Self::Plain).ok_or_else(|| {
            let error = invalid(format!("there is no unit '{name}'"));
            error.with_hint("units are year, quarter, month, week, day, hour, minute, second and others")
        })
    }

    /// Returns its length.
    fn size(self) -> Size {
        match self {
            Self::IsoYear => Size::IsoYear,
            Self::Plain(unit) => match unit {
                IntervalUnit::Microsecond => Size::Micros(1),
                IntervalUnit::Millisecond => Size::Micros(1_000),
                IntervalUnit::Second => Size::Micros(MICROS_PER_SECOND),
                IntervalUnit::Minute => Size::Micros(MICROS_PER_MINUTE),
                IntervalUnit::Hour => Size::Micros(MICROS_PER_HOUR),
                IntervalUnit::Day => Size::Days(1),
                IntervalUnit::Week => Size::Days(7),
                IntervalUnit::Month => Size::Months(1),
                IntervalUnit::Quarter => Size::Months(3),
                IntervalUnit::Year => Size::Months(12),
                IntervalUnit::Decade => Size::Months(120),
                IntervalUnit::Century => Size::Months(1_200),
                IntervalUnit::Millennium => Size::Months(12_000),
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Size {
    Micros(i64),
    Days(i64),
    Months(i64),
    IsoYear,
}

impl Size {
    /// Counts boundaries; `None` if the microseconds overflow.
    #[inline(always)]
    fn boundaries(self, start: Moment, end: Moment) -> Option<i64> {
        Some(match self {
            Self::Micros(size) => {
                let per_day = MICROS_PER_DAY / size;
                let of_day = end.micros / size - start.micros / size;
                (end.days - start.days).checked_mul(per_day)?.checked_add(of_day)?
            }
            Self::Days(1) => end.days - start.days,
            // 1970-01-01 was a Thursday; weeks begin on Mondays.
            Self::Days(size) => (end.days + 3).div_euclid(size) - (start.days + 3).div_euclid(size),
            Self::Months(size) => {
                // Centuries and millennia begin with the year 1.
                let first = if size >= 1_200 { 12 } else { 0 };
                let position = |moment: Moment| (months(moment) - first).div_euclid(size);
                position(end) - position(start)
            }
            Self::IsoYear => end.iso_week().0 - start.iso_week().0,
        })
    }

    #[inline(always)]
    fn whole(self, start: Moment, end: Moment) -> Option<i64> {
        let is_backwards = (end.days, end.micros) < (start.days, start.micros);
        let (start, end, sign) = if is_backwards { (end, start, -1) } else { (start, end, 1) };
        let days = end.days - start.days - i64::from(end.micros < start.micros);
        Some(
            sign * match self {
                Self::Micros(size) => {
                    let micros = i128::from(end.days - start.days) * i128::from(MICROS_PER_DAY)
                        + i128::from(end.micros - start.micros);
                    i64::try_from(micros / i128::from(size)).ok()?
                }
                Self::Days(size) => days / size,
                Self::Months(size) => whole_months(start, end) / size,
                Self::IsoYear => whole_months(start, end) / 12,
            },
        )
    }
}

fn months(moment: Moment) -> i64 {
    let Civil { year, month, .. } = moment.civil();
    year * 12 + month - 1
}

/// Number of whole months, rounded down; the last day of a month counts as the same day of a longer one.
fn whole_months(start: Moment, end: Moment) -> i64 {
    let months = months(end) - months(start);
    let days = add_months(start.days, months).unwrap_or(start.days);
    months - i64::from((days, start.micros) > (end.days, end.micros))
}

fn difference(arguments: &[ArgumentType<'_>], count: Count) -> Chosen {
    let [unit, start, end] = arguments else { return None };
    let ty = godwit_types::common_type(&kind_of(start), &kind_of(end))?;
    let all_fit = fits(unit, &SqlType::Varchar) && [start, end].iter().all(|argument| fits(argument, &ty));
    if !all_fit {
        return None;
    }
    // A text compared with a date is a date.
    let ty = match (start.ty, end.ty) {
        (SqlType::Unknown, known) | (known, SqlType::Unknown) if *known == SqlType::Date => SqlType::Date,
        _ => ty,
    };
    let constant = constant_text(unit).map(Unit::named).transpose();
    Some(match constant {
        Ok(Some(unit)) => match (&ty, unit.size()) {
            (SqlType::Time, Size::Days(_) | Size::Months(_) | Size::IsoYear) => Err(bad_argument(0, &not_of_time())),
            (_, size) => Ok(with_constant(counting(size, count, &ty)?, 0)),
        },
        Ok(None) => Ok(counting_any(count, &ty)?),
        Err(error) => Err(bad_argument(0, &error)),
    })
}

fn not_of_time() -> godwit_common::Error {
    invalid("values of type TIME differ in hours, minutes, seconds and less")
}

impl Count {
    /// Returns the count; `None` if one of the times is infinite.
    #[inline(always)]
    fn of(self, size: Size, start: Option<Moment>, end: Option<Moment>) -> Result<Option<i64>> {
        let (Some(start), Some(end)) = (start, end) else { return Ok(None) };
        let count = match self {
            Self::Boundaries => size.boundaries(start, end),
            Self::Whole => size.whole(start, end),
        };
        in_range(count, &SqlType::BigInt).map(Some)
    }
}

/// Returns the form for a constant unit: each size has its own loop, in which it is a constant.
fn counting(size: Size, count: Count, ty: &SqlType) -> Option<Form> {
    macro_rules! each {
        ($($known:expr),*) => {
            match size {
                $(known if known == $known => counting_of(|| $known, count, ty),)*
                other => counting_of(move || other, count, ty),
            }
        };
    }
    each!(
        Size::Micros(1_000),
        Size::Micros(MICROS_PER_SECOND),
        Size::Micros(MICROS_PER_MINUTE),
        Size::Micros(MICROS_PER_HOUR),
        Size::Days(1),
        Size::Days(7),
        Size::Months(1),
        Size::Months(3),
        Size::Months(12)
    )
}

fn counting_of(size: impl Fn() -> Size + Send + Sync + 'static, count: Count, ty: &SqlType) -> Option<Form> {
    Some(match ty {
        SqlType::Date => scalar::<(Date, Date), i64, _>(move |(start, end)| {
            count.of(size(), Moment::of_finite_date(start), Moment::of_finite_date(end))
        }),
        SqlType::Time => scalar::<(Time, Time), i64, _>(move |(start, end)| {
            count.of(size(), Moment::of_finite_timestamp(start), Moment::of_finite_timestamp(end))
        }),
        SqlType::Timestamp | SqlType::TimestampTz => {
            let form = scalar::<(Timestamp, Timestamp), i64, _>(move |(start, end)| {
                count.of(size(), Moment::of_finite_timestamp(start), Moment::of_finite_timestamp(end))
            });
            if *ty == SqlType::TimestampTz { zoned(&form) } else { form }
        }
        _ => return None,
    })
}

/// Returns the form for a unit that varies by row.
fn counting_any(count: Count, ty: &SqlType) -> Option<Form> {
    Some(match ty {
        SqlType::Date => scalar::<(Text, Date, Date), i64, _>(move |(unit, start, end)| {
            count.of(Unit::named(unit)?.size(), Moment::of_finite_date(start), Moment::of_finite_date(end))
        }),
        SqlType::Time => {
            scalar::<(Text, Time, Time), i64, _>(move |(unit, start, end)| match Unit::named(unit)?.size() {
                size @ Size::Micros(_) => {
                    count.of(size, Moment::of_finite_timestamp(start), Moment::of_finite_timestamp(end))
                }
                Size::Days(_) | Size::Months(_) | Size::IsoYear => Err(not_of_time()),
            })
        }
        SqlType::Timestamp | SqlType::TimestampTz => {
            let form = scalar::<(Text, Timestamp, Timestamp), i64, _>(move |(unit, start, end)| {
                count.of(
                    Unit::named(unit)?.size(),
                    Moment::of_finite_timestamp(start),
                    Moment::of_finite_timestamp(end),
                )
            });
            if *ty == SqlType::TimestampTz { zoned(&form) } else { form }
        }
        _ => return None,
    })
}

/// Subtracts field by field, borrowing from the next larger field; days from the month of the earlier time.
fn age_of(end: i64, start: i64) -> Interval {
    let sign = if end < start { -1 } else { 1 };
    let [early, late] = [end.min(start), end.max(start)].map(Moment::of_timestamp);
    let (from, to) = (early.civil(), late.civil());
    let mut months = (to.year - from.year) * 12 + to.month - from.month;
    let mut days = to.day - from.day;
    let mut micros = late.micros - early.micros;
    if micros < 0 {
        micros += MICROS_PER_DAY;
        days -= 1;
    }
    if days < 0 {
        days += days_in_month(from.year, from.month);
        months -= 1;
    }
    let small = |part: i64| i32::try_from(sign * part).expect("timestamps are less than 600,000 years apart");
    Interval { months: small(months), days: small(days), micros: sign * micros }
}

#[cfg(test)]
mod tests {
    use crate::testing::{error_of, shown};

    #[test]
    fn boundaries_and_whole_units() {
        for (unit, start, end, boundaries, whole) in [
            ("year", "DATE '2020-12-31'", "DATE '2021-01-01'", "1", "0"),
            ("quarter", "DATE '2024-01-01'", "DATE '2024-12-31'", "3", "3"),
            ("month", "DATE '2024-01-31'", "DATE '2024-03-01'", "2", "1"),
            ("month", "DATE '2024-01-31'", "DATE '2024-02-29'", "1", "1"),
            ("month", "DATE '2024-02-29'", "DATE '2024-01-31'", "-1", "-1"),
            ("year", "TIMESTAMP '2020-02-29'", "TIMESTAMP '2021-02-28'", "1", "1"),
            ("day", "TIMESTAMP '2020-02-29 12:00:00'", "TIMESTAMP '2020-03-01 11:00:00'", "1", "0"),
            ("day", "DATE '2024-01-01'", "TIMESTAMP '2024-03-01 00:00:00'", "60", "60"),
            ("week", "DATE '2024-01-07'", "DATE '2024-01-08'", "1", "0"),
            ("week", "DATE '2024-01-01'", "DATE '2024-01-15'", "2", "2"),
            ("hour", "TIMESTAMP '2024-01-01 00:59:00'", "TIMESTAMP '2024-01-01 02:01:00'", "2", "1"),
            ("hour", "TIME '01:59:00'", "TIME '03:01:00'", "2", "1"),
            ("minute", "TIMESTAMP '1969-12-31 23:59:59'", "TIMESTAMP '1970-01-01 00:00:00'", "1", "0"),
            ("decade", "DATE '1999-01-01'", "DATE '2001-01-01'", "1", "0"),
            ("century", "DATE '2000-01-01'", "DATE '2001-01-01'", "1", "0"),
            ("millennium", "DATE '2000-12-31'", "DATE '2001-01-01'", "1", "0"),
            ("isoyear", "DATE '2020-12-31'", "DATE '2021-01-04'", "1", "0"),
            ("us", "DATE '1970-01-01'", "DATE '1970-01-02'", "86400000000", "86400000000"),
            ("day", "TIMESTAMPTZ '2024-01-01 00:00:00+00'", "TIMESTAMPTZ '2024-01-02 00:00:00+00'", "1", "1"),
            ("day", "NULL", "DATE '1970-01-02'", "NULL", "NULL"),
            ("day", "DATE '5877642-06-25 BC'", "DATE '5881580-07-10'", "4294967292", "4294967292"),
        ] {
            let unit = format!("'{unit}'");
            assert_eq!(shown("date_diff", &[&unit, start, end]), boundaries, "date_diff {unit} {start} {end}");
            assert_eq!(shown("datesub", &[&unit, start, end]), whole, "date_sub {unit} {start} {end}");
        }
        let (first, last) = ("TIMESTAMP '290000-01-01 BC'", "TIMESTAMP '290000-01-01'");
        assert!(error_of("date_diff", &["'us'", first, last]).contains("out of range for BIGINT"));
        assert_eq!(shown("date_diff", &["'year'", first, last]), "579999");
    }

    #[test]
    fn ages() {
        for (end, start, expected) in [
            ("2001-04-10", "1957-06-13", "43 years 9 months 27 days"),
            ("1957-06-13", "2001-04-10", "-43 years -9 months -27 days"),
            ("2001-03-31", "2001-02-28 12:00:00", "1 month 2 days 12:00:00"),
            ("2024-03-01", "2024-01-31", "1 month 1 day"),
            ("2024-01-01", "2024-01-01", "00:00:00"),
        ] {
            let (end, start) = (format!("TIMESTAMP '{end}'"), format!("TIMESTAMP '{start}'"));
            assert_eq!(shown("age", &[&end, &start]), expected, "{end} {start}");
        }
        assert_eq!(shown("age", &["DATE '2024-02-01'", "DATE '2024-01-01'"]), "1 month");
        assert_eq!(shown("age", &["NULL", "DATE '2024-01-01'"]), "NULL");
    }
}
