//! The table source: decides how much of the build side is resident, and inserts it with all workers.

use std::sync::Arc;

use godwit_common::{ErrorKind, Result};
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Source, SourceVerdict, SourceWorker};
use godwit_rows::{InsertScratch, PartitionedRows, RowCollection};
use godwit_vector::ValueRange;
use parking_lot::Mutex;

use super::build::Collected;
use super::config::{GRANT_BYTES_MIN, RADIX_BITS};
use super::residency::Residencies;
use super::rounds::LeftPartition;
use super::table::{JoinTable, Prepared, Spare, TableSize};
use super::{HashJoin, LeftOver, Ready};

pub(super) struct TableSource(pub Arc<HashJoin>);

impl Operator for TableSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }

    fn cache_use(&self) -> CacheUse {
        self.table().cache_use_of_build()
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        self.0.pinned_bytes(workers)
    }
}

impl Source for TableSource {
    fn start(&self, _query: &Arc<QueryContext>) -> Result<()> {
        let join = &self.0;
        let fresh = Collected::new(&join.plan, &join.memory);
        let collected = std::mem::replace(&mut *join.collected.lock(), fresh);
        let ranges = collected.ranges.clone();
        let keys = collected.rows;
        let ready = join.make_ready(collected)?;
        let residency = ready.residencies.current();
        let (table, is_external) = (&residency.table, residency.partitions.is_some());
        assert!(join.ready.set(ready).is_ok(), "a table source starts once");
        if table.morsels() == 0 || is_external {
            // Nothing will be inserted that could tell more than the ranges.
            join.fill_filters(&ranges, if is_external { &[] } else { table.sets() }, keys);
        }
        if table.morsels() == 0 {
            join.finish_build(table);
        }
        Ok(())
    }

    fn parallelism(&self) -> usize {
        self.table().morsels().clamp(1, self.0.workers)
    }

    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(Inserter { join: self.0.clone(), table: self.table(), scratch: InsertScratch::default() }))
    }
}

impl TableSource {
    fn table(&self) -> Arc<JoinTable> {
        self.0.ready().residencies.current().table.clone()
    }
}

struct Inserter {
    join: Arc<HashJoin>,
    table: Arc<JoinTable>,
    scratch: InsertScratch,
}

impl SourceWorker for Inserter {
    fn next(&mut self) -> Result<SourceVerdict> {
        let Some(is_last) = self.table.insert_next(&self.join, &mut self.scratch) else {
            return Ok(SourceVerdict::Done);
        };
        if is_last {
            self.join.finish_build(&self.table);
            let ready = self.join.ready();
            if ready.residencies.current().partitions.is_none() {
                self.join.fill_filters(&ready.ranges, self.table.sets(), ready.build_rows);
            }
        }
        Ok(SourceVerdict::Worked)
    }
}

impl HashJoin {
    /// Publishes what the probe side waits for.
    fn finish_build(&self, table: &JoinTable) {
        table.finish(self);
        if let Some(begun) = self.build_begun.get() {
            self.metrics.note("built in", format!("{:.2} ms", begun.elapsed().as_secs_f64() * 1e3));
        }
    }

    /// Decides what is resident and prepares its table.
    fn make_ready(&self, collected: Collected) -> Result<Ready> {
        let Collected { whole, partitioned, unmatchable, ranges, rows: build_rows, has_null: build_has_null } =
            collected;
        let ready = |table, resident, partitions, ranges, granted| Ready {
            residencies: Residencies::new(table, resident, granted),
            left_over: Mutex::new(Some(LeftOver { partitions, unmatchable })),
            ranges,
            build_rows,
            build_has_null,
        };
        if let Some(set) = &self.existence {
            return Ok(ready(JoinTable::of_set(self, set.clone())?, None, Vec::new(), ranges, 0));
        }
        let mut all: Vec<RowCollection> = partitioned.map_or(Vec::new(), PartitionedRows::into_partitions);
        let is_partitioned = !all.is_empty();
        all.push(whole);
        let granted = self.claim.request();
        if TableSize::of(&all).needed_bytes(&self.plan, ranges[0], Spare::All) <= granted
            && let Some(prepared) = prepare(self, &all, &ranges, true)?
        {
            return Ok(ready(JoinTable::new(prepared, all), None, Vec::new(), ranges, granted));
        }
        let whole = all.pop().expect("just pushed");
        let mut partitions = PartitionedRows::refine(&self.memory, whole, 0, 0, RADIX_BITS)?.into_partitions();
        if is_partitioned {
            partitions.iter_mut().zip(all).for_each(|(partition, rows)| partition.absorb(rows));
        }
        let (table, resident) = self.make_resident(&mut partitions, None, &ranges, granted)?;
        let left = partitions.into_iter().enumerate().filter(|(partition, _)| !resident[*partition]);
        let left = left.map(|(partition, rows)| LeftPartition { partition, rows, was_probed: false }).collect();
        Ok(ready(table, Some(resident), left, ranges, granted))
    }

    /// A table of as many of the `complete` partitions (`None`: all are) as `granted` bytes and the pool allow,
    /// possibly none; they are taken out. A partition that is too large, such as that of a frequent key, doesn't keep
    /// out later ones.
    pub(super) fn make_resident(
        &self,
        partitions: &mut [RowCollection],
        complete: Option<&[bool]>,
        ranges: &[Option<ValueRange>],
        mut granted: u64,
    ) -> Result<(Arc<JoinTable>, Vec<bool>)> {
        loop {
            let mut size = TableSize::default();
            let fits = |(number, partition): (usize, &RowCollection)| {
                let larger = size.with(partition);
                let fits = complete.is_none_or(|complete| complete[number])
                    && larger.needed_bytes(&self.plan, ranges[0], Spare::Little) <= granted;
                size = if fits { larger } else { size };
                fits
            };
            let resident: Vec<bool> = partitions.iter().enumerate().map(fits).collect();
            let chosen = || partitions.iter().zip(&resident).filter(|(_, resident)| **resident).map(|(rows, _)| rows);
            if let Some(prepared) = prepare(self, chosen(), ranges, false)? {
                let taken = partitions.iter_mut().zip(&resident).filter(|(_, resident)| **resident);
                let count = resident.iter().filter(|&&resident| resident).count();
                self.metrics.note("resident partitions", format!("{count} of {}", resident.len()));
                let taken = taken.map(|(rows, _)| std::mem::replace(rows, self.no_build_rows())).collect();
                return Ok((JoinTable::new(prepared, taken), resident));
            }
            // Others hold the expected memory. Without any partition no memory is needed, so this loop ends.
            granted = if granted > GRANT_BYTES_MIN { granted / 2 } else { 0 };
        }
    }
}

/// [`Prepared::new`], but `None` if there isn't enough memory.
fn prepare<'a>(
    join: &HashJoin,
    collections: impl IntoIterator<Item = &'a RowCollection>,
    ranges: &[Option<ValueRange>],
    with_sets: bool,
) -> Result<Option<Prepared>> {
    let collections: Vec<&RowCollection> = collections.into_iter().collect();
    match Prepared::new(join, &collections, ranges, with_sets) {
        Ok(prepared) => Ok(Some(prepared)),
        Err(error) if error.kind() == ErrorKind::Resource => Ok(None),
        Err(error) => Err(error),
    }
}
