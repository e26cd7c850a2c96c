//! Columns and scalar expressions: how many values, within which bounds, how wide.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::{BinaryExpr, Expr, Operator};
use godwit_vector::{PhysicalType, ValueRange};

use super::NodeEstimate;
use super::config::{DENSE_ROWS_MIN, NESTED_BYTES, STRING_BYTES};
use crate::ColumnStatistics;

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
    /// Average size of a value in memory, in bytes.
    pub average_bytes: f64,
}

impl ColumnEstimate {
    /// A column of which only the type is known.
    pub(super) fn unknown(data_type: &DataType, rows: f64) -> Self {
        Self {
            domain: rows.max(1.0),
            domain_known: false,
            base_rows: rows,
            null_fraction: 0.0,
            bounds: None,
            average_bytes: value_bytes(data_type, None),
        }
    }

    /// A column of a base table.
    pub(super) fn of_table(statistics: &ColumnStatistics, data_type: &DataType, rows: f64) -> Self {
        let bound = |value: &Option<ScalarValue>| value.as_ref().and_then(scale);
        let from_range = || statistics.range.map(|range| scale_range(range, data_type));
        let bounds = bound(&statistics.min).zip(bound(&statistics.max)).or_else(from_range);
        let width = match statistics.range {
            Some(range) => Some(range.count() as f64),
            None => bounds.filter(|_| is_discrete(data_type)).map(|(min, max)| max - min + 1.0),
        };
        let domain_max = rows.min(width.unwrap_or(f64::INFINITY));
        Self {
            domain: statistics.distinct.map_or(domain_max, |distinct| distinct as f64).clamp(1.0, rows.max(1.0)),
            domain_known: statistics.distinct.is_some() || width.is_some_and(|width| width * DENSE_ROWS_MIN <= rows),
            base_rows: rows,
            null_fraction: statistics.null_count.map_or(0.0, |nulls| nulls as f64 / rows.max(1.0)),
            bounds,
            average_bytes: value_bytes(data_type, statistics.average_bytes),
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
pub(super) fn of_expr(expr: &Expr, node: &NodeEstimate, schema: &DFSchema) -> ColumnEstimate {
    match expr {
        Expr::Column(column) => match schema.maybe_index_of_column(column) {
            Some(at) => node.columns[at].clone(),
            None => ColumnEstimate::unknown(&DataType::Int64, node.rows),
        },
        Expr::Alias(alias) => of_expr(&alias.expr, node, schema),
        Expr::Cast(cast) => {
            let data_type = cast.field.data_type();
            ColumnEstimate { average_bytes: value_bytes(data_type, None), ..of_expr(&cast.expr, node, schema) }
        }
        Expr::Literal(value, _) => ColumnEstimate {
            domain: 1.0,
            domain_known: true,
            base_rows: node.rows,
            null_fraction: if value.is_null() { 1.0 } else { 0.0 },
            bounds: scale(value).map(|at| (at, at)),
            average_bytes: value_bytes(&value.data_type(), None),
        },
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let mut estimate = derived(expr, node, schema);
            let sides = (of_expr(left, node, schema).bounds, of_expr(right, node, schema).bounds);
            estimate.bounds = match (op, sides) {
                (Operator::Plus, (Some(a), Some(b))) => Some((a.0 + b.0, a.1 + b.1)),
                (Operator::Minus, (Some(a), Some(b))) => Some((a.0 - b.1, a.1 - b.0)),
                _ => None,
            };
            estimate
        }
        Expr::ScalarFunction(function) if function.name() == "date_part" => {
            let mut estimate = derived(expr, node, schema);
            if let [Expr::Literal(part, _), value] = function.args.as_slice() {
                let part = part.to_string().to_lowercase();
                let days = of_expr(value, node, schema).bounds;
                estimate.domain = match (part.as_str(), days) {
                    ("year", Some((first, last))) => ((last - first) / 365.25).ceil() + 1.0,
                    ("month", _) => 12.0,
                    ("day", _) => 31.0,
                    ("quarter", _) => 4.0,
                    ("dow" | "isodow", _) => 7.0,
                    ("hour", _) => 24.0,
                    ("minute" | "second", _) => 60.0,
                    _ => estimate.domain,
                };
            }
            estimate
        }
        Expr::Case(case) => {
            let branches = case.when_then_expr.iter().map(|(_, then)| then).chain(&case.else_expr);
            let domain = branches.map(|branch| of_expr(branch, node, schema).domain).sum::<f64>();
            ColumnEstimate { domain: domain.min(node.rows.max(1.0)), ..derived(expr, node, schema) }
        }
        _ => derived(expr, node, schema),
    }
}

/// An expression of which only the columns in it are known: at most as many values as they have combinations.
fn derived(expr: &Expr, node: &NodeEstimate, schema: &DFSchema) -> ColumnEstimate {
    let columns = expr.column_refs();
    let inputs: Vec<&ColumnEstimate> =
        columns.iter().filter_map(|column| schema.maybe_index_of_column(column)).map(|at| &node.columns[at]).collect();
    let domain = inputs.iter().map(|input| input.domain).product::<f64>();
    let average_bytes = match inputs.as_slice() {
        [input] => input.average_bytes,
        _ => 8.0,
    };
    ColumnEstimate {
        domain: domain.clamp(1.0, node.rows.max(1.0)),
        domain_known: false,
        base_rows: inputs.iter().map(|input| input.base_rows).fold(1.0, f64::max),
        null_fraction: inputs.iter().map(|input| input.null_fraction).fold(0.0, f64::max),
        bounds: None,
        average_bytes,
    }
}

/// A value on the estimator's scale; `None` for types without one.
pub(super) fn scale(value: &ScalarValue) -> Option<f64> {
    const DAY_SECONDS: f64 = 86_400.0;
    let decimal = |unscaled: f64, scale: i8| unscaled / 10_f64.powi(i32::from(scale));
    Some(match value {
        ScalarValue::Boolean(Some(v)) => f64::from(*v),
        ScalarValue::Int8(Some(v)) => f64::from(*v),
        ScalarValue::Int16(Some(v)) => f64::from(*v),
        ScalarValue::Int32(Some(v)) | ScalarValue::Date32(Some(v)) => f64::from(*v),
        ScalarValue::Int64(Some(v)) => *v as f64,
        ScalarValue::UInt8(Some(v)) => f64::from(*v),
        ScalarValue::UInt16(Some(v)) => f64::from(*v),
        ScalarValue::UInt32(Some(v)) => f64::from(*v),
        ScalarValue::UInt64(Some(v)) => *v as f64,
        ScalarValue::Float32(Some(v)) => f64::from(*v),
        ScalarValue::Float64(Some(v)) => *v,
        ScalarValue::Decimal32(Some(v), _, s) => decimal(f64::from(*v), *s),
        ScalarValue::Decimal64(Some(v), _, s) => decimal(*v as f64, *s),
        ScalarValue::Decimal128(Some(v), _, s) => decimal(*v as f64, *s),
        ScalarValue::Date64(Some(v)) => *v as f64 / (DAY_SECONDS * 1e3),
        ScalarValue::TimestampSecond(Some(v), _) => *v as f64 / DAY_SECONDS,
        ScalarValue::TimestampMillisecond(Some(v), _) => *v as f64 / (DAY_SECONDS * 1e3),
        ScalarValue::TimestampMicrosecond(Some(v), _) => *v as f64 / (DAY_SECONDS * 1e6),
        ScalarValue::TimestampNanosecond(Some(v), _) => *v as f64 / (DAY_SECONDS * 1e9),
        ScalarValue::Utf8(Some(v)) | ScalarValue::LargeUtf8(Some(v)) | ScalarValue::Utf8View(Some(v)) => {
            v.bytes().chain(std::iter::repeat(0)).take(7).fold(0.0, |at, byte| at * 256.0 + f64::from(byte))
        }
        ScalarValue::Dictionary(_, value) => return scale(value),
        _ => return None,
    })
}

/// A proven range on the estimator's scale.
fn scale_range(range: ValueRange, data_type: &DataType) -> (f64, f64) {
    const DAY_SECONDS: f64 = 86_400.0;
    let unit = match data_type {
        DataType::Decimal32(_, s) | DataType::Decimal64(_, s) | DataType::Decimal128(_, s) => {
            10_f64.powi(i32::from(*s))
        }
        DataType::Date64 => DAY_SECONDS * 1e3,
        DataType::Timestamp(unit, _) => DAY_SECONDS * godwit_vector::ColumnType::ticks_per_second(*unit) as f64,
        _ => 1.0,
    };
    (range.min as f64 / unit, range.max as f64 / unit)
}

/// True for types whose values between two bounds can be counted on the estimator's scale.
fn is_discrete(data_type: &DataType) -> bool {
    data_type.is_integer() || matches!(data_type, DataType::Date32 | DataType::Boolean)
}

/// Average size of a value in memory, in bytes.
pub(super) fn value_bytes(data_type: &DataType, average: Option<f64>) -> f64 {
    match PhysicalType::natural(data_type) {
        Ok(PhysicalType::Str) => {
            let width = PhysicalType::Str.width_bytes() as f64;
            width + average.map_or(STRING_BYTES, |bytes| if bytes > 12.0 { bytes } else { 0.0 })
        }
        Ok(PhysicalType::Nested) | Err(_) => average.unwrap_or(NESTED_BYTES),
        Ok(physical) => physical.width_bytes() as f64,
    }
}
