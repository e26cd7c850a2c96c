//! Joins: how many pairs match.
//!
//! Of two key columns the one with fewer values is assumed to be contained in the other, so a pair of rows matches
//! with probability 1 / max(values). Values are those of the *base table* ([`ColumnEstimate::domain`]): a filter on
//! another column of a dimension removes rows of the join, not values of its key's domain.

use super::ColumnEstimate;
use super::column::distinct_in;

/// Number of values over which the rows of both sides are spread, for equalities `left[i] = right[i]`.
pub(crate) fn key_domain(pairs: &[(&ColumnEstimate, &ColumnEstimate)]) -> f64 {
    let product = pairs.iter().map(|(left, right)| pair_domain(left, right)).product::<f64>();
    if pairs.len() < 2 {
        return product.max(1.0);
    }
    let left = CompositeKey::new(pairs.iter().map(|(left, _)| *left));
    let right = CompositeKey::new(pairs.iter().map(|(_, right)| *right));
    product.min(wider(left.domain, left.is_known, right.domain, right.is_known)).max(1.0)
}

/// Domain of one pair of key columns.
pub(crate) fn pair_domain(left: &ColumnEstimate, right: &ColumnEstimate) -> f64 {
    wider(left.domain, left.domain_known, right.domain, right.domain_known)
}

/// The larger of two known domains; of two mere upper bounds the smaller, since a key and the columns that refer to
/// it have the same domain; of one of each the known one, as far as the bound allows it.
fn wider(left: f64, left_known: bool, right: f64, right_known: bool) -> f64 {
    match (left_known, right_known) {
        (true, true) => left.max(right),
        (false, false) => left.min(right),
        (true, false) => left,
        (false, true) => right,
    }
}

/// Several key columns of one side taken together.
struct CompositeKey {
    domain: f64,
    is_known: bool,
}

impl CompositeKey {
    fn new<'c>(columns: impl Iterator<Item = &'c ColumnEstimate> + Clone) -> Self {
        let combinations = columns.clone().map(|column| column.domain).product::<f64>();
        let rows_max = columns.map(|column| column.base_rows).fold(1.0, f64::max);
        Self { domain: combinations.min(rows_max), is_known: combinations <= rows_max }
    }
}

/// Values of the key expected among `rows` rows of one side.
pub(super) fn keys_among<'c>(columns: impl Iterator<Item = &'c ColumnEstimate>, rows: f64) -> f64 {
    let mut base_rows = 1.0_f64;
    let mut product = 1.0;
    for column in columns {
        product *= column.domain;
        base_rows = base_rows.max(column.base_rows);
    }
    distinct_in(product.min(base_rows).max(1.0), rows)
}
