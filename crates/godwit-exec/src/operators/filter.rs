//! WHERE, HAVING, and all other conditions that no other operator evaluates.

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::{Predicate, PredicateWorker};
use godwit_pipeline::{
    CacheUse, ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::Chunk;

use crate::operators::only;

/// Lets through the rows for which a predicate is TRUE. Columns aren't touched, only their selections.
pub struct FilterTransform {
    predicate: Predicate,
    metrics: Arc<OperatorMetrics>,
}

impl FilterTransform {
    /// A filter that `EXPLAIN` shows as `name`.
    pub fn new(predicate: Predicate, name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { predicate, metrics: OperatorMetrics::new(name) })
    }
}

impl Operator for FilterTransform {
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

impl Transform for FilterTransform {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(FilterWorker(self.predicate.worker())))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Reduces
    }
}

struct FilterWorker(PredicateWorker);

impl TransformWorker for FilterWorker {
    fn push(&mut self, mut chunk: Chunk) -> Result<TransformVerdict> {
        self.0.select(&mut chunk)?;
        Ok(only(chunk))
    }
}
