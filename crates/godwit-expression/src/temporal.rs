//! Dates: fields, truncation, intervals.

use arrow_schema::{DataType, TimeUnit};
use datafusion_common::ScalarValue;
use godwit_common::{Error, Result};
use godwit_vector::kernels::arithmetic::unary;
use godwit_vector::kernels::cast::{all_in, convert};
use godwit_vector::kernels::date::{DateField, DateUnit, NANOSECONDS_PER_DAY, add_months, truncate_days};
use godwit_vector::{ColumnType, PhysicalType, ValueRange, Vector};

use crate::arithmetic::shortened;
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
        "dow" => DateField::DayOfWeek,
        "doy" => DateField::DayOfYear,
        _ => return None,
    };
    let ticks_per_day = ticks_per_day(&argument.output().logical)?;
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
        nullable: argument.output().nullable,
        range: proven,
    };
    let argument = to_physical(argument, PhysicalType::I64);
    Some(Expression::strict(Part { field, ticks_per_day }, vec![argument], output))
}

/// Ticks of a day, for types that count them from 1970-01-01 in UTC or without a zone.
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
}

impl Kernel for Part {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let days = match self.ticks_per_day {
            1 => arguments[0].clone(),
            ticks => unary(&arguments[0], |value: i64| value.div_euclid(ticks)),
        };
        macro_rules! each {
            ($($field:ident),*) => {
                // One loop per field, so that none chooses within its loop.
                match self.field { $( DateField::$field => unary(&days, |day: i64| DateField::$field.of_days(day)), )* }
            };
        }
        Ok(each!(Year, Quarter, Month, Day, DayOfWeek, DayOfYear))
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
                unary(&arguments[0], |value: i64| value.saturating_sub(value.rem_euclid(ticks)))
            }
            Truncation::Calendar(unit) => {
                let ticks = 86_400 * self.ticks_per_second;
                unary(&arguments[0], |value: i64| truncate_days(value.div_euclid(ticks), unit).saturating_mul(ticks))
            }
        })
    }
}

/// Months and days that are added to a date.
#[derive(Clone, Copy)]
struct Shift {
    months: i64,
    days: i64,
}

/// Compiles `argument ± interval` for a DATE and a literal interval of whole days, if it is one.
pub(crate) fn date_shift(
    argument: &Expression,
    interval: &ScalarValue,
    subtract: bool,
    text: &str,
) -> Result<Option<Expression>> {
    if argument.output().logical != DataType::Date32 {
        return Ok(None);
    }
    let (months, days) = match interval {
        ScalarValue::IntervalYearMonth(Some(months)) => (*months as i64, 0),
        ScalarValue::IntervalDayTime(Some(interval)) if interval.milliseconds == 0 => (0, interval.days as i64),
        ScalarValue::IntervalMonthDayNano(Some(interval)) if interval.nanoseconds % NANOSECONDS_PER_DAY == 0 => {
            (interval.months as i64, interval.days as i64 + interval.nanoseconds / NANOSECONDS_PER_DAY)
        }
        _ => return Ok(None),
    };
    let sign = if subtract { -1 } else { 1 };
    let shift = Shift { months: sign * months, days: sign * days };
    let apply = |day: i128| (add_months(day as i64, shift.months) + shift.days) as i128;
    let days_of_type = ValueRange::of_type(PhysicalType::I32).expect("an integer type");
    let bound = argument.output().bound().and_then(|bound| range::intersect(bound, days_of_type));
    let proven = range::monotonic(bound.unwrap_or(days_of_type), apply);
    let fits = range::contains(days_of_type, proven);
    let output = ColumnType {
        logical: DataType::Date32,
        physical: PhysicalType::I32,
        nullable: argument.output().nullable,
        range: range::intersect(proven, days_of_type),
    };
    let kernel = ShiftDate { shift, can_fail: !fits, text: shortened(text) };
    Ok(Some(Expression::strict(kernel, vec![to_physical(argument, PhysicalType::I64)], output)))
}

struct ShiftDate {
    shift: Shift,
    can_fail: bool,
    text: String,
}

impl Kernel for ShiftDate {
    fn evaluate(&self, arguments: &[Vector], _rows: usize) -> Result<Vector> {
        let Shift { months, days } = self.shift;
        let shifted = match months {
            0 => unary(&arguments[0], |day: i64| day + days),
            // NULL rows may hold any number, but what came from a DATE lies in 32 bits.
            _ => unary(&arguments[0], |day: i64| add_months(day, months) + days),
        };
        let limits = ValueRange::of_type(PhysicalType::I32).expect("an integer type");
        if self.can_fail && !all_in(&shifted, limits) {
            return Err(Error::user(format!("date overflow in {}", self.text)).with_hint("use a shorter interval"));
        }
        Ok(convert(&shifted, PhysicalType::I32))
    }

    fn can_fail(&self) -> bool {
        self.can_fail
    }
}

/// True for TIMESTAMP and the like, whose arithmetic is Arrow's.
pub(crate) fn is_temporal(logical: &DataType) -> bool {
    logical.is_temporal() || matches!(logical, DataType::Interval(_) | DataType::Duration(TimeUnit::Nanosecond))
}
