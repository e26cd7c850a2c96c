//! Shared code of time functions: days and the time of day, units, errors, constant arguments.

use std::sync::Arc;

use arrow_buffer::IntervalMonthDayNano;
use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, NoFunction};
use godwit_types::calendar::{MICROS_PER_DAY, MICROS_PER_SECOND, finite_timestamp, is_finite_date};
use godwit_types::{Interval, SqlType, Value};
use godwit_vector::Vector;
use godwit_vector::kernels::date::{Civil, civil_from_days, days_from_civil, days_in_month};
use godwit_vector::sql::arrow_interval;

use crate::function::{Category, Form, Function, function};
use crate::kernel::{Kernel, Work};
use crate::rows::valid_rows;

pub(super) const MICROS_PER_MINUTE: i64 = 60 * MICROS_PER_SECOND;
pub(super) const MICROS_PER_HOUR: i64 = 60 * MICROS_PER_MINUTE;

/// The Julian day of 1970-01-01.
pub(super) const JULIAN_DAY_OF_1970: i64 = 2_440_588;

pub(super) fn time_function(names: &'static [&'static str], description: &'static str) -> Function {
    function(Category::Time, names, description)
}

/// The result of a chooser.
pub(super) type Chosen = Option<std::result::Result<Form, NoFunction>>;

pub(super) fn out_of_range(ty: &SqlType) -> Error {
    Error::user(format!("the result is out of range for {ty}")).with_code(SqlState::DATETIME_FIELD_OVERFLOW)
}

pub(super) fn invalid(message: impl Into<String>) -> Error {
    Error::user(message.into()).with_code(SqlState::INVALID_PARAMETER_VALUE)
}

/// Returns a computed value, or the error that it is out of the type's range.
pub(super) fn in_range<T>(value: Option<T>, ty: &SqlType) -> Result<T> {
    value.ok_or_else(|| out_of_range(ty))
}

/// Converts an interval to the form for results.
pub(super) fn interval_result(interval: Option<Interval>) -> Result<IntervalMonthDayNano> {
    arrow_interval(in_range(interval, &SqlType::Interval)?)
}

/// A day since 1970, and the microseconds passed on that day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) days: i64,
    pub(super) micros: i64,
}

impl Moment {
    #[inline]
    pub(super) fn of_timestamp(timestamp: i64) -> Self {
        Self { days: timestamp.div_euclid(MICROS_PER_DAY), micros: timestamp.rem_euclid(MICROS_PER_DAY) }
    }

    #[inline]
    pub(super) fn of_date(days: i32) -> Self {
        Self { days: days.into(), micros: 0 }
    }

    /// Returns the moment of a timestamp; `None` if it is infinite.
    #[inline]
    pub(super) fn of_finite_timestamp(timestamp: i64) -> Option<Self> {
        finite_timestamp(timestamp).map(Self::of_timestamp)
    }

    /// Returns the beginning of a date; `None` if it is infinite.
    #[inline]
    pub(super) fn of_finite_date(days: i32) -> Option<Self> {
        is_finite_date(days).then(|| Self::of_date(days))
    }

    #[inline]
    pub(super) fn timestamp(self) -> Option<i64> {
        self.days.checked_mul(MICROS_PER_DAY)?.checked_add(self.micros).and_then(finite_timestamp)
    }

    #[inline]
    pub(super) fn civil(self) -> Civil {
        civil_from_days(self.days)
    }

    /// From 0 for Sunday.
    #[inline]
    pub(super) fn day_of_week(self) -> i64 {
        (self.days + 4).rem_euclid(7)
    }

    /// From 1 for Monday.
    #[inline]
    pub(super) fn iso_day_of_week(self) -> i64 {
        (self.days + 3).rem_euclid(7) + 1
    }

    #[inline]
    pub(super) fn day_of_year(self) -> i64 {
        self.days - days_from_civil(Civil { month: 1, day: 1, ..self.civil() }) + 1
    }

    /// The year and the number of the ISO week: weeks belong to the year of their Thursday.
    #[inline]
    pub(super) fn iso_week(self) -> (i64, i64) {
        let thursday = Moment { days: self.days - (self.days + 3).rem_euclid(7) + 3, micros: 0 };
        (thursday.civil().year, (thursday.day_of_year() - 1) / 7 + 1)
    }

    #[inline]
    pub(super) fn hour(self) -> i64 {
        self.micros / MICROS_PER_HOUR
    }

    #[inline]
    pub(super) fn minute(self) -> i64 {
        self.micros / MICROS_PER_MINUTE % 60
    }

    #[inline]
    pub(super) fn second(self) -> i64 {
        self.micros / MICROS_PER_SECOND % 60
    }

    /// Of the second.
    #[inline]
    pub(super) fn fraction_micros(self) -> i64 {
        self.micros % MICROS_PER_SECOND
    }
}

/// Larger years are out of range for all timestamps and dates.
const YEAR_MAX: u64 = 6_000_000;

/// Returns the day of a date; `None` if there is no such day.
pub(super) fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_month = year.unsigned_abs() <= YEAR_MAX && (1..=12).contains(&month);
    (is_month && day >= 1 && day <= days_in_month(year, month)).then(|| days_from_civil(Civil { year, month, day }))
}

/// Returns the first Monday of an ISO year, in the week of 4 January.
pub(super) fn iso_year_start(year: i64) -> i64 {
    let fourth = days_from_civil(Civil { year, month: 1, day: 4 });
    fourth - (fourth + 3).rem_euclid(7)
}

/// Returns the text of an argument, if it is a constant.
pub(super) fn constant_text<'v>(argument: &ArgumentType<'v>) -> Option<&'v str> {
    match argument.value {
        Some(Value::Text(text)) => Some(text),
        _ => None,
    }
}

/// Returns the type of an argument that functions have forms for: TIMESTAMP for quoted text and for other timestamps.
pub(super) fn kind_of(argument: &ArgumentType<'_>) -> SqlType {
    match argument.ty {
        SqlType::Unknown | SqlType::TimestampS | SqlType::TimestampMs | SqlType::TimestampNs => SqlType::Timestamp,
        other => other.clone(),
    }
}

/// The error for a constant that is refused.
pub(super) fn bad_argument(argument: usize, error: &Error) -> NoFunction {
    NoFunction::BadArgument { argument: Some(argument), message: error.message().to_owned(), code: error.code() }
}

/// Adds a text argument that the kernel ignores: it was a constant when the form was made. NULL there gives NULL as
/// well.
pub(super) fn with_constant(form: Form, at: usize) -> Form {
    let mut arguments = form.arguments;
    arguments.insert(at, SqlType::Varchar);
    Form { arguments, kernel: Arc::new(Without { at, kernel: form.kernel }), ..form }
}

struct Without {
    at: usize,
    kernel: Arc<dyn Kernel>,
}

impl Kernel for Without {
    fn evaluate(&self, arguments: &[Vector], rows: usize, work: &dyn Work) -> Result<Vector> {
        let mut others = arguments.to_vec();
        let ignored = others.remove(self.at);
        let found = self.kernel.evaluate(&others, rows, work)?;
        Ok(match ignored.validity() {
            None => found,
            Some(_) => {
                let validity = valid_rows(&[found.clone(), ignored]);
                found.with_validity(validity)
            }
        })
    }
}

/// Returns the same form for timestamps with time zone, which have the same representation in vectors.
pub(super) fn zoned(form: &Form) -> Form {
    let zoned = |ty: &SqlType| if *ty == SqlType::Timestamp { SqlType::TimestampTz } else { ty.clone() };
    let arguments: Vec<SqlType> = form.arguments.iter().map(zoned).collect();
    form.clone().with_types(arguments, zoned(&form.result))
}

/// Adds a form for timestamps with and without time zone.
pub(super) fn both(function: Function, form: Form) -> Function {
    let zoned = zoned(&form);
    function.form(form).form(zoned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{error_of, shown};

    #[test]
    fn infinite_times() {
        for (name, arguments, expected) in [
            ("date_part", &["'year'", "DATE 'infinity'"][..], "NULL"),
            ("epoch", &["TIMESTAMP '-infinity'"], "NULL"),
            ("isoyear", &["DATE '-infinity'"], "NULL"),
            ("hour", &["TIMESTAMPTZ 'infinity'"], "NULL"),
            ("epoch_ms", &["DATE 'infinity'"], "NULL"),
            ("to_unixtime", &["TIMESTAMP 'infinity'"], "NULL"),
            ("dayname", &["DATE 'infinity'"], "NULL"),
            ("last_day", &["TIMESTAMP 'infinity'"], "NULL"),
            ("age", &["TIMESTAMP 'infinity'", "TIMESTAMP '2020-01-01'"], "NULL"),
            ("date_diff", &["'day'", "DATE '2020-01-01'", "DATE 'infinity'"], "NULL"),
            ("date_sub", &["'month'", "TIMESTAMP '-infinity'", "TIMESTAMP '2020-01-01'"], "NULL"),
            ("date_trunc", &["'month'", "DATE '-infinity'"], "-infinity"),
            ("date_bin", &["INTERVAL '1 hour'", "TIMESTAMP 'infinity'"], "infinity"),
            ("time_bucket", &["INTERVAL '1 month'", "DATE 'infinity'"], "infinity"),
            ("time_bucket", &["INTERVAL '1 day'", "DATE '2020-01-01'", "DATE 'infinity'"], "NULL"),
            ("date_add", &["DATE 'infinity'", "INTERVAL '-1 month'"], "infinity"),
            ("strftime", &["DATE '-infinity'", "'%Y'"], "-infinity"),
            ("to_char", &["TIMESTAMP 'infinity'", "'YYYY'"], "infinity"),
            ("timezone", &["'Europe/Berlin'", "TIMESTAMP '-infinity'"], "-infinity"),
            ("timezone_text", &["'Asia/Tokyo'", "TIMESTAMPTZ 'infinity'"], "infinity"),
            ("to_date", &["TIMESTAMP 'infinity'"], "infinity"),
            ("to_timestamp_seconds", &["TIMESTAMP '-infinity'"], "-infinity"),
            ("isinf", &["DATE '-infinity'"], "true"),
            ("isfinite", &["TIMESTAMP 'infinity'"], "false"),
        ] {
            assert_eq!(shown(name, arguments), expected, "{name}{arguments:?}");
        }
        assert!(error_of("to_time", &["TIMESTAMP 'infinity'"]).contains("out of range for TIME"));
        assert!(
            error_of("date_bin", &["INTERVAL '1 day'", "TIMESTAMP '2020-01-01'", "TIMESTAMP 'infinity'"])
                .contains("infinite")
        );
        assert!(
            error_of("generate_series", &["TIMESTAMP '2020-01-01'", "TIMESTAMP 'infinity'", "INTERVAL '1 day'"])
                .contains("finite")
        );
    }

    #[test]
    fn weeks_and_days() {
        for (year, month, day, expected) in [
            (2024, 12, 30, (2025, 1, 1, 365)),
            (2023, 1, 1, (2022, 52, 0, 1)),
            (2020, 12, 31, (2020, 53, 4, 366)),
            (1970, 1, 1, (1970, 1, 4, 1)),
            (0, 1, 1, (-1, 52, 6, 1)),
        ] {
            let moment = Moment { days: day_of(year, month, day).unwrap(), micros: 0 };
            let (iso_year, week) = moment.iso_week();
            assert_eq!((iso_year, week, moment.day_of_week(), moment.day_of_year()), expected, "{year}-{month}-{day}");
            assert!(iso_year_start(iso_year) <= moment.days);
        }
        assert_eq!(day_of(2023, 2, 29), None);
        assert_eq!(day_of(i64::MIN, 1, 1), None);
    }
}
