//! Casts, based on the table of casts: a cast that loses values or changes their order is never dropped.

use std::cmp::Ordering;

use godwit_plan::{Comparison, Expr, ExprKind};
use godwit_types::{Cast, SqlType, Value, cast_kind, cast_value, compare_values};

use super::super::fold::depends_on_time_zone;
use super::comparisons::constant_unless_null;

/// Returns the value below a cast that isn't TRY_CAST.
fn input_of(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Cast { input, lenient: false } => Some(input),
        _ => None,
    }
}

/// Returns the table's entry for a lossless cast.
fn lossless(from: &SqlType, to: &SqlType) -> Option<Cast> {
    cast_kind(from, to).filter(|cast| cast.lossless && !depends_on_time_zone(from, to))
}

/// A cast to the value's own type, or to another type and back without loss, is the value itself.
pub(super) fn drop_cast(expr: &Expr) -> Option<Expr> {
    let ExprKind::Cast { input, .. } = &expr.kind else { return None };
    if input.ty == expr.ty {
        return Some((**input).clone());
    }
    let inner = input_of(input)?;
    (inner.ty == expr.ty && lossless(&inner.ty, &input.ty).is_some()).then(|| inner.clone())
}

/// `CAST(a AS t) < CAST(b AS t)` is `a < b` if the cast preserves order; for equality it only has to be lossless.
pub(super) fn drop_both_casts(expr: &Expr) -> Option<Expr> {
    let ExprKind::Compare(comparison, a, b) = &expr.kind else { return None };
    let (left, right) = (input_of(a)?, input_of(b)?);
    if left.ty != right.ty {
        return None;
    }
    let cast = lossless(&left.ty, &a.ty)?;
    let allowed = cast.keeps_order || is_equality(*comparison);
    allowed.then(|| Expr::compare(*comparison, left.clone(), right.clone()))
}

fn is_equality(comparison: Comparison) -> bool {
    use Comparison::{Distinct, Equal, NotDistinct, NotEqual};
    matches!(comparison, Equal | NotEqual | Distinct | NotDistinct)
}

/// `CAST(a AS t) < constant` compares `a` with the constant in the type of `a`.
///
/// If that type has no such value, the nearest one and the comparison are chosen so that nothing lies between.
pub(super) fn narrow_comparison(expr: &Expr) -> Option<Expr> {
    let ExprKind::Compare(comparison, cast, literal) = &expr.kind else { return None };
    let (input, value) = (input_of(cast)?, literal.as_literal()?);
    let kind = lossless(&input.ty, &cast.ty)?;
    if value.is_null() || !(kind.keeps_order || is_equality(*comparison)) {
        return None;
    }
    let Some((near, order)) = nearest(value, &cast.ty, &input.ty) else {
        return beyond(*comparison, input, value);
    };
    let with = |comparison| Expr::compare(comparison, input.clone(), Expr::literal(near.clone(), input.ty.clone()));
    if order.is_eq() {
        return Some(with(*comparison));
    }
    // Casting back gives each narrow value itself. If the cast preserves order as well, no narrow value lies between
    // the constant and its cast value.
    if !is_equality(*comparison) && !cast_kind(&cast.ty, &input.ty)?.keeps_order {
        return None;
    }
    let is_above = order.is_gt();
    Some(match comparison {
        Comparison::Equal => constant_unless_null(input, false),
        Comparison::NotEqual => constant_unless_null(input, true),
        Comparison::NotDistinct => Expr::boolean(false),
        Comparison::Distinct => Expr::boolean(true),
        Comparison::Less | Comparison::LessOrEqual if is_above => with(Comparison::Less),
        Comparison::Less | Comparison::LessOrEqual => with(Comparison::LessOrEqual),
        Comparison::Greater | Comparison::GreaterOrEqual if is_above => with(Comparison::GreaterOrEqual),
        Comparison::Greater | Comparison::GreaterOrEqual => with(Comparison::Greater),
    })
}

/// Returns the narrow type's value that a wide one is cast to, and how it compares with the wide one.
fn nearest(value: &Value, wide: &SqlType, narrow: &SqlType) -> Option<(Value, Ordering)> {
    cast_kind(wide, narrow)?;
    let near = cast_value(value, wide, narrow).ok()?;
    let back = cast_value(&near, narrow, wide).ok()?;
    let order = compare_values(&back, value, wide);
    Some((near, order))
}

/// Simplifies a comparison with an integer beyond the narrow type's range.
fn beyond(comparison: Comparison, input: &Expr, value: &Value) -> Option<Expr> {
    let (least, greatest) = input.ty.integer_range()?;
    let Value::Integer(value) = *value else { return None };
    let order = match () {
        () if value > greatest => Ordering::Less,
        () if value < least => Ordering::Greater,
        () => return None,
    };
    let holds = comparison.holds(order);
    Some(if comparison.is_null_safe() { Expr::boolean(holds) } else { constant_unless_null(input, holds) })
}

/// `CAST(a AS t) IN (…)` is `a IN` those of the constants that the type of `a` has.
pub(super) fn narrow_in_list(expr: &Expr) -> Option<Expr> {
    let ExprKind::InList(cast, list) = &expr.kind else { return None };
    let input = input_of(cast)?;
    lossless(&input.ty, &cast.ty)?;
    let mut narrow = Vec::with_capacity(list.len());
    for item in list {
        let value = item.as_literal()?;
        if value.is_null() {
            narrow.push(Expr::null(input.ty.clone()));
            continue;
        }
        match nearest(value, &cast.ty, &input.ty) {
            Some((near, Ordering::Equal)) => narrow.push(Expr::literal(near, input.ty.clone())),
            Some(_) => {}
            None => {
                beyond(Comparison::Equal, input, value).filter(|_| cast.ty.is_integer())?;
            }
        }
    }
    if narrow.is_empty() {
        return Some(constant_unless_null(input, false));
    }
    Some(Expr { kind: ExprKind::InList(Box::new(input.clone()), narrow), ..expr.clone() })
}
