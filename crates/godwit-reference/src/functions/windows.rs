//! Functions that exist only with OVER.

use godwit_common::{Error, Result, SqlState};
use godwit_types::Value;

use super::{WindowKernel, WindowRow, Windowing, whole};

const fn ranking(signature: &'static str, kernel: WindowKernel) -> Windowing {
    Windowing { signature, uses_frame: false, nullable: false, kernel }
}

const fn shifting(signature: &'static str, kernel: WindowKernel) -> Windowing {
    Windowing { signature, uses_frame: false, nullable: true, kernel }
}

const fn framed(signature: &'static str, kernel: WindowKernel) -> Windowing {
    Windowing { signature, uses_frame: true, nullable: true, kernel }
}

pub(super) const FUNCTIONS: &[Windowing] = &[
    ranking("row_number() -> BIGINT", |place| number(place.row + 1)),
    ranking("rank() -> BIGINT", |place| number(place.peers[place.row].start + 1)),
    ranking("dense_rank() -> BIGINT", |place| {
        number((0..=place.row).filter(|&row| place.peers[row].start == row).count())
    }),
    ranking("percent_rank() -> DOUBLE", |place| {
        Ok(Value::Float(place.peers[place.row].start as f64 / (place.args.len() - 1).max(1) as f64))
    }),
    ranking("cume_dist() -> DOUBLE", |place| {
        Ok(Value::Float(place.peers[place.row].end as f64 / place.args.len() as f64))
    }),
    shifting("ntile(BIGINT) -> BIGINT", ntile),
    shifting("lag(T) -> T", |place| shifted(place, -1)),
    shifting("lag(T, BIGINT) -> T", |place| shifted(place, -1)),
    shifting("lag(T, BIGINT, T) -> T", |place| shifted(place, -1)),
    shifting("lead(T) -> T", |place| shifted(place, 1)),
    shifting("lead(T, BIGINT) -> T", |place| shifted(place, 1)),
    shifting("lead(T, BIGINT, T) -> T", |place| shifted(place, 1)),
    framed("first_value(T) -> T", |place| Ok(framed_values(place).next().unwrap_or(Value::Null))),
    framed("last_value(T) -> T", |place| Ok(framed_values(place).last().unwrap_or(Value::Null))),
    framed("nth_value(T, BIGINT) -> T", nth_value),
];

fn number(value: usize) -> Result<Value> {
    Ok(Value::Integer(value as i128))
}

fn not_positive(function: &str) -> Error {
    Error::user(format!("the argument of {function} must be greater than zero"))
        .with_code(SqlState::INVALID_PARAMETER_VALUE)
}

/// If the rows can't be distributed evenly, the first buckets get one row more.
fn ntile(place: &WindowRow<'_>) -> Result<Value> {
    let buckets = match &place.args[place.row][0] {
        Value::Null => return Ok(Value::Null),
        count => usize::try_from(whole(count)).ok().filter(|&count| count > 0).ok_or_else(|| not_positive("ntile"))?,
    };
    let (size, larger) = (place.args.len() / buckets, place.args.len() % buckets);
    let in_larger = larger * (size + 1);
    number(if place.row < in_larger { place.row / (size + 1) + 1 } else { larger + (place.row - in_larger) / size + 1 })
}

/// `lag` and `lead`: the value `steps` rows before or after the current one, not counting NULLs if they are ignored.
fn shifted(place: &WindowRow<'_>, direction: i64) -> Result<Value> {
    let args = &place.args[place.row];
    let steps = match args.get(1) {
        None => direction,
        Some(Value::Null) => return Ok(Value::Null),
        Some(steps) => whole(steps).saturating_mul(direction),
    };
    let default = || args.get(2).cloned().unwrap_or(Value::Null);
    let found = if steps == 0 {
        Some(place.row)
    } else {
        let counts = |&row: &usize| !(place.ignore_nulls && place.args[row][0].is_null());
        let nth = usize::try_from(steps.unsigned_abs() - 1).unwrap_or(usize::MAX);
        if steps < 0 {
            (0..place.row).rev().filter(counts).nth(nth)
        } else {
            (place.row + 1..place.args.len()).filter(counts).nth(nth)
        }
    };
    Ok(found.map_or_else(default, |row| place.args[row][0].clone()))
}

fn framed_values<'p>(place: &'p WindowRow<'_>) -> impl Iterator<Item = Value> + 'p {
    let values = place.frame.iter().map(|&row| &place.args[row][0]);
    values.filter(|value| !(place.ignore_nulls && value.is_null())).cloned()
}

fn nth_value(place: &WindowRow<'_>) -> Result<Value> {
    let nth = match &place.args[place.row][1] {
        Value::Null => return Ok(Value::Null),
        nth => usize::try_from(whole(nth)).ok().filter(|&nth| nth > 0).ok_or_else(|| not_positive("nth_value"))?,
    };
    Ok(framed_values(place).nth(nth - 1).unwrap_or(Value::Null))
}
