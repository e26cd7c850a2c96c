//! UPDATE, DELETE, TRUNCATE, and assignments.

use godwit_common::{Error, Result, Span, SqlState};
use godwit_plan::{Expr, Join, JoinKind, Node, NodeId, Project};
use godwit_syntax::ast::{self, AssignmentTarget, ExprKind};

use super::{BoundWrite, NewRows, Others, WriteKind, WriteTarget};
use crate::Binder;
use crate::binder::Clause;
use crate::query::Source;
use crate::scope::{Scope, ScopeRelation};

impl Binder {
    /// Binds UPDATE. The plan returns the statement's rows.
    pub fn update(&mut self, update: &ast::Update, target: &WriteTarget) -> Result<BoundWrite> {
        let around = Scope::default();
        if let Some(with) = &update.with {
            self.with(with, &around)?;
        }
        let alias = table_name_only(update.alias.as_ref())?;
        let (own, row_id) = self.target_rows(target, alias)?;
        let old: Vec<_> = own.visible.clone();
        let source = self.beside_tables(own, &update.from, &around)?;
        let others = others_of(&source);
        let mut node = source.node;
        let scope = source.into_scope(&around);
        if let Some(filter) = &update.filter {
            let condition = self.condition_of(filter, &scope, Clause::Where)?;
            node = self.filtered(node, Some(condition));
        }
        let assigned = self.assigned(&update.assignments, target, &mut node, &scope)?;
        let mut made = self.passed(node);
        let mut columns = Vec::new();
        for (column, value) in target.columns.iter().zip(assigned) {
            columns.push(match value {
                Some(value) => self.put(&column.name, value, &mut made),
                None => {
                    let stored = old.iter().find(|known| *known.name == *column.name);
                    stored.expect("the target has its columns").column
                }
            });
        }
        let node = self.plan.add(Node::Project(Project { input: node, columns: made }));
        let rows = NewRows { node, lead: vec![row_id], columns, others };
        self.finished(target, WriteKind::Update, alias, rows, &update.returning)
    }

    /// Binds DELETE. The plan returns the row ids.
    pub fn delete(&mut self, delete: &ast::Delete, target: &WriteTarget) -> Result<BoundWrite> {
        let around = Scope::default();
        if let Some(with) = &delete.with {
            self.with(with, &around)?;
        }
        let alias = table_name_only(delete.alias.as_ref())?;
        let (own, row_id) = self.target_rows(target, alias)?;
        let source = self.beside_tables(own, &delete.using, &around)?;
        let mut node = source.node;
        let old = source.relations[0].clone();
        let mut scope = source.into_scope(&around);
        if let Some(filter) = &delete.filter {
            let condition = self.condition_of(filter, &scope, Clause::Where)?;
            node = self.filtered(node, Some(condition));
        }
        if !scope.relations.iter().any(|table| table.is_meant_by(&["old"])) {
            scope.relations.push(ScopeRelation { name: vec!["old".into()], ..old });
        }
        self.finished_deletion(node, row_id, &scope, &delete.returning)
    }

    /// Binds TRUNCATE: all rows.
    pub fn truncate(&mut self, target: &WriteTarget) -> Result<BoundWrite> {
        let (source, row_id) = self.target_rows(target, None)?;
        self.finished_deletion(source.node, row_id, &Scope::default(), &[])
    }

    /// Joins the target's rows with the tables of FROM or USING.
    fn beside_tables(&mut self, own: Source, tables: &[ast::TableWithJoins], around: &Scope<'_>) -> Result<Source> {
        let mut all = own;
        for item in tables {
            let right = self.joined_tables(item, Some(&all), around)?;
            self.check_names(&all, &right, item.relation.span)?;
            let (left, kind, conditions) = (all.node, JoinKind::Inner, Vec::new());
            let node = self.plan.add(Node::Join(Join { kind, left, right: right.node, conditions }));
            all = all.beside(right, node);
        }
        Ok(all)
    }

    /// Returns, for each column of the target, its assigned value. `(a, b) = (SELECT …)` joins the query to the rows.
    pub(super) fn assigned(
        &mut self,
        assignments: &[ast::Assignment],
        target: &WriteTarget,
        node: &mut NodeId,
        scope: &Scope<'_>,
    ) -> Result<Vec<Option<Expr>>> {
        let mut values: Vec<Option<Expr>> = vec![None; target.columns.len()];
        let mut set = |at: usize, value: Expr, span: Span| match values[at].replace(value) {
            None => Ok(()),
            Some(_) => {
                let error = Error::user(format!("column {} is assigned twice", target.columns[at].name));
                Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(span))
            }
        };
        for assignment in assignments {
            let value = &assignment.value;
            let names = match &assignment.target {
                AssignmentTarget::Column(name) => std::slice::from_ref(name),
                AssignmentTarget::Row(names) => names,
            };
            let is_row = matches!(assignment.target, AssignmentTarget::Row(_));
            let parts = match &value.kind {
                ExprKind::Row { items, .. } if is_row => &items[..],
                ExprKind::Subquery(query) if is_row => {
                    let row = self.joined_row(query, names.len(), node, scope)?;
                    for (name, value) in names.iter().zip(row) {
                        let at = assigned_position(target, name, false)?;
                        let value = self.assign(target, at, value.at(query.span))?;
                        set(at, value, name.span)?;
                    }
                    continue;
                }
                _ => std::slice::from_ref(value),
            };
            if parts.len() != names.len() {
                let message = format!("{} columns are set to {} values", names.len(), parts.len());
                return Err(Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(value.span));
            }
            for (name, value) in names.iter().zip(parts) {
                let at = assigned_position(target, name, value.kind == ExprKind::Default)?;
                let value = self.value_for(target, at, value, scope, Clause::Set)?;
                set(at, value, name.span)?;
            }
        }
        Ok(values)
    }

    /// Joins the only row of a query, or NULLs if there is none, to each row of a node.
    fn joined_row(
        &mut self,
        query: &ast::Query,
        width: usize,
        node: &mut NodeId,
        scope: &Scope<'_>,
    ) -> Result<Vec<Expr>> {
        let bound = self.subquery(query, scope)?;
        if bound.columns.len() != width {
            let message = format!("{width} columns are set to a query with {}", bound.columns.len());
            return Err(Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(query.span));
        }
        let (left, right, conditions) = (*node, bound.node, Vec::new());
        *node = self.plan.add(Node::Join(Join { kind: JoinKind::Single, left, right, conditions }));
        let filled = Scope { filled: self.plan.output_set(right), ..Scope::default() };
        Ok(bound.columns.iter().map(|&(_, column)| self.column(column, &filled)).collect())
    }
}

/// Returns the position of the column of an assignment. A generated one takes DEFAULT only.
fn assigned_position(target: &WriteTarget, name: &ast::ObjectName, is_default: bool) -> Result<usize> {
    let Some(column) = name.single() else {
        let first = &name.parts[0];
        let error = match target.position(first) {
            Ok(_) => Error::unsupported(format!("setting a field of {}", first.text)),
            Err(_) => Error::user("SET names columns of the table that is changed, without the table's name"),
        };
        return Err(error.at_span(name.span));
    };
    if is_default { target.position(column) } else { target.given_position(column) }
}

/// Returns the name of an alias, which can't rename columns as well: assignments use their original names.
pub(super) fn table_name_only(alias: Option<&ast::TableAlias>) -> Result<Option<&ast::Ident>> {
    match alias {
        Some(alias) if !alias.columns.is_empty() => {
            let error = Error::user("the alias of a table that is changed can't name its columns");
            Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(alias.columns[0].name.span))
        }
        alias => Ok(alias.map(|alias| &alias.name)),
    }
}

/// Returns the tables other than the first.
fn others_of(source: &Source) -> Others {
    let own = &source.relations[0];
    let is_own = |column: &crate::scope::VisibleColumn| own.columns.iter().any(|known| known.column == column.column);
    let visible = source.visible.iter().filter(|column| !is_own(column)).cloned().collect();
    Others {
        relations: source.relations[1..].to_vec(),
        visible,
        filled: source.filled.clone(),
        come_first: false,
        old: Some(own.clone()),
    }
}
