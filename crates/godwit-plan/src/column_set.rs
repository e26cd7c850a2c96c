//! Sets of columns.

use std::fmt;
use std::ops::Range;

use crate::ColumnId;

/// A set of columns, as a bitmap: statements have hundreds of columns, and every pass asks for those that are used.
///
/// Only the words from the first column to the last are stored. The columns of a node were mostly created together, so
/// the sets of ten thousand nodes stay small.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ColumnSet {
    /// Index of the first stored word among the words of all columns; 0 if there are none.
    first: usize,
    /// Without leading or trailing zero words, so that equal sets have equal words.
    words: Vec<u64>,
}

const BITS: usize = u64::BITS as usize;

impl ColumnSet {
    /// Creates an empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// True if it contains no column.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the number of columns.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// True if it contains the column.
    pub fn contains(&self, column: ColumnId) -> bool {
        self.word(column.index() / BITS) >> (column.index() % BITS) & 1 == 1
    }

    /// Adds a column; returns false if it was already present.
    pub fn insert(&mut self, column: ColumnId) -> bool {
        let at = column.index() / BITS;
        self.reach(at, at + 1);
        let word = &mut self.words[at - self.first];
        let bit = 1 << (column.index() % BITS);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Removes a column.
    pub fn remove(&mut self, column: ColumnId) {
        let at = (column.index() / BITS).checked_sub(self.first);
        if let Some(word) = at.and_then(|at| self.words.get_mut(at)) {
            *word &= !(1 << (column.index() % BITS));
            self.trim();
        }
    }

    /// Adds all columns of another set.
    pub fn union_with(&mut self, other: &ColumnSet) {
        if !other.is_empty() {
            self.reach(other.first, other.end());
            let own = &mut self.words[other.first - self.first..];
            own.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
        }
    }

    /// Removes all columns of another set.
    pub fn subtract(&mut self, other: &ColumnSet) {
        for at in self.shared_words(other) {
            self.words[at - self.first] &= !other.words[at - other.first];
        }
        self.trim();
    }

    /// Keeps only the columns that are also in another set.
    pub fn intersect_with(&mut self, other: &ColumnSet) {
        let shared = self.shared_words(other);
        self.words.truncate(shared.end.saturating_sub(self.first));
        self.words.drain(..(shared.start - self.first).min(self.words.len()));
        self.first = shared.start;
        for at in shared {
            self.words[at - self.first] &= other.words[at - other.first];
        }
        self.trim();
    }

    /// Returns the columns that are in either set.
    #[must_use]
    pub fn union(&self, other: &ColumnSet) -> ColumnSet {
        let mut all = self.clone();
        all.union_with(other);
        all
    }

    /// Returns the columns that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &ColumnSet) -> ColumnSet {
        let mut both = self.clone();
        both.intersect_with(other);
        both
    }

    /// Returns the columns that aren't in the other set.
    #[must_use]
    pub fn difference(&self, other: &ColumnSet) -> ColumnSet {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }

    /// True if all columns are in the other set.
    pub fn is_subset(&self, other: &ColumnSet) -> bool {
        let inside = self.first >= other.first && self.end() <= other.end();
        self.is_empty() || (inside && self.shared_words(other).all(|at| self.word(at) & !other.word(at) == 0))
    }

    /// True if no column is in both sets.
    pub fn is_disjoint(&self, other: &ColumnSet) -> bool {
        self.shared_words(other).all(|at| self.word(at) & other.word(at) == 0)
    }

    /// Iterates over the columns, in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.words.iter().zip(self.first..).flat_map(|(&word, at)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(ColumnId::new(at * BITS + bit))
            })
        })
    }

    /// Returns the index after the last word.
    fn end(&self) -> usize {
        self.first + self.words.len()
    }

    fn word(&self, at: usize) -> u64 {
        at.checked_sub(self.first).and_then(|at| self.words.get(at)).copied().unwrap_or(0)
    }

    /// Returns the indices of the words that both sets have. An empty range doesn't start before this set does.
    fn shared_words(&self, other: &ColumnSet) -> Range<usize> {
        self.first.max(other.first)..self.end().min(other.end())
    }

    /// Extends the words to cover `start` to `end`.
    fn reach(&mut self, start: usize, end: usize) {
        if self.words.is_empty() {
            self.first = start;
        }
        if start < self.first {
            self.words.splice(0..0, std::iter::repeat_n(0, self.first - start));
            self.first = start;
        }
        if self.end() < end {
            self.words.resize(end - self.first, 0);
        }
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
        let zeros = self.words.iter().take_while(|&&word| word == 0).count();
        self.words.drain(..zeros);
        self.first = if self.words.is_empty() { 0 } else { self.first + zeros };
    }
}

impl FromIterator<ColumnId> for ColumnSet {
    fn from_iter<I: IntoIterator<Item = ColumnId>>(columns: I) -> Self {
        let mut set = Self::new();
        set.extend(columns);
        set
    }
}

impl Extend<ColumnId> for ColumnSet {
    fn extend<I: IntoIterator<Item = ColumnId>>(&mut self, columns: I) {
        columns.into_iter().for_each(|column| {
            self.insert(column);
        });
    }
}

impl fmt::Debug for ColumnSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
