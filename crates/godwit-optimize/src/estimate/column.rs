//! Columns and scalar expressions: number of values, bounds, and width.

use std::rc::Rc;
use std::sync::Arc;

use godwit_plan::{Arithmetic, ColumnId, Expr, ExprKind, Relation, ValueRange};
use godwit_types::{SqlType, Value};

use super::NodeEstimate;
use super::config::{DENSE_ROWS_MIN, NESTED_BYTES, STRING_BYTES, UNASKED_PART, UNASKED_ROWS_MAX, UNSEEN_ROWS};
use super::sampled::KnownKeys;

/// Estimate of a column.
#[derive(Debug, Clone)]
pub struct ColumnEstimate {
    pub(crate) domain: Domain,
    /// Number of rows of the base table that the column comes from.
    pub base_rows: f64,
    /// Share of NULLs, from 0 to 1.
    pub null_fraction: f64,
    /// Smallest and largest value, on a scale shared by all types: numbers as they are, dates and timestamps in days,
    /// strings by their first bytes.
    pub bounds: Option<(f64, f64)>,
    /// Average size of a value in memory, in bytes; 0 for a column that only its scan's filters use.
    pub average_bytes: f64,
    /// The values in the rows of its scan, if that has filters that few rows pass, and its table's sample is the whole
    /// table.
    pub(super) keys: Option<Rc<KnownKeys>>,
}

/// The values that can occur in a column of the base table, narrowed by filters on that column but not by other
/// filters. A table is asked only on demand, since it may have to read a file to answer.
#[derive(Debug, Clone)]
pub(crate) enum Domain {
    /// Exactly this many values.
    Known(f64),
    /// At most this many, for example one per row.
    AtMost(f64),
    /// The values of a table's column.
    OfTable { instance: Instance, position: usize, otherwise: Box<Domain> },
    /// This share of other values, and at most this many.
    Part { of: Box<Domain>, share: f64, at_most: f64 },
    /// Values computed from those of other columns.
    Computed { of: Vec<Rc<ColumnEstimate>>, by: Computation, at_most: f64, depth: u32 },
}

/// A table as one scan reads it.
#[derive(Debug, Clone)]
pub(crate) struct Instance {
    pub(super) relation: Arc<dyn Relation>,
    /// A column of the scan, by which it is known.
    pub(super) scan: ColumnId,
}

impl PartialEq for Instance {
    fn eq(&self, other: &Self) -> bool {
        self.scan == other.scan
    }
}

/// How an expression's values derive from those of its columns.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Computation {
    /// Each combination may give a different value.
    Combined,
    /// Each value is one of a column's values.
    Chosen,
}

/// Maximum depth of expressions over expressions whose number of values hasn't been computed yet.
const COMPUTED_DEPTH_MAX: u32 = 4;

/// Returns the distinct values of a table's column, if they are known.
type Distinct = fn(&dyn Relation, usize) -> Option<u64>;

impl Domain {
    /// Returns a number of values, which may be an upper bound only.
    pub(super) fn of(values: f64, is_known: bool) -> Self {
        if is_known { Domain::Known(values) } else { Domain::AtMost(values) }
    }

    /// Returns the instance of a table all of whose values in a column these are.
    pub(super) fn instance(&self) -> Option<&Instance> {
        match self {
            Domain::OfTable { instance, .. } => Some(instance),
            Domain::Known(_) | Domain::AtMost(_) | Domain::Part { .. } | Domain::Computed { .. } => None,
        }
    }

    /// Returns the domain of which a filter leaves this share and at most this many values.
    pub(super) fn part(&self, share: f64, at_most: f64) -> Self {
        match self {
            // Not one in the other, however many filters there are.
            Domain::Part { of, share: before, at_most: limit } => {
                Domain::Part { of: of.clone(), share: before * share, at_most: limit.min(at_most) }
            }
            whole => Domain::Part { of: Box::new(whole.clone()), share, at_most },
        }
    }

    /// Returns the number of values, and true unless it is only an upper bound.
    pub(super) fn values(&self) -> (f64, bool) {
        self.values_by(|relation, position| relation.distinct(position))
    }

    /// Like [`values`](Self::values), without tables reading their files for it; at least as many.
    pub(super) fn values_without_reading(&self) -> (f64, bool) {
        self.values_by(|relation, position| relation.statistics().columns.get(position)?.distinct)
    }

    fn values_by(&self, distinct: Distinct) -> (f64, bool) {
        match self {
            Domain::Known(values) => (*values, true),
            Domain::AtMost(values) => (*values, false),
            Domain::OfTable { instance, position, otherwise } => match distinct(&*instance.relation, *position) {
                Some(values) => ((values as f64).clamp(1.0, instance.relation.statistics().rows.max(1) as f64), true),
                None => otherwise.values_by(distinct),
            },
            Domain::Part { of, share, at_most } => {
                let (values, is_known) = of.values_by(distinct);
                ((values * share).min(*at_most).max(1.0), is_known)
            }
            Domain::Computed { of, by, at_most, .. } => {
                let parts = of.iter().map(|column| column.domain.values_by(distinct).0);
                let values: f64 = match by {
                    Computation::Combined => parts.product(),
                    Computation::Chosen => parts.sum(),
                };
                (values.clamp(1.0, *at_most), false)
            }
        }
    }

    /// Returns true unless the number of values comes from a table or a constant.
    fn is_guess(&self) -> bool {
        match self {
            Domain::Known(_) | Domain::OfTable { .. } => false,
            Domain::AtMost(_) => true,
            Domain::Part { of, .. } => of.is_guess(),
            Domain::Computed { of, .. } => of.iter().any(|column| column.is_guess()),
        }
    }

    /// Returns how many computations lie in each other.
    fn depth(&self) -> u32 {
        match self {
            Domain::Computed { depth, .. } => *depth,
            Domain::Part { of, .. } => of.depth(),
            Domain::Known(_) | Domain::AtMost(_) | Domain::OfTable { .. } => 0,
        }
    }

    fn computed(of: Vec<Rc<ColumnEstimate>>, by: Computation, at_most: f64) -> Self {
        let depth = of.iter().map(|column| column.domain.depth()).max().unwrap_or(0) + 1;
        let computed = Domain::Computed { of, by, at_most, depth };
        if depth <= COMPUTED_DEPTH_MAX { computed } else { Domain::AtMost(computed.values().0) }
    }
}

impl ColumnEstimate {
    /// Returns the number of values that can occur.
    pub fn domain(&self) -> f64 {
        self.domain.values().0
    }

    /// Returns true if nothing is known of the number of values but the number of rows, itself an estimate.
    pub(super) fn is_guess(&self) -> bool {
        self.domain.is_guess()
    }

    /// Returns an upper bound on [`domain`](Self::domain) that is known without reading files.
    pub(crate) fn domain_at_most(&self) -> f64 {
        self.domain.values_without_reading().0
    }

    /// Returns the number of values over which pairs of this key's rows and another column's rows spread, if these keys
    /// are known and the other column should have all values between its bounds equally often. Sales have a few years'
    /// dates: of a table of two centuries', statistics alone would expect most of a year's to have none. Stock is taken
    /// once a week: of seven dates between its bounds six have none.
    pub(super) fn domain_in_bounds_of(&self, other: &Self) -> Option<f64> {
        let (min, max) = other.bounds?;
        let (values, true) = other.domain.values_without_reading() else { return None };
        let is_dense = values >= max - min;
        let between = self.keys_between(min, max).or(is_dense.then_some(values))?.max(values);
        let keys = self.keys.as_ref()?.get()?;
        let below = |end: f64| keys.partition_point(|&key| (key as f64) < end);
        let inside = below(max.floor() + 1.0).saturating_sub(below(min)) as f64;
        Some((keys.len().max(1) as f64 * between / inside.max(UNSEEN_ROWS)).max(1.0))
    }

    /// Returns how many of the table's keys should lie between two bounds, if their number is known and no filter on the
    /// key itself has narrowed its own bounds.
    fn keys_between(&self, min: f64, max: f64) -> Option<f64> {
        let (first, last) = self.domain.instance().and(self.bounds)?;
        let (values, true) = self.domain.values_without_reading() else { return None };
        let width = max.min(last) - min.max(first) + 1.0;
        (width > 0.0).then(|| values * width / (last - first + 1.0))
    }

    /// Returns the number of values that can occur, for which files are read only if statistics don't say.
    pub(crate) fn likely_domain(&self) -> f64 {
        match self.domain.values_without_reading() {
            (values, true) => values,
            _ => self.domain(),
        }
    }

    /// Returns a column of which only the type is known.
    pub(crate) fn unknown(ty: &SqlType, rows: f64) -> Self {
        Self {
            domain: Domain::AtMost(rows.max(1.0)),
            base_rows: rows,
            null_fraction: 0.0,
            bounds: None,
            average_bytes: value_bytes(ty, None),
            keys: None,
        }
    }

    /// Returns a column of a base table.
    pub(super) fn of_table(instance: &Instance, position: usize, ty: &SqlType) -> Self {
        let relation = &instance.relation;
        let rows = relation.statistics().rows as f64;
        let Some(statistics) = relation.statistics().columns.get(position) else { return Self::unknown(ty, rows) };
        let bound = |value: &Option<Value>| value.as_ref().and_then(|value| scale(value, ty));
        let from_range = || statistics.range.map(|range| scale_range(range, ty));
        let bounds = bound(&statistics.min).zip(bound(&statistics.max)).or_else(from_range);
        let width = match statistics.range {
            Some(range) => Some(range.max as f64 - range.min as f64 + 1.0),
            None => bounds.filter(|_| is_discrete(ty)).map(|(min, max)| max - min + 1.0),
        };
        let at_most = rows.min(width.unwrap_or(f64::INFINITY)).clamp(1.0, rows.max(1.0));
        // As many values as rows: a key that counts up.
        let is_dense = width.is_some_and(|width| width == rows || width * DENSE_ROWS_MIN <= rows);
        let otherwise = Box::new(if is_dense { Domain::Known(at_most) } else { Domain::AtMost(at_most) });
        Self {
            domain: Domain::OfTable { instance: instance.clone(), position, otherwise },
            base_rows: rows,
            null_fraction: statistics.null_count.map_or(0.0, |nulls| nulls as f64 / rows.max(1.0)),
            bounds,
            average_bytes: value_bytes(ty, statistics.average_bytes),
            keys: None,
        }
    }

    /// Distinct values expected among `rows` rows drawn from the domain.
    pub fn distinct_in(&self, rows: f64) -> f64 {
        distinct_in(self.values_among(rows).0, rows)
    }

    /// Returns the number of values, for use with `rows` of the table's rows: no file is read if these are few.
    fn values_among(&self, rows: f64) -> (f64, bool) {
        let are_few = rows <= UNASKED_ROWS_MAX && rows * UNASKED_PART <= self.base_rows;
        if are_few { self.domain.values_without_reading() } else { self.domain.values() }
    }

    /// Returns the column as key of `rows` groups, which are its new base.
    pub(super) fn of_groups(&self, rows: f64) -> Self {
        let (values, is_known) = self.values_among(rows);
        Self { domain: Domain::of(values.min(rows), is_known), base_rows: rows, ..self.clone() }
    }
}

/// Distinct values expected among `rows` draws from `domain` values.
pub(super) fn distinct_in(domain: f64, rows: f64) -> f64 {
    if rows >= domain * 30.0 {
        return domain;
    }
    (domain * (1.0 - (-rows / domain.max(1.0)).exp())).clamp(1.0, rows.max(1.0))
}

/// Estimates a scalar expression over the rows of a node.
pub(super) fn of_expr(expr: &Expr, node: &NodeEstimate) -> Rc<ColumnEstimate> {
    let estimate = match &expr.kind {
        ExprKind::Column(column) => match node.shared_column(*column) {
            Some(known) => return Rc::clone(known),
            None => ColumnEstimate::unknown(&expr.ty, node.rows),
        },
        ExprKind::Cast { input, .. } => {
            let from = of_expr(input, node).as_ref().clone();
            let keys = from.keys.clone().filter(|_| is_discrete(&expr.ty));
            ColumnEstimate { average_bytes: value_bytes(&expr.ty, None), keys, ..from }
        }
        ExprKind::Literal(value) => ColumnEstimate {
            domain: Domain::Known(1.0),
            base_rows: node.rows,
            null_fraction: if value.is_null() { 1.0 } else { 0.0 },
            bounds: scale(value, &expr.ty).map(|at| (at, at)),
            average_bytes: value_bytes(&expr.ty, None),
            keys: None,
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
            match parts_of_dates(&function.name, arguments, node) {
                Some(parts) => ColumnEstimate { domain: Domain::AtMost(parts), ..derived },
                None => derived,
            }
        }
        ExprKind::Case { branches, otherwise } => {
            let values = branches.iter().map(|(_, value)| value).chain(otherwise.as_deref());
            let of = values.map(|value| of_expr(value, node)).collect();
            ColumnEstimate {
                domain: Domain::computed(of, Computation::Chosen, node.rows.max(1.0)),
                ..derived(expr, node)
            }
        }
        _ => derived(expr, node),
    };
    Rc::new(estimate)
}

/// Returns the number of values of a date part: `date_part('year', date)` or `year(date)`.
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

/// Estimates an expression of which only the columns are known: it has at most as many values as they have
/// combinations.
fn derived(expr: &Expr, node: &NodeEstimate) -> ColumnEstimate {
    let columns = expr.columns();
    let of: Vec<Rc<ColumnEstimate>> = columns.iter().filter_map(|column| node.shared_column(column).cloned()).collect();
    let largest = |value: fn(&ColumnEstimate) -> f64, least: f64| of.iter().map(|c| value(c)).fold(least, f64::max);
    ColumnEstimate {
        base_rows: largest(|column| column.base_rows, 1.0),
        null_fraction: largest(|column| column.null_fraction, 0.0),
        bounds: None,
        average_bytes: if let [only] = &of[..] { only.average_bytes } else { 8.0 },
        keys: None,
        domain: Domain::computed(of, Computation::Combined, node.rows.max(1.0)),
    }
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
        Value::TimeTz(time) => time.to_bits() as f64,
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
pub(super) fn is_discrete(ty: &SqlType) -> bool {
    ty.is_integer() || matches!(ty, SqlType::Date | SqlType::Boolean)
}

/// Average size of a value in memory, in bytes.
fn value_bytes(ty: &SqlType, average: Option<f64>) -> f64 {
    /// Strings of up to this many bytes are stored inline in their views.
    const INLINE_BYTES: f64 = 12.0;
    const VIEW_BYTES: f64 = 16.0;
    match ty {
        SqlType::Unknown | SqlType::Boolean | SqlType::TinyInt | SqlType::UTinyInt => 1.0,
        // More than 256 labels are rare.
        SqlType::Enum(_) => 1.0,
        SqlType::SmallInt | SqlType::USmallInt => 2.0,
        SqlType::Integer | SqlType::UInteger | SqlType::Real | SqlType::Date => 4.0,
        SqlType::BigInt | SqlType::UBigInt | SqlType::Double | SqlType::Time | SqlType::TimeTz => 8.0,
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
