//! The rows that a part of a statement returned, for its other parts.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use godwit_common::Result;
use godwit_pipeline::{QueryContext, ScanRequest, Source, Table, TableHandle};
use godwit_vector::{Chunk, ColumnType, RowType, from_arrow};

use crate::operators::ValuesSource;

/// A table of existing rows.
pub struct ReturnedRows {
    row_type: RowType,
    chunks: Vec<Chunk>,
}

impl ReturnedRows {
    /// A handle through which the executor scans the batches of a result.
    pub fn handle(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<Arc<TableHandle>> {
        let types = schema.fields().iter().map(|field| ColumnType::new(field.data_type().clone(), field.is_nullable()));
        let row_type = types.collect::<Result<_>>()?;
        let chunk = |batch: &RecordBatch| {
            let vectors = batch.columns().iter().map(from_arrow).collect::<Result<Vec<_>>>()?;
            Ok(Chunk::new(vectors, batch.num_rows()))
        };
        let chunks = batches.iter().map(chunk).collect::<Result<_>>()?;
        Ok(Arc::new(TableHandle(Arc::new(Self { row_type, chunks }))))
    }
}

impl Table for ReturnedRows {
    fn row_type(&self) -> &RowType {
        &self.row_type
    }

    fn scan(self: Arc<Self>, request: ScanRequest, query: &Arc<QueryContext>) -> Result<Arc<dyn Source>> {
        assert!(request.filters.is_empty(), "returned rows evaluate no filters");
        let chunks = self.chunks.iter().map(|chunk| chunk.clone().project(&request.columns)).collect();
        Ok(ValuesSource::new(chunks, query, request.name))
    }
}
