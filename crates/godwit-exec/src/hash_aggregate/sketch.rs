//! Estimates the number of distinct keys of a worker's rows from their hashes.
//!
//! A HyperLogLog of 2^12 registers: each keeps the longest run of zero bits among the hashes that map to it. The
//! standard error is 1.6 %, enough to tell keys that repeat from keys that don't.

use super::config::{REPEATS_MIN, SKETCH_BITS};

/// Registers of a HyperLogLog, and the number of hashes added.
pub(super) struct DistinctSketch {
    registers: Vec<u8>,
    rows: u64,
}

impl DistinctSketch {
    pub(super) fn new() -> Self {
        Self { registers: vec![0; 1 << SKETCH_BITS], rows: 0 }
    }

    pub(super) fn add(&mut self, hashes: &[u64]) {
        let registers = &mut self.registers[..1 << SKETCH_BITS];
        for &hash in hashes {
            let register = &mut registers[hash as usize & ((1 << SKETCH_BITS) - 1)];
            let rank = (hash >> SKETCH_BITS).trailing_zeros() as u8 + 1;
            *register = (*register).max(rank);
        }
        self.rows += hashes.len() as u64;
    }

    /// Number of distinct hashes among those added.
    fn distinct(&self) -> f64 {
        let registers = self.registers.len() as f64;
        let sum: f64 = self.registers.iter().map(|&rank| 0.5f64.powi(rank as i32)).sum();
        let estimate = 0.7213 / (1.0 + 1.079 / registers) * registers * registers / sum;
        let empty = self.registers.iter().filter(|&&rank| rank == 0).count() as f64;
        if estimate <= 2.5 * registers && empty > 0.0 { registers * (registers / empty).ln() } else { estimate }
    }

    /// The number of keys that rows like these are drawn from, if enough of them repeat to tell. Of `k` keys drawn `n`
    /// times at random, `k · (1 - e^(-n/k))` appear.
    pub(super) fn expected_keys(&self) -> Option<f64> {
        let rows = self.rows as f64;
        let share = self.distinct() / rows.max(1.0);
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
