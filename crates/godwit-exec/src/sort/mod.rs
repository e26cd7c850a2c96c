//! Sort and top-N, larger than memory.
//!
//! ```text
//! chunks ─▶ normalized keys (key.rs) ─▶ [ prune by the bound of a top-N ] ─▶ rows in pinned pages + (key, row) entries
//!             when a worker's share is full: sort entries, write the rows out in order, start again   (collect.rs)
//!                                                     │ runs
//!   merge_source:  while there are more runs than one merge can have open: merge some into one        (merge_pass.rs)
//!   source:        cut all runs into ranges (run.rs), merge them in parallel, emit them in order  (merge.rs, source.rs)
//! ```
//!
//! - A *run* is sorted rows: *in place* (the last of each worker: pinned pages in arrival order and a sorted list of
//!   entries) or *written* (pages in sorted order, unpinned, so that they go to disk when memory is short). If
//!   everything fits, all runs are in place and no row is copied before it is emitted.
//! - A merge keeps one block of each written run pinned, whatever the size of the input; the keys of a block are
//!   recomputed from its columns when it is opened.
//! - Only the first worker of the source emits rows, in order; the others merge ranges ahead of it.
//! - A *top-N* discards all but the N best rows whenever as many again have piled up, and from then on drops rows whose
//!   key is beyond the N-th (its own, or that of another worker) before they are materialized. The scan drops those
//!   whose first key is beyond it (top_bound.rs). A LIMIT that isn't small compared with memory is sorted as a whole.
//! - Rows whose normalized keys are equal and *open* get new keys from the parts that didn't fit (ties.rs) while a run
//!   is sorted; where runs are merged they are compared in their pages.
//!
//! Rows with equal keys come in any order. NaN is above all other floats; −0 equals 0; text is ordered by bytes.

mod alone;
mod collect;
mod config;
mod entries;
pub(crate) mod key;
mod loser_tree;
mod merge;
mod merge_pass;
mod room;
mod run;
mod source;
mod ties;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use godwit_common::{Error, Result};
use godwit_expression::{Expression, Projection};
use godwit_memory::BufferManager;
use godwit_pipeline::{OperatorMetrics, QueryContext, Sink, Source, TopBound};
use godwit_rows::{RowLayout, RowLayoutOptions, RowOrder, RowOrderKey};
use godwit_vector::{PhysicalType, RowType};
use parking_lot::Mutex;

pub(crate) use self::alone::SortAlone;

use self::collect::SortSink;
use self::config::{COLLECT_SHARE, TOP_SHARE};
use self::key::{KeyLayout, KeyWord};
use self::merge_pass::MergePassSource;
use self::room::Room;
use self::run::Run;
use self::source::SortedSource;

/// One key of an ORDER BY.
#[derive(Clone)]
pub struct SortKey {
    /// The value, over the input columns.
    pub expression: Expression,
    /// Largest first.
    pub descending: bool,
    /// NULLs before all values, whatever the direction.
    pub nulls_first: bool,
}

/// What to sort.
#[derive(Clone)]
pub struct SortSpec {
    /// The keys, most significant first; at least one.
    pub keys: Vec<SortKey>,
    /// Types of the input columns.
    pub input: RowType,
    /// Input columns to emit, in this order.
    pub output: Vec<usize>,
    /// Only the first rows are needed, this many: LIMIT and OFFSET together.
    pub limit: Option<usize>,
    /// Where a top-N publishes the bound of its first key, an integer, for scans that may drop rows by it.
    pub bound: Option<Arc<TopBound>>,
}

/// A sort in one query. Pipelines, in this order: into [`Sort::sink`]; from [`Sort::merge_source`] to nowhere; from
/// [`Sort::source`].
pub struct Sort {
    width: Width,
    output: RowType,
}

/// The two instantiations of the code.
enum Width {
    Narrow(Arc<Shared<u64>>),
    Wide(Arc<Shared<u128>>),
}

/// The state shared by the sink and the sources of a sort.
struct Shared<K> {
    /// Computes the first columns of the rows.
    keys: Projection,
    /// Computes the columns after them: those of the output that aren't keys.
    rest: Projection,
    key_layout: KeyLayout,
    /// For each sort key, how it and the keys after it are packed into an integer.
    rest_layouts: Vec<KeyLayout>,
    layout: Arc<RowLayout>,
    order: RowOrder,
    /// The key that rows with equal keys are likely to be compared by.
    first_string_key: Option<usize>,
    /// Where the output columns are in a row.
    output: Vec<usize>,
    limit: Option<usize>,
    /// The limit, if it is small enough that all other rows are discarded early.
    top: Option<usize>,
    chunk_rows: usize,
    workers: usize,
    /// Number of sorts of this query that hold rows at the same time, including this one.
    sharers: usize,
    memory: BufferManager,
    room: Room,
    metrics: Arc<OperatorMetrics>,
    /// High bits of the best bound that a worker of a top-N has found: rows with higher ones are dropped.
    bound: AtomicU64,
    /// The bound of the first key, published to the scan.
    told_bound: Option<Arc<TopBound>>,
    runs: Mutex<Vec<Run<K>>>,
}

impl Sort {
    /// A sort that `EXPLAIN` shows as `name`.
    pub fn new(spec: SortSpec, query: &Arc<QueryContext>, name: impl Into<String>) -> Result<Arc<Self>> {
        Self::sharing(spec, query, name, 1)
    }

    /// [`Sort::new`] for one of `sharers` sorts that hold rows at the same time.
    fn sharing(
        spec: SortSpec,
        query: &Arc<QueryContext>,
        name: impl Into<String>,
        sharers: usize,
    ) -> Result<Arc<Self>> {
        assert!(!spec.keys.is_empty(), "a sort has keys");
        if let Some(key) = spec.keys.iter().find(|key| key.expression.output().physical == PhysicalType::Nested) {
            let ty = &key.expression.output().logical;
            return Err(
                Error::unsupported(format!("ORDER BY on values of type {ty}")).with_hint("sort by a part of it")
            );
        }
        let output = spec.output.iter().map(|&column| spec.input[column].clone()).collect();
        let metrics = OperatorMetrics::new(name);
        let width = match KeyLayout::exact_bits(&spec.keys) {
            Some(bits) if bits <= u64::BITS => Width::Narrow(Arc::new(Shared::new(&spec, query, metrics, sharers)?)),
            _ => Width::Wide(Arc::new(Shared::new(&spec, query, metrics, sharers)?)),
        };
        Ok(Arc::new(Self { width, output }))
    }

    /// Types of the output columns.
    pub fn output_type(&self) -> RowType {
        self.output.clone()
    }

    /// Takes the rows.
    pub fn sink(&self) -> Arc<dyn Sink> {
        match &self.width {
            Width::Narrow(shared) => Arc::new(SortSink(shared.clone())),
            Width::Wide(shared) => Arc::new(SortSink(shared.clone())),
        }
    }

    /// Merges runs until few enough are left, in parallel; yields no rows. `None` if there is certainly nothing to
    /// merge.
    pub fn merge_source(&self) -> Option<Arc<dyn Source>> {
        Some(match &self.width {
            Width::Narrow(shared) => Arc::new(MergePassSource::new(shared.clone())),
            Width::Wide(shared) => Arc::new(MergePassSource::new(shared.clone())),
        })
    }

    /// The rows in order: one worker emits them, the others help it.
    pub fn source(&self) -> Arc<dyn Source> {
        match &self.width {
            Width::Narrow(shared) => Arc::new(SortedSource::new(shared.clone())),
            Width::Wide(shared) => Arc::new(SortedSource::new(shared.clone())),
        }
    }
}

impl<K: KeyWord> Shared<K> {
    fn new(spec: &SortSpec, query: &Arc<QueryContext>, metrics: Arc<OperatorMetrics>, sharers: usize) -> Result<Self> {
        let keys: Vec<Expression> = spec.keys.iter().map(|key| key.expression.clone()).collect();
        let mut rest: Vec<usize> = Vec::new();
        let output = spec.output.iter().map(|&column| {
            if let Some(key) = keys.iter().position(|key| key.column_index() == Some(column)) {
                return key;
            }
            let known = rest.iter().position(|&other| other == column);
            keys.len()
                + known.unwrap_or_else(|| {
                    rest.push(column);
                    rest.len() - 1
                })
        });
        let output: Vec<usize> = output.collect();
        let rest = rest.iter().map(|&column| Expression::column(column, spec.input[column].clone())).collect();
        let (keys, rest) = (Projection::new(keys), Projection::new(rest));
        let types: Vec<PhysicalType> =
            keys.output().iter().chain(&rest.output()).map(|column| column.physical).collect();
        let layout = RowLayout::new(&types, RowLayoutOptions::default())?;
        let order = spec.keys.iter().enumerate().map(|(column, key)| RowOrderKey {
            column,
            descending: key.descending,
            nulls_first: key.nulls_first,
        });
        let memory = query.memory.scoped(metrics.memory().clone());
        let workers = query.settings.workers;
        Ok(Self {
            room: Room::new(&memory, workers, sharers, layout.row_bytes()),
            key_layout: KeyLayout::new::<K>(&spec.keys),
            rest_layouts: (0..spec.keys.len()).map(|first| KeyLayout::new::<K>(&spec.keys[first..])).collect(),
            order: RowOrder::new(&layout, order.collect()),
            first_string_key: types[..spec.keys.len()].iter().position(|&ty| ty == PhysicalType::Str),
            keys,
            rest,
            output,
            limit: spec.limit,
            top: spec.limit.filter(|&limit| is_top(limit, &layout, query)),
            layout,
            chunk_rows: query.settings.chunk_rows,
            workers,
            sharers,
            memory,
            metrics,
            bound: AtomicU64::new(u64::MAX),
            told_bound: spec.bound.clone(),
            runs: Mutex::default(),
        })
    }
}

/// Whether a limit of this many rows counts as a top-N.
fn is_top(limit: usize, layout: &RowLayout, query: &QueryContext) -> bool {
    let share = query.memory.memory_limit() / COLLECT_SHARE / query.settings.workers as u64;
    (limit as u64).saturating_mul(layout.row_bytes() as u64) <= share / TOP_SHARE
}

#[cfg(test)]
mod tests;
