//! Let: a value that is computed once and used in several places.
//!
//! A free value, a column or a constant, is substituted where it is used. Others are evaluated for all rows that the
//! Let sees, and the body reads the result as a local column, whose rows are taken like those of any other.

use std::sync::atomic::{AtomicU32, Ordering};

use godwit_common::Result;
use godwit_plan::{ColumnId, Expr};

use super::Compiler;
use crate::Expression;
use crate::expression::{LocalId, Operation};

/// The meaning of the columns of Lets, the innermost last.
#[derive(Default)]
pub(super) struct Locals(Vec<(ColumnId, Expression)>);

impl Locals {
    pub(super) fn get(&self, column: ColumnId) -> Option<Expression> {
        self.0.iter().rev().find(|(bound, _)| *bound == column).map(|(_, expression)| expression.clone())
    }
}

impl Compiler<'_> {
    pub(super) fn bind(&mut self, column: ColumnId, value: &Expr, body: &Expr) -> Result<Expression> {
        let value = self.compile(value)?;
        self.with_value(value, |compiler, local| {
            compiler.locals.0.push((column, local));
            let body = compiler.compile(body);
            compiler.locals.0.pop();
            body
        })
    }

    /// Compiles `body` with an expression that stands for `value` and may be used any number of times.
    pub(super) fn with_value(
        &mut self,
        value: Expression,
        body: impl FnOnce(&mut Self, Expression) -> Result<Expression>,
    ) -> Result<Expression> {
        let is_free = value.column_index().is_some()
            || matches!(value.operation(), Operation::Literal(_) | Operation::Parameter(_) | Operation::Local(_));
        if is_free {
            return body(self, value);
        }
        let id = next_local();
        let local = Expression::new(Operation::Local(id), Vec::new(), value.output().clone());
        let body = body(self, local)?;
        let output = body.output().clone();
        Ok(Expression::new(Operation::Let(id), vec![value, body], output))
    }
}

/// Returns a number that is unique in the process, as far as it matters: compiled expressions are combined later.
fn next_local() -> LocalId {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
