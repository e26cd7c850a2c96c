//! Copying values.

use super::Plain;
use crate::column::Column;
use crate::cost;
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    let numbers = column.numbers()?;
    let write = Box::new(move |body: &mut Vec<u8>| {
        godwit_vector::match_flat!(
            numbers,
            values => values.iter().for_each(|value| body.extend(value.to_le_bytes())),
            _s => unreachable!("strings are text"),
            _a => unreachable!("nested values have no segments")
        );
        Encoding::Plain(Plain)
    });
    Some(Proposal { size: Size::Exact(column.plain_bytes()), cost: cost::PLAIN, write })
}
