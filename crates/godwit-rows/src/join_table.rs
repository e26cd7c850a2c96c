//! Tables that find build rows by key: a salted hash table and an array indexed by integer keys.
//!
//! ```text
//! JoinHashTable  entries[hash & mask] = | salt 16 | address 48 | ──▶ row ──link──▶ row with the same key ──▶ …
//!                different keys probe on: entries[slot + 1], …
//! DirectTable    entries[key - min]   = |         | address 48 | ──▶ row ──link──▶ …
//! link of a row  | found 1 | 0 | address of the next row 48 |       in the row's extra area
//! ```
//!
//! Source: external-hash-join paper, section 4. A chain holds rows of one key only, so a match of its head is a match of
//! all; if no chain has a second row, nobody has to follow links.
//!
//! Inserting is lock-free and done by all workers at once. An entry never becomes empty again and never changes to
//! another key, so that a worker that meets a key equal to its own has found the only chain of that key. Looking up
//! starts after all insertions have finished (the pipelines see to that); links are read without ordering then.
//!
//! A row that was in another table before keeps its *found* bit.
//!
//! Contract: whoever inserts, looks up or follows links holds pins on all pages of the inserted rows meanwhile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use godwit_common::{MemoryTag, Result};
use godwit_memory::BufferManager;
use godwit_vector::{Flat, Heaps, PhysicalType, StrView, ValueRange, Vector};

use crate::row_ptr::prefetch;
use crate::{AtomicWords, IntegerKey, RowLayout, RowPtr, match_integers};

/// Bits of an entry or a link that are an address: what x86-64 and AArch64 use in user space.
const ADDRESS_MASK: u64 = (1 << 48) - 1;
/// The bit of a link that says that the row has had a match.
const FOUND: u64 = 1 << 63;
/// Smallest number of entries.
const ENTRIES_MIN: u64 = 64;
/// How many rows ahead an entry is prefetched: some 100 ns at a few ns per row.
const PREFETCH_ROWS: usize = 24;
/// Tables below this size (half of a usual L2 cache) aren't prefetched.
const PREFETCH_BYTES_MIN: usize = 512 * 1024;

#[inline(always)]
fn address(row: RowPtr) -> u64 {
    debug_assert!(row.address() & !ADDRESS_MASK == 0);
    row.address()
}

#[inline(always)]
fn row_at(entry: u64) -> RowPtr {
    RowPtr::new((entry & ADDRESS_MASK) as *mut u8)
}

/// The links of build rows: chains of equal keys, and whether a row has had a match. Rows have 8 extra bytes for it.
#[derive(Clone)]
pub struct RowLinks {
    offset: usize,
}

impl RowLinks {
    /// Links in the extra area of the layout's rows.
    pub fn new(layout: &RowLayout) -> Self {
        let offset = layout.extra_offset();
        assert!(offset.is_multiple_of(8) && layout.row_bytes() >= offset + 8, "rows have room for an aligned link");
        Self { offset }
    }

    #[inline(always)]
    fn word(&self, row: RowPtr) -> &AtomicU64 {
        // SAFETY: the row is pinned (contract of this module), and its layout has an aligned word at the offset that is
        // only accessed through this function.
        unsafe { &*row.as_ptr().add(self.offset).cast::<AtomicU64>() }
    }

    /// The next row with the same key.
    #[inline]
    pub fn next(&self, row: RowPtr) -> Option<RowPtr> {
        let link = self.word(row).load(Ordering::Relaxed) & ADDRESS_MASK;
        (link != 0).then(|| row_at(link))
    }

    /// Asks for the memory that [`Self::advance`] reads.
    pub fn prefetch(&self, rows: &[RowPtr]) {
        rows.iter().for_each(|row| row.prefetch(self.offset));
    }

    /// Replaces each row by the next of its chain and drops those at the end of theirs; `tags` are moved likewise. The rows
    /// are asked for, too: each is a miss, and all of the next step are under way before the first is waited for.
    pub fn advance(&self, rows: &mut Vec<RowPtr>, tags: &mut Vec<u32>) {
        assert_eq!(rows.len(), tags.len());
        let mut kept = 0;
        for i in 0..rows.len() {
            let link = self.word(rows[i]).load(Ordering::Relaxed) & ADDRESS_MASK;
            tags[kept] = tags[i];
            rows[kept] = row_at(link);
            rows[kept].prefetch(self.offset);
            kept += (link != 0) as usize;
        }
        rows.truncate(kept);
        tags.truncate(kept);
    }

    /// Ends every chain at these rows, none of which has had a match.
    pub fn clear(&self, rows: &[RowPtr]) {
        rows.iter().for_each(|&row| self.word(row).store(0, Ordering::Relaxed));
    }

    /// Remembers that these rows have had a match. Called in parallel.
    pub fn mark_found(&self, rows: &[RowPtr]) {
        for &row in rows {
            let word = self.word(row);
            // Reading first keeps the line shared when a row has many matches.
            if word.load(Ordering::Relaxed) & FOUND == 0 {
                word.fetch_or(FOUND, Ordering::Relaxed);
            }
        }
    }

    /// True if the row has had a match.
    #[inline]
    pub fn is_found(&self, row: RowPtr) -> bool {
        self.word(row).load(Ordering::Relaxed) & FOUND != 0
    }
}

/// Scratch of lookups; reused to avoid allocations.
#[derive(Default)]
pub struct LookupScratch {
    slots: Vec<u64>,
    heads: Vec<RowPtr>,
    active: Vec<u32>,
    candidates: Vec<u32>,
    unequal: Vec<u32>,
}

/// A hash table over pinned rows whose first columns are the key.
pub struct JoinHashTable {
    layout: Arc<RowLayout>,
    links: RowLinks,
    key_columns: Vec<usize>,
    nulls_equal: bool,
    entries: AtomicWords,
    mask: u64,
    has_duplicates: AtomicBool,
}

impl JoinHashTable {
    /// Memory of a table of so many rows with at most `load_factor` rows per entry.
    pub fn bytes_for(rows: u64, load_factor: f64) -> u64 {
        Self::entries_for(rows, load_factor) * 8
    }

    fn entries_for(rows: u64, load_factor: f64) -> u64 {
        assert!(load_factor > 0.0 && load_factor < 1.0, "some entries stay empty: they end the search for a key");
        ((rows as f64 / load_factor) as u64).next_power_of_two().max(ENTRIES_MIN)
    }

    /// An empty table for `rows` rows, whose first `key_columns` columns are the key.
    pub fn new(
        layout: &Arc<RowLayout>,
        key_columns: usize,
        nulls_equal: bool,
        rows: u64,
        load_factor: f64,
        manager: &BufferManager,
    ) -> Result<Self> {
        let entries = Self::entries_for(rows, load_factor);
        Ok(Self {
            links: RowLinks::new(layout),
            layout: layout.clone(),
            key_columns: (0..key_columns).collect(),
            nulls_equal,
            entries: AtomicWords::zeroed(entries as usize, manager, MemoryTag::HashTable)?,
            mask: entries - 1,
            has_duplicates: AtomicBool::new(false),
        })
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// True if some key has several rows.
    pub fn has_duplicates(&self) -> bool {
        self.has_duplicates.load(Ordering::Relaxed)
    }

    /// Inserts rows, each once; `hashes` is scratch. Called in parallel, with no more rows in all than the table is for.
    pub fn insert(&self, rows: &[RowPtr], hashes: &mut Vec<u64>) {
        self.layout.hashes(rows, hashes);
        let entries = self.entries.as_slice();
        let ahead = if self.bytes() >= PREFETCH_BYTES_MIN { PREFETCH_ROWS } else { usize::MAX };
        let mut duplicates = false;
        for (i, &row) in rows.iter().enumerate() {
            if let Some(hash) = hashes.get(i.saturating_add(ahead)) {
                prefetch((&raw const entries[(hash & self.mask) as usize]).cast());
            }
            duplicates |= self.insert_row(entries, row, hashes[i]);
        }
        if duplicates {
            self.has_duplicates.store(true, Ordering::Relaxed);
        }
    }

    /// Returns true if the key was there already.
    #[inline]
    fn insert_row(&self, entries: &[AtomicU64], row: RowPtr, hash: u64) -> bool {
        let link = self.links.word(row);
        let tagged = address(row) | hash & !ADDRESS_MASK;
        let found = link.load(Ordering::Relaxed) & FOUND;
        let mut slot = hash & self.mask;
        link.store(found, Ordering::Relaxed);
        let mut entry = entries[slot as usize].load(Ordering::Acquire);
        loop {
            let is_equal = entry != 0 && (entry ^ hash) & !ADDRESS_MASK == 0 && self.keys_equal(row, row_at(entry));
            if entry != 0 && !is_equal {
                slot = (slot + 1) & self.mask;
                entry = entries[slot as usize].load(Ordering::Acquire);
                continue;
            }
            link.store(found | entry & ADDRESS_MASK, Ordering::Relaxed);
            match entries[slot as usize].compare_exchange(entry, tagged, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return is_equal,
                Err(now) => entry = now,
            }
        }
    }

    fn keys_equal(&self, a: RowPtr, b: RowPtr) -> bool {
        self.key_columns.iter().all(|&column| {
            if self.nulls_equal {
                let (a_valid, b_valid) = (self.layout.is_valid(a, column), self.layout.is_valid(b, column));
                if !(a_valid && b_valid) {
                    return a_valid == b_valid;
                }
            }
            let offset = self.layout.column_offset(column);
            // SAFETY: both rows are pinned and have a value of the column's type at the offset.
            unsafe { values_equal(self.layout.columns()[column], a.as_ptr().add(offset), b.as_ptr().add(offset)) }
        })
    }

    /// Finds the chains of the keys at `rows` (positions in `hashes` and in the dense vectors `keys`): the positions that
    /// have one go to `found`, in no particular order, the first rows of their chains to `heads`.
    pub fn look_up(
        &self,
        hashes: &[u64],
        keys: &[Vector],
        rows: &[u32],
        scratch: &mut LookupScratch,
        found: &mut Vec<u32>,
        heads: &mut Vec<RowPtr>,
    ) {
        found.clear();
        heads.clear();
        let LookupScratch { slots, heads: pointers, active, candidates, unequal } = scratch;
        slots.clear();
        slots.extend(hashes.iter().map(|hash| hash & self.mask));
        pointers.clear();
        pointers.resize(hashes.len(), RowPtr::new(std::ptr::null_mut()));
        active.clear();
        active.extend_from_slice(rows);
        while !active.is_empty() {
            self.next_candidates(hashes, active, slots, pointers, candidates);
            unequal.clear();
            self.layout.match_rows_split(&self.key_columns, pointers, keys, candidates, unequal, self.nulls_equal);
            found.extend_from_slice(candidates);
            heads.extend(candidates.iter().map(|&row| pointers[row as usize]));
            unequal.iter().for_each(|&row| slots[row as usize] = (slots[row as usize] + 1) & self.mask);
            std::mem::swap(active, unequal);
        }
    }

    /// Moves each active row to the first slot from its own on that is empty or has its salt; the latter become
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

/// An array of chains, indexed by the distance of an integer key from the smallest one. The key is the rows' first
/// column and never NULL.
pub struct DirectTable {
    layout: Arc<RowLayout>,
    links: RowLinks,
    min: i64,
    entries: AtomicWords,
    has_duplicates: AtomicBool,
}

impl DirectTable {
    /// An empty table for keys in `range`, whose ends fit into 64 bits.
    pub fn new(layout: &Arc<RowLayout>, range: ValueRange, manager: &BufferManager) -> Result<Self> {
        let min = i64::try_from(range.min).expect("the range was checked");
        let slots = usize::try_from(range.count()).expect("the range was checked");
        let entries = AtomicWords::zeroed(slots, manager, MemoryTag::HashTable)?;
        let (links, layout) = (RowLinks::new(layout), layout.clone());
        Ok(Self { layout, links, min, entries, has_duplicates: AtomicBool::new(false) })
    }

    /// Memory held.
    pub fn bytes(&self) -> usize {
        self.entries.bytes()
    }

    /// Number of slots.
    pub fn slots(&self) -> usize {
        self.entries.as_slice().len()
    }

    /// True if some key has several rows.
    pub fn has_duplicates(&self) -> bool {
        self.has_duplicates.load(Ordering::Relaxed)
    }

    /// Inserts rows, each once, whose keys lie in the range. Called in parallel.
    pub fn insert(&self, rows: &[RowPtr]) {
        let entries = self.entries.as_slice();
        let keys = self.layout.gather(rows, 0, &Heaps::none()).to_flat();
        let mut duplicates = false;
        match_integers!(&keys, values => for (&row, &key) in rows.iter().zip(values) {
            let slot = key.offset_from(self.min) as usize;
            let before = entries[slot].swap(address(row), Ordering::AcqRel);
            let link = self.links.word(row);
            link.store(link.load(Ordering::Relaxed) & FOUND | before, Ordering::Relaxed);
            duplicates |= before != 0;
        });
        if duplicates {
            self.has_duplicates.store(true, Ordering::Relaxed);
        }
    }

    /// As [`JoinHashTable::look_up`]; `rows` stay in order.
    pub fn look_up(&self, keys: &Flat, rows: &[u32], found: &mut Vec<u32>, heads: &mut Vec<RowPtr>) {
        let entries = self.entries.as_slice();
        found.clear();
        heads.clear();
        found.reserve(rows.len());
        heads.reserve(rows.len());
        let (found_room, heads_room) = (found.spare_capacity_mut(), heads.spare_capacity_mut());
        let mut count = 0;
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
