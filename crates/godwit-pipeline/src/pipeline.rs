//! The three roles in a pipeline, and the verdicts that they return.
//!
//! ```text
//!            ┌──────────── one task per worker, each with its own worker objects ────────────┐
//! Source ──▶ SourceWorker::next ─▶ TransformWorker::push/pull ─▶ … ─▶ SinkWorker::sink │ combine
//!  start (once)                                                                          Sink::finalize (once)
//! ```
//!
//! The object that implements [`Source`], [`Transform`] or [`Sink`] is the shared state of the operator in one query,
//! which its workers hold; a plan is used for one execution. Worker objects are owned by one task and never locked.
//! Steps never block: a step that has to wait returns `Blocked` with a [`Signal`], and the scheduler runs other work
//! until it fires.

use std::sync::Arc;

use godwit_common::Result;
use godwit_vector::Chunk;

use crate::QueryContext;
use crate::cache::CacheUse;
use crate::metrics::OperatorMetrics;
use crate::signal::Signal;

/// The interface that the three roles have in common.
pub trait Operator: Send + Sync {
    /// Counters for `EXPLAIN ANALYZE`.
    fn metrics(&self) -> &Arc<OperatorMetrics>;

    /// The planner's estimate of the maximum bytes that `workers` workers pin at once where memory is short: open
    /// pages, tables, readers' buffers. Pages that may be evicted don't count.
    fn pinned_bytes(&self, _workers: usize) -> u64 {
        0
    }

    /// How it uses the last-level cache. Asked when its pipeline is launched, after the source has started.
    fn cache_use(&self) -> CacheUse {
        CacheUse::UNKNOWN
    }

    /// True if a run leaves no state behind, other than what it has learned about speed, so that the same object may be
    /// run again.
    fn is_reusable(&self) -> bool {
        false
    }
}

/// The source of a pipeline's chunks.
pub trait Source: Operator {
    /// Called once, by one thread, when all pipelines that this one depends on have finished, before any worker exists.
    fn start(&self, _query: &Arc<QueryContext>) -> Result<()> {
        Ok(())
    }

    /// Called once, when the query begins: remote data that will certainly be needed may be requested in advance.
    fn announce(&self, _query: &QueryContext) {}

    /// How many workers could find work, known after `start`. At least one task is created.
    fn parallelism(&self) -> usize;

    /// True if the order of the rows matters: then they come from one worker, and have to stay in order.
    fn is_ordered(&self) -> bool {
        false
    }

    /// Its effect on the size of chunks.
    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }

    /// Creates the worker state for one task. May be called concurrently.
    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>>;
}

/// One task's end of a [`Source`].
pub trait SourceWorker: Send {
    /// The next chunk (never empty, at most `chunk_rows` rows), or why there is none.
    fn next(&mut self) -> Result<SourceVerdict>;
}

/// The verdict of a source.
pub enum SourceVerdict {
    /// Rows.
    Chunk(Chunk),
    /// Did a piece of work that yields no rows (inserted a morsel into a hash table); ask again.
    Worked,
    /// Nothing to do before the signal fires; ask again then.
    Blocked(Signal),
    /// This worker is finished.
    Done,
}

/// A streaming operator between source and sink.
pub trait Transform: Operator {
    /// Creates the worker state for one task. May be called concurrently.
    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>>;

    /// Its effect on the size of chunks.
    fn effect(&self) -> ChunkEffect;
}

/// The effect of an operator on the size of chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkEffect {
    /// Each chunk becomes one, or several that are as large as possible.
    Streams,
    /// Large chunks may become small ones.
    Reduces,
    /// It may stop asking for rows: none may be held back before it.
    Limits,
}

/// One task's end of a [`Transform`]. The driver calls `push` once, then `pull` as long as the previous answer was
/// [`TransformVerdict::Chunk`], and so on; at the end `finish` once, then `pull` in the same way. Where chunks are
/// small, the number of calls matters: an operator that turns each chunk into one is called only once for it.
pub trait TransformWorker: Send {
    /// Takes a chunk (never empty), and returns the first one made from it.
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict>;

    /// The next chunk made from the input. Everything downstream has finished with the previous one.
    fn pull(&mut self) -> Result<TransformVerdict> {
        Ok(TransformVerdict::NeedInput)
    }

    /// The input of this task has ended: rows that are held back (compaction buffers) may be emitted now.
    fn finish(&mut self) -> Result<TransformVerdict> {
        Ok(TransformVerdict::NeedInput)
    }
}

/// The verdict of a transform.
pub enum TransformVerdict {
    /// Rows (never empty); ask again.
    Chunk(Chunk),
    /// The last rows (never empty) made from the input so far.
    LastChunk(Chunk),
    /// All input so far has been processed.
    NeedInput,
    /// There will be no more output whatever the input (a limit was reached): the whole pipeline may stop.
    Done,
}

/// The consumer of the chunks of one or several pipelines.
pub trait Sink: Operator {
    /// Creates the worker state for one task. May be called concurrently.
    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>>;

    /// Called once, by one thread, when all workers of all pipelines that feed this sink have combined.
    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        Ok(())
    }
}

/// One task's end of a [`Sink`].
pub trait SinkWorker: Send {
    /// Takes a chunk (never empty).
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict>;

    /// Adds this worker's state to the shared one. Called once, at the end, in parallel with other workers.
    fn combine(self: Box<Self>) -> Result<()>;
}

/// The verdict of a sink.
pub enum SinkVerdict {
    /// Continue.
    NeedInput,
    /// The chunk was taken, but no other may follow before the signal fires (the reader of the result is slow).
    Blocked(Signal),
    /// No more rows are wanted: the whole pipeline may stop.
    Done,
}

/// A source, transforms in order, and a sink.
#[derive(Clone)]
pub struct Pipeline {
    /// Where rows come from.
    pub source: Arc<dyn Source>,
    /// The operators that they pass through.
    pub transforms: Vec<Arc<dyn Transform>>,
    /// Where they end up. Pipelines may share a sink; it is finalized after the last of them.
    pub sink: Arc<dyn Sink>,
    /// Indices of pipelines of the same plan that must be complete (their sink finalized, unless a later pipeline feeds
    /// it too) before this one starts.
    pub depends_on: Vec<usize>,
}

impl Pipeline {
    /// Whether it can be run again without running others first.
    pub fn is_reusable(&self) -> bool {
        let transforms = self.transforms.iter().all(|transform| transform.is_reusable());
        self.depends_on.is_empty() && self.source.is_reusable() && transforms && self.sink.is_reusable()
    }

    /// The metrics and cache uses of its operators, from the source to the sink.
    pub(crate) fn operators(&self) -> impl Iterator<Item = (&OperatorMetrics, CacheUse)> {
        let source = std::iter::once((&**self.source.metrics(), self.source.cache_use()));
        let transforms = self.transforms.iter().map(|transform| (&**transform.metrics(), transform.cache_use()));
        source.chain(transforms).chain([(&**self.sink.metrics(), self.sink.cache_use())])
    }

    /// The maximum bytes that the pipeline pins at once where memory is short.
    pub fn pinned_bytes(&self, workers: usize) -> u64 {
        let transforms: u64 = self.transforms.iter().map(|transform| transform.pinned_bytes(workers)).sum();
        self.source.pinned_bytes(workers) + transforms + self.sink.pinned_bytes(workers)
    }
}
