//! LIMIT and OFFSET.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::Result;
use godwit_vector::Chunk;

use crate::QueryContext;
use crate::metrics::OperatorMetrics;
use crate::pipeline::{ChunkEffect, Transform, TransformVerdict, TransformWorker};

/// Skips `offset` rows and lets `limit` through, counted over all workers: which rows is up to chance unless the input
/// is ordered and has one worker. Stops the pipeline when the limit is reached.
pub struct LimitTransform {
    shared: Arc<Shared>,
    metrics: Arc<OperatorMetrics>,
}

struct Shared {
    offset: u64,
    /// First position that is not let through.
    end: u64,
    /// Position of the next row among all that arrived.
    position: AtomicU64,
}

impl LimitTransform {
    /// A limit that `EXPLAIN` shows as `name`. Without `limit`, only the offset is skipped.
    pub fn new(offset: u64, limit: Option<u64>, name: impl Into<String>) -> Arc<Self> {
        let end = limit.map_or(u64::MAX, |limit| offset.saturating_add(limit));
        let shared = Arc::new(Shared { offset, end, position: AtomicU64::new(0) });
        Arc::new(Self { shared, metrics: OperatorMetrics::new(name) })
    }
}

impl Transform for LimitTransform {
    fn worker(&self, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(LimitWorker(self.shared.clone())))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Limits
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

struct LimitWorker(Arc<Shared>);

impl TransformWorker for LimitWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        let Shared { offset, end, ref position } = *self.0;
        let first = position.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        let last = first + chunk.len() as u64;
        let (from, to) = (first.max(offset), last.min(end));
        if from < to {
            return Ok(TransformVerdict::Chunk(chunk.slice((from - first) as usize, (to - from) as usize)));
        }
        self.pull()
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        let is_reached = self.0.position.load(Ordering::Relaxed) >= self.0.end;
        Ok(if is_reached { TransformVerdict::Done } else { TransformVerdict::NeedInput })
    }
}
