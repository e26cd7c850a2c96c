//! Aggregates that need all values of a group: quantiles, string_agg, lists, ordered first and last values.
//!
//! ```text
//! phase one   (group keys, value, sort keys) ─▶ rows in partitions that run along with those of the groups
//! phase two   groups of a morsel get numbers 0 .. n
//!             rows ─▶ (group number, sort keys, value, order of arrival) ─▶ sort ─▶ values, group by group (results/)
//! ```
//!
//! The sort is external, and results are made from its stream a chunk of groups at a time: a group's values need not
//! fit in memory; only a result as long as they are, a string or a list, must. The values of each group are counted
//! beforehand, so that quantiles are picked by position, and sorted rows need no group number.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use godwit_common::{Error, MemoryTag, Result};
use godwit_expression::Expression;
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::QueryContext;
use godwit_rows::{PartitionedRows, RowBlock, RowCollection, RowLayout, RowLayoutOptions, RowOwner};
use godwit_vector::{Chunk, ColumnType, Flat, PhysicalType, ValueRange, Vector};
use parking_lot::Mutex;

use super::HashAggregate;
use super::config::RESULTS_SHARE;
use super::partition::{FinishedGroups, PartitionAggregator};
use super::plan::CollectedSet;
use super::results::Results;
use crate::alone::SourceAlone;
use crate::sort::{SortAlone, SortKey, SortSpec};

/// The rows of a collected set, from all workers.
pub(super) struct SharedCollected {
    layout: Arc<RowLayout>,
    keys: usize,
    radix_bits: u32,
    rows: Mutex<Option<PartitionedRows>>,
}

impl SharedCollected {
    pub(super) fn new(keys: &[PhysicalType], set: &CollectedSet, radix_bits: u32) -> Result<Self> {
        let columns: Vec<PhysicalType> = keys.iter().copied().chain(set.types.iter().map(|ty| ty.physical)).collect();
        let layout = RowLayout::new(&columns, RowLayoutOptions { hash: true, ..RowLayoutOptions::default() })?;
        Ok(Self { layout, keys: keys.len(), radix_bits, rows: Mutex::new(None) })
    }

    /// Empty partitions for a worker.
    pub(super) fn new_rows(&self, memory: &BufferManager) -> PartitionedRows {
        PartitionedRows::new(memory, &self.layout, self.radix_bits)
    }

    /// Keeps the values of a chunk's rows, or of the selected ones, under their keys.
    pub(super) fn append<'a>(
        &self,
        rows: &mut PartitionedRows,
        keys: &'a [Vector],
        values: impl Iterator<Item = &'a Vector>,
        hashes: &[u64],
        selected: Option<&[u32]>,
    ) -> Result<()> {
        let columns: Vec<Vector> = keys.iter().chain(values).cloned().collect();
        rows.append(&columns, selected, hashes, None)
    }

    /// Takes over the rows of a worker.
    pub(super) fn combine(&self, rows: PartitionedRows) {
        match &mut *self.rows.lock() {
            Some(others) => others.combine(rows),
            none => *none = Some(rows),
        }
    }

    /// Takes the rows of all workers.
    pub(super) fn take(&self, memory: &BufferManager) -> PartitionedRows {
        self.rows.lock().take().unwrap_or_else(|| self.new_rows(memory))
    }
}

/// The values of a set for the groups of a morsel, sorted by group.
pub(super) struct SortedValues {
    stream: SourceAlone,
    /// The rows of the stream's last chunk that haven't been consumed yet.
    rest: Option<Chunk>,
    /// Number of values of each group.
    counts: Vec<u64>,
    /// Size of the values of each group; empty if results don't grow with them.
    bytes: Vec<u64>,
    _reservation: Reservation,
}

impl HashAggregate {
    /// Numbers the groups of a morsel and sorts the values that were collected for them, set by set.
    pub(super) fn sort_collected(
        &self,
        query: &QueryContext,
        aggregator: &mut PartitionAggregator,
        groups: &mut FinishedGroups,
    ) -> Result<Vec<SortedValues>> {
        let plan = self.plan();
        let Some(ordinal) = plan.ordinal else { return Ok(Vec::new()) };
        groups.number(&plan.layout, ordinal);
        // A single group is handled by one worker.
        let workers = if plan.key_types.is_empty() { 1 } else { self.workers() };
        let sharers = plan.collected.len() * workers;
        let collected = std::mem::take(&mut groups.collected);
        let sets = self.collected().iter().zip(&plan.collected).zip(collected);
        let sorted = sets.map(|((shared, set), rows)| {
            let mut sorter = Sorter::new(self, query, set, groups.len(), sharers, &rows)?;
            for rows in rows {
                let mut scan = rows.into_scan();
                while let Some(block) = scan.next_block()? {
                    query.cancel.check()?;
                    let numbers = match groups.len() {
                        1 => Vector::constant(Flat::U32(vec![0].into()), block.len()),
                        _ => self.group_numbers(shared, ordinal, &block, aggregator, &mut groups.owner)?,
                    };
                    let value = |column| block.rows().gather(shared.keys + column);
                    sorter.push(numbers, (0..set.types.len()).map(value).collect())?;
                }
            }
            sorter.finish()
        });
        let sorted = sorted.collect();
        aggregator.release();
        sorted
    }

    /// The number of the group of each row of a block.
    fn group_numbers(
        &self,
        shared: &SharedCollected,
        ordinal: usize,
        block: &RowBlock,
        aggregator: &mut PartitionAggregator,
        owner: &mut RowOwner,
    ) -> Result<Vector> {
        let mut hashes = Vec::new();
        block.rows().hashes(&mut hashes);
        let keys: Vec<Vector> = (0..shared.keys).map(|key| block.rows().gather(key)).collect();
        let found = aggregator.find(owner, &keys, &hashes)?;
        let ordinals = self.plan().layout.counts(ordinal, owner.read(found));
        Ok(Vector::from_values(ordinals.into_iter().map(|ordinal| ordinal as u32).collect::<Vec<u32>>(), None))
    }

    /// How many of the groups `begin .. end` go into the next chunk: as many as keep growing results small, but at
    /// least one.
    pub(super) fn groups_at_once(&self, sets: &[SortedValues], groups: Range<usize>) -> usize {
        let bytes_max = self.groups().grouping.partition_budget() / RESULTS_SHARE;
        let mut bytes = 0;
        let fits = |&group: &usize| {
            bytes += sets.iter().filter_map(|set| set.bytes.get(group)).sum::<u64>();
            bytes <= bytes_max
        };
        groups.clone().take_while(fits).count().clamp(1, groups.len())
    }
}

/// Passes a set's rows on to the sort: the columns are the group number, value and sort keys, order of arrival.
struct Sorter<'a> {
    set: &'a CollectedSet,
    sort: SortAlone,
    counts: Vec<u64>,
    bytes: Vec<u64>,
    rows: u64,
    reservation: Reservation,
}

impl<'a> Sorter<'a> {
    fn new(
        operator: &HashAggregate,
        query: &QueryContext,
        set: &'a CollectedSet,
        groups: usize,
        sharers: usize,
        rows: &[RowCollection],
    ) -> Result<Self> {
        let number = |logical, count: u64| {
            let ty = ColumnType::new(logical, false)?;
            Ok::<_, Error>(ColumnType { range: Some(ValueRange { min: 0, max: count.max(1) as i128 - 1 }), ..ty })
        };
        let required = |(column, ty): (usize, &ColumnType)| ColumnType {
            nullable: ty.nullable && !set.required.contains(&column),
            ..ty.clone()
        };
        let mut input = vec![number(DataType::UInt32, groups as u64)?];
        input.extend(set.types.iter().enumerate().map(required));
        input.push(number(DataType::UInt64, rows.iter().map(RowCollection::rows).sum())?);
        let key = |column: usize, descending, nulls_first| SortKey {
            expression: Expression::column(column, input[column].clone()),
            descending,
            nulls_first,
        };
        let (value, arrival) = (1, input.len() - 1);
        let mut keys = vec![key(0, false, false)];
        keys.extend(set.order.iter().map(|order| key(value + order.column, order.descending, order.nulls_first)));
        if set.keeps_arrival {
            keys.push(key(arrival, false, false));
        }
        let mut output = vec![value];
        output.extend(set.kind.needs_arrival().then_some(arrival));
        let spec = SortSpec { keys, input, output, limit: None, bound: None };
        let grows = set.kind.result_grows();
        let bytes = groups * size_of::<u64>() * if grows { 2 } else { 1 };
        Ok(Self {
            set,
            sort: SortAlone::new(spec, query, operator.memory(), sharers)?,
            counts: vec![0; groups],
            bytes: vec![0; if grows { groups } else { 0 }],
            rows: 0,
            reservation: operator.memory().reserve(bytes, MemoryTag::Other)?,
        })
    }

    fn push(&mut self, numbers: Vector, values: Vec<Vector>) -> Result<()> {
        let mut columns: Vec<Vector> = std::iter::once(numbers).chain(values).collect();
        let missing = self.set.required.iter().filter_map(|&column| columns[1 + column].validity().cloned());
        if let Some(present) = missing.reduce(|a, b| Arc::new(a.and(&b))) {
            let rows: Vec<u32> = (0..present.len() as u32).filter(|&row| present.get(row as usize)).collect();
            columns.iter_mut().for_each(|column| *column = column.take(&rows));
        }
        let rows = columns[0].len();
        if rows == 0 {
            return Ok(());
        }
        let numbers = columns[0].to_flat();
        let numbers = numbers.values::<u32>();
        numbers.iter().for_each(|&group| self.counts[group as usize] += 1);
        if !self.bytes.is_empty() {
            self.add_bytes(numbers, &columns[1]);
        }
        let arrival: Vec<u64> = (self.rows..self.rows + rows as u64).collect();
        self.rows += rows as u64;
        columns.push(Vector::from_values(arrival, None));
        self.sort.push(Chunk::new(columns, rows))
    }

    /// Adds the bytes that each value takes in a result to the total of its group.
    fn add_bytes(&mut self, numbers: &[u32], values: &Vector) {
        let value_bytes = self.set.kind.value_bytes(values.physical());
        let flat = values.to_flat();
        match &flat {
            Flat::Str(strings) => {
                let lengths = strings.views().iter().map(|view| view.len() as u64);
                numbers.iter().zip(lengths).for_each(|(&group, length)| {
                    self.bytes[group as usize] += value_bytes + length;
                });
            }
            _ => numbers.iter().for_each(|&group| self.bytes[group as usize] += value_bytes),
        }
    }

    fn finish(mut self) -> Result<SortedValues> {
        let rows_max = self.set.kind.rows_max();
        for (bytes, &count) in self.bytes.iter_mut().zip(&self.counts).filter(|(_, count)| **count > rows_max) {
            *bytes = (*bytes as u128 * rows_max as u128 / count as u128) as u64;
        }
        Ok(SortedValues {
            stream: self.sort.finish()?,
            rest: None,
            counts: self.counts,
            bytes: self.bytes,
            _reservation: self.reservation,
        })
    }
}

impl SortedValues {
    /// The results of the next groups, whose numbers are `groups`, and the memory that they take.
    pub(super) fn results(
        &mut self,
        memory: &BufferManager,
        set: &CollectedSet,
        groups: Range<usize>,
        ty: &ColumnType,
    ) -> Result<(Vector, Reservation)> {
        let bytes: u64 = self.bytes.get(groups.clone()).map_or(0, |bytes| bytes.iter().sum());
        // The parts and the combined result are alive at the same time.
        let reservation = memory.reserve(2 * bytes as usize, MemoryTag::Other).map_err(|error| {
            error.context(format!("making a value of {} MiB with {}", bytes >> 20, set.kind.name()))
        })?;
        let counts = &self.counts[groups];
        let mut left: u64 = counts.iter().sum();
        let mut results = Results::new(set, counts, ty)?;
        while left > 0 {
            let chunk = match self.rest.take() {
                Some(chunk) => chunk,
                None => self.stream.next()?.ok_or_else(|| Error::internal("a sort lost rows"))?,
            };
            let taken = chunk.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            left -= taken as u64;
            results.add(&chunk.slice(0, taken).dense_columns())?;
            self.rest = (taken < chunk.len()).then(|| chunk.slice(taken, chunk.len() - taken));
        }
        Ok((results.finish()?, reservation))
    }
}
