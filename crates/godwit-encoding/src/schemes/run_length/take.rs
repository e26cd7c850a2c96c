//! Single rows by their runs.

use godwit_common::Result;
use godwit_vector::Flat;

use super::RunLength;
use super::ends::Ends;
use crate::BLOCK_ROWS;
use crate::header::corrupt;
use crate::scheme::Body;

/// This many runs are tried one by one before a binary search.
const NEAR_RUNS: usize = 8;

/// Finds the run of each row, and takes the values of these runs.
pub(super) fn take(runs: &RunLength, mut body: Body<'_>, start: usize, rows: &[u32]) -> Result<Flat> {
    let ends = Ends::read(runs.ends, runs.runs as usize, &mut body.bytes)?;
    let mut of_rows: Vec<u32> = Vec::with_capacity(rows.len());
    let mut rest = rows;
    while let [first, ..] = rest {
        let block = ends.block_of(start + *first as usize)?;
        let block_ends = ends.block(block)?;
        let block_end = block_ends.last().copied().unwrap_or(0) as usize;
        let (now, later) = rest.split_at(rest.partition_point(|&row| start + (row as usize) < block_end));
        if now.is_empty() {
            return Err(corrupt("runs don't add up"));
        }
        rest = later;
        let mut run = 0;
        for &row in now {
            let row = start + row as usize;
            run = run_of(&block_ends, run, row).ok_or_else(|| corrupt("runs don't ascend"))?;
            of_rows.push((block * BLOCK_ROWS + run) as u32);
        }
    }
    runs.values.scheme().take(runs.values_body(body), 0, &of_rows)
}

/// The first run at or after `run` that ends after `row`. It is often close by.
fn run_of(ends: &[u32], run: usize, row: usize) -> Option<usize> {
    let rest = &ends[run..];
    let near = rest.iter().take(NEAR_RUNS).position(|&end| end as usize > row);
    let found = run + near.unwrap_or_else(|| rest.partition_point(|&end| end as usize <= row));
    (found < ends.len()).then_some(found)
}
