//! The end of pipelines whose sources work and yield no rows, such as the insertion into a join's table.

use std::sync::Arc;

use godwit_common::Result;
use godwit_vector::Chunk;

use crate::QueryContext;
use crate::metrics::OperatorMetrics;
use crate::pipeline::{Sink, SinkVerdict, SinkWorker};

/// Forgets what it is given.
pub struct NothingSink {
    metrics: Arc<OperatorMetrics>,
}

impl NothingSink {
    /// A sink that `EXPLAIN` shows as `name`.
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { metrics: OperatorMetrics::new(name) })
    }
}

impl Sink for NothingSink {
    fn worker(&self, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(NothingWorker))
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
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
