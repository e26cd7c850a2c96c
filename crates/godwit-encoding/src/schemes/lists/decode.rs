//! Runs of lists, whose items are a run of items.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Bitmap, Flat, Lists, Vector};

use super::ListItems;
use super::encode::has_bitmap;
use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::lengths::{Lengths, Starts};
use crate::parameters::split;
use crate::scheme::{Body, Shape};
use crate::validity;

pub(super) fn decode(lists: &ListItems, body: Body<'_>, rows: Range<usize>) -> Result<Lists> {
    let stored = Stored::of(lists, body)?;
    let first = stored.starts.block(rows.start / BLOCK_ROWS)?.start;
    let lengths = stored.lengths.of(rows)?;
    let count: usize = lengths.iter().map(|&length| length as usize).sum();
    let (flat, validity) = stored.items(first..first + count)?;
    Ok(Lists { lengths, items: Vector::flat(flat, validity), validity: None })
}

/// Lists as a body holds them.
pub(super) struct Stored<'a> {
    pub starts: Starts<'a>,
    pub lengths: Lengths<'a>,
    lists: &'a ListItems,
    bitmap: &'a [u8],
    values: Body<'a>,
}

impl<'a> Stored<'a> {
    pub(super) fn of(lists: &'a ListItems, body: Body<'a>) -> Result<Self> {
        let mut bytes = body.bytes;
        let starts = Starts::read(&mut bytes, body.rows)?;
        let lengths = Lengths::read(&mut bytes, body.rows)?;
        let frame = body.bytes.len() - bytes.len();
        split(&mut bytes, frame.next_multiple_of(8) - frame)?;
        let items = lists.items as usize;
        let bitmap = match has_bitmap(items, lists.nulls as usize) {
            true => split(&mut bytes, validity::bytes_for(items))?,
            false => &[],
        };
        lists.values.scheme().check(Shape { physical: lists.item, rows: items, bytes: bytes.len() })?;
        let values = Body { physical: lists.item, rows: items, bytes, shared: None };
        Ok(Self { starts, lengths, lists, bitmap, values })
    }

    /// Number of items.
    pub(super) fn items_len(&self) -> usize {
        self.values.rows
    }

    /// The items in a range, and which of them are not NULL.
    pub(super) fn items(&self, items: Range<usize>) -> Result<(Flat, Option<Bitmap>)> {
        if items.end > self.items_len() || items.start > items.end {
            return Err(corrupt("lists are longer than their items"));
        }
        if items.is_empty() {
            return Ok((Flat::zeros(self.lists.item, 0), None));
        }
        // Blocks are decoded from their start.
        let begin = items.start / BLOCK_ROWS * BLOCK_ROWS;
        let flat = self.lists.values.scheme().decode(self.values, begin..items.end)?;
        let validity = match self.bitmap {
            _ if self.lists.nulls == 0 => None,
            [] => Some(Bitmap::filled(items.len(), false)),
            bitmap => Some(Bitmap::from_fn(items.len(), |item| {
                let item = items.start + item;
                bitmap[item / 8] >> (item % 8) & 1 == 1
            })),
        };
        Ok((flat.slice(items.start - begin, items.len()), validity))
    }
}
