//! Estimates the number of distinct keys of a worker's rows from their hashes, well enough to tell keys that repeat from
//! keys that don't.

use godwit_rows::aggregate_state::distinct::{Registers, SKETCH_BYTES, add_hash, estimate};

use super::config::REPEATS_MIN;

/// A sketch of the hashes, and their number.
pub(super) struct DistinctSketch {
    registers: Box<Registers>,
    rows: u64,
}

impl DistinctSketch {
    pub(super) fn new() -> Self {
        Self { registers: Box::new([0; SKETCH_BYTES]), rows: 0 }
    }

    pub(super) fn add(&mut self, hashes: &[u64]) {
        hashes.iter().for_each(|&hash| add_hash(&mut self.registers, hash));
        self.rows += hashes.len() as u64;
    }

    /// The number of keys that rows like these are drawn from, if enough of them repeat to tell. Of `k` keys drawn `n`
    /// times at random, `k · (1 - e^(-n/k))` appear.
    pub(super) fn expected_keys(&self) -> Option<f64> {
        let rows = self.rows as f64;
        let share = estimate(&self.registers) / rows.max(1.0);
        if share > 1.0 - REPEATS_MIN {
            return None;
        }
        // The draws per key, by bisection: the more there are, the lower the share of distinct rows.
        let (mut low, mut high) = (0.0f64, 1.0 / share);
        for _ in 0..40 {
            let draws = (low + high) / 2.0;
            if (1.0 - (-draws).exp()) / draws > share { low = draws } else { high = draws }
        }
        Some(rows / high)
    }
}

#[cfg(test)]
mod tests {
    use godwit_vector::Vector;
    use godwit_vector::kernels::hash::hash_vectors;

    use super::*;

    fn expected(rows: i64, key: impl Fn(i64) -> i64) -> Option<f64> {
        let mut sketch = DistinctSketch::new();
        let mut hashes = Vec::new();
        hash_vectors(
            &[Vector::from_values((0..rows).map(key).collect::<Vec<i64>>(), None)],
            rows as usize,
            &mut hashes,
        );
        sketch.add(&hashes);
        sketch.expected_keys()
    }

    #[test]
    fn keys_are_counted_by_their_repetition() {
        assert_eq!(expected(300_000, |row| row), None);
        // Random draws from 200,000 keys.
        let random = |row: i64| (row.wrapping_mul(0x9e37_79b9_7f4a_7c15u64 as i64) as u64 >> 20) as i64;
        let mixed = |row: i64| (random(random(row) ^ row) % 200_000).abs();
        let keys = expected(150_000, mixed).unwrap();
        assert!((150_000.0..260_000.0).contains(&keys), "{keys}");
    }
}
