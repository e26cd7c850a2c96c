//! Single lists. Items of lists that are close to each other are decoded together.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Bitmap, Lists, Vector, match_flat, match_physical};

use super::ListItems;
use super::decode::Stored;
use crate::BLOCK_ROWS;
use crate::flat::make;
use crate::scheme::Body;

pub(super) fn take(lists: &ListItems, body: Body<'_>, start: usize, rows: &[u32]) -> Result<Lists> {
    let stored = Stored::of(lists, body)?;
    let ranges = item_ranges(&stored, body.rows, start, rows)?;
    let total = ranges.iter().map(Range::len).sum();
    let mut validity = (lists.nulls > 0).then(|| Bitmap::filled(total, true));
    let flat = match_physical!(lists.item, T => {
        let mut values: Vec<T> = Vec::with_capacity(total);
        for near in ranges.chunk_by(|a, b| b.end >= a.start && b.start <= a.end + BLOCK_ROWS) {
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

/// The items of each of the rows.
fn item_ranges(stored: &Stored<'_>, part_rows: usize, start: usize, rows: &[u32]) -> Result<Vec<Range<usize>>> {
    let mut block = usize::MAX;
    // Where each list of the block ends.
    let mut ends: Vec<usize> = Vec::new();
    let mut first = 0;
    let mut ranges = Vec::with_capacity(rows.len());
    for &row in rows {
        let row = start + row as usize;
        if row / BLOCK_ROWS != block {
            block = row / BLOCK_ROWS;
            first = stored.starts.block(block)?.start;
            let begin = block * BLOCK_ROWS;
            let lengths = stored.lengths.of(begin..part_rows.min(begin + BLOCK_ROWS))?;
            ends.clear();
            ends.extend(lengths.iter().scan(first, |end, &length| {
                *end += length as usize;
                Some(*end)
            }));
        }
        let row = row % BLOCK_ROWS;
        ranges.push(if row == 0 { first } else { ends[row - 1] }..ends[row]);
    }
    Ok(ranges)
}
