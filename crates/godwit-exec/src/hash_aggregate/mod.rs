//! Hash aggregation in two phases, external.
//!
//! ```text
//! sink    worker: chunk ─▶ direct array (direct.rs)  small key domains: group by arithmetic
//!                      └─▶ local table (groups.rs)   rows of groups: keys, hash, states; in radix partitions
//!         combine: partitions of all workers side by side, nothing copied
//! source  distinct sets ─▶ unique (keys, arguments), fed to groups as the input was (source.rs)
//!         partitions ─▶ one row per group (partition.rs) ─▶ results of states (finish.rs)
//!                  │                └▶ states added to groups of coarser grouping sets (grouping_sets.rs), then these
//!                  └──▶ values, sorted by group (collected.rs) ─▶ results of values (results/)
//! ```
//!
//! - *Memory.* Rows of groups are in spillable pages; only the rows that a small table points into are pinned. Phase
//!   two pins one partition at a time per worker, and splits those that don't fit. Collected values are sorted
//!   externally. Everything finishes in bounded memory; only a result that is a long string or list must fit.
//! - *Payload*: `any_value` of everything, minima and maxima of strings are columns of the groups' rows after the keys.
//!   The first row of a group supplies them; a later row costs something only if its value could be better, so that
//!   dozens of `any_value` are nearly free.
//! - *States* of a fixed size lie in the rows, each once however many aggregates share it (plan.rs). Aggregates that
//!   need all values collect them as rows next to the groups.
//! - *One group* is a direct array with one slot: a global aggregate needs no hash table.
//!
//! Source: Kuiper, Boncz, Mühleisen, "Robust External Hash Aggregation in the Solid State Age", V.

mod alone;
mod call;
mod collected;
#[cfg(test)]
mod collected_tests;
mod config;
mod direct;
mod finish;
mod framed;
mod grouping_sets;
mod groups;
mod partition;
mod plan;
mod results;
mod sink;
mod sketch;
mod source;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::Result;
use godwit_expression::Expression;
use godwit_memory::{BufferManager, PAGE_BYTES};
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Sink, SinkWorker, Source, SourceWorker};
use godwit_rows::aggregate_state::StateLayout;
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{PhysicalType, RowType, Vector};

pub(crate) use alone::AggregateAlone;
pub(crate) use finish::integers;
pub(crate) use framed::{FramedAggregates, has_state, output_type_of};
pub(crate) use results::{integer_part_of_the_way, part_of_the_way};

pub(crate) use config::{SKETCHED_GROUPS_MAX, SKETCHES_BYTES_MAX};

pub use call::{AggregateCall, AggregateKind, AggregateOrder, PairKind};

use collected::SharedCollected;
use config::*;
use direct::direct_slots;
use grouping_sets::GroupingSets;
use groups::{Grouping, LocalGroups, SharedGroups};
use partition::GroupMorsel;
use plan::Plan;
use sink::{AggregateSinkWorker, Feeder};
use source::{AggregateSourceWorker, SharedPhase};

/// Specification of a GROUP BY.
#[derive(Debug, Clone, Default)]
pub struct HashAggregateSpec {
    /// The group keys; none for one group of all rows.
    pub groups: Vec<Expression>,
    /// For GROUPING SETS, ROLLUP and CUBE. The output then has the number of the row's set after the group keys: a
    /// BIGINT with a bit for each key that the set lacks, the last key lowest, and above them which occurrence of the
    /// same set it is.
    pub grouping_sets: Option<Vec<KeySet>>,
    /// The aggregates.
    pub aggregates: Vec<AggregateCall>,
    /// The planner's estimate of the number of groups.
    pub estimated_groups: Option<u64>,
    /// This many groups are enough, no matter which (LIMIT). Without aggregates, input ends as soon as they are found.
    pub groups_enough: Option<u64>,
}

/// One of several sets of keys by which the same rows are grouped.
#[derive(Debug, Clone, Default)]
pub struct KeySet {
    /// Which of [`HashAggregateSpec::groups`] it has.
    pub keys: Vec<usize>,
    /// The planner's estimate of the number of its groups: a coarser set is filled from the smallest of the sets that
    /// it could be filled from.
    pub estimated_groups: u64,
}

/// A GROUP BY of one query: the shared state of its sink and its source.
pub struct HashAggregate {
    plan: Plan,
    /// The query's pool, with this operator as owner.
    memory: BufferManager,
    workers: usize,
    /// The groups of each level of grouping sets; one level if there are none.
    groups: Vec<SharedGroups>,
    distinct: Vec<SharedGroups>,
    collected: Vec<SharedCollected>,
    phase: SharedPhase,
    /// Bytes of the groups' rows when the input is complete.
    grouped_bytes: AtomicU64,
    /// Number of groups after which no more input is needed.
    groups_enough: u64,
    metrics: Arc<OperatorMetrics>,
}

impl HashAggregate {
    /// An aggregation that `EXPLAIN` shows as `name`.
    pub fn new(spec: HashAggregateSpec, query: &Arc<QueryContext>, name: impl Into<String>) -> Result<Arc<Self>> {
        let plan = Plan::new(&spec)?;
        let metrics = OperatorMetrics::new(name);
        let memory = query.memory.scoped(metrics.memory().clone());
        let workers = query.settings.workers;
        let keys = plan.key_physical();
        let radix_bits = radix_bits(&spec, &plan, &memory, workers);
        let group_bits = if plan.key_types.is_empty() { 0 } else { radix_bits };
        let grouping = Grouping::new(&memory, workers, &keys, &plan.payload_physical(), &plan.layout, group_bits)?;
        let groups = (0..plan.levels()).map(|_| SharedGroups::new(grouping.clone())).collect();
        if let Some(note) = plan.grouping_sets.as_ref().and_then(GroupingSets::describe) {
            metrics.note("grouping sets", note);
        }
        let no_states = StateLayout::new(&[]);
        let distinct = plan.distinct.iter().map(|set| {
            let arguments = set.arguments.iter().map(|&argument| plan.input_types[argument].physical);
            let columns: Vec<PhysicalType> = keys.iter().copied().chain(arguments).collect();
            Ok(SharedGroups::new(Grouping::new(&memory, workers, &columns, &[], &no_states, radix_bits)?))
        });
        let distinct = distinct.collect::<Result<Vec<_>>>()?;
        let collected = plan.collected.iter().map(|set| SharedCollected::new(&keys, set, group_bits));
        let collected = collected.collect::<Result<Vec<_>>>()?;
        let phase = SharedPhase::default();
        let is_distinct = spec.aggregates.is_empty() && spec.grouping_sets.is_none();
        let groups_enough = spec.groups_enough.filter(|_| is_distinct).unwrap_or(u64::MAX);
        let grouped_bytes = AtomicU64::new(0);
        Ok(Arc::new(Self {
            plan,
            memory,
            workers,
            groups,
            distinct,
            collected,
            phase,
            grouped_bytes,
            groups_enough,
            metrics,
        }))
    }

    /// Takes the input.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::new(AggregateSink(self.clone()))
    }

    /// Produces the groups, once the sink is finalized.
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(AggregateSource(self.clone()))
    }

    /// Bytes that collecting groups pins where memory is short: for each kind of rows the pages and the entries of a
    /// table, and the open pages of four partitions. Aggregating a partition also pins the pages that it reads.
    fn pinned_bytes(&self, workers: usize) -> u64 {
        let kinds = 1 + self.distinct.len() + self.collected.len();
        let entries_bytes = LOCAL_ENTRIES_MIN * 2 * size_of::<u64>();
        (workers * kinds * (10 * PAGE_BYTES + entries_bytes)) as u64
    }

    /// How feeding the input uses the cache. There may turn out to be too many strings for an array.
    fn cache_use_of_input(&self) -> CacheUse {
        let plan = &self.plan;
        if !plan.distinct.is_empty() || !plan.collected.is_empty() {
            return CacheUse::sensitive("looks up unique values, or collects values by group");
        }
        let keys = &plan.key_types_from_input;
        match direct_slots(keys) {
            _ if keys.is_empty() => CacheUse::polluting("has one group"),
            Some(slots) if keys.iter().all(|key| key.physical != PhysicalType::Str) => {
                let slot_bytes = size_of::<u32>() + plan.layout.bytes();
                CacheUse::depends((slots * slot_bytes * self.workers) as u64, "looks up groups in arrays by key")
            }
            _ => CacheUse::sensitive("looks up groups in hash tables"),
        }
    }

    /// The columns of the source: the group keys, the grouping id if there are grouping sets, the aggregates.
    pub fn output_type(&self) -> RowType {
        self.plan.output_type()
    }

    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn memory(&self) -> &BufferManager {
        &self.memory
    }

    fn workers(&self) -> usize {
        self.workers
    }

    /// The groups that the input is fed to.
    fn groups(&self) -> &SharedGroups {
        &self.groups[0]
    }

    fn groups_of_level(&self, level: usize) -> &SharedGroups {
        &self.groups[level]
    }

    /// Number of levels of grouping sets.
    fn levels(&self) -> usize {
        self.groups.len()
    }

    fn distinct(&self) -> &[SharedGroups] {
        &self.distinct
    }

    fn collected(&self) -> &[SharedCollected] {
        &self.collected
    }

    fn phase(&self) -> &SharedPhase {
        &self.phase
    }

    /// The partitions of the groups of a level, once everything that goes into them has arrived.
    fn open_groups(&self, level: usize) -> Vec<GroupMorsel> {
        let collected = self.collected.iter().map(|set| set.take(&self.memory)).collect();
        self.groups[level].take_morsels(collected)
    }

    /// Even without input there is the group of all rows, once per empty grouping set.
    fn add_global_groups(&self) -> Result<()> {
        let groups = self.groups();
        if groups.rows() > 0 || !self.plan.has_global_group() {
            return Ok(());
        }
        let mut local = LocalGroups::new(&groups.grouping)?;
        let keys_of_global: Vec<Vec<Vector>> = match &self.plan.grouping_sets {
            None => vec![Vec::new()],
            Some(sets) => {
                let nulls: Vec<Vector> =
                    self.plan.keys.iter().map(|&key| Vector::null(self.plan.input_types[key].physical, 1)).collect();
                sets.global().map(|set| self.keys_of_set(set, &nulls, 1)).collect()
            }
        };
        let mut hashes = Vec::new();
        for keys in keys_of_global {
            hash_vectors(&keys, 1, &mut hashes);
            local.assign(&keys, &self.plan.no_payload(1), &hashes)?;
        }
        groups.combine(local);
        Ok(())
    }

    /// Notes for `EXPLAIN ANALYZE` how a worker found its groups.
    fn note_table(&self, direct_groups: Option<usize>, local: &LocalGroups) {
        let note = match direct_groups {
            Some(0) => return,
            Some(1) if self.plan.key_types.is_empty() => "one group".to_owned(),
            Some(groups) => format!("direct array, {groups} groups"),
            None if local.is_empty() => return,
            None => local.describe(),
        };
        self.metrics.note("table", note);
    }
}

/// How finely groups are partitioned: according to their number, and so that the open pages of all workers and sets
/// fit.
fn radix_bits(spec: &HashAggregateSpec, plan: &Plan, memory: &BufferManager, workers: usize) -> u32 {
    let wanted = match spec.estimated_groups {
        Some(groups) if groups >= MANY_GROUPS => RADIX_BITS_MANY,
        _ => RADIX_BITS_USUAL,
    };
    let has_strings = plan.key_types.iter().chain(&plan.input_types).any(|ty| ty.physical == PhysicalType::Str);
    // Groups of the next level are created while those of one level are read.
    let sets = plan.levels().min(2) + plan.distinct.len() + plan.collected.len();
    let partition_bytes = PAGE_BYTES * if has_strings { 2 } else { 1 } * sets * workers;
    let partitions_max = (memory.memory_limit() as f64 * OPEN_PAGES_SHARE) as usize / partition_bytes;
    wanted.min(partitions_max.max(1).ilog2())
}

struct AggregateSink(Arc<HashAggregate>);

impl Operator for AggregateSink {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }

    fn cache_use(&self) -> CacheUse {
        self.0.cache_use_of_input()
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        self.0.pinned_bytes(workers)
    }
}

impl Sink for AggregateSink {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(AggregateSinkWorker(Feeder::new(&self.0)?)))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        self.0.add_global_groups()?;
        let groups = self.0.groups();
        self.0.grouped_bytes.store(groups.rows() * groups.grouping.layout.row_bytes() as u64, Ordering::Relaxed);
        Ok(())
    }
}

struct AggregateSource(Arc<HashAggregate>);

impl Operator for AggregateSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }

    fn cache_use(&self) -> CacheUse {
        match self.0.distinct.is_empty() && self.0.collected.is_empty() {
            true => CacheUse::table(self.0.grouped_bytes.load(Ordering::Relaxed), "combines groups in tables"),
            false => CacheUse::sensitive("groups unique values, or collects values by group"),
        }
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        2 * self.0.pinned_bytes(workers)
    }
}

impl Source for AggregateSource {
    fn start(&self, _query: &Arc<QueryContext>) -> Result<()> {
        self.0.phase.start(&self.0);
        Ok(())
    }

    fn parallelism(&self) -> usize {
        // Morsels of distinct sets and of levels are followed by those of others, whose number isn't known yet.
        let is_known = self.0.distinct.is_empty() && self.0.levels() == 1;
        let morsels = if is_known { self.0.phase.morsels() } else { usize::MAX };
        morsels.clamp(1, self.0.workers)
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(AggregateSourceWorker::new(&self.0, query)))
    }
}
