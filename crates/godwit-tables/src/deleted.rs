//! The deleted rows of a version of a table, and the identity of rows.
//!
//! ```text
//!   RowId        place (row group of the main part, or the delta) + row in it
//!   DeletedRows  place ─▶ RowSet: a bit per row, shared with other versions until one of them deletes more
//! ```
//!
//! Row ids stay valid as long as nothing is folded: loads append row groups, inserts append to the delta. Folding
//! starts a new *epoch* of the table; row ids of earlier epochs can be translated (moves.rs).

use std::collections::BTreeMap;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_vector::Bitmap;

/// Row groups by number; the delta comes last.
pub(crate) type Place = u32;

/// The place of rows outside row groups: the largest number that keeps row ids positive.
pub(crate) const DELTA: Place = i32::MAX as u32;

/// The location of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowId {
    pub place: Place,
    pub row: u32,
}

impl RowId {
    /// The id as a column value.
    pub(crate) fn to_i64(self) -> i64 {
        (self.place as i64) << 32 | self.row as i64
    }

    /// The id from a column value.
    pub(crate) fn from_i64(id: i64) -> Self {
        Self { place: (id >> 32) as u32, row: id as u32 }
    }
}

/// Some rows of a place.
pub(crate) struct RowSet {
    bits: Bitmap,
    rows: usize,
    _memory: Reservation,
}

impl RowSet {
    fn new(bits: Bitmap, memory: &BufferManager) -> Result<Self> {
        let reservation = memory.reserve(bits.words().len() * 8, MemoryTag::Table)?;
        Ok(Self { rows: bits.count_ones(), bits, _memory: reservation })
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn contains(&self, row: usize) -> bool {
        row < self.bits.len() && self.bits.get(row)
    }

    /// All rows, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        ones(self.bits.words())
    }

    /// Of the `count` rows starting at `first`, those that aren't in the set, relative to `first`; `None`: all of them.
    pub(crate) fn others(&self, first: usize, count: usize) -> Option<Vec<u32>> {
        let within = self.bits.len().saturating_sub(first).min(count);
        if within == 0 || self.bits.slice(first, within).count_ones() == 0 {
            return None;
        }
        Some((0..count).filter(|row| !self.contains(first + row)).map(|row| row as u32).collect())
    }
}

fn ones(words: &[u64]) -> impl Iterator<Item = u32> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let some = |word: u64| (word != 0).then_some(word);
        let rest = std::iter::successors(some(word), move |word| some(word & (word - 1)));
        rest.map(move |word| at as u32 * 64 + word.trailing_zeros())
    })
}

/// A set of rows to which rows are added one by one.
#[derive(Default, Clone)]
pub(crate) struct Marks(BTreeMap<Place, Vec<u64>>);

impl Marks {
    /// Marks a row; returns false if it was already marked.
    pub(crate) fn insert(&mut self, id: RowId) -> bool {
        let words = self.0.entry(id.place).or_default();
        let (word, bit) = (id.row as usize / 64, 1 << (id.row % 64));
        if words.len() <= word {
            words.resize(word + 1, 0);
        }
        let is_new = words[word] & bit == 0;
        words[word] |= bit;
        is_new
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Unmarks all rows except those that `keep` accepts.
    pub(crate) fn keep(&mut self, keep: impl Fn(RowId) -> bool) {
        for (&place, words) in &mut self.0 {
            let dropped: Vec<u32> = ones(words).filter(|&row| !keep(RowId { place, row })).collect();
            dropped.into_iter().for_each(|row| words[row as usize / 64] &= !(1 << (row % 64)));
        }
        self.0.retain(|_, words| words.iter().any(|&word| word != 0));
    }

    /// Bytes of the marks.
    pub(crate) fn bytes(&self) -> usize {
        self.0.values().map(|words| words.capacity() * 8).sum()
    }

    /// The rows of each place, ascending.
    pub(crate) fn places(&self) -> impl Iterator<Item = (Place, impl Iterator<Item = u32> + '_)> + '_ {
        self.0.iter().map(|(&place, words)| (place, ones(words)))
    }
}

/// The deleted rows of a version.
#[derive(Clone, Default)]
pub(crate) struct DeletedRows(BTreeMap<Place, Arc<RowSet>>);

impl DeletedRows {
    /// The deleted rows of a place; `None` if there are none.
    pub(crate) fn of(&self, place: Place) -> Option<&Arc<RowSet>> {
        self.0.get(&place)
    }

    /// Number of deleted rows.
    pub(crate) fn rows(&self) -> u64 {
        self.0.values().map(|set| set.rows as u64).sum()
    }

    pub(crate) fn places(&self) -> impl Iterator<Item = (Place, &Arc<RowSet>)> {
        self.0.iter().map(|(&place, set)| (place, set))
    }

    /// A copy with other rows deleted, too.
    pub(crate) fn with(&self, marks: &Marks, memory: &BufferManager) -> Result<Self> {
        let mut places = self.0.clone();
        for (&place, words) in &marks.0 {
            let mut all = words.clone();
            if let Some(known) = places.get(&place) {
                let known = known.bits.words();
                all.resize(all.len().max(known.len()), 0);
                all.iter_mut().zip(known).for_each(|(all, known)| *all |= known);
            }
            let len = all.len() * 64;
            places.insert(place, Arc::new(RowSet::new(Bitmap::from_words(all, len), memory)?));
        }
        Ok(Self(places))
    }

    /// The rows that are deleted here but not in `earlier`.
    pub(crate) fn since(&self, earlier: &DeletedRows) -> Marks {
        let mut marks = Marks::default();
        for (place, set) in self.places() {
            let before = earlier.of(place);
            if before.is_some_and(|before| Arc::ptr_eq(before, set)) {
                continue;
            }
            let known = before.map_or(&[][..], |before| before.bits.words());
            let known = known.iter().copied().chain(std::iter::repeat(0));
            let words: Vec<u64> = set.bits.words().iter().zip(known).map(|(&word, known)| word & !known).collect();
            if words.iter().any(|&word| word != 0) {
                marks.0.insert(place, words);
            }
        }
        marks
    }

    /// True if any of these rows is already deleted.
    pub(crate) fn overlap(&self, marks: &Marks) -> bool {
        marks.0.iter().any(|(&place, words)| {
            let known = self.of(place).map_or(&[][..], |set| set.bits.words());
            words.iter().zip(known).any(|(a, b)| a & b != 0)
        })
    }
}

#[cfg(test)]
mod tests {
    use godwit_memory::BufferConfig;

    use super::*;

    fn rows(deleted: &DeletedRows, place: Place) -> Vec<u32> {
        deleted.of(place).map_or(Vec::new(), |set| set.iter().collect())
    }

    #[test]
    fn sets_grow_and_differ() {
        let memory = BufferManager::new(BufferConfig::new(64 << 20)).unwrap();
        let mut marks = Marks::default();
        assert!(marks.insert(RowId { place: 3, row: 70 }));
        assert!(!marks.insert(RowId { place: 3, row: 70 }));
        marks.insert(RowId { place: 3, row: 1 });
        let first = DeletedRows::default().with(&marks, &memory).unwrap();
        let mut more = Marks::default();
        more.insert(RowId { place: 3, row: 2 });
        more.insert(RowId { place: DELTA, row: 500 });
        assert!(!first.overlap(&more));
        let second = first.with(&more, &memory).unwrap();
        assert_eq!(rows(&second, 3), [1, 2, 70]);
        assert_eq!(rows(&second, DELTA), [500]);
        assert_eq!(second.rows(), 4);
        let since = second.since(&first);
        assert!(second.overlap(&since) && !first.overlap(&since));
        assert_eq!(since.places().map(|(place, rows)| (place, rows.count())).collect::<Vec<_>>(), [(3, 1), (DELTA, 1)]);
        let set = second.of(3).unwrap();
        assert_eq!(set.others(64, 10), Some(vec![0, 1, 2, 3, 4, 5, 7, 8, 9]));
        assert_eq!(set.others(71, 10), None);
        assert_eq!(set.others(1000, 10), None);
    }

    #[test]
    fn row_ids_are_positive_numbers() {
        for id in [RowId { place: 0, row: 0 }, RowId { place: DELTA, row: u32::MAX }, RowId { place: 7, row: 131_071 }]
        {
            assert!(id.to_i64() >= 0);
            assert_eq!(RowId::from_i64(id.to_i64()), id);
        }
    }
}
