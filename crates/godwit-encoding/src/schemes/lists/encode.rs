//! Lengths of lists, then items in the best scheme of their own.

use godwit_vector::{Lists, Vector};

use super::ListItems;
use super::validate::VALUES;
use crate::ROW_GROUP_ROWS;
use crate::choose::smallest;
use crate::column::{Column, Learned};
use crate::lengths;
use crate::parameters::pad;
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};
use crate::validity;

/// Items that are encoded together at most: eight for each row of a full part. It bounds what their vector takes while
/// it is made, 16 MiB for 64-bit numbers, as nothing is reserved for it. Rows with more are strings until the part is
/// cut to its usual size, far below this.
const ITEMS_ENCODED_MAX: usize = 8 * ROW_GROUP_ROWS;

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    let item = column.learned.list_items.filter(|_| column.is_text())?;
    let rows = column.rows();
    let strings = (0..rows).map(|row| column.is_valid(row).then(|| column.string(row)));
    let Lists { lengths, items, .. } = Lists::from_bytes(strings, item, ITEMS_ENCODED_MAX)?;
    let longest = lengths.iter().copied().max().unwrap_or(0) as usize;
    let frame = lengths::starts_bytes(rows) + lengths::lengths_bytes(rows, longest);
    let nulls = (0..items.len()).filter(|&item| !items.is_valid(item)).count();
    let bitmap = if has_bitmap(items.len(), nulls) { validity::bytes_for(items.len()) } else { 0 };
    let (values, cost) = with_values(&items, |proposal| (proposal.size.bytes(), proposal.cost));
    let write = Box::new(move |body: &mut Vec<u8>| {
        let begin = body.len();
        lengths::write_starts(rows, |row| lengths[row] as usize, body);
        lengths::write_lengths(rows, |row| lengths[row] as usize, body);
        pad(begin, body);
        if has_bitmap(items.len(), nulls) {
            validity::write(items.validity().expect("there are NULLs"), body);
        }
        let values = Box::new(with_values(&items, |proposal| (proposal.write)(body)));
        Encoding::ListItems(ListItems { item, items: items.len() as u32, nulls: nulls as u32, values })
    });
    Some(Proposal { size: Size::Exact(frame.next_multiple_of(8) + bitmap + values), cost, write })
}

/// True if the items have a validity bitmap.
pub(super) fn has_bitmap(items: usize, nulls: usize) -> bool {
    nulls > 0 && nulls < items
}

/// Calls `then` with the best scheme for items.
fn with_values<R>(items: &Vector, then: impl FnOnce(Proposal<'_>) -> R) -> R {
    let nothing = Learned::default();
    let column = Column::new(items, &nothing);
    then(smallest(&column, |name| VALUES.contains(&name)).expect("numbers are stored as they are, if not shorter"))
}
