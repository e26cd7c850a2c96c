//! Queries: from the syntax tree of a SELECT to nodes.
//!
//! ```text
//! body.rs           WITH, set operations, ORDER BY and LIMIT around a SELECT
//! select.rs         the clauses of a SELECT in the order of their evaluation
//! from.rs, join.rs  tables, views, files; joins and their merged columns
//! table_function.rs, record_function.rs
//!                   functions in FROM; those of JSON whose columns the statement defines
//! group.rs          GROUP BY, grouping sets, what is allowed above an aggregation
//! items.rs          *, names of results
//! columns.rs        COLUMNS
//! order.rs          ORDER BY, LIMIT, samples
//! pivot.rs          PIVOT and UNPIVOT
//! describe.rs       DESCRIBE, SUMMARIZE, SHOW
//! ```

mod body;
mod columns;
mod common_table;
mod describe;
mod from;
mod group;
mod grouping_sets;
mod items;
mod join;
mod order;
mod pivot;
mod record_function;
mod select;
mod set_operation;
mod source;
mod table_function;
mod values;

pub(crate) use common_table::CommonTable;
pub(crate) use items::name_of;
pub(crate) use source::{Source, visible};

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::{ColumnId, Expr, ExprKind, Node, NodeId, OutputColumn, Project, Values};
use godwit_syntax::ast;
use godwit_types::SqlType;

use crate::scope::Scope;
use crate::{Binder, BoundQuery};

impl Binder {
    /// Binds a statement's query; the plan returns its rows.
    pub fn query(&mut self, query: &ast::Query) -> Result<()> {
        let bound = self.subquery(query, &Scope::default())?;
        self.plan.root = Some(bound.node);
        let output = |(name, column): (Arc<str>, ColumnId)| OutputColumn { name: name.to_string(), column };
        self.plan.output = bound.columns.into_iter().map(output).collect();
        Ok(())
    }

    /// Casts the plan's result columns to the types that `shown` returns for their types.
    pub fn show_as(&mut self, shown: impl Fn(&SqlType) -> Option<SqlType>) -> Result<()> {
        let Some(node) = self.plan.root else { return Ok(()) };
        let shown = |output: &OutputColumn| {
            let ty = &self.plan.column(output.column).ty;
            shown(ty).unwrap_or_else(|| ty.clone())
        };
        let types: Vec<SqlType> = self.plan.output.iter().map(shown).collect();
        let columns = self.plan.output.iter().map(|output| (output.name.as_str().into(), output.column)).collect();
        let bound = self.typed(BoundQuery { node, columns }, &types)?;
        self.plan.root = Some(bound.node);
        for (output, (_, column)) in self.plan.output.iter_mut().zip(bound.columns) {
            output.column = column;
        }
        Ok(())
    }

    /// Binds a query inside of `scope`, whose columns it may use. All its columns have types.
    pub(crate) fn subquery(&mut self, query: &ast::Query, scope: &Scope<'_>) -> Result<BoundQuery> {
        let bound = self.untyped_query(query, scope)?;
        let types: Vec<SqlType> = bound.columns.iter().map(|&(_, column)| self.type_of_untyped(column)).collect();
        self.typed(bound, &types)
    }

    /// Casts the columns of a query to other types; the caller knows the casts to be possible.
    pub(crate) fn typed(&mut self, bound: BoundQuery, types: &[SqlType]) -> Result<BoundQuery> {
        if bound.columns.iter().zip(types).all(|(&(_, column), ty)| self.plan.column(column).ty == *ty) {
            return Ok(bound);
        }
        let mut made = self.passed(bound.node);
        let nullable = self.plan.nullable_columns(bound.node);
        let mut columns = Vec::new();
        for ((name, column), ty) in bound.columns.into_iter().zip(types) {
            if self.plan.column(column).ty == *ty {
                columns.push((name, column));
                continue;
            }
            let value = match self.untyped.get(&column) {
                Some(constant) => constant.clone(),
                None => {
                    let info = self.plan.column(column);
                    Expr::new(ExprKind::Column(column), info.ty.clone(), nullable.contains(column))
                }
            };
            let value = self.coerce(value, ty, crate::expr::CastContext::Explicit)?;
            let fresh = self.add_column_of(&name, &value);
            made.push((fresh, value));
            columns.push((name, fresh));
        }
        let node = self.plan.add(Node::Project(Project { input: bound.node, columns: made }));
        Ok(BoundQuery { node, columns })
    }

    /// Returns the columns of a node as a projection passes them on.
    pub(crate) fn passed(&self, node: NodeId) -> Vec<(ColumnId, Expr)> {
        let nullable = self.plan.nullable_columns(node);
        let pass = |column: ColumnId| {
            let ty = self.plan.column(column).ty.clone();
            (column, Expr::new(ExprKind::Column(column), ty, nullable.contains(column)))
        };
        self.plan.outputs(node).into_iter().map(pass).collect()
    }

    /// One row without columns: the input of a SELECT without FROM.
    pub(crate) fn single_row(&mut self) -> NodeId {
        self.plan.add(Node::Values(Values { columns: Vec::new(), rows: vec![Vec::new()] }))
    }

    /// Puts a filter above a node; returns the node itself if there is no condition.
    pub(crate) fn filtered(&mut self, input: NodeId, condition: Option<Expr>) -> NodeId {
        let conditions = condition.map_or_else(Vec::new, Expr::into_conjuncts);
        if conditions.is_empty() { input } else { self.plan.add(Node::Filter { input, conditions }) }
    }
}
