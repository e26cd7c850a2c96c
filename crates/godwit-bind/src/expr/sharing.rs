//! Values that an expression uses more than once: the operand of BETWEEN, of CASE, of row comparisons.
//!
//! A column or a constant is simply repeated. Everything else is computed once, by a [`Let`](ExprKind::Let) around the
//! expression: a volatile value must not differ from itself, and a large one would double with each level.

use godwit_plan::{ColumnId, Expr, ExprKind};

use crate::Binder;

/// Shared values and their columns, for [`Binder::with_shared`].
pub(super) type Shared = Vec<(ColumnId, Expr)>;

/// Maximum number of nodes of an expression that is repeated instead of shared.
const CHEAP_PARTS: usize = 5;

impl Binder {
    /// Returns an expression that may be used several times in the body of [`Self::with_shared`]. Equal values have one
    /// column in the statement, so that equal expressions stay equal.
    pub(super) fn share(&mut self, value: Expr, shared: &mut Shared) -> Expr {
        if is_cheap(&value) {
            return value;
        }
        let (ty, nullable, span) = (value.ty.clone(), value.nullable, value.span);
        let is_volatile = value.is_volatile();
        let known = self.shared_values.get(&value).copied().filter(|_| !is_volatile);
        let column = known.unwrap_or_else(|| self.add_column_of("value", &value));
        if known.is_none() && !is_volatile {
            self.shared_values.insert(value.clone(), column);
        }
        shared.push((column, value));
        Expr::new(ExprKind::Column(column), ty, nullable).at(span)
    }

    /// Wraps the expression in a `Let` for each shared value.
    pub(super) fn with_shared(&self, body: Expr, shared: Shared) -> Expr {
        shared.into_iter().rev().fold(body, |body, (column, value)| {
            let (ty, nullable) = (body.ty.clone(), body.nullable);
            Expr::new(ExprKind::Let { column, value: Box::new(value), body: Box::new(body) }, ty, nullable)
        })
    }
}

/// Whether it is cheap to compute again: columns, constants, and a few operators over them.
fn is_cheap(expr: &Expr) -> bool {
    let mut parts = 0;
    let is_dear = expr.any(|part| {
        parts += 1;
        let simple = matches!(
            part.kind,
            ExprKind::Column(_)
                | ExprKind::Literal(_)
                | ExprKind::Parameter(_)
                | ExprKind::Cast { .. }
                | ExprKind::Negate(_)
                | ExprKind::Arithmetic(..)
        );
        !simple || parts > CHEAP_PARTS
    });
    !is_dear
}
