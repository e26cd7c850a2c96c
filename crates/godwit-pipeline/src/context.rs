//! The context of a running query: memory, settings, cancellation, progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use godwit_cache::CachePartitioning;
use godwit_common::{Error, ErrorKind, MemoryTag, Named, Result};
use godwit_io::{INTERRUPTED, Interrupt, interruptible};
use godwit_memory::BufferManager;
use godwit_scalar::{Lease, Work};
use parking_lot::Mutex;

use crate::CacheDecision;

/// Stops a query from any thread. Cheap to clone.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<CancelState>);

#[derive(Default)]
struct CancelState {
    is_cancelled: AtomicBool,
    /// The deadline of the statement, and the timeout that it results from.
    deadline: Option<(Instant, Duration)>,
    /// Called once, by the thread that cancels: for code that doesn't check the flag by itself.
    listeners: Mutex<Vec<Box<dyn FnOnce() + Send>>>,
}

impl CancelToken {
    /// A token for a statement with a time limit. Workers notice when the time is up; a query that waits to be admitted
    /// or read is stopped once it continues.
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

    /// Calls `listener` when the query is cancelled, or right away if it already is.
    pub fn on_cancel(&self, listener: impl FnOnce() + Send + 'static) {
        self.0.listeners.lock().push(Box::new(listener));
        if self.is_cancelled() {
            self.cancel();
        }
    }

    /// Runs `work`; its waits for remote files end when the query is cancelled or its time is up.
    pub fn interrupting<T>(&self, work: impl FnOnce() -> T) -> T {
        interruptible(self.0.clone(), work)
    }

    /// The cause of an error: whatever interrupted a wait, if one was interrupted, or else the error itself. A failed
    /// query is cancelled, too, so the error has to be checked.
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

    /// Returns an error once cancelled or when the time is up.
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
    /// Maximum number of rows in a chunk that a source emits: [`godwit_vector::CHUNK_ROWS`], except in tests with tiny
    /// and odd chunks.
    pub chunk_rows: usize,
    /// Workers that a pipeline may use at once.
    pub workers: usize,
    /// Measures time and rows per operator (`EXPLAIN ANALYZE`).
    pub profile: bool,
    /// Expected size, in bytes, at which rows are compressed before an operator keeps them; `None`: never.
    pub compress_from_bytes: Option<u64>,
    /// When and how small chunks are compacted.
    pub compaction: Compaction,
    /// Whether joins pass on what they know about their keys to the scans of their probe sides.
    pub join_filters: bool,
    /// Partitions of the last-level cache, which workers enter by the class of their pipeline; `None`: they stay at
    /// home.
    pub cache: Option<Arc<CachePartitioning>>,
    /// Maximum number of rows per entry of a join's hash table; below 1.
    pub join_load_factor: f64,
}

/// When and how chunks are compacted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compaction {
    /// Never.
    None,
    /// All chunks that aren't full.
    Full,
    /// All chunks of at most 128 rows.
    Binary,
    /// By the cost model.
    Dynamic,
    /// By what has proven fastest.
    Learning,
    /// In the probe, without copying the probe side.
    Logical,
    /// In the probe, and elsewhere by what has proven fastest.
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
    /// True if probes concatenate the results of one probed chunk.
    pub fn is_logical(self) -> bool {
        matches!(self, Self::Logical | Self::Smart)
    }

    /// True if there are compactors between operators.
    pub fn copies(self) -> bool {
        !matches!(self, Self::None | Self::Logical)
    }
}

/// Default [`QuerySettings::join_load_factor`]: with half of the entries empty, few lookups probe a second one.
pub const JOIN_LOAD_FACTOR: f64 = 0.5;

/// Default [`QuerySettings::compress_from_bytes`]: 32 MiB. It isn't worth it for data that stays in the processor's
/// caches.
pub const COMPRESS_FROM_BYTES: u64 = 32 << 20;

/// Maximum number of pipelines whose classes are remembered.
const CACHE_DECISIONS_MAX: usize = 1000;

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
    cache_decisions: Mutex<Vec<CacheDecision>>,
}

/// The strings that a function produces for the rows of a chunk take at most this part of the memory limit, ...
const ROWS_PER_LIMIT: usize = 64;

/// ... but may always take 1 MiB, as much as most chunks need, ...
const ROWS_BYTES_MIN: usize = 1 << 20;

/// ... and no more than fits in the caches of the largest processors, which is what chunks are for.
const ROWS_BYTES_MAX: usize = 32 << 20;

/// What functions query while they compute rows.
impl Work for QueryContext {
    fn reserve(&self, bytes: usize) -> Result<Lease> {
        Ok(Box::new(self.memory.reserve(bytes, MemoryTag::Other)?))
    }

    fn rows_bytes_max(&self) -> usize {
        let limit = usize::try_from(self.memory.memory_limit()).unwrap_or(usize::MAX);
        (limit / ROWS_PER_LIMIT).clamp(ROWS_BYTES_MIN, ROWS_BYTES_MAX)
    }

    fn check(&self) -> Result<()> {
        self.cancel.check()
    }
}

impl QueryContext {
    /// A query about to run.
    pub fn new(memory: BufferManager, settings: QuerySettings, cancel: CancelToken) -> Arc<Self> {
        assert!(settings.chunk_rows > 0 && settings.workers > 0);
        let (rows_done, rows_known) = (AtomicU64::new(0), AtomicU64::new(0));
        Arc::new(Self { memory, settings, cancel, rows_done, rows_known, cache_decisions: Mutex::default() })
    }

    /// Remembers the class of a launched pipeline. If there are very many, as with the rounds of a recursion, only the
    /// first ones.
    pub fn note_cache(&self, decision: CacheDecision) {
        let mut decisions = self.cache_decisions.lock();
        if decisions.len() < CACHE_DECISIONS_MAX {
            decisions.push(decision);
        }
    }

    /// The classes of a profiled query's pipelines, in the order of their launch.
    pub fn cache_decisions(&self) -> Vec<CacheDecision> {
        self.cache_decisions.lock().clone()
    }

    /// Share of the scans' input that has been consumed, 0 to 1.
    pub fn progress(&self) -> f64 {
        let known = self.rows_known.load(Ordering::Relaxed);
        if known == 0 { 0.0 } else { (self.rows_done.load(Ordering::Relaxed) as f64 / known as f64).min(1.0) }
    }
}
