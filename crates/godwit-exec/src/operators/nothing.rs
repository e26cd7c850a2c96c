//! The end of pipelines whose sources yield no rows, such as inserting into a join's table.

use std::sync::Arc;

use godwit_common::Result;
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Sink, SinkVerdict, SinkWorker};
use godwit_vector::Chunk;

/// Drops its input.
pub struct NothingSink {
    metrics: Arc<OperatorMetrics>,
}

impl NothingSink {
    /// A sink that `EXPLAIN` shows as `name`.
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { metrics: OperatorMetrics::new(name) })
    }
}

impl Operator for NothingSink {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::polluting("keeps a row at most")
    }
}

impl Sink for NothingSink {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(NothingWorker))
    }
}

struct NothingWorker;

impl SinkWorker for NothingWorker {
    fn sink(&mut self, _chunk: Chunk) -> Result<SinkVerdict> {
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
