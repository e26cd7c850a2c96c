//! Ranges of values as ranges of multiples.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::ValueRange;

use super::Multiples;
use crate::packing::Packing;
use crate::scheme::Body;

/// Keeps rows by comparing packed multiples, without computing any value.
pub(super) fn retain_range(
    multiples: &Multiples,
    body: Body<'_>,
    rows: Range<usize>,
    wanted: ValueRange,
    mask: &mut [u64],
) -> Result<()> {
    let Multiples { factor, packing } = *multiples;
    let (base, factor) = (packing.base, factor as i128);
    let low = wanted.min.saturating_sub(base).max(0);
    let high = wanted.max.saturating_sub(base);
    // The first multiple that isn't below, and the last one that isn't above.
    let wanted = ValueRange { min: low / factor + i128::from(low % factor != 0), max: high.div_euclid(factor) };
    Packing { base: 0, width: packing.width }.retain_range(body.bytes, rows, wanted, mask)
}
