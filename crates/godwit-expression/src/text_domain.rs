//! All values of a text column, in order: what its codes stand for.
//!
//! ```text
//! a table's dictionary:  its scans emit vectors that share it, so codes are at hand; other strings are searched
//! from files:            made from the dictionaries of their parts, few values; strings are found by hash
//! ```

use std::sync::Arc;

use godwit_vector::kernels::hash::hash_string;
use godwit_vector::{Dictionary, Flat, StrColumn, StrView, Vector};
use hashbrown::HashTable;

/// Maximum number of values in a domain made for a query (not a table's own dictionary): codes take two bytes.
pub const DOMAIN_VALUES_MAX: usize = 1 << 16;

/// The code of a string that isn't in the domain.
pub(crate) const EMPTY: u32 = u32::MAX;

/// All values that a text column can have, in order.
pub struct TextDomain {
    dictionary: Arc<Dictionary>,
    /// Codes by the hash of their values. `None`: values are found by binary search.
    hashed: Option<HashTable<u32>>,
}

impl TextDomain {
    /// Creates the domain of these values, which needn't be distinct; `None` if there are too many.
    pub fn new<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Option<Self> {
        let mut values: Vec<&[u8]> = values.into_iter().collect();
        values.sort_unstable();
        values.dedup();
        if values.len() > DOMAIN_VALUES_MAX {
            return None;
        }
        let strings = StrColumn::from_strings(values);
        let hash = |place: u32| hash_string(&strings.views()[place as usize], strings.get(place as usize));
        let mut hashed = HashTable::with_capacity(strings.len());
        for place in 0..strings.len() as u32 {
            hashed.insert_unique(hash(place), place, |&place| hash(place));
        }
        Some(Self { dictionary: Arc::new(Dictionary::new(Flat::Str(strings), true)), hashed: Some(hashed) })
    }

    /// Creates the domain of a column whose vectors have this dictionary, which is ordered. It may be of any size.
    pub fn of_dictionary(dictionary: Arc<Dictionary>) -> Self {
        assert!(dictionary.is_ordered(), "codes of a domain are in the order of its values");
        Self { dictionary, hashed: None }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.dictionary.len()
    }

    /// True if there are no values: all rows are NULL.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values in order; codes index vectors of this dictionary.
    pub fn dictionary(&self) -> &Arc<Dictionary> {
        &self.dictionary
    }

    /// True if all non-NULL values of a vector are in the domain.
    pub fn has_all(&self, values: &Vector) -> bool {
        let places = self.places(values.to_flat().strings());
        places.iter().enumerate().all(|(row, &place)| place != EMPTY || !values.is_valid(row))
    }

    fn strings(&self) -> &StrColumn {
        self.dictionary.values().strings()
    }

    /// Returns the codes of strings, `EMPTY` for those that aren't in the domain.
    pub(crate) fn places(&self, strings: &StrColumn) -> Vec<u32> {
        match &self.hashed {
            Some(hashed) => {
                let place = |(row, view)| self.place_by_hash(hashed, view, strings.get(row));
                strings.views().iter().enumerate().map(place).collect()
            }
            None => strings.iter().map(|string| place_at(self.strings(), self.first_from(0, string), string)).collect(),
        }
    }

    /// Returns the codes of the entries of a dictionary.
    pub(crate) fn places_of_entries(&self, dictionary: &Dictionary) -> Vec<u32> {
        let entries = dictionary.values().strings();
        if self.hashed.is_some() || !dictionary.is_ordered() {
            return self.places(entries);
        }
        // Both are sorted: walks along the smaller one and searches each string in the rest of the larger one.
        if entries.len() <= self.len() {
            let mut first = 0;
            let place = |string| {
                first = self.first_from(first, string);
                place_at(self.strings(), first, string)
            };
            return entries.iter().map(place).collect();
        }
        let mut places = vec![EMPTY; entries.len()];
        let mut first = 0;
        for (place, string) in self.strings().iter().enumerate() {
            first = entries.first_not_below(first, string);
            if first < entries.len() && entries.get(first) == string {
                places[first] = place as u32;
            }
        }
        places
    }

    fn first_from(&self, start: usize, string: &[u8]) -> usize {
        self.strings().first_not_below(start, string)
    }

    fn place_by_hash(&self, hashed: &HashTable<u32>, view: &StrView, bytes: &[u8]) -> u32 {
        let is_same = |&place: &u32| self.strings().get(place as usize) == bytes;
        hashed.find(hash_string(view, bytes), is_same).copied().unwrap_or(EMPTY)
    }
}

fn place_at(sorted: &StrColumn, at: usize, string: &[u8]) -> u32 {
    if at < sorted.len() && sorted.get(at) == string { at as u32 } else { EMPTY }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn dictionary(strings: &[String], ordered: bool) -> Dictionary {
        let mut strings = strings.to_vec();
        if ordered {
            strings.sort();
            strings.dedup();
        }
        Dictionary::new(Flat::Str(StrColumn::from_strings(strings)), ordered)
    }

    proptest! {
        #[test]
        fn strings_are_found_where_they_are(
            known in prop::collection::vec("[a-c]{0,3}|long[a-b]{12,16}", 0..60),
            asked in prop::collection::vec("[a-c]{0,3}|long[a-b]{12,16}", 0..60),
            few in 0usize..60,
        ) {
            let ordered = Arc::new(dictionary(&known, true));
            let sorted = ordered.values().strings();
            let place = |string: &[u8]| sorted.iter().position(|known| known == string).map_or(EMPTY, |at| at as u32);
            let domains = [
                TextDomain::of_dictionary(ordered.clone()),
                TextDomain::new(known.iter().map(|string| string.as_bytes())).unwrap(),
            ];
            for domain in domains {
                for asked in [&asked[..], &asked[..few.min(asked.len())]] {
                    for entries in [dictionary(asked, true), dictionary(asked, false)] {
                        let expected: Vec<u32> = entries.values().strings().iter().map(place).collect();
                        prop_assert_eq!(&domain.places(entries.values().strings()), &expected);
                        prop_assert_eq!(&domain.places_of_entries(&entries), &expected);
                        let all = Vector::flat(entries.values().clone(), None);
                        prop_assert_eq!(domain.has_all(&all), !expected.contains(&EMPTY));
                    }
                }
            }
        }
    }

    #[test]
    fn long_lists_are_left_alone() {
        let texts: Vec<String> = (0..DOMAIN_VALUES_MAX + 1).map(|i| i.to_string()).collect();
        assert!(TextDomain::new(texts.iter().map(|text| text.as_bytes())).is_none());
        let domain = TextDomain::of_dictionary(Arc::new(dictionary(&texts, true)));
        assert_eq!(domain.len(), DOMAIN_VALUES_MAX + 1);
    }
}
