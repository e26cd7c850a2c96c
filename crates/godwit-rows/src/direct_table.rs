//! An array of chains that finds build rows by an integer key.
//!
//! ```text
//! entries[key - min] = |         | address 48 | ──▶ row ──link──▶ …
//! ```
//!
//! As in the hash table (join_table.rs), rows are inserted by all workers concurrently, and looked up afterwards.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Object};
use godwit_vector::{Flat, ValueRange};

use crate::chain_insert::FOUND;
use crate::links::{LinkedRows, address, link_of, row_at};
use crate::{AtomicWords, Chains, InsertScratch, IntegerKey, PinnedRows, match_integers};

/// An array of chains, indexed by the distance of an integer key from the smallest one. The key is the rows' first
/// column and never NULL.
pub struct DirectTable {
    rows: LinkedRows,
    min: i64,
    entries: AtomicWords,
    /// The object of the entries in heat and memory traces.
    object: Option<Arc<Object>>,
}

impl DirectTable {
    /// A table for these rows, none of which is inserted yet. Their keys are in `range`, whose ends fit in 64 bits.
    ///
    /// # Panics
    /// If another table has some of the rows: a bug in the caller.
    pub fn new(rows: &PinnedRows, range: ValueRange, manager: &BufferManager) -> Result<Self> {
        let min = i64::try_from(range.min).expect("the range was checked");
        let slots = usize::try_from(range.count()).expect("the range was checked");
        let entries = AtomicWords::zeroed(slots, rows.rows(), manager, MemoryTag::HashTable)?;
        let object = manager.object_of(MemoryTag::HashTable);
        Ok(Self { rows: LinkedRows::new(rows), min, entries, object })
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.entries.as_slice().len()
    }

    /// True if some key has several rows.
    pub fn has_duplicates(&self) -> bool {
        self.rows.has_duplicates()
    }

    /// Inserts the rows with these numbers, whose keys are in the range. May be called concurrently, once for each row.
    pub fn insert(&self, range: Range<usize>, scratch: &mut InsertScratch) {
        let rows = &mut scratch.rows;
        self.rows.list(range, rows);
        self.rows.of_list(rows).note_loads(self.rows.link_offset);
        let entries = self.entries.as_slice();
        let keys = self.rows.of_list(rows).gather(0).to_flat();
        let mut duplicates = false;
        match_integers!(&keys, values => godwit_trace::loads(|loads| {
            let slot = |i: usize| values[i].offset_from(self.min) as usize;
            loads.each(rows.len(), |i| entries.as_ptr().wrapping_add(slot(i)).cast());
        }));
        match_integers!(&keys, values => for (&row, &key) in rows.iter().zip(values) {
            let slot = key.offset_from(self.min) as usize;
            let before = entries[slot].swap(address(row), Ordering::AcqRel);
            // SAFETY: the row is pinned, and has a link that is the table's.
            let link = unsafe { link_of(row, self.rows.link_offset) };
            link.store(link.load(Ordering::Relaxed) & FOUND | before, Ordering::Relaxed);
            duplicates |= before != 0;
        });
        self.rows.note_inserted(rows.len(), duplicates);
    }

    /// Like [`JoinHashTable::look_up`](crate::JoinHashTable::look_up), but keeps the order of `rows`.
    pub fn look_up(&self, keys: &Flat, rows: &[u32], found: &mut Chains) {
        if let Some(object) = &self.object {
            object.note_lookup(rows.len(), (rows.len() * size_of::<u64>()) as u64);
        }
        let (found, heads) = self.rows.begin(found);
        let entries = self.entries.as_slice();
        found.reserve(rows.len());
        heads.reserve(rows.len());
        let (found_room, heads_room) = (found.spare_capacity_mut(), heads.spare_capacity_mut());
        let mut count = 0;
        match_integers!(keys, values => godwit_trace::loads(|loads| {
            let slot = |i: usize| values[rows[i] as usize].offset_from(self.min) as usize;
            loads.each(rows.len(), |i| entries.as_ptr().wrapping_add(slot(i).min(entries.len())).cast());
        }));
        match_integers!(keys, values => for &row in rows {
            let offset = values[row as usize].offset_from(self.min);
            let entry = entries.get(offset as usize).map_or(0, |entry| entry.load(Ordering::Relaxed));
            // SAFETY: `count` is at most the number of rows before this one, and both have room for all rows.
            unsafe {
                found_room.get_unchecked_mut(count).write(row);
                heads_room.get_unchecked_mut(count).write(row_at(entry));
            }
            count += (entry != 0) as usize;
        });
        // SAFETY: the first `count` of both were written: `count` grows only past a row that was.
        unsafe {
            found.set_len(count);
            heads.set_len(count);
        }
    }
}
