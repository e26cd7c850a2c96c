//! Runs statements that change tables.

use std::sync::Arc;

use arrow_array::{Int64Array, RecordBatch};
use arrow_schema::SchemaRef;
use godwit_catalog::{AlterPlan, ObjectName};
use godwit_common::{Error, Result};
use godwit_exec::QueryContext;
use godwit_plan::{Plan, WriteKind};
use godwit_sql::WritePlan;
use godwit_tables::{NewTable, TableVersion, WriteSink, WriteTask};
use godwit_vector::Vector;

use crate::connection::Inner;
use crate::execution::{count_schema, result_schema};
use crate::prepared::ParameterValues;
use crate::result::QueryResult;
use crate::transactions::{Scope, StatementEnd, WriteEnd};

impl Inner {
    /// Changes rows. The result is what RETURNING asks for, or the number of rows.
    pub(crate) fn write(
        self: &Arc<Self>,
        sql: &str,
        plan: WritePlan,
        values: &ParameterValues,
        scope: Scope,
        is_bulk: bool,
    ) -> Result<QueryResult> {
        let WritePlan { table: name, kind, rows, checks, returning } = plan;
        let (transaction, table) = scope.table_to_change(&name)?;
        let before = Some(table.clone());
        let end = WriteEnd { transaction: transaction.clone(), ends: scope.ends, table: name.name, before };
        let schema = match &returning {
            Some(names) => returned_schema(&rows, names)?,
            None => count_schema(),
        };
        let returns_rows = returning.is_some();
        let task = WriteTask { transaction, table, kind, checks, returns_rows, is_bulk };
        self.run_write(sql, &rows, values, schema, task, end)
    }

    /// Adds rows that need no query. The result is their number.
    pub(crate) fn insert_rows(
        self: &Arc<Self>,
        name: &ObjectName,
        columns: &[Vector],
        rows: usize,
        scope: &Scope,
    ) -> Result<QueryResult> {
        let (transaction, table) = scope.table_to_change(name)?;
        transaction.insert(&table, columns, rows)?;
        let end = WriteEnd { transaction, ends: scope.ends, table: name.name.clone(), before: Some(table) };
        let count = Arc::new(Int64Array::from(vec![rows as i64]));
        let batch = RecordBatch::try_new(count_schema(), vec![count]);
        let batch = batch.map_err(|error| Error::internal(error.to_string()))?;
        Ok(QueryResult::of_batch(batch).ending_with(StatementEnd::of_write(self.clone(), end)))
    }

    /// Makes a table, with the rows of a query if there is one.
    pub(crate) fn create_table(
        self: &Arc<Self>,
        sql: &str,
        database: &str,
        table: NewTable,
        if_not_exists: bool,
        rows: Option<Arc<Plan>>,
        values: &ParameterValues,
        scope: Scope,
    ) -> Result<QueryResult> {
        let transaction = scope.transaction_of(database)?;
        if if_not_exists && transaction.table(&table.name).is_some() {
            return Ok(QueryResult::empty());
        }
        let Some(rows) = rows else {
            return self.define(scope, |_| transaction.create_table(&table).map(drop));
        };
        let version: Arc<TableVersion> = transaction.create_table(&table)?;
        let end =
            WriteEnd { transaction: transaction.clone(), ends: scope.ends, table: table.name.clone(), before: None };
        let (kind, checks) = (WriteKind::Insert, Vec::new());
        let task = WriteTask { transaction, table: version, kind, checks, returns_rows: false, is_bulk: true };
        self.run_write(sql, &rows, values, count_schema(), task, end)
    }

    fn run_write(
        self: &Arc<Self>,
        sql: &str,
        rows: &Plan,
        values: &ParameterValues,
        schema: SchemaRef,
        task: WriteTask,
        end: WriteEnd,
    ) -> Result<QueryResult> {
        let sink = |query: &QueryContext, result| Ok(WriteSink::new(task, query, result)?.into_sink());
        let (result, _) = self.start(sql, rows, values, schema, false, sink)?;
        Ok(result.ending_with(StatementEnd::of_write(self.clone(), end)))
    }

    /// Gives a table other names and rules, which its rows must keep.
    pub(crate) fn alter(self: &Arc<Self>, alter: &AlterPlan, scope: Scope) -> Result<QueryResult> {
        self.define(scope, |scope| {
            let transaction = scope.transaction_of(&alter.table.database)?;
            let (before, after) = transaction.alter_table(alter)?;
            self.verify_rules(&before, &transaction.verification(None, after))
        })
    }

    /// Changes what there is.
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

/// The columns of RETURNING: the last ones of the query.
fn returned_schema(rows: &Plan, names: &[String]) -> Result<SchemaRef> {
    let all = result_schema(rows)?;
    let width = all.fields().len();
    let first = width - names.len();
    let fields = all.fields()[first..].iter().zip(names).map(|(field, name)| field.as_ref().clone().with_name(name));
    Ok(Arc::new(arrow_schema::Schema::new(fields.collect::<Vec<_>>())))
}
