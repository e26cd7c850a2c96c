//! Sorting the rows of a morsel: in place if they fit, else by the sort operator.

use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_rows::{RowCollection, RowPtr};
use godwit_vector::{CHUNK_ROWS, Chunk, Vector};

use super::config::GROWTH_BYTES;
use super::marks::Marks;
use super::ordered::Ordered;
use super::plan::Plan;
use crate::QueryContext;
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

    /// What sorting a row in place takes, besides the row.
    pub(super) fn bytes_per_row(&self) -> usize {
        let entry = match self {
            RowKeys::Narrow(_) => size_of::<(u64, RowPtr)>(),
            RowKeys::Wide(_) => size_of::<(u128, RowPtr)>(),
        };
        entry + size_of::<RowPtr>() + 1
    }

    /// Pins the rows and sorts their addresses.
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
    let mut entries: Vec<(K, RowPtr)> = Vec::with_capacity(len);
    let (mut pointers, mut keys) = (Vec::new(), Vec::new());
    for begin in (0..len).step_by(CHUNK_ROWS) {
        pointers.clear();
        pinned.pointers(begin..len.min(begin + CHUNK_ROWS), &mut pointers);
        let columns: Vec<Vector> =
            plan.keys.iter().map(|key| plan.layout.gather(&pointers, column_of(key), pinned.heaps())).collect();
        layout.encode(&columns, pointers.len(), &mut keys);
        entries.extend(keys.iter().copied().zip(pointers.iter().copied()));
    }
    sort_entries(layout, plan, &mut entries);

    let (mut partitions, mut peers) = (Marks::default(), Marks::default());
    let mut previous: Option<(K, RowPtr)> = None;
    for &(key, row) in &entries {
        let (starts_partition, starts_peers) = match previous {
            Some((last, _)) if last == key && !is_open(layout, key) => (false, false),
            Some((last, last_row)) => (
                plan.partition_order.compare(last_row, row).is_ne(),
                last != key || plan.order.compare(last_row, row).is_ne(),
            ),
            None => (true, true),
        };
        partitions.push(starts_partition);
        peers.push(starts_peers);
        previous = Some((key, row));
    }
    let pointers: Vec<RowPtr> = entries.iter().map(|&(_, row)| row).collect();
    drop(entries);
    reservation.resize(len * size_of::<RowPtr>() + 2 * Marks::bytes_for(len))?;
    Ok(Ordered::in_place(&plan.layout, pointers, pinned, (partitions, peers), reservation))
}

fn column_of(key: &crate::sort::SortKey) -> usize {
    key.expression.column_index().expect("keys are columns of the rows")
}

fn is_open<K: KeyWord>(layout: &KeyLayout, key: K) -> bool {
    layout.has_open_keys() && key.is_odd()
}

/// Sorts by keys first, which touches no row, then each group of equal open keys by rows.
fn sort_entries<K: KeyWord>(layout: &KeyLayout, plan: &Plan, entries: &mut [(K, RowPtr)]) {
    entries.sort_unstable_by_key(|&(key, _)| key);
    if layout.has_open_keys() {
        for group in entries.chunk_by_mut(|a, b| a.0 == b.0) {
            if group.len() > 1 && group[0].0.is_odd() {
                group.sort_unstable_by(|a, b| plan.order.compare(a.1, b.1));
            }
        }
    }
}

/// Takes rows in order, and marks where partitions and groups of peers begin.
pub(super) struct PagedBuilder {
    rows: RowCollection,
    last: Option<RowPtr>,
    partitions: Marks,
    peers: Marks,
    reservation: Reservation,
    pointers: Vec<RowPtr>,
}

impl PagedBuilder {
    pub(super) fn new(plan: &Plan, memory: &BufferManager) -> Result<Self> {
        let mut rows = RowCollection::new(memory, &plan.layout, None);
        // The last row of a chunk is compared with the first one of the next.
        rows.keep_pinned(true);
        Ok(Self {
            rows,
            last: None,
            partitions: Marks::default(),
            peers: Marks::default(),
            reservation: memory.reserve(0, MemoryTag::Sort)?,
            pointers: Vec::new(),
        })
    }

    pub(super) fn append(&mut self, plan: &Plan, columns: &[Vector], hashes: Option<&[u64]>) -> Result<()> {
        self.pointers.clear();
        self.rows.append(columns, None, hashes, Some(&mut self.pointers))?;
        let needed = 2 * Marks::bytes_for(self.rows.rows() as usize);
        if needed > self.reservation.bytes() {
            self.reservation.resize(needed.next_multiple_of(GROWTH_BYTES))?;
        }
        for &row in &self.pointers {
            let (starts_partition, starts_peers) = match self.last {
                Some(last) => (plan.partition_order.compare(last, row).is_ne(), plan.order.compare(last, row).is_ne()),
                None => (true, true),
            };
            self.partitions.push(starts_partition);
            self.peers.push(starts_peers);
            self.last = Some(row);
        }
        // The page of the last row is still open.
        self.rows.release_pins();
        Ok(())
    }

    pub(super) fn finish(mut self, plan: &Plan) -> Ordered {
        self.rows.close();
        Ordered::paged(&plan.layout, self.rows.into_paged(), (self.partitions, self.peers), self.reservation)
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
        let column = |column| plan.layout.gather(block.pointers(), column, block.heaps());
        sort.push(Chunk::new((0..plan.types.len()).map(column).collect(), block.pointers().len()))?;
    }
    let mut sorted = PagedBuilder::new(plan, memory)?;
    let mut hashes = Vec::new();
    let mut chunks = sort.finish()?;
    while let Some(chunk) = chunks.next()? {
        // Rows keep a hash that nobody looks at any more.
        hashes.resize(chunk.len(), 0);
        sorted.append(plan, &chunk.dense_columns(), plan.layout.has_hash().then_some(&hashes))?;
    }
    Ok(sorted.finish(plan))
}
