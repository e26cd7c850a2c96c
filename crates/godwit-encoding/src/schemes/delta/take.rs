//! Single rows: running sums up to the last one requested in each block.
#![allow(clippy::unnecessary_cast, reason = "loops are compiled for every integer type")]

use godwit_common::Result;
use godwit_vector::{Flat, match_integer_type};

use super::Block;
use crate::BLOCK_ROWS;
use crate::flat::make;
use crate::scheme::Body;

/// Sums up each block that has one of the rows, up to the last of these, unless all of its differences are equal.
pub(super) fn take(body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
    let mut block: Vec<i64> = Vec::with_capacity(BLOCK_ROWS);
    let mut values: Vec<i64> = Vec::with_capacity(rows.len());
    let mut rest = rows;
    while let [first, ..] = rest {
        let number = (start + *first as usize) / BLOCK_ROWS;
        let begin = number * BLOCK_ROWS;
        let end = begin + BLOCK_ROWS;
        let (now, later) = rest.split_at(rest.partition_point(|&row| start + (row as usize) < end));
        rest = later;
        let block_of_rows = Block::of(body, number)?;
        if let Some(value) = block_of_rows.even_step() {
            values.extend(now.iter().map(|&row| value(start + row as usize - begin)));
            continue;
        }
        let last = start + now[now.len() - 1] as usize;
        block.clear();
        block_of_rows.append(body, last - begin + 1, &mut block, |value| value)?;
        values.extend(now.iter().map(|&row| block[start + row as usize - begin]));
    }
    Ok(match_integer_type!(body.physical, T => make(body.physical, values.iter().map(|&value| value as T).collect())))
}
