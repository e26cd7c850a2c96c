//! Filters, decided once per run.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::Flat;
use godwit_vector::kernels::select::retain_true;

use super::RunLength;
use super::decode::{repeated, runs_of};
use crate::scheme::Body;

/// Decides once per run.
pub(super) fn retain(
    runs: &RunLength,
    body: Body<'_>,
    rows: Range<usize>,
    mask: &mut [u64],
    is_wanted: &dyn Fn(&Flat) -> Vec<u8>,
) -> Result<()> {
    let count = rows.len();
    let found = runs_of(runs, body, rows)?;
    retain_true(&repeated(&is_wanted(&found.values), &found.lengths, count), mask);
    Ok(())
}
