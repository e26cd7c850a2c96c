//! Comparison of results: as bags of rows, since SQL guarantees no order unless asked for one.

use std::fmt::Write;

use godwit_common::{ErrorKind, Result};
use godwit_types::{Interval, Value};

use crate::environment::Row;

/// Maximum relative difference of floats that count as equal: sums depend on the order of their terms.
const TOLERANCE: f64 = 1e-9;

/// Checks whether two ways to evaluate a plan agree. They do if both have the same rows, but also if one fails: SQL
/// leaves open which parts of a statement are evaluated. Internal errors never agree with anything.
///
/// # Errors
/// The difference, in words.
pub fn agree(expected: &Result<Vec<Row>>, actual: &Result<Vec<Row>>) -> std::result::Result<(), String> {
    for result in [expected, actual] {
        if let Err(error) = result
            && error.kind() == ErrorKind::Internal
        {
            return Err(error.to_string());
        }
    }
    match (expected, actual) {
        (Ok(expected), Ok(actual)) => difference(expected, actual).map_or(Ok(()), Err),
        _ => Ok(()),
    }
}

/// Whether both have the same rows, equally often. NaN equals itself, −0 equals 0, floats may differ in last digits.
pub fn same_rows(a: &[Row], b: &[Row]) -> bool {
    let (missing, extra) = unmatched(a, b);
    missing.is_empty() && extra.is_empty()
}

/// Returns the rows that only one side has, as text; `None` if there are none.
pub fn difference(expected: &[Row], actual: &[Row]) -> Option<String> {
    let (missing, extra) = unmatched(expected, actual);
    if missing.is_empty() && extra.is_empty() {
        return None;
    }
    let mut text = format!("{} rows expected, {} found\n", expected.len(), actual.len());
    for (sign, rows) in [('-', missing), ('+', extra)] {
        for row in rows {
            let values: Vec<String> = row.iter().map(show).collect();
            writeln!(text, "{sign} ({})", values.join(", ")).expect("strings take everything");
        }
    }
    Some(text)
}

/// Returns the rows of each side that have no match on the other one.
fn unmatched<'r>(a: &'r [Row], b: &'r [Row]) -> (Vec<&'r Row>, Vec<&'r Row>) {
    let mut rest: Vec<&Row> = b.iter().collect();
    let mut missing = Vec::new();
    for row in a {
        let same = |other: &&Row| row.len() == other.len() && row.iter().zip(*other).all(|(a, b)| same_value(a, b));
        match rest.iter().position(same) {
            Some(partner) => _ = rest.swap_remove(partner),
            None => missing.push(row),
        }
    }
    (missing, rest)
}

fn same_value(a: &Value, b: &Value) -> bool {
    let all = |a: &[Value], b: &[Value]| a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b));
    match (a, b) {
        (Value::Float(a), Value::Float(b)) => {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).min(f64::MAX)
        }
        (Value::Interval(a), Value::Interval(b)) => Interval::estimate(*a) == b.estimate(),
        (Value::List(a), Value::List(b)) | (Value::Struct(a), Value::Struct(b)) => all(a, b),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same_value(&a.0, &b.0) && same_value(&a.1, &b.1))
        }
        _ => a == b,
    }
}

fn show(value: &Value) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Boolean(value) => value.to_string(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Text(text) => format!("'{text}'"),
        Value::List(values) => format!("[{}]", values.iter().map(show).collect::<Vec<_>>().join(", ")),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use godwit_common::Error;

    use super::*;

    #[test]
    fn bags_of_rows() {
        let row = |value: f64| vec![Value::Float(value), Value::Null];
        assert!(same_rows(&[row(f64::NAN), row(0.0)], &[row(-0.0), row(f64::NAN)]));
        assert!(same_rows(&[row(1e20)], &[row(1e20 + 1e9)]));
        assert!(same_rows(&[row(f64::INFINITY)], &[row(f64::INFINITY)]));
        assert!(!same_rows(&[row(f64::INFINITY)], &[row(1.0)]));
        assert!(!same_rows(&[row(1.0)], &[row(1.0), row(1.0)]));
        assert!(!same_rows(&[row(1.0)], &[vec![Value::Float(1.0)]]));
        assert_eq!(
            difference(&[row(1.0)], &[row(2.0)]).unwrap(),
            "1 rows expected, 1 found\n- (1.0, NULL)\n+ (2.0, NULL)\n"
        );
    }

    #[test]
    fn errors() {
        let rows = || Ok(vec![vec![Value::Null]]);
        assert!(agree(&rows(), &Err(Error::user("division by zero"))).is_ok());
        assert!(agree(&rows(), &Err(Error::internal("column #1 isn't bound"))).is_err());
        assert!(agree(&rows(), &Ok(Vec::new())).is_err());
    }
}
