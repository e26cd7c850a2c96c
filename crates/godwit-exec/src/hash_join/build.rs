//! The build sink: writes rows to spillable pages and gathers statistics on the way.

use std::sync::Arc;
use std::time::Instant;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::key_filter::range_of;
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Sink, SinkVerdict, SinkWorker};
use godwit_rows::{PartitionedRows, RowCollection};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::kernels::select::select_bits;
use godwit_vector::{Bitmap, Chunk, ValueRange, Vector};

use super::HashJoin;
use super::config::{RADIX_BITS, WHOLE_SHARE};
use super::plan::JoinPlan;
use super::table::{Spare, TableSize};

/// Build rows of one worker, or of all.
pub(super) struct Collected {
    /// Rows in the order of the input.
    pub whole: RowCollection,
    /// Rows by partition, once there are many.
    pub partitioned: Option<PartitionedRows>,
    /// Rows with NULL keys, if they have to be emitted at the end.
    pub unmatchable: RowCollection,
    /// Smallest and largest value of each key; `None` before the first value, or if it isn't an integer.
    pub ranges: Vec<Option<ValueRange>>,
    /// Rows seen, including those that weren't kept.
    pub rows: u64,
    pub has_null: bool,
}

impl Collected {
    pub(super) fn new(plan: &JoinPlan, memory: &BufferManager) -> Self {
        Self {
            whole: RowCollection::new(memory, &plan.build_layout, None),
            partitioned: None,
            unmatchable: RowCollection::new(memory, &plan.build_layout, None),
            ranges: vec![None; plan.build_keys.len()],
            rows: 0,
            has_null: false,
        }
    }

    /// Bytes of a table over all rows, including the rows themselves.
    fn needed_bytes(&self, plan: &JoinPlan) -> u64 {
        let partitions = self.partitioned.iter().flat_map(PartitionedRows::partitions);
        TableSize::of(partitions.chain([&self.whole])).needed_bytes(plan, self.ranges[0], Spare::All)
    }

    fn absorb(&mut self, other: Collected) {
        self.whole.absorb(other.whole);
        self.partitioned = match (self.partitioned.take(), other.partitioned) {
            (Some(mut mine), Some(theirs)) => {
                mine.combine(theirs);
                Some(mine)
            }
            (mine, theirs) => mine.or(theirs),
        };
        self.unmatchable.absorb(other.unmatchable);
        for (mine, theirs) in self.ranges.iter_mut().zip(other.ranges) {
            *mine = union(*mine, theirs);
        }
        self.rows += other.rows;
        self.has_null |= other.has_null;
    }
}

fn union(a: Option<ValueRange>, b: Option<ValueRange>) -> Option<ValueRange> {
    match (a, b) {
        (Some(a), Some(b)) => Some(ValueRange { min: a.min.min(b.min), max: a.max.max(b.max) }),
        _ => a.or(b),
    }
}

pub(super) struct BuildSink(pub Arc<HashJoin>);

impl Operator for BuildSink {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }

    fn cache_use(&self) -> CacheUse {
        let join = &self.0;
        match &join.existence {
            Some(set) => CacheUse::depends(set.bytes(), "sets bits of a vector"),
            None if join.early_sets.iter().all(Option::is_none) => CacheUse::APPENDS,
            None => {
                let bytes = join.early_sets.iter().flatten().map(|set| set.bytes()).sum();
                CacheUse::depends(bytes, "appends rows to pages, and sets bits of filters")
            }
        }
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        self.0.pinned_bytes(workers)
    }
}

impl Sink for BuildSink {
    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        let join = self.0.clone();
        join.build_begun.get_or_init(Instant::now);
        let obtainable = join.memory.available_bytes() + join.memory.evictable_bytes();
        Ok(Box::new(BuildWorker {
            rows: Collected::new(&join.plan, &join.memory),
            whole_bytes_max: obtainable / (WHOLE_SHARE * query.settings.workers as u64),
            hashes: Vec::new(),
            join,
        }))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        let needed = self.0.collected.lock().needed_bytes(&self.0.plan);
        self.0.report_size(needed);
        Ok(())
    }
}

struct BuildWorker {
    join: Arc<HashJoin>,
    rows: Collected,
    whole_bytes_max: u64,
    hashes: Vec<u64>,
}

impl SinkWorker for BuildWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        let plan = &self.join.plan;
        let keys = plan.build_keys.iter().map(|key| key.evaluate(&chunk)).collect::<Result<Vec<Vector>>>()?;
        let validity = if plan.nulls_equal { None } else { common_validity(&keys) };
        self.rows.rows += chunk.len() as u64;
        self.rows.has_null |= validity.is_some();
        for (range, key) in self.rows.ranges.iter_mut().zip(&keys) {
            *range = union(*range, range_of(key));
        }
        if let Some(set) = &self.join.existence {
            set.insert(&keys[0]);
            return Ok(SinkVerdict::NeedInput);
        }
        for (key, set) in keys.iter().zip(&self.join.early_sets) {
            set.as_ref().inspect(|set| _ = set.insert(key));
        }
        hash_vectors(&keys, chunk.len(), &mut self.hashes);
        let mut columns = keys;
        columns.extend(plan.build_payload.iter().map(|&column| chunk.dense(column)));
        match validity {
            None => self.append(&columns, None)?,
            Some(validity) => {
                let mut rows = Vec::new();
                if plan.build_rows_at_end() == Some(false) {
                    select_bits(&validity, false, &mut rows);
                    self.rows.unmatchable.append(&columns, Some(&rows), Some(&self.hashes), None)?;
                }
                select_bits(&validity, true, &mut rows);
                self.append(&columns, Some(&rows))?;
            }
        }
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(mut self: Box<Self>) -> Result<()> {
        self.rows.whole.close();
        if let Some(partitioned) = &mut self.rows.partitioned {
            partitioned.close();
        }
        self.rows.unmatchable.close();
        self.join.collected.lock().absorb(self.rows);
        Ok(())
    }
}

impl BuildWorker {
    fn append(&mut self, columns: &[Vector], rows: Option<&[u32]>) -> Result<()> {
        if let Some(partitioned) = &mut self.rows.partitioned {
            return partitioned.append(columns, rows, &self.hashes, None);
        }
        self.rows.whole.append(columns, rows, Some(&self.hashes), None)?;
        if self.rows.whole.bytes() > self.whole_bytes_max {
            let join = &self.join;
            let empty = RowCollection::new(&join.memory, &join.plan.build_layout, None);
            let whole = std::mem::replace(&mut self.rows.whole, empty);
            self.rows.partitioned = Some(PartitionedRows::refine(&join.memory, whole, 0, 0, RADIX_BITS)?);
        }
        Ok(())
    }
}

/// The rows without a NULL in any of the columns; `None` if that is all of them.
pub(super) fn common_validity(columns: &[Vector]) -> Option<Bitmap> {
    let mut validities = columns.iter().filter_map(|column| column.validity());
    let first = (**validities.next()?).clone();
    Some(validities.fold(first, |all, validity| all.and(validity)))
}
