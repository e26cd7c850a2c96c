//! Aggregates over frames that may begin and end anywhere: frames are cut at the boundaries of small grains.
//!
//! ```text
//! grains        | . . . | . . . | . . . | . . . | . . . |
//! frame             [───┼───────┼───────┼───────┼──)
//!                   rows      tree of totals      rows
//! ```
//!
//! A frame reads rows of at most two grains and a few nodes of each level of the tree, whatever its length and wherever
//! the previous frames were. The states of a grain are small compared with its rows, which may be on disk.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::CancelToken;
use godwit_rows::{RowList, RowOwner, Rows};

use super::config::{BLOCK_ROWS, SCATTERED_GRAINS, SMALL_GRAIN_ROWS};
use super::frame::Bounds;
use super::ordered::Ordered;
use super::plan::FramedSet;
use super::states::{Pairs, State};
use super::totals::Totals;
use crate::hash_aggregate::FramedAggregates;

/// A set of aggregates over one sequence of rows.
pub(super) struct Jumping {
    aggregates: Arc<FramedAggregates>,
    inputs: Vec<usize>,
    totals: Totals,
    /// Rows to be added to states, one to each.
    rows: Vec<usize>,
    states: RowList,
    pairs: Pairs,
}

impl Jumping {
    pub(super) fn new(set: &FramedSet, memory: &BufferManager, cancel: &CancelToken) -> Self {
        Self {
            aggregates: set.aggregates.clone(),
            inputs: set.inputs.clone(),
            totals: Totals::new(set, SMALL_GRAIN_ROWS, memory, cancel),
            rows: Vec::new(),
            states: set.aggregates.layout().new_list(),
            pairs: Pairs::new(set.aggregates.layout()),
        }
    }

    /// Adds the frames to the states at `results`.
    pub(super) fn add(
        &mut self,
        rows: &Ordered,
        bounds: &Bounds,
        owner: &mut RowOwner,
        results: Rows<'_>,
    ) -> Result<()> {
        let last = bounds.ends.iter().max().copied().unwrap_or(0);
        self.totals.complete(rows, owner, last / SMALL_GRAIN_ROWS)?;
        for (i, (&begin, &end)) in bounds.begins.iter().zip(&bounds.ends).enumerate() {
            let result = (results, i);
            let grains = begin.div_ceil(SMALL_GRAIN_ROWS)..end / SMALL_GRAIN_ROWS;
            if grains.start >= grains.end {
                self.add_rows(rows, begin..end, owner, result)?;
                continue;
            }
            self.add_rows(rows, begin..grains.start * SMALL_GRAIN_ROWS, owner, result)?;
            self.add_rows(rows, grains.end * SMALL_GRAIN_ROWS..end, owner, result)?;
            self.totals.add(grains, result, &mut self.pairs);
            if self.pairs.len() >= BLOCK_ROWS {
                self.pairs.combine(owner, self.aggregates.layout())?;
            }
        }
        self.flush(rows, owner)?;
        self.pairs.combine(owner, self.aggregates.layout())
    }

    fn add_rows(&mut self, rows: &Ordered, range: Range<usize>, owner: &mut RowOwner, state: State<'_>) -> Result<()> {
        if self.rows.len() + range.len() > SCATTERED_GRAINS * SMALL_GRAIN_ROWS {
            self.flush(rows, owner)?;
        }
        self.states.resize(self.rows.len() + range.len(), state.0, state.1);
        self.rows.extend(range);
        Ok(())
    }

    fn flush(&mut self, rows: &Ordered, owner: &mut RowOwner) -> Result<()> {
        if !self.rows.is_empty() {
            let pinned = rows.pin_each(self.rows.drain(..))?;
            let inputs: Vec<_> = self.inputs.iter().map(|&column| rows.gather(&pinned, column)).collect();
            self.aggregates.update(owner, self.states.all(), &inputs)?;
            self.states.clear();
        }
        Ok(())
    }
}
