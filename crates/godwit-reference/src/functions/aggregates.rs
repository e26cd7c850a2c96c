//! Aggregate functions. Most skip NULLs, and are NULL if nothing is left.

use godwit_common::Result;
use godwit_types::{SqlType, Value, cast_value, compare_values};

use super::{Aggregation, Group, Traits, text_of};
use crate::arithmetic::{in_range, out_of_range};

const fn entry(signature: &'static str, traits: Traits, kernel: super::AggregateKernel) -> Aggregation {
    Aggregation { signature, traits, kernel }
}

pub(super) const FUNCTIONS: &[Aggregation] = &[
    entry("count() -> BIGINT", Traits::Count, count),
    entry("count(ANY) -> BIGINT", Traits::Count, count),
    entry("sum(INTEGER) -> BIGINT", Traits::Plain, sum),
    entry("sum(UINTEGER) -> UBIGINT", Traits::Plain, sum),
    entry("sum(BIGINT) -> HUGEINT", Traits::Plain, sum),
    entry("sum(UBIGINT) -> HUGEINT", Traits::Plain, sum),
    entry("sum(HUGEINT) -> HUGEINT", Traits::Plain, sum),
    entry("sum(D) -> {sum}", Traits::Plain, sum),
    entry("sum(DOUBLE) -> DOUBLE", Traits::Plain, sum),
    entry("avg(N) -> DOUBLE", Traits::Plain, avg),
    entry("min(T) -> T", Traits::IgnoresDuplicates, |group| Ok(extreme(group, std::cmp::Ordering::is_lt))),
    entry("max(T) -> T", Traits::IgnoresDuplicates, |group| Ok(extreme(group, std::cmp::Ordering::is_gt))),
    entry("any_value(T) -> T", Traits::Plain, |group| Ok(values(group).next().cloned().unwrap_or(Value::Null))),
    entry("first(T) -> T", Traits::Ordered, |group| Ok(group.rows[0][0].clone())),
    entry("last(T) -> T", Traits::Ordered, |group| Ok(group.rows[group.rows.len() - 1][0].clone())),
    entry("list(T) -> T[]", Traits::Ordered, list),
    entry("array_agg(T) -> T[]", Traits::Ordered, list),
    entry("string_agg(VARCHAR) -> VARCHAR", Traits::Ordered, string_agg),
    entry("string_agg(VARCHAR, VARCHAR) -> VARCHAR", Traits::Ordered, string_agg),
    entry("bool_and(BOOLEAN) -> BOOLEAN", Traits::IgnoresDuplicates, |group| {
        Ok(extreme(group, std::cmp::Ordering::is_lt))
    }),
    entry("bool_or(BOOLEAN) -> BOOLEAN", Traits::IgnoresDuplicates, |group| {
        Ok(extreme(group, std::cmp::Ordering::is_gt))
    }),
    entry("stddev(N) -> DOUBLE", Traits::Plain, stddev),
    entry("median(N) -> DOUBLE", Traits::Plain, median),
];

/// Iterates over the non-NULL values of the first argument.
fn values<'g>(group: &'g Group<'_>) -> impl Iterator<Item = &'g Value> {
    group.rows.iter().filter_map(|row| row.first()).filter(|value| !value.is_null())
}

/// Without an argument, all rows count.
fn count(group: &Group<'_>) -> Result<Value> {
    let rows = if group.types.is_empty() { group.rows.len() } else { values(group).count() };
    Ok(Value::Integer(rows as i128))
}

/// Integers are summed exactly: only a sum that doesn't fit is an error, whatever the order.
fn sum(group: &Group<'_>) -> Result<Value> {
    if values(group).next().is_none() {
        return Ok(Value::Null);
    }
    if *group.ty == SqlType::Double {
        let numbers = doubles(group)?;
        return Ok(Value::Float(numbers.into_iter().sum()));
    }
    let total = values(group).try_fold(0i128, |total, value| match value {
        Value::Integer(value) => total.checked_add(*value),
        _ => None,
    });
    in_range(total, group.ty).ok_or_else(|| out_of_range(group.ty))
}

/// Returns the values as DOUBLE.
fn doubles(group: &Group<'_>) -> Result<Vec<f64>> {
    let cast = |value: &Value| match cast_value(value, &group.types[0], &SqlType::Double)? {
        Value::Float(value) => Ok(value),
        _ => Ok(f64::NAN),
    };
    values(group).map(cast).collect()
}

fn float_or_null(value: Option<f64>) -> Result<Value> {
    Ok(value.map_or(Value::Null, Value::Float))
}

fn avg(group: &Group<'_>) -> Result<Value> {
    let numbers = doubles(group)?;
    let count = numbers.len() as f64;
    float_or_null((!numbers.is_empty()).then(|| numbers.into_iter().sum::<f64>() / count))
}

fn stddev(group: &Group<'_>) -> Result<Value> {
    let numbers = doubles(group)?;
    if numbers.len() < 2 {
        return Ok(Value::Null);
    }
    let count = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let squares: f64 = numbers.iter().map(|value| (value - mean).powi(2)).sum();
    Ok(Value::Float((squares / (count - 1.0)).sqrt()))
}

fn median(group: &Group<'_>) -> Result<Value> {
    let mut numbers = doubles(group)?;
    numbers.sort_by(|a, b| godwit_types::compare_floats(*a, *b));
    let middle = numbers.len() / 2;
    float_or_null(match numbers.len() {
        0 => None,
        length if length % 2 == 1 => Some(numbers[middle]),
        _ if numbers[middle - 1] == numbers[middle] => Some(numbers[middle]),
        _ => Some((numbers[middle - 1] + numbers[middle]) / 2.0),
    })
}

fn extreme(group: &Group<'_>, is_better: fn(std::cmp::Ordering) -> bool) -> Value {
    let best = values(group).reduce(
        |best, value| {
            if is_better(compare_values(value, best, &group.types[0])) { value } else { best }
        },
    );
    best.cloned().unwrap_or(Value::Null)
}

/// NULLs are elements.
fn list(group: &Group<'_>) -> Result<Value> {
    Ok(Value::List(group.rows.iter().map(|row| row[0].clone()).collect()))
}

/// Each text but the first is preceded by the separator of its own row.
fn string_agg(group: &Group<'_>) -> Result<Value> {
    let mut joined: Option<String> = None;
    for row in group.rows.iter().filter(|row| !row[0].is_null()) {
        let separator = row.get(1).map_or(",", text_of);
        joined = Some(match joined {
            None => text_of(&row[0]).to_owned(),
            Some(before) => before + separator + text_of(&row[0]),
        });
    }
    Ok(joined.map_or(Value::Null, Value::text))
}
