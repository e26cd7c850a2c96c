//! Shared dictionaries of dictionary vectors.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::str_view::StrView;
use crate::vector::Flat;

/// Maximum number of entries that [`Dictionary::bytes`] samples.
const ENTRIES_SAMPLED: usize = 256;

/// The distinct values that the codes of a dictionary vector stand for. Never holds NULL: NULLs are in the vector.
///
/// Vectors with the same dictionary *identity* compare by code. If the dictionary is `ordered`, codes sort as values.
pub struct Dictionary {
    values: Flat,
    id: u64,
    ordered: bool,
}

impl Dictionary {
    /// Creates a dictionary with a new identity.
    pub fn new(values: Flat, ordered: bool) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Self { values, id: NEXT_ID.fetch_add(1, Ordering::Relaxed), ordered }
    }

    /// The values; code `c` stands for value `c`.
    pub fn values(&self) -> &Flat {
        &self.values
    }

    /// Tells the memory trace that the values of these codes were read, one after the other.
    pub fn note_loads(&self, codes: &[u32]) {
        godwit_trace::loads(|loads| {
            let (first, width) = self.values.memory();
            loads.each(codes.len(), |i| first.wrapping_add(codes[i] as usize * width));
        });
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// True if there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Estimates the bytes of the entries; the lengths of strings are sampled.
    pub fn bytes(&self) -> u64 {
        let Flat::Str(strings) = &self.values else {
            return (self.len() * self.values.physical().width_bytes()) as u64;
        };
        let sampled = strings.views().iter().step_by(self.len() / ENTRIES_SAMPLED + 1);
        let (entries, long_bytes) = sampled.fold((0, 0), |(entries, bytes), view| {
            let elsewhere = if view.is_inline() { 0 } else { view.len() };
            (entries + 1, bytes + elsewhere)
        });
        (self.len() * size_of::<StrView>() + self.len() * long_bytes / entries.max(1)) as u64
    }

    /// Unique in the process: caches of per-entry work are keyed by it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// True if values are sorted and distinct, so that codes compare as values.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StrColumn;

    #[test]
    fn bytes_are_those_of_views_and_long_strings() {
        let dictionary = |strings: &[String]| Dictionary::new(Flat::Str(StrColumn::from_strings(strings)), true);
        let strings: Vec<String> = (0..500).map(|i| format!("{i:0>20}")).collect();
        assert_eq!(dictionary(&strings).bytes(), 500 * 36);
        assert_eq!(dictionary(&["short".to_owned()]).bytes(), 16);
        assert_eq!(dictionary(&[]).bytes(), 0);
    }
}
