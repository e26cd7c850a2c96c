//! Conditions implied by others.
//!
//! - *Through equality*: `a = b AND a > 1` implies `b > 1`. Only comparisons with constants carry over, since they are
//!   the same for all values that are equal; `1 / a > 0` isn't, as −0 equals 0.
//! - *From one side of OR*: `(a = 1 AND b = 2) OR (a = 3 AND b = 4)` implies `a = 1 OR a = 3` and `b = 2 OR b = 4`.

use std::collections::HashSet;

use godwit_plan::{ColumnId, ColumnSet, Expr, ExprKind};

use crate::properties::Equivalences;

/// Returns conditions implied by these: each over columns of one side, and none of them already present.
pub(super) fn derive<'e>(conditions: impl Iterator<Item = &'e Expr>, left: &ColumnSet, right: &ColumnSet) -> Vec<Expr> {
    let conditions: Vec<&Expr> = conditions.collect();
    let mut known: HashSet<Expr> =
        conditions.iter().filter(|expr| test_of(expr).is_some()).map(|&expr| expr.clone()).collect();
    let equivalences = Equivalences::of(conditions.iter().copied());
    let mut derived = Vec::new();
    // A test of one column of a class is one of all: it is examined once, for the first of them.
    let mut tested: HashSet<Expr> = HashSet::new();
    for condition in &conditions {
        let Some(column) = test_of(condition) else { continue };
        let equal = equivalences.equal_to(column);
        if equal.len() < 2 || !tested.insert(with_column(condition, column, equal[0])) {
            continue;
        }
        for &other in &equal {
            let condition = with_column(condition, column, other);
            if known.insert(condition.clone()) {
                derived.push(condition);
            }
        }
    }
    for condition in conditions {
        let parts = [left, right].into_iter().filter_map(|side| side_of_or(condition, side));
        derived.extend(parts);
    }
    derived
}

/// Returns the column that a condition compares with constants, if it does nothing else.
fn test_of(condition: &Expr) -> Option<ColumnId> {
    let is_constant = |expr: &Expr| matches!(expr.kind, ExprKind::Literal(_) | ExprKind::Parameter(_));
    match &condition.kind {
        ExprKind::Compare(comparison, value, constant) if !comparison.is_null_safe() && is_constant(constant) => {
            value.as_column()
        }
        ExprKind::InList(value, list) if list.iter().all(is_constant) => value.as_column(),
        _ => None,
    }
}

/// Returns the same test on another column, which may be NULL.
fn with_column(condition: &Expr, column: ColumnId, other: ColumnId) -> Expr {
    let tested = |part: &Expr| Expr { kind: ExprKind::Column(other), nullable: true, ..part.clone() };
    let test = condition.clone().map_children(&mut |part| match part.as_column() {
        Some(used) if used == column => tested(&part),
        _ => part,
    });
    Expr { nullable: true, ..test }
}

/// Returns the part of a disjunction over both sides that restricts one side.
fn side_of_or(condition: &Expr, side: &ColumnSet) -> Option<Expr> {
    let ExprKind::Or(all) = &condition.kind else { return None };
    let columns = condition.columns();
    if columns.is_disjoint(side) || columns.is_subset(side) {
        return None;
    }
    let own_part = |part: &Expr| {
        let conjuncts = part.clone().into_conjuncts().into_iter();
        let is_own = |conjunct: &Expr| {
            let columns = conjunct.columns();
            !columns.is_empty() && columns.is_subset(side) && !conjunct.is_volatile() && !conjunct.has_subquery()
        };
        let own: Vec<Expr> = conjuncts.filter(is_own).collect();
        (!own.is_empty()).then(|| Expr::and(own))
    };
    let parts = all.iter().map(own_part).collect::<Option<Vec<Expr>>>()?;
    Some(Expr::or(parts))
}
