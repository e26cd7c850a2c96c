//! Tracks which part of the build side is in memory while the probe side streams, and shrinks it when others ask for
//! memory.
//!
//! ```text
//! Residency 0   the table source's: all build rows, or some partitions
//!      │        others ask for memory: nothing is resident, all probe rows are spilled …
//! Residency 1   no partition
//!      │        … until no worker uses the table any more: one takes it apart and makes one of the partitions that fit
//! Residency 2   fewer partitions                                   (and so on: odd numbers have no partition)
//! ```
//!
//! Partitions that were given up are joined in the rounds with the probe rows spilled since then. Their rows remember
//! whether they have had a match. So no worker ever waits for another, and a worker that gets no more chunks holds its
//! table at most until its task ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::Result;
use godwit_rows::{InsertScratch, PartitionedRows, RowCollection};
use parking_lot::Mutex;

use super::config::RADIX_BITS;
use super::rounds::LeftPartition;
use super::table::JoinTable;
use super::{HashJoin, JoinKind};

/// A table, and the partitions in it.
pub(super) struct Residency {
    pub table: Arc<JoinTable>,
    /// `None`: all build rows.
    pub partitions: Option<Vec<bool>>,
    number: u64,
    /// Bytes that must be granted for it.
    held_bytes: u64,
}

/// The current residency of a join. Latch order: `retired`, then `current`.
pub(super) struct Residencies {
    /// `None` when the probe is over.
    current: Mutex<Option<Arc<Residency>>>,
    /// Number of the current one.
    number: AtomicU64,
    /// The one before the current, while the current one has no partition.
    retired: Mutex<Option<Arc<Residency>>>,
    /// Partitions that were given up.
    given_up: Mutex<Vec<LeftPartition>>,
}

impl Residencies {
    /// Starts with a table that was built within a grant.
    pub(super) fn new(table: Arc<JoinTable>, partitions: Option<Vec<bool>>, granted_bytes: u64) -> Self {
        let held_bytes = table.bytes().min(granted_bytes);
        Self {
            current: Mutex::new(Some(Arc::new(Residency { table, partitions, number: 0, held_bytes }))),
            number: AtomicU64::new(0),
            retired: Mutex::new(None),
            given_up: Mutex::default(),
        }
    }

    /// The current one.
    pub(super) fn current(&self) -> Arc<Residency> {
        self.current.lock().clone().expect("the table is there until the probe is over")
    }

    /// Called by a worker before it looks up the rows of a chunk: gives back memory if others have asked for it, and
    /// replaces the worker's residency with the current one.
    pub(super) fn refresh(&self, join: &HashJoin, mine: &mut Arc<Residency>) -> Result<()> {
        let number = self.number.load(Ordering::Acquire);
        let is_complete = number.is_multiple_of(2);
        if is_complete && number == mine.number && join.claim.settle() >= mine.held_bytes {
            return Ok(());
        }
        *mine = self.current();
        let Some(mut retired) = self.retired.try_lock() else { return Ok(()) };
        if retired.is_none() && join.claim.settle() < mine.held_bytes && mine.can_shrink(join) {
            *retired = Some(self.replace(JoinTable::empty(join)?, Some(vec![false; 1 << RADIX_BITS]), 0));
            *mine = self.current();
        }
        if let Some(alone) = retired.take_if(|retired| retired.is_unshared()) {
            self.shrink(join, alone)?;
            *mine = self.current();
        }
        Ok(())
    }

    /// Makes another residency the current one; returns the previous one.
    fn replace(&self, table: Arc<JoinTable>, partitions: Option<Vec<bool>>, granted_bytes: u64) -> Arc<Residency> {
        let mut current = self.current.lock();
        let number = self.number.load(Ordering::Relaxed) + 1;
        let held_bytes = table.bytes().min(granted_bytes);
        let before = current.replace(Arc::new(Residency { table, partitions, number, held_bytes }));
        self.number.store(number, Ordering::Release);
        before.expect("the table is there until the probe is over")
    }

    /// Makes a table of those partitions of `before` that fit in the remaining grant.
    fn shrink(&self, join: &HashJoin, before: Arc<Residency>) -> Result<()> {
        let mut partitions: Vec<RowCollection> = (0..1 << RADIX_BITS).map(|_| join.no_build_rows()).collect();
        // The rows of the others have already been given up, or were never in memory.
        let complete = before.partitions.clone();
        before.take_apart(join, |partition, rows| partitions[partition].absorb(rows))?;
        let granted = join.claim.settle();
        let (table, resident) =
            join.make_resident(&mut partitions, complete.as_deref(), &join.ready().ranges, granted)?;
        let mut scratch = InsertScratch::default();
        while table.insert_next(join, &mut scratch).is_some() {}
        table.finish(join);
        let left = partitions.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
        let mut given_up = self.given_up.lock();
        given_up.extend(left.map(|(partition, rows)| LeftPartition { partition, rows, was_probed: true }));
        join.metrics.note("partitions given up", given_up.len().to_string());
        drop(given_up);
        self.replace(table, Some(resident), granted);
        Ok(())
    }

    /// Ends the probe. Returns the table, if it has seen all probe rows of its partitions, and the partitions that
    /// haven't.
    pub(super) fn finish(&self, join: &HashJoin) -> Result<(Option<Arc<JoinTable>>, Vec<LeftPartition>)> {
        let current = self.current.lock().take().expect("the probe ends once");
        let mut given_up = std::mem::take(&mut *self.given_up.lock());
        if current.number == 0 {
            return Ok((Some(current.table.clone()), given_up));
        }
        for residency in self.retired.lock().take().into_iter().chain([current]) {
            residency.take_apart(join, |partition, rows| {
                given_up.push(LeftPartition { partition, rows, was_probed: true });
            })?;
        }
        Ok((None, given_up))
    }
}

impl Residency {
    /// True if it has build rows that can be read again, and probe rows can be spilled. Joins that emit build rows at
    /// the end, or only test for a match, keep their table until the probe is over.
    fn can_shrink(&self, join: &HashJoin) -> bool {
        let gives_up = matches!(join.plan.kind, JoinKind::Inner | JoinKind::Left);
        gives_up && join.plan.spill_layout.is_ok() && self.table.has_rows()
    }

    fn is_unshared(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) == 1 && Arc::strong_count(&self.table) == 1
    }

    /// Passes on the rows of the table by partition; the table is no longer in use.
    fn take_apart(self: Arc<Self>, join: &HashJoin, mut each: impl FnMut(usize, RowCollection)) -> Result<()> {
        let Residency { table, partitions, .. } = Arc::into_inner(self).expect("nobody else has it");
        let mut collections = Arc::into_inner(table).expect("nobody else has it").into_rows();
        match partitions {
            Some(resident) => {
                let numbers = (0..resident.len()).filter(|&partition| resident[partition]);
                numbers.zip(collections).for_each(|(partition, rows)| each(partition, rows));
            }
            None => {
                let whole = collections.pop().expect("the rows that weren't partitioned come last");
                let whole = PartitionedRows::refine(&join.memory, whole, 0, 0, RADIX_BITS)?.into_partitions();
                collections.into_iter().enumerate().for_each(|(partition, rows)| each(partition, rows));
                whole.into_iter().enumerate().for_each(|(partition, rows)| each(partition, rows));
            }
        }
        Ok(())
    }
}

impl HashJoin {
    /// An empty collection of build rows.
    pub(super) fn no_build_rows(&self) -> RowCollection {
        RowCollection::new(&self.memory, &self.plan.build_layout, None)
    }
}
