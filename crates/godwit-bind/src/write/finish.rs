//! The common end of all statements that produce new rows: stored generated columns, checks, RETURNING.

use std::sync::Arc;

use godwit_common::Result;
use godwit_plan::{ColumnId, Comparison, Expr, Node, NodeId, OutputColumn, Project};
use godwit_syntax::ast;

use super::{BoundWrite, Generation, NewRows, Others, WriteKind, WriteTarget};
use crate::Binder;
use crate::binder::{Clause, Collected};
use crate::expr::CastContext;
use crate::query::{Source, visible};
use crate::scope::{Scope, ScopeRelation};

/// The columns of a plan with their names.
type Named = Vec<(Arc<str>, ColumnId)>;

impl Binder {
    /// Makes the plan return the new rows, with stored generated columns, checks and RETURNING.
    pub(super) fn finished(
        &mut self,
        target: &WriteTarget,
        kind: WriteKind,
        alias: Option<&ast::Ident>,
        rows: NewRows,
        returning: &[ast::SelectItem],
    ) -> Result<BoundWrite> {
        let NewRows { node, lead, columns, others } = rows;
        let (mut node, columns) = self.with_stored(target, node, columns)?;
        let mut output: Named = lead.iter().map(|&column| ("row".into(), column)).collect();
        output.extend(target.columns.iter().zip(&columns).map(|(column, &id)| (column.name.as_str().into(), id)));
        let (mut checks, mut returned) = (Vec::new(), Vec::new());
        if !target.checks.is_empty() || !returning.is_empty() {
            let around = Scope::default();
            let source = self.new_rows(target, target.scope_name(alias), node, &columns)?;
            let mut made = self.passed(source.node);
            let own = source.scope(&around);
            for (name, check) in &target.checks {
                let condition = self.of_catalog(&format!("the check {name}"), check, &own)?;
                let condition = self.as_truth(condition, &format!("the check {name}"))?;
                // A check that is unknown for a row is satisfied.
                let kept = Expr::compare(Comparison::Distinct, condition, Expr::boolean(false));
                checks.push((name.as_str().into(), self.put(name, kept, &mut made)));
            }
            let input = source.node;
            let is_replaced = !matches!(kind, WriteKind::Merge | WriteKind::Delete);
            let new = is_replaced.then(|| source.relations[0].clone());
            let source = returning_source(source, others, new);
            returned = self.returned(&source.into_scope(&around), returning, &mut made)?;
            node = self.plan.add(Node::Project(Project { input, columns: made }));
        }
        Ok(self.written(kind, node, output, checks, (!returning.is_empty()).then_some(returned)))
    }

    /// Makes the plan return the ids of deleted rows.
    pub(super) fn finished_deletion(
        &mut self,
        node: NodeId,
        row_id: ColumnId,
        scope: &Scope<'_>,
        returning: &[ast::SelectItem],
    ) -> Result<BoundWrite> {
        let mut made = self.passed(node);
        let returned = self.returned(scope, returning, &mut made)?;
        let node = self.plan.add(Node::Project(Project { input: node, columns: made }));
        let output = vec![("row".into(), row_id)];
        Ok(self.written(WriteKind::Delete, node, output, Vec::new(), (!returning.is_empty()).then_some(returned)))
    }

    fn written(
        &mut self,
        kind: WriteKind,
        root: NodeId,
        mut output: Named,
        checks: Named,
        returned: Option<Named>,
    ) -> BoundWrite {
        let names = |named: &Named| named.iter().map(|(name, _)| name.to_string()).collect();
        let bound = BoundWrite { kind, checks: names(&checks), returning: returned.as_ref().map(names) };
        output.extend(checks);
        output.extend(returned.into_iter().flatten());
        let named = |(name, column): (Arc<str>, ColumnId)| OutputColumn { name: name.to_string(), column };
        self.plan.root = Some(root);
        self.plan.output = output.into_iter().map(named).collect();
        bound
    }

    /// Projects the items of RETURNING.
    fn returned(
        &mut self,
        scope: &Scope<'_>,
        items: &[ast::SelectItem],
        made: &mut Vec<(ColumnId, Expr)>,
    ) -> Result<Named> {
        let mut returned = Vec::new();
        for item in self.items(items, scope)? {
            let mut collected = Collected::default();
            let value = self.item(&item, scope, Clause::Returning, &mut collected, &[])?;
            let value = self.settle(value);
            // In the result, labels become text.
            let shown = value.ty.for_exchange().unwrap_or_else(|| value.ty.clone());
            let value = value.cast_to(&shown);
            returned.push((item.name.clone(), self.put(&item.name, value, made)));
        }
        Ok(returned)
    }

    /// Presents new rows as a table, with the virtual columns that are computed when it is read.
    pub(super) fn new_rows(
        &mut self,
        target: &WriteTarget,
        name: Vec<Arc<str>>,
        node: NodeId,
        columns: &[ColumnId],
    ) -> Result<Source> {
        let own = name.last().cloned().unwrap_or_else(|| target.label.as_str().into());
        let shown = target.columns.iter().zip(columns).map(|(column, &id)| visible(column.name.as_str(), id, &own));
        let mut source = Source::of_relation(node, name, shown.collect());
        source.filled = self.plan.nullable_columns(node);
        match target.relation.computed() {
            [] => Ok(source),
            _ => self.with_computed(source, target.relation.as_ref()),
        }
    }

    /// Gives new rows the collations of the table's columns.
    fn in_collations(
        &mut self,
        target: &WriteTarget,
        node: NodeId,
        mut columns: Vec<ColumnId>,
    ) -> (NodeId, Vec<ColumnId>) {
        let wanted = || target.relation.columns().iter().map(|column| &column.collation);
        if columns.iter().zip(wanted()).all(|(&column, wanted)| self.plan.column(column).collation == *wanted) {
            return (node, columns);
        }
        let filled = Scope { filled: self.plan.nullable_columns(node), ..Scope::default() };
        let mut all = self.passed(node);
        for (column, wanted) in columns.iter_mut().zip(wanted()) {
            if self.plan.column(*column).collation != *wanted {
                let own = self.plan.copy_column(*column);
                self.plan.set_collation(own, wanted.clone());
                all.push((own, self.column(*column, &filled)));
                *column = own;
            }
        }
        (self.plan.add(Node::Project(Project { input: node, columns: all })), columns)
    }

    /// Fills in the generated columns that are stored.
    pub(super) fn with_stored(
        &mut self,
        target: &WriteTarget,
        node: NodeId,
        columns: Vec<ColumnId>,
    ) -> Result<(NodeId, Vec<ColumnId>)> {
        let (node, mut columns) = self.in_collations(target, node, columns);
        let stored = target.columns.iter().enumerate().filter_map(|(at, column)| match &column.generated {
            Some(Generation::Stored(expr)) => Some((at, column, expr)),
            _ => None,
        });
        let stored: Vec<_> = stored.collect();
        if stored.is_empty() {
            return Ok((node, columns));
        }
        let name: Arc<str> = target.label.as_str().into();
        let shown = target.columns.iter().zip(&columns).map(|(column, &id)| visible(column.name.as_str(), id, &name));
        let around = Scope::default();
        let mut scope = Source::of_relation(node, vec![name.clone()], shown.collect()).into_scope(&around);
        scope.filled = self.plan.nullable_columns(node);
        let mut made = self.passed(node);
        for (at, column, expr) in stored {
            let value = self.of_catalog(&format!("the generated column {}", column.name), expr, &scope)?;
            let value = self.coerce(value, &column.ty, CastContext::Explicit)?;
            columns[at] = self.put(&column.name, value, &mut made);
        }
        Ok((self.plan.add(Node::Project(Project { input: node, columns: made })), columns))
    }
}

/// Returns the source of RETURNING: the rows as they are now, other tables, and the old and new rows as `old` and
/// `new`, unless tables of the statement have these names (PostgreSQL).
fn returning_source(mut own: Source, others: Others, new: Option<ScopeRelation>) -> Source {
    let (tables, columns) = if others.come_first { (0, 0) } else { (own.relations.len(), own.visible.len()) };
    own.relations.splice(tables..tables, others.relations);
    own.visible.splice(columns..columns, others.visible);
    own.filled.union_with(&others.filled);
    for (name, rows) in [("old", others.old), ("new", new)] {
        if let Some(rows) = rows
            && !own.relations.iter().any(|table| table.is_meant_by(&[name]))
        {
            own.relations.push(ScopeRelation { name: vec![name.into()], ..rows });
        }
    }
    own
}
