//! Comparisons of values with constants, and of values with themselves.

use godwit_plan::{Comparison, Expr, ExprKind};
use godwit_types::{SqlType, Value};

fn parts(expr: &Expr) -> Option<(Comparison, &Expr, &Expr)> {
    match &expr.kind {
        ExprKind::Compare(comparison, a, b) => Some((*comparison, a, b)),
        _ => None,
    }
}

/// Returns TRUE or FALSE, but NULL where the value is NULL.
pub(super) fn constant_unless_null(value: &Expr, constant: bool) -> Expr {
    let null = Expr::null(SqlType::Boolean);
    match (value.nullable, constant) {
        (false, _) => Expr::boolean(constant),
        (true, true) => Expr::or([value.clone().is_null().negated(), null]),
        (true, false) => Expr::and([value.clone().is_null(), null]),
    }
}

/// `1 < a` is `a > 1`.
pub(super) fn literal_to_the_right(expr: &Expr) -> Option<Expr> {
    let (comparison, a, b) = parts(expr)?;
    let is_left = a.as_literal().is_some() && b.as_literal().is_none();
    is_left.then(|| Expr::compare(comparison.swapped(), b.clone(), a.clone()))
}

/// `a = NULL` is NULL, `a IS DISTINCT FROM NULL` is `a IS NOT NULL`.
pub(super) fn compare_with_null(expr: &Expr) -> Option<Expr> {
    let (comparison, a, b) = parts(expr)?;
    if !b.as_literal()?.is_null() {
        return None;
    }
    Some(match comparison {
        Comparison::Distinct => a.clone().is_null().negated(),
        Comparison::NotDistinct => a.clone().is_null(),
        _ => Expr::null(SqlType::Boolean),
    })
}

/// `a = a` is TRUE and `a < a` is FALSE, or NULL if `a` is. NaN is equal to itself.
pub(super) fn compare_with_itself(expr: &Expr) -> Option<Expr> {
    let (comparison, a, b) = parts(expr)?;
    if a != b || a.is_volatile() || a.has_subquery() || a.as_literal().is_some() {
        return None;
    }
    let same = comparison.holds(std::cmp::Ordering::Equal);
    Some(if comparison.is_null_safe() { Expr::boolean(same) } else { constant_unless_null(a, same) })
}

/// `a = TRUE` is `a`, `a = FALSE` is `NOT a`; the NULL-safe comparisons only if `a` isn't NULL.
pub(super) fn compare_with_truth(expr: &Expr) -> Option<Expr> {
    let (comparison, a, b) = parts(expr)?;
    let Value::Boolean(value) = *b.as_literal()? else { return None };
    let keeps = match comparison {
        Comparison::Equal => value,
        Comparison::NotEqual => !value,
        Comparison::NotDistinct if !a.nullable => value,
        Comparison::Distinct if !a.nullable => !value,
        _ => return None,
    };
    Some(if keeps { a.clone() } else { a.clone().negated() })
}

/// `IS DISTINCT FROM` is `<>` where neither side is NULL.
pub(super) fn distinct_without_nulls(expr: &Expr) -> Option<Expr> {
    let (comparison, a, b) = parts(expr)?;
    let plain = match comparison {
        Comparison::Distinct => Comparison::NotEqual,
        Comparison::NotDistinct => Comparison::Equal,
        _ => return None,
    };
    (!a.nullable && !b.nullable).then(|| Expr::compare(plain, a.clone(), b.clone()))
}
