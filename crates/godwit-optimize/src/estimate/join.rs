//! Joins: the number of matching pairs.
//!
//! Of two key columns, the one with fewer values is assumed to be contained in the other, so a pair of rows matches
//! with probability 1 / max(values). The values are those of the *base table* ([`ColumnEstimate::domain`]): a filter on
//! another column of a dimension table removes rows from the join, not values from its key's domain. If the keys that
//! are left are known, those that lie within the other column's bounds tell more.

use std::rc::Rc;

use godwit_plan::{Comparison, Expr, ExprKind, Join, JoinKind};

use super::column::distinct_in;
use super::selectivity::selectivity;
use super::{ColumnEstimate, NodeEstimate, config};

/// Returns the number of values over which the rows of both sides spread, for equalities `left[i] = right[i]`.
pub(crate) fn key_domain(pairs: &[(&ColumnEstimate, &ColumnEstimate)]) -> f64 {
    let product = pairs.iter().map(|(left, right)| pair_domain(left, right)).product::<f64>();
    if pairs.len() < 2 {
        return product.max(1.0);
    }
    let left = CompositeKey::new(pairs.iter().map(|(left, _)| *left));
    let right = CompositeKey::new(pairs.iter().map(|(_, right)| *right));
    product.min(wider(left.domain, left.is_known, right.domain, right.is_known)).max(1.0)
}

/// Returns the domain of one pair of key columns: by their keys, if those of one are known.
pub(crate) fn pair_domain(left: &ColumnEstimate, right: &ColumnEstimate) -> f64 {
    if let Some(domain) = left.domain_in_bounds_of(right).or_else(|| right.domain_in_bounds_of(left)) {
        return domain;
    }
    // If one side's values are known and the other can't have more, no file has to be read.
    for (key, other) in [(left, right), (right, left)] {
        let (values, is_known) = key.domain.values_without_reading();
        if is_known && other.domain_at_most() <= values {
            return values;
        }
    }
    let ((left, left_known), (right, right_known)) = (left.domain.values(), right.domain.values());
    wider(left, left_known, right, right_known)
}

/// Returns the larger of two known domains. Of two upper bounds it returns the smaller, since a key and the columns
/// that refer to it have the same domain; of one of each, the known one, limited by the bound.
fn wider(left: f64, left_known: bool, right: f64, right_known: bool) -> f64 {
    match (left_known, right_known) {
        (true, true) => left.max(right),
        (false, false) => left.min(right),
        (true, false) => left,
        (false, true) => right,
    }
}

/// Several key columns of one side, taken together.
struct CompositeKey {
    domain: f64,
    is_known: bool,
}

impl CompositeKey {
    fn new<'c>(columns: impl Iterator<Item = &'c ColumnEstimate> + Clone) -> Self {
        let combinations = columns.clone().map(ColumnEstimate::likely_domain).product::<f64>();
        let rows_max = columns.map(|column| column.base_rows).fold(1.0, f64::max);
        Self { domain: combinations.min(rows_max), is_known: combinations <= rows_max }
    }
}

/// Returns the number of key values expected among `rows` rows of one side.
fn keys_among<'c>(columns: impl Iterator<Item = &'c ColumnEstimate>, rows: f64) -> f64 {
    let mut base_rows = 1.0_f64;
    let mut product = 1.0;
    for column in columns {
        product *= column.likely_domain();
        base_rows = base_rows.max(column.base_rows);
    }
    distinct_in(product.min(base_rows).max(1.0), rows)
}

/// The matches between two sides under some conjuncts.
pub(crate) struct Matches {
    keys: Vec<(Rc<ColumnEstimate>, Rc<ColumnEstimate>)>,
    /// Number of values over which the keys spread.
    domain: f64,
    /// Fraction of the pairs with equal keys that passes the other conjuncts.
    residual: f64,
    has_residual: bool,
}

impl Matches {
    /// Returns the matches of two sides under these conjuncts.
    pub(crate) fn new(left: &NodeEstimate, right: &NodeEstimate, conditions: &[Expr]) -> Self {
        let (mut keys, mut others) = (Vec::new(), Vec::new());
        for condition in conditions {
            match key_sides(condition, left, right) {
                Some((a, b)) => keys.push((left.of_expr(a), right.of_expr(b))),
                None => others.push(condition),
            }
        }
        let pairs: Vec<(&ColumnEstimate, &ColumnEstimate)> = keys.iter().map(|(l, r)| (&**l, &**r)).collect();
        let domain = key_domain(&pairs);
        let has_residual = !others.is_empty();
        let residual = if has_residual { selectivity(others, &NodeEstimate::of_pairs(left, right)) } else { 1.0 };
        Self { keys, domain, residual, has_residual }
    }

    /// Returns the matches of rows that agree in all columns, which both sides have under the same ids.
    pub(super) fn of_same_columns(left: &NodeEstimate, right: &NodeEstimate) -> Self {
        let pair = |(column, left): &(_, Rc<ColumnEstimate>)| {
            Some((Rc::clone(left), Rc::clone(right.shared_column(*column)?)))
        };
        let keys: Vec<(Rc<ColumnEstimate>, Rc<ColumnEstimate>)> = left.columns.iter().filter_map(pair).collect();
        let pairs: Vec<(&ColumnEstimate, &ColumnEstimate)> = keys.iter().map(|(l, r)| (&**l, &**r)).collect();
        Self { domain: key_domain(&pairs), keys, residual: 1.0, has_residual: false }
    }

    /// Returns the number of pairs, given the number of rows of each side.
    pub(crate) fn pairs(&self, left_rows: f64, right_rows: f64) -> f64 {
        (left_rows * right_rows / self.domain).max(1.0) * self.residual
    }

    /// Returns the number of pairs per left row, among `right_rows` right rows.
    pub(crate) fn pairs_per_left_row(&self, right_rows: f64) -> f64 {
        right_rows / self.domain * self.residual
    }

    /// Returns the fraction of left rows that have a match among `right_rows` right rows.
    pub(crate) fn left_share(&self, right_rows: f64) -> f64 {
        self.share(keys_among(self.keys.iter().map(|(_, key)| &**key), right_rows))
    }

    /// Returns the fraction of right rows that have a match among `left_rows` left rows.
    pub(crate) fn right_share(&self, left_rows: f64) -> f64 {
        self.share(keys_among(self.keys.iter().map(|(key, _)| &**key), left_rows))
    }

    fn share(&self, other_keys: f64) -> f64 {
        let residual = if self.has_residual { config::RESIDUAL } else { 1.0 };
        (other_keys / self.domain).min(1.0) * residual
    }
}

/// Returns the fraction of rows without a match, given the fraction with one.
pub(crate) fn unmatched_share(matched: f64) -> f64 {
    (1.0 - matched).max(config::ANTI_MIN)
}

/// Returns the two sides of an equality between columns of both inputs, the left input's first.
fn key_sides<'e>(condition: &'e Expr, left: &NodeEstimate, right: &NodeEstimate) -> Option<(&'e Expr, &'e Expr)> {
    let ExprKind::Compare(Comparison::Equal | Comparison::NotDistinct, a, b) = &condition.kind else {
        return None;
    };
    if is_over(a, left) && is_over(b, right) {
        Some((a, b))
    } else if is_over(a, right) && is_over(b, left) {
        Some((b, a))
    } else {
        None
    }
}

fn is_over(expr: &Expr, side: &NodeEstimate) -> bool {
    if let Some(column) = expr.as_column() {
        return side.column(column).is_some();
    }
    let columns = expr.columns();
    !columns.is_empty() && columns.iter().all(|column| side.column(column).is_some())
}

/// Estimates the rows and columns of a join.
pub(super) fn join(join: &Join, left: &NodeEstimate, right: &NodeEstimate) -> NodeEstimate {
    let matches = Matches::new(left, right, &join.conditions);
    let pairs = || matches.pairs(left.rows, right.rows);
    let left_share = || matches.left_share(right.rows);
    let right_share = || matches.right_share(left.rows);
    let rows = match join.kind {
        JoinKind::Inner => pairs(),
        JoinKind::Left => pairs().max(left.rows),
        JoinKind::Right => pairs().max(right.rows),
        JoinKind::Full => pairs().max(left.rows).max(right.rows),
        JoinKind::Semi => left.rows * left_share(),
        JoinKind::RightSemi => right.rows * right_share(),
        JoinKind::Anti => left.rows * unmatched_share(left_share()),
        JoinKind::RightAnti => right.rows * unmatched_share(right_share()),
        JoinKind::AsOf { outer: false, .. } => left.rows * left_share(),
        JoinKind::Single | JoinKind::Mark { .. } | JoinKind::AsOf { .. } => left.rows,
        JoinKind::Positional => left.rows.max(right.rows),
    };
    let (left_filled, right_filled) =
        (|| left.with_nulls(unmatched_share(right_share())), || right.with_nulls(unmatched_share(left_share())));
    let both = match join.kind {
        JoinKind::Semi | JoinKind::Anti | JoinKind::Mark { .. } => left.clone(),
        JoinKind::RightSemi | JoinKind::RightAnti => right.clone(),
        JoinKind::Left | JoinKind::Single => NodeEstimate::of_pairs(left, &right_filled()),
        JoinKind::Right => NodeEstimate::of_pairs(&left_filled(), right),
        JoinKind::Full => NodeEstimate::of_pairs(&left_filled(), &right_filled()),
        JoinKind::Inner | JoinKind::AsOf { .. } | JoinKind::Positional => NodeEstimate::of_pairs(left, right),
    };
    NodeEstimate { rows: rows.max(1.0), ..both }
}
