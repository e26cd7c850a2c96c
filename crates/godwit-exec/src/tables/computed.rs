//! Tables whose few rows are recomputed for each query: the state of the database as seen from SQL.

use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use godwit_catalog::{TableDefinition, TableStatistics};
use godwit_common::Result;
use godwit_pipeline::{Operator, OperatorMetrics, QueryContext, ScanRequest, Source, SourceWorker, Table, TableHandle};
use godwit_vector::{Chunk, ColumnType, RowType, from_arrow};

use crate::operators::ValuesSource;

/// Number of rows that the optimizer is told to expect.
const ROWS_EXPECTED: u64 = 100;

type Compute = Arc<dyn Fn() -> Result<RecordBatch> + Send + Sync>;

/// A table whose rows a function computes each time a scan starts.
pub struct ComputedTable {
    row_type: RowType,
    compute: Compute,
}

impl ComputedTable {
    /// The definition of a table with these columns; `compute` returns batches of that schema.
    pub fn definition(
        name: &str,
        schema: &SchemaRef,
        compute: impl Fn() -> Result<RecordBatch> + Send + Sync + 'static,
    ) -> Result<Arc<TableDefinition>> {
        let types = schema.fields().iter().map(|field| ColumnType::new(field.data_type().clone(), field.is_nullable()));
        let table = Self { row_type: types.collect::<Result<_>>()?, compute: Arc::new(compute) };
        let statistics = TableStatistics::of_rows(ROWS_EXPECTED, false, schema.fields().len());
        let handle = Arc::new(TableHandle(Arc::new(table)));
        Ok(Arc::new(TableDefinition::new(name, schema.clone(), Arc::new(statistics), handle).without_filters()))
    }
}

impl Table for ComputedTable {
    fn row_type(&self) -> &RowType {
        &self.row_type
    }

    fn scan(self: Arc<Self>, request: ScanRequest, _query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        assert!(request.filters.is_empty(), "computed tables evaluate no filters");
        let metrics = OperatorMetrics::new(request.name);
        Ok(Arc::new(ComputedSource {
            compute: self.compute.clone(),
            columns: request.columns,
            rows: OnceLock::new(),
            metrics,
        }))
    }
}

struct ComputedSource {
    compute: Compute,
    columns: Vec<usize>,
    /// Known when the source has started.
    rows: OnceLock<Arc<ValuesSource>>,
    metrics: Arc<OperatorMetrics>,
}

impl Operator for ComputedSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Source for ComputedSource {
    fn start(&self, query: &Arc<QueryContext>) -> Result<()> {
        let batch = (self.compute)()?;
        let vectors = batch.columns().iter().map(from_arrow).collect::<Result<Vec<_>>>()?;
        let chunk = Chunk::new(vectors, batch.num_rows()).project(&self.columns);
        let is_first = self.rows.set(ValuesSource::new(vec![chunk], query, "Rows")).is_ok();
        assert!(is_first, "a source starts once");
        Ok(())
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn parallelism(&self) -> usize {
        1
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        self.rows.get().expect("workers are made after the start").clone().worker(query)
    }
}
