//! Frames: the rows of its partition that a row's result is computed from.
//!
//! Bounds at a distance that is the same for all rows never move back from one row to the next, so each is a cursor
//! that moves forward over the sorted rows. Bounds at a distance that depends on the row may be anywhere (varying.rs).
//!
//! An exclusion leaves up to three ranges of rows of a frame, its [`Part`]s. If frames never move back, neither do
//! their parts: each part is computed like a frame of its own.

use std::ops::Range;

use godwit_common::Result;
pub use godwit_plan::FrameExclusion;

use super::ordered::Ordered;
use super::plan::Plan;
use super::range::{RangeCursor, RangeOffset};
use super::step::Step;
use super::varying::VaryingEdge;

/// The unit of bounds.
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
    /// This many rows or groups after the current one; before it, if negative.
    Shifted(i64),
    /// This far after the value of the current row in the direction of the order; before it, if negative.
    ShiftedValue(RangeOffset),
    /// At a distance given by the row.
    Varying {
        /// Index of the operator's distance.
        distance: usize,
        /// After the current row, not before it.
        is_following: bool,
    },
    /// The last row of the partition.
    UnboundedFollowing,
}

/// A frame, as specified in the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    /// The unit of bounds.
    pub units: FrameUnits,
    /// The first row.
    pub start: FrameBound,
    /// The last row.
    pub end: FrameBound,
    /// The rows to leave out.
    pub exclude: FrameExclusion,
}

impl Frame {
    /// All rows of the partition.
    pub const WHOLE: Frame = Frame {
        units: FrameUnits::Rows,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::UnboundedFollowing,
        exclude: FrameExclusion::NoOthers,
    };

    /// True if the frame of a row may begin or end before that of an earlier row.
    pub(super) fn jumps(&self) -> bool {
        [self.start, self.end].iter().any(|bound| matches!(bound, FrameBound::Varying { .. }))
    }

    /// True if no row that has entered the frame leaves it before the partition's end.
    pub(super) fn only_grows(&self) -> bool {
        self.begins_with_partition() && self.parts().len() == 1 && !self.jumps()
    }

    /// True if the frame begins where its partition begins.
    pub(super) fn begins_with_partition(&self) -> bool {
        self.start == FrameBound::UnboundedPreceding
    }

    /// True if a bound is measured in the value of the order's key.
    pub(super) fn measures_values(&self) -> bool {
        let is_distance = |bound| matches!(bound, FrameBound::ShiftedValue(_) | FrameBound::Varying { .. });
        self.units == FrameUnits::Range && (is_distance(self.start) || is_distance(self.end))
    }

    /// The parts that the exclusion leaves, in the order of rows.
    pub(super) fn parts(&self) -> &'static [Part] {
        match self.exclude {
            FrameExclusion::NoOthers => &[Part::All],
            FrameExclusion::CurrentRow => &[Part::BeforeRow, Part::AfterRow],
            FrameExclusion::Group => &[Part::BeforePeers, Part::AfterPeers],
            FrameExclusion::Ties => &[Part::BeforePeers, Part::Row, Part::AfterPeers],
        }
    }
}

/// Rows of a frame that lie side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    All,
    BeforeRow,
    AfterRow,
    BeforePeers,
    AfterPeers,
    /// The current row.
    Row,
}

/// The frames of the rows of a step: `begins[i] .. ends[i]` of row i, empty if they are equal.
#[derive(Default)]
pub(super) struct Bounds {
    pub(super) begins: Vec<usize>,
    pub(super) ends: Vec<usize>,
}

impl Bounds {
    /// The part of the i-th frame.
    pub(super) fn part(&self, part: Part, step: &Step, i: usize) -> Range<usize> {
        let (begin, end, row) = (self.begins[i], self.ends[i], step.begin + i);
        let (begin, end) = match part {
            Part::All => (begin, end),
            Part::BeforeRow => (begin, end.min(row)),
            Part::AfterRow => (begin.max(row + 1), end),
            Part::BeforePeers => (begin, end.min(step.peer_begins[i])),
            Part::AfterPeers => (begin.max(step.peer_ends[i]), end),
            Part::Row => (begin.max(row), end.min(row + 1)),
        };
        begin..end.max(begin)
    }

    /// The parts of all frames.
    pub(super) fn parts(&self, part: Part, step: &Step) -> Bounds {
        let (begins, ends) =
            (0..step.len()).map(|i| self.part(part, step, i)).map(|part| (part.start, part.end)).unzip();
        Bounds { begins, ends }
    }
}

/// Computes the frames of one sequence of rows, step by step.
pub(super) struct FrameCursor {
    frame: Frame,
    start: EdgeCursor,
    end: EdgeCursor,
}

/// The state of a bound from one row to the next.
enum EdgeCursor {
    Stateless,
    Range(RangeCursor),
    Varying(VaryingEdge),
}

impl FrameCursor {
    pub(super) fn new(frame: Frame, plan: &Plan) -> Self {
        let key = || plan.range_key.as_ref().expect("a RANGE with distances has a key");
        let edge = |bound: FrameBound| match bound {
            FrameBound::ShiftedValue(offset) => EdgeCursor::Range(RangeCursor::new(key(), offset)),
            FrameBound::Varying { distance, is_following } => {
                let key = (frame.units == FrameUnits::Range).then(|| key().clone());
                EdgeCursor::Varying(VaryingEdge::new(plan.distances[distance].clone(), is_following, frame.units, key))
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
    /// The first rows of the frames, or (`is_end`) the rows after their last ones.
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
            (FrameBound::Shifted(offset), _) => match frame.units {
                FrameUnits::Groups => edges.extend((0..step.len()).map(|i| step.group_edge(rows, i, offset, is_end))),
                _ => edges.extend((0..step.len()).map(|i| step.row_edge(i, offset, is_end))),
            },
            (FrameBound::ShiftedValue(_), EdgeCursor::Range(cursor)) => cursor.advance(rows, step, is_end, edges)?,
            (FrameBound::Varying { .. }, EdgeCursor::Varying(edge)) => edge.advance(rows, step, is_end, edges)?,
            (FrameBound::ShiftedValue(_) | FrameBound::Varying { .. }, _) => unreachable!("these bounds have a cursor"),
        }
        Ok(())
    }
}
