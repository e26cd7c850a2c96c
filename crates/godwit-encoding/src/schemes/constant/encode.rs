//! Columns of one value.

use super::Constant;
use crate::column::Column;
use crate::cost;
use crate::flat::bits_at;
use crate::registry::Encoding;
use crate::scheme::{Proposal, Size};

pub(super) fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    if column.is_text() {
        return propose_text(column);
    }
    let numbers = column.numbers()?;
    let [_] = column.run_ends[..] else { return None };
    let value = bits_at(numbers, 0);
    let write = Box::new(move |_: &mut Vec<u8>| Encoding::Constant(Constant::Number(value)));
    Some(Proposal { size: Size::Exact(0), cost: cost::CONSTANT, write })
}

fn propose_text<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
    let mut strings = (0..column.rows()).filter(|&row| column.is_valid(row)).map(|row| column.string(row));
    let string = strings.next()?;
    if strings.any(|other| other != string) {
        return None;
    }
    let write = Box::new(move |body: &mut Vec<u8>| {
        body.extend_from_slice(string);
        Encoding::Constant(Constant::Text)
    });
    Some(Proposal { size: Size::Exact(string.len()), cost: cost::CONSTANT, write })
}
