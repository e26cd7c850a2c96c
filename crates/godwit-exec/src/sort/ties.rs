//! Orders rows whose normalized keys are equal although the rows may not be.
//!
//! Comparing two such rows in their pages misses the cache several times. Instead, each row of a group is read once:
//! the part that its key had no room for becomes its new key, the group is sorted by that, and groups that are still
//! equal are treated the same way, as in an MSD radix sort:
//!
//! ```text
//! key     | REG AIR |NONE    |carefully fi…|      equal and open: the comment goes on
//! behind  | nal pinto beans | 15 bytes and how many there are (Behind::String)
//! behind  | orderkey | linenumber |               the keys behind a string that has ended (Behind::Keys)
//! ```

use std::ops::Range;

use godwit_rows::{KeyedRows, RowList};
use godwit_vector::Vector;

use super::Shared;
use super::config::{PREFETCH_ENTRIES, REKEY_ROWS, REKEY_ROWS_MIN, REKEYS_MAX};
use super::key::{KeyWord, prefix_and_length};

/// Bytes of a string that a key holds, besides their number.
const STRING_BYTES: usize = 15;

/// The part of the order that the keys of a group leave undecided.
#[derive(Clone, Copy)]
enum Behind {
    /// The bytes of a string, sort key `key`, after the known ones, then the keys after it.
    String { key: usize, known: usize },
    /// This sort key and those after it.
    Keys { first: usize },
    /// There is more, but no good way to make a key from it.
    Rows,
    /// Nothing: the rows are equal.
    Nothing,
}

impl<K: KeyWord> Shared<K> {
    /// Sorts each group of equal open keys among entries that are sorted by key.
    pub(super) fn sort_ties(&self, entries: &mut KeyedRows<K>) {
        let mut begin = 0;
        while begin < entries.len() {
            let key = entries.key(begin);
            let rows = entries.equal_keys(begin, entries.len());
            let group = begin..begin + rows;
            begin = group.end;
            if rows > 1 && key.is_odd() {
                self.sort_behind(entries, group.clone(), self.behind_key(0, key), 0);
                group.for_each(|position| entries.set_key(position, key));
            }
        }
    }

    /// What a key made from sort key `first` and those after it leaves undecided.
    fn behind_key(&self, first: usize, key: K) -> Behind {
        if !key.is_odd() || !self.rest_layouts[first].has_open_keys() {
            return Behind::Nothing;
        }
        let opened = self.rest_layouts[first].opened_by(key);
        opened.map_or(Behind::Rows, |(key, known)| Behind::String { key: first + key, known })
    }

    /// What a key of [`Self::string_keys`] leaves undecided.
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

    /// Sorts a group whose rows are equal except for what is `behind`; the keys are arbitrary afterwards.
    fn sort_behind(&self, entries: &mut KeyedRows<K>, group: Range<usize>, behind: Behind, rekeys: u32) {
        let is_small = group.len() < REKEY_ROWS_MIN;
        match behind {
            Behind::Nothing => return,
            Behind::String { key, known } if rekeys == 0 || (!is_small && rekeys < REKEYS_MAX) => {
                self.string_keys(entries, group.clone(), key, known);
            }
            Behind::Keys { first } if !is_small && rekeys < REKEYS_MAX => {
                for begin in group.clone().step_by(REKEY_ROWS) {
                    self.rest_keys(entries, begin..group.end.min(begin + REKEY_ROWS), first);
                }
            }
            _ => {
                entries.sort_by_rows(group, &self.order);
                return;
            }
        }
        entries.sort_by_key(group.clone());
        let mut begin = group.start;
        while begin < group.end {
            let new_key = entries.key(begin);
            let rows = entries.equal_keys(begin, group.end);
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

    /// Makes keys from a string after its first `known` bytes. All rows have at least that many.
    fn string_keys(&self, entries: &mut KeyedRows<K>, group: Range<usize>, key: usize, known: usize) {
        let inversion = self.inversion(key);
        for index in group {
            // Prefetches rows of later groups as well: most groups are small.
            entries.prefetch_strings(index + 2 * PREFETCH_ENTRIES, index + PREFETCH_ENTRIES, &self.order, key);
            let take = |string: &[u8]| prefix_and_length(&string[known..], STRING_BYTES as u32);
            let bits = entries.read_string(index, &self.order, key, take);
            entries.set_key(index, K::of_bits(bits ^ inversion));
        }
    }

    /// Makes keys from sort key `first` and those after it.
    fn rest_keys(&self, entries: &mut KeyedRows<K>, group: Range<usize>, first: usize) {
        let mut rows = RowList::new(&self.layout);
        rows.append_keyed(entries, group.clone());
        let values: Vec<Vector> = (first..self.rest_layouts.len()).map(|key| rows.all().gather(key)).collect();
        let mut keys = Vec::new();
        self.rest_layouts[first].encode(&values, rows.len(), &mut keys);
        group.zip(keys).for_each(|(position, key)| entries.set_key(position, key));
    }
}
