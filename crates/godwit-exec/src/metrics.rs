//! Counters per operator, for `EXPLAIN ANALYZE`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use godwit_memory::OwnerCounters;
use parking_lot::Mutex;

/// What an operator did in one query. Tasks count for themselves and add up at their end.
pub struct OperatorMetrics {
    name: String,
    /// Time inside this operator, all workers added, in nanoseconds. Zero unless the query is profiled.
    own_ns: AtomicU64,
    rows_out: AtomicU64,
    chunks_out: AtomicU64,
    /// Memory and spilling: operators allocate through `memory.scoped(metrics.memory())`.
    memory: Arc<OwnerCounters>,
    /// What else the operator wants to show, such as the fast path it took: name and value.
    notes: Mutex<Vec<(String, String)>>,
}

impl OperatorMetrics {
    /// Counters of an operator that `EXPLAIN` shows as `name` ("HashJoin inner on l_orderkey = o_orderkey").
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            own_ns: AtomicU64::new(0),
            rows_out: AtomicU64::new(0),
            chunks_out: AtomicU64::new(0),
            memory: Arc::default(),
            notes: Mutex::default(),
        })
    }

    /// What `EXPLAIN` shows.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Owner of the operator's memory.
    pub fn memory(&self) -> &Arc<OwnerCounters> {
        &self.memory
    }

    /// Adds what a task's share of the operator emitted. Called by the scheduler.
    pub(crate) fn add_output(&self, rows: u64, chunks: u64) {
        self.rows_out.fetch_add(rows, Ordering::Relaxed);
        self.chunks_out.fetch_add(chunks, Ordering::Relaxed);
    }

    /// Adds time spent in the operator.
    pub(crate) fn add_time(&self, time: Duration) {
        self.own_ns.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
    }

    /// Sets a note ("table: direct array, 1.5 M slots"); a later note of the same name replaces it.
    pub fn note(&self, name: &str, value: impl Into<String>) {
        let mut notes = self.notes.lock();
        match notes.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value.into(),
            None => notes.push((name.to_owned(), value.into())),
        }
    }

    /// Rows emitted.
    pub fn rows_out(&self) -> u64 {
        self.rows_out.load(Ordering::Relaxed)
    }

    /// Chunks emitted.
    pub fn chunks_out(&self) -> u64 {
        self.chunks_out.load(Ordering::Relaxed)
    }

    /// Time inside the operator, all workers added.
    pub fn own_time(&self) -> Duration {
        Duration::from_nanos(self.own_ns.load(Ordering::Relaxed))
    }

    /// The notes so far.
    pub fn notes(&self) -> Vec<(String, String)> {
        self.notes.lock().clone()
    }
}
