//! Functions that depend on a row's position, and those that take the value of another row.

use std::ops::Range;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_vector::kernels::scatter::Scatter;
use godwit_vector::{Bitmap, PhysicalType, Vector};

use super::call::{WindowCall, WindowFunction};
use super::frame::{Bounds, FrameCursor};
use super::ordered::Ordered;
use super::plan::Plan;
use super::step::Step;
use super::valid_rows::ValidRows;

/// A call over one sequence of rows.
pub(super) struct Positional {
    call: WindowCall,
    arguments: Vec<usize>,
    /// For functions of frames.
    cursor: FrameCursor,
    bounds: Bounds,
    /// For functions that skip NULLs.
    valid_rows: Option<ValidRows>,
}

impl Positional {
    pub(super) fn new(plan: &Plan, call: &(WindowCall, Vec<usize>), memory: &BufferManager) -> Result<Self> {
        let (call, arguments) = call.clone();
        let valid_rows = match call.function {
            WindowFunction::Shift { ignore_nulls: true, .. } | WindowFunction::Nth { ignore_nulls: true, .. } => {
                Some(ValidRows::new(arguments[0], memory)?)
            }
            _ => None,
        };
        let cursor = FrameCursor::new(call.frame, plan);
        Ok(Self { call, arguments, cursor, bounds: Bounds::default(), valid_rows })
    }

    /// The results of a step.
    pub(super) fn compute(&mut self, rows: &Ordered, step: &Step) -> Result<Vector> {
        let numbers = |number: &dyn Fn(usize, usize) -> u64| {
            Ok(self.integers(step.rows().enumerate().map(|(i, row)| number(i, row)).collect()))
        };
        let partition_rows = |i: usize| step.partition_ends[i] - step.partition_begins[i];
        let shares = |share: &dyn Fn(usize) -> f64| {
            Ok(Vector::from_values((0..step.len()).map(share).collect::<Vec<f64>>(), None))
        };
        match self.call.function {
            WindowFunction::RowNumber => numbers(&|i, row| (row - step.partition_begins[i] + 1) as u64),
            WindowFunction::Rank => numbers(&|i, _| (step.peer_begins[i] - step.partition_begins[i] + 1) as u64),
            WindowFunction::DenseRank => numbers(&|i, _| step.groups[i] + 1),
            WindowFunction::Ntile(buckets) => {
                numbers(&|i, row| bucket((row - step.partition_begins[i]) as u64, partition_rows(i) as u64, buckets))
            }
            WindowFunction::PercentRank => shares(&|i| {
                let before = step.peer_begins[i] - step.partition_begins[i];
                if before == 0 { 0.0 } else { before as f64 / (partition_rows(i) - 1) as f64 }
            }),
            WindowFunction::CumeDist => {
                shares(&|i| (step.peer_ends[i] - step.partition_begins[i]) as f64 / partition_rows(i) as f64)
            }
            WindowFunction::Shift { offset, .. } => {
                if let Some(valid_rows) = &mut self.valid_rows {
                    valid_rows.reach(rows, step.partition_ends.last().copied().unwrap_or(0))?;
                }
                let source = |i| shifted(step, i, offset, self.valid_rows.as_ref());
                let sources: Vec<_> = (0..step.len()).map(source).collect();
                self.values_of(rows, step, &sources, self.arguments.get(1))
            }
            WindowFunction::ShiftByColumn { backwards } => {
                let offsets = rows.gather(&rows.pin(step.rows())?, self.arguments[1]);
                let flat = offsets.to_flat();
                let distances = flat.values::<i64>();
                let distance = |i: usize| if backwards { distances[i].checked_neg() } else { Some(distances[i]) };
                let source = |i| offsets.is_valid(i).then(|| distance(i)).flatten();
                let sources: Vec<_> = (0..step.len()).map(|i| shifted(step, i, source(i)?, None)).collect();
                let values = self.values_of(rows, step, &sources, self.arguments.get(2))?;
                let is_valid = |i: usize| offsets.is_valid(i) && values.is_valid(i);
                Ok(Vector::flat(values.to_flat(), Some(Bitmap::from_fn(step.len(), is_valid))))
            }
            WindowFunction::Nth { n, .. } => {
                self.cursor.advance(rows, step, &mut self.bounds)?;
                if let Some(valid_rows) = &mut self.valid_rows {
                    valid_rows.reach(rows, self.bounds.ends.iter().max().copied().unwrap_or(0))?;
                }
                let (parts, bounds) = (self.call.frame.parts(), &self.bounds);
                let source = |i| {
                    let parts = parts.iter().map(|&part| bounds.part(part, step, i));
                    nth(parts, n, self.valid_rows.as_ref())
                };
                let sources: Vec<_> = (0..step.len()).map(source).collect();
                self.values_of(rows, step, &sources, None)
            }
            WindowFunction::Aggregate(_) | WindowFunction::Listed(_) | WindowFunction::Grouped { .. } => {
                unreachable!("aggregates have no position")
            }
        }
    }

    fn integers(&self, numbers: Vec<u64>) -> Vector {
        match self.call.output.physical {
            PhysicalType::U64 => Vector::from_values(numbers, None),
            PhysicalType::I64 => {
                Vector::from_values(numbers.into_iter().map(|number| number as i64).collect::<Vec<i64>>(), None)
            }
            other => panic!("row numbers of type {other:?}"),
        }
    }

    /// The first argument in other rows; where there is no other row, the value of the column `default` in the row
    /// itself.
    fn values_of(
        &self,
        rows: &Ordered,
        step: &Step,
        sources: &[Option<usize>],
        default: Option<&usize>,
    ) -> Result<Vector> {
        // Where there is no other row, any row will do: take the current one.
        let pinned = rows.pin_each(sources.iter().zip(step.rows()).map(|(source, row)| source.unwrap_or(row)))?;
        let values = rows.gather(&pinned, self.arguments[0]);
        if sources.iter().all(Option::is_some) {
            return Ok(values);
        }
        let Some(&default) = default else {
            let is_valid = |i: usize| sources[i].is_some() && values.is_valid(i);
            return Ok(Vector::flat(values.to_flat(), Some(Bitmap::from_fn(step.len(), is_valid))));
        };
        let defaults = rows.gather(&rows.pin(step.rows())?, default);
        let missing: Vec<u32> = (0..step.len() as u32).filter(|&i| sources[i as usize].is_none()).collect();
        let mut scatter = Scatter::new(values.physical(), step.len());
        scatter.put_all(&values);
        scatter.put_aligned(&missing, &defaults);
        Ok(scatter.finish())
    }
}

/// The bucket number of a row among `buckets`, the first of which may have one row more than the others.
fn bucket(row: u64, rows: u64, buckets: u64) -> u64 {
    let (small, large_buckets) = (rows / buckets, rows % buckets);
    let in_large = large_buckets * (small + 1);
    if row < in_large { row / (small + 1) + 1 } else { large_buckets + (row - in_large) / small + 1 }
}

/// The row this far after row i of the step, in the same partition.
fn shifted(step: &Step, i: usize, offset: i64, valid_rows: Option<&ValidRows>) -> Option<usize> {
    let row = step.begin + i;
    let (before, behind) = (step.partition_begins[i]..row, row + 1..step.partition_ends[i]);
    match offset {
        0 => Some(row),
        1.. => nth(std::iter::once(behind), offset, valid_rows),
        _ => nth(std::iter::once(before), offset, valid_rows),
    }
}

/// The n-th of these rows, counting from 1; from their end, if negative. If only rows with a value count, `valid_rows`
/// has reached them.
fn nth(
    mut parts: impl DoubleEndedIterator<Item = Range<usize>>,
    n: i64,
    valid_rows: Option<&ValidRows>,
) -> Option<usize> {
    let mut before = usize::try_from(n.unsigned_abs()).ok()?.checked_sub(1)?;
    loop {
        let part = if n > 0 { parts.next() } else { parts.next_back() }?;
        let count = valid_rows.map_or(part.len(), |valid_rows| valid_rows.count(&part));
        if before < count {
            let before = if n > 0 { before } else { count - 1 - before };
            return Some(valid_rows.map_or(part.start + before, |valid_rows| valid_rows.nth(&part, before)));
        }
        before -= count;
    }
}
