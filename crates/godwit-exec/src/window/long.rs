//! Frames that are too long to be computed together: they are cut at the boundaries of grains.
//!
//! ```text
//! grains        |  .  .  .  |  .  .  .  |  .  .  .  |  .  .  .  |
//! frame               [─────┼───────────┼───────────┼────)
//!                  suffix of           tree of        prefix of
//!                  a grain             totals         a grain
//! ```
//!
//! The tree (totals.rs) takes some bytes for a thousand rows. The suffixes and prefixes are those of one grain at a
//! time.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::CancelToken;
use godwit_rows::{RowOwner, Rows};

use super::config::GRAIN_ROWS;
use super::ordered::Ordered;
use super::plan::FramedSet;
use super::states::{Pairs, Slots, add_rows};
use super::totals::Totals;
use crate::hash_aggregate::FramedAggregates;

pub(super) struct LongFrames {
    aggregates: Arc<FramedAggregates>,
    inputs: Vec<usize>,
    totals: Totals,
    /// Rows of the grain that contains the heads or tails of some frames.
    grain: Slots,
    /// The grains between head and tail of the last frame, and their total.
    middle: (usize, usize),
    middle_total: Slots,
    pairs: Pairs,
}

impl LongFrames {
    pub(super) fn new(set: &FramedSet, owner: &RowOwner, memory: &BufferManager, cancel: &CancelToken) -> Result<Self> {
        let layout = set.aggregates.layout();
        Ok(Self {
            aggregates: set.aggregates.clone(),
            inputs: set.inputs.clone(),
            totals: Totals::new(set, GRAIN_ROWS, memory, cancel),
            grain: Slots::new(layout, owner, memory)?,
            middle: (0, 0),
            middle_total: Slots::new(layout, owner, memory)?,
            pairs: Pairs::new(set.aggregates.layout()),
        })
    }

    /// Adds the frames `begins[i] .. ends[i]`, each longer than two grains, to the states of empty frames at
    /// `results[i]`.
    pub(super) fn compute(
        &mut self,
        rows: &Ordered,
        begins: &[usize],
        ends: &[usize],
        owner: &mut RowOwner,
        results: Rows<'_>,
    ) -> Result<()> {
        let layout = self.aggregates.layout().clone();
        let grain_of = |row: usize| row / GRAIN_ROWS;
        for heads in runs(begins, |&begin| grain_of(begin)) {
            let grain = self.read_grain(rows, grain_of(begins[heads.start]), owner)?;
            for row in (grain.start + 1..grain.end).rev() {
                self.pairs.push(self.grain.get(row - 1 - grain.start), self.grain.get(row - grain.start));
            }
            for i in heads {
                self.pairs.push((results, i), self.grain.get(begins[i] - grain.start));
            }
            self.pairs.combine(owner, &layout)?;
        }
        for i in 0..results.len() {
            let middle = (grain_of(begins[i]) + 1, grain_of(ends[i]));
            if self.middle != middle {
                self.pairs.combine(owner, &layout)?;
                self.set_middle(rows, middle, owner)?;
            }
            self.pairs.push((results, i), self.middle_total.get(0));
        }
        self.pairs.combine(owner, &layout)?;
        for tails in runs(ends, |&end| grain_of(end)) {
            let grain = self.read_grain(rows, grain_of(ends[tails.start]), owner)?;
            for row in grain.start + 1..grain.end {
                self.pairs.push(self.grain.get(row - grain.start), self.grain.get(row - 1 - grain.start));
            }
            for i in tails.filter(|&i| ends[i] > grain.start) {
                self.pairs.push((results, i), self.grain.get(ends[i] - 1 - grain.start));
            }
            self.pairs.combine(owner, &layout)?;
        }
        Ok(())
    }

    /// Reads the rows of a grain, each into its slot; returns which they are.
    fn read_grain(&mut self, rows: &Ordered, grain: usize, owner: &mut RowOwner) -> Result<std::ops::Range<usize>> {
        let begin = grain * GRAIN_ROWS;
        let end = rows.len().min(begin + GRAIN_ROWS);
        let states = self.grain.clear(owner, end.saturating_sub(begin))?;
        if begin < end {
            add_rows(&self.aggregates, &self.inputs, rows, begin, owner, states)?;
        }
        Ok(begin..end.max(begin))
    }

    /// Computes the total of grains `begin .. end`.
    fn set_middle(&mut self, rows: &Ordered, middle: (usize, usize), owner: &mut RowOwner) -> Result<()> {
        let layout = self.aggregates.layout().clone();
        self.totals.complete(rows, owner, middle.1)?;
        self.middle = middle;
        self.middle_total.clear(owner, 1)?;
        self.totals.add(middle.0..middle.1, self.middle_total.get(0), &mut self.pairs);
        self.pairs.combine(owner, &layout)
    }
}

/// Ranges of neighbours with equal keys.
fn runs<T, K: PartialEq>(items: &[T], key: impl Fn(&T) -> K) -> Vec<std::ops::Range<usize>> {
    let mut begin = 0;
    let run = |group: &[T]| {
        let range = begin..begin + group.len();
        begin = range.end;
        range
    };
    items.chunk_by(|a, b| key(a) == key(b)).map(run).collect()
}
