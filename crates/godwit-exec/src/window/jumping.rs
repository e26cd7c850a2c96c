//! Aggregates over frames that may begin and end anywhere: cut at the borders of small grains.
//!
//! ```text
//! grains        | . . . | . . . | . . . | . . . | . . . |
//! frame             [───┼───────┼───────┼───────┼──)
//!                   rows      tree of totals      rows
//! ```
//!
//! A frame takes the rows of two grains and some nodes of each level of the tree, whatever its length and wherever the
//! frames before it were. The states of a grain are small against its rows, which may be on disk.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_rows::RowPtr;

use super::config::{BLOCK_ROWS, SCATTERED_GRAINS, SMALL_GRAIN_ROWS};
use super::frame::Bounds;
use super::ordered::Ordered;
use super::plan::FramedSet;
use super::states::Pairs;
use super::totals::Totals;
use crate::CancelToken;
use crate::hash_aggregate::FramedAggregates;

/// A set of aggregates over one sequence of rows.
pub(super) struct Jumping {
    aggregates: Arc<FramedAggregates>,
    inputs: Vec<usize>,
    totals: Totals,
    /// Rows that are to be added to states, one each.
    rows: Vec<usize>,
    states: Vec<RowPtr>,
    pairs: Pairs,
}

impl Jumping {
    pub(super) fn new(set: &FramedSet, memory: &BufferManager, cancel: &CancelToken) -> Self {
        Self {
            aggregates: set.aggregates.clone(),
            inputs: set.inputs.clone(),
            totals: Totals::new(set, SMALL_GRAIN_ROWS, memory, cancel),
            rows: Vec::new(),
            states: Vec::new(),
            pairs: Pairs::default(),
        }
    }

    /// Adds the frames to the states at `results`.
    pub(super) fn add(&mut self, rows: &Ordered, bounds: &Bounds, results: &[RowPtr]) -> Result<()> {
        let last = bounds.ends.iter().max().copied().unwrap_or(0);
        self.totals.complete(rows, last / SMALL_GRAIN_ROWS)?;
        for ((&begin, &end), &result) in bounds.begins.iter().zip(&bounds.ends).zip(results) {
            let grains = begin.div_ceil(SMALL_GRAIN_ROWS)..end / SMALL_GRAIN_ROWS;
            if grains.start >= grains.end {
                self.add_rows(rows, begin..end, result)?;
                continue;
            }
            self.add_rows(rows, begin..grains.start * SMALL_GRAIN_ROWS, result)?;
            self.add_rows(rows, grains.end * SMALL_GRAIN_ROWS..end, result)?;
            self.totals.add(grains, result, &mut self.pairs);
            if self.pairs.len() >= BLOCK_ROWS {
                self.pairs.combine(self.aggregates.layout())?;
            }
        }
        self.flush(rows)?;
        self.pairs.combine(self.aggregates.layout())
    }

    fn add_rows(&mut self, rows: &Ordered, range: Range<usize>, state: RowPtr) -> Result<()> {
        if self.rows.len() + range.len() > SCATTERED_GRAINS * SMALL_GRAIN_ROWS {
            self.flush(rows)?;
        }
        self.states.extend(std::iter::repeat_n(state, range.len()));
        self.rows.extend(range);
        Ok(())
    }

    fn flush(&mut self, rows: &Ordered) -> Result<()> {
        if !self.rows.is_empty() {
            let pinned = rows.pin_each(self.rows.drain(..))?;
            let inputs: Vec<_> = self.inputs.iter().map(|&column| rows.gather(&pinned, column)).collect();
            self.aggregates.update(&self.states, &inputs)?;
            self.states.clear();
        }
        Ok(())
    }
}
