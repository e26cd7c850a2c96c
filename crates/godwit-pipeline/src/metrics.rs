//! Counters per operator, for `EXPLAIN ANALYZE`.

use std::ops::AddAssign;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use godwit_memory::{ObjectKind, OwnerCounters};
use parking_lot::Mutex;

use crate::scan::ScannedColumn;

/// Rows and chunks that passed some point, summed over several workers.
#[derive(Default)]
pub struct Flow {
    rows: AtomicU64,
    chunks: AtomicU64,
}

impl Flow {
    /// Adds to the counts.
    pub fn add(&self, counts: FlowCounts) {
        self.rows.fetch_add(counts.rows, Ordering::Relaxed);
        self.chunks.fetch_add(counts.chunks, Ordering::Relaxed);
    }

    /// The counts so far.
    pub fn counts(&self) -> FlowCounts {
        FlowCounts { rows: self.rows.load(Ordering::Relaxed), chunks: self.chunks.load(Ordering::Relaxed) }
    }
}

/// Numbers of rows and chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Rows.
    pub rows: u64,
    /// Chunks that held them.
    pub chunks: u64,
}

impl FlowCounts {
    /// Adds a chunk.
    pub fn add_chunk(&mut self, rows: usize) {
        self.rows += rows as u64;
        self.chunks += 1;
    }

    /// Mean size of a chunk, in rows.
    pub fn mean_rows(self) -> f64 {
        self.rows as f64 / self.chunks.max(1) as f64
    }
}

impl AddAssign for FlowCounts {
    fn add_assign(&mut self, more: Self) {
        self.rows += more.rows;
        self.chunks += more.chunks;
    }
}

/// What a compactor did with the chunks of the operator before it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CompactionCounts {
    /// Its input.
    pub arrived: FlowCounts,
    /// Its output.
    pub left: FlowCounts,
    /// Rows that were copied to make larger chunks.
    pub rows_copied: u64,
    /// The final threshold: chunks with more rows passed through.
    pub threshold: usize,
    /// Thresholds that were tried, and how often each was chosen.
    pub tried: Vec<(usize, u64)>,
    /// How often learning started over.
    pub resets: u32,
}

impl CompactionCounts {
    fn add(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.left += other.left;
        self.rows_copied += other.rows_copied;
        self.resets += other.resets;
        if other.arrived.chunks > 0 || self.arrived.chunks == 0 {
            self.threshold = other.threshold;
        }
        for &(threshold, times) in &other.tried {
            match self.tried.iter_mut().find(|(known, _)| *known == threshold) {
                Some((_, all)) => *all += times,
                None => self.tried.push((threshold, times)),
            }
        }
        self.tried.sort_unstable();
    }
}

/// One of the compactors after an operator.
#[derive(Debug, Clone, Copy)]
pub struct CompactionAccount(usize);

/// Metrics of an operator in one query. Tasks count on their own and add their counts at the end.
pub struct OperatorMetrics {
    name: Arc<str>,
    /// Time inside this operator, summed over all workers, in nanoseconds. Zero unless the query is profiled.
    own_ns: AtomicU64,
    input: Flow,
    output: Flow,
    /// By [`CompactionAccount`]: spilled rows of an operator are emitted by another pipeline, which has a compactor of
    /// its own.
    compaction: Mutex<Vec<Option<CompactionCounts>>>,
    /// Memory and spilling: operators allocate through `memory.scoped(metrics.memory())`.
    memory: Arc<OwnerCounters>,
    /// Other information about the operator, such as the fast path it took: name and value.
    notes: Mutex<Vec<(String, String)>>,
    /// For a scan: what it did with its columns.
    columns: Mutex<Vec<ScannedColumn>>,
}

impl OperatorMetrics {
    /// Counters of an operator that `EXPLAIN` shows as `name` ("HashJoin inner on l_orderkey = o_orderkey").
    pub fn new(name: impl Into<String>) -> Arc<Self> {
        let name: Arc<str> = name.into().into();
        let memory = OwnerCounters::new();
        memory.identify(ObjectKind::Operator, name.clone());
        Arc::new(Self {
            name,
            own_ns: AtomicU64::new(0),
            input: Flow::default(),
            output: Flow::default(),
            compaction: Mutex::default(),
            memory,
            notes: Mutex::default(),
            columns: Mutex::default(),
        })
    }

    /// The name that `EXPLAIN` shows.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Owner of the operator's memory.
    pub fn memory(&self) -> &Arc<OwnerCounters> {
        &self.memory
    }

    /// Adds the output of a task's share of the operator. Called by the scheduler.
    pub fn add_output(&self, counts: FlowCounts) {
        self.output.add(counts);
    }

    /// Adds the input of a task's share of a streaming operator. Called by the scheduler.
    pub fn add_input(&self, counts: FlowCounts) {
        self.input.add(counts);
    }

    /// Opens an account for a compactor behind the operator.
    pub fn open_compaction(&self) -> CompactionAccount {
        let mut accounts = self.compaction.lock();
        accounts.push(None);
        CompactionAccount(accounts.len() - 1)
    }

    /// Publishes a compactor's counts so far for the operator's chunks.
    pub fn set_compaction(&self, account: CompactionAccount, counts: CompactionCounts) {
        self.compaction.lock()[account.0] = Some(counts);
    }

    /// Adds time spent in the operator.
    pub fn add_time(&self, time: Duration) {
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

    /// Publishes what a scan has done with its columns so far.
    pub fn set_columns(&self, columns: Vec<ScannedColumn>) {
        *self.columns.lock() = columns;
    }

    /// What a scan did with its columns; empty for other operators.
    pub fn columns(&self) -> Vec<ScannedColumn> {
        self.columns.lock().clone()
    }

    /// Rows and chunks emitted.
    pub fn output(&self) -> FlowCounts {
        self.output.counts()
    }

    /// The input of a streaming operator; zero for all others, whose input is the output of the operators below them.
    pub fn input(&self) -> FlowCounts {
        self.input.counts()
    }

    /// What compactors did with the output; known only for profiled queries.
    pub fn compaction(&self) -> Option<CompactionCounts> {
        let accounts = self.compaction.lock();
        accounts.iter().flatten().cloned().reduce(|mut all, one| {
            all.add(&one);
            all
        })
    }

    /// Time inside the operator, summed over all workers.
    pub fn own_time(&self) -> Duration {
        Duration::from_nanos(self.own_ns.load(Ordering::Relaxed))
    }

    /// The notes so far.
    pub fn notes(&self) -> Vec<(String, String)> {
        self.notes.lock().clone()
    }
}
