//! Distances from the least value.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use super::Packed;
use crate::column::Column;
use crate::cost;
use crate::packing::{self, Packing};
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    let numbers = column.numbers()?;
    let packing = Packing::of_range(column.range?)?;
    let write = Box::new(move |body: &mut Vec<u8>| {
        godwit_vector::match_flat!(
            numbers,
            values => packing.write(
                values.len(),
                |row| (values[row] as i128).wrapping_sub(packing.base) as u64,
                body
            ),
            _s => unreachable!("strings have no range"),
            _a => unreachable!("nested values have no range")
        );
        Encoding::Packed(Packed { packing })
    });
    let size = Size::Exact(packing::bytes_for(column.rows(), packing.width));
    Some(Proposal { size, cost: cost::PACKED, write })
}
