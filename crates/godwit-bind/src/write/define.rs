//! Expressions of definitions: defaults, checks, generated columns, and tables that are rebuilt from their own rows.

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::{ColumnId, Expr, Node, OutputColumn, Project, Relation};
use godwit_syntax::ast;
use godwit_types::SqlType;

use crate::Binder;
use crate::expr::CastContext;
use crate::query::visible;
use crate::scope::{Scope, ScopeRelation};

/// A column visible to an expression of a definition.
#[derive(Debug, Clone)]
pub struct ColumnOf {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// Whether it may be NULL.
    pub nullable: bool,
    /// The collation in which its texts are compared; `None`: by their bytes.
    pub collation: Option<Arc<str>>,
}

/// A column of a table that is rebuilt.
#[derive(Debug, Clone)]
pub struct RebuiltColumn {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: SqlType,
    /// Its value over the rows of the old table.
    pub value: ast::Expr,
    /// True if the expression comes from the catalog: positions in its text aren't those of the statement.
    pub of_catalog: bool,
}

impl Binder {
    /// Binds an expression over the columns of a table, to determine its type.
    pub fn value_over(&mut self, table: &str, columns: &[ColumnOf], expr: &ast::Expr) -> Result<Expr> {
        let name: Arc<str> = table.into();
        let mut shown = Vec::new();
        for column in columns {
            let id = self.plan.add_column(column.name.as_str(), column.ty.clone(), column.nullable);
            self.plan.set_collation(id, column.collation.clone());
            shown.push(visible(column.name.as_str(), id, &name));
        }
        let relations = vec![ScopeRelation { name: vec![name], columns: shown.clone() }];
        let scope = Scope { relations, visible: shown, ..Scope::default() };
        self.stored_value(expr, &scope)
    }

    /// Binds the condition of a CHECK over the columns of a table.
    pub fn check_over(&mut self, table: &str, columns: &[ColumnOf], name: &str, expr: &ast::Expr) -> Result<Expr> {
        let value = self.value_over(table, columns, expr)?;
        self.as_truth(value, &format!("the condition of {name}"))
    }

    /// Casts the value to the type of the column that it is assigned to.
    pub fn assigned_to(&mut self, ty: &SqlType, value: Expr) -> Result<Expr> {
        self.coerce(value, ty, CastContext::Assignment)
    }

    /// Gives the value a type: VARCHAR for quoted text, INTEGER for NULL.
    pub fn with_type(&mut self, value: Expr) -> Expr {
        self.settle(value)
    }

    /// Binds the rows of a table with other columns computed from them; the plan returns them.
    pub fn rebuild(&mut self, relation: &Arc<dyn Relation>, table: &str, columns: &[RebuiltColumn]) -> Result<()> {
        let source = self.scan(relation, vec![table.into()])?;
        let input = source.node;
        let around = Scope::default();
        let scope = source.into_scope(&around);
        let mut made: Vec<(ColumnId, Expr)> = Vec::new();
        let mut output = Vec::new();
        for RebuiltColumn { name, ty, value, of_catalog } in columns {
            let value = match of_catalog {
                true => self.of_catalog(&format!("column {name}"), value, &scope)?,
                false => self.value_alone(value, &scope)?,
            };
            let value = self.coerce(value, ty, CastContext::Explicit)?;
            output.push(OutputColumn { name: name.clone(), column: self.put(name, value, &mut made) });
        }
        self.plan.root = Some(self.plan.add(Node::Project(Project { input, columns: made })));
        self.plan.output = output;
        Ok(())
    }
}
