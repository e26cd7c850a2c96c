//! NULL propagation, and values that are never NULL.

use godwit_plan::{Comparison, Expr, ExprKind};
use godwit_types::cast_kind;

fn is_null(expr: &Expr) -> bool {
    expr.as_literal().is_some_and(godwit_types::Value::is_null)
}

/// `a + NULL` is NULL; so is any strict call with a NULL argument.
pub(super) fn strict_of_null(expr: &Expr) -> Option<Expr> {
    let has_null = match &expr.kind {
        ExprKind::Arithmetic(_, a, b) => is_null(a) || is_null(b),
        ExprKind::Match { input, pattern, .. } => is_null(input) || is_null(pattern),
        ExprKind::Call(function, args) => function.strict && args.iter().any(is_null),
        ExprKind::InList(value, _) => is_null(value),
        ExprKind::Cast { input, .. } | ExprKind::Negate(input) | ExprKind::Not(input) => is_null(input),
        _ => false,
    };
    (has_null && !expr.is_volatile()).then(|| Expr::null(expr.ty.clone()))
}

/// `a IS NULL` is FALSE if `a` can't be NULL.
pub(super) fn is_null_of_value(expr: &Expr) -> Option<Expr> {
    match &expr.kind {
        ExprKind::IsNull(input) if !input.nullable && !input.is_volatile() => Some(Expr::boolean(false)),
        _ => None,
    }
}

/// `(a = 1) IS NULL` is `a IS NULL`; the same holds for other operations on one value that can't fail.
pub(super) fn is_null_of_operation(expr: &Expr) -> Option<Expr> {
    let ExprKind::IsNull(input) = &expr.kind else { return None };
    let value = match &input.kind {
        ExprKind::Not(value) => value,
        ExprKind::Compare(comparison, a, b) if !comparison.is_null_safe() && !b.nullable && !b.is_volatile() => a,
        ExprKind::Compare(Comparison::Equal, a, b) if !a.nullable && !a.is_volatile() => b,
        ExprKind::Cast { input: value, lenient: false }
            if !value.ty.is_nested() && cast_kind(&value.ty, &input.ty).is_some_and(|cast| cast.lossless) =>
        {
            value
        }
        _ => return None,
    };
    Some((**value).clone().is_null())
}

/// Removes NULLs and duplicates from COALESCE, and everything after a value that can't be NULL.
pub(super) fn shorten_coalesce(expr: &Expr) -> Option<Expr> {
    let ExprKind::Coalesce(all) = &expr.kind else { return None };
    let mut kept: Vec<&Expr> = Vec::new();
    let mut open: Vec<&Expr> = all.iter().rev().collect();
    while let Some(value) = open.pop() {
        match &value.kind {
            ExprKind::Coalesce(inner) => open.extend(inner.iter().rev()),
            _ if is_null(value) || (kept.contains(&value) && !value.is_volatile()) => {}
            _ => kept.push(value),
        }
        if kept.last().is_some_and(|last| !last.nullable) || kept.len() > VALUES_MAX {
            break;
        }
    }
    let shorter = kept.len() <= VALUES_MAX && kept.iter().copied().ne(all);
    shorter.then(|| match kept.as_slice() {
        [] => Expr::null(expr.ty.clone()),
        [one] => (*one).clone(),
        several => {
            let nullable = several.iter().all(|value| value.nullable);
            let several = several.iter().map(|&value| value.clone()).collect();
            Expr::new(ExprKind::Coalesce(several), expr.ty.clone(), nullable)
        }
    })
}

/// Maximum number of values that are compared with each other.
const VALUES_MAX: usize = 100;
