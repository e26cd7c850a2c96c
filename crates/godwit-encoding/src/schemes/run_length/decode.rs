//! Expands runs of values to rows.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::Flat;

use super::RunLength;
use super::ends::Ends;
use crate::BLOCK_ROWS;
use crate::flat::make;
use crate::header::corrupt;
use crate::scheme::Body;

/// Values of up to this many runs are taken one by one, which is faster than decoding a block.
const FEW_RUNS: usize = 32;

pub(super) fn decode(runs: &RunLength, body: Body<'_>, rows: Range<usize>) -> Result<Flat> {
    let found = runs_of(runs, body, rows.clone())?;
    godwit_vector::match_flat!(
        &found.values,
        values => Ok(make(body.physical, repeated(values, &found.lengths, rows.len()))),
        _s => unreachable!("strings have no runs"),
        _a => unreachable!("nested values have no segments")
    )
}

/// Repeats each value as often as its length says; `rows` in total.
pub(super) fn repeated<T: Copy>(values: &[T], lengths: &[usize], rows: usize) -> Vec<T> {
    let mut repeated = Vec::with_capacity(rows);
    for (&value, length) in values.iter().zip(lengths) {
        repeated.resize(repeated.len() + length, value);
    }
    repeated
}

/// The runs of some rows.
pub(super) struct Found {
    /// A value per run.
    pub values: Flat,
    /// How many of the rows each run has.
    pub lengths: Vec<usize>,
}

/// The runs that contain some of `rows`, which isn't empty unless the part is.
pub(super) fn runs_of(runs: &RunLength, mut body: Body<'_>, rows: Range<usize>) -> Result<Found> {
    let ends = Ends::read(runs.ends, runs.runs as usize, &mut body.bytes)?;
    let mut lengths: Vec<usize> = Vec::new();
    let mut block = ends.block_of(rows.start)?;
    let mut first_run = None;
    let mut start = rows.start;
    while start < rows.end {
        let block_ends = ends.block(block)?;
        let before = match first_run {
            None => block_ends.partition_point(|&end| end as usize <= start),
            Some(_) => 0,
        };
        first_run.get_or_insert(block * BLOCK_ROWS + before);
        for &end in &block_ends[before..] {
            let end = (end as usize).min(rows.end);
            lengths.push(end.checked_sub(start).ok_or_else(|| corrupt("runs don't ascend"))?);
            start = end;
            if end == rows.end {
                break;
            }
        }
        block += 1;
    }
    let first_run = first_run.unwrap_or(0);
    let values = runs.values_of(body, first_run..first_run + lengths.len())?;
    Ok(Found { values, lengths })
}

impl RunLength {
    /// The rest of the body after the ends, as a body with a value per run.
    pub(super) fn values_body<'a>(&self, rest: Body<'a>) -> Body<'a> {
        Body { rows: self.runs as usize, shared: None, ..rest }
    }

    /// The values of some runs; `rest` is the body after the ends.
    fn values_of(&self, rest: Body<'_>, runs: Range<usize>) -> Result<Flat> {
        let (scheme, body) = (self.values.scheme(), self.values_body(rest));
        if runs.len() <= FEW_RUNS {
            let runs: Vec<u32> = runs.map(|run| run as u32).collect();
            return scheme.take(body, 0, &runs);
        }
        // Blocks are decoded from their start.
        let begin = runs.start / BLOCK_ROWS * BLOCK_ROWS;
        let values = scheme.decode(body, begin..runs.end)?;
        Ok(values.slice(runs.start - begin, runs.len()))
    }
}
