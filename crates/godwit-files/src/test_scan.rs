//! Table scans in tests: rows as text.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use godwit_common::Result;
use godwit_expression::PlanContext;
use godwit_memory::{BufferConfig, BufferManager};
use godwit_pipeline::scan_filter::Conjunct;
use godwit_pipeline::{CancelToken, JOIN_LOAD_FACTOR, QueryContext, QuerySettings, ScanRequest, SourceVerdict, Table};
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Plan};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::{Reader, arrow_type, sql_type};
use godwit_vector::{from_arrow, in_layout, to_arrow};

pub(crate) fn memory() -> BufferManager {
    BufferManager::new(BufferConfig::new(256 << 20)).unwrap()
}

/// Creates a query with `workers` workers that take chunks of `chunk_rows`.
pub(crate) fn query(chunk_rows: usize, workers: usize) -> Arc<QueryContext> {
    let settings = QuerySettings {
        chunk_rows,
        workers,
        profile: true,
        compress_from_bytes: None,
        compaction: Default::default(),
        join_filters: true,
        cache: None,
        join_load_factor: JOIN_LOAD_FACTOR,
    };
    QueryContext::new(memory(), settings, CancelToken::default())
}

/// Rows as text, column by column, and the notes of the scan.
pub(crate) type Rows = Vec<Vec<String>>;

pub(crate) fn printed(array: &ArrayRef) -> Vec<String> {
    let ty = sql_type(array.data_type()).unwrap();
    let array = in_layout(array, &arrow_type(&ty).unwrap()).unwrap();
    let values = Reader::new(&from_arrow(&array).unwrap(), &ty).unwrap();
    let text = |row| {
        let mut text = String::new();
        if values.write_text(row, &mut text).unwrap() { text } else { "NULL".to_owned() }
    };
    (0..array.len()).map(text).collect()
}

pub(crate) fn expected(batch: &RecordBatch, columns: &[usize], rows: &[usize]) -> Rows {
    let printed: Vec<Vec<String>> = columns.iter().map(|&column| printed(batch.column(column))).collect();
    rows.iter().map(|&row| printed.iter().map(|column| column[row].clone()).collect()).collect()
}

pub(crate) fn request(columns: &[usize]) -> ScanRequest {
    filtered(columns, Vec::new())
}

/// The columns of a table in a plan.
pub(crate) struct Columns<'t> {
    table: &'t dyn Table,
    schema: &'t Schema,
    plan: Plan,
    ids: Vec<(ColumnId, usize)>,
}

impl<'t> Columns<'t> {
    pub(crate) fn of(table: &'t dyn Table, schema: &'t Schema) -> Self {
        let mut plan = Plan::new();
        let fields = schema.fields().iter().enumerate();
        let column = |(at, field): (usize, &Arc<Field>)| {
            // Filters use columns whose types exist in SQL.
            let ty = sql_type(field.data_type()).unwrap_or(SqlType::Unknown);
            (plan.add_column(field.name(), ty, true), at)
        };
        let ids = fields.map(column).collect();
        Self { table, schema, plan, ids }
    }

    pub(crate) fn column(&self, name: &str) -> Expr {
        let id = self.ids[self.schema.index_of(name).unwrap()].0;
        Expr::new(ExprKind::Column(id), self.plan.column(id).ty.clone(), true)
    }

    /// Returns `name comparison value`.
    pub(crate) fn compare(&self, name: &str, comparison: Comparison, value: Value) -> Expr {
        let column = self.column(name);
        let value = Expr::literal(value, column.ty.clone());
        Expr::compare(comparison, column, value)
    }

    pub(crate) fn conjuncts(&self, filters: &[Expr]) -> Vec<Conjunct> {
        Conjunct::of_plan(filters, &self.ids, self.table.row_type(), &PlanContext::default()).unwrap()
    }
}

pub(crate) fn filtered(columns: &[usize], filters: Vec<Conjunct>) -> ScanRequest {
    ScanRequest { name: "Scan".into(), columns: columns.to_vec(), filters, join_filters: Vec::new(), limit: None }
}

/// Runs a scan with one worker.
pub(crate) fn scan(
    table: &Arc<impl Table + 'static>,
    request: ScanRequest,
    chunk_rows: usize,
) -> Result<(Rows, Vec<(String, String)>)> {
    let query = query(chunk_rows, 1);
    let (columns, has_limit) = (request.columns.clone(), request.limit.is_some());
    let source = table.clone().scan(request, &query)?;
    source.start(&query)?;
    let mut worker = source.clone().worker(&query)?;
    let mut rows: Rows = Vec::new();
    loop {
        let chunk = match worker.next()? {
            SourceVerdict::Chunk(chunk) => chunk,
            SourceVerdict::Done => break,
            _ => continue,
        };
        assert!(!chunk.is_empty() && chunk.len() <= chunk_rows && chunk.width() == columns.len());
        let texts = columns.iter().enumerate().map(|(index, &column)| {
            let ty = &table.row_type()[column];
            let vector = chunk.dense(index);
            assert_eq!(vector.physical(), ty.physical, "column {column}");
            assert!(ty.nullable || !vector.has_nulls());
            Ok(printed(&to_arrow(&vector, &ty.logical)?))
        });
        let texts = texts.collect::<Result<Vec<_>>>()?;
        rows.extend((0..chunk.len()).map(|row| texts.iter().map(|column| column[row].clone()).collect()));
    }
    let done = query.rows_done.load(std::sync::atomic::Ordering::Relaxed);
    let known = query.rows_known.load(std::sync::atomic::Ordering::Relaxed);
    assert!(done == known || has_limit, "progress ends at all rows: {done} of {known}");
    drop(worker);
    Ok((rows, source.metrics().notes()))
}

pub(crate) fn note(notes: &[(String, String)], name: &str) -> Option<String> {
    notes.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}
