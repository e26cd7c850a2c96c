//! Sorts the rows of a morsel: in place if they fit, otherwise with the sort operator.

use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::QueryContext;
use godwit_rows::{KeyedRows, RowCollection, RowList, RowOrder};
use godwit_vector::{CHUNK_ROWS, Chunk, Vector};

use super::config::GROWTH_BYTES;
use super::marks::Marks;
use super::ordered::Ordered;
use super::plan::Plan;
use crate::sort::key::{KeyLayout, KeyWord};
use crate::sort::{SortAlone, SortSpec};

/// The normalized keys of a plan's rows.
pub(super) enum RowKeys {
    Narrow(KeyLayout),
    Wide(KeyLayout),
}

impl RowKeys {
    pub(super) fn new(plan: &Plan) -> Self {
        match KeyLayout::exact_bits(&plan.keys) {
            Some(bits) if bits <= u64::BITS => RowKeys::Narrow(KeyLayout::new::<u64>(&plan.keys)),
            _ => RowKeys::Wide(KeyLayout::new::<u128>(&plan.keys)),
        }
    }

    /// Bytes needed per row for sorting in place, besides the row itself.
    pub(super) fn bytes_per_row(&self) -> usize {
        let entry = match self {
            RowKeys::Narrow(_) => KeyedRows::<u64>::ENTRY_BYTES,
            RowKeys::Wide(_) => KeyedRows::<u128>::ENTRY_BYTES,
        };
        entry + RowList::ROW_BYTES + 1
    }

    /// Pins the rows and lists them in order.
    pub(super) fn sort_in_place(&self, plan: &Plan, memory: &BufferManager, rows: &RowCollection) -> Result<Ordered> {
        match self {
            RowKeys::Narrow(keys) => sort_by::<u64>(keys, plan, memory, rows, self.bytes_per_row()),
            RowKeys::Wide(keys) => sort_by::<u128>(keys, plan, memory, rows, self.bytes_per_row()),
        }
    }
}

fn sort_by<K: KeyWord>(
    layout: &KeyLayout,
    plan: &Plan,
    memory: &BufferManager,
    rows: &RowCollection,
    bytes_per_row: usize,
) -> Result<Ordered> {
    let len = rows.rows() as usize;
    let mut reservation = memory.reserve(len * bytes_per_row, MemoryTag::Sort)?;
    let pinned = rows.pin()?;
    let mut entries: KeyedRows<K> = KeyedRows::new(&plan.layout);
    entries.reserve_exact(len);
    let (mut chunk, mut keys) = (RowList::new(&plan.layout), Vec::new());
    for begin in (0..len).step_by(CHUNK_ROWS) {
        chunk.clear();
        pinned.list(begin..len.min(begin + CHUNK_ROWS), &mut chunk);
        let columns: Vec<Vector> = plan.keys.iter().map(|key| chunk.all().gather(column_of(key))).collect();
        layout.encode(&columns, chunk.len(), &mut keys);
        entries.extend(&keys, chunk.all());
    }
    sort_entries(layout, plan, &mut entries);

    let (mut partitions, mut peers) = (Marks::default(), Marks::default());
    for row in 0..len {
        let differs = |order: &RowOrder| entries.compare_rows(row - 1, &entries, row, order).is_ne();
        let (starts_partition, starts_peers) = match row.checked_sub(1).map(|last| entries.key(last)) {
            Some(last) if last == entries.key(row) && !is_open(layout, last) => (false, false),
            Some(last) => (differs(&plan.partition_order), last != entries.key(row) || differs(&plan.order)),
            None => (true, true),
        };
        partitions.push(starts_partition);
        peers.push(starts_peers);
    }
    let rows = entries.into_rows();
    reservation.resize(len * RowList::ROW_BYTES + 2 * Marks::bytes_for(len))?;
    Ok(Ordered::in_place(rows, (partitions, peers), reservation))
}

fn column_of(key: &crate::sort::SortKey) -> usize {
    key.expression.column_index().expect("keys are columns of the rows")
}

fn is_open<K: KeyWord>(layout: &KeyLayout, key: K) -> bool {
    layout.has_open_keys() && key.is_odd()
}

/// Sorts by keys first, which touches no rows, then each group with equal but inconclusive keys by comparing rows.
fn sort_entries<K: KeyWord>(layout: &KeyLayout, plan: &Plan, entries: &mut KeyedRows<K>) {
    entries.sort_by_key(0..entries.len());
    if layout.has_open_keys() {
        let mut begin = 0;
        while begin < entries.len() {
            let end = begin + entries.equal_keys(begin, entries.len());
            if end - begin > 1 && entries.key(begin).is_odd() {
                entries.sort_by_rows(begin..end, &plan.order);
            }
            begin = end;
        }
    }
}

/// Takes rows in order, and marks where partitions and groups of peers begin.
pub(super) struct PagedBuilder {
    rows: RowCollection,
    /// The last row, if there is one.
    last: RowList,
    partitions: Marks,
    peers: Marks,
    reservation: Reservation,
    appended: RowList,
}

impl PagedBuilder {
    pub(super) fn new(plan: &Plan, memory: &BufferManager) -> Result<Self> {
        let mut rows = RowCollection::new(memory, &plan.layout, None);
        // Rows are compared after they are appended, the last row of a chunk with the first of the next.
        rows.keep_pinned();
        Ok(Self {
            rows,
            last: RowList::new(&plan.layout),
            partitions: Marks::default(),
            peers: Marks::default(),
            reservation: memory.reserve(0, MemoryTag::Sort)?,
            appended: RowList::new(&plan.layout),
        })
    }

    pub(super) fn append(&mut self, plan: &Plan, columns: &[Vector], hashes: Option<&[u64]>) -> Result<()> {
        self.appended.clear();
        self.rows.append(columns, None, hashes, Some(&mut self.appended))?;
        let needed = 2 * Marks::bytes_for(self.rows.rows() as usize);
        if needed > self.reservation.bytes() {
            self.reservation.resize(needed.next_multiple_of(GROWTH_BYTES))?;
        }
        let rows = self.appended.all();
        for row in 0..rows.len() {
            let (before, at) = if row == 0 { (self.last.all(), 0) } else { (rows, row - 1) };
            let starts = |order: &RowOrder| before.is_empty() || order.compare_rows(before, at, rows, row).is_ne();
            self.partitions.push(starts(&plan.partition_order));
            self.peers.push(starts(&plan.order));
        }
        plan.partition_order.note_neighbours(rows, columns);
        plan.order.note_neighbours(rows, columns);
        if let Some(last) = rows.len().checked_sub(1) {
            self.last.clear();
            self.last.push(rows, last);
        }
        self.appended.clear();
        self.rows.release_pins();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Ordered {
        self.rows.close();
        Ordered::paged(self.rows.into_paged(), (self.partitions, self.peers), self.reservation)
    }
}

/// Sorts rows that don't fit, with one worker.
pub(super) fn sort_externally(
    plan: &Plan,
    query: &Arc<QueryContext>,
    memory: &BufferManager,
    rows: RowCollection,
) -> Result<Ordered> {
    let spec = SortSpec {
        keys: plan.keys.clone(),
        input: plan.types.clone(),
        output: (0..plan.types.len()).collect(),
        limit: None,
        bound: None,
    };
    let mut sort = SortAlone::new(spec, query, memory, query.settings.workers)?;
    let mut scan = rows.into_scan();
    while let Some(block) = scan.next_block()? {
        query.cancel.check()?;
        let columns = (0..plan.types.len()).map(|column| block.rows().gather(column)).collect();
        sort.push(Chunk::new(columns, block.len()))?;
    }
    let mut sorted = PagedBuilder::new(plan, memory)?;
    let mut hashes = Vec::new();
    let mut chunks = sort.finish()?;
    while let Some(chunk) = chunks.next()? {
        // The hash in the rows is no longer used.
        hashes.resize(chunk.len(), 0);
        sorted.append(plan, &chunk.dense_columns(), plan.layout.has_hash().then_some(&hashes))?;
    }
    Ok(sorted.finish())
}
