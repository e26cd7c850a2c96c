//! SELECT lists: new columns from old ones.

use std::sync::Arc;

use godwit_common::{ErrorKind, Result};
use godwit_expression::{Expression, Projection};
use godwit_pipeline::{
    CacheUse, ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::Chunk;

use crate::operators::only;

/// Computes expressions. Plain columns are passed on under their selections, without a copy.
pub struct ProjectTransform {
    projection: Projection,
    metrics: Arc<OperatorMetrics>,
}

impl ProjectTransform {
    /// A projection that `EXPLAIN` shows as `name`.
    pub fn new(expressions: Vec<Expression>, name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { projection: Projection::new(expressions), metrics: OperatorMetrics::new(name) })
    }
}

impl Operator for ProjectTransform {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::CHUNKS
    }

    fn is_reusable(&self) -> bool {
        true
    }
}

impl Transform for ProjectTransform {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(ProjectWorker { projection: self.projection.clone(), waiting: None }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }
}

struct ProjectWorker {
    projection: Projection,
    /// A chunk whose rows are too large to be computed all at once.
    waiting: Option<Heavy>,
}

struct Heavy {
    chunk: Chunk,
    /// The first row that isn't computed yet.
    row: usize,
    /// Rows that are computed together.
    rows: usize,
}

impl TransformWorker for ProjectWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        match self.projection.evaluate_together(&chunk) {
            Err(error) if error.kind() == ErrorKind::Resource && chunk.len() > 1 => {
                let rows = chunk.len().div_ceil(2);
                self.waiting = Some(Heavy { chunk, row: 0, rows });
                self.pull()
            }
            computed => computed.map(only),
        }
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        let Some(heavy) = &mut self.waiting else { return Ok(TransformVerdict::NeedInput) };
        loop {
            let rows = heavy.rows.min(heavy.chunk.len() - heavy.row);
            match self.projection.evaluate_together(&heavy.chunk.slice(heavy.row, rows)) {
                Err(error) if error.kind() == ErrorKind::Resource && rows > 1 => heavy.rows = rows.div_ceil(2),
                computed => {
                    heavy.row += rows;
                    if heavy.row == heavy.chunk.len() {
                        self.waiting = None;
                        return computed.map(TransformVerdict::LastChunk);
                    }
                    return computed.map(TransformVerdict::Chunk);
                }
            }
        }
    }
}
