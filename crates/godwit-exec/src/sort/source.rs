//! The source of sorted rows.

use std::sync::Arc;

use godwit_common::Result;
use godwit_vector::Chunk;

use super::Shared;
use super::key::KeyWord;
use super::merge::Merger;
use crate::QueryContext;
use crate::metrics::OperatorMetrics;
use crate::pipeline::{Source, SourceVerdict, SourceWorker};

/// Merges what is left and emits it.
pub(super) struct SortedSource<K>(pub(super) Arc<Shared<K>>);

impl<K: KeyWord> Source for SortedSource<K> {
    fn parallelism(&self) -> usize {
        1
    }

    fn worker(&self, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let runs = std::mem::take(&mut *self.0.runs.lock());
        Ok(Box::new(SortedWorker { merger: Merger::new(&self.0, runs)?, shared: self.0.clone() }))
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }
}

struct SortedWorker<K> {
    shared: Arc<Shared<K>>,
    merger: Merger<K>,
}

impl<K: KeyWord> SourceWorker for SortedWorker<K> {
    fn next(&mut self) -> Result<SourceVerdict> {
        let shared = &*self.shared;
        let Some(batch) = self.merger.next(shared.chunk_rows)? else { return Ok(SourceVerdict::Done) };
        let columns =
            shared.output.iter().map(|&column| shared.layout.gather(&batch.rows, column, &batch.heaps)).collect();
        Ok(SourceVerdict::Chunk(Chunk::new(columns, batch.rows.len())))
    }
}
