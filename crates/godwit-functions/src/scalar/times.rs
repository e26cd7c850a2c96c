//! Functions of dates, times and intervals, where DataFusion's have another meaning or other limits.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ArgumentType, ScalarMatch};
use godwit_types::calendar::{MICROS_PER_SECOND, SECONDS_PER_DAY, civil_from_days, ticks_per_second};
use godwit_types::{Interval, IntervalUnit, SqlType, Value};

use super::Found;
use super::own::computed;
use crate::arguments::bad_argument;

/// `to_timestamp(seconds)`, from 1970 on; fractions to the microsecond.
pub(super) fn of_seconds(name: &str, seconds: &ArgumentType<'_>) -> ScalarMatch {
    let ty = if seconds.ty.is_integer() { seconds.ty.clone() } else { SqlType::Double };
    let moment = |arguments: &[Value]| {
        let micros = match arguments {
            [Value::Integer(seconds)] => seconds.checked_mul(MICROS_PER_SECOND.into()),
            // What is beyond 128 bits becomes the greatest of them.
            [Value::Float(seconds)] if !seconds.is_nan() => Some((seconds * MICROS_PER_SECOND as f64).round() as i128),
            _ => None,
        };
        let micros = micros.and_then(|micros| i64::try_from(micros).ok()).map(Value::Timestamp);
        let error = || Error::user("the seconds are out of range for TIMESTAMP");
        micros.ok_or_else(|| error().with_code(SqlState::DATETIME_FIELD_OVERFLOW))
    };
    computed(name, true, vec![ty], SqlType::Timestamp, moment)
}

/// A field of the last argument, if DataFusion's `date_part` doesn't have it: of an interval, or an era of a date.
pub(super) fn part(name: &str, field: &str, arguments: &[ArgumentType<'_>]) -> Option<Found> {
    let moment = arguments.last()?;
    let mut types = vec![SqlType::Varchar; arguments.len()];
    types[arguments.len() - 1] = moment.ty.clone();
    let unit = IntervalUnit::from_name(&field.to_lowercase());
    let of = moment.ty.clone();
    Some(match moment.ty {
        SqlType::Interval if field.eq_ignore_ascii_case("epoch") => {
            let epoch = |values: &[Value]| Ok(Value::Float(interval(values)?.epoch_micros() as f64 / 1e6));
            Ok(computed(name, false, types, SqlType::Double, epoch))
        }
        SqlType::Interval => {
            let Some(unit) = unit else { return Some(Err(bad_argument(0, format!("an interval has no {field}")))) };
            let part = move |values: &[Value]| Ok(Value::Integer(part_of_interval(unit, interval(values)?).into()));
            Ok(computed(name, false, types, SqlType::BigInt, part))
        }
        _ if *moment.ty == SqlType::Date || moment.ty.is_timestamp() => {
            let unit = unit.filter(|unit| era(*unit, 1).is_some())?;
            let part = move |values: &[Value]| {
                let (days, _) = days_and_micros(values.last(), &of)?;
                let era = era(unit, civil_from_days(days).year);
                era.map(|era| Value::Integer(era.into())).ok_or_else(|| Error::internal("the unit is an era"))
            };
            Ok(computed(name, false, types, SqlType::BigInt, part))
        }
        _ => return None,
    })
}

fn interval(values: &[Value]) -> Result<Interval> {
    match values.last() {
        Some(Value::Interval(interval)) => Ok(*interval),
        _ => Err(Error::internal("the last argument is no interval")),
    }
}

/// As PostgreSQL counts, except that fractions of seconds are cut off: they are in the smaller units.
fn part_of_interval(unit: IntervalUnit, interval: Interval) -> i64 {
    let (months, days, micros) = (i64::from(interval.months), i64::from(interval.days), interval.micros);
    match unit {
        IntervalUnit::Microsecond => micros % 60_000_000,
        IntervalUnit::Millisecond => micros % 60_000_000 / 1_000,
        IntervalUnit::Second => micros % 60_000_000 / 1_000_000,
        IntervalUnit::Minute => micros / 60_000_000 % 60,
        IntervalUnit::Hour => micros / 3_600_000_000,
        IntervalUnit::Day => days,
        IntervalUnit::Week => days / 7,
        IntervalUnit::Month => months % 12,
        IntervalUnit::Quarter => months % 12 / 3 + 1,
        IntervalUnit::Year => months / 12,
        IntervalUnit::Decade => months / 120,
        IntervalUnit::Century => months / 1_200,
        IntervalUnit::Millennium => months / 12_000,
    }
}

/// The era that a year is in; centuries and millennia begin with the year 1, and have no zeroth.
fn era(unit: IntervalUnit, year: i64) -> Option<i64> {
    let counted = |length: i64| {
        let era = (year - 1).div_euclid(length);
        if era < 0 { era } else { era + 1 }
    };
    match unit {
        IntervalUnit::Decade => Some(year.div_euclid(10)),
        IntervalUnit::Century => Some(counted(100)),
        IntervalUnit::Millennium => Some(counted(1_000)),
        _ => None,
    }
}

/// Days since 1970 and the microseconds of the day, of a date or timestamp of a type.
pub(super) fn days_and_micros(moment: Option<&Value>, ty: &SqlType) -> Result<(i64, i64)> {
    match moment {
        Some(Value::Date(days)) => Ok(((*days).into(), 0)),
        Some(Value::Timestamp(ticks)) => {
            let per_second = ticks_per_second(ty);
            let per_day = SECONDS_PER_DAY * per_second;
            let rest = i128::from(ticks.rem_euclid(per_day)) * i128::from(MICROS_PER_SECOND) / i128::from(per_second);
            let micros = i64::try_from(rest).expect("a day has few microseconds");
            Ok((ticks.div_euclid(per_day), micros))
        }
        _ => Err(Error::internal("a moment is a date or a timestamp")),
    }
}
