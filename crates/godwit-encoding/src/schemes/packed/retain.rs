//! Codes, compared as distances.

use std::ops::Range;

use godwit_common::Result;

use crate::packing::Packing;
use crate::part::CodeFilter;
use crate::scheme::Body;

pub(super) fn retain_codes(
    packing: &Packing,
    body: Body<'_>,
    rows: Range<usize>,
    wanted: &CodeFilter,
    mask: &mut [u64],
) -> Result<()> {
    let bits = wanted.words();
    let base = packing.base as u64;
    let is_wanted = |distance: u64| {
        let code = base.wrapping_add(distance);
        bits.get((code / 64) as usize).is_some_and(|bits| bits >> (code % 64) & 1 == 1)
    };
    packing.retain_distances(body.bytes, rows, is_wanted, mask)
}
