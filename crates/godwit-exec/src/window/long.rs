//! Frames that are too long to be computed together: cut at the borders of grains.
//!
//! ```text
//! grains        |  .  .  .  |  .  .  .  |  .  .  .  |  .  .  .  |
//! frame               [─────┼───────────┼───────────┼────)
//!                  suffix of           tree of        prefix of
//!                  a grain             totals         a grain
//! ```
//!
//! Totals of grains are kept from the first to the last that a frame needed, and totals of several of them above, as a
//! tree: some bytes for a thousand rows. The suffixes and prefixes are those of one grain at a time.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_rows::RowPtr;

use super::config::{GRAIN_ROWS, TREE_FANOUT};
use super::ordered::Ordered;
use super::plan::FramedSet;
use super::states::{Pairs, Slots, add_rows};
use crate::hash_aggregate::FramedAggregates;

pub(super) struct LongFrames {
    aggregates: Arc<FramedAggregates>,
    inputs: Vec<usize>,
    memory: BufferManager,
    /// Totals of grains, then of [`TREE_FANOUT`] nodes of the level below each: the slots, and how many are complete.
    levels: Vec<(Slots, usize)>,
    /// Rows of the grain that the heads or tails of some frames lie in.
    grain: Slots,
    /// The grains between head and tail of the last frame, and their total.
    middle: (usize, usize),
    middle_total: Slots,
    pairs: Pairs,
}

impl LongFrames {
    pub(super) fn new(set: &FramedSet, memory: &BufferManager) -> Result<Self> {
        let layout = set.aggregates.layout();
        Ok(Self {
            aggregates: set.aggregates.clone(),
            inputs: set.inputs.clone(),
            memory: memory.clone(),
            levels: Vec::new(),
            grain: Slots::new(layout, memory)?,
            middle: (0, 0),
            middle_total: Slots::new(layout, memory)?,
            pairs: Pairs::default(),
        })
    }

    /// Adds the frames `begins[i] .. ends[i]`, each longer than two grains, to the states of empty frames at `results[i]`.
    pub(super) fn compute(
        &mut self,
        rows: &Ordered,
        begins: &[usize],
        ends: &[usize],
        results: &[RowPtr],
    ) -> Result<()> {
        let layout = self.aggregates.layout().clone();
        let grain_of = |row: usize| row / GRAIN_ROWS;
        for heads in runs(begins, |&begin| grain_of(begin)) {
            let grain = self.read_grain(rows, grain_of(begins[heads.start]))?;
            for row in (grain.start + 1..grain.end).rev() {
                self.pairs.push(self.grain.get(row - 1 - grain.start), self.grain.get(row - grain.start));
            }
            for i in heads {
                self.pairs.push(results[i], self.grain.get(begins[i] - grain.start));
            }
            self.pairs.combine(&layout)?;
        }
        for i in 0..results.len() {
            let middle = (grain_of(begins[i]) + 1, grain_of(ends[i]));
            if self.middle != middle {
                self.pairs.combine(&layout)?;
                self.set_middle(rows, middle)?;
            }
            self.pairs.push(results[i], self.middle_total.get(0));
        }
        self.pairs.combine(&layout)?;
        for tails in runs(ends, |&end| grain_of(end)) {
            let grain = self.read_grain(rows, grain_of(ends[tails.start]))?;
            for row in grain.start + 1..grain.end {
                self.pairs.push(self.grain.get(row - grain.start), self.grain.get(row - 1 - grain.start));
            }
            for i in tails.filter(|&i| ends[i] > grain.start) {
                self.pairs.push(results[i], self.grain.get(ends[i] - 1 - grain.start));
            }
            self.pairs.combine(&layout)?;
        }
        Ok(())
    }

    /// Reads the rows of a grain, each into its slot; returns which they are.
    fn read_grain(&mut self, rows: &Ordered, grain: usize) -> Result<std::ops::Range<usize>> {
        let begin = grain * GRAIN_ROWS;
        let end = rows.len().min(begin + GRAIN_ROWS);
        let states = self.grain.clear(end.saturating_sub(begin))?;
        if begin < end {
            add_rows(&self.aggregates, &self.inputs, rows, begin, states)?;
        }
        Ok(begin..end.max(begin))
    }

    /// Computes the total of grains `begin .. end`.
    fn set_middle(&mut self, rows: &Ordered, middle: (usize, usize)) -> Result<()> {
        let layout = self.aggregates.layout().clone();
        self.complete_grains(rows, middle.1)?;
        self.middle = middle;
        self.middle_total.clear(1)?;
        let total = self.middle_total.get(0);
        let ((mut begin, mut end), mut level) = (middle, 0);
        while begin < end {
            let (nodes, _) = &self.levels[level];
            let mut add = |node: usize| self.pairs.push(total, nodes.get(node));
            while begin < end && !begin.is_multiple_of(TREE_FANOUT) {
                add(begin);
                begin += 1;
            }
            while begin < end && !end.is_multiple_of(TREE_FANOUT) {
                end -= 1;
                add(end);
            }
            (begin, end, level) = (begin / TREE_FANOUT, end / TREE_FANOUT, level + 1);
        }
        self.pairs.combine(&layout)
    }

    /// Makes the totals of the first `grains` grains, and all nodes above them whose children are complete.
    fn complete_grains(&mut self, rows: &Ordered, grains: usize) -> Result<()> {
        let layout = self.aggregates.layout().clone();
        let mut wanted = grains;
        let mut level = 0;
        while wanted > 0 {
            if self.levels.len() == level {
                self.levels.push((Slots::new(&layout, &self.memory)?, 0));
            }
            let known = self.levels[level].1;
            for node in known..wanted {
                self.levels[level].0.grow(node + 1)?;
                let target = self.levels[level].0.get(node);
                layout.copy(&[target], &[self.levels[level].0.empty()]);
                if level == 0 {
                    let grain = self.read_grain(rows, node)?;
                    self.grain.first(grain.len()).iter().for_each(|&row| self.pairs.push(target, row));
                } else {
                    let (below, _) = &self.levels[level - 1];
                    let children = node * TREE_FANOUT..(node + 1) * TREE_FANOUT;
                    children.for_each(|child| self.pairs.push(target, below.get(child)));
                }
                self.pairs.combine(&layout)?;
            }
            self.levels[level].1 = known.max(wanted);
            wanted /= TREE_FANOUT;
            level += 1;
        }
        Ok(())
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
