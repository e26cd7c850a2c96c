//! Runs of strings, shared with the body where it may be.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::StrColumn;

use super::Strings;
use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::lengths::add_ends;
use crate::scheme::Body;

pub(super) fn decode(body: Body<'_>, rows: Range<usize>) -> Result<StrColumn> {
    let strings = Strings::of(body)?;
    if let Some(shared) = body.shared {
        let first = strings.starts.block(rows.start / BLOCK_ROWS)?.start;
        let lengths = strings.lengths.of(rows)?;
        let shared = shared.strings(shared.len() - strings.bytes.len() + first, &lengths);
        return shared.ok_or_else(|| corrupt("strings are longer than its bytes"));
    }
    let mut bytes: Vec<u8> = Vec::new();
    let mut ends: Vec<usize> = Vec::with_capacity(rows.len());
    for begin in rows.clone().step_by(BLOCK_ROWS) {
        let block = strings.bytes.get(strings.starts.block(begin / BLOCK_ROWS)?);
        let start = bytes.len();
        bytes.extend_from_slice(block.ok_or_else(|| corrupt("strings lie outside of it"))?);
        let lengths = strings.lengths.of(begin..rows.end.min(begin + BLOCK_ROWS))?;
        add_ends(&lengths, start, bytes.len(), &mut ends)?;
    }
    Ok(StrColumn::from_parts(bytes, &ends))
}
