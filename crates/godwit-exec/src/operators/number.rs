//! `row_number() OVER ()`.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use godwit_common::Result;
use godwit_pipeline::{
    CacheUse, ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::{Chunk, Vector};

/// Adds a column that numbers the rows, starting at 1, in order of arrival: after an
/// [`InOrderSource`](super::InOrderSource), in the order of the source.
pub struct NumberTransform {
    next: AtomicI64,
    metrics: Arc<OperatorMetrics>,
}

impl NumberTransform {
    /// A numbering that `EXPLAIN` shows as `name`.
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { next: AtomicI64::new(1), metrics: OperatorMetrics::new(name) })
    }
}

impl Operator for NumberTransform {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::CHUNKS
    }
}

impl Transform for NumberTransform {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(NumberWorker(self)))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }
}

struct NumberWorker(Arc<NumberTransform>);

impl TransformWorker for NumberWorker {
    fn push(&mut self, mut chunk: Chunk) -> Result<TransformVerdict> {
        let rows = chunk.len() as i64;
        let first = self.0.next.fetch_add(rows, Ordering::Relaxed);
        chunk.push(Vector::from_values((first..first + rows).collect::<Vec<i64>>(), None));
        Ok(TransformVerdict::LastChunk(chunk))
    }
}
