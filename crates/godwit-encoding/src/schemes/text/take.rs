//! Single strings by the lengths before them in their block.

use godwit_common::Result;
use godwit_vector::{StrBuilder, StrColumn};

use super::Strings;
use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::scheme::Body;

pub(super) fn take(body: Body<'_>, start: usize, rows: &[u32]) -> Result<StrColumn> {
    let strings = Strings::of(body)?;
    let mut block = usize::MAX;
    let mut block_bytes: &[u8] = &[];
    // Where each string of the block ends.
    let mut ends: Vec<u32> = Vec::new();
    let mut taken = StrBuilder::with_capacity(rows.len());
    for &row in rows {
        let row = start + row as usize;
        if row / BLOCK_ROWS != block {
            block = row / BLOCK_ROWS;
            let bytes = strings.bytes.get(strings.starts.block(block)?);
            block_bytes = bytes.ok_or_else(|| corrupt("strings lie outside of it"))?;
            let begin = block * BLOCK_ROWS;
            ends = strings.lengths.of(begin..body.rows.min(begin + BLOCK_ROWS))?;
            ends.iter_mut().fold(0u32, |sum, length| {
                *length = sum.saturating_add(*length);
                *length
            });
        }
        let row = row % BLOCK_ROWS;
        let begin = if row == 0 { 0 } else { ends[row - 1] };
        let string = block_bytes.get(begin as usize..ends[row] as usize);
        taken.push(string.ok_or_else(|| corrupt("a string lies outside of it"))?);
    }
    Ok(taken.finish())
}
