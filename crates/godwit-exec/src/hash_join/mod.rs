//! Hash join, in memory as long as possible, spilling only as much as necessary.
//!
//! ```text
//! build child ─▶ BuildSink      rows: key columns, payload, hash, link; in spillable pages, partitioned when large
//! TableSource ─▶ (nothing)      as many partitions as fit are pinned and inserted, by all workers   → JoinTable
//! probe child ─▶ Probe ─▶ …     rows of resident partitions are looked up at once, the others spilled by column
//! RestSource  ─▶ …              build rows without a match; then rounds of (insert, probe, scan) over what was spilled
//! ```
//!
//! Source: external-hash-join paper, section 4. Decisions are made at run time, from actual counts: if all build rows
//! fit, nothing is partitioned or routed, and the join is a plain in-memory join.
//!
//! *Tables* (table.rs): a salted hash table; an array indexed by key where keys are dense integers; a bit vector where
//! only the existence of a key matters, filled by the build sink itself, without rows, where the plan proves the range.
//!
//! *Probe* (prober.rs): pairs of probe position and build row are enumerated one chain step at a time, filtered by the
//! residual predicate, then emitted: probe columns under a selection, build columns gathered.
//!
//! *Extremes* (extremes.rs): where the residual of a semi or anti join that emits build rows compares a probe column
//! with build columns, the least and the greatest value of that column per key decide. Probe rows record them at the
//! heads of the chains, and build rows are compared with them at the end: no pairs are formed, however many rows of
//! both sides have the same key.
//!
//! *Too large for memory* (rounds.rs): a partition that doesn't fit is refined by more bits of the hash; one that has
//! only few keys is joined in chunks of its build rows, each against all its probe rows, which have a flag for whether
//! they have had a match.
//!
//! *Memory*: once all joins that are probed in one pipeline have their build rows in spillable pages, each has reported
//! how much it could use, and is granted its share before its table is built; after the initial probe, memory is
//! divided again before each round (`godwit_memory::MemoryClaim`). If others ask for memory while the probe side
//! streams, resident partitions are given up (residency.rs).
//!
//! Rows with a NULL in their key have no match unless NULLs are equal. On the build side they are dropped, or set aside
//! if build rows without a match are emitted; on the probe side they are handled immediately.

mod build;
mod config;
mod extremes;
mod plan;
mod probe;
mod prober;
mod residency;
mod rest;
mod rounds;
mod table;
mod table_source;

#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use godwit_common::Result;
use godwit_expression::{Expression, Predicate};
use godwit_memory::{BufferManager, MemoryClaim, PAGE_BYTES};
use godwit_pipeline::key_filter::KeySet;
use godwit_pipeline::{KeyFilter, OperatorMetrics, QueryContext, Sink, Source, Transform};
use godwit_rows::{PartitionedColumns, RowCollection};
use godwit_vector::{RowType, ValueRange};
use parking_lot::Mutex;

use build::{BuildSink, Collected};
use plan::JoinPlan;
use probe::Probe;
use residency::Residencies;
use rest::RestSource;
use rounds::LeftPartition;
use table_source::TableSource;

/// Which rows a join emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// Pairs.
    Inner,
    /// Pairs, and probe rows without a match.
    Left,
    /// Pairs, and build rows without a match.
    Right,
    /// Pairs, and rows of both sides without a match.
    Full,
    /// Probe rows with a match.
    ProbeSemi,
    /// Probe rows without a match.
    ProbeAnti,
    /// Build rows with a match.
    BuildSemi,
    /// Build rows without a match.
    BuildAnti,
    /// All probe rows, and whether they have a match.
    Mark,
    /// All probe rows with their match; it is an error if there are several.
    Single,
}

/// What to join and what to emit.
pub struct HashJoinSpec {
    /// Which rows are emitted.
    pub kind: JoinKind,
    /// Keys of the probe side, at least one.
    pub probe_keys: Vec<Expression>,
    /// Keys of the build side, each of the same physical type as its counterpart.
    pub build_keys: Vec<Expression>,
    /// Columns of the probe side's chunks.
    pub probe_type: RowType,
    /// Columns of the build side's chunks.
    pub build_type: RowType,
    /// The condition for a match besides equal keys, over the probe columns followed by the build columns.
    pub residual: Option<Predicate>,
    /// The only column of the probe side that the residual reads, provided that the residual is TRUE for a build row
    /// and some probe row with its key if and only if it is TRUE for the least or the greatest value that the column
    /// has for the key. For `BuildSemi` and `BuildAnti`, and types that [`KeyExtremes`](godwit_rows::KeyExtremes)
    /// support.
    pub extremes: Option<usize>,
    /// NULL keys match each other (`IS NOT DISTINCT FROM`, INTERSECT, EXCEPT).
    pub nulls_equal: bool,
    /// `NOT IN` and `IN`: a NULL key on either side makes "no match" unknown. For `ProbeAnti`, `BuildAnti` and `Mark`
    /// with a single key and without residual.
    pub null_aware: bool,
    /// Columns of the probe side to emit.
    pub probe_output: Vec<usize>,
    /// Columns of the build side to emit.
    pub build_output: Vec<usize>,
    /// The planner's estimate.
    pub estimated_build_rows: Option<u64>,
    /// One per key, or none: set when the build side is complete, if rows without a match don't affect the output.
    /// Slots that no scan holds stay empty.
    pub filter_slots: Vec<Arc<OnceLock<Arc<KeyFilter>>>>,
}

/// A hash join in one query: the state shared by its sink, sources and transform.
pub struct HashJoin {
    plan: JoinPlan,
    /// The pool, with this join as owner.
    memory: BufferManager,
    metrics: Arc<OperatorMetrics>,
    workers: usize,
    chunk_rows: usize,
    /// Results of one probed chunk are emitted in few chunks, rather than one for each step along the chains.
    concatenates: bool,
    /// The planner's estimate of the number of build rows.
    estimated_rows: u64,
    filter_slots: Vec<Arc<OnceLock<Arc<KeyFilter>>>>,
    /// For the tables and their rows: reported when the build side is complete and before each round.
    claim: MemoryClaim,
    /// The keys, where their existence is all that matters and their proven range is dense. Then no build row is kept.
    existence: Option<Arc<KeySet>>,
    /// Sets of keys that the build sink fills, one slot per key: for filters of a build side that is expected to be too
    /// large for memory, whose rows aren't read again before the probe. Empty otherwise.
    early_sets: Vec<Option<Arc<KeySet>>>,
    /// When the first worker began to read the build side.
    build_begun: OnceLock<Instant>,
    collected: Mutex<Collected>,
    /// The state for the probe; set when the table source starts.
    ready: OnceLock<Ready>,
    /// Probe rows whose partition wasn't resident.
    spilled_probe: Mutex<Option<PartitionedColumns>>,
    /// Whether the probe side had a row, and one with a NULL key. For null-aware joins.
    probe_has_rows: AtomicBool,
    probe_has_null: AtomicBool,
}

/// The outcome of the build.
struct Ready {
    /// The tables in memory.
    residencies: Residencies,
    /// The input of the rest source.
    left_over: Mutex<Option<LeftOver>>,
    /// Smallest and largest of all build keys.
    ranges: Vec<Option<ValueRange>>,
    /// Number of build rows, including those with NULL keys.
    build_rows: u64,
    build_has_null: bool,
}

/// Build rows that the probe doesn't see.
struct LeftOver {
    /// Partitions that weren't resident when the probe began.
    partitions: Vec<LeftPartition>,
    /// Rows with NULL keys, if they are needed.
    unmatchable: RowCollection,
}

impl HashJoin {
    /// A join that is yet to be built.
    pub fn new(spec: HashJoinSpec, query: &Arc<QueryContext>, name: String) -> Result<Arc<Self>> {
        let metrics = OperatorMetrics::new(name);
        let memory = query.memory.scoped(metrics.memory().clone());
        let filter_slots = spec.filter_slots.clone();
        let estimated_rows = spec.estimated_build_rows.unwrap_or(0);
        let plan = JoinPlan::new(spec, query.settings.join_load_factor)?;
        let existence = plan.existence_range().and_then(|range| KeySet::bits(Some(range), estimated_rows, &memory));
        let mut join = Self {
            collected: Mutex::new(Collected::new(&plan, &memory)),
            existence: existence.map(Arc::new),
            early_sets: Vec::new(),
            build_begun: OnceLock::new(),
            claim: memory.claim(),
            plan,
            memory,
            metrics,
            workers: query.settings.workers,
            chunk_rows: query.settings.chunk_rows,
            concatenates: query.settings.compaction.is_logical(),
            estimated_rows,
            filter_slots,
            ready: OnceLock::new(),
            spilled_probe: Mutex::new(None),
            probe_has_rows: AtomicBool::new(false),
            probe_has_null: AtomicBool::new(false),
        };
        join.early_sets = join.make_early_sets(estimated_rows);
        Ok(Arc::new(join))
    }

    fn make_early_sets(&self, estimated_rows: u64) -> Vec<Option<Arc<KeySet>>> {
        let estimated_bytes = estimated_rows.saturating_mul(self.plan.build_layout.row_bytes() as u64);
        if self.existence.is_some() || estimated_bytes <= self.memory.grantable_bytes() / config::EARLY_SETS_SHARE {
            return Vec::new();
        }
        let set = |(key, build): (usize, &Expression)| {
            let wanted = self.wants_filter(key);
            wanted.then(|| KeySet::for_keys(build.output().range, estimated_rows, &self.memory)).flatten().map(Arc::new)
        };
        self.plan.build_keys.iter().enumerate().map(set).collect()
    }

    /// The end of the pipeline that reads the build side.
    pub fn build_sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(BuildSink(self.clone()))
    }

    /// Builds the table after the build sink is finalized; yields no rows.
    pub fn table_source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(TableSource(self.clone()))
    }

    /// Joins the chunks of the probe side once the table is built.
    pub fn probe(self: &Arc<Self>) -> Arc<dyn Transform> {
        Arc::new(Probe(self.clone()))
    }

    /// Emits what remains after the probe side has ended. `None` if there can't be anything.
    pub fn rest(self: &Arc<Self>) -> Option<Arc<dyn Source>> {
        match self.existence {
            Some(_) => None,
            None => Some(Arc::new(RestSource::new(self.clone()))),
        }
    }

    /// Types of the emitted columns: those of the probe side, of the build side, and the mark of a mark join.
    pub fn output_type(&self) -> RowType {
        self.plan.output_type.clone()
    }

    /// Bytes that build, probe or rounds pin where memory is short: all build rows with their table if they are few;
    /// otherwise the open pages of all partitions, the pages of the rows being partitioned, and the minimum grant.
    fn pinned_bytes(&self, workers: usize) -> u64 {
        let open_bytes = 2 * (PAGE_BYTES * workers) as u64;
        let all_bytes = self.estimated_rows.saturating_mul(2 * self.plan.build_layout.row_bytes() as u64);
        let partitions_bytes = (open_bytes << config::RADIX_BITS) + 4 * open_bytes;
        all_bytes.saturating_add(open_bytes).min(partitions_bytes) + config::GRANT_BYTES_MIN
    }

    /// Claims memory for tables over build rows that take `bytes` bytes together with the tables. The cost of a row
    /// without a table is the width of the probe side's rows.
    fn report_size(&self, bytes: u64) {
        let width = self.plan.spill_layout.as_ref().map_or(1, |layout| layout.row_bytes());
        self.claim.report(bytes, config::GRANT_BYTES_MIN, width as f64);
    }

    fn ready(&self) -> &Ready {
        self.ready.get().expect("the table source runs before the probe")
    }

    /// True if a null-aware join knows that it emits no build rows: a NULL of the probe side might equal any key.
    fn is_undecided(&self) -> bool {
        self.plan.null_aware && self.probe_has_null.load(Ordering::Relaxed)
    }

    /// Passes on to the scans what is known about the keys.
    fn fill_filters(&self, ranges: &[Option<ValueRange>], sets: &[Option<Arc<KeySet>>], rows: u64) {
        for (key, slot) in self.filter_slots.iter().enumerate().filter(|(key, _)| self.wants_filter(*key)) {
            let of_key = |sets: &[Option<Arc<KeySet>>]| sets.get(key).cloned().flatten();
            let set = of_key(sets).or_else(|| of_key(&self.early_sets));
            if let Some(set) = &set {
                self.metrics.note("filter", set.describe());
            }
            // A slot is filled once per query.
            let _ = slot.set(Arc::new(KeyFilter::new(ranges[key], set, rows)));
        }
    }

    /// True if a scan waits for a filter of this key, and may get one.
    fn wants_filter(&self, key: usize) -> bool {
        let slot = self.filter_slots.get(key);
        self.plan.drops_unmatched_probe_rows() && slot.is_some_and(|slot| Arc::strong_count(slot) > 1)
    }
}
