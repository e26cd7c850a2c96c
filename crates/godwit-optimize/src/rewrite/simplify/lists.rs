//! IN with a list.

use std::collections::HashSet;

use godwit_plan::{Comparison, Expr, ExprKind};
use godwit_types::SqlType;

/// `a IN (x)` is `a = x`.
pub(super) fn in_short_list(expr: &Expr) -> Option<Expr> {
    match &expr.kind {
        ExprKind::InList(value, list) => match list.as_slice() {
            [] => Some(Expr::boolean(false)),
            [one] => Some(Expr::compare(Comparison::Equal, (**value).clone(), one.clone())),
            _ => None,
        },
        _ => None,
    }
}

/// Drops repeated list elements.
pub(super) fn in_distinct_list(expr: &Expr) -> Option<Expr> {
    let ExprKind::InList(value, list) = &expr.kind else { return None };
    let mut seen = HashSet::new();
    let kept: Vec<Expr> = list.iter().filter(|item| item.is_volatile() || seen.insert(*item)).cloned().collect();
    if kept.len() == list.len() {
        return None;
    }
    let nullable = value.nullable || kept.iter().any(|item| item.nullable);
    Some(Expr::new(ExprKind::InList(value.clone(), kept), SqlType::Boolean, nullable))
}
