//! Named values in expressions.

use godwit_plan::{ColumnId, Expr, ExprKind};

/// `LET c := v IN body` is the body with `v` in place of `c`, if `v` costs nothing or is used once; volatile values
/// stay where they are, unless they are unused.
///
/// A single use inside a lambda may be evaluated many times, and the plans of subqueries can't be examined here.
pub(super) fn inline_let(expr: &Expr) -> Option<Expr> {
    let ExprKind::Let { column, value, body } = &expr.kind else { return None };
    let (uses, is_hidden) = uses_of(body, *column);
    if is_hidden {
        return None;
    }
    let is_leaf =
        |expr: &Expr| matches!(expr.kind, ExprKind::Column(_) | ExprKind::Literal(_) | ExprKind::Parameter(_));
    // Once a comparison sees the cast, it may do without it.
    let is_cheap = is_leaf(value) || matches!(&value.kind, ExprKind::Cast { input, .. } if is_leaf(input));
    let allowed = uses == 0 || is_cheap || (uses == 1 && !value.is_volatile() && !value.has_subquery());
    allowed.then(|| (**body).clone().substitute(&|used| (used == *column).then(|| (**value).clone())))
}

/// Returns how often a column is used, and whether it may be used in places that can't be examined or aren't evaluated
/// exactly once.
fn uses_of(body: &Expr, column: ColumnId) -> (usize, bool) {
    let (mut uses, mut is_hidden) = (0, false);
    body.for_each(&mut |part| match &part.kind {
        ExprKind::Column(used) => uses += usize::from(*used == column),
        ExprKind::Subquery(_) => is_hidden = true,
        ExprKind::Lambda(_, body) => is_hidden |= body.columns().contains(column),
        _ => {}
    });
    (uses, is_hidden)
}
