//! Runs of strings, block by block.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::StrColumn;

use super::Strings;
use crate::BLOCK_ROWS;
use crate::lengths::add_ends;

/// Compressed strings share no state: all of a block are decompressed as one.
pub(super) fn decode(strings: &Strings<'_>, rows: Range<usize>) -> Result<StrColumn> {
    let lengths = strings.lengths.of(rows.clone())?;
    let mut bytes: Vec<u8> = Vec::with_capacity(strings.bytes_of(&lengths));
    let mut ends: Vec<usize> = Vec::with_capacity(rows.len());
    for (block, lengths) in (rows.start / BLOCK_ROWS..).zip(lengths.chunks(BLOCK_ROWS)) {
        let start = bytes.len();
        strings.table.decompress(strings.block(block)?, &mut bytes)?;
        add_ends(lengths, start, bytes.len(), &mut ends)?;
    }
    Ok(StrColumn::from_parts(bytes, &ends))
}
