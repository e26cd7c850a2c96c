//! The conditions of a join, split up for its operators.
//!
//! ```text
//! a = b, each of one side         a key; without NULLs
//! a IS NOT DISTINCT FROM b        a key; then NULL = NULL for all keys, and equalities that may meet NULLs are NOT NULL
//!                                 besides
//! everything else                 the residual condition
//! ```
//!
//! A residual condition of one comparison, `x < y`, may be decided by the least and the greatest `x` per key.

use godwit_plan::{ColumnId, ColumnSet, Comparison, Expr, ExprKind};
use godwit_types::SqlType;

/// Conditions over the two sides of a join.
pub(super) struct Conditions {
    pub keys: Vec<Key>,
    /// NULL keys are equal to each other.
    pub nulls_equal: bool,
    /// Conditions besides the keys.
    pub residual: Vec<Expr>,
}

/// A pair of keys.
pub(super) struct Key {
    pub probe: Expr,
    pub build: Expr,
    /// NULL is equal to NULL.
    pub null_safe: bool,
}

impl Conditions {
    pub(super) fn split<'e>(
        conditions: impl IntoIterator<Item = &'e Expr>,
        probe: &ColumnSet,
        build: &ColumnSet,
    ) -> Self {
        let (mut keys, mut residual) = (Vec::new(), Vec::new());
        for condition in conditions {
            match Key::of(condition, probe, build) {
                Some(key) => keys.push(key),
                None => residual.push(condition.clone()),
            }
        }
        let nulls_equal = keys.iter().any(|key| key.null_safe);
        if nulls_equal {
            // One of the two sides is enough: only NULL is equal to NULL.
            let not_null = keys.iter().filter(|key| key.may_meet_nulls() && !key.null_safe);
            residual.extend(not_null.map(|key| key.probe.clone().is_null().negated()));
        }
        Self { keys, nulls_equal, residual }
    }

    /// The column of the probe side whose least and greatest value for a key decide the residual condition: if it holds
    /// for any value, it holds for one of the two.
    pub(super) fn extreme_column(&self, probe: &ColumnSet, build: &ColumnSet) -> Option<ColumnId> {
        let [condition] = &self.residual[..] else { return None };
        let ExprKind::Compare(comparison, a, b) = &condition.kind else { return None };
        let is_decided = match comparison {
            Comparison::NotEqual => true,
            Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => true,
            Comparison::Equal | Comparison::Distinct | Comparison::NotDistinct => false,
        };
        if !is_decided || condition.has_subquery() || condition.is_volatile() {
            return None;
        }
        let (value, other) = if a.columns().is_subset(build) { (b, a) } else { (a, b) };
        // A wider type keeps the order.
        let column = widened_column(value)?;
        (probe.contains(column) && other.columns().is_subset(build)).then_some(column)
    }
}

impl Key {
    /// The condition as a pair of keys, if it compares a value of one side with one of the other.
    pub(super) fn of(condition: &Expr, probe: &ColumnSet, build: &ColumnSet) -> Option<Self> {
        let ExprKind::Compare(comparison, a, b) = &condition.kind else { return None };
        let null_safe = match comparison {
            Comparison::Equal => false,
            // If one side is never NULL, a NULL equals nothing.
            Comparison::NotDistinct => a.nullable && b.nullable,
            _ => return None,
        };
        let (of_a, of_b) = (a.columns(), b.columns());
        if of_a.is_empty() || of_b.is_empty() || condition.has_subquery() || condition.is_volatile() {
            return None;
        }
        let pair = |probe: &Expr, build: &Expr| Self { probe: probe.clone(), build: build.clone(), null_safe };
        if of_a.is_subset(probe) && of_b.is_subset(build) {
            Some(pair(a, b))
        } else if of_b.is_subset(probe) && of_a.is_subset(build) {
            Some(pair(b, a))
        } else {
            None
        }
    }

    /// Whether both sides may be NULL.
    fn may_meet_nulls(&self) -> bool {
        self.probe.nullable && self.build.nullable
    }
}

/// The column, if the value is a plain column or a column cast to a wider integer.
pub(super) fn widened_column(value: &Expr) -> Option<ColumnId> {
    match &value.kind {
        ExprKind::Column(column) => Some(*column),
        ExprKind::Cast { input, lenient: false } if is_plain_integer(&value.ty) && is_plain_integer(&input.ty) => {
            input.as_column()
        }
        _ => None,
    }
}

/// True for integers that are integers in Arrow, too.
fn is_plain_integer(ty: &SqlType) -> bool {
    ty.is_integer() && !matches!(ty, SqlType::HugeInt | SqlType::UHugeInt)
}

/// Whether a join operator can compute this mark, whose comparison may be NULL, by itself. A hash join can if the whole
/// condition is a single equality.
pub(super) fn is_null_aware(conditions: &[Expr], compare: &[Expr], probe: &ColumnSet, build: &ColumnSet) -> bool {
    match (conditions, compare) {
        ([], [only]) => only.nullable && Key::of(only, probe, build).is_some_and(|key| !key.null_safe),
        _ => false,
    }
}
