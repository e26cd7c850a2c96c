//! Lengths, then bytes.

use super::Text;
use crate::column::Column;
use crate::cost;
use crate::lengths;
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    if !column.is_text() {
        return None;
    }
    let rows = column.rows();
    let lengths: Vec<usize> = (0..rows).map(|row| column.string(row).len()).collect();
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let bytes: usize = lengths.iter().sum();
    let frame = lengths::starts_bytes(rows) + lengths::lengths_bytes(rows, longest);
    let write = Box::new(move |body: &mut Vec<u8>| {
        lengths::write_starts(rows, |row| lengths[row], body);
        lengths::write_lengths(rows, |row| lengths[row], body);
        (0..rows).for_each(|row| body.extend_from_slice(column.string(row)));
        Encoding::Text(Text)
    });
    Some(Proposal { size: Size::Exact(frame + bytes), cost: cost::TEXT, write })
}
