//! The order of rows whose normalized keys are equal though the rows may not be.
//!
//! Comparing two such rows in their pages misses the cache several times. Instead, each row of a group is read once: what
//! its key had no room for becomes its new key, and the group is sorted by that, and so on with groups that are still
//! equal, as a radix sort from the most significant digit does:
//!
//! ```text
//! key     | REG AIR |NONE    |carefully fi…|      equal and open: the comment goes on
//! behind  | nal pinto beans | 15 bytes and how many there are (Behind::String)
//! behind  | orderkey | linenumber |               the keys behind a string that has ended (Behind::Keys)
//! ```

use std::ops::Range;

use godwit_rows::RowPtr;
use godwit_vector::{Heaps, Vector};

use super::Shared;
use super::config::{PREFETCH_ENTRIES, REKEY_ROWS, REKEY_ROWS_MIN, REKEYS_MAX};
use super::entries::Entry;
use super::key::{KeyWord, prefix_and_length};

/// Bytes of a string that a key takes beside their number.
const STRING_BYTES: usize = 15;

/// What the keys of a group leave open.
#[derive(Clone, Copy)]
enum Behind {
    /// The bytes of a string, sort key `key`, behind those known, then the keys behind it.
    String { key: usize, known: usize },
    /// The sort keys from here on.
    Keys { first: usize },
    /// There is more, but no good way to make a key of it.
    Rows,
    /// Nothing: the rows are equal.
    Nothing,
}

impl<K: KeyWord> Shared<K> {
    /// Sorts each group of equal open keys among entries that are sorted by key.
    pub(super) fn sort_ties(&self, entries: &mut [Entry<K>]) {
        let mut begin = 0;
        while begin < entries.len() {
            let key = entries[begin].key;
            let rows = entries[begin..].iter().take_while(|entry| entry.key == key).count();
            let group = begin..begin + rows;
            begin = group.end;
            if rows > 1 && key.is_odd() {
                self.sort_behind(entries, group.clone(), self.behind_key(0, key), 0);
                entries[group].iter_mut().for_each(|entry| entry.key = key);
            }
        }
    }

    /// What a key made of the sort keys from `first` on leaves open.
    fn behind_key(&self, first: usize, key: K) -> Behind {
        if !key.is_odd() || !self.rest_layouts[first].has_open_keys() {
            return Behind::Nothing;
        }
        let opened = self.rest_layouts[first].opened_by(key);
        opened.map_or(Behind::Rows, |(key, known)| Behind::String { key: first + key, known })
    }

    /// What a key of [`Self::string_keys`] leaves open.
    fn behind_string(&self, key: usize, known: usize, string_key: K) -> Behind {
        let bytes = string_key.byte(0) ^ self.inversion(key) as u8;
        if bytes as usize > STRING_BYTES {
            Behind::String { key, known: known + STRING_BYTES }
        } else if key + 1 < self.rest_layouts.len() {
            Behind::Keys { first: key + 1 }
        } else {
            Behind::Nothing
        }
    }

    fn inversion(&self, key: usize) -> u128 {
        if self.order.is_descending(key) { u128::MAX } else { 0 }
    }

    /// Sorts a group whose rows are equal up to what is `behind`; leaves any keys.
    fn sort_behind(&self, entries: &mut [Entry<K>], group: Range<usize>, behind: Behind, rekeys: u32) {
        let is_small = group.len() < REKEY_ROWS_MIN;
        match behind {
            Behind::Nothing => return,
            Behind::String { key, known } if rekeys == 0 || (!is_small && rekeys < REKEYS_MAX) => {
                self.string_keys(entries, group.clone(), key, known);
            }
            Behind::Keys { first } if !is_small && rekeys < REKEYS_MAX => {
                entries[group.clone()].chunks_mut(REKEY_ROWS).for_each(|rows| self.rest_keys(rows, first));
            }
            _ => {
                entries[group].sort_unstable_by(|a, b| self.order.compare(a.row, b.row));
                return;
            }
        }
        entries[group.clone()].sort_unstable_by_key(|entry| entry.key);
        let mut begin = group.start;
        while begin < group.end {
            let new_key = entries[begin].key;
            let rows = entries[begin..group.end].iter().take_while(|entry| entry.key == new_key).count();
            if rows > 1 {
                let still_behind = match behind {
                    Behind::String { key, known } => self.behind_string(key, known, new_key),
                    Behind::Keys { first } => self.behind_key(first, new_key),
                    Behind::Rows | Behind::Nothing => unreachable!("no keys were made"),
                };
                self.sort_behind(entries, begin..begin + rows, still_behind, rekeys + 1);
            }
            begin += rows;
        }
    }

    /// Makes keys of a string behind its first `known` bytes. All rows have at least so many.
    fn string_keys(&self, entries: &mut [Entry<K>], group: Range<usize>, key: usize, known: usize) {
        let inversion = self.inversion(key);
        for index in group {
            // Rows of later groups are asked for as well: most groups are small.
            if let Some(later) = entries.get(index + 2 * PREFETCH_ENTRIES) {
                self.order.prefetch_view(key, later.row);
            }
            if let Some(later) = entries.get(index + PREFETCH_ENTRIES) {
                self.order.prefetch_string(key, later.row);
            }
            let take = |string: &[u8]| prefix_and_length(&string[known..], STRING_BYTES as u32);
            entries[index].key = K::of_bits(self.order.read_string(key, entries[index].row, take) ^ inversion);
        }
    }

    /// Makes keys of the sort keys from `first` on.
    fn rest_keys(&self, entries: &mut [Entry<K>], first: usize) {
        let rows: Vec<RowPtr> = entries.iter().map(|entry| entry.row).collect();
        // The strings are gone before their pages can be: whoever sorts has them pinned.
        let values: Vec<Vector> =
            (first..self.rest_layouts.len()).map(|key| self.layout.gather(&rows, key, &Heaps::none())).collect();
        let mut keys = Vec::new();
        self.rest_layouts[first].encode(&values, rows.len(), &mut keys);
        entries.iter_mut().zip(keys).for_each(|(entry, key)| entry.key = key);
    }
}
