//! What a running query carries along: memory, settings, cancellation, progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use godwit_common::{Error, Result};
use godwit_memory::BufferManager;

/// Stops a query from any thread. Cheap to clone.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<AtomicBool>);

impl CancelToken {
    /// Asks the query to stop; workers see it at their next chunk.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// True once cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once cancelled.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }
}

/// Settings of a connection, frozen when the query starts.
#[derive(Debug, Clone)]
pub struct QuerySettings {
    /// Most rows in a chunk that a source emits. [`godwit_vector::CHUNK_ROWS`] except in tests of tiny and odd chunks.
    pub chunk_rows: usize,
    /// Workers that a pipeline may use at once.
    pub workers: usize,
    /// Measures time and rows per operator (`EXPLAIN ANALYZE`).
    pub profile: bool,
}

/// A running query.
pub struct QueryContext {
    /// The pool, with this query as owner of what it allocates.
    pub memory: BufferManager,
    /// Settings, frozen.
    pub settings: QuerySettings,
    /// Set by the user, a timeout, or the first error.
    pub cancel: CancelToken,
    /// Rows that the scans have consumed so far, of [`QueryContext::rows_known`].
    pub rows_done: AtomicU64,
    /// Rows that all scans started so far will read.
    pub rows_known: AtomicU64,
}

impl QueryContext {
    /// A query about to run.
    pub fn new(memory: BufferManager, settings: QuerySettings, cancel: CancelToken) -> Arc<Self> {
        assert!(settings.chunk_rows > 0 && settings.workers > 0);
        Arc::new(Self { memory, settings, cancel, rows_done: AtomicU64::new(0), rows_known: AtomicU64::new(0) })
    }

    /// Share of the scans' input that is consumed, 0 to 1.
    pub fn progress(&self) -> f64 {
        let known = self.rows_known.load(Ordering::Relaxed);
        if known == 0 { 0.0 } else { (self.rows_done.load(Ordering::Relaxed) as f64 / known as f64).min(1.0) }
    }
}
