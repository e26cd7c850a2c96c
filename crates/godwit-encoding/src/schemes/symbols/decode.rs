//! Runs of strings, block by block.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::StrColumn;

use super::Strings;
use crate::BLOCK_ROWS;
use crate::lengths::add_ends;

/// Compressed strings share no state: all of a block are decompressed as one.
pub(super) fn decode(strings: &Strings<'_>, rows: Range<usize>) -> Result<StrColumn> {
    let mut bytes: Vec<u8> = Vec::new();
    let mut ends: Vec<usize> = Vec::with_capacity(rows.len());
    for begin in rows.clone().step_by(BLOCK_ROWS) {
        let start = bytes.len();
        bytes.extend(strings.table.decompressed(strings.block(begin / BLOCK_ROWS)?)?);
        let lengths = strings.lengths.of(begin..rows.end.min(begin + BLOCK_ROWS))?;
        add_ends(&lengths, start, bytes.len(), &mut ends)?;
    }
    Ok(StrColumn::from_parts(bytes, &ends))
}
