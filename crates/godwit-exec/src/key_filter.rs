//! Filters made of the keys of a join's build side, applied by the probe-side scan.

use godwit_vector::{ValueRange, Vector};

/// What is known of the keys on the build side: rows whose key it excludes have no match.
pub struct KeyFilter {
    range: Option<ValueRange>,
}

impl KeyFilter {
    /// Smallest and largest key, if keys are integers, decimals, dates or times. Prunes row groups and pages.
    pub fn range(&self) -> Option<ValueRange> {
        self.range
    }

    /// Keeps those of `rows` (positions in the dense vector `keys`) whose key may have a match; NULL never has.
    pub fn retain(&self, keys: &Vector, rows: &mut Vec<u32>) {
        rows.retain(|&row| keys.is_valid(row as usize));
    }
}
