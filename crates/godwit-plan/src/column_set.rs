//! Sets of columns.

use std::fmt;
use std::ops::Range;

use crate::ColumnId;

/// A set of columns, as bits: statements have some hundreds of columns, and every pass asks which columns are used
/// where.
///
/// Only the words from the first column to the last are kept. The columns of a node were mostly made together, so the
/// sets of ten thousand nodes stay small.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ColumnSet {
    /// Where the first word stands among those of all columns; 0 without words.
    first: usize,
    /// Without zeros at both ends, so that equal sets are equal words.
    words: Vec<u64>,
}

const BITS: usize = u64::BITS as usize;

impl ColumnSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// True without columns.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Is the column in it?
    pub fn contains(&self, column: ColumnId) -> bool {
        self.word(column.index() / BITS) >> (column.index() % BITS) & 1 == 1
    }

    /// Adds a column; false if it was there.
    pub fn insert(&mut self, column: ColumnId) -> bool {
        let at = column.index() / BITS;
        self.reach(at, at + 1);
        let word = &mut self.words[at - self.first];
        let bit = 1 << (column.index() % BITS);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Takes a column out.
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

    /// Takes all columns of another set out.
    pub fn subtract(&mut self, other: &ColumnSet) {
        for at in self.shared_words(other) {
            self.words[at - self.first] &= !other.words[at - other.first];
        }
        self.trim();
    }

    /// Keeps the columns that are in another set, too.
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

    /// The columns of both.
    #[must_use]
    pub fn union(&self, other: &ColumnSet) -> ColumnSet {
        let mut all = self.clone();
        all.union_with(other);
        all
    }

    /// The columns that are in both.
    #[must_use]
    pub fn intersection(&self, other: &ColumnSet) -> ColumnSet {
        let mut both = self.clone();
        both.intersect_with(other);
        both
    }

    /// The columns that aren't in the other.
    #[must_use]
    pub fn difference(&self, other: &ColumnSet) -> ColumnSet {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }

    /// Are all columns in the other set?
    pub fn is_subset(&self, other: &ColumnSet) -> bool {
        let inside = self.first >= other.first && self.end() <= other.end();
        self.is_empty() || (inside && self.shared_words(other).all(|at| self.word(at) & !other.word(at) == 0))
    }

    /// Is no column in both?
    pub fn is_disjoint(&self, other: &ColumnSet) -> bool {
        self.shared_words(other).all(|at| self.word(at) & other.word(at) == 0)
    }

    /// The columns, ascending.
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

    /// The position after the last word.
    fn end(&self) -> usize {
        self.first + self.words.len()
    }

    fn word(&self, at: usize) -> u64 {
        at.checked_sub(self.first).and_then(|at| self.words.get(at)).copied().unwrap_or(0)
    }

    /// The places of the words that both sets have. An empty range starts no earlier than this set does.
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
