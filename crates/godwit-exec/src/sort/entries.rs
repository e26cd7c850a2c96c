//! Sorted lists of keys and rows.

use std::cmp::Ordering;

use godwit_common::{MemoryTag, Result};
use godwit_memory::Reservation;
use godwit_rows::RowPtr;

use super::Shared;
use super::key::KeyWord;

/// A row and its normalized key.
#[derive(Clone, Copy)]
pub(super) struct Entry<K> {
    pub(super) key: K,
    /// Valid while whoever holds the entry keeps the row's page pinned.
    pub(super) row: RowPtr,
}

/// Entries with the memory they take.
pub(super) struct Entries<K> {
    list: Vec<Entry<K>>,
    reservation: Reservation,
}

impl<K: KeyWord> Entries<K> {
    pub(super) fn new(shared: &Shared<K>) -> Result<Self> {
        Ok(Self { list: Vec::new(), reservation: shared.memory.reserve(0, MemoryTag::Sort)? })
    }

    pub(super) fn as_slice(&self) -> &[Entry<K>] {
        &self.list
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [Entry<K>] {
        &mut self.list
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.reservation.bytes() as u64
    }

    pub(super) fn truncate(&mut self, len: usize) {
        self.list.truncate(len);
    }

    /// Makes room for `additional` entries; the capacity grows by doubling.
    pub(super) fn reserve(&mut self, additional: usize) -> Result<()> {
        let needed = self.list.len() + additional;
        if needed > self.list.capacity() {
            let capacity = needed.max(self.list.capacity() * 2);
            self.reservation.resize(capacity * size_of::<Entry<K>>())?;
            self.list.reserve_exact(capacity - self.list.len());
        }
        Ok(())
    }

    /// Appends entries for which [`Entries::reserve`] has made room.
    pub(super) fn extend(&mut self, keys: &[K], rows: &[RowPtr]) {
        assert_eq!(keys.len(), rows.len());
        debug_assert!(self.list.capacity() - self.list.len() >= keys.len());
        self.list.extend(keys.iter().zip(rows).map(|(&key, &row)| Entry { key, row }));
    }
}

impl<K: KeyWord> Shared<K> {
    /// The order of two rows.
    #[inline(always)]
    pub(super) fn compare(&self, a: &Entry<K>, b: &Entry<K>) -> Ordering {
        match a.key.cmp(&b.key) {
            Ordering::Equal if self.key_layout.has_open_keys() && a.key.is_odd() => self.order.compare(a.row, b.row),
            order => order,
        }
    }

    /// Sorts by keys first, which touches no row, then each group of equal open keys by what is behind them.
    pub(super) fn sort(&self, entries: &mut [Entry<K>]) {
        entries.sort_unstable_by_key(|entry| entry.key);
        if self.key_layout.has_open_keys() {
            self.sort_ties(entries);
        }
    }
}
