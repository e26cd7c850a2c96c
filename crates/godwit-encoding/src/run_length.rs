//! Runs of equal values: the row after each run's last, then a value per run.

use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType};

use crate::header::corrupt;
use crate::plain;

/// The rows at which runs end, for values of which `is_same(row)` says whether a row equals the one before.
pub(crate) fn ends(rows: usize, is_same: impl Fn(usize) -> bool) -> Vec<u32> {
    let starts = (1..rows).filter(|&row| !is_same(row)).map(|row| row as u32);
    starts.chain((rows > 0).then_some(rows as u32)).collect()
}

/// Appends runs.
pub(crate) fn write(values: &Flat, ends: &[u32], out: &mut Vec<u8>) {
    ends.iter().for_each(|end| out.extend(end.to_le_bytes()));
    let lasts: Vec<u32> = ends.iter().map(|end| end - 1).collect();
    plain::write(&values.take(&lasts), out);
}

/// Runs that can be read.
pub(crate) struct Runs {
    ends: Vec<u32>,
    values: Flat,
}

impl Runs {
    pub(crate) fn read(physical: PhysicalType, body: &[u8], runs: usize, rows: usize) -> Result<Self> {
        let (ends, values) = body.split_at_checked(runs * 4).ok_or_else(|| corrupt("too few runs"))?;
        let ends: Vec<u32> =
            ends.chunks_exact(4).map(|end| u32::from_le_bytes(end.try_into().expect("four bytes"))).collect();
        if !ends.is_sorted() || ends.last().copied().unwrap_or(0) as usize != rows {
            return Err(corrupt("runs don't add up"));
        }
        Ok(Self { ends, values: plain::read(physical, values, 0..runs)? })
    }

    pub(crate) fn decode(&self, rows: Range<usize>) -> Flat {
        let mut run = self.run_of(rows.start);
        let runs: Vec<u32> = rows
            .map(|row| {
                while self.ends[run] as usize <= row {
                    run += 1;
                }
                run as u32
            })
            .collect();
        self.values.take(&runs)
    }

    pub(crate) fn take(&self, rows: &[u32]) -> Flat {
        let runs: Vec<u32> = rows.iter().map(|&row| self.run_of(row as usize) as u32).collect();
        self.values.take(&runs)
    }

    fn run_of(&self, row: usize) -> usize {
        self.ends.partition_point(|&end| end as usize <= row)
    }
}
