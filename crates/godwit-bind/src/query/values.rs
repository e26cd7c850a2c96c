//! VALUES.

use std::sync::Arc;

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Expr, Node, Values};
use godwit_syntax::ast;

use crate::binder::{Clause, Collected, ExprContext};
use crate::scope::Scope;
use crate::{Binder, BoundQuery};

impl Binder {
    /// Rows of expressions; columns are named column1, column2, …
    pub(crate) fn values(&mut self, rows: &[Vec<ast::Expr>], span: Span, scope: &Scope<'_>) -> Result<BoundQuery> {
        let width = rows.first().map_or(0, Vec::len);
        let mut bound: Vec<Vec<Expr>> = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != width {
                let message = format!("the first row of VALUES has {width} values, this one {}", row.len());
                let place = row.first().map_or(span, |first| first.span);
                return Err(Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(place));
            }
            let mut values = Vec::with_capacity(width);
            for value in row {
                let mut collected = Collected::default();
                let mut context = ExprContext { scope, clause: Clause::From, collected: &mut collected, windows: &[] };
                values.push(self.expr(value, &mut context)?);
            }
            bound.push(values);
        }
        let mut columns = Vec::new();
        let mut unified: Vec<std::vec::IntoIter<Expr>> = Vec::new();
        for at in 0..width {
            let column: Vec<Expr> =
                bound.iter_mut().map(|row| std::mem::replace(&mut row[at], Expr::boolean(false))).collect();
            let (column, ty) = self.unify(column, &format!("column {} of VALUES", at + 1))?;
            let nullable = column.iter().any(|value| value.nullable);
            let name: Arc<str> = format!("column{}", at + 1).into();
            let id = self.plan.add_column(&*name, ty, nullable);
            columns.push((name, id));
            unified.push(column.into_iter());
        }
        let rows =
            (0..bound.len()).map(|_| unified.iter_mut().map(|column| column.next().expect("one per row")).collect());
        let rows = rows.collect();
        let ids: Vec<_> = columns.iter().map(|&(_, column)| column).collect();
        // An untyped constant in a single row may still take the type that its use requires.
        let node = self.plan.add(Node::Values(Values { columns: ids, rows }));
        Ok(BoundQuery { node, columns })
    }
}
