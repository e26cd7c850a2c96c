//! A counting sort of rows by partition.

use std::ops::Range;

use crate::place::Order;
use crate::radix::PARTITION_BITS_MAX;

/// Maximum number of bits of one partitioning step: beyond 256 open pages, writing suffers from cache and TLB misses.
pub(crate) const STEP_BITS_MAX: u32 = 8;

/// The partitions of `bits` bits that lie inside partition `parent` of `parent_bits` bits, for a single partitioning
/// step.
///
/// # Panics
/// If there are too many of them: a bug in the plan.
pub(crate) fn partitions_inside(parent: usize, parent_bits: u32, bits: u32) -> Range<usize> {
    let own_bits = bits - parent_bits;
    assert!(bits <= PARTITION_BITS_MAX && own_bits <= STEP_BITS_MAX, "from {parent_bits} to {bits} radix bits");
    let first = parent << own_bits;
    first..first + (1 << own_bits)
}

/// Rows by partition. Kept from append to append, so that nothing is allocated.
#[derive(Default)]
pub(crate) struct PartitionOrder {
    /// Partition of each row.
    partitions: Vec<u8>,
    positions: Vec<u32>,
    places: Vec<u32>,
    ends: Vec<usize>,
}

impl PartitionOrder {
    /// Sorts the rows of `order` by the bits of their hashes, starting at bit `shift`, that select one of `partitions`.
    pub(crate) fn sort(&mut self, order: Order<'_>, hashes: &[u64], shift: u32, partitions: usize) {
        let Self { partitions: numbers, positions, places, ends } = self;
        let rows = order.len();
        numbers.resize(rows, 0);
        positions.resize(rows, 0);
        places.resize(rows, 0);
        ends.clear();
        ends.resize(partitions, 0);
        let mask = partitions as u64 - 1;
        order.zip(numbers.iter_mut(), |number, position| {
            let partition = hashes[position] >> shift & mask;
            *number = partition as u8;
            ends[partition as usize] += 1;
        });
        let mut begin = 0;
        for end in ends.iter_mut() {
            begin += std::mem::replace(end, begin);
        }
        // At first `ends` holds the beginnings; each advances to its end as the rows are placed.
        order.zip(numbers.iter().enumerate(), |(place, &number), position| {
            let end = &mut ends[number as usize];
            positions[*end] = position as u32;
            places[*end] = place as u32;
            *end += 1;
        });
    }

    /// The positions of the rows in the source, by partition.
    pub(crate) fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The places of the same rows in the order that was sorted.
    pub(crate) fn places(&self) -> &[u32] {
        &self.places
    }

    /// Where the rows of each partition end.
    pub(crate) fn ends(&self) -> &[usize] {
        &self.ends
    }
}
