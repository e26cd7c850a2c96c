//! A salted hash table that finds build rows by key.
//!
//! ```text
//! entries[hash & mask] = | salt 16 | address 48 | ──▶ row ──link──▶ row with the same key ──▶ …
//! different keys probe on: entries[slot + 1], …
//! ```
//!
//! Source: external-hash-join paper, section 4. A chain (links.rs) only holds rows with the same key, so a match of its
//! head is a match of all; if no chain has a second row, links needn't be followed.
//!
//! Insertion is lock-free and done by all workers concurrently. An entry never becomes empty again and never changes to
//! another key, so a worker that finds a key equal to its own has found the only chain of that key (chain_insert.rs).
//! Lookups start after all insertions have finished; links are then read with relaxed ordering.
//!
//! A row that was in another table earlier keeps its *found* bit.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Object};
use godwit_vector::{PhysicalType, StrView, Vector};

use crate::chain_insert::{ADDRESS_MASK, insert};
use crate::links::{LinkedRows, address, link_of, row_at};
use crate::row_ptr::{RowPtr, prefetch};
use crate::{AtomicWords, Chains, PinnedRows};

/// Minimum number of entries.
const ENTRIES_MIN: u64 = 64;
/// How many rows ahead an entry is prefetched: about 100 ns at a few ns per row.
const PREFETCH_ROWS: usize = 24;
/// Tables below this size (half of a typical L2 cache) aren't prefetched.
const PREFETCH_BYTES_MIN: usize = 512 * 1024;

/// Scratch of lookups; reused to avoid allocations.
#[derive(Default)]
pub struct LookupScratch {
    slots: Vec<u64>,
    heads: Vec<RowPtr>,
    active: Vec<u32>,
    candidates: Vec<u32>,
    unequal: Vec<u32>,
}

/// Scratch of insertions.
#[derive(Default)]
pub struct InsertScratch {
    pub(crate) rows: Vec<RowPtr>,
    hashes: Vec<u64>,
}

/// A hash table over pinned rows whose first columns are the key.
pub struct JoinHashTable {
    rows: LinkedRows,
    key_columns: Vec<usize>,
    nulls_equal: bool,
    entries: AtomicWords,
    mask: u64,
    /// The object of the entries in heat and memory traces.
    object: Option<Arc<Object>>,
}

impl JoinHashTable {
    /// Memory of a table of `rows` rows with at most `load_factor` rows per entry.
    pub fn bytes_for(rows: u64, load_factor: f64) -> u64 {
        Self::entries_for(rows, load_factor) * 8
    }

    fn entries_for(rows: u64, load_factor: f64) -> u64 {
        assert!(load_factor > 0.0 && load_factor < 1.0, "some entries stay empty: they end the search for a key");
        ((rows as f64 / load_factor) as u64).next_power_of_two().max(ENTRIES_MIN)
    }

    /// A table for these rows, whose first `key_columns` columns are the key. None is inserted yet.
    ///
    /// # Panics
    /// If another table has some of them: a bug in the caller.
    pub fn new(
        rows: &PinnedRows,
        key_columns: usize,
        nulls_equal: bool,
        load_factor: f64,
        manager: &BufferManager,
    ) -> Result<Self> {
        let entries = Self::entries_for(rows.rows() as u64, load_factor);
        Ok(Self {
            key_columns: (0..key_columns).collect(),
            nulls_equal,
            entries: AtomicWords::zeroed(entries as usize, rows.rows(), manager, MemoryTag::HashTable)?,
            mask: entries - 1,
            object: manager.object_of(MemoryTag::HashTable),
            rows: LinkedRows::new(rows),
        })
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// True if some key has several rows.
    pub fn has_duplicates(&self) -> bool {
        self.rows.has_duplicates()
    }

    /// Inserts the rows with these numbers. May be called concurrently, once for each row.
    pub fn insert(&self, range: Range<usize>, scratch: &mut InsertScratch) {
        let InsertScratch { rows, hashes } = scratch;
        self.rows.list(range, rows);
        self.rows.of_list(rows).hashes(hashes);
        self.rows.of_list(rows).note_loads(self.rows.link_offset);
        self.entries.make_resident();
        let entries = self.entries.as_slice();
        let ahead = if self.bytes() >= PREFETCH_BYTES_MIN { PREFETCH_ROWS } else { usize::MAX };
        godwit_trace::loads(|loads| {
            let entry = |i: usize| (&raw const entries[(hashes[i] & self.mask) as usize]).cast();
            loads.each(rows.len(), entry);
        });
        let mut duplicates = false;
        for (i, &row) in rows.iter().enumerate() {
            if let Some(hash) = hashes.get(i.saturating_add(ahead)) {
                prefetch((&raw const entries[(hash & self.mask) as usize]).cast());
            }
            // SAFETY: the row is one of the table's.
            duplicates |= unsafe { self.insert_row(entries, row, hashes[i]) };
        }
        self.rows.note_inserted(rows.len(), duplicates);
    }

    /// Returns true if the key was already there.
    ///
    /// # Safety
    /// The row is one of the table's.
    #[inline]
    unsafe fn insert_row(&self, entries: &[AtomicU64], row: RowPtr, hash: u64) -> bool {
        // SAFETY: the row is pinned, and has a link that is the table's.
        let link = unsafe { link_of(row, self.rows.link_offset) };
        // SAFETY: an entry that isn't empty is a row of the table.
        let has_key = |other: u64| unsafe { self.keys_equal(row, row_at(other)) };
        insert(entries, hash, address(row), link, has_key)
    }

    /// # Safety
    /// Both are rows of the table.
    unsafe fn keys_equal(&self, a: RowPtr, b: RowPtr) -> bool {
        let layout = self.rows.layout();
        self.key_columns.iter().all(|&column| {
            if self.nulls_equal {
                // SAFETY: both rows are pinned.
                let (a_valid, b_valid) = unsafe { (layout.is_valid(a, column), layout.is_valid(b, column)) };
                if !(a_valid && b_valid) {
                    return a_valid == b_valid;
                }
            }
            let offset = layout.column_offset(column);
            // SAFETY: both rows are pinned and have a value of the column's type at the offset.
            unsafe { values_equal(layout.columns()[column], a.as_ptr().add(offset), b.as_ptr().add(offset)) }
        })
    }

    /// Finds the chains of the keys at `rows` (positions in `hashes` and in the dense vectors `keys`): `found` gets the
    /// heads of the chains, in no particular order, tagged with these positions.
    pub fn look_up(
        &self,
        hashes: &[u64],
        keys: &[Vector],
        rows: &[u32],
        scratch: &mut LookupScratch,
        found: &mut Chains,
    ) {
        if let Some(object) = &self.object {
            object.note_lookup(rows.len(), (rows.len() * size_of::<u64>()) as u64);
        }
        let (tags, found) = self.rows.begin(found);
        let LookupScratch { slots, heads: pointers, active, candidates, unequal } = scratch;
        slots.clear();
        slots.extend(hashes.iter().map(|hash| hash & self.mask));
        pointers.clear();
        pointers.resize(hashes.len(), RowPtr::null());
        active.clear();
        active.extend_from_slice(rows);
        while !active.is_empty() {
            self.next_candidates(hashes, active, slots, pointers, candidates);
            unequal.clear();
            let layout = self.rows.layout();
            // SAFETY: the pointers of candidates are those of entries: rows of the table.
            unsafe {
                layout.match_rows(&self.key_columns, pointers, keys, candidates, unequal, self.nulls_equal);
            }
            tags.extend_from_slice(candidates);
            found.extend(candidates.iter().map(|&row| pointers[row as usize]));
            unequal.iter().for_each(|&row| slots[row as usize] = (slots[row as usize] + 1) & self.mask);
            std::mem::swap(active, unequal);
        }
    }

    /// Moves each active row to the first slot, starting at its own, that is empty or has its salt; the latter become
    /// candidates.
    fn next_candidates(
        &self,
        hashes: &[u64],
        active: &[u32],
        slots: &mut [u64],
        pointers: &mut [RowPtr],
        candidates: &mut Vec<u32>,
    ) {
        let entries = self.entries.as_slice();
        let ahead = if self.bytes() >= PREFETCH_BYTES_MIN { PREFETCH_ROWS } else { usize::MAX };
        godwit_trace::loads(|loads| {
            let entry = |i: usize| (&raw const entries[slots[active[i] as usize] as usize]).cast();
            loads.each(active.len(), entry);
        });
        candidates.clear();
        candidates.resize(active.len(), 0);
        let mut count = 0;
        for (i, &row) in active.iter().enumerate() {
            if let Some(&later) = active.get(i.saturating_add(ahead)) {
                prefetch((&raw const entries[slots[later as usize] as usize]).cast());
            }
            let (hash, mut slot) = (hashes[row as usize], slots[row as usize]);
            let mut entry = entries[slot as usize].load(Ordering::Relaxed);
            while entry != 0 && (entry ^ hash) & !ADDRESS_MASK != 0 {
                slot = (slot + 1) & self.mask;
                entry = entries[slot as usize].load(Ordering::Relaxed);
            }
            let head = row_at(entry);
            prefetch(head.as_ptr());
            slots[row as usize] = slot;
            pointers[row as usize] = head;
            candidates[count] = row;
            count += (entry != 0) as usize;
        }
        candidates.truncate(count);
    }
}

/// Equality of two values in rows; -0.0 equals 0.0, NaN equals NaN.
///
/// # Safety
/// Both point to an initialized value of the physical type in pinned rows.
unsafe fn values_equal(physical: PhysicalType, a: *const u8, b: *const u8) -> bool {
    // SAFETY: passed on from the caller; unaligned reads need no alignment, and the strings of pinned rows are alive.
    unsafe {
        match physical {
            PhysicalType::F32 => {
                let (a, b) = (a.cast::<f32>().read_unaligned(), b.cast::<f32>().read_unaligned());
                a == b || (a.is_nan() && b.is_nan())
            }
            PhysicalType::F64 => {
                let (a, b) = (a.cast::<f64>().read_unaligned(), b.cast::<f64>().read_unaligned());
                a == b || (a.is_nan() && b.is_nan())
            }
            PhysicalType::Str => a.cast::<StrView>().read_unaligned().equals(&b.cast::<StrView>().read_unaligned()),
            other => match other.width_bytes() {
                1 => *a == *b,
                2 => a.cast::<u16>().read_unaligned() == b.cast::<u16>().read_unaligned(),
                4 => a.cast::<u32>().read_unaligned() == b.cast::<u32>().read_unaligned(),
                8 => a.cast::<u64>().read_unaligned() == b.cast::<u64>().read_unaligned(),
                _ => a.cast::<u128>().read_unaligned() == b.cast::<u128>().read_unaligned(),
            },
        }
    }
}
