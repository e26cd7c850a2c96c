//! Phase two: combines the rows of a partition, so that each group has exactly one.
//!
//! ```text
//! morsel: one partition, or several small ones
//!   fits ──▶ pin its pages, enter each row into a table: the first of a group stays, others are combined into it
//!   else ──▶ pass it through phase one with more radix bits: smaller morsels
//! ```
//!
//! Rows are neither moved nor copied when the partition fits. Splitting pre-aggregates on the way, so that even a
//! partition that is large because of one group's many rows becomes small.

use std::sync::Arc;

use godwit_common::{ErrorKind, MemoryTag, Result};
use godwit_memory::Reservation;
use godwit_rows::aggregate_state::StateLayout;
use godwit_rows::{GroupTable, PartitionedRows, PinnedRows, RowCollection, RowList, RowOwner, Rows, radix};
use godwit_vector::{CHUNK_ROWS, Vector};

use super::config::*;
use super::groups::{Grouping, LocalGroups};

/// Rows of some partitions that are aggregated at once.
pub(super) struct GroupMorsel {
    partitions: Vec<Partition>,
    has_duplicates: bool,
}

struct Partition {
    index: usize,
    bits: u32,
    rows: RowCollection,
    /// Values collected for the groups, by set.
    collected: Vec<RowCollection>,
}

impl GroupMorsel {
    pub(super) fn new(
        index: usize,
        bits: u32,
        rows: RowCollection,
        collected: Vec<RowCollection>,
        has_duplicates: bool,
    ) -> Self {
        Self { partitions: vec![Partition { index, bits, rows, collected }], has_duplicates }
    }

    pub(super) fn rows(&self) -> u64 {
        self.partitions.iter().map(|partition| partition.rows.rows()).sum()
    }

    /// Rows of groups, and values collected for them.
    fn rows_and_values(&self) -> u64 {
        let collected = self.partitions.iter().flat_map(|partition| &partition.collected);
        self.rows() + collected.map(RowCollection::rows).sum::<u64>()
    }

    /// Prefetches its first pages while another morsel is being processed.
    pub(super) fn read_ahead(&self) {
        self.partitions.iter().take(1).for_each(|partition| partition.rows.read_ahead());
    }

    /// True if both together are still small.
    pub(super) fn can_be_merged(&self, other: &GroupMorsel, bytes_max: u64) -> bool {
        self.rows_and_values() + other.rows_and_values() <= MORSEL_ROWS_MIN
            && self.bytes_needed() + other.bytes_needed() <= bytes_max
    }

    pub(super) fn merge(&mut self, other: GroupMorsel) {
        self.has_duplicates |= other.has_duplicates;
        self.partitions.extend(other.partitions);
    }

    /// Bytes needed to aggregate it: all pages of groups, the table, and the list of groups. Collected values are read
    /// page by page.
    fn bytes_needed(&self) -> u64 {
        let pages: u64 = self.partitions.iter().map(|partition| partition.rows.bytes()).sum();
        pages + self.rows() * 4 * size_of::<u64>() as u64
    }

    fn can_be_split(&self) -> bool {
        let has_bits = |partition: &Partition| partition.bits + REPARTITION_BITS <= radix::PARTITION_BITS_MAX;
        let is_large = self.rows() >= SPLIT_ROWS_MIN || self.bytes_needed() >= SPLIT_BYTES_MIN;
        is_large && self.partitions.iter().all(has_bits)
    }
}

/// The outcome for a morsel.
pub(super) enum Aggregated {
    /// One row per group.
    Groups(FinishedGroups),
    /// It was too large.
    Split(Vec<GroupMorsel>),
}

/// Groups with final states, and the values collected for them.
pub(super) struct FinishedGroups {
    pinned: PinnedRows,
    pub(super) owner: RowOwner,
    /// The rows of the groups; `None`: all rows.
    rows: Option<RowList>,
    len: usize,
    pub(super) collected: Vec<Vec<RowCollection>>,
    _reservation: Reservation,
}

impl FinishedGroups {
    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Numbers the groups, starting at 0, in the state `ordinal`.
    pub(super) fn number(&mut self, states: &StateLayout, ordinal: usize) {
        let mut rows = self.new_list();
        for begin in (0..self.len).step_by(CHUNK_ROWS) {
            self.rows(begin, self.len.min(begin + CHUNK_ROWS), &mut rows);
            states.number(&mut self.owner, ordinal, rows.all(), begin as u64);
        }
    }

    /// The rows of groups `begin .. end`; replaces the content of `rows`.
    pub(super) fn rows(&self, begin: usize, end: usize, rows: &mut RowList) {
        rows.clear();
        match &self.rows {
            Some(all) => rows.append(all.slice(begin..end)),
            None => self.pinned.list(begin..end, rows),
        }
    }

    /// An empty list for rows of groups.
    pub(super) fn new_list(&self) -> RowList {
        RowList::new(self.pinned.layout())
    }
}

/// One worker's tools for phase two.
pub(super) struct PartitionAggregator {
    grouping: Arc<Grouping>,
    table: Option<GroupTable>,
    block: RowList,
    hashes: Vec<u64>,
    found: RowList,
}

impl PartitionAggregator {
    pub(super) fn new(grouping: &Arc<Grouping>) -> Self {
        Self {
            grouping: grouping.clone(),
            table: None,
            block: RowList::new(&grouping.layout),
            hashes: Vec::new(),
            found: RowList::new(&grouping.layout),
        }
    }

    /// Leaves one row per group, or splits the morsel if it is too large. After that, [`find`](Self::find) finds the
    /// groups if values were collected for them.
    pub(super) fn aggregate(&mut self, morsel: GroupMorsel) -> Result<Aggregated> {
        if morsel.bytes_needed() > self.grouping.partition_budget() && morsel.can_be_split() {
            return Ok(Aggregated::Split(self.split(morsel)?));
        }
        let has_collected = morsel.partitions.iter().any(|partition| !partition.collected.is_empty());
        let needs_table = morsel.has_duplicates || has_collected;
        let (pinned, reservation) = match self.acquire(&morsel, needs_table) {
            Err(error) if error.kind() == ErrorKind::Resource && morsel.can_be_split() => {
                return Ok(Aggregated::Split(self.split(morsel)?));
            }
            acquired => acquired?,
        };
        let mut collected: Vec<Vec<RowCollection>> = Vec::new();
        let mut partitions = Vec::new();
        for partition in morsel.partitions {
            partitions.push(partition.rows);
            collected.resize_with(partition.collected.len(), Vec::new);
            collected.iter_mut().zip(partition.collected).for_each(|(set, rows)| set.push(rows));
        }
        let (pinned, mut owner) = pinned.own(partitions);
        let rows = if needs_table { Some(self.combine_duplicates(&pinned, &mut owner)?) } else { None };
        let len = rows.as_ref().map_or(pinned.rows(), RowList::len);
        if !has_collected {
            self.release();
        }
        Ok(Aggregated::Groups(FinishedGroups { pinned, owner, rows, len, collected, _reservation: reservation }))
    }

    /// Drops the pins of the morsel aggregated last.
    pub(super) fn release(&mut self) {
        self.block.clear();
        self.found.clear();
        if let Some(table) = &mut self.table {
            table.release();
        }
    }

    /// Acquires all memory before anything is changed.
    fn acquire(&mut self, morsel: &GroupMorsel, needs_table: bool) -> Result<(PinnedRows, Reservation)> {
        let memory = &self.grouping.memory;
        let partitions = morsel.partitions.iter().map(|partition| &partition.rows);
        let pinned = PinnedRows::of(&self.grouping.layout, partitions)?;
        let rows = morsel.rows() as usize;
        let listed = if needs_table { rows } else { 0 };
        let reservation = memory.reserve(listed * RowList::ROW_BYTES, MemoryTag::HashTable)?;
        if needs_table {
            let entries = (rows + CHUNK_ROWS) * 100 / FILL_PERCENT_MAX;
            match &mut self.table {
                Some(table) => table.reset(entries)?,
                None => {
                    let Grouping { memory, layout, .. } = &*self.grouping;
                    self.table = Some(GroupTable::new(memory, layout, self.grouping.keys(), entries)?);
                }
            }
        }
        Ok((pinned, reservation))
    }

    /// Enters all rows into the table; returns the first row of each group, with the states of all.
    fn combine_duplicates(&mut self, pinned: &PinnedRows, owner: &mut RowOwner) -> Result<RowList> {
        let Self { grouping, table, block, hashes, found } = self;
        let table = table.as_mut().expect("acquired");
        let new_list = || RowList::new(&grouping.layout);
        let (mut groups, mut targets, mut sources, mut others) = (new_list(), new_list(), new_list(), Vec::new());
        for begin in (0..pinned.rows()).step_by(CHUNK_ROWS) {
            block.clear();
            pinned.list(begin..pinned.rows().min(begin + CHUNK_ROWS), block);
            block.all().hashes(hashes);
            let keys = key_columns(grouping, owner.read(block.all()));
            table.find_or_insert(owner, &keys, hashes, found, |_, new, made| {
                made.append_picked(block.all(), new);
                groups.append(made.all());
                Ok(())
            })?;
            found.all().differing(block.all(), &mut others);
            targets.clear();
            sources.clear();
            targets.append_picked(found.all(), &others);
            sources.append_picked(block.all(), &others);
            grouping.states.combine(owner, targets.all(), sources.all())?;
            for (column, &kind) in grouping.payload_columns().zip(&grouping.payload) {
                targets.all().merge_payload(owner, column, kind, sources.all());
            }
        }
        Ok(groups)
    }

    /// The rows of the groups of `keys`, which are groups of the morsel aggregated last.
    pub(super) fn find(&mut self, owner: &mut RowOwner, keys: &[Vector], hashes: &[u64]) -> Result<Rows<'_>> {
        let table = self.table.as_mut().expect("a table is made if values are collected");
        let unknown = |_: &mut RowOwner, _: &[u32], _: &mut RowList| panic!("values are collected for known groups");
        table.find_or_insert(owner, keys, hashes, &mut self.found, unknown)?;
        Ok(self.found.all())
    }

    /// Divides each partition by further radix bits.
    fn split(&mut self, morsel: GroupMorsel) -> Result<Vec<GroupMorsel>> {
        let grouping = self.grouping.clone();
        let mut morsels = Vec::new();
        for Partition { index, bits, rows, collected } in morsel.partitions {
            let mut local = LocalGroups::inside(&grouping, index, bits, bits + REPARTITION_BITS)?;
            let mut scan = rows.into_scan();
            while let Some(block) = scan.next_block()? {
                let rows = block.rows();
                rows.hashes(&mut self.hashes);
                let keys = key_columns(&grouping, rows);
                let payload: Vec<Vector> = grouping.payload_columns().map(|column| rows.gather(column)).collect();
                local.add_rows(&keys, &payload, &self.hashes, rows)?;
            }
            let mut collected = collected
                .into_iter()
                .map(|rows| PartitionedRows::refine(&grouping.memory, rows, index, bits, REPARTITION_BITS))
                .map(|refined| Ok(refined?.into_partitions().into_iter()))
                .collect::<Result<Vec<_>>>()?;
            let (finer, has_duplicates) = local.finish();
            for (offset, rows) in finer.into_partitions().into_iter().enumerate() {
                let collected = collected.iter_mut().map(|set| set.next().expect("as many partitions")).collect();
                if !rows.is_empty() {
                    let index = (index << REPARTITION_BITS) + offset;
                    morsels.push(GroupMorsel::new(index, bits + REPARTITION_BITS, rows, collected, has_duplicates));
                }
            }
        }
        Ok(morsels)
    }
}

/// The key columns of rows of groups.
pub(super) fn key_columns(grouping: &Grouping, rows: Rows<'_>) -> Vec<Vector> {
    (0..grouping.keys()).map(|key| rows.gather(key)).collect()
}
