//! Window functions, larger than memory.
//!
//! ```text
//! <= n asked:    chunks ─▶ those that may be among the first n of their partition           (first_rows.rs)
//! PARTITION BY:  chunks ─▶ rows in spillable pages, by hash of the partition keys               (sink.rs)
//!                morsels of whole partitions ─▶ sorted by (partition, order)       (source.rs, sort_rows.rs)
//! else:          chunks ─▶ sort operator ─▶ rows in order, in spillable pages                   (sink.rs)
//!
//! sorted rows ─▶ step: a chunk of rows, their partitions and peers                              (step.rs)
//!                  ├─▶ positions: row_number, rank, lag, first_value, …        (functions.rs, valid_rows.rs)
//!                  ├─▶ frames: first and last row for each row             (frame.rs, range.rs, varying.rs)
//!                  └─▶ aggregates                                                            (framed.rs)
//!                        running (growing.rs), sliding (sliding.rs, long.rs), anywhere (jumping.rs),
//!                        of kept values (listed.rs, content.rs), by frame as by group (frame_groups.rs)
//! ```
//!
//! - *Sorted rows* ([`ordered::Ordered`]) are accessed by number, and have a bit each that says whether a partition, or
//!   a group of peers, begins there. They are either in place (pinned, with a sorted list of addresses) or paged: then
//!   only the pages of the rows in use are pinned, so that a partition may be larger than memory.
//! - *Morsels* are sorted in place if they fit in a worker's share. Larger ones are split by more bits of the hash, and
//!   a partition that can't be split goes through the sort operator.
//! - *Frames* never move back from one row to the next, unless their distances depend on the row. Nothing is ever
//!   subtracted, so all aggregates with a state can slide; each row is added a constant number of times, whatever the
//!   length of the frames. Aggregates without a state (lists, modes, DISTINCT, …) are computed from scratch for each
//!   frame. With EXCLUDE, each of the remaining parts slides. Frames that may be anywhere are assembled from a tree of
//!   totals.
//! - *Memory* that isn't pages: a list of addresses for rows in place, 2 bits per row for paged ones, and states for a
//!   region of some thousand rows.
//!
//! Leis, Kundhikanjana, Kemper, Neumann, "Efficient Processing of Window Functions in Analytical SQL Queries", describe
//! the alternatives for frames.

mod call;
mod config;
mod content;
mod evaluation;
mod first_rows;
mod frame;
mod frame_groups;
mod framed;
mod functions;
mod growing;
mod jumping;
mod listed;
mod long;
mod marks;
mod ordered;
mod plan;
mod range;
mod sink;
mod sliding;
mod sort_rows;
mod source;
mod states;
mod step;
#[cfg(test)]
mod tests;
mod totals;
mod valid_rows;
mod varying;

use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::Expression;
use godwit_memory::{BufferManager, PAGE_BYTES};
use godwit_pipeline::{OperatorMetrics, QueryContext, Sink, Source};
use godwit_rows::{PartitionedRows, RowCollection};
use godwit_vector::{PhysicalType, RowType};
use parking_lot::Mutex;

pub(crate) use call::distance_of;
pub use call::{ListedKind, WindowCall, WindowFunction};
pub use first_rows::FirstRows;
pub use frame::{Frame, FrameBound, FrameExclusion, FrameUnits};
pub(crate) use frame_groups::grouped_call;
pub use range::RangeOffset;
pub(crate) use varying::invalid_distance;

use crate::sort::{SortKey, SortSpec};
use config::*;
use ordered::Ordered;
use plan::Plan;
use sink::{HashSink, OnePartitionSink};
use sort_rows::RowKeys;
use source::{WindowSource, Work};

/// Specification of a window operator: functions over the same partitions in the same order.
#[derive(Clone)]
pub struct WindowSpec {
    /// Rows with equal values form a partition.
    pub partition_by: Vec<Expression>,
    /// The order within partitions.
    pub order_by: Vec<SortKey>,
    /// The functions.
    pub calls: Vec<WindowCall>,
    /// Distances of frames' bounds that depend on the row.
    pub distances: Vec<Expression>,
    /// The input columns that are passed on, before the results.
    pub passed: Vec<Expression>,
    /// The planner's estimate of the number of rows.
    pub estimated_rows: Option<u64>,
}

/// How rows get into the operator.
pub enum WindowInput {
    /// Through [`Window::sink`], in any order.
    Any,
    /// The rows of `columns` go through a sort of this kind, and then, in order, into [`Window::sink`].
    Sorted {
        /// Computes the columns that are sorted.
        columns: Vec<Expression>,
        /// The sort.
        sort: SortSpec,
    },
}

/// Window functions of one query: the shared state of sink and source.
pub struct Window {
    plan: Plan,
    keys: RowKeys,
    radix_bits: u32,
    /// The query's pool, with this operator as owner.
    memory: BufferManager,
    workers: usize,
    metrics: Arc<OperatorMetrics>,
    /// Rows of all workers, partitioned by the partition keys.
    hashed: Mutex<Option<PartitionedRows>>,
    /// The rows of the only partition, in order if there is one.
    ordered: Mutex<Option<Ordered>>,
    unordered: Mutex<Option<RowCollection>>,
    work: Mutex<Work>,
}

impl WindowSpec {
    /// True if some frame is measured in distances from the value of the order's key.
    pub fn has_value_offsets(&self) -> bool {
        self.calls.iter().any(|call| call.frame.measures_values())
    }
}

impl Window {
    /// An operator that `EXPLAIN` shows as `name`.
    pub fn new(spec: &WindowSpec, query: &Arc<QueryContext>, name: impl Into<String>) -> Result<Arc<Self>> {
        let plan = Plan::new(spec)?;
        let metrics = OperatorMetrics::new(name);
        let memory = query.memory.scoped(metrics.memory().clone());
        let workers = query.settings.workers;
        Ok(Arc::new(Self {
            keys: RowKeys::new(&plan),
            radix_bits: radix_bits(spec, &plan, &memory, workers),
            plan,
            memory,
            workers,
            metrics,
            hashed: Mutex::default(),
            ordered: Mutex::default(),
            unordered: Mutex::default(),
            work: Mutex::default(),
        }))
    }

    /// Types of the output columns: those that are passed on, then the results.
    pub fn output_type(&self) -> RowType {
        self.plan.output_type.clone()
    }

    /// How rows get into the operator.
    pub fn input(&self) -> WindowInput {
        let plan = &self.plan;
        if plan.partition_keys > 0 || plan.keys.is_empty() {
            return WindowInput::Any;
        }
        let sort = SortSpec {
            keys: plan.keys.clone(),
            input: plan.types.clone(),
            output: (0..plan.types.len()).collect(),
            limit: None,
            bound: None,
        };
        WindowInput::Sorted { columns: plan.columns.expressions().to_vec(), sort }
    }

    /// Takes the rows.
    pub fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        match self.plan.partition_keys {
            0 => Arc::new(OnePartitionSink(self.clone())),
            _ => Arc::new(HashSink(self.clone())),
        }
    }

    /// Produces the rows with their results; partitions come in no particular order.
    pub fn source(self: &Arc<Self>) -> Arc<dyn Source> {
        Arc::new(WindowSource(self.clone()))
    }
}

/// How finely rows are partitioned: according to their number, and so that the open pages of all workers fit.
fn radix_bits(spec: &WindowSpec, plan: &Plan, memory: &BufferManager, workers: usize) -> u32 {
    let wanted = match spec.estimated_rows {
        Some(rows) if rows >= MANY_ROWS => RADIX_BITS_MANY,
        _ => RADIX_BITS_USUAL,
    };
    let has_strings = plan.types.iter().any(|ty| ty.physical == PhysicalType::Str);
    let partition_bytes = PAGE_BYTES * if has_strings { 2 } else { 1 } * workers;
    let partitions_max = (memory.memory_limit() as f64 * OPEN_PAGES_SHARE) as usize / partition_bytes;
    wanted.min(partitions_max.max(1).ilog2())
}
