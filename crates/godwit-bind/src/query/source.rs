//! The output of FROM: rows, and the names of their columns.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, ColumnSet, NodeId};
use godwit_syntax::ast;

use crate::scope::{Scope, ScopeRelation, VisibleColumn};

/// Rows, and the names visible over them.
#[derive(Clone)]
pub(crate) struct Source {
    pub node: NodeId,
    pub relations: Vec<ScopeRelation>,
    pub visible: Vec<VisibleColumn>,
    /// Columns that its outer joins fill with NULLs.
    pub filled: ColumnSet,
}

impl Source {
    /// Rows of one table.
    pub fn of_relation(node: NodeId, name: Vec<Arc<str>>, columns: Vec<VisibleColumn>) -> Self {
        let relation = ScopeRelation { name, columns: columns.clone() };
        Self { node, relations: vec![relation], visible: columns, filled: ColumnSet::new() }
    }

    /// Rows without columns.
    pub fn empty(node: NodeId) -> Self {
        Self { node, relations: Vec::new(), visible: Vec::new(), filled: ColumnSet::new() }
    }

    /// Returns the scope of a clause over these rows.
    pub fn into_scope<'s>(self, outer: &'s Scope<'s>) -> Scope<'s> {
        Scope {
            outer: Some(outer),
            relations: self.relations,
            visible: self.visible,
            filled: self.filled,
            ..Scope::default()
        }
    }

    /// Does the same, keeping the source.
    pub fn scope<'s>(&self, outer: &'s Scope<'s>) -> Scope<'s> {
        Scope {
            outer: Some(outer),
            relations: self.relations.clone(),
            visible: self.visible.clone(),
            filled: self.filled.clone(),
            ..Scope::default()
        }
    }

    /// Returns the same rows under an alias, which hides the tables inside.
    pub fn aliased(self, alias: &ast::TableAlias) -> Result<Self> {
        let mut columns: Vec<VisibleColumn> = self.visible;
        let shown = columns.iter_mut().filter(|column| !column.hidden);
        let shown: Vec<&mut VisibleColumn> = shown.collect();
        if alias.columns.len() > shown.len() {
            let (name, given, there) = (&alias.name.text, alias.columns.len(), shown.len());
            let message = format!("{name} has {there} columns, {given} names are given");
            return Err(Error::user(message)
                .with_code(SqlState::INVALID_COLUMN_REFERENCE)
                .at_span(alias.columns[there].name.span));
        }
        for (column, given) in shown.into_iter().zip(&alias.columns) {
            column.name = given.name.text.clone();
        }
        columns.iter_mut().for_each(|column| column.relation = Some(alias.name.text.clone()));
        let relation = ScopeRelation { name: vec![alias.name.text.clone()], columns: columns.clone() };
        Ok(Self { node: self.node, relations: vec![relation], visible: columns, filled: self.filled })
    }

    /// Does the same for a function; unless the alias names columns, the first one takes its name, too (PostgreSQL).
    pub fn aliased_with_column(self, alias: &ast::TableAlias) -> Result<Self> {
        let mut source = self.aliased(alias)?;
        if alias.columns.is_empty() {
            source.visible[0].name = alias.name.text.clone();
            source.relations[0].columns[0].name = alias.name.text.clone();
        }
        Ok(source)
    }

    /// Combines two sources side by side.
    pub fn beside(mut self, right: Source, node: NodeId) -> Self {
        self.node = node;
        self.relations.extend(right.relations);
        self.visible.extend(right.visible);
        self.filled.union_with(&right.filled);
        self
    }
}

/// Makes a visible column of a table.
pub(crate) fn visible(name: impl Into<Arc<str>>, column: ColumnId, relation: &Arc<str>) -> VisibleColumn {
    VisibleColumn { name: name.into(), column, hidden: false, relation: Some(relation.clone()) }
}
