//! Order-preserving dictionaries: the distinct strings of a column, sorted; a string's rank is its code.
//!
//! The order carries over to codes: a range of strings is a range of codes, found by two binary searches; any other
//! predicate is evaluated once per string, into one bit per code. New strings change codes:
//! [`OrderedDictionary::merge`] maps old codes to new ones. If all new strings are larger than the old ones, no code
//! changes.
//!
//! Source: thesis 2.2.1 and 2.2.2.

use std::cmp::Ordering;
use std::ops::{Bound, Range};
use std::sync::Arc;

use godwit_vector::{Dictionary, Flat, PhysicalType, StrColumn, Vector};

/// Sorted distinct strings. Cheap to clone.
#[derive(Clone)]
pub struct OrderedDictionary(Arc<Dictionary>);

/// A dictionary with more strings added.
pub struct UnitedDictionary {
    /// All strings.
    pub dictionary: OrderedDictionary,
    /// The new code of each code of the dictionary; `None` if they are unchanged because nothing was new.
    pub codes: Option<Vec<u32>>,
    /// The code of each string that was added.
    pub added_codes: Vec<u32>,
}

impl OrderedDictionary {
    /// A dictionary of strings in any order, with repetitions.
    pub fn from_strings<T: AsRef<[u8]> + Ord>(mut strings: Vec<T>) -> Self {
        strings.sort_unstable();
        strings.dedup();
        Self::from_sorted(strings.iter().map(AsRef::as_ref))
    }

    /// A dictionary of distinct strings in ascending order.
    pub fn from_sorted<'a>(strings: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self(Arc::new(Dictionary::new(Flat::Str(StrColumn::from_strings(strings)), true)))
    }

    /// The dictionary for vectors with these codes.
    pub fn shared(&self) -> &Arc<Dictionary> {
        &self.0
    }

    /// The strings that the codes in a `U32` vector stand for; `None` if one of them isn't a code.
    pub fn with_codes(&self, codes: &Vector) -> Option<Vector> {
        if self.is_empty() {
            let all_null = (0..codes.len()).all(|row| !codes.is_valid(row));
            return all_null.then(|| Vector::null(PhysicalType::Str, codes.len()));
        }
        let Flat::U32(values) = codes.to_flat() else { panic!("codes are U32") };
        // Rows that are NULL have codes, too.
        let largest = values.iter().copied().max().unwrap_or(0);
        let vector = || Vector::dictionary(values.clone(), self.0.clone(), None);
        ((largest as usize) < self.len()).then(|| vector().with_validity(codes.validity().cloned()))
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no strings.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The string of a code.
    pub fn get(&self, code: u32) -> &[u8] {
        self.strings().get(code as usize)
    }

    /// The code of a string, if the column has it.
    pub fn code(&self, string: &[u8]) -> Option<u32> {
        let code = self.codes_below(string, false);
        (code < self.len() as u32 && self.get(code) == string).then_some(code)
    }

    /// The codes of the strings between two bounds.
    pub fn range(&self, low: Bound<&[u8]>, high: Bound<&[u8]>) -> Range<u32> {
        let start = match low {
            Bound::Unbounded => 0,
            Bound::Included(string) => self.codes_below(string, false),
            Bound::Excluded(string) => self.codes_below(string, true),
        };
        let end = match high {
            Bound::Unbounded => self.len() as u32,
            Bound::Included(string) => self.codes_below(string, true),
            Bound::Excluded(string) => self.codes_below(string, false),
        };
        start..end.max(start)
    }

    /// The codes of the strings that begin with a prefix.
    pub fn prefix(&self, prefix: &[u8]) -> Range<u32> {
        let start = self.codes_below(prefix, false);
        let rest = start..self.len() as u32;
        let end = partition(rest, |code| self.get(code).starts_with(prefix));
        start..end
    }

    /// This dictionary with more strings, sorted and distinct, and the new code of each old one; `None` if no code
    /// changes.
    pub fn merge(&self, added: &OrderedDictionary) -> (OrderedDictionary, Option<Vec<u32>>) {
        let (old, new) = (self.strings(), added.strings());
        let mut merged: Vec<&[u8]> = Vec::with_capacity(old.len() + new.len());
        let mut codes = Vec::with_capacity(old.len());
        let (mut i, mut j) = (0, 0);
        while i < old.len() || j < new.len() {
            let order = match (i < old.len(), j < new.len()) {
                (true, true) => old.get(i).cmp(new.get(j)),
                (true, false) => Ordering::Less,
                _ => Ordering::Greater,
            };
            if order.is_le() {
                codes.push(merged.len() as u32);
                merged.push(old.get(i));
                i += 1;
            } else {
                merged.push(new.get(j));
            }
            j += order.is_ge() as usize;
        }
        let changes = codes.iter().enumerate().any(|(old, &new)| old as u32 != new);
        (Self::from_sorted(merged), changes.then_some(codes))
    }

    /// The dictionary with more strings added: those of `added` at `order`, where they are ascending and distinct. All
    /// bytes are shared.
    pub fn united(&self, added: &StrColumn, order: &[u32]) -> UnitedDictionary {
        let known = self.strings();
        let mut added_codes = vec![0; added.len()];
        // New strings, each with the known one that it is inserted before.
        let mut inserted: Vec<(u32, u32)> = Vec::new();
        let mut at = 0;
        for &place in order {
            let string = added.get(place as usize);
            at = known.first_not_below(at, string);
            added_codes[place as usize] = (at + inserted.len()) as u32;
            if at == known.len() || known.get(at) != string {
                inserted.push((at as u32, place));
            }
        }
        if inserted.is_empty() {
            return UnitedDictionary { dictionary: self.clone(), codes: None, added_codes };
        }
        let mut rows: Vec<u32> = Vec::with_capacity(known.len() + inserted.len());
        let mut codes: Vec<u32> = Vec::with_capacity(known.len());
        let ends = inserted.iter().map(|&(at, place)| (at, Some(known.len() as u32 + place)));
        for (end, place) in ends.chain([(known.len() as u32, None)]) {
            let start = codes.len() as u32;
            let shift = rows.len() as u32 - start;
            codes.extend((start..end).map(|code| code + shift));
            rows.extend(start..end);
            rows.extend(place);
        }
        let strings = known.take_of_both(added, &rows);
        let dictionary = Self(Arc::new(Dictionary::new(Flat::Str(strings), true)));
        UnitedDictionary { dictionary, codes: Some(codes), added_codes }
    }

    fn strings(&self) -> &StrColumn {
        self.0.values().strings()
    }

    /// Number of strings below `string`, including `string` itself if `inclusive`.
    fn codes_below(&self, string: &[u8], inclusive: bool) -> u32 {
        partition(0..self.len() as u32, |code| match self.get(code).cmp(string) {
            Ordering::Less => true,
            Ordering::Equal => inclusive,
            Ordering::Greater => false,
        })
    }
}

/// The first code of `codes` for which `is_before` is false; it must be true for all before that one and false for all
/// after it.
fn partition(codes: Range<u32>, is_before: impl Fn(u32) -> bool) -> u32 {
    let Range { mut start, mut end } = codes;
    while start < end {
        let middle = start + (end - start) / 2;
        if is_before(middle) { start = middle + 1 } else { end = middle }
    }
    start
}
