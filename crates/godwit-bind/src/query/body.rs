//! Queries: WITH, the body, ORDER BY and LIMIT around it.

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::{ColumnId, Node, SortKey};
use godwit_syntax::ast::{self, SetExprKind};

use super::source::{Source, visible};
use crate::binder::{Clause, Collected, ExprContext};
use crate::expr::Collation;
use crate::scope::Scope;
use crate::{Binder, BoundQuery};

impl Binder {
    /// Like [`subquery`](Self::subquery), but keeps columns whose type depends on their use.
    pub(crate) fn untyped_query(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<BoundQuery> {
        self.nested(query.span, |binder| {
            let keep = binder.common_tables_in_sight();
            let bound = binder.query_with(query, scope);
            binder.forget_common_tables(keep);
            bound
        })
    }

    fn query_with(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<BoundQuery> {
        if let Some(with) = &query.with {
            self.with(with, scope)?;
        }
        // The order of a SELECT may use columns that its list doesn't have.
        if let SetExprKind::Select(select) = &query.body.kind {
            let bound = self.select(select, query.order_by.as_ref(), scope)?;
            return self.limited(bound, query, scope);
        }
        let bound = self.set_operand(&query.body, scope)?;
        let bound = match &query.order_by {
            Some(order) => self.ordered_by_names(bound, order, scope)?,
            None => bound,
        };
        self.limited(bound, query, scope)
    }

    /// ORDER BY of a set operation: by the columns of the result.
    fn ordered_by_names(&mut self, bound: BoundQuery, order: &ast::OrderBy, outer: &Scope<'_>) -> Result<BoundQuery> {
        let types: Vec<_> = bound.columns.iter().map(|&(_, column)| self.type_of_untyped(column)).collect();
        let bound = self.typed(bound, &types)?;
        let keys = match order {
            ast::OrderBy::All { direction, nulls, .. } => {
                let columns: Vec<ColumnId> = bound.columns.iter().map(|&(_, column)| column).collect();
                let mut key = |column| {
                    let value = self.column(column, outer);
                    let value = self.key_of(value, None)?;
                    Ok(self.ordered(value, *direction, *nulls))
                };
                columns.into_iter().map(&mut key).collect::<Result<_>>()?
            }
            ast::OrderBy::Exprs(exprs) => {
                let mut keys: Vec<SortKey> = Vec::new();
                for expr in exprs {
                    let (by, collation) = Collation::split(&expr.expr)?;
                    let value = match super::order::position_of(by, &bound.columns)? {
                        Some(column) => self.column(column, outer),
                        None => self.key_over_result(by, &bound, outer)?,
                    };
                    let value = self.key_of(value, collation)?;
                    keys.push(self.ordered(value, expr.direction, expr.nulls));
                }
                keys
            }
        };
        let node = self.plan.add(Node::Sort { input: bound.node, keys });
        Ok(BoundQuery { node, columns: bound.columns })
    }

    /// Binds an expression over the columns of a result. `t.a` means its column `a`: tables are no longer visible.
    fn key_over_result(
        &mut self,
        expr: &ast::Expr,
        bound: &BoundQuery,
        outer: &Scope<'_>,
    ) -> Result<godwit_plan::Expr> {
        let own: Arc<str> = "result".into();
        let columns = bound.columns.iter().map(|(name, column)| visible(name.clone(), *column, &own)).collect();
        let source = Source::of_relation(bound.node, vec![own], columns);
        let mut scope = source.into_scope(outer);
        scope.filled = self.plan.nullable_columns(bound.node);
        let unqualified = match &expr.kind {
            ast::ExprKind::Column(path) if path.len() > 1 => {
                let last = path.last().expect("paths have parts").clone();
                Some(ast::Expr { kind: ast::ExprKind::Column(vec![last]), span: expr.span })
            }
            _ => None,
        };
        let mut collected = Collected::default();
        let clause = Clause::Where;
        let mut context = ExprContext { scope: &scope, clause, collected: &mut collected, windows: &[] };
        self.settled(unqualified.as_ref().unwrap_or(expr), &mut context)
    }
}
