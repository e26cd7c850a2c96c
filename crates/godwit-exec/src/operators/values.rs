//! VALUES, and the single row without columns that `SELECT 1` reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use godwit_common::Result;
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Source, SourceVerdict, SourceWorker};
use godwit_vector::Chunk;

/// Emits given chunks, in order if there is one worker.
pub struct ValuesSource {
    chunks: Vec<Chunk>,
    next: AtomicUsize,
    metrics: Arc<OperatorMetrics>,
}

impl ValuesSource {
    /// A source of `chunks` that `EXPLAIN` shows as `name`. Empty chunks are left out, long ones cut to what the query
    /// allows.
    pub fn new(chunks: Vec<Chunk>, query: &QueryContext, name: impl Into<String>) -> Arc<Self> {
        let rows_max = query.settings.chunk_rows;
        let pieces = chunks.iter().flat_map(|chunk| {
            let starts = (0..chunk.len()).step_by(rows_max);
            starts.map(move |start| chunk.slice(start, rows_max.min(chunk.len() - start)))
        });
        Arc::new(Self { chunks: pieces.collect(), next: AtomicUsize::new(0), metrics: OperatorMetrics::new(name) })
    }
}

impl Operator for ValuesSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::polluting("makes each row once")
    }
}

impl Source for ValuesSource {
    fn is_ordered(&self) -> bool {
        true
    }

    fn parallelism(&self) -> usize {
        1
    }

    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(ValuesWorker(self)))
    }
}

struct ValuesWorker(Arc<ValuesSource>);

impl SourceWorker for ValuesWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let index = self.0.next.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.chunks.get(index).cloned().map_or(SourceVerdict::Done, SourceVerdict::Chunk))
    }
}
