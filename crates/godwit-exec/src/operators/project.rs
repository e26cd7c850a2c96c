//! SELECT lists: new columns from old ones.

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::{Expression, Projection};
use godwit_pipeline::{
    ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::Chunk;

use crate::operators::only;

/// Computes expressions. Plain columns pass under their selections, without a copy.
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

    fn is_reusable(&self) -> bool {
        true
    }
}

impl Transform for ProjectTransform {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(ProjectWorker(self.projection.clone())))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }
}

struct ProjectWorker(Projection);

impl TransformWorker for ProjectWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        self.0.evaluate(&chunk).map(only)
    }
}
