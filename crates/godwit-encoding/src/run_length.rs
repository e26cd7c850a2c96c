//! Runs of equal values: the row after each run's last, then a value per run. Both are read in place.

use std::borrow::Cow;
use std::ops::Range;

use godwit_common::Result;
use godwit_vector::{Flat, PhysicalType, match_physical};

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
pub(crate) struct Runs<'a> {
    physical: PhysicalType,
    /// Ascending, unless the body is damaged.
    ends: Cow<'a, [u32]>,
    values: &'a [u8],
}

impl<'a> Runs<'a> {
    pub(crate) fn read(physical: PhysicalType, body: &'a [u8], runs: usize) -> Result<Self> {
        let (ends, values) = body.split_at_checked(runs * 4).ok_or_else(|| corrupt("too few runs"))?;
        // Pages are aligned; other bodies are copied.
        let ends = match bytemuck::try_cast_slice(ends) {
            Ok(ends) => ends.into(),
            Err(_) => bytemuck::pod_collect_to_vec(ends).into(),
        };
        Ok(Self { physical, ends, values })
    }

    /// The values of `rows`.
    pub(crate) fn decode(&self, rows: Range<usize>) -> Result<Flat> {
        let first = self.run_of(rows.start);
        let ends = self.ends[first..].iter().map(|&end| (end as usize).min(rows.end));
        let mut lengths: Vec<usize> = Vec::new();
        let mut start = rows.start;
        for end in ends {
            lengths.push(end.checked_sub(start).ok_or_else(|| corrupt("runs don't ascend"))?);
            start = end;
            if end == rows.end {
                break;
            }
        }
        if start != rows.end {
            return Err(corrupt("runs don't add up"));
        }
        let values = plain::read(self.physical, self.values, first..first + lengths.len())?;
        godwit_vector::match_flat!(
            &values,
            values => {
                let mut repeated = Vec::with_capacity(rows.len());
                for (&value, length) in values.iter().zip(lengths) {
                    repeated.resize(repeated.len() + length, value);
                }
                Ok(plain::make(self.physical, repeated))
            },
            _s => unreachable!("strings have no runs"),
            _a => unreachable!("nested values have no segments")
        )
    }

    /// The values of single rows, which ascend and are relative to `start`.
    pub(crate) fn take(&self, start: usize, rows: &[u32]) -> Result<Flat> {
        Ok(match_physical!(self.physical, T => {
            let values = self.values.as_chunks::<{ size_of::<T>() }>().0;
            let value = |&row: &u32| {
                let value = values.get(self.run_of(start + row as usize));
                Ok(T::from_le_bytes(*value.ok_or_else(|| corrupt("runs don't add up"))?))
            };
            plain::make(self.physical, rows.iter().map(value).collect::<Result<Vec<T>>>()?)
        }))
    }

    fn run_of(&self, row: usize) -> usize {
        self.ends.partition_point(|&end| end as usize <= row)
    }
}
