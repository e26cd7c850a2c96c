//! `repeat_row(…, num_rows = n)` and `repeat(value, n)`: one row, many times.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::Schema;
use godwit_catalog::{Argument, TableDefinition, TableFunction, TableStatistics};
use godwit_common::{Error, Result};
use godwit_pipeline::{
    Operator, OperatorMetrics, QueryContext, ScanRequest, Source, SourceVerdict, SourceWorker, Table, TableHandle,
};
use godwit_types::{Value, format_value};
use godwit_vector::sql::{field_of, vector_of_values};
use godwit_vector::{Chunk, ColumnType, RowType, Vector};

/// The table function behind both names.
pub enum Repeat {
    /// `repeat_row`: any number of values, and `num_rows` by name.
    Row,
    /// `repeat`: a value, and how often to repeat it.
    Value,
}

impl TableFunction for Repeat {
    fn arguments(&self) -> &'static str {
        match self {
            Repeat::Row => "value, …, num_rows = number",
            Repeat::Value => "value, number",
        }
    }

    fn table(&self, name: &str, arguments: &[Argument]) -> Result<Arc<TableDefinition>> {
        let usage = || {
            Error::user(format!("{name} takes values and a number of rows"))
                .with_hint("write repeat_row(1, 'x', num_rows = 10) or repeat('x', 10)")
        };
        let (values, rows): (Vec<&Argument>, _) = match (self, arguments) {
            (Repeat::Value, [value, rows]) => (vec![value], rows),
            (Repeat::Value, _) => return Err(usage()),
            (Repeat::Row, _) => {
                let (named, values): (Vec<_>, Vec<_>) = arguments.iter().partition(|given| given.name.is_some());
                match named[..] {
                    [rows] if rows.name.as_deref() == Some("num_rows") && !values.is_empty() => (values, rows),
                    _ => return Err(usage()),
                }
            }
        };
        let count = match rows.value {
            Value::Integer(count) if rows.ty.is_integer() => u64::try_from(count).ok(),
            _ => None,
        };
        let count = count.ok_or_else(|| {
            let shown = format_value(&rows.value, &rows.ty);
            Error::user(format!("{name}: {shown} is not a number of rows"))
        })?;
        let column = |(at, given): (usize, &&Argument)| match self {
            Repeat::Row => field_of(format!("column{at}"), &given.ty, given.value.is_null()),
            Repeat::Value => field_of(format_value(&given.value, &given.ty), &given.ty, given.value.is_null()),
        };
        let fields = values.iter().enumerate().map(column).collect::<Result<Vec<_>>>()?;
        let types = fields.iter().map(|field| ColumnType::new(field.data_type().clone(), field.is_nullable()));
        let row_type: RowType = types.collect::<Result<_>>()?;
        let row = values.iter().map(|given| vector_of_values(std::slice::from_ref(&given.value), &given.ty));
        let table = Arc::new(RepeatTable { row: row.collect::<Result<_>>()?, row_type, rows: count });
        let statistics = Arc::new(TableStatistics::of_rows(count, true, fields.len()));
        let (schema, handle) = (Arc::new(Schema::new(fields)), Arc::new(TableHandle(table)));
        Ok(Arc::new(TableDefinition::new(name, schema, statistics, handle).without_filters()))
    }
}

struct RepeatTable {
    /// One value of each column.
    row: Vec<Vector>,
    row_type: RowType,
    rows: u64,
}

impl Table for RepeatTable {
    fn row_type(&self) -> &RowType {
        &self.row_type
    }

    fn scan(self: Arc<Self>, request: ScanRequest, _query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        assert!(request.filters.is_empty(), "the table evaluates no filters");
        let rows = self.rows.min(request.limit.map_or(u64::MAX, |rows| rows as u64));
        let (columns, metrics) = (request.columns, OperatorMetrics::new(request.name));
        Ok(Arc::new(RepeatSource { table: self, columns, rows, taken: AtomicU64::new(0), metrics }))
    }
}

struct RepeatSource {
    table: Arc<RepeatTable>,
    columns: Vec<usize>,
    rows: u64,
    taken: AtomicU64,
    metrics: Arc<OperatorMetrics>,
}

impl Operator for RepeatSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Source for RepeatSource {
    fn start(&self, query: &Arc<QueryContext>) -> Result<()> {
        query.rows_known.fetch_add(self.rows, Ordering::Relaxed);
        Ok(())
    }

    fn parallelism(&self) -> usize {
        1
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(RepeatWorker { source: self, query: query.clone() }))
    }
}

struct RepeatWorker {
    source: Arc<RepeatSource>,
    query: Arc<QueryContext>,
}

impl SourceWorker for RepeatWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let RepeatSource { table, columns, rows, taken, .. } = &*self.source;
        let rows_max = self.query.settings.chunk_rows as u64;
        let first = taken.fetch_add(rows_max, Ordering::Relaxed).min(*rows);
        let count = rows_max.min(rows - first) as usize;
        if count == 0 {
            return Ok(SourceVerdict::Done);
        }
        self.query.rows_done.fetch_add(count as u64, Ordering::Relaxed);
        let values = columns.iter().map(|&column| match &table.row[column] {
            value if value.is_valid(0) => Vector::constant(value.to_flat(), count),
            _ => Vector::null_of(&table.row_type[column], count),
        });
        Ok(SourceVerdict::Chunk(Chunk::new(values.collect(), count)))
    }
}
