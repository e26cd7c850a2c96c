//! INSERT … ON CONFLICT, INSERT OR REPLACE, INSERT OR IGNORE.
//!
//! *Nothing* on a conflict: new rows that match no row by any of the keys; of those, the first with each key. *Update*:
//! new rows with their matches by the one key; a new row without a match is inserted. Unqualified names are those of
//! the table; the new row is `excluded`.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Project};
use godwit_syntax::ast::{self, ConflictAction, ConflictTarget, Ident, InsertPolicy};

use super::{BoundWrite, NewRows, Others, TargetKey, WriteKind, WriteTarget};
use crate::Binder;
use crate::binder::Clause;
use crate::query::Source;
use crate::scope::Scope;

/// The name of the new rows in ON CONFLICT.
const EXCLUDED: &str = "excluded";

/// The action for rows whose key exists.
pub(super) struct Conflict<'a> {
    keys: Vec<&'a TargetKey>,
    action: Action<'a>,
}

enum Action<'a> {
    /// Skip them.
    Nothing,
    /// `DO UPDATE SET …`.
    Update { assignments: &'a [ast::Assignment], filter: Option<&'a ast::Expr> },
    /// Give these columns the new values.
    Replace(Vec<usize>),
}

impl Binder {
    /// Binds the ON CONFLICT clause of an INSERT. `given` are the columns that it names.
    pub(super) fn conflict_of<'a>(
        &self,
        insert: &'a ast::Insert,
        target: &'a WriteTarget,
        given: &[usize],
    ) -> Result<Option<Conflict<'a>>> {
        let (on, action) = match (insert.policy, &insert.on_conflict) {
            (None, None) => return Ok(None),
            (Some(_), Some(on)) => {
                let error = Error::user("INSERT OR … and ON CONFLICT both say what becomes of keys that are there");
                return Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(on.span));
            }
            (Some(InsertPolicy::Ignore), None) => (None, Action::Nothing),
            (Some(InsertPolicy::Replace), None) => (None, Action::Replace(given.to_vec())),
            (None, Some(on)) => {
                let action = match &on.action {
                    ConflictAction::Nothing => Action::Nothing,
                    ConflictAction::Update { assignments, filter } => {
                        Action::Update { assignments, filter: filter.as_ref() }
                    }
                };
                (Some(on), action)
            }
        };
        let keys = conflict_keys(target, on, matches!(action, Action::Nothing));
        let keys = keys.map_err(|error| error.at_span(on.map_or(insert.table.span, |on| on.span)))?;
        Ok(Some(Conflict { keys, action }))
    }

    /// Binds `INSERT … ON CONFLICT` for new rows.
    pub(super) fn upsert(
        &mut self,
        conflict: &Conflict<'_>,
        rows: NewRows,
        alias: Option<&Ident>,
        returning: &[ast::SelectItem],
        target: &WriteTarget,
    ) -> Result<BoundWrite> {
        let (node, columns) = self.with_stored(target, rows.node, rows.columns)?;
        let new = self.new_rows(target, vec![EXCLUDED.into()], node, &columns)?;
        match conflict.action {
            Action::Nothing => {
                let mut node = new.node;
                for key in &conflict.keys {
                    node = self.without_partner(target, node, &columns, key)?;
                }
                for key in &conflict.keys {
                    node = self.first_of_key(node, &columns, key)?;
                }
                let rows = NewRows { node, lead: Vec::new(), columns, others: Others::default() };
                self.finished(target, WriteKind::Insert, alias, rows, returning)
            }
            _ => {
                let rows = self.updated_or_new(conflict, target, alias, &new, &columns)?;
                self.finished(target, WriteKind::Upsert, alias, rows, returning)
            }
        }
    }

    /// Returns the new rows whose key no existing row has.
    fn without_partner(
        &mut self,
        target: &WriteTarget,
        left: NodeId,
        columns: &[ColumnId],
        key: &TargetKey,
    ) -> Result<NodeId> {
        let (known, _) = self.target_rows(target, None)?;
        let conditions = self.same_key(target, columns, &known, key);
        Ok(self.plan.add(Node::Join(Join { kind: JoinKind::Anti, left, right: known.node, conditions })))
    }

    /// Returns the first of the new rows with each key, and those with a NULL in it, which are never equal.
    fn first_of_key(&mut self, node: NodeId, columns: &[ColumnId], key: &TargetKey) -> Result<NodeId> {
        let filled = Scope { filled: self.plan.nullable_columns(node), ..Scope::default() };
        let parts: Vec<Expr> = key.columns.iter().map(|&at| self.column(columns[at], &filled)).collect();
        let span = godwit_common::Span::NONE;
        let (numbered, number) = self.row_numbers(node, parts.clone(), Vec::new(), span)?;
        let number = self.column(number, &Scope::default());
        let one = Expr::bigint(1).cast_to(&number.ty);
        let first = Expr::compare(Comparison::Equal, number, one);
        let nulls = parts.into_iter().filter(|part| part.nullable).map(Expr::is_null);
        Ok(self.filtered(numbered, Some(Expr::or(nulls.chain([first])))))
    }

    /// Joins new rows with their matches: returns the updated match, or the new row.
    fn updated_or_new(
        &mut self,
        conflict: &Conflict<'_>,
        target: &WriteTarget,
        alias: Option<&Ident>,
        new: &Source,
        columns: &[ColumnId],
    ) -> Result<NewRows> {
        let (known, row_id) = self.target_rows(target, alias)?;
        let conditions = self.same_key(target, columns, &known, conflict.keys[0]);
        let (left, right) = (new.node, known.node);
        let mut node = self.plan.add(Node::Join(Join { kind: JoinKind::Left, left, right, conditions }));
        let mut filled = self.plan.output_set(right);
        filled.union_with(&self.plan.nullable_columns(left));
        let around = Scope::default();
        let scope = Scope {
            relations: known.relations.iter().chain(&new.relations).cloned().collect(),
            visible: known.visible.clone(),
            filled,
            ..Scope { outer: Some(&around), ..Scope::default() }
        };
        let is_new = self.column(row_id, &scope).is_null();
        let updated = match &conflict.action {
            Action::Update { assignments, filter } => {
                if let Some(filter) = filter {
                    let condition = self.condition_of(filter, &scope, Clause::Where)?;
                    node = self.filtered(node, Some(Expr::or([is_new.clone(), condition])));
                }
                self.assigned(assignments, target, &mut node, &scope)?
            }
            Action::Replace(given) => {
                let replaced = |at: usize| given.contains(&at).then(|| self.column(columns[at], &scope));
                (0..target.columns.len()).map(replaced).collect()
            }
            Action::Nothing => unreachable!("rows that conflict are left out"),
        };
        let old: Vec<ColumnId> = stored_columns(target, &known);
        let mut made = self.passed(node);
        let mut values = Vec::new();
        for (at, updated) in updated.into_iter().enumerate() {
            let updated = updated.unwrap_or_else(|| self.column(old[at], &scope));
            let new = self.column(columns[at], &scope);
            let nullable = updated.nullable || new.nullable;
            let branches = vec![(is_new.clone(), new)];
            let kind = ExprKind::Case { branches, otherwise: Some(Box::new(updated)) };
            let column = &target.columns[at];
            values.push(self.put(&column.name, Expr::new(kind, column.ty.clone(), nullable), &mut made));
        }
        let others = Others { filled: scope.filled, old: Some(known.relations[0].clone()), ..Others::default() };
        let node = self.plan.add(Node::Project(Project { input: node, columns: made }));
        Ok(NewRows { node, lead: vec![row_id], columns: values, others })
    }

    /// Returns the conditions for a new and an existing row having the same key.
    fn same_key(&self, target: &WriteTarget, new: &[ColumnId], known: &Source, key: &TargetKey) -> Vec<Expr> {
        let old = stored_columns(target, known);
        let scope = Scope::default();
        let equal = |&at: &usize| {
            let (new, old) = (self.column(new[at], &scope), self.column(old[at], &scope));
            Expr::compare(Comparison::Equal, new, old)
        };
        key.columns.iter().map(equal).collect()
    }
}

/// Returns, for each column of the table, the column of its rows.
pub(super) fn stored_columns(target: &WriteTarget, rows: &Source) -> Vec<ColumnId> {
    let of = |name: &str| rows.visible.iter().find(|column| *column.name == *name).map(|column| column.column);
    let columns = target.columns.iter().map(|column| of(&column.name).expect("the target has its columns"));
    columns.collect()
}

/// Returns the keys that may conflict.
fn conflict_keys<'a>(
    target: &'a WriteTarget,
    on: Option<&ast::OnConflict>,
    does_nothing: bool,
) -> Result<Vec<&'a TargetKey>> {
    let keys = &target.keys;
    let missing = |what: String| {
        let error = Error::user(what).with_code(SqlState::INVALID_COLUMN_REFERENCE);
        error.with_hint("ON CONFLICT needs a PRIMARY KEY or UNIQUE constraint")
    };
    match on.and_then(|on| on.target.as_ref()) {
        None if keys.is_empty() => Err(missing(format!("{} has no key", target.label))),
        None if keys.len() == 1 || does_nothing => Ok(keys.iter().collect()),
        None => {
            let error = Error::user(format!("{} has several keys", target.label));
            Err(error.with_hint("name one: ON CONFLICT (column)"))
        }
        Some(ConflictTarget::Columns { filter: Some(filter), .. }) => {
            Err(Error::unsupported("ON CONFLICT of a partial index").at_span(filter.span))
        }
        Some(ConflictTarget::Columns { columns, filter: None }) => {
            let mut wanted = columns.iter().map(|name| target.position(name)).collect::<Result<Vec<_>>>()?;
            wanted.sort_unstable();
            let is_wanted = |key: &&TargetKey| {
                let mut columns = key.columns.clone();
                columns.sort_unstable();
                columns == wanted
            };
            let names: Vec<&str> = columns.iter().map(|name| &*name.text).collect();
            let key = keys.iter().find(is_wanted);
            let key = key.ok_or_else(|| missing(format!("{} has no key of {}", target.label, names.join(", "))))?;
            Ok(vec![key])
        }
        Some(ConflictTarget::Constraint(name)) => {
            let key = keys.iter().find(|key| name.is(&key.name));
            let key = key.ok_or_else(|| missing(format!("{} has no key named {}", target.label, name.text)))?;
            Ok(vec![key])
        }
    }
}
