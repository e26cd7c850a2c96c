//! Sorted lists of keys and rows.

use std::cmp::Ordering;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{Object, Reservation};
use godwit_rows::{KeyedRows, Rows};

use super::Shared;
use super::key::KeyWord;

/// Rows and their normalized keys, with the memory that the list takes.
pub(super) struct Entries<K> {
    list: KeyedRows<K>,
    reservation: Reservation,
    /// The object of the list in memory traces.
    object: Option<Arc<Object>>,
}

impl<K: KeyWord> Entries<K> {
    pub(super) fn new(shared: &Shared<K>) -> Result<Self> {
        let reservation = shared.memory.reserve(0, MemoryTag::Sort)?;
        let object = shared.memory.object_of(MemoryTag::Sort);
        Ok(Self { list: KeyedRows::new(&shared.layout), reservation, object })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.reservation.bytes() as u64
    }

    /// Makes room for `additional` entries; the capacity grows by doubling.
    pub(super) fn reserve(&mut self, additional: usize) -> Result<()> {
        let needed = self.list.len() + additional;
        if needed > self.list.capacity() {
            let capacity = needed.max(self.list.capacity() * 2);
            self.reservation.resize(capacity * KeyedRows::<K>::ENTRY_BYTES)?;
            self.list.forget_traced();
            self.list.reserve_exact(capacity - self.list.len());
            if let Some(object) = self.object.as_ref().filter(|_| godwit_trace::is_on()) {
                self.list.declare_traced(object);
            }
        }
        Ok(())
    }

    /// Appends entries for which [`Entries::reserve`] has made room.
    pub(super) fn extend(&mut self, keys: &[K], rows: Rows<'_>) {
        debug_assert!(self.list.capacity() - self.list.len() >= keys.len());
        self.list.extend(keys, rows);
    }
}

impl<K> Drop for Entries<K> {
    fn drop(&mut self) {
        self.list.forget_traced();
    }
}

impl<K> Deref for Entries<K> {
    type Target = KeyedRows<K>;

    fn deref(&self) -> &KeyedRows<K> {
        &self.list
    }
}

impl<K> DerefMut for Entries<K> {
    fn deref_mut(&mut self) -> &mut KeyedRows<K> {
        &mut self.list
    }
}

impl<K: KeyWord> Shared<K> {
    /// Whether rows with this key may differ.
    #[inline(always)]
    pub(super) fn is_open(&self, key: K) -> bool {
        self.key_layout.has_open_keys() && key.is_odd()
    }

    /// The order of two entries with equal open keys, each given by its list and position.
    pub(super) fn compare_open(&self, a: (&KeyedRows<K>, usize), b: (&KeyedRows<K>, usize)) -> Ordering {
        a.0.compare_rows(a.1, b.0, b.1, &self.order)
    }

    /// Sorts by keys first, which touches no rows, then each group of equal open keys by what the keys have no room
    /// for.
    pub(super) fn sort(&self, entries: &mut KeyedRows<K>) {
        entries.sort_by_key(0..entries.len());
        if self.key_layout.has_open_keys() {
            self.sort_ties(entries);
        }
    }
}
