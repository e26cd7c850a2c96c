//! VALUES, and the one row without columns that `SELECT 1` reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use godwit_common::Result;
use godwit_vector::Chunk;

use crate::QueryContext;
use crate::metrics::OperatorMetrics;
use crate::pipeline::{Source, SourceVerdict, SourceWorker};

/// Emits given chunks, in order if there is one worker.
pub struct ValuesSource {
    shared: Arc<Shared>,
    metrics: Arc<OperatorMetrics>,
}

struct Shared {
    chunks: Vec<Chunk>,
    next: AtomicUsize,
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
        let shared = Arc::new(Shared { chunks: pieces.collect(), next: AtomicUsize::new(0) });
        Arc::new(Self { shared, metrics: OperatorMetrics::new(name) })
    }
}

impl Source for ValuesSource {
    fn is_ordered(&self) -> bool {
        true
    }

    fn parallelism(&self) -> usize {
        1
    }

    fn worker(&self, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(ValuesWorker(self.shared.clone())))
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

struct ValuesWorker(Arc<Shared>);

impl SourceWorker for ValuesWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let index = self.0.next.fetch_add(1, Ordering::Relaxed);
        Ok(self.0.chunks.get(index).cloned().map_or(SourceVerdict::Done, SourceVerdict::Chunk))
    }
}
