//! MERGE: the rows of a source with their matches in the table, each with the number of the WHEN clause for it.
//!
//! ```text
//! source ⋈ t ─▶ clause := CASE WHEN … THEN 1 WHEN … THEN 2 END ─▶ Filter: there is one, and it does something
//!             ─▶ each column := CASE WHEN clause = 1 THEN … END
//! ```
//!
//! The first clause whose condition holds applies. A clause can name the columns that its rows have: unmatched source
//! rows have no columns of the table, and vice versa. RETURNING sees source rows with their matches after the change,
//! and deleted ones before it; `merge_action` is `INSERT`, `UPDATE` or `DELETE`.

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Project};
use godwit_syntax::ast::{self, Ident, JoinConstraint, MergeAction, MergeMatch};
use godwit_types::{SqlType, Value};

use super::conflict::stored_columns;
use super::update::table_name_only;
use super::{BoundWrite, NewRows, Others, WriteKind, WriteTarget};
use crate::Binder;
use crate::binder::{Clause, Collected, ExprContext};
use crate::query::Source;
use crate::scope::{Scope, VisibleColumn, visible_first};

/// The column of RETURNING that names the action on a row; in PostgreSQL, it is a call.
pub(crate) const MERGE_ACTION: &str = "merge_action";

/// The joined rows of a MERGE.
struct Merged {
    node: NodeId,
    source: Source,
    target: Source,
    row_id: ColumnId,
    /// TRUE where there is a source row; `None`: everywhere.
    is_in_source: Option<ColumnId>,
    /// Whether every row has a row of the table.
    is_in_target: bool,
    /// For each column of the table, its old value.
    old: Vec<ColumnId>,
}

impl Binder {
    /// Binds MERGE. The plan returns the actions on rows.
    pub fn merge_into(&mut self, merge: &ast::Merge, target: &WriteTarget) -> Result<BoundWrite> {
        let around = Scope::default();
        if let Some(with) = &merge.with {
            self.with(with, &around)?;
        }
        let mut rows = self.merged(merge, target)?;
        let clause = self.clause_numbers(merge, &mut rows)?;
        let active = merge.clauses.iter().enumerate().filter(|(_, clause)| clause.action != MergeAction::Nothing);
        let active: Vec<usize> = active.map(|(at, _)| at).collect();
        let number = |at: usize| Expr::literal(Value::Integer(at as i128), SqlType::Integer);
        let condition = match active.len() == merge.clauses.len() {
            true => clause.clone().is_null().negated(),
            false => Expr::or(active.iter().map(|&at| Expr::compare(Comparison::Equal, clause.clone(), number(at)))),
        };
        rows.node = self.filtered(rows.node, Some(condition));
        let mut effects = Vec::new();
        for &at in &active {
            effects.push((at, self.effect(&merge.clauses[at], target, &mut rows)?));
        }
        let mut made = self.passed(rows.node);
        let case = |values: Vec<(usize, Expr)>, ty: &SqlType| {
            let is = |at: usize| Expr::compare(Comparison::Equal, clause.clone(), number(at));
            if values.is_empty() {
                return Expr::null(ty.clone());
            }
            let branches = values.into_iter().map(|(at, value)| (is(at), value)).collect();
            Expr::new(ExprKind::Case { branches, otherwise: None }, ty.clone(), true)
        };
        let deletions = active.iter().map(|&at| Ok((at, self.deletion(&merge.clauses[at], &rows)?)));
        let deletions = deletions.collect::<Result<_>>()?;
        let is_deleted = self.put("is_deleted", case(deletions, &SqlType::Boolean), &mut made);
        let mut columns = Vec::new();
        for (place, column) in target.columns.iter().enumerate() {
            let values = effects.iter().map(|(at, values)| (*at, values[place].clone())).collect();
            columns.push(self.put(&column.name, case(values, &column.ty), &mut made));
        }
        let names = active.iter().map(|&at| (at, action_name(&merge.clauses[at].action))).collect();
        let action = self.put(MERGE_ACTION, case(names, &SqlType::Varchar), &mut made);
        let node = self.plan.add(Node::Project(Project { input: rows.node, columns: made }));
        let others = Others { old: Some(rows.target.relations[0].clone()), ..rows.source.with_action(action) };
        let rows = NewRows { node, lead: vec![rows.row_id, is_deleted], columns, others };
        self.finished(target, WriteKind::Merge, table_name_only(merge.alias.as_ref())?, rows, &merge.returning)
    }

    /// Returns an expression for whether a clause deletes its rows; with ERROR, it fails instead.
    fn deletion(&mut self, clause: &ast::MergeClause, rows: &Merged) -> Result<Expr> {
        let MergeAction::Error(message) = &clause.action else {
            return Ok(Expr::boolean(clause.action == MergeAction::Delete));
        };
        let message = match message {
            Some(message) => {
                let around = Scope::default();
                let mut collected = Collected::default();
                let scope = rows.seen_by(clause.when.matched).into_scope(&around);
                let (clause, collected) = (Clause::Set, &mut collected);
                let message =
                    self.expr(message, &mut ExprContext { scope: &scope, clause, collected, windows: &[] })?;
                self.settle(message)
            }
            None => Expr::literal(Value::text("MERGE came to a row that is for ERROR"), SqlType::Varchar),
        };
        Ok(self.call_scalar("error", vec![message], clause.span)?.cast_to(&SqlType::Boolean))
    }

    /// Joins the source with the table; keeps unmatched rows if a clause applies to them.
    fn merged(&mut self, merge: &ast::Merge, target: &WriteTarget) -> Result<Merged> {
        let around = Scope::default();
        let (table, row_id) = self.target_rows(target, table_name_only(merge.alias.as_ref())?)?;
        let mut source = self.factor(&merge.source, None, &around)?;
        self.check_names(&source, &table, merge.source.span)?;
        let is_about = |wanted| merge.clauses.iter().any(|clause| clause.when.matched == wanted);
        let keeps_source = is_about(MergeMatch::NotMatchedByTarget);
        let keeps_target = is_about(MergeMatch::NotMatchedBySource);
        let is_in_source = keeps_target.then(|| {
            let mut made = self.passed(source.node);
            let mark = self.plan.add_column("is_in_source", SqlType::Boolean, false);
            made.push((mark, Expr::boolean(true)));
            source.node = self.plan.add(Node::Project(Project { input: source.node, columns: made }));
            mark
        });
        let kind = match (keeps_source, keeps_target) {
            (false, false) => JoinKind::Inner,
            (true, false) => JoinKind::Left,
            (false, true) => JoinKind::Right,
            (true, true) => JoinKind::Full,
        };
        let conditions = self.merge_condition(&merge.on, &source, &table)?;
        let (left, right) = (source.node, table.node);
        let node = self.plan.add(Node::Join(Join { kind, left, right, conditions }));
        let old = stored_columns(target, &table);
        let mut merged = Merged { node, source, target: table, row_id, is_in_source, is_in_target: !keeps_source, old };
        let filled = self.plan.nullable_columns(node);
        merged.source.filled.union_with(&filled);
        merged.target.filled.union_with(&filled);
        Ok(merged)
    }

    /// Binds ON or USING.
    fn merge_condition(&mut self, on: &JoinConstraint, source: &Source, table: &Source) -> Result<Vec<Expr>> {
        let around = Scope::default();
        match on {
            JoinConstraint::On(condition) => {
                let both = source.clone().beside(table.clone(), source.node);
                let condition = self.condition_of(condition, &both.scope(&around), Clause::On)?;
                Ok(condition.into_conjuncts())
            }
            JoinConstraint::Using(names) => {
                let pair = |name: &Ident| {
                    let left = only_column(source, name, "the source")?;
                    let right = only_column(table, name, "the table")?;
                    let sides = [(left, source), (right, table)];
                    let [left, right] = sides.map(|(column, side)| self.column(column, &side.scope(&around)));
                    let (left, right) = self.in_common_collation(left, right)?;
                    self.compare(Comparison::Equal, left.at(name.span), right.at(name.span), name.span)
                };
                names.iter().map(pair).collect()
            }
            JoinConstraint::None | JoinConstraint::Natural => unreachable!("MERGE has ON or USING"),
        }
    }

    /// Returns the 0-based number of the WHEN clause for each row; NULL if there is none.
    fn clause_numbers(&mut self, merge: &ast::Merge, rows: &mut Merged) -> Result<Expr> {
        let mut branches = Vec::new();
        for (at, clause) in merge.clauses.iter().enumerate() {
            let mut conditions = self.match_conditions(clause.when.matched, rows);
            if let Some(condition) = &clause.when.condition {
                let around = Scope::default();
                let scope = rows.seen_by(clause.when.matched).into_scope(&around);
                conditions.push(self.condition_of(condition, &scope, Clause::When)?);
            }
            branches.push((Expr::and(conditions), Expr::literal(Value::Integer(at as i128), SqlType::Integer)));
        }
        let number = Expr::new(ExprKind::Case { branches, otherwise: None }, SqlType::Integer, true);
        let column = self.plan.add_column("clause", SqlType::Integer, true);
        let mut made = self.passed(rows.node);
        made.push((column, number));
        rows.node = self.plan.add(Node::Project(Project { input: rows.node, columns: made }));
        Ok(self.column(column, &Scope::default()))
    }

    /// Returns the conditions for a row existing on the sides that a clause requires.
    fn match_conditions(&self, matched: MergeMatch, rows: &Merged) -> Vec<Expr> {
        let is_missing = |column: ColumnId| {
            let info = self.plan.column(column);
            Expr::new(ExprKind::Column(column), info.ty.clone(), true).is_null()
        };
        let in_target = (!rows.is_in_target).then(|| is_missing(rows.row_id));
        let in_source = rows.is_in_source.map(is_missing);
        match matched {
            MergeMatch::Matched => in_target.into_iter().chain(in_source).map(Expr::negated).collect(),
            MergeMatch::NotMatchedByTarget => in_target.into_iter().collect(),
            MergeMatch::NotMatchedBySource => in_source.into_iter().collect(),
        }
    }

    /// Returns, for each column of the table, its value after a clause.
    fn effect(&mut self, clause: &ast::MergeClause, target: &WriteTarget, rows: &mut Merged) -> Result<Vec<Expr>> {
        let around = Scope::default();
        let seen = rows.seen_by(clause.when.matched);
        let shown: Vec<_> = rows.source.visible.iter().filter(|column| !column.hidden).cloned().collect();
        let scope = seen.into_scope(&around);
        check_possible(clause)?;
        let assigned = match &clause.action {
            MergeAction::Delete | MergeAction::Nothing | MergeAction::Error(_) => vec![None; target.columns.len()],
            MergeAction::Update(assignments) => self.assigned(assignments, target, &mut rows.node, &scope)?,
            MergeAction::UpdateAll { by_position } | MergeAction::InsertAll { by_position } => {
                let places = match by_position {
                    true => target.given(),
                    false => {
                        let names = shown.iter().map(|column| Ident::new(column.name.clone(), clause.span));
                        names.map(|name| target.given_position(&name)).collect::<Result<_>>()?
                    }
                };
                check_count(places.len(), shown.len(), clause)?;
                let mut values = vec![None; target.columns.len()];
                for (column, place) in shown.iter().zip(places) {
                    let value = self.column(column.column, &scope).at(clause.span);
                    values[place] = Some(self.assign(target, place, value)?);
                }
                values
            }
            MergeAction::Insert { columns, values } => {
                let is_default = |at: usize| values.get(at).is_some_and(|value| value.kind == ast::ExprKind::Default);
                let place = |(at, name): (usize, &Ident)| match is_default(at) {
                    true => target.position(name),
                    false => target.given_position(name),
                };
                let places = match &columns[..] {
                    [] => target.given(),
                    columns => columns.iter().enumerate().map(place).collect::<Result<_>>()?,
                };
                check_count(places.len(), values.len(), clause)?;
                let mut new = vec![None; target.columns.len()];
                for (value, place) in values.iter().zip(places) {
                    let value = self.value_for(target, place, value, &scope, Clause::Set)?;
                    if new[place].replace(value).is_some() {
                        let error = Error::user(format!("column {} is named twice", target.columns[place].name));
                        return Err(error.with_code(SqlState::DUPLICATE_COLUMN).at_span(clause.span));
                    }
                }
                new
            }
            MergeAction::InsertDefaults => vec![None; target.columns.len()],
        };
        let is_new = clause.when.matched == MergeMatch::NotMatchedByTarget;
        let rest = |(at, assigned): (usize, Option<Expr>)| match assigned {
            Some(value) => Ok(value),
            None if is_new => self.default_of(target, at),
            None => Ok(self.column(rows.old[at], &scope)),
        };
        assigned.into_iter().enumerate().map(rest).collect()
    }
}

impl Merged {
    /// Returns the names visible to a clause about such rows.
    fn seen_by(&self, matched: MergeMatch) -> Source {
        match matched {
            MergeMatch::Matched => self.source.clone().beside(self.target.clone(), self.node),
            MergeMatch::NotMatchedByTarget => self.source.clone(),
            MergeMatch::NotMatchedBySource => self.target.clone(),
        }
    }
}

impl Source {
    /// Returns the source of MERGE as seen by RETURNING: with the action on each row.
    fn with_action(mut self, action: ColumnId) -> Others {
        self.visible.push(VisibleColumn { name: MERGE_ACTION.into(), column: action, hidden: true, relation: None });
        let Source { relations, visible, filled, node: _ } = self;
        Others { relations, visible, filled, come_first: true, old: None }
    }
}

/// Returns the name of a clause's action in RETURNING.
fn action_name(action: &MergeAction) -> Expr {
    let name = match action {
        MergeAction::Insert { .. } | MergeAction::InsertAll { .. } | MergeAction::InsertDefaults => "INSERT",
        MergeAction::Update(_) | MergeAction::UpdateAll { .. } => "UPDATE",
        MergeAction::Delete => "DELETE",
        MergeAction::Nothing | MergeAction::Error(_) => return Expr::null(SqlType::Varchar),
    };
    Expr::literal(Value::text(name), SqlType::Varchar)
}

/// Fails if rows of the kind can't take the action.
fn check_possible(clause: &ast::MergeClause) -> Result<()> {
    let (inserts, needs_source) = match &clause.action {
        MergeAction::Insert { .. } | MergeAction::InsertDefaults => (true, false),
        MergeAction::InsertAll { .. } => (true, true),
        MergeAction::UpdateAll { .. } => (false, true),
        MergeAction::Update(_) | MergeAction::Delete => (false, false),
        MergeAction::Nothing | MergeAction::Error(_) => return Ok(()),
    };
    let message = match clause.when.matched {
        MergeMatch::NotMatchedByTarget if !inserts => "rows that aren't in the table can only be inserted",
        MergeMatch::Matched | MergeMatch::NotMatchedBySource if inserts => {
            "rows that are in the table can't be inserted"
        }
        MergeMatch::NotMatchedBySource if needs_source => "there is no row of the source to update from",
        _ => return Ok(()),
    };
    Err(Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(clause.span))
}

fn check_count(columns: usize, values: usize, clause: &ast::MergeClause) -> Result<()> {
    if columns == values {
        return Ok(());
    }
    let error = Error::user(format!("{columns} columns are named, {values} values given"));
    Err(error.with_code(SqlState::SYNTAX_ERROR).at_span(clause.span))
}

/// Returns the one column that a USING name refers to on a side.
fn only_column(source: &Source, name: &Ident, side: &str) -> Result<ColumnId> {
    match visible_first(&source.visible, &name.text)[..] {
        [column] => Ok(column.column),
        [] => {
            let error = Error::user(format!("column {} of USING is not in {side} of MERGE", name.text));
            Err(error.with_code(SqlState::UNDEFINED_COLUMN).at_span(name.span))
        }
        [_, _, ..] => {
            let error = Error::user(format!("column {} of USING is in {side} of MERGE twice", name.text));
            Err(error.with_code(SqlState::AMBIGUOUS_COLUMN).at_span(name.span))
        }
    }
}
