//! Shared dictionaries of dictionary vectors.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::vector::Flat;

/// The distinct values that the codes of a dictionary vector stand for. Never holds NULL: NULL is in the vector.
///
/// Vectors with the same dictionary *identity* compare by code. If the dictionary is `ordered`, codes sort as values.
pub struct Dictionary {
    values: Flat,
    id: u64,
    ordered: bool,
}

impl Dictionary {
    /// A dictionary with a new identity.
    pub fn new(values: Flat, ordered: bool) -> Self {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        Self { values, id: NEXT_ID.fetch_add(1, Ordering::Relaxed), ordered }
    }

    /// The values; code `c` stands for row `c`.
    pub fn values(&self) -> &Flat {
        &self.values
    }

    /// Tells a memory trace that the values of these codes were read, one after the other.
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

    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Unique in the process: caches of work done per entry are keyed by it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// True if values are sorted and distinct, so that codes compare as values.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }
}
