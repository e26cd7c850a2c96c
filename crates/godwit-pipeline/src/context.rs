//! What a running query carries along: memory, settings, cancellation, progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use godwit_common::{Error, ErrorKind, Named, Result};
use godwit_io::{INTERRUPTED, Interrupt, interruptible};
use godwit_memory::BufferManager;
use parking_lot::Mutex;

/// Stops a query from any thread. Cheap to clone.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Default)]
struct CancelState {
    is_cancelled: AtomicBool,
    /// When the statement has taken too long, and how long that is.
    deadline: Option<(Instant, Duration)>,
    /// Called once, by whoever cancels: for what doesn't look at the flag by itself.
    listeners: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl CancelToken {
    /// A token of a statement that may take so long. Whoever works on it sees that its time is over; one that waits to be
    /// admitted or read is stopped when it goes on.
    pub fn with_timeout(timeout: Option<Duration>) -> Self {
        let deadline = timeout.and_then(|timeout| Some((Instant::now().checked_add(timeout)?, timeout)));
        Self(Arc::new(CancelState { deadline, ..CancelState::default() }))
    }

    /// Asks the query to stop; workers see it at their next chunk.
    pub fn cancel(&self) {
        self.0.is_cancelled.store(true, Ordering::SeqCst);
        let listeners = std::mem::take(&mut *self.0.listeners.lock());
        listeners.into_iter().for_each(|listener| listener());
    }

    /// Calls `listener` when the query is cancelled, or now if it is already.
    pub fn on_cancel(&self, listener: impl FnOnce() + Send + 'static) {
        self.0.listeners.lock().push(Box::new(listener));
        if self.is_cancelled() {
            self.cancel();
        }
    }

    /// Runs `work`; waits for files on other machines in it end when the query is cancelled, or its time over.
    pub fn interrupting<T>(&self, work: impl FnOnce() -> T) -> T {
        interruptible(self.0.clone(), work)
    }

    /// What an error comes from: who stopped a wait, if it was stopped, or else the error itself. A query that failed is
    /// cancelled, too, so it takes a look at the error.
    pub fn cause_of(&self, error: Error) -> Error {
        match error.message().contains(INTERRUPTED) {
            true => self.check().err().unwrap_or(error),
            false => error,
        }
    }

    /// True once cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::SeqCst)
    }

    /// An error once cancelled, or when the time is over.
    pub fn check(&self) -> Result<()> {
        self.0.check()
    }
}

impl CancelState {
    fn check(&self) -> Result<()> {
        if self.is_cancelled.load(Ordering::SeqCst) {
            return Err(Error::cancelled());
        }
        match self.deadline {
            Some((deadline, timeout)) if Instant::now() >= deadline => {
                let message = format!("the statement took longer than its statement_timeout of {timeout:?}");
                Err(Error::new(ErrorKind::Cancelled, message))
            }
            _ => Ok(()),
        }
    }
}

impl Interrupt for CancelState {
    fn is_interrupted(&self) -> bool {
        self.check().is_err()
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
    /// Rows are compressed before an operator keeps them if they are expected to take so many bytes; `None`: never.
    pub compress_from_bytes: Option<u64>,
    /// When small chunks are put together, and how.
    pub compaction: Compaction,
    /// Joins hand what they know of their keys to the scans of their probe sides.
    pub join_filters: bool,
    /// Rows per entry of a join's hash table, at most; below 1.
    pub join_load_factor: f64,
}

/// When chunks are compacted, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compaction {
    /// Never.
    None,
    /// Whatever isn't full.
    Full,
    /// What has at most 128 rows.
    Binary,
    /// By the cost model.
    Dynamic,
    /// By what turned out to be fastest.
    Learning,
    /// In the probe, without copying the probed side.
    Logical,
    /// In the probe, and elsewhere by what turned out to be fastest.
    #[default]
    Smart,
}

impl Named for Compaction {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("full", Self::Full),
        ("binary", Self::Binary),
        ("dynamic", Self::Dynamic),
        ("learning", Self::Learning),
        ("logical", Self::Logical),
        ("smart", Self::Smart),
    ];
}

impl Compaction {
    /// True if probes put the results of one probed chunk together.
    pub fn is_logical(self) -> bool {
        matches!(self, Self::Logical | Self::Smart)
    }

    /// True if compactors stand between operators.
    pub fn copies(self) -> bool {
        !matches!(self, Self::None | Self::Logical)
    }
}

/// Usual [`QuerySettings::join_load_factor`]: with half of the entries empty, few searches look at a second one.
pub const JOIN_LOAD_FACTOR: f64 = 0.5;

/// Usual [`QuerySettings::compress_from_bytes`]: 32 MiB. What stays in a processor's caches isn't worth it.
pub const COMPRESS_FROM_BYTES: u64 = 32 << 20;

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
