//! Rows by column, partitioned by their hash.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_vector::{CHUNK_ROWS, Vector};

use super::collection::string_bytes_of;
use super::{ColumnCollection, ColumnLayout};
use crate::partition_order::{PartitionOrder, partitions_inside};
use crate::place::Order;
use crate::radix::{SALT_SHIFT, page_partition};

/// Rows in `2^bits` collections by [`partition_of`](crate::radix::partition_of) their hashes, which aren't stored. A
/// partition takes a page as soon as it gets its first row.
pub struct PartitionedColumns {
    bits: u32,
    partitions: Vec<ColumnCollection>,
    order: PartitionOrder,
    string_bytes: Vec<u64>,
}

impl PartitionedColumns {
    /// `2^radix_bits` empty partitions.
    pub fn new(manager: &BufferManager, layout: &Arc<ColumnLayout>, radix_bits: u32) -> Self {
        Self::inside(manager, layout, 0, 0, radix_bits)
    }

    /// Partitions of `bits` bits that lie inside partition `parent` of `parent_bits` bits.
    fn inside(manager: &BufferManager, layout: &Arc<ColumnLayout>, parent: usize, parent_bits: u32, bits: u32) -> Self {
        let partition = |partition| ColumnCollection::new(manager, layout, Some(page_partition(partition, bits)));
        Self {
            bits,
            partitions: partitions_inside(parent, parent_bits, bits).map(partition).collect(),
            order: PartitionOrder::default(),
            string_bytes: Vec::new(),
        }
    }

    /// Divides the rows of partition `partition` of `bits` bits by `more_bits` further ones of their hashes, which
    /// `hash` computes. Its pages are freed as it goes.
    pub fn refine(
        manager: &BufferManager,
        rows: ColumnCollection,
        partition: usize,
        bits: u32,
        more_bits: u32,
        mut hash: impl FnMut(&[Vector], usize, &mut Vec<u64>) -> Result<()>,
    ) -> Result<Self> {
        let mut refined = Self::inside(manager, rows.layout(), partition, bits, bits + more_bits);
        let mut hashes = Vec::new();
        for mut scan in rows.into_scans(u64::MAX) {
            while let Some(block) = scan.next_block(CHUNK_ROWS)? {
                hash(block.columns(), block.len(), &mut hashes)?;
                refined.append_in(block.columns(), Order::All { begin: 0, end: block.len() }, &hashes)?;
            }
        }
        Ok(refined)
    }

    /// Appends the rows at `positions` of `columns`, each to its partition. `hashes` has one for each row of `columns`.
    pub fn append(&mut self, columns: &[Vector], positions: &[u32], hashes: &[u64]) -> Result<()> {
        self.append_in(columns, Order::Rows(positions), hashes)
    }

    fn append_in(&mut self, columns: &[Vector], order: Order<'_>, hashes: &[u64]) -> Result<()> {
        self.order.sort(order, hashes, SALT_SHIFT - self.bits, self.partitions.len());
        let (positions, ends) = (self.order.positions(), self.order.ends());
        string_bytes_of(self.partitions[0].layout(), columns, positions, &mut self.string_bytes);
        let mut begin = 0;
        for (partition, &end) in self.partitions.iter_mut().zip(ends) {
            let sizes = if self.string_bytes.is_empty() { &[][..] } else { &self.string_bytes[begin..end] };
            partition.append_sized(columns, &positions[begin..end], sizes)?;
            begin = end;
        }
        Ok(())
    }

    /// Unpins all pages.
    pub fn close(&mut self) {
        self.partitions.iter_mut().for_each(ColumnCollection::close);
    }

    /// Takes over the rows of `other`, which has the same layout and as many partitions. Its pages are unpinned.
    pub fn combine(&mut self, other: PartitionedColumns) {
        assert_eq!(self.bits, other.bits, "partitions by the same bits");
        for (mine, theirs) in self.partitions.iter_mut().zip(other.partitions) {
            mine.absorb(theirs);
        }
    }

    /// The partitions in order, with all pages unpinned.
    pub fn into_partitions(mut self) -> Vec<ColumnCollection> {
        self.close();
        self.partitions
    }
}
