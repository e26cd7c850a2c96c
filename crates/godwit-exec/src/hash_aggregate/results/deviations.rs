//! The median absolute deviation: the median distance of the values of a group from their median.
//!
//! The order of the values isn't that of the deviations, so the values of a group are kept until the last one has
//! arrived.

use godwit_common::{Error, Result};
use godwit_vector::{Flat, Vector};

use super::{GroupCursor, present};

/// Computes the deviations group by group.
pub(in super::super) struct Deviations<'a> {
    counts: &'a [u64],
    cursor: GroupCursor<'a>,
    /// Values of the current group, sorted.
    values: Vec<f64>,
    results: Vec<f64>,
}

impl<'a> Deviations<'a> {
    pub(super) fn new(counts: &'a [u64]) -> Self {
        Self { counts, cursor: GroupCursor::new(counts), values: Vec::new(), results: vec![0.0; counts.len()] }
    }

    pub(super) fn add(&mut self, column: &Vector) -> Result<()> {
        let Flat::F64(column) = column.to_flat() else {
            return Err(Error::internal("deviations of other than floats"));
        };
        let Self { counts, cursor, values, results } = self;
        cursor.advance(column.len(), |group, _, rows| {
            values.extend_from_slice(&column[rows]);
            if values.len() as u64 == counts[group] {
                results[group] = deviation(values);
                values.clear();
            }
        });
        Ok(())
    }

    pub(super) fn finish(self) -> Result<Vector> {
        Ok(Vector::from_values(self.results, Some(present(self.counts))))
    }
}

/// The median distance of sorted values, at least one, from their median. Overwrites the values with the distances.
fn deviation(values: &mut [f64]) -> f64 {
    let median = middle(values);
    values.iter_mut().for_each(|value| *value = (*value - median).abs());
    values.sort_unstable_by(f64::total_cmp);
    middle(values)
}

/// The middle one of sorted values, or the mean of the middle two.
fn middle(values: &[f64]) -> f64 {
    let (lower, upper) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
    if lower == upper { lower } else { lower + (upper - lower) / 2.0 }
}
