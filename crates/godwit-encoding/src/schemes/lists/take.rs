//! Single lists. Items of lists that are close to each other are decoded together.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Bitmap, Lists, Vector, match_flat, match_physical};

use super::ListItems;
use super::decode::Stored;
use crate::BLOCK_ROWS;
use crate::flat::make;
use crate::header::corrupt;
use crate::lengths::Places;
use crate::scheme::Body;

pub(super) fn take(lists: &ListItems, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Lists> {
    let stored = Stored::of(lists, body)?;
    let ranges = item_ranges(&stored, body.rows, start, rows)?;
    let total = ranges.iter().map(Range::len).sum();
    let mut validity = (lists.nulls > 0).then(|| Bitmap::filled(total, true));
    let flat = match_physical!(lists.item, T => {
        let mut values: Vec<T> = Vec::with_capacity(total);
        for near in ranges.chunk_by(|a, b| b.start <= a.end + BLOCK_ROWS) {
            let span = near[0].start..near[near.len() - 1].end;
            let (flat, valid) = stored.items(span.clone())?;
            let found: &[T] = match_flat!(
                &flat,
                found => bytemuck::cast_slice(found),
                _s => unreachable!("items have a fixed width"),
                _a => unreachable!("items have a fixed width")
            );
            for range in near {
                if let (Some(of_all), Some(valid)) = (&mut validity, &valid) {
                    let nulls = range.clone().filter(|item| !valid.get(item - span.start));
                    nulls.for_each(|item| of_all.set(values.len() + item - range.start, false));
                }
                values.extend_from_slice(&found[range.start - span.start..range.end - span.start]);
            }
        }
        make(lists.item, values)
    });
    let lengths = ranges.iter().map(|range| range.len() as u32).collect();
    Ok(Lists { lengths, items: Vector::flat(flat, validity), validity: None })
}

/// The items of each of the rows, in ascending order; those of a row that is taken twice come twice.
fn item_ranges(stored: &Stored<'_>, part_rows: usize, start: usize, rows: &[u32]) -> Result<Vec<Range<usize>>> {
    let mut places = Places::new(stored.starts, stored.lengths, part_rows);
    let mut ranges: Vec<Range<usize>> = Vec::with_capacity(rows.len());
    for &row in rows {
        let range = places.of(start + row as usize)?;
        let ascends = ranges.last().is_none_or(|last| range.start >= last.end || range == *last);
        if !ascends || range.end > stored.items_len() {
            return Err(corrupt("lists don't ascend, or are longer than their items"));
        }
        ranges.push(range);
    }
    Ok(ranges)
}
