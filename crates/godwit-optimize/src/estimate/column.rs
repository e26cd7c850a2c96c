//! Columns and scalar expressions: how many values, within which bounds, how wide.

use std::rc::Rc;

use godwit_plan::{Arithmetic, ColumnStatistics, Expr, ExprKind, ValueRange};
use godwit_types::{SqlType, Value};

use super::NodeEstimate;
use super::config::{DENSE_ROWS_MIN, NESTED_BYTES, STRING_BYTES};

/// What is expected of a column.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnEstimate {
    /// Values that can occur: of the base table, narrowed by filters on the column itself, not by other filters.
    pub domain: f64,
    /// False if `domain` is only an upper bound, such as the row count.
    pub domain_known: bool,
    /// Rows of the base table that the column comes from.
    pub base_rows: f64,
    /// Share of NULLs, from 0 to 1.
    pub null_fraction: f64,
    /// Smallest and largest value on one scale for all types: numbers as they are, dates and timestamps in days,
    /// strings by their first bytes.
    pub bounds: Option<(f64, f64)>,
    /// Average size of a value in memory, in bytes; 0 for a column that only its scan's filters use.
    pub average_bytes: f64,
}

impl ColumnEstimate {
    /// A column of which only the type is known.
    pub(super) fn unknown(ty: &SqlType, rows: f64) -> Self {
        Self {
            domain: rows.max(1.0),
            domain_known: false,
            base_rows: rows,
            null_fraction: 0.0,
            bounds: None,
            average_bytes: value_bytes(ty, None),
        }
    }

    /// A column of a base table.
    pub(super) fn of_table(statistics: &ColumnStatistics, ty: &SqlType, rows: f64) -> Self {
        let bound = |value: &Option<Value>| value.as_ref().and_then(|value| scale(value, ty));
        let from_range = || statistics.range.map(|range| scale_range(range, ty));
        let bounds = bound(&statistics.min).zip(bound(&statistics.max)).or_else(from_range);
        let width = match statistics.range {
            Some(range) => Some(range.max as f64 - range.min as f64 + 1.0),
            None => bounds.filter(|_| is_discrete(ty)).map(|(min, max)| max - min + 1.0),
        };
        let domain_max = rows.min(width.unwrap_or(f64::INFINITY));
        Self {
            domain: statistics.distinct.map_or(domain_max, |distinct| distinct as f64).clamp(1.0, rows.max(1.0)),
            domain_known: statistics.distinct.is_some() || width.is_some_and(|width| width * DENSE_ROWS_MIN <= rows),
            base_rows: rows,
            null_fraction: statistics.null_count.map_or(0.0, |nulls| nulls as f64 / rows.max(1.0)),
            bounds,
            average_bytes: value_bytes(ty, statistics.average_bytes),
        }
    }

    /// Distinct values expected among `rows` rows drawn from the domain.
    pub fn distinct_in(&self, rows: f64) -> f64 {
        distinct_in(self.domain, rows)
    }
}

/// Distinct values expected among `rows` draws from `domain` values.
pub(super) fn distinct_in(domain: f64, rows: f64) -> f64 {
    if rows >= domain * 30.0 {
        return domain;
    }
    (domain * (1.0 - (-rows / domain.max(1.0)).exp())).clamp(1.0, rows.max(1.0))
}

/// Expectation of a scalar expression over the rows of a node.
pub(super) fn of_expr(expr: &Expr, node: &NodeEstimate) -> Rc<ColumnEstimate> {
    let estimate = match &expr.kind {
        ExprKind::Column(column) => match node.shared_column(*column) {
            Some(known) => return Rc::clone(known),
            None => ColumnEstimate::unknown(&expr.ty, node.rows),
        },
        ExprKind::Cast { input, .. } => {
            ColumnEstimate { average_bytes: value_bytes(&expr.ty, None), ..of_expr(input, node).as_ref().clone() }
        }
        ExprKind::Literal(value) => ColumnEstimate {
            domain: 1.0,
            domain_known: true,
            base_rows: node.rows,
            null_fraction: if value.is_null() { 1.0 } else { 0.0 },
            bounds: scale(value, &expr.ty).map(|at| (at, at)),
            average_bytes: value_bytes(&expr.ty, None),
        },
        ExprKind::Arithmetic(op, left, right) => {
            let sides = (of_expr(left, node).bounds, of_expr(right, node).bounds);
            let bounds = match (op, sides) {
                (Arithmetic::Add, (Some(a), Some(b))) => Some((a.0 + b.0, a.1 + b.1)),
                (Arithmetic::Subtract, (Some(a), Some(b))) => Some((a.0 - b.1, a.1 - b.0)),
                _ => None,
            };
            ColumnEstimate { bounds, ..derived(expr, node) }
        }
        ExprKind::Call(function, arguments) => {
            let derived = derived(expr, node);
            let domain = parts_of_dates(&function.name, arguments, node).unwrap_or(derived.domain);
            ColumnEstimate { domain, ..derived }
        }
        ExprKind::Case { branches, otherwise } => {
            let values = branches.iter().map(|(_, value)| value).chain(otherwise.as_deref());
            let domain = values.map(|value| of_expr(value, node).domain).sum::<f64>();
            ColumnEstimate { domain: domain.min(node.rows.max(1.0)), ..derived(expr, node) }
        }
        _ => derived(expr, node),
    };
    Rc::new(estimate)
}

/// How many values a part of dates has: `date_part('year', date)` or `year(date)`.
fn parts_of_dates(function: &str, arguments: &[Expr], node: &NodeEstimate) -> Option<f64> {
    let (part, value) = match arguments {
        [part, value] if function == "date_part" => match part.as_literal()? {
            Value::Text(part) => (part.to_lowercase(), value),
            _ => return None,
        },
        [value] => (function.to_owned(), value),
        _ => return None,
    };
    Some(match part.as_str() {
        "year" => of_expr(value, node).bounds.map(|(first, last)| ((last - first) / 365.25).ceil() + 1.0)?,
        "month" => 12.0,
        "day" => 31.0,
        "quarter" => 4.0,
        "dow" | "isodow" => 7.0,
        "hour" => 24.0,
        "minute" | "second" => 60.0,
        _ => return None,
    })
}

/// An expression of which only the columns in it are known: at most as many values as they have combinations.
fn derived(expr: &Expr, node: &NodeEstimate) -> ColumnEstimate {
    let columns = expr.columns();
    let mut estimate = ColumnEstimate {
        domain: 1.0,
        domain_known: false,
        base_rows: 1.0,
        null_fraction: 0.0,
        bounds: None,
        average_bytes: 8.0,
    };
    let mut known = 0;
    for input in columns.iter().filter_map(|column| node.column(column)) {
        estimate.domain *= input.domain;
        estimate.base_rows = estimate.base_rows.max(input.base_rows);
        estimate.null_fraction = estimate.null_fraction.max(input.null_fraction);
        known += 1;
        estimate.average_bytes = if known == 1 { input.average_bytes } else { 8.0 };
    }
    estimate.domain = estimate.domain.clamp(1.0, node.rows.max(1.0));
    estimate
}

const DAY_SECONDS: f64 = 86_400.0;

/// Ticks of a type per unit of the estimator's scale.
fn ticks(ty: &SqlType) -> f64 {
    match ty {
        SqlType::Decimal { scale, .. } => 10_f64.powi(i32::from(*scale)),
        SqlType::TimestampS => DAY_SECONDS,
        SqlType::TimestampMs => DAY_SECONDS * 1e3,
        SqlType::Timestamp | SqlType::TimestampTz => DAY_SECONDS * 1e6,
        SqlType::TimestampNs => DAY_SECONDS * 1e9,
        _ => 1.0,
    }
}

/// A value on the estimator's scale; `None` for types without one.
pub(super) fn scale(value: &Value, ty: &SqlType) -> Option<f64> {
    Some(match value {
        Value::Boolean(value) => f64::from(*value),
        Value::Integer(value) => *value as f64 / ticks(ty),
        Value::UHuge(value) => *value as f64,
        Value::Float(value) => *value,
        Value::Date(days) => f64::from(*days),
        Value::Time(micros) => *micros as f64,
        Value::Timestamp(at) => *at as f64 / ticks(ty),
        Value::Text(text) => {
            text.bytes().chain(std::iter::repeat(0)).take(7).fold(0.0, |at, byte| at * 256.0 + f64::from(byte))
        }
        _ => return None,
    })
}

/// A proven range on the estimator's scale.
fn scale_range(range: ValueRange, ty: &SqlType) -> (f64, f64) {
    (range.min as f64 / ticks(ty), range.max as f64 / ticks(ty))
}

/// True for types whose values between two bounds can be counted on the estimator's scale.
fn is_discrete(ty: &SqlType) -> bool {
    ty.is_integer() || matches!(ty, SqlType::Date | SqlType::Boolean)
}

/// Average size of a value in memory, in bytes.
fn value_bytes(ty: &SqlType, average: Option<f64>) -> f64 {
    /// A string of up to so many bytes is held in its view.
    const INLINE_BYTES: f64 = 12.0;
    const VIEW_BYTES: f64 = 16.0;
    match ty {
        SqlType::Unknown | SqlType::Boolean | SqlType::TinyInt | SqlType::UTinyInt => 1.0,
        // More than 256 labels are rare.
        SqlType::Enum(_) => 1.0,
        SqlType::SmallInt | SqlType::USmallInt => 2.0,
        SqlType::Integer | SqlType::UInteger | SqlType::Real | SqlType::Date => 4.0,
        SqlType::BigInt | SqlType::UBigInt | SqlType::Double | SqlType::Time => 8.0,
        SqlType::Timestamp
        | SqlType::TimestampS
        | SqlType::TimestampMs
        | SqlType::TimestampNs
        | SqlType::TimestampTz => 8.0,
        SqlType::HugeInt | SqlType::UHugeInt | SqlType::Uuid => 16.0,
        SqlType::Decimal { precision: ..=9, .. } => 4.0,
        SqlType::Decimal { precision: ..=18, .. } => 8.0,
        SqlType::Decimal { .. } => 16.0,
        SqlType::Varchar | SqlType::Blob | SqlType::Bit | SqlType::Json => {
            VIEW_BYTES + average.map_or(STRING_BYTES, |bytes| if bytes > INLINE_BYTES { bytes } else { 0.0 })
        }
        SqlType::Interval | SqlType::List(_) | SqlType::Array(..) | SqlType::Struct(_) | SqlType::Map(_) => {
            average.unwrap_or(NESTED_BYTES)
        }
    }
}
