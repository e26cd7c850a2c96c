//! Arithmetic identities. Only those that are exact for all values: sums aren't reordered.

use godwit_plan::{Arithmetic, Expr, ExprKind};
use godwit_types::Value;

/// `a + 0`, `a - 0`, `a * 1` and `a / 1` are `a`, for integers.
pub(super) fn neutral_operand(expr: &Expr) -> Option<Expr> {
    let ExprKind::Arithmetic(op, a, b) = &expr.kind else { return None };
    let is = |operand: &Expr, value: i128| operand.as_literal() == Some(&Value::Integer(value));
    let kept = match op {
        Arithmetic::Add if is(a, 0) => b,
        Arithmetic::Add | Arithmetic::Subtract if is(b, 0) => a,
        Arithmetic::Multiply if is(a, 1) => b,
        Arithmetic::Multiply | Arithmetic::Divide if is(b, 1) => a,
        _ => return None,
    };
    (expr.ty.is_integer() && kept.ty == expr.ty).then(|| (**kept).clone())
}

/// `- - a` is `a`, for floats and decimals: the least integer has no positive counterpart.
pub(super) fn negate_twice(expr: &Expr) -> Option<Expr> {
    let ExprKind::Negate(outer) = &expr.kind else { return None };
    let ExprKind::Negate(inner) = &outer.kind else { return None };
    (inner.ty.is_float() || inner.ty.is_decimal()).then(|| (**inner).clone())
}
