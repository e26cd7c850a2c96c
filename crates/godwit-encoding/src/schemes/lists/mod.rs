//! Lists of numbers: the number of items of each list, and all items, which have a scheme of their own.
//!
//! ```text
//! starts      u32 per block of 1,024 lists and one more: the item at which its lists begin
//! lengths     of the lists, in items: their bits (1), then packed
//! zeros       up to a multiple of 8 bytes
//! validity    of the items, if some of them are NULL and others aren't
//! values      of the items
//! ```
//!
//! Tables keep lists as strings of ordered bytes ([`Lists`]); these strings are decoded where a caller wants them. Scans
//! take lengths and items as they are ([`Scheme::lists`]), so that items are decoded like any column of numbers. A
//! column is read this way only if its type says that its strings are lists of numbers.

mod decode;
mod encode;
mod take;
mod validate;

#[cfg(test)]
mod tests;

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, Lists, PhysicalType};

use crate::column::Column;
use crate::header::TYPES;
use crate::parameters::take;
use crate::registry::Encoding;
use crate::scheme::{Body, Proposal, Scheme, Shape};

#[derive(Debug, Clone, PartialEq)]
pub struct ListItems {
    /// Type of the items.
    item: PhysicalType,
    /// Their number.
    items: u32,
    /// How many of them are NULL.
    nulls: u32,
    values: Box<Encoding>,
}

impl Scheme for ListItems {
    fn propose<'a>(column: &'a Column<'_>) -> Option<Proposal<'a>> {
        encode::propose(column)
    }

    fn read(_form: usize, bytes: &mut &[u8]) -> Result<Self> {
        let [item] = take(bytes)?;
        let item = validate::item_type(item)?;
        let items = u32::from_le_bytes(take(bytes)?);
        let nulls = u32::from_le_bytes(take(bytes)?);
        Ok(Self { item, items, nulls, values: Box::new(Encoding::read_inner(validate::VALUES, bytes)?) })
    }

    fn write(&self, out: &mut Vec<u8>) {
        let item = TYPES.iter().position(|ty| *ty == self.item).expect("items have a fixed width");
        out.push(item as u8);
        out.extend(self.items.to_le_bytes());
        out.extend(self.nulls.to_le_bytes());
        self.values.write(out);
    }

    fn check(&self, shape: Shape) -> Result<()> {
        validate::check(self, shape)
    }

    fn decode(&self, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
        Ok(Flat::Str(decode::decode(self, body, rows)?.to_bytes()))
    }

    fn take(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
        Ok(Flat::Str(take::take(self, body, start, rows)?.to_bytes()))
    }

    fn lists(&self, body: Body<'_>, rows: Range<usize>) -> Result<Option<Lists>> {
        decode::decode(self, body, rows).map(Some)
    }

    fn take_lists(&self, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Option<Lists>> {
        take::take(self, body, start, rows).map(Some)
    }
}
