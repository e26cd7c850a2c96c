//! LIKE.

use godwit_plan::{Comparison, Expr, ExprKind, Match};
use godwit_types::{SqlType, Value};

use super::comparisons::constant_unless_null;

/// `a LIKE 'abc'` is `a = 'abc'`; `a LIKE '%'` is TRUE, or NULL if `a` is.
///
/// Patterns with a backslash or an escape character are skipped: only the matcher knows what those mean.
pub(super) fn like_without_wildcards(expr: &Expr) -> Option<Expr> {
    let ExprKind::Match { kind: Match::Like, input, pattern, escape } = &expr.kind else { return None };
    let Value::Text(text) = pattern.as_literal()? else { return None };
    if input.ty != SqlType::Varchar || text.contains('\\') || escape.is_some_and(|escape| text.contains(escape)) {
        return None;
    }
    if !text.is_empty() && text.chars().all(|letter| letter == '%') {
        return Some(constant_unless_null(input, true));
    }
    let is_plain = !text.contains(['%', '_']);
    is_plain.then(|| Expr::compare(Comparison::Equal, (**input).clone(), (**pattern).clone()))
}
