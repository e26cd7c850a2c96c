//! Predicates: the fraction of rows that passes, and what remains of the columns' domains.
//!
//! Conjuncts are applied in turn, each to what the previous ones left: `x >= 10 AND x < 20` first cuts the lower part
//! of the bounds, then the upper part of the rest, so that the product is the fraction within the interval.

use std::rc::Rc;

use godwit_plan::{Comparison, Expr, ExprKind, Match};
use godwit_types::{SqlType, Value};

use super::column::{Instance, distinct_in, of_expr, scale};
use super::config::{
    COLUMN_RANGE, LIKE_MIN, LIKE_PIECE, LIKE_PREFIX, RANGE, SELECTIVITY_MIN, STRING_EQUALITY, UNKNOWN,
};
use super::{ColumnEstimate, Domain, NodeEstimate};

/// Applies conjuncts: reduces the rows and narrows the columns.
pub(super) fn filter(input: &NodeEstimate, conjuncts: &[Expr], range_default: f64, evidence: Evidence) -> NodeEstimate {
    let mut filter = Filter { node: input.clone(), range_default, evidence };
    let share: f64 = conjuncts.iter().map(|conjunct| filter.restrict(conjunct)).product();
    filter.node.rows = (input.rows * share.clamp(SELECTIVITY_MIN, 1.0)).max(1.0_f64.min(input.rows));
    filter.node
}

/// Returns the fraction of a node's rows that passes all conjuncts.
pub(crate) fn selectivity<'e>(conjuncts: impl IntoIterator<Item = &'e Expr>, node: &NodeEstimate) -> f64 {
    let mut filter = Filter { node: node.clone(), range_default: RANGE, evidence: Evidence::Files };
    let share: f64 = conjuncts.into_iter().map(|conjunct| filter.restrict(conjunct)).product();
    share.clamp(SELECTIVITY_MIN, 1.0)
}

/// What may be asked for the number of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// What is known already: enough where a sample tells how many rows pass.
    Statistics,
    /// Files, too, if statistics don't say.
    Files,
}

#[derive(Clone)]
struct Filter {
    node: NodeEstimate,
    /// Fraction that passes a range comparison without bounds.
    range_default: f64,
    evidence: Evidence,
}

impl Evidence {
    /// Returns the number of values that can occur in a column, and true unless it is only an upper bound.
    fn values(self, column: &ColumnEstimate) -> (f64, bool) {
        match self {
            Evidence::Statistics => column.domain.values_without_reading(),
            Evidence::Files => column.domain.values(),
        }
    }
}

impl Filter {
    fn values_of(&self, expr: &Expr) -> f64 {
        self.evidence.values(&self.of(expr)).0
    }

    /// Narrows the columns to the values that pass the predicate, and returns the fraction of rows that passes.
    fn restrict(&mut self, predicate: &Expr) -> f64 {
        match &predicate.kind {
            ExprKind::And(all) => all.iter().map(|conjunct| self.restrict(conjunct)).product(),
            ExprKind::Or(all) => self.any_of(all),
            ExprKind::Compare(comparison, left, right) => self.compare(*comparison, left, right),
            ExprKind::Not(inner) => self.not(inner),
            ExprKind::InList(expr, list) => self.in_list(expr, list.len() as f64),
            ExprKind::Match { kind, pattern, .. } => matching(*kind, pattern),
            ExprKind::IsNull(expr) => self.of(expr).null_fraction,
            ExprKind::Let { column, value, body } => {
                let value = self.of(value);
                self.node.insert(*column, value);
                let share = self.restrict(body);
                self.node.remove(*column);
                share
            }
            ExprKind::Column(_) => 0.5,
            ExprKind::Literal(Value::Boolean(true)) => 1.0,
            ExprKind::Literal(_) => 0.0,
            _ => UNKNOWN,
        }
    }

    fn not(&mut self, inner: &Expr) -> f64 {
        match &inner.kind {
            ExprKind::Compare(comparison, left, right) => self.compare(comparison.negated(), left, right),
            ExprKind::InList(expr, list) => {
                1.0 - (list.len() as f64 * self.equality_share(expr, &self.of(expr))).min(1.0)
            }
            _ => 1.0 - self.alone(inner),
        }
    }

    /// Applies a disjunction, which narrows the columns that all of its parts narrow.
    fn any_of(&mut self, parts: &[Expr]) -> f64 {
        let before = self.clone();
        let mut shares = 0.0;
        for (at, part) in parts.iter().enumerate() {
            let mut other = before.clone();
            let share = other.restrict(part);
            if at == 0 {
                (self.node, shares) = (other.node, share);
                continue;
            }
            let is_exclusive = self.widen(&before.node, &other.node);
            let overlap = if is_exclusive { 0.0 } else { shares * share };
            shares = (shares + share - overlap).min(1.0);
        }
        shares
    }

    /// Widens the columns by the values that another part of a disjunction leaves; returns true if the two exclude each
    /// other.
    fn widen(&mut self, before: &NodeEstimate, other: &NodeEstimate) -> bool {
        let mut is_exclusive = false;
        let evidence = self.evidence;
        for (((_, column), (_, before)), (_, other)) in
            self.node.columns.iter_mut().zip(&before.columns).zip(&other.columns)
        {
            if Rc::ptr_eq(column, before) && Rc::ptr_eq(other, before) {
                continue;
            }
            is_exclusive |= column.bounds.zip(other.bounds).is_some_and(|(a, b)| a.1 < b.0 || b.1 < a.0);
            let values = |column: &ColumnEstimate| evidence.values(column).0;
            let (values, is_known) = (values(before).min(values(column) + values(other)), evidence.values(column).1);
            let column = Rc::make_mut(column);
            column.domain = Domain::of(values, is_known);
            column.bounds = column.bounds.zip(other.bounds).map(|(a, b)| (a.0.min(b.0), a.1.max(b.1)));
        }
        is_exclusive
    }

    /// Returns the selectivity of a predicate without narrowing the columns.
    fn alone(&self, predicate: &Expr) -> f64 {
        self.clone().restrict(predicate)
    }

    fn of(&self, expr: &Expr) -> Rc<ColumnEstimate> {
        of_expr(expr, &self.node)
    }

    /// Returns the column below any casts, to be narrowed.
    fn column_mut(&mut self, expr: &Expr) -> Option<&mut ColumnEstimate> {
        match &expr.kind {
            ExprKind::Column(column) => self.node.column_mut(*column),
            ExprKind::Cast { input, .. } => self.column_mut(input),
            _ => None,
        }
    }

    fn compare(&mut self, comparison: Comparison, left: &Expr, right: &Expr) -> f64 {
        match (left.as_literal(), right.as_literal()) {
            (Some(_), Some(_)) => UNKNOWN,
            (Some(value), None) => self.compare_literal(comparison.swapped(), right, value),
            (None, Some(value)) => self.compare_literal(comparison, left, value),
            (None, None) => self.compare_exprs(comparison, left, right),
        }
    }

    fn compare_exprs(&mut self, comparison: Comparison, left: &Expr, right: &Expr) -> f64 {
        let is_subquery = |expr: &Expr| matches!(expr.kind, ExprKind::Subquery(_));
        match comparison {
            Comparison::Equal | Comparison::NotDistinct if is_subquery(right) => 1.0 / self.values_of(left),
            Comparison::Equal | Comparison::NotDistinct if is_subquery(left) => 1.0 / self.values_of(right),
            Comparison::Equal | Comparison::NotDistinct => 1.0 / self.values_of(left).max(self.values_of(right)),
            Comparison::NotEqual | Comparison::Distinct => {
                1.0 - 1.0 / self.values_of(left).max(self.values_of(right)).max(2.0)
            }
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
                let are_columns = left.as_column().is_some() && right.as_column().is_some();
                if are_columns { COLUMN_RANGE } else { self.range_default }
            }
        }
    }

    fn compare_literal(&mut self, comparison: Comparison, expr: &Expr, value: &Value) -> f64 {
        if value.is_null() {
            return match comparison {
                Comparison::NotDistinct => self.of(expr).null_fraction,
                Comparison::Distinct => 1.0 - self.of(expr).null_fraction,
                _ => 0.0,
            };
        }
        if let (Value::Boolean(wanted), None) = (value, expr.as_column()) {
            return match (comparison, wanted) {
                (Comparison::Equal | Comparison::NotDistinct, true) => self.restrict(expr),
                (Comparison::NotEqual | Comparison::Distinct, false) => self.restrict(expr),
                _ => 1.0 - self.alone(expr),
            };
        }
        let estimate = self.of(expr);
        let not_null = 1.0 - estimate.null_fraction;
        match comparison {
            Comparison::Equal | Comparison::NotDistinct => self.equal_literal(expr, value, &estimate) * not_null,
            Comparison::NotEqual => not_null * (1.0 - self.equality_share(expr, &estimate)),
            Comparison::Distinct => 1.0 - not_null * self.equality_share(expr, &estimate),
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
                let Some((at, (min, max))) = scale(value, &expr.ty).zip(estimate.bounds) else {
                    return self.range_default;
                };
                let is_below = matches!(comparison, Comparison::Less | Comparison::LessOrEqual);
                let kept = if is_below { (min, at.min(max)) } else { (at.max(min), max) };
                let share = self.interval_share(kept, (min, max), &estimate);
                if let Some(column) = self.column_mut(expr) {
                    column.domain = column.domain.part(share, f64::INFINITY);
                    column.bounds = (kept.0 <= kept.1).then_some(kept);
                }
                share * not_null
            }
        }
    }

    /// Returns the fraction of values equal to this one.
    fn equal_literal(&mut self, expr: &Expr, value: &Value, estimate: &ColumnEstimate) -> f64 {
        let at = scale(value, &expr.ty);
        if let (Some(at), Some((min, max))) = (at, estimate.bounds)
            && (at < min || at > max)
        {
            return SELECTIVITY_MIN;
        }
        if let Some(column) = self.column_mut(expr) {
            column.domain = Domain::Known(1.0);
            column.bounds = at.map(|at| (at, at));
        }
        self.equality_share(expr, estimate)
    }

    fn in_list(&mut self, expr: &Expr, values: f64) -> f64 {
        let estimate = self.of(expr);
        let share = (values * self.equality_share(expr, &estimate)).min(1.0);
        if let Some(column) = self.column_mut(expr) {
            column.domain = column.domain.part(1.0, values);
        }
        share * (1.0 - estimate.null_fraction)
    }

    fn equality_share(&self, expr: &Expr, estimate: &ColumnEstimate) -> f64 {
        let (values, is_known) = self.evidence.values(estimate);
        let share = 1.0 / values;
        if expr.ty == SqlType::Varchar && !is_known { share.max(STRING_EQUALITY) } else { share }
    }

    /// Returns the fraction of a column's values between `bounds` that lies in `kept`.
    fn interval_share(&self, kept: (f64, f64), bounds: (f64, f64), estimate: &ColumnEstimate) -> f64 {
        let width = bounds.1 - bounds.0;
        if kept.0 > kept.1 {
            return SELECTIVITY_MIN;
        }
        if width <= 0.0 {
            return 1.0;
        }
        ((kept.1 - kept.0) / width).clamp((1.0 / self.evidence.values(estimate).0).min(0.5), 1.0)
    }
}

/// Returns the fraction of strings that match a pattern: the more literal pieces it has, the smaller.
fn matching(kind: Match, pattern: &Expr) -> f64 {
    let wildcards = match kind {
        Match::Like | Match::ILike => ['%', '_'],
        Match::Glob => ['*', '?'],
        Match::Similar | Match::Regex | Match::IRegex => return UNKNOWN,
    };
    let Some(Value::Text(text)) = pattern.as_literal() else {
        return UNKNOWN;
    };
    let pieces = text.split(wildcards).filter(|piece| !piece.is_empty()).count();
    if pieces == 0 {
        return 1.0;
    }
    let first = if text.starts_with(wildcards) { LIKE_PIECE } else { LIKE_PREFIX };
    (first * LIKE_PIECE.powi(pieces as i32 - 1)).max(LIKE_MIN)
}

/// Estimates the combinations of several columns among `rows` rows. Columns of one table depend on each other, so each
/// further one counts less: the largest in full, the next by its square root, the one after by its fourth root; and
/// together they have at most one combination per row of the table.
pub(super) fn combinations<'c>(columns: impl Iterator<Item = &'c ColumnEstimate>, rows: f64) -> f64 {
    let mut columns: Vec<(f64, &ColumnEstimate)> = columns.map(|column| (column.distinct_in(rows), column)).collect();
    columns.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let mut exponent = 1.0;
    let mut product = 1.0;
    for (domain, _) in &columns {
        product *= domain.powf(exponent);
        exponent /= 2.0;
    }
    distinct_in(combinations_of_tables(&columns).min(product), rows)
}

/// Returns the combinations of several columns among `rows` rows if columns are independent, but for the number of rows
/// of each table.
pub(super) fn independent_combinations<'c>(columns: impl Iterator<Item = &'c ColumnEstimate>, rows: f64) -> f64 {
    let columns: Vec<(f64, &ColumnEstimate)> = columns.map(|column| (column.distinct_in(rows), column)).collect();
    distinct_in(combinations_of_tables(&columns), rows)
}

/// Returns how many combinations columns with these numbers of values can have at most.
fn combinations_of_tables(columns: &[(f64, &ColumnEstimate)]) -> f64 {
    let mut of_instances: Vec<(&Instance, f64)> = Vec::new();
    let mut of_others = 1.0;
    for (values, column) in columns {
        let Some(instance) = column.domain.instance() else {
            of_others *= values;
            continue;
        };
        match of_instances.iter_mut().find(|(other, _)| *other == instance) {
            Some((_, combinations)) => *combinations = (*combinations * values).min(column.base_rows.max(1.0)),
            None => of_instances.push((instance, *values)),
        }
    }
    of_instances.iter().map(|(_, combinations)| combinations).product::<f64>() * of_others
}
