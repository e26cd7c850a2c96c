//! Statements that begin with a WITH that writes: `WITH gone AS (DELETE … RETURNING *) INSERT INTO log SELECT * FROM
//! gone`.
//!
//! ```text
//! WITH a AS (query), b AS (write), c AS (query), d AS (write) statement
//!
//! part 1   WITH a                                   write b  ─▶ rows of b
//! part 2   WITH a, b := those rows, c               write d  ─▶ rows of d
//! last     WITH a, b := rows, c, d := rows          statement
//! ```
//!
//! All parts are planned before one runs, so each sees the tables as they were before the statement; the effect of a
//! write is visible only through its RETURNING clause (PostgreSQL, "WITH Queries", Data-Modifying Statements in WITH).
//! A query in WITH is planned with each part that uses it.

use std::sync::Arc;

use arrow_schema::{Field, Schema};
use godwit_bind::Written;
use godwit_catalog::{LateHandle, ScannedTable, TableDefinition, TableStatistics};
use godwit_common::{Error, Result};
use godwit_syntax::ast::{Cte, CteBody, Statement as Tree, With};
use godwit_vector::sql::arrow_type;

use super::WritePlan;
use crate::{Planner, Statement, WritePart, WriteStatement};

/// Number of rows from a write that the optimizer is told to expect.
const ROWS_EXPECTED: u64 = 1000;

/// Returns true if the statement begins with a WITH that writes.
pub(crate) fn writes(statement: &Tree) -> bool {
    with_of(statement).is_some_and(|with| with.ctes.iter().any(|cte| matches!(cte.body, CteBody::Write(_))))
}

fn with_of(statement: &Tree) -> Option<&With> {
    match statement {
        Tree::Query(query) => query.with.as_ref(),
        Tree::Insert(insert) => insert.with.as_ref(),
        Tree::Update(update) => update.with.as_ref(),
        Tree::Delete(delete) => delete.with.as_ref(),
        Tree::Merge(merge) => merge.with.as_ref(),
        _ => None,
    }
}

/// Returns a write that sees the common table expressions before its own.
fn with_before(write: &Tree, before: &[Cte], around: &With) -> Tree {
    let mut write = write.clone();
    let own = match &mut write {
        Tree::Insert(insert) => &mut insert.with,
        Tree::Update(update) => &mut update.with,
        Tree::Delete(delete) => &mut delete.with,
        Tree::Merge(merge) => &mut merge.with,
        _ => unreachable!("the parser takes no other statements for writes"),
    };
    if !before.is_empty() {
        let recursive = around.recursive || own.as_ref().is_some_and(|own| own.recursive);
        let ctes = before.iter().cloned().chain(own.take().into_iter().flat_map(|own| own.ctes)).collect();
        *own = Some(With { recursive, ctes, span: around.span });
    }
    write
}

impl Planner {
    /// Plans the parts of a statement with writes in WITH; `None` for others.
    pub(crate) fn with_writes(&self, statement: &Tree) -> Result<Option<Statement>> {
        let Some(with) = with_of(statement).filter(|_| writes(statement)) else { return Ok(None) };
        let mut planner = self.clone();
        let mut parts = Vec::new();
        for (at, cte) in with.ctes.iter().enumerate() {
            let CteBody::Write(write) = &cte.body else { continue };
            let planned = planner.rows_statement(&with_before(write, &with.ctes[..at], with))?;
            check_parameters(&planned)?;
            let Statement::Write(write) = planned else { return Err(Error::internal("a write isn't planned as one")) };
            let (written, rows) = written(&write, &cte.name.text)?;
            planner.written.push((cte.span, written));
            parts.push(WritePart { write, rows });
        }
        let last = planner.rows_statement(statement)?;
        check_parameters(&last)?;
        Ok(Some(Statement::Write(WriteStatement::Parts { writes: parts, last: Box::new(last) })))
    }
}

fn check_parameters(part: &Statement) -> Result<()> {
    if part.parameters().is_empty() { Ok(()) } else { Err(Error::unsupported("parameters beside a write in WITH")) }
}

/// Returns the result of a write for later parts, and where its rows go.
fn written(write: &WriteStatement, name: &str) -> Result<(Written, Option<Arc<LateHandle>>)> {
    let WriteStatement::Planned(WritePlan { rows: plan, returning: Some(names), .. }) = write else {
        return Ok((Written::Nothing, None));
    };
    let columns = &plan.output[plan.output.len() - names.len()..];
    let fields = columns.iter().zip(names).map(|(output, name)| {
        let data_type = arrow_type(&plan.column(output.column).ty)?;
        Ok(Field::new(name, data_type, true))
    });
    let schema = Arc::new(Schema::new(fields.collect::<Result<Vec<_>>>()?));
    let handle = Arc::new(LateHandle::default());
    let statistics = Arc::new(TableStatistics::of_rows(ROWS_EXPECTED, false, names.len()));
    let table = TableDefinition::new(name, schema, statistics, handle.clone()).without_filters();
    Ok((Written::Rows(Arc::new(ScannedTable::new(Arc::new(table))?)), Some(handle)))
}
