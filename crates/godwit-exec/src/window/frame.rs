//! Frames: which rows of its partition a row's result is made of.
//!
//! Bounds never go back from one row to the next, so that each is a cursor that moves forward over the sorted rows.

use godwit_common::Result;

use super::ordered::Ordered;
use super::range::{RangeCursor, RangeKey, RangeOffset};
use super::step::Step;

/// What bounds are counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnits {
    /// Rows.
    Rows,
    /// Groups of rows that are equal in the order.
    Groups,
    /// The value of the order's only key.
    Range,
}

/// One end of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FrameBound {
    /// The first row of the partition.
    UnboundedPreceding,
    /// The row itself, or its peers.
    CurrentRow,
    /// So many rows or groups behind the current one; before it, if negative.
    Shifted(i64),
    /// So much behind the value of the current row in the direction of the order; before it, if negative.
    ShiftedValue(RangeOffset),
    /// The last row of the partition.
    UnboundedFollowing,
}

/// A frame, as the query gives it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// What bounds are counted in.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
}

impl Frame {
    /// All rows of the partition.
    pub const WHOLE: Frame =
        Frame { units: FrameUnits::Rows, start: FrameBound::UnboundedPreceding, end: FrameBound::UnboundedFollowing };

    /// True if the frame begins where its partition begins.
    pub(super) fn only_grows(&self) -> bool {
        self.start == FrameBound::UnboundedPreceding
    }
}

/// The frames of the rows of a step: `begins[i] .. ends[i]` of row i, empty if they are equal.
#[derive(Default)]
pub(super) struct Bounds {
    pub(super) begins: Vec<usize>,
    pub(super) ends: Vec<usize>,
}

/// Computes the frames of one sequence of rows, step by step.
pub(super) struct FrameCursor {
    frame: Frame,
    start: EdgeCursor,
    end: EdgeCursor,
}

/// What a bound remembers from one row to the next.
enum EdgeCursor {
    Stateless,
    /// The beginning of a group of peers: its number in the partition, and its first row.
    Group {
        partition: usize,
        number: u64,
        row: usize,
    },
    Range(RangeCursor),
}

impl FrameCursor {
    /// `key` is needed by bounds that are given by a distance in value.
    pub(super) fn new(frame: Frame, key: Option<&RangeKey>) -> Self {
        let edge = |bound: FrameBound| match (frame.units, bound) {
            (FrameUnits::Groups, FrameBound::Shifted(_)) => {
                EdgeCursor::Group { partition: usize::MAX, number: 0, row: 0 }
            }
            (_, FrameBound::ShiftedValue(offset)) => {
                EdgeCursor::Range(RangeCursor::new(key.expect("a RANGE has a key"), offset))
            }
            _ => EdgeCursor::Stateless,
        };
        Self { frame, start: edge(frame.start), end: edge(frame.end) }
    }

    /// The frames of the rows of a step; replaces the content of `bounds`.
    pub(super) fn advance(&mut self, rows: &Ordered, step: &Step, bounds: &mut Bounds) -> Result<()> {
        self.start.advance(rows, step, &self.frame, self.frame.start, false, &mut bounds.begins)?;
        self.end.advance(rows, step, &self.frame, self.frame.end, true, &mut bounds.ends)?;
        bounds.ends.iter_mut().zip(&bounds.begins).for_each(|(end, &begin)| *end = (*end).max(begin));
        Ok(())
    }
}

impl EdgeCursor {
    /// The first rows of the frames, or (`is_end`) the rows behind their last ones.
    fn advance(
        &mut self,
        rows: &Ordered,
        step: &Step,
        frame: &Frame,
        bound: FrameBound,
        is_end: bool,
        edges: &mut Vec<usize>,
    ) -> Result<()> {
        edges.clear();
        match (bound, self) {
            (FrameBound::UnboundedPreceding, _) => edges.extend_from_slice(&step.partition_begins),
            (FrameBound::UnboundedFollowing, _) => edges.extend_from_slice(&step.partition_ends),
            (FrameBound::CurrentRow, _) if frame.units == FrameUnits::Rows => {
                edges.extend(step.rows().map(|row| row + is_end as usize));
            }
            (FrameBound::CurrentRow, _) => {
                edges.extend_from_slice(if is_end { &step.peer_ends } else { &step.peer_begins });
            }
            (FrameBound::Shifted(offset), EdgeCursor::Group { partition, number, row }) => {
                for i in 0..step.len() {
                    let (begin, end) = (step.partition_begins[i], step.partition_ends[i]);
                    if *partition != begin {
                        (*partition, *number, *row) = (begin, 0, begin);
                    }
                    let wanted = step.groups[i] as i64 + offset.saturating_add(is_end as i64);
                    while (*number as i64) < wanted && *row < end {
                        *row = rows.peers().next(*row + 1).min(end);
                        *number += 1;
                    }
                    edges.push(if wanted <= 0 { begin } else { *row });
                }
            }
            (FrameBound::Shifted(offset), _) => {
                let shift = |row: usize| (row as i64).saturating_add(offset).saturating_add(is_end as i64).max(0);
                edges.extend(
                    step.rows()
                        .enumerate()
                        .map(|(i, row)| (shift(row) as usize).clamp(step.partition_begins[i], step.partition_ends[i])),
                );
            }
            (FrameBound::ShiftedValue(_), EdgeCursor::Range(cursor)) => cursor.advance(rows, step, is_end, edges)?,
            (FrameBound::ShiftedValue(_), _) => unreachable!("a distance in value has a cursor"),
        }
        Ok(())
    }
}
