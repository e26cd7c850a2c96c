//! Decides by its first rows which columns of a row group have so few values that a dictionary makes them smaller.
//!
//! The values that the second half of these rows adds to those of the first show the trend: each further section of
//! rows is assumed to add fewer by the same factor. This tells values that recur at random from those that repeat next
//! to each other.

use std::collections::HashSet;

use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{Chunk, PhysicalType};

/// Minimum rows per distinct value for a dictionary. With fewer, it costs about as much as it saves, and leaves less
/// for compression to do.
const ROWS_PER_VALUE_MIN: f64 = 5.0;

/// Counts the distinct values of columns.
pub(super) struct DistinctValues {
    /// Number of rows to count.
    rows_wanted: usize,
    rows: usize,
    /// Number of rows after which `at_half` was taken.
    rows_at_half: usize,
    columns: Vec<Column>,
}

#[derive(Default)]
struct Column {
    hashes: HashSet<u64>,
    at_half: usize,
    /// Nested values have dictionaries for their parts.
    is_nested: bool,
}

impl DistinctValues {
    pub(super) fn new(columns: usize, rows_wanted: usize) -> Self {
        let columns = std::iter::repeat_with(Column::default).take(columns).collect();
        Self { rows_wanted, rows: 0, rows_at_half: 0, columns }
    }

    /// Returns true if enough rows were counted.
    pub(super) fn is_enough(&self) -> bool {
        self.rows >= self.rows_wanted
    }

    pub(super) fn count(&mut self, chunk: &Chunk) {
        let mut hashes = Vec::new();
        for (index, column) in self.columns.iter_mut().enumerate() {
            let vector = chunk.dense(index);
            if vector.physical() == PhysicalType::Nested {
                column.is_nested = true;
                continue;
            }
            hash_vectors(&[vector], chunk.len(), &mut hashes);
            column.hashes.extend(&hashes);
        }
        self.rows += chunk.len();
        if self.rows_at_half == 0 && 2 * self.rows >= self.rows_wanted {
            self.rows_at_half = self.rows;
            self.columns.iter_mut().for_each(|column| column.at_half = column.hashes.len());
        }
    }

    /// Returns, by column, whether a dictionary pays off in a row group of `rows_max` rows, unless fewer arrive.
    pub(super) fn are_few(&self, rows_max: usize) -> Vec<bool> {
        let rows = if self.is_enough() { rows_max } else { self.rows };
        let is_few =
            |column: &Column| column.is_nested || self.estimate(column, rows) * ROWS_PER_VALUE_MIN <= rows as f64;
        self.columns.iter().map(is_few).collect()
    }

    /// Estimates the distinct values of a column in `rows` rows.
    fn estimate(&self, column: &Column, rows: usize) -> f64 {
        let (half, all) = (column.at_half as f64, column.hashes.len() as f64);
        let (rows, rows_at_half) = (rows as f64, self.rows_at_half as f64);
        let rows_behind = self.rows as f64 - rows_at_half;
        if rows <= self.rows as f64 || half == 0.0 || rows_behind == 0.0 {
            return all;
        }
        // New values in a section of rows, as a fraction of those in the section before.
        let factor = (all - half) / half * (rows_at_half / rows_behind);
        let stretches = rows / rows_at_half;
        if factor < 1.0 { half * (1.0 - factor.powf(stretches)) / (1.0 - factor) } else { half * stretches }
    }
}

#[cfg(test)]
mod tests {
    use godwit_vector::Vector;

    use super::*;

    /// Counts a column's values, given by row number, and decides for a row group of this many rows.
    fn is_few(value: impl Fn(i64) -> i64, rows: i64) -> bool {
        let mut distinct = DistinctValues::new(1, 16_384);
        for start in (0..rows).step_by(2048) {
            let values: Vec<i64> = (start..rows.min(start + 2048)).map(&value).collect();
            let rows = values.len();
            distinct.count(&Chunk::new(vec![Vector::from_values(values, None)], rows));
        }
        distinct.are_few(122_880)[0]
    }

    #[test]
    fn few_values_are_told_from_many() {
        let scattered = |row: i64| row.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as i64) >> 20 & 0xff_ffff;
        assert!(is_few(|row| row % 7, 16_384));
        assert!(is_few(|row| scattered(row) % 10_000, 16_384));
        assert!(!is_few(|row| scattered(row) % 200_000, 16_384));
        // Ordered: each value occurs four times, or thirty times, and never again.
        assert!(!is_few(|row| row / 4, 16_384));
        assert!(is_few(|row| row / 30, 16_384));
        // All rows were counted.
        assert!(is_few(|row| row % 200, 1_000));
        assert!(!is_few(|row| row % 201, 1_000));
        assert!(is_few(|row| row, 0));
    }
}
