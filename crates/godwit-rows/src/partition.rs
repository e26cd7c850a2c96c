//! Rows partitioned by their hash.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_vector::Vector;

use crate::collection::release;
use crate::copy_rows::Copied;
use crate::held_pages::{HeldPages, as_heap};
use crate::owner::Access;
use crate::partition_order::{PartitionOrder, partitions_inside};
use crate::place::{AppendScratch, Order, RowSource, append_to};
use crate::radix::{SALT_SHIFT, page_partition};
use crate::row_ptr::RowPtr;
use crate::scatter::Columns;
use crate::{RowCollection, RowLayout, RowList, RowOwner, Rows};

/// Rows in `2^bits` collections by [`partition_of`](crate::radix::partition_of) their hashes. A partition takes a page
/// (two with long strings) as soon as it gets its first row.
pub struct PartitionedRows {
    layout: Arc<RowLayout>,
    /// Number of hash bits that determine the partition, counted from the top of their range.
    bits: u32,
    partitions: Vec<RowCollection>,
    /// The pins of the full pages of all partitions, if they are kept.
    held: Option<Arc<HeldPages>>,
    scratch: Scratch,
}

/// Buffers of an append, kept to avoid allocations.
#[derive(Default)]
struct Scratch {
    append: AppendScratch,
    order: PartitionOrder,
    hashes: Vec<u64>,
}

impl PartitionedRows {
    /// `2^radix_bits` empty partitions. The layout keeps hashes.
    pub fn new(manager: &BufferManager, layout: &Arc<RowLayout>, radix_bits: u32) -> Self {
        Self::inside(manager, layout, 0, 0, radix_bits)
    }

    /// Empty partitions of `bits` bits that lie inside partition `parent` of `parent_bits` bits.
    pub fn inside(
        manager: &BufferManager,
        layout: &Arc<RowLayout>,
        parent: usize,
        parent_bits: u32,
        bits: u32,
    ) -> Self {
        assert!(layout.has_hash(), "rows are partitioned by the hashes that they keep");
        let partitions = partitions_inside(parent, parent_bits, bits)
            .map(|partition| RowCollection::new(manager, layout, Some(page_partition(partition, bits))))
            .collect();
        Self { layout: layout.clone(), bits, partitions, held: None, scratch: Scratch::default() }
    }

    /// From now on, the rows, of which there are none yet, are those of an owner.
    pub fn owned_by(mut self, owner: &RowOwner) -> Self {
        assert!(self.rows() == 0 && self.layout.extra().is_for_states(), "new rows of groups");
        self.set_access(Access::Shared, owner.access());
        self
    }

    /// Ends the access of an owner.
    pub(crate) fn lay_to_rest(&mut self, access: Access) {
        self.set_access(access, Access::AtRest);
    }

    /// Closes the partitions, too: lists know by their pins whose their rows are, so new rows need other pins.
    fn set_access(&mut self, before: Access, after: Access) {
        self.close();
        for partition in &mut self.partitions {
            assert_eq!(partition.access(), before, "rows of another owner");
            partition.set_access(after);
        }
    }

    /// Divides the rows of partition `partition` of `bits` bits by `more_bits` further ones. Its pages are freed as it
    /// goes.
    pub fn refine(
        manager: &BufferManager,
        rows: RowCollection,
        partition: usize,
        bits: u32,
        more_bits: u32,
    ) -> Result<PartitionedRows> {
        let mut refined = Self::inside(manager, rows.layout(), partition, bits, bits + more_bits);
        let mut scan = rows.into_scan();
        while let Some(block) = scan.next_block()? {
            refined.append_rows(block.rows(), None)?;
        }
        Ok(refined)
    }

    /// The layout of the rows.
    pub fn layout(&self) -> &Arc<RowLayout> {
        &self.layout
    }

    /// Number of hash bits that determine the partition.
    pub fn radix_bits(&self) -> u32 {
        self.bits
    }

    /// The partitions in order.
    pub fn partitions(&self) -> &[RowCollection] {
        &self.partitions
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.partitions.iter().map(RowCollection::rows).sum()
    }

    /// Memory of the rows when all their pages are loaded.
    pub fn bytes(&self) -> u64 {
        self.partitions.iter().map(RowCollection::bytes).sum()
    }

    /// Appends the rows at the positions `rows` (all rows if `None`) of dense `columns`, each to its partition.
    /// `hashes` has one hash for each row of `columns`. The new rows are added to `appended`, in the order of the
    /// input.
    ///
    /// If memory runs out, some of the rows may have been appended; the collections stay valid.
    ///
    /// # Panics
    /// As [`RowCollection::append`].
    pub fn append(
        &mut self,
        columns: &[Vector],
        rows: Option<&[u32]>,
        hashes: &[u64],
        appended: Option<&mut RowList>,
    ) -> Result<()> {
        let order = match rows {
            Some(rows) => Order::Rows(rows),
            None => Order::All { begin: 0, end: hashes.len() },
        };
        let layout = self.layout.clone();
        let source = Columns::new(&layout, columns, Some(hashes), order);
        let mut scratch = std::mem::take(&mut self.scratch);
        let result = self.append_source(&source, order, hashes, &mut scratch, appended);
        self.scratch = scratch;
        result
    }

    /// Appends copies of rows of the same layout, with their extra areas, each to its partition.
    pub fn append_rows(&mut self, rows: Rows<'_>, appended: Option<&mut RowList>) -> Result<()> {
        assert!(Arc::ptr_eq(&self.layout, rows.layout()), "rows of one layout");
        let mut scratch = std::mem::take(&mut self.scratch);
        let mut hashes = std::mem::take(&mut scratch.hashes);
        rows.hashes(&mut hashes);
        let order = Order::All { begin: 0, end: rows.len() };
        let result = self.append_source(&Copied::new(rows), order, &hashes, &mut scratch, appended);
        scratch.hashes = hashes;
        self.scratch = scratch;
        result
    }

    fn append_source(
        &mut self,
        source: &impl RowSource,
        order: Order<'_>,
        hashes: &[u64],
        scratch: &mut Scratch,
        appended: Option<&mut RowList>,
    ) -> Result<()> {
        scratch.order.sort(order, hashes, SALT_SHIFT - self.bits, self.partitions.len());
        let Scratch { append, order: sorted, .. } = scratch;
        let (by_partition, ends) = (Order::Rows(sorted.positions()), sorted.ends());
        let Some(list) = appended else {
            return append_to(&mut self.partitions, ends, source, by_partition, append, |_, _| {});
        };
        let held = self.held.as_ref().expect("rows are kept pinned for those who want to know them");
        assert!(Arc::ptr_eq(list.all().layout(), &self.layout), "a list of rows of this layout");
        // SAFETY: rows are returned when all are written, without gaps; the pages are held, or will be before they are
        // released.
        let (list, pins) = unsafe { list.parts_mut() };
        pins.add_common(&as_heap(held), self.partitions[0].access());
        let mut rows = std::mem::take(list);
        let first = rows.len();
        rows.resize(first + order.len(), RowPtr::null());
        let places = &mut rows[first..];
        let result = append_to(&mut self.partitions, ends, source, by_partition, append, |begin, written| {
            for (&place, &row) in sorted.places()[begin..].iter().zip(written) {
                places[place as usize] = row;
            }
        });
        if result.is_err() {
            rows.retain(|row| *row != RowPtr::null());
        }
        *list = rows;
        result
    }

    /// Takes over the rows of `other`, which has the same layout and as many partitions. Its pages are unpinned.
    pub fn combine(&mut self, other: PartitionedRows) {
        assert_eq!(self.bits, other.bits, "partitions by the same bits");
        for (mine, theirs) in self.partitions.iter_mut().zip(other.partitions) {
            mine.absorb(theirs);
        }
    }

    /// The partitions in order, with all pages unpinned.
    pub fn into_partitions(mut self) -> Vec<RowCollection> {
        self.close();
        self.partitions
    }

    /// See [`RowCollection::keep_pinned`].
    pub fn keep_pinned(&mut self) {
        let held: Arc<HeldPages> = Arc::default();
        self.partitions.iter_mut().for_each(|partition| partition.hold(held.clone()));
        self.held = Some(held);
    }

    /// See [`RowCollection::release_pins`].
    pub fn release_pins(&mut self) {
        // Drop our own reference first, so that it isn't mistaken for that of a list.
        if self.held.take().is_some() {
            self.held = release(&mut self.partitions);
        }
    }

    /// See [`RowCollection::close`].
    pub fn close(&mut self) {
        self.partitions.iter_mut().for_each(RowCollection::close);
        if self.held.is_some() {
            self.keep_pinned();
        }
    }
}
