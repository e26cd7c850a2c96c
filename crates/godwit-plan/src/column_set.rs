//! Sets of columns.

use std::fmt;

use crate::ColumnId;

/// A set of columns, as bits: statements have some hundreds of columns, and every pass asks what uses what.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ColumnSet {
    /// Without zeros at the end, so that equal sets are equal words.
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
        self.words.get(column.index() / BITS).is_some_and(|word| word >> (column.index() % BITS) & 1 == 1)
    }

    /// Adds a column; false if it was there.
    pub fn insert(&mut self, column: ColumnId) -> bool {
        let at = column.index() / BITS;
        if self.words.len() <= at {
            self.words.resize(at + 1, 0);
        }
        let bit = 1 << (column.index() % BITS);
        let is_new = self.words[at] & bit == 0;
        self.words[at] |= bit;
        is_new
    }

    /// Takes a column out.
    pub fn remove(&mut self, column: ColumnId) {
        if let Some(word) = self.words.get_mut(column.index() / BITS) {
            *word &= !(1 << (column.index() % BITS));
            self.trim();
        }
    }

    /// Adds all columns of another set.
    pub fn union_with(&mut self, other: &ColumnSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word |= other);
    }

    /// Takes all columns of another set out.
    pub fn subtract(&mut self, other: &ColumnSet) {
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= !other);
        self.trim();
    }

    /// Keeps the columns that are in another set, too.
    pub fn intersect_with(&mut self, other: &ColumnSet) {
        self.words.truncate(other.words.len());
        self.words.iter_mut().zip(&other.words).for_each(|(word, other)| *word &= other);
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
        self.words.len() <= other.words.len() && self.words.iter().zip(&other.words).all(|(a, b)| a & !b == 0)
    }

    /// Is no column in both?
    pub fn is_disjoint(&self, other: &ColumnSet) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & b == 0)
    }

    /// The columns, ascending.
    pub fn iter(&self) -> impl Iterator<Item = ColumnId> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(ColumnId::new(at * BITS + bit))
            })
        })
    }

    fn trim(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
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
