//! Range filters, checked against the directory's entries of blocks: in an ascending column, most blocks are decided
//! without reading a row.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{PhysicalType, ValueRange};

use super::Block;
use crate::BLOCK_ROWS;
use crate::scheme::{Body, contains};

/// Clears the bits of blocks that have no wanted value; calls `decide` with the others, whose rows have to be checked.
pub(super) fn retain_range(
    body: Body<'_>,
    rows: Range<usize>,
    wanted: ValueRange,
    mask: &mut [u64],
    mut decide: impl FnMut(Range<usize>, &mut [u64]) -> Result<()>,
) -> Result<()> {
    for (begin, mask) in rows.clone().step_by(BLOCK_ROWS).zip(mask.chunks_mut(BLOCK_ROWS / 64)) {
        let rows = begin..rows.end.min(begin + BLOCK_ROWS);
        match Block::of(body, begin / BLOCK_ROWS)?.bounds(body.physical, rows.len()) {
            Some(bounds) if wanted.max < bounds.min || bounds.max < wanted.min => mask.fill(0),
            Some(bounds) if contains(wanted, bounds.min) && contains(wanted, bounds.max) => {}
            Some(_) | None => decide(rows, mask)?,
        }
    }
    Ok(())
}

impl Block {
    /// Bounds of its first `rows` values; `None` if sums may have wrapped around.
    fn bounds(&self, physical: PhysicalType, rows: usize) -> Option<ValueRange> {
        let (first, least) = (i128::from(self.first), i128::from(self.least));
        let greatest = least + i128::from(u64::MAX.checked_shr(u32::from(64 - self.width)).unwrap_or(0));
        let steps = rows as i128 - 1;
        let bounds = ValueRange { min: first + steps * least.min(0), max: first + steps * greatest.max(0) };
        let limits = ValueRange::of_type(PhysicalType::I64)?;
        let is_exact = physical != PhysicalType::U64 && contains(limits, bounds.min) && contains(limits, bounds.max);
        is_exact.then_some(bounds)
    }

    /// The value of a row, if all differences are the same.
    pub(super) fn even_step(&self) -> Option<impl Fn(usize) -> i64 + use<>> {
        let (first, step) = (self.first, self.least);
        (self.width == 0).then_some(move |row: usize| first.wrapping_add(step.wrapping_mul(row as i64)))
    }
}
