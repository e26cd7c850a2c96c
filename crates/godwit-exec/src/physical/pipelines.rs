//! The pipelines of a query while it is being planned: indices are assigned before the pipelines are complete.
//!
//! Hash joins that are probed in one pipeline build their tables only once the build rows of all of them have been
//! collected. Build rows are in pages that can be evicted; tables pin memory. So all joins of a pipeline can report how
//! much they could use before the first one is granted anything, and memory is divided with all sizes known.
//!
//! ```text
//! build A ──┬─▶ table A ─┐
//!           ╳            ├─▶ probe A ─▶ probe B
//! build B ──┴─▶ table B ─┘
//! ```
//!
//! A table can't wait for a build that itself waits for the table because its scan uses a filter on that join's keys.
//!
//! Source: external-hash-join paper, section 6 ("Dynamic Assignments").

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::compaction::insert_compactors;
use crate::explain::ExplainNode;
use crate::operators::NothingSink;
use godwit_pipeline::{Compaction, Pipeline, Sink, Source, Transform};

/// Maximum number of tables of one pipeline that wait for each other's builds. If there are more, memory is granted
/// first come, first served: looking for cycles takes time cubic in their number.
const TOGETHER_MAX: usize = 16;

/// Pipelines in dependency order, and the tree that `EXPLAIN` shows.
pub struct PhysicalPlan {
    /// The pipelines for the scheduler.
    pub pipelines: Vec<Pipeline>,
    /// The operators as a tree.
    pub explain: ExplainNode,
}

impl PhysicalPlan {
    /// The least memory in which the plan is expected to finish: what the most demanding pipeline pins where memory is
    /// short. Pipelines then run one at a time, and what they leave for each other can be evicted. A quarter is added
    /// for memory that is held briefly, between two pages.
    pub fn pinned_bytes(&self, workers: usize) -> u64 {
        self.pipelines.iter().map(|pipeline| pipeline.pinned_bytes(workers)).max().map_or(0, |most| most + most / 4)
    }
}

/// One open pipeline.
pub(super) struct Branch {
    pub(super) source: Arc<dyn Source>,
    pub(super) transforms: Vec<Arc<dyn Transform>>,
    /// Closed pipelines that must be complete first.
    pub(super) depends_on: BTreeSet<usize>,
    /// The pipelines that build the tables of the hash joins that are probed here.
    pub(super) tables: Vec<usize>,
    /// Branches of the same stream, by index, that must be complete first.
    pub(super) follows: Vec<usize>,
}

impl Branch {
    pub(super) fn new(source: Arc<dyn Source>, depends_on: impl IntoIterator<Item = usize>) -> Self {
        Self {
            source,
            transforms: Vec::new(),
            depends_on: depends_on.into_iter().collect(),
            tables: Vec::new(),
            follows: Vec::new(),
        }
    }
}

/// The pipelines around the table of a hash join.
pub(super) struct JoinTable {
    /// The pipeline that builds the table.
    pub(super) table: usize,
    /// The pipelines that collect its rows.
    pub(super) builds: Vec<usize>,
}

/// All pipelines of a query, by index.
#[derive(Default)]
pub(super) struct Pipelines {
    /// `None` where an index is reserved for a pipeline that is still open.
    slots: Vec<Option<Pipeline>>,
    tables: Vec<JoinTable>,
    /// The sets of several tables that are probed by one closed pipeline.
    probed_together: BTreeSet<Vec<usize>>,
}

impl Pipelines {
    /// Indices for pipelines that others may already wait for.
    pub(super) fn reserve(&mut self, count: usize) -> Vec<usize> {
        let first = self.slots.len();
        self.slots.resize_with(first + count, || None);
        (first..first + count).collect()
    }

    /// Ends branches in `sink`, one reserved index each.
    pub(super) fn close(
        &mut self,
        indices: &[usize],
        branches: Vec<Branch>,
        sink: &Arc<dyn Sink>,
        compaction: Compaction,
    ) {
        assert_eq!(indices.len(), branches.len());
        for (&index, branch) in indices.iter().zip(branches) {
            if (2..=TOGETHER_MAX).contains(&branch.tables.len()) {
                self.probed_together.insert(branch.tables);
            }
            let follows = branch.follows.iter().map(|&earlier| indices[earlier]);
            self.slots[index] = Some(Pipeline {
                depends_on: branch.depends_on.into_iter().chain(follows).collect(),
                transforms: insert_compactors(&branch.source, branch.transforms, compaction),
                source: branch.source,
                sink: sink.clone(),
            });
        }
    }

    /// Closes a pipeline that yields no rows, such as one that builds a table.
    pub(super) fn close_alone(&mut self, index: usize, source: Arc<dyn Source>, depends_on: Vec<usize>) {
        let sink = NothingSink::new("Nothing");
        self.slots[index] = Some(Pipeline { source, transforms: Vec::new(), sink, depends_on });
    }

    /// Registers the table of a hash join.
    pub(super) fn add_table(&mut self, table: JoinTable) {
        self.tables.push(table);
    }

    /// Returns all pipelines, once every one is closed.
    pub(super) fn finish(mut self) -> Vec<Pipeline> {
        self.order_tables();
        self.slots.into_iter().map(|slot| slot.expect("every reserved pipeline is closed")).collect()
    }

    /// Makes tables wait for the builds of the tables that are probed together with them.
    fn order_tables(&mut self) {
        for tables in std::mem::take(&mut self.probed_together) {
            for &table in &tables {
                for &other in tables.iter().filter(|&&other| other != table) {
                    for build in self.builds_of(other) {
                        if !self.waits_for(build, table) {
                            self.closed(table).push(build);
                        }
                    }
                }
            }
        }
    }

    fn builds_of(&self, table: usize) -> Vec<usize> {
        self.tables.iter().filter(|join| join.table == table).flat_map(|join| join.builds.iter().copied()).collect()
    }

    /// The dependencies of a pipeline.
    fn closed(&mut self, index: usize) -> &mut Vec<usize> {
        &mut self.slots[index].as_mut().expect("all pipelines are closed").depends_on
    }

    /// Whether pipeline `index` starts only after `earlier` is complete, or is the same one.
    fn waits_for(&self, index: usize, earlier: usize) -> bool {
        let mut is_known = vec![false; self.slots.len()];
        let mut open = vec![index];
        while let Some(index) = open.pop() {
            if index == earlier {
                return true;
            }
            if !std::mem::replace(&mut is_known[index], true) {
                open.extend(self.slots[index].iter().flat_map(|pipeline| pipeline.depends_on.iter().copied()));
            }
        }
        false
    }
}
