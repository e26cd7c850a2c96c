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
    let length = |row: usize| column.string(row).len();
    let (mut bytes, mut longest) = (0, 0);
    for length in (0..rows).map(length) {
        bytes += length;
        longest = longest.max(length);
    }
    let write = Box::new(move |body: &mut Vec<u8>| {
        lengths::write_starts(rows, length, body);
        lengths::write_lengths(rows, length, body);
        (0..rows).for_each(|row| body.extend_from_slice(column.string(row)));
        Encoding::Text(Text)
    });
    let size = lengths::starts_bytes(rows) + lengths::lengths_bytes(rows, longest) + bytes;
    Some(Proposal { size: Size::Exact(size), cost: cost::TEXT, write })
}
