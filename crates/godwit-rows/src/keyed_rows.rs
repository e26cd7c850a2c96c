//! Rows with a key each, which sorts work on. Keys are compared without accessing the rows; where keys leave the order
//! open, the rows decide.
//!
//! Entries can be moved within their list, but never to another list without their pins: so rows are identified by
//! their position in a list.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

use godwit_memory::Object;
use godwit_trace::{ObjectPart, TracedObject};

use crate::row_list::Pins;
use crate::row_ptr::RowPtr;
use crate::{RowLayout, RowList, RowOrder, Rows};

#[derive(Clone, Copy)]
struct Entry<K> {
    key: K,
    row: RowPtr,
}

/// A list of keys and rows of one layout. The rows stay in place as long as they are in it.
pub struct KeyedRows<K> {
    layout: Arc<RowLayout>,
    entries: Vec<Entry<K>>,
    pins: Pins,
    /// A number that is unique to this list with its current pins: no other list has it, and neither had this one with
    /// other pins.
    pins_id: u64,
}

/// The number for the next list, or for new pins in a list.
fn next_pins_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, atomic::Ordering::Relaxed)
}

impl<K> KeyedRows<K> {
    /// Bytes of an entry.
    pub const ENTRY_BYTES: usize = size_of::<Entry<K>>();

    /// Tells a memory trace that the entries are about to be freed, or to move.
    pub fn forget_traced(&self) {
        godwit_trace::forget(self.entries.as_ptr().cast(), self.entries.capacity() * Self::ENTRY_BYTES);
    }
}

impl<K: Copy> KeyedRows<K> {
    /// An empty list.
    pub fn new(layout: &Arc<RowLayout>) -> Self {
        Self { layout: layout.clone(), entries: Vec::new(), pins: Pins::default(), pins_id: next_pins_id() }
    }

    /// Number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Tells a memory trace that the entries are part of `object`.
    pub fn declare_traced(&self, object: &Object) {
        let place = ObjectPart::of_bytes(self.entries.as_ptr().cast(), self.entries.capacity() * Self::ENTRY_BYTES, 0);
        godwit_trace::declare(place, object.trace_key(), || TracedObject {
            entry_bytes: Some(Self::ENTRY_BYTES as u32),
            ..object.traced()
        });
    }

    /// Number of entries that fit without growing.
    pub fn capacity(&self) -> usize {
        self.entries.capacity()
    }

    /// Makes room for exactly this many more entries.
    pub fn reserve_exact(&mut self, additional: usize) {
        self.entries.reserve_exact(additional);
    }

    /// Appends rows with their keys.
    ///
    /// # Panics
    /// If the rows are of another layout, or the number of keys differs: bugs in the caller.
    pub fn extend(&mut self, keys: &[K], rows: Rows<'_>) {
        assert!(self.layout.reads(rows.layout()), "rows of another layout");
        assert_eq!(keys.len(), rows.len());
        if self.pins.add(rows.pins()) {
            self.pins_id = next_pins_id();
        }
        self.entries.extend(keys.iter().zip(rows.pointers()).map(|(&key, &row)| Entry { key, row }));
    }

    /// Drops all but the first entries.
    pub fn truncate(&mut self, len: usize) {
        self.entries.truncate(len);
    }

    /// Removes all entries and releases the pins of their rows.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.pins.clear();
        self.pins_id = next_pins_id();
    }

    /// The key of an entry.
    #[inline(always)]
    pub fn key(&self, position: usize) -> K {
        self.entries[position].key
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = K> + '_ {
        self.entries.iter().map(|entry| entry.key)
    }

    /// Gives an entry another key.
    #[inline(always)]
    pub fn set_key(&mut self, position: usize, key: K) {
        self.entries[position].key = key;
    }

    /// The order of the rows of two entries, the second of which may be in another list.
    #[inline(always)]
    pub fn compare_rows(&self, position: usize, other: &Self, other_position: usize, order: &RowOrder) -> Ordering {
        order.check(&self.layout);
        order.check(&other.layout);
        // SAFETY: the rows are pinned, and of the layout of the order.
        unsafe { order.compare(self.entries[position].row, other.entries[other_position].row) }
    }

    /// Passes to `read` the string of a key of the order in the row of an entry, which isn't NULL there.
    #[inline(always)]
    pub fn read_string<R>(&self, position: usize, order: &RowOrder, key: usize, read: impl FnOnce(&[u8]) -> R) -> R {
        order.check(&self.layout);
        // SAFETY: the row is pinned, and of the layout of the order.
        unsafe { order.read_string(key, self.entries[position].row, read) }
    }

    /// Prefetches the memory that [`Self::read_string`] will read, if these entries exist: for the entry at `first`,
    /// the view of its string; for the one at `second`, whose view has been prefetched earlier, the string itself.
    #[inline(always)]
    pub fn prefetch_strings(&self, first: usize, second: usize, order: &RowOrder, key: usize) {
        order.check(&self.layout);
        if let Some(later) = self.entries.get(first) {
            order.prefetch_view(key, later.row);
        }
        if let Some(sooner) = self.entries.get(second) {
            // SAFETY: the row is pinned, and of the layout of the order.
            unsafe { order.prefetch_string(key, sooner.row) };
        }
    }

    /// Sorts entries by their rows.
    pub fn sort_by_rows(&mut self, range: Range<usize>, order: &RowOrder) {
        order.check(&self.layout);
        // SAFETY: the rows are pinned, and of the layout of the order.
        self.entries[range].sort_unstable_by(|a, b| unsafe { order.compare(a.row, b.row) });
    }

    /// The rows, without their keys.
    pub fn into_rows(self) -> RowList {
        let rows = self.entries.into_iter().map(|entry| entry.row).collect();
        // SAFETY: the pins keep the rows in place.
        unsafe { RowList::from_parts(&self.layout, rows, self.pins) }
    }

    pub(crate) fn layout(&self) -> &Arc<RowLayout> {
        &self.layout
    }

    pub(crate) fn pins(&self) -> &Pins {
        &self.pins
    }

    pub(crate) fn pointers(&self, range: Range<usize>) -> impl Iterator<Item = RowPtr> + '_ {
        self.entries[range].iter().map(|entry| entry.row)
    }
}

impl<K: Copy + Ord> KeyedRows<K> {
    /// Sorts entries by their keys.
    pub fn sort_by_key(&mut self, range: Range<usize>) {
        self.note_passes(&range);
        self.entries[range].sort_unstable_by_key(|entry| entry.key);
    }

    /// Tells a memory trace about the loads of a sort: as many passes as halvings, each of which reads an entry twice,
    /// to compare it and to move it, and every other one once more, for pivots and the sorting of short runs. That
    /// matches the number of loads in sorts of 20,000 entries, as counted by Valgrind.
    fn note_passes(&self, range: &Range<usize>) {
        let entries = &self.entries[range.clone()];
        godwit_trace::loads(|loads| {
            for _ in 0..5 * entries.len().max(1).ilog2() / 2 {
                loads.run(entries.as_ptr().cast(), size_of_val(entries), Self::ENTRY_BYTES);
            }
        });
    }

    /// How many entries, starting at `begin` and before `end`, have the same key as the first of them.
    pub fn equal_keys(&self, begin: usize, end: usize) -> usize {
        let key = self.key(begin);
        self.entries[begin..end].iter().take_while(|entry| entry.key == key).count()
    }

    /// Moves the first `count` entries in order to the front, in any order among themselves, the greatest of them last.
    /// Equal keys for which `is_open` is true are ordered by their rows.
    pub fn select(&mut self, count: usize, order: &RowOrder, is_open: impl Fn(K) -> bool) {
        order.check(&self.layout);
        self.entries.select_nth_unstable_by(count - 1, |a, b| match a.key.cmp(&b.key) {
            // SAFETY: the rows are pinned, and of the layout of the order.
            Ordering::Equal if is_open(a.key) => unsafe { order.compare(a.row, b.row) },
            order => order,
        });
    }
}

/// Collects rows from several lists, which may get other rows meanwhile.
pub struct RowTaker {
    layout: Arc<RowLayout>,
    rows: RowList,
    /// The pins of each source that are already held.
    known: Vec<u64>,
}

impl RowTaker {
    /// For up to `rows` rows from lists that are numbered below `sources`.
    pub fn new(layout: &Arc<RowLayout>, sources: usize, rows: usize) -> Self {
        let mut list = RowList::new(layout);
        list.reserve(rows);
        Self { layout: layout.clone(), rows: list, known: vec![0; sources] }
    }

    /// Takes the row at `position` of the list that currently has the number `source`.
    #[inline(always)]
    pub fn take<K: Copy>(&mut self, source: usize, list: &KeyedRows<K>, position: usize) {
        // SAFETY: the row is one of the list, whose pins are added before its first row is.
        let (rows, pins) = unsafe { self.rows.parts_mut() };
        if self.known[source] != list.pins_id {
            assert!(self.layout.reads(&list.layout), "rows of another layout");
            self.known[source] = list.pins_id;
            pins.add(&list.pins);
        }
        rows.push(list.entries[position].row);
    }

    /// Number of rows that were taken.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// True if none was taken.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows taken.
    pub fn into_rows(self) -> RowList {
        self.rows
    }
}
