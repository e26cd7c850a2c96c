//! Values that an expression uses more than once: the operand of BETWEEN, of CASE, of comparisons of rows.
//!
//! A column or a constant is written down again. Everything else is computed once, by a [`Let`](ExprKind::Let) around
//! the expression: a volatile value must not differ from itself, and a large one would double with each level.

use godwit_plan::{ColumnId, Expr, ExprKind};

use crate::Binder;

/// Values that got columns, for [`Binder::with_shared`].
pub(super) type Shared = Vec<(ColumnId, Expr)>;

/// Parts that an expression may have to be written down again.
const CHEAP_PARTS: usize = 5;

impl Binder {
    /// An expression that may be used several times inside of what [`Self::with_shared`] is called with. Equal values
    /// have one column in the statement, so that equal expressions stay equal.
    pub(super) fn share(&mut self, value: Expr, shared: &mut Shared) -> Expr {
        if is_cheap(&value) {
            return value;
        }
        let (ty, nullable, span) = (value.ty.clone(), value.nullable, value.span);
        let is_volatile = value.is_volatile();
        let known = self.shared_values.get(&value).copied().filter(|_| !is_volatile);
        let column = known.unwrap_or_else(|| self.plan.add_column("value", ty.clone(), nullable));
        if known.is_none() && !is_volatile {
            self.shared_values.insert(value.clone(), column);
        }
        shared.push((column, value));
        Expr::new(ExprKind::Column(column), ty, nullable).at(span)
    }

    /// The expression with what it shares around it.
    pub(super) fn with_shared(&self, body: Expr, shared: Shared) -> Expr {
        shared.into_iter().rev().fold(body, |body, (column, value)| {
            let (ty, nullable) = (body.ty.clone(), body.nullable);
            Expr::new(ExprKind::Let { column, value: Box::new(value), body: Box::new(body) }, ty, nullable)
        })
    }
}

/// May it as well be computed again? True for columns, constants, and a few operators over them.
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
