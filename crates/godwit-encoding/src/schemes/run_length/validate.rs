//! Ends that fit, and values that aren't runs.

use godwit_common::Result;
use godwit_vector::PhysicalType;

use super::RunLength;
use crate::header::corrupt;
use crate::scheme::Shape;

/// The schemes that values of runs may have: those without runs of their own.
pub(super) const VALUES: &[&str] = &["packed", "multiples", "decimals", "plain"];

pub(super) fn check(runs: &RunLength, shape: Shape) -> Result<()> {
    let count = runs.runs as usize;
    let ends = runs.ends.bytes(count);
    if shape.physical == PhysicalType::Str || count > shape.rows || shape.bytes < ends {
        return Err(corrupt("runs contradict their header"));
    }
    runs.values.scheme().check(Shape { rows: count, bytes: shape.bytes - ends, ..shape })
}
