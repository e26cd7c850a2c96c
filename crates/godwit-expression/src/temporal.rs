//! Fields of dates and timestamps, and truncation to them.

use std::ops::RangeInclusive;
use std::sync::OnceLock;

use arrow_schema::DataType;
use godwit_common::Result;
use godwit_types::calendar::{INFINITE_DAYS, INFINITE_TICKS, is_finite_timestamp};
use godwit_vector::kernels::arithmetic::unary;
use godwit_vector::kernels::date::{DateField, DateUnit, truncate_days};
use godwit_vector::{Bitmap, ColumnType, PhysicalType, ValueRange, Vector};

use crate::cast::to_physical;
use crate::expression::Kernel;
use crate::{Expression, range};

/// Compiles `date_part(field, argument)` if the field of this type has a kernel.
pub(crate) fn date_part(field: &str, argument: &Expression) -> Option<Expression> {
    let field = match field.to_ascii_lowercase().as_str() {
        "year" | "years" => DateField::Year,
        "quarter" | "qtr" => DateField::Quarter,
        "month" | "months" => DateField::Month,
        "day" | "days" => DateField::Day,
        "dow" | "dayofweek" => DateField::DayOfWeek,
        "doy" | "dayofyear" => DateField::DayOfYear,
        _ => return None,
    };
    let ticks_per_day = ticks_per_day(&argument.output().logical)?;
    let is_finite = is_proven_finite(argument);
    let proven = match (field, argument.output().range) {
        (DateField::Year, Some(days)) => {
            let year = |ticks: i128| {
                let day = ticks.div_euclid(ticks_per_day as i128).clamp(i32::MIN as i128, i32::MAX as i128);
                field.of_days(day as i64) as i128
            };
            Some(range::monotonic(days, year))
        }
        (DateField::Year, None) => None,
        (DateField::Quarter, _) => Some(range::new(1, 4)),
        (DateField::Month, _) => Some(range::new(1, 12)),
        (DateField::Day, _) => Some(range::new(1, 31)),
        (DateField::DayOfWeek, _) => Some(range::new(0, 6)),
        (DateField::DayOfYear, _) => Some(range::new(1, 366)),
    };
    let output = ColumnType {
        logical: DataType::Int32,
        physical: PhysicalType::I32,
        nullable: argument.output().nullable || !is_finite,
        range: proven,
    };
    let table = argument.output().range.and_then(|ticks| DayTable::new(field, ticks, ticks_per_day));
    let argument = to_physical(argument, PhysicalType::I64);
    Some(Expression::strict(Part { field, ticks_per_day, is_finite, table }, vec![argument], output))
}

/// Returns true if no value of a DATE or TIMESTAMP can be infinite.
pub(crate) fn is_proven_finite(moment: &Expression) -> bool {
    let output = moment.output();
    let finite = if output.logical == DataType::Date32 { FINITE_DAYS } else { FINITE_TICKS };
    output.range.is_some_and(|known| range::contains(finite, known))
}

/// The days of finite dates.
pub(crate) const FINITE_DAYS: ValueRange =
    ValueRange { min: 1 - INFINITE_DAYS as i128, max: INFINITE_DAYS as i128 - 1 };

/// The ticks of finite timestamps.
pub(crate) const FINITE_TICKS: ValueRange =
    ValueRange { min: 1 - INFINITE_TICKS as i128, max: INFINITE_TICKS as i128 - 1 };

/// Ticks per day, for types that count them from 1970-01-01 in UTC or without a zone.
fn ticks_per_day(logical: &DataType) -> Option<i64> {
    match logical {
        DataType::Date32 => Some(1),
        DataType::Timestamp(unit, None) => Some(86_400 * ColumnType::ticks_per_second(*unit)),
        _ => None,
    }
}

struct Part {
    field: DateField,
    ticks_per_day: i64,
    /// Whether no argument is infinite: those have no fields.
    is_finite: bool,
    table: Option<DayTable>,
}

/// Maximum number of days in a table: those of 90 years, 128 KiB.
const TABLE_DAYS_MAX: i128 = 1 << 15;
/// Minimum number of rows for which a table is made: a point query makes none.
const TABLE_ROWS_MIN: usize = 1 << 10;

/// The field of each day that the argument can have: cheaper to look up than to compute.
struct DayTable {
    field: DateField,
    days: RangeInclusive<i64>,
    values: OnceLock<Vec<i32>>,
}

impl DayTable {
    /// Creates a table for values in this proven range, if it has few days.
    fn new(field: DateField, ticks: ValueRange, ticks_per_day: i64) -> Option<Self> {
        let day = |ticks: i128| i64::try_from(ticks.div_euclid(ticks_per_day.into())).ok();
        let (first, last) = (day(ticks.min)?, day(ticks.max)?);
        let values = OnceLock::new();
        (i128::from(last) - i128::from(first) < TABLE_DAYS_MAX).then_some(Self { field, days: first..=last, values })
    }

    /// Returns the fields of days; `None` if there are too few rows to make the table.
    fn fields(&self, days: &Vector) -> Option<Vector> {
        if self.values.get().is_none() && days.len() < TABLE_ROWS_MIN {
            return None;
        }
        let values = self.values.get_or_init(|| self.days.clone().map(|day| self.field.of_days(day)).collect());
        // NULL rows may have any day.
        let value = |day: i64| values.get(day.wrapping_sub(*self.days.start()) as usize).copied().unwrap_or(0);
        Some(unary(days, value))
    }
}

impl Kernel for Part {
    fn evaluate(&self, arguments: &[Vector], rows: usize) -> Result<Vector> {
        let fields = self.fields(arguments);
        if self.is_finite {
            return Ok(fields);
        }
        let infinite = if self.ticks_per_day == 1 { INFINITE_DAYS.into() } else { INFINITE_TICKS };
        let moments = arguments[0].to_flat();
        let is_finite = |ticks: i64| (ticks > -infinite) & (ticks < infinite);
        let moments = moments.values::<i64>();
        if moments.iter().fold(true, |all, &ticks| all & is_finite(ticks)) {
            return Ok(fields);
        }
        let valid = Bitmap::from_fn(rows, |row| fields.is_valid(row) && is_finite(moments[row]));
        Ok(fields.flattened().with_validity(Some(valid.into())))
    }
}

impl Part {
    /// Returns the fields of finite arguments, and anything for others.
    fn fields(&self, arguments: &[Vector]) -> Vector {
        macro_rules! days {
            ($($ticks:literal),*) => {
                // Constant divisors need no division instruction.
                match self.ticks_per_day {
                    1 => arguments[0].clone(),
                    $($ticks => unary(&arguments[0], |value: i64| value.div_euclid($ticks)),)*
                    ticks => unary(&arguments[0], |value: i64| value.div_euclid(ticks)),
                }
            };
        }
        let days = days!(86_400, 86_400_000, 86_400_000_000, 86_400_000_000_000);
        if let Some(fields) = self.table.as_ref().and_then(|table| table.fields(&days)) {
            return fields;
        }
        macro_rules! each {
            ($($field:ident),*) => {
                // One loop per field, to keep the choice out of the loops.
                match self.field { $( DateField::$field => unary(&days, |day: i64| DateField::$field.of_days(day)), )* }
            };
        }
        each!(Year, Quarter, Month, Day, DayOfWeek, DayOfYear)
    }
}

/// Compiles `date_trunc(unit, argument)` for timestamps without a zone, if the unit has a kernel.
pub(crate) fn date_trunc(unit: &str, argument: &Expression) -> Option<Expression> {
    let logical = argument.output().logical.clone();
    let DataType::Timestamp(time_unit, None) = logical else { return None };
    let unit = match unit.to_ascii_lowercase().as_str() {
        "year" => Truncation::Calendar(DateUnit::Year),
        "quarter" => Truncation::Calendar(DateUnit::Quarter),
        "month" => Truncation::Calendar(DateUnit::Month),
        "week" => Truncation::Calendar(DateUnit::Week),
        "day" => Truncation::Seconds(86_400),
        "hour" => Truncation::Seconds(3_600),
        "minute" => Truncation::Seconds(60),
        "second" => Truncation::Seconds(1),
        _ => return None,
    };
    let kernel = Truncate { unit, ticks_per_second: ColumnType::ticks_per_second(time_unit) };
    let output = ColumnType { physical: PhysicalType::I64, range: None, ..argument.output().clone() };
    Some(Expression::strict(kernel, vec![to_physical(argument, PhysicalType::I64)], output))
}

enum Truncation {
    Calendar(DateUnit),
    Seconds(i64),
}

struct Truncate {
    unit: Truncation,
    ticks_per_second: i64,
}

impl Kernel for Truncate {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        Ok(match self.unit {
            Truncation::Seconds(seconds) => {
                let ticks = seconds * self.ticks_per_second;
                unary(&arguments[0], |value: i64| match is_finite_timestamp(value) {
                    true => value.saturating_sub(value.rem_euclid(ticks)).max(1 - INFINITE_TICKS),
                    false => value,
                })
            }
            Truncation::Calendar(unit) => {
                let ticks = 86_400 * self.ticks_per_second;
                unary(&arguments[0], |value: i64| match is_finite_timestamp(value) {
                    true => truncate_days(value.div_euclid(ticks), unit).saturating_mul(ticks).max(1 - INFINITE_TICKS),
                    false => value,
                })
            }
        })
    }
}
