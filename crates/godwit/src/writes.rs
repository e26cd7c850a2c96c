//! Statements that change tables.

use std::sync::Arc;
use std::time::Instant;

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::SchemaRef;
use godwit_catalog::{AlterPlan, ObjectName};
use godwit_common::{Error, Result};
use godwit_exec::{ExplainNode, ReturnedRows};
use godwit_pipeline::{QueryContext, Sink};
use godwit_plan::{Plan, WriteKind};
use godwit_sql::{ExplainOptions, QueryStatement, Statement, WritePart, WritePlan, WriteStatement};
use godwit_tables::{NewTable, TableVersion, Transaction, WriteSink, WriteTask};

use crate::connection::Inner;
use crate::execution::{count_schema, in_zone, nothing_run, result_schema, written_rows};
use crate::prepared::ParameterValues;
use crate::result::{Change, QueryResult};
use crate::transactions::{Scope, StatementEnd, WriteEnd};

impl Inner {
    /// Changes rows. Returns the rows of RETURNING, or the number of rows.
    pub(crate) fn write(
        self: &Arc<Self>,
        sql: &str,
        write: WriteStatement,
        values: &ParameterValues,
        scope: Scope,
    ) -> Result<QueryResult> {
        let mut changed = Vec::new();
        let result = self.start_write(sql, write, values, &scope, &mut changed)?;
        Ok(result.ending_with(StatementEnd::of_writes(self.clone(), changed, scope)))
    }

    /// Begins to change rows; `changed` has the tables that the statement changed so far.
    fn start_write(
        self: &Arc<Self>,
        sql: &str,
        write: WriteStatement,
        values: &ParameterValues,
        scope: &Scope,
        changed: &mut Vec<WriteEnd>,
    ) -> Result<QueryResult> {
        let shown = |schema| in_zone(schema, &self.session().own().values.time_zone);
        match write {
            WriteStatement::Planned(write) => {
                let schema = match &write.returning {
                    Some(names) => shown(returned_schema(&write.rows, names)?),
                    None => count_schema(),
                };
                let rows = write.rows.clone();
                let task = write_task(scope, write, changed)?;
                let (kind, returns_rows) = (task.kind, task.returns_rows);
                let (result, _) = self.run_write(sql, &rows, values, schema, task, false)?;
                Ok(if returns_rows { result.with_types_of(&rows) } else { result.counting(change_of(kind)) })
            }
            WriteStatement::Analyzed { write, options } => {
                let started = Instant::now();
                let rows = write.rows.clone();
                let task = WriteTask { returns_rows: false, ..write_task(scope, write, changed)? };
                let (result, explain) = self.run_write(sql, &rows, values, count_schema(), task, true)?;
                self.shown_run(started, result, &explain, options.json, written_rows)
            }
            WriteStatement::Listed { table, rows, columns } => {
                let (transaction, table) = table_before(scope, &table, changed)?;
                transaction.insert(&table, &columns.0, rows)?;
                let count = Arc::new(Int64Array::from(vec![rows as i64]));
                let batch = RecordBatch::try_new(count_schema(), vec![count]);
                let batch = batch.map_err(|error| Error::internal(error.to_string()))?;
                Ok(QueryResult::of_batch(batch).counting(Change::Insert))
            }
            WriteStatement::Parts { writes, last } => {
                for WritePart { write, rows } in writes {
                    let mut result = self.start_write(sql, write, values, scope, changed)?;
                    let batches = result.by_ref().collect::<Result<Vec<_>>>()?;
                    if let Some(rows) = rows {
                        rows.set(ReturnedRows::handle(result.schema(), &batches)?);
                    }
                }
                match *last {
                    Statement::Write(write) => self.start_write(sql, write, values, scope, changed),
                    Statement::Query(QueryStatement::Rows { plan }) => {
                        let schema = shown(result_schema(&plan)?);
                        let (result, _) = self.start(sql, &plan, values, schema, false, |_, rows| Ok(rows))?;
                        Ok(result.with_types_of(&plan))
                    }
                    _ => Err(Error::internal("a statement with WITH is a query or a write")),
                }
            }
        }
    }

    /// Creates a table, with the rows of a query if there is one. Returns their number, or what happened, if options of
    /// `EXPLAIN ANALYZE` come with it.
    pub(crate) fn create_table(
        self: &Arc<Self>,
        sql: &str,
        database: &str,
        table: NewTable,
        if_not_exists: bool,
        rows: Option<(Arc<Plan>, Option<ExplainOptions>)>,
        values: &ParameterValues,
        scope: Scope,
    ) -> Result<QueryResult> {
        let started = Instant::now();
        let transaction = scope.transaction_of(database)?;
        if if_not_exists && transaction.table(&table.name).is_some() {
            return match rows.and_then(|(_, analyzed)| analyzed) {
                Some(options) => nothing_run(&table.name, options.json),
                None => Ok(QueryResult::empty()),
            };
        }
        let Some((rows, analyzed)) = rows else {
            return self.define(scope, |_| transaction.create_table(&table).map(drop));
        };
        let version: Arc<TableVersion> = transaction.create_table(&table)?;
        let end = WriteEnd { transaction: transaction.clone(), table: table.name.clone(), before: None };
        let (kind, checks) = (WriteKind::Insert, Vec::new());
        let task = WriteTask { transaction, table: version, kind, checks, returns_rows: false, is_bulk: true };
        let (result, explain) = self.run_write(sql, &rows, values, count_schema(), task, analyzed.is_some())?;
        let result = match analyzed {
            Some(options) => self.shown_run(started, result, &explain, options.json, written_rows)?,
            None => result.counting(change_of(kind)),
        };
        Ok(result.ending_with(StatementEnd::of_writes(self.clone(), vec![end], scope)))
    }

    fn run_write(
        self: &Arc<Self>,
        sql: &str,
        rows: &Plan,
        values: &ParameterValues,
        schema: SchemaRef,
        task: WriteTask,
        profile: bool,
    ) -> Result<(QueryResult, ExplainNode)> {
        let sink = |query: &QueryContext, result| Ok(WriteSink::new(task, query, result)? as Arc<dyn Sink>);
        self.start(sql, rows, values, schema, profile, sink)
    }

    /// Gives a table other names and rules, which its rows must satisfy.
    pub(crate) fn alter(self: &Arc<Self>, alter: &AlterPlan, scope: Scope) -> Result<QueryResult> {
        self.define(scope, |scope| {
            let transaction = scope.transaction_of(&alter.table.database)?;
            let (before, after) = transaction.alter_table(alter)?;
            self.verify_rules(&before, &transaction.verification(None, after))
        })
    }

    /// Applies a change to the catalog.
    pub(crate) fn define(
        self: &Arc<Self>,
        scope: Scope,
        change: impl FnOnce(&Scope) -> Result<()>,
    ) -> Result<QueryResult> {
        change(&scope)?;
        scope.finish(&self.verifier())?;
        Ok(QueryResult::empty())
    }
}

/// Returns what the sink of a planned write does.
fn write_task(scope: &Scope, write: WritePlan, changed: &mut Vec<WriteEnd>) -> Result<WriteTask> {
    let (transaction, table) = table_before(scope, &write.table, changed)?;
    let WritePlan { kind, checks, returning, .. } = write;
    Ok(WriteTask { transaction, table, kind, checks, returns_rows: returning.is_some(), is_bulk: false })
}

fn change_of(kind: WriteKind) -> Change {
    match kind {
        WriteKind::Insert => Change::Insert,
        WriteKind::Update => Change::Update,
        WriteKind::Delete => Change::Delete,
        WriteKind::Upsert => Change::Upsert,
        WriteKind::Merge => Change::Merge,
    }
}

/// Returns a table whose rows are to be changed, as it was before the statement, and its transaction.
fn table_before(
    scope: &Scope,
    name: &ObjectName,
    changed: &mut Vec<WriteEnd>,
) -> Result<(Arc<Transaction>, Arc<TableVersion>)> {
    let (transaction, table) = scope.table_to_change(name)?;
    let is_same = |end: &&WriteEnd| Arc::ptr_eq(&end.transaction, &transaction) && end.table == name.name;
    if let Some(before) = changed.iter().find(is_same).and_then(|end| end.before.clone()) {
        return Ok((transaction, before));
    }
    let end = WriteEnd { transaction: transaction.clone(), table: name.name.clone(), before: Some(table.clone()) };
    changed.push(end);
    Ok((transaction, table))
}

/// Returns the columns of RETURNING: the last columns of the query.
fn returned_schema(rows: &Plan, names: &[String]) -> Result<SchemaRef> {
    let all = result_schema(rows)?;
    let width = all.fields().len();
    let first = width - names.len();
    let fields = all.fields()[first..].iter().zip(names).map(|(field, name)| field.as_ref().clone().with_name(name));
    Ok(Arc::new(arrow_schema::Schema::new(fields.collect::<Vec<_>>())))
}
