//! The hash table of an aggregation: finds the row of a group, or creates it.
//!
//! ```text
//! entries[hash & mask] = | salt 16 | address 48 | ──▶ row of the group: keys, hash, states
//!                        0: empty                     linear probing
//! ```
//!
//! A lookup works on all rows of a chunk at once, in rounds:
//!
//! 1. Each remaining row walks from its slot to the first entry that is empty or has its salt. An empty one is claimed:
//!    the row is a *founder*, the first of a new group.
//! 2. The founders' rows are created, all at once, and their addresses are put into the claimed entries.
//! 3. The other rows compare their keys with the row of their entry, column by column. Rows that differ move on to the
//!    next slot for the next round. Rows of a new group that come after its founder are found to be equal here.
//!
//! The table holds the pins of all rows that it points to, until it is cleared. All are rows of one owner.
//!
//! Source: Kuiper, Mühleisen, "Robust External Hash Aggregation in the Solid State Age", V.

use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Object, Reservation};
use godwit_trace::ObjectPart;
use godwit_vector::Vector;

use crate::radix::SALT_SHIFT;
use crate::row_list::Pins;
use crate::row_ptr::{RowPtr, prefetch};
use crate::{RowLayout, RowList, RowOwner, Rows};

/// Bits of an entry that form the address: as many as x86-64 and AArch64 use in user space.
const ADDRESS_MASK: u64 = (1 << SALT_SHIFT) - 1;
/// Placeholder address of a group whose row is created in the same round.
const PENDING: u64 = 1;
/// How many rows ahead an entry is prefetched: about 100 ns at a few ns per row.
const PREFETCH_ROWS: usize = 24;
/// Tables below this size (half of a typical L2 cache) aren't prefetched.
const PREFETCH_BYTES_MIN: usize = 512 * 1024;

/// Groups by key. The keys are the first columns of the layout, which keeps hashes.
pub struct GroupTable {
    layout: Arc<RowLayout>,
    key_columns: Vec<usize>,
    /// The entries; their number is a power of two.
    entries: Vec<u64>,
    groups: usize,
    /// The pins of the rows in `entries`.
    pins: Pins,
    /// The pins were released, so that rows may be gone; or there are entries without rows.
    must_be_cleared: bool,
    reservation: Reservation,
    /// The object of the entries in heat and memory traces.
    object: Option<Arc<Object>>,
    scratch: Option<Scratch>,
}

/// Buffers of a lookup, kept to avoid allocations.
struct Scratch {
    /// The entry of each row.
    slots: Vec<u32>,
    /// Rows that are still looking for an entry.
    remaining: Vec<u32>,
    /// Rows that claimed an empty entry.
    founders: Vec<u32>,
    founded: RowList,
    /// Rows at an entry with their salt.
    candidates: Vec<u32>,
}

impl GroupTable {
    /// An empty table with room for `entries`, rounded up to a power of two.
    pub fn new(manager: &BufferManager, layout: &Arc<RowLayout>, keys: usize, entries: usize) -> Result<Self> {
        assert!(keys <= layout.columns().len());
        let scratch = Scratch {
            slots: Vec::new(),
            remaining: Vec::new(),
            founders: Vec::new(),
            founded: RowList::new(layout),
            candidates: Vec::new(),
        };
        let mut table = Self {
            layout: layout.clone(),
            key_columns: (0..keys).collect(),
            entries: Vec::new(),
            groups: 0,
            pins: Pins::default(),
            must_be_cleared: false,
            reservation: manager.reserve(0, MemoryTag::HashTable)?,
            object: manager.object_of(MemoryTag::HashTable),
            scratch: Some(scratch),
        };
        table.reset(entries)?;
        Ok(table)
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Number of entries.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Removes all groups and releases the pins of their rows.
    pub fn clear(&mut self) {
        self.entries.fill(0);
        self.groups = 0;
        self.release();
        self.must_be_cleared = false;
    }

    /// Releases the pins. The table must be cleared or reset before any other use.
    pub fn release(&mut self) {
        self.must_be_cleared = true;
        self.pins.clear();
    }

    /// Removes all groups and makes room for `entries`, rounded up to a power of two.
    pub fn reset(&mut self, entries: usize) -> Result<()> {
        let entries = entries.next_power_of_two();
        assert!(entries <= 1 << 32, "slots are 32-bit numbers");
        self.groups = 0;
        self.release();
        if entries <= self.entries.len() {
            self.entries.truncate(entries);
            self.entries.shrink_to(entries);
            self.entries.fill(0);
            self.must_be_cleared = false;
            return self.reservation.resize(entries * size_of::<u64>());
        }
        self.forget_traced();
        self.entries = Vec::new();
        self.must_be_cleared = false;
        self.reservation.resize(entries * size_of::<u64>())?;
        self.entries = vec![0; entries];
        self.declare_traced();
        Ok(())
    }

    /// Tells a memory trace where the entries are.
    fn declare_traced(&self) {
        if let Some(object) = self.object.as_ref().filter(|_| godwit_trace::is_on()) {
            let place = ObjectPart::of_bytes(self.entries.as_ptr().cast(), size_of_val(&self.entries[..]), 0);
            let place = place.with_entries(0, self.entries.len() as u64);
            godwit_trace::declare(place, object.trace_key(), || object.traced());
        }
    }

    /// Tells a memory trace that the entries are about to be freed.
    fn forget_traced(&self) {
        if godwit_trace::is_on() {
            godwit_trace::forget(self.entries.as_ptr().cast(), size_of_val(&self.entries[..]));
        }
    }

    /// Makes room for `entries`, rounded up to a power of two and at least the current number; keeps the groups.
    pub fn grow(&mut self, entries: usize) -> Result<()> {
        let entries = entries.next_power_of_two();
        assert!(!self.must_be_cleared && (self.entries.len()..=1 << 32).contains(&entries));
        self.reservation.resize((self.entries.len() + entries) * size_of::<u64>())?;
        self.forget_traced();
        let old = std::mem::replace(&mut self.entries, vec![0; entries]);
        self.declare_traced();
        let mask = entries - 1;
        let hash_offset = self.layout.hash_offset();
        for entry in old.into_iter().filter(|&entry| entry != 0) {
            // SAFETY: an entry is the address of a row of this layout, which the table keeps pinned, and hashes never
            // change.
            let hash = unsafe { row_at(entry).read::<u64>(hash_offset) };
            let mut slot = hash as usize & mask;
            while self.entries[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            self.entries[slot] = entry;
        }
        self.reservation.resize(entries * size_of::<u64>())
    }

    /// Puts the row of the group of each row of the dense `keys` into `rows`, replacing its content. For new groups it
    /// calls `found` with their positions in `keys`; `found` appends a row for each to the list that it is given.
    ///
    /// If `found` fails, the table keeps the groups that it had before.
    ///
    /// # Panics
    /// If the table could become full: a bug in the caller.
    pub fn find_or_insert(
        &mut self,
        owner: &mut RowOwner,
        keys: &[Vector],
        hashes: &[u64],
        rows: &mut RowList,
        found: impl FnMut(&mut RowOwner, &[u32], &mut RowList) -> Result<()>,
    ) -> Result<()> {
        assert!(self.groups + hashes.len() < self.entries.len(), "an entry stays empty");
        self.check_owner(owner);
        self.look_up(hashes, rows, |table, scratch, rows| table.assign(owner, keys, hashes, rows, scratch, found))
    }

    /// Checks that the rows in the table are those of `owner`.
    fn check_owner(&self, owner: &RowOwner) {
        assert!(self.groups == 0 || self.pins.access() == owner.access(), "groups of another owner");
    }

    /// [`find_or_insert`](Self::find_or_insert) for existing groups only. The positions of the others are put into
    /// `missing`, in order, replacing its content; if there are any, `pass` appends a row for each, which goes into
    /// `rows`, but not into the table.
    pub fn find_or_pass(
        &mut self,
        owner: &mut RowOwner,
        keys: &[Vector],
        hashes: &[u64],
        rows: &mut RowList,
        missing: &mut Vec<u32>,
        pass: impl FnOnce(&mut RowOwner, &[u32], &mut RowList) -> Result<()>,
    ) -> Result<()> {
        self.check_owner(owner);
        missing.clear();
        self.look_up(hashes, rows, |table, scratch, rows| {
            table.find(keys, hashes, rows, scratch, missing);
            if missing.is_empty() {
                return Ok(());
            }
            pass(owner, missing, &mut scratch.founded)?;
            let passed = scratch.founded.all();
            assert_eq!(passed.len(), missing.len(), "a row for each");
            missing.iter().zip(passed.pointers()).for_each(|(&position, &row)| rows[position as usize] = row);
            Ok(())
        })
    }

    /// Replaces the content of `rows` with what `find` puts there: for each hash, a row of the table or of the list
    /// `founded`. If it fails, `rows` is empty.
    fn look_up(
        &mut self,
        hashes: &[u64],
        rows: &mut RowList,
        find: impl FnOnce(&mut Self, &mut Scratch, &mut [RowPtr]) -> Result<()>,
    ) -> Result<()> {
        assert!(!self.must_be_cleared, "the table was cleared since it was released, or since a lookup panicked");
        assert!(Arc::ptr_eq(rows.all().layout(), &self.layout), "a list of rows of this layout");
        if let Some(object) = &self.object {
            object.note_lookup(hashes.len(), size_of_val(hashes) as u64);
        }
        let mut scratch = self.scratch.take().expect("lookups don't call each other");
        let mask = self.entries.len() - 1;
        scratch.slots.clear();
        scratch.slots.extend(hashes.iter().map(|&hash| (hash as usize & mask) as u32));
        rows.clear();
        // SAFETY: rows are returned only when every position has one, together with the pins of all.
        let (list, pins) = unsafe { rows.parts_mut() };
        let mut places = std::mem::take(list);
        places.resize(hashes.len(), RowPtr::null());
        let result = find(self, &mut scratch, &mut places);
        match result {
            Ok(()) => {
                pins.add(&self.pins);
                pins.add(scratch.founded.all().pins());
            }
            Err(_) => places.clear(),
        }
        *list = places;
        scratch.founded.clear();
        self.scratch = Some(scratch);
        result
    }

    /// Finds the rows of groups, or creates them.
    fn assign(
        &mut self,
        owner: &mut RowOwner,
        keys: &[Vector],
        hashes: &[u64],
        rows: &mut [RowPtr],
        scratch: &mut Scratch,
        mut found: impl FnMut(&mut RowOwner, &[u32], &mut RowList) -> Result<()>,
    ) -> Result<()> {
        self.probe::<true>(hashes, 0..hashes.len() as u32, scratch);
        loop {
            if let Err(error) = self.settle_founders(owner, hashes, rows, scratch, &mut found) {
                let Scratch { slots, founders, .. } = scratch;
                // Nothing has been inserted after them in this round.
                founders.iter().for_each(|&i| self.entries[slots[i as usize] as usize] = 0);
                return Err(error);
            }
            if !self.match_candidates(keys, rows, scratch) {
                return Ok(());
            }
            // A founder must come before the rows of its group, so that results don't depend on the order of columns.
            scratch.remaining.sort_unstable();
            let remaining = std::mem::take(&mut scratch.remaining);
            self.probe::<true>(hashes, remaining.iter().copied(), scratch);
            scratch.remaining = remaining;
        }
    }

    /// Finds the rows of existing groups; puts the positions of the others into `missing`.
    fn find(
        &mut self,
        keys: &[Vector],
        hashes: &[u64],
        rows: &mut [RowPtr],
        scratch: &mut Scratch,
        missing: &mut Vec<u32>,
    ) {
        self.probe::<false>(hashes, 0..hashes.len() as u32, scratch);
        loop {
            missing.extend_from_slice(&scratch.founders);
            if !self.match_candidates(keys, rows, scratch) {
                break;
            }
            let remaining = std::mem::take(&mut scratch.remaining);
            self.probe::<false>(hashes, remaining.iter().copied(), scratch);
            scratch.remaining = remaining;
        }
        missing.sort_unstable();
    }

    /// Step 3 of a round: returns false if all candidates have found their group. The others wait at the next slot.
    fn match_candidates(&mut self, keys: &[Vector], rows: &mut [RowPtr], scratch: &mut Scratch) -> bool {
        let Scratch { slots, remaining, candidates, .. } = scratch;
        let prefetches = size_of_val(&self.entries[..]) >= PREFETCH_BYTES_MIN && !self.key_columns.is_empty();
        let first_key = if prefetches { self.layout.column_offset(self.key_columns[0]) } else { 0 };
        for &i in candidates.iter() {
            let row = row_at(self.entries[slots[i as usize] as usize]);
            if prefetches {
                row.prefetch(first_key);
            }
            rows[i as usize] = row;
        }
        remaining.clear();
        // SAFETY: no entry of a candidate is empty or pending here, so that it is a row that the table keeps pinned; the
        // callers have borrowed its owner.
        unsafe { self.layout.match_rows(&self.key_columns, rows, keys, candidates, remaining, true) };
        let mask = self.entries.len() - 1;
        for &i in remaining.iter() {
            let slot = &mut slots[i as usize];
            *slot = (*slot + 1) & mask as u32;
        }
        !remaining.is_empty()
    }

    /// Replaces the rows `old` of groups with `new`.
    ///
    /// # Panics
    /// If the table doesn't have one of the groups: a bug in the caller.
    pub fn replace(&mut self, hashes: &[u64], old: Rows<'_>, new: Rows<'_>) {
        assert!(Arc::ptr_eq(new.layout(), &self.layout), "rows of this layout");
        assert!(hashes.len() == old.len() && old.len() == new.len());
        self.pins.add(new.pins());
        let mask = self.entries.len() - 1;
        for ((&hash, &old), &new) in hashes.iter().zip(old.pointers()).zip(new.pointers()) {
            let mut slot = hash as usize & mask;
            while row_at(self.entries[slot]) != old {
                assert!(self.entries[slot] != 0, "a group that isn't in the table");
                slot = (slot + 1) & mask;
            }
            self.entries[slot] = hash & !ADDRESS_MASK | new.address();
        }
    }

    /// Step 1 of a round: starting at its slot, each row takes the first entry that is empty or has its salt. Empty
    /// entries are claimed if `CLAIMS`; either way, a row that finds one is a founder.
    #[inline(always)]
    fn probe<const CLAIMS: bool>(
        &mut self,
        hashes: &[u64],
        rows: impl Iterator<Item = u32> + Clone,
        scratch: &mut Scratch,
    ) {
        let Scratch { slots, founders, candidates, .. } = scratch;
        founders.clear();
        candidates.clear();
        let entries = &mut self.entries[..];
        let mask = entries.len() - 1;
        godwit_trace::loads(|loads| {
            let rows: Vec<u32> = rows.clone().collect();
            loads.each(rows.len(), |i| (&raw const entries[slots[rows[i] as usize] as usize]).cast());
        });
        let prefetches = size_of_val(entries) >= PREFETCH_BYTES_MIN;
        for i in rows {
            let row = i as usize;
            if prefetches && let Some(&later) = slots.get(row + PREFETCH_ROWS) {
                prefetch((&raw const entries[later as usize]).cast());
            }
            let salt = hashes[row] & !ADDRESS_MASK;
            let mut slot = slots[row] as usize;
            loop {
                let entry = entries[slot & mask];
                if entry == 0 {
                    if CLAIMS {
                        entries[slot & mask] = salt | PENDING;
                    }
                    founders.push(i);
                    break;
                }
                if entry & !ADDRESS_MASK == salt {
                    candidates.push(i);
                    break;
                }
                slot += 1;
            }
            slots[row] = (slot & mask) as u32;
        }
    }

    /// Step 2 of a round: creates the founders' rows.
    fn settle_founders(
        &mut self,
        owner: &mut RowOwner,
        hashes: &[u64],
        rows: &mut [RowPtr],
        scratch: &mut Scratch,
        found: &mut impl FnMut(&mut RowOwner, &[u32], &mut RowList) -> Result<()>,
    ) -> Result<()> {
        let Scratch { slots, founders, founded, .. } = scratch;
        if founders.is_empty() {
            return Ok(());
        }
        founded.clear();
        // If this panics, entries are left that were claimed and have no rows.
        self.must_be_cleared = true;
        let made = found(owner, founders, founded);
        if made.is_ok() {
            assert_eq!(founded.len(), founders.len(), "a row for each");
            owner.check(founded.all());
            self.pins.add(founded.all().pins());
        }
        self.must_be_cleared = false;
        made?;
        for (&i, &row) in founders.iter().zip(founded.all().pointers()) {
            debug_assert!(row.address() & !ADDRESS_MASK == 0);
            self.entries[slots[i as usize] as usize] = hashes[i as usize] & !ADDRESS_MASK | row.address();
            rows[i as usize] = row;
        }
        self.groups += founders.len();
        Ok(())
    }
}

impl Drop for GroupTable {
    fn drop(&mut self) {
        self.forget_traced();
    }
}

#[inline(always)]
fn row_at(entry: u64) -> RowPtr {
    RowPtr::new((entry & ADDRESS_MASK) as *mut u8)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use godwit_common::Error;
    use godwit_memory::BufferConfig;
    use godwit_vector::kernels::hash::hash_vectors;
    use godwit_vector::{Bitmap, Flat, StrColumn};
    use proptest::prelude::*;

    use super::*;
    use crate::{Extra, PartitionedRows, RowLayoutOptions};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 1 } else { 32 }))]

        #[test]
        fn rows_of_equal_keys_share_a_group(
            chunks in proptest::collection::vec(
                proptest::collection::vec((proptest::option::of(0..40i64), 0..6usize), 1..200), 1..20),
            collide: bool,
        ) {
            let manager = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
            let types = [godwit_vector::PhysicalType::I64, godwit_vector::PhysicalType::Str];
            let layout = RowLayout::new(&types, RowLayoutOptions { hash: true, extra: Extra::States(0) }).unwrap();
            let mut owner = RowOwner::new();
            let mut groups = PartitionedRows::new(&manager, &layout, 2).owned_by(&owner);
            groups.keep_pinned();
            let mut others = PartitionedRows::new(&manager, &layout, 2).owned_by(&owner);
            others.keep_pinned();
            let mut table = GroupTable::new(&manager, &layout, 2, 256).unwrap();
            let mut model: HashMap<(Option<i64>, usize), RowPtr> = HashMap::new();
            let names = ["", "a", "another", "one that is quite long", "one that is quite lang", "longer than twelve"];
            for chunk in chunks {
                if table.groups() + chunk.len() >= table.entries() {
                    table.grow(table.entries() * 2).unwrap();
                }
                let validity = Bitmap::from_fn(chunk.len(), |i| chunk[i].0.is_some());
                let keys = [
                    Vector::from_values(chunk.iter().map(|key| key.0.unwrap_or(77)).collect::<Vec<i64>>(), Some(validity)),
                    Vector::flat(Flat::Str(StrColumn::from_strings(chunk.iter().map(|key| names[key.1]))), None),
                ];
                let mut hashes = Vec::new();
                hash_vectors(&keys, chunk.len(), &mut hashes);
                if collide {
                    hashes.iter_mut().for_each(|hash| *hash &= 3 << 32);
                }
                let (mut rows, mut known, mut missing) = (RowList::new(&layout), RowList::new(&layout), Vec::new());
                table.find_or_pass(&mut owner, &keys, &hashes, &mut known, &mut missing, |_, missing, passed| {
                    others.append(&keys, Some(missing), &hashes, Some(passed))
                }).unwrap();
                for (position, key) in chunk.iter().enumerate() {
                    let expected = model.get(key).copied();
                    let found = (!missing.contains(&(position as u32))).then(|| known.all().pointers()[position]);
                    prop_assert_eq!(found, expected);
                }
                if !missing.is_empty() {
                    // Groups whose rows can't be created leave no trace.
                    let no_room = |_: &mut RowOwner, _: &[u32], _: &mut RowList| Err(Error::internal("no room"));
                    let failed = table.find_or_insert(&mut owner, &keys, &hashes, &mut rows, no_room);
                    prop_assert!(failed.is_err() && rows.is_empty());
                    prop_assert_eq!(table.groups(), model.len());
                }
                table.find_or_insert(&mut owner, &keys, &hashes, &mut rows, |_, new, made| {
                    groups.append(&keys, Some(new), &hashes, Some(made))
                }).unwrap();
                for (key, &row) in chunk.iter().zip(rows.all().pointers()) {
                    prop_assert_eq!(*model.entry(*key).or_insert(row), row);
                }
                prop_assert_eq!(table.groups(), model.len());
                prop_assert_eq!(groups.rows(), model.len() as u64);
            }
        }
    }
}
