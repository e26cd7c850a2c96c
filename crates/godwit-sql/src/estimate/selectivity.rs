//! Predicates: which share of rows passes, and what it leaves of the columns' domains.
//!
//! Conjuncts are applied one after another, each to what the ones before left: `x >= 10 AND x < 20` first cuts the
//! lower part of the bounds, then the upper part of the rest, which multiplies to the share of the interval.

use arrow_schema::DataType;
use datafusion_common::{DFSchema, ScalarValue};
use datafusion_expr::expr::{Between, InList, Like};
use datafusion_expr::{BinaryExpr, Expr, ExprSchemable, Operator};

use super::column::{distinct_in, of_expr, scale};
use super::config::{
    COLUMN_RANGE, LIKE_MIN, LIKE_PIECE, LIKE_PREFIX, RANGE, SELECTIVITY_MIN, STRING_EQUALITY, UNKNOWN,
};
use super::{ColumnEstimate, NodeEstimate};

/// Applies a filter: fewer rows, narrower columns.
pub(super) fn filter<'e>(
    input: &NodeEstimate,
    schema: &DFSchema,
    predicates: impl IntoIterator<Item = &'e Expr>,
    range_default: f64,
) -> NodeEstimate {
    let mut filter = Filter { node: input.clone(), schema, range_default };
    let share: f64 = predicates.into_iter().map(|predicate| filter.restrict(predicate)).product();
    filter.node.rows = (input.rows * share.clamp(SELECTIVITY_MIN, 1.0)).max(1.0_f64.min(input.rows));
    filter.node
}

/// The share of rows that passes one predicate alone.
pub(crate) fn selectivity(predicate: &Expr, node: &NodeEstimate, schema: &DFSchema) -> f64 {
    let mut filter = Filter { node: node.clone(), schema, range_default: RANGE };
    filter.restrict(predicate).clamp(SELECTIVITY_MIN, 1.0)
}

struct Filter<'a> {
    node: NodeEstimate,
    schema: &'a DFSchema,
    /// Share that passes a range comparison without bounds.
    range_default: f64,
}

impl Filter<'_> {
    /// Narrows the columns to what passes the predicate and returns the share of rows.
    fn restrict(&mut self, predicate: &Expr) -> f64 {
        match predicate {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
                self.restrict(left) * self.restrict(right)
            }
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => self.either(left, right),
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => self.compare(left, *op, right),
            Expr::Not(inner) => 1.0 - self.alone(inner),
            Expr::Between(Between { expr, negated: false, low, high }) => {
                self.compare(expr, Operator::GtEq, low) * self.compare(expr, Operator::LtEq, high)
            }
            Expr::Between(Between { expr, negated: true, low, high }) => {
                (self.alone_compare(expr, Operator::Lt, low) + self.alone_compare(expr, Operator::Gt, high)).min(1.0)
            }
            Expr::InList(InList { expr, list, negated }) => self.in_list(expr, list.len() as f64, *negated),
            Expr::Like(Like { negated, pattern, .. }) => {
                let share = like(pattern);
                if *negated { 1.0 - share } else { share }
            }
            Expr::IsNull(expr) => self.of(expr).null_fraction,
            Expr::IsNotNull(expr) => 1.0 - self.of(expr).null_fraction,
            Expr::IsTrue(inner) | Expr::IsNotFalse(inner) => self.restrict(inner),
            Expr::IsFalse(inner) | Expr::IsNotTrue(inner) => 1.0 - self.alone(inner),
            Expr::Alias(alias) => self.restrict(&alias.expr),
            Expr::Column(_) => 0.5,
            Expr::Literal(ScalarValue::Boolean(Some(true)), _) => 1.0,
            Expr::Literal(ScalarValue::Boolean(_), _) => 0.0,
            _ => UNKNOWN,
        }
    }

    /// A disjunction narrows the columns that both of its sides narrow.
    fn either(&mut self, left: &Expr, right: &Expr) -> f64 {
        let (mut a, mut b) = (self.copy(), self.copy());
        let (left, right) = (a.restrict(left), b.restrict(right));
        let mut is_exclusive = false;
        for (column, (a, b)) in self.node.columns.iter_mut().zip(a.node.columns.iter().zip(&b.node.columns)) {
            column.domain = column.domain.min(a.domain + b.domain);
            column.bounds = a.bounds.zip(b.bounds).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
            is_exclusive |= a.bounds.zip(b.bounds).is_some_and(|(a, b)| a.1 < b.0 || b.1 < a.0);
        }
        let overlap = if is_exclusive { 0.0 } else { left * right };
        (left + right - overlap).min(1.0)
    }

    fn copy(&self) -> Self {
        Self { node: self.node.clone(), schema: self.schema, range_default: self.range_default }
    }

    /// The share of a predicate that leaves no trace on the columns.
    fn alone(&self, predicate: &Expr) -> f64 {
        self.copy().restrict(predicate)
    }

    fn alone_compare(&self, left: &Expr, op: Operator, right: &Expr) -> f64 {
        self.copy().compare(left, op, right)
    }

    fn of(&self, expr: &Expr) -> ColumnEstimate {
        of_expr(expr, &self.node, self.schema)
    }

    /// The column behind casts, to be narrowed.
    fn column_mut(&mut self, expr: &Expr) -> Option<&mut ColumnEstimate> {
        match expr {
            Expr::Column(column) => self.schema.maybe_index_of_column(column).map(|at| &mut self.node.columns[at]),
            Expr::Cast(cast) => self.column_mut(&cast.expr),
            Expr::Alias(alias) => self.column_mut(&alias.expr),
            _ => None,
        }
    }

    fn compare(&mut self, left: &Expr, op: Operator, right: &Expr) -> f64 {
        match (left, right) {
            (Expr::Literal(..), Expr::Literal(..)) => UNKNOWN,
            (Expr::Literal(..), _) => op.swap().map_or(UNKNOWN, |op| self.compare(right, op, left)),
            (_, Expr::Literal(value, _)) => self.compare_literal(left, op, value),
            _ => self.compare_exprs(left, op, right),
        }
    }

    fn compare_exprs(&mut self, left: &Expr, op: Operator, right: &Expr) -> f64 {
        let is_subquery = |expr: &Expr| matches!(expr, Expr::ScalarSubquery(_));
        match op {
            Operator::Eq | Operator::IsNotDistinctFrom if is_subquery(right) => 1.0 / self.of(left).domain,
            Operator::Eq | Operator::IsNotDistinctFrom if is_subquery(left) => 1.0 / self.of(right).domain,
            Operator::Eq | Operator::IsNotDistinctFrom => 1.0 / self.of(left).domain.max(self.of(right).domain),
            Operator::NotEq | Operator::IsDistinctFrom => {
                1.0 - 1.0 / self.of(left).domain.max(self.of(right).domain).max(2.0)
            }
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
                let is_column = |expr: &Expr| matches!(expr, Expr::Column(_));
                if is_column(left) && is_column(right) { COLUMN_RANGE } else { self.range_default }
            }
            _ => UNKNOWN,
        }
    }

    fn compare_literal(&mut self, expr: &Expr, op: Operator, value: &ScalarValue) -> f64 {
        if value.is_null() {
            return 0.0;
        }
        let estimate = self.of(expr);
        let at = scale(value);
        let not_null = 1.0 - estimate.null_fraction;
        match op {
            Operator::Eq | Operator::IsNotDistinctFrom => {
                if let (Some(at), Some((min, max))) = (at, estimate.bounds)
                    && (at < min || at > max)
                {
                    return SELECTIVITY_MIN;
                }
                let share = self.equality_share(expr, &estimate);
                if let Some(column) = self.column_mut(expr) {
                    column.domain = 1.0;
                    column.domain_known = true;
                    column.bounds = at.map(|at| (at, at));
                }
                share * not_null
            }
            Operator::NotEq | Operator::IsDistinctFrom => not_null * (1.0 - self.equality_share(expr, &estimate)),
            Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
                let Some((at, (min, max))) = at.zip(estimate.bounds) else {
                    return self.range_default;
                };
                let (below, above) = ((min, at.min(max)), (at.max(min), max));
                let kept = if matches!(op, Operator::Lt | Operator::LtEq) { below } else { above };
                let share = interval_share(kept, (min, max), &estimate);
                if let Some(column) = self.column_mut(expr) {
                    column.domain = (column.domain * share).max(1.0);
                    column.bounds = (kept.0 <= kept.1).then_some(kept);
                }
                share * not_null
            }
            _ => UNKNOWN,
        }
    }

    fn equality_share(&self, expr: &Expr, estimate: &ColumnEstimate) -> f64 {
        let is_string = expr
            .get_type(self.schema)
            .is_ok_and(|data_type| matches!(data_type, DataType::Utf8View | DataType::Utf8 | DataType::LargeUtf8));
        let share = 1.0 / estimate.domain;
        if is_string && !estimate.domain_known { share.max(STRING_EQUALITY) } else { share }
    }

    fn in_list(&mut self, expr: &Expr, values: f64, negated: bool) -> f64 {
        let estimate = self.of(expr);
        let share = (values * self.equality_share(expr, &estimate)).min(1.0);
        if negated {
            return 1.0 - share;
        }
        if let Some(column) = self.column_mut(expr) {
            column.domain = column.domain.min(values);
        }
        share * (1.0 - estimate.null_fraction)
    }
}

/// The share of values of a column between `bounds` that is in `kept`.
fn interval_share(kept: (f64, f64), bounds: (f64, f64), estimate: &ColumnEstimate) -> f64 {
    let width = bounds.1 - bounds.0;
    if kept.0 > kept.1 {
        return SELECTIVITY_MIN;
    }
    if width <= 0.0 {
        return 1.0;
    }
    ((kept.1 - kept.0) / width).clamp((1.0 / estimate.domain).min(0.5), 1.0)
}

fn like(pattern: &Expr) -> f64 {
    let Expr::Literal(ScalarValue::Utf8(Some(text)) | ScalarValue::Utf8View(Some(text)), _) = pattern else {
        return UNKNOWN;
    };
    let pieces: Vec<&str> = text.split(['%', '_']).filter(|piece| !piece.is_empty()).collect();
    if pieces.is_empty() {
        return 1.0;
    }
    let is_anchored = !text.starts_with(['%', '_']);
    let first = if is_anchored { LIKE_PREFIX } else { LIKE_PIECE };
    (first * LIKE_PIECE.powi(pieces.len() as i32 - 1)).max(LIKE_MIN)
}

/// Combinations of several columns among `rows` rows. Columns of one table depend on each other, so each further one
/// counts less: the largest in full, the next by its square root, the one after by its fourth root.
pub(super) fn combinations<'c>(columns: impl Iterator<Item = &'c ColumnEstimate>, rows: f64) -> f64 {
    let mut domains: Vec<f64> = columns.map(|column| column.distinct_in(rows)).collect();
    domains.sort_by(|a, b| b.total_cmp(a));
    let mut exponent = 1.0;
    let mut product = 1.0;
    for domain in domains {
        product *= domain.powf(exponent);
        exponent /= 2.0;
    }
    distinct_in(product, rows)
}
