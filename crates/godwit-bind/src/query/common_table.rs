//! WITH: common table expressions, recursive ones included.

use std::sync::Arc;

use godwit_common::{Error, Result, SqlState};
use godwit_plan::{ColumnId, Node, NodeId, Recursive, SharedId, SharedPlan};
use godwit_syntax::ast::{self, CteBody, SetExprKind};
use godwit_types::SqlType;

use super::source::{Source, visible};
use crate::expr::CastContext;
use crate::scope::Scope;
use crate::{Binder, BoundQuery, Written};

/// A common table expression in scope.
#[derive(Clone)]
pub(crate) struct CommonTable {
    name: Arc<str>,
    columns: Vec<(Arc<str>, ColumnId)>,
    rows: CommonRows,
}

/// The source of its rows.
#[derive(Clone)]
enum CommonRows {
    /// A shared plan.
    Shared(SharedId),
    /// A plan that uses columns of the enclosing query: each use has a copy.
    Correlated(NodeId),
    /// A write without RETURNING: no rows.
    None,
    /// The recursion being bound; whether its step has used it.
    Working { of: ColumnId, is_used: bool },
}

impl Binder {
    /// Binds the items of WITH, which stay visible until [`Self::forget_common_tables`].
    pub(crate) fn with(&mut self, with: &ast::With, scope: &Scope<'_>) -> Result<()> {
        let start = self.common_tables.len();
        for cte in &with.ctes {
            if self.common_tables[start..].iter().any(|known| known.name.eq_ignore_ascii_case(&cte.name.text)) {
                let error = Error::user(format!("{} is in WITH twice", cte.name.text));
                return Err(error.with_code(SqlState::DUPLICATE_ALIAS).at_span(cte.name.span));
            }
            let query = match &cte.body {
                CteBody::Query(query) => query,
                CteBody::Write(_) => {
                    let table = self.written_table(cte)?;
                    self.common_tables.push(table);
                    continue;
                }
            };
            let bound = match recursive_parts(query).filter(|_| with.recursive) {
                Some(parts) => self.recursive(cte, query, parts, scope)?,
                None => self.subquery(query, scope)?,
            };
            let columns = renamed(bound.columns, cte)?;
            let rows = match self.plan.free_columns(bound.node).is_empty() {
                true => {
                    let materialized = cte.materialized;
                    let shared = SharedPlan { name: cte.name.text.to_string(), root: bound.node, materialized };
                    CommonRows::Shared(self.plan.add_shared(shared))
                }
                false => CommonRows::Correlated(bound.node),
            };
            self.common_tables.push(CommonTable { name: cte.name.text.clone(), columns, rows });
        }
        Ok(())
    }

    /// Binds the result of a data-modifying item. It runs before the query that is bound here.
    fn written_table(&mut self, cte: &ast::Cte) -> Result<CommonTable> {
        let name = cte.name.text.clone();
        let relation = match self.environment.written(cte.span) {
            Some(Written::Rows(relation)) => relation,
            Some(Written::Nothing) => return Ok(CommonTable { name, columns: Vec::new(), rows: CommonRows::None }),
            None => {
                let error = Error::unsupported("a write in a WITH that isn't that of the whole statement");
                return Err(error.at_span(cte.span).with_hint("put it into the WITH that the statement begins with"));
            }
        };
        let source = self.scan(&relation, vec![name.clone()])?;
        let columns = source.visible.iter().map(|column| (column.name.clone(), column.column)).collect();
        let columns = renamed(columns, cte)?;
        let shared = SharedPlan { name: name.to_string(), root: source.node, materialized: Some(false) };
        Ok(CommonTable { name, columns, rows: CommonRows::Shared(self.plan.add_shared(shared)) })
    }

    /// Returns whether a name is that of a visible common table expression.
    pub(super) fn is_common_table(&self, name: &ast::ObjectName) -> bool {
        let is_it =
            |own: &ast::Ident| self.common_tables.iter().any(|known| known.name.eq_ignore_ascii_case(&own.text));
        name.single().is_some_and(is_it)
    }

    /// Returns the number of visible common table expressions, for [`Self::forget_common_tables`].
    pub(super) fn common_tables_in_sight(&self) -> usize {
        self.common_tables.len()
    }

    /// Makes all but the first `keep` invisible.
    pub(super) fn forget_common_tables(&mut self, keep: usize) {
        self.common_tables.truncate(keep);
    }

    /// Returns the rows of a common table expression, if one with that name is visible.
    pub(super) fn common_table(&mut self, name: &Arc<str>) -> Result<Option<Source>> {
        let Some(at) = self.common_tables.iter().rposition(|known| known.name.eq_ignore_ascii_case(name)) else {
            return Ok(None);
        };
        let CommonTable { columns, rows, .. } = self.common_tables[at].clone();
        let (node, ids) = match rows {
            CommonRows::None => {
                let error = Error::user(format!("{name} has no RETURNING, so there are no rows of it to read"));
                return Err(error.with_code(SqlState::FEATURE_NOT_SUPPORTED));
            }
            CommonRows::Shared(shared) => self.use_of(shared, &columns),
            CommonRows::Correlated(node) => {
                let (copy, fresh) = self.plan.copy_subtree(node);
                (copy, columns.iter().map(|(_, column)| fresh.get(column).copied().unwrap_or(*column)).collect())
            }
            CommonRows::Working { of, .. } => {
                self.common_tables[at].rows = CommonRows::Working { of, is_used: true };
                let ids: Vec<ColumnId> = columns.iter().map(|&(_, column)| self.plan.copy_column(column)).collect();
                (self.plan.add(Node::WorkingRows { of, columns: ids.clone() }), ids)
            }
        };
        let columns = columns.iter().zip(ids).map(|((column, _), id)| visible(column.clone(), id, name)).collect();
        Ok(Some(Source::of_relation(node, vec![name.clone()], columns)))
    }

    /// Binds `base UNION [ALL] step`, where the step may use the rows of the previous round.
    fn recursive(
        &mut self,
        cte: &ast::Cte,
        query: &ast::Query,
        (operations, step): (&ast::SetOperations, &ast::SetStep),
        scope: &Scope<'_>,
    ) -> Result<BoundQuery> {
        let start = self.common_tables_in_sight();
        if let Some(with) = &query.with {
            self.with(with, scope)?;
        }
        let base = self.set_operations(operations, operations.steps.len() - 1, scope)?;
        let types: Vec<SqlType> = base.columns.iter().map(|&(_, column)| self.type_of_untyped(column)).collect();
        let base = self.typed(base, &types)?;
        let working = self.plan.add_column(&*cte.name.text, SqlType::Integer, false);
        let mut columns = Vec::new();
        for ((name, of_base), ty) in base.columns.iter().zip(&types) {
            let column = self.plan.add_column(&**name, ty.clone(), true);
            self.plan.set_collation(column, self.plan.column(*of_base).collation.clone());
            columns.push((name.clone(), column));
        }
        let named = renamed(columns.clone(), cte)?;
        let rows = CommonRows::Working { of: working, is_used: false };
        self.common_tables.push(CommonTable { name: cte.name.text.clone(), columns: named, rows });
        let bound = self.set_operand(&step.right, scope);
        let table = self.common_tables.pop().expect("it was pushed");
        let bound = bound?;
        if !matches!(table.rows, CommonRows::Working { is_used: true, .. }) {
            self.forget_common_tables(start);
            return self.subquery(query, scope);
        }
        self.refuse_clauses_around(query)?;
        if bound.columns.len() != base.columns.len() {
            let (there, step_has) = (base.columns.len(), bound.columns.len());
            let message =
                format!("the first part of {} has {there} columns, the recursive one {step_has}", cte.name.text);
            return Err(Error::user(message).with_code(SqlState::SYNTAX_ERROR).at_span(step.right.span));
        }
        let step_rows = self.coerced(bound, &types, CastContext::Assignment, step.right.span)?;
        self.forget_common_tables(start);
        let ids = |bound: &BoundQuery| bound.columns.iter().map(|&(_, column)| column).collect::<Vec<_>>();
        let node = self.plan.add(Node::Recursive(Recursive {
            working,
            columns: columns.iter().map(|&(_, column)| column).collect(),
            base: (base.node, ids(&base)),
            step: (step_rows.node, ids(&step_rows)),
            all: step.all,
        }));
        Ok(BoundQuery { node, columns })
    }

    /// Rejects clauses around the union of a recursion, which have no meaning for its rounds.
    fn refuse_clauses_around(&self, query: &ast::Query) -> Result<()> {
        let clause = match query {
            ast::Query { order_by: Some(_), .. } => "ORDER BY",
            ast::Query { limit: Some(_), .. } => "LIMIT",
            ast::Query { offset: Some(_), .. } => "OFFSET",
            _ => return Ok(()),
        };
        let error = Error::unsupported(format!("{clause} inside a recursive query")).at_span(query.span);
        Err(error.with_hint("put it on the query that uses the recursive one"))
    }
}

/// Returns the union of a query that may be a recursion, and its last step.
fn recursive_parts(query: &ast::Query) -> Option<(&ast::SetOperations, &ast::SetStep)> {
    let SetExprKind::Operations(operations) = &query.body.kind else { return None };
    let step = operations.steps.last()?;
    (step.op == ast::SetOperator::Union && !step.by_name).then_some((operations, step))
}

/// Renames columns as the common table expression says.
fn renamed(mut columns: Vec<(Arc<str>, ColumnId)>, cte: &ast::Cte) -> Result<Vec<(Arc<str>, ColumnId)>> {
    if cte.columns.len() > columns.len() {
        let (name, given, there) = (&cte.name.text, cte.columns.len(), columns.len());
        let error = Error::user(format!("{name} has {there} columns, {given} names are given"));
        return Err(error.with_code(SqlState::INVALID_COLUMN_REFERENCE).at_span(cte.columns[there].span));
    }
    for (column, given) in columns.iter_mut().zip(&cte.columns) {
        column.0 = given.text.clone();
    }
    Ok(columns)
}
