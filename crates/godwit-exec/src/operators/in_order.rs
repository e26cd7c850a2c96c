//! Sources whose rows must arrive in order, because they are numbered.

use std::sync::Arc;

use godwit_common::Result;
use godwit_pipeline::{CacheUse, ChunkEffect, Operator, OperatorMetrics, QueryContext, Source, SourceWorker};

/// A source that a single worker reads, so that its rows come in sequence.
pub struct InOrderSource(Arc<dyn Source>);

impl InOrderSource {
    /// The rows of a source, in its order.
    pub fn new(source: Arc<dyn Source>) -> Arc<Self> {
        Arc::new(Self(source))
    }
}

impl Operator for InOrderSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        self.0.metrics()
    }

    fn cache_use(&self) -> CacheUse {
        self.0.cache_use()
    }

    fn pinned_bytes(&self, _workers: usize) -> u64 {
        self.0.pinned_bytes(1)
    }
}

impl Source for InOrderSource {
    fn start(&self, query: &Arc<QueryContext>) -> Result<()> {
        self.0.start(query)
    }

    fn parallelism(&self) -> usize {
        1
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn effect(&self) -> ChunkEffect {
        self.0.effect()
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        self.0.clone().worker(query)
    }
}
