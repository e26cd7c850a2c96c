//! Totals of grains (groups of consecutive rows), and above them a tree of totals of several grains.
//!
//! They are computed from the first grain up to the last one that a frame has needed, so that a range of grains is
//! covered by a few nodes of each level.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::CancelToken;
use godwit_rows::RowOwner;

use super::config::{BLOCK_ROWS, TREE_FANOUT};
use super::ordered::Ordered;
use super::plan::FramedSet;
use super::states::{Pairs, Slots, State, add_rows};
use crate::hash_aggregate::FramedAggregates;

pub(super) struct Totals {
    aggregates: Arc<FramedAggregates>,
    inputs: Vec<usize>,
    grain_rows: usize,
    memory: BufferManager,
    cancel: CancelToken,
    /// Totals of grains, then level by level of [`TREE_FANOUT`] nodes of the level below: the slots, and how many are
    /// complete.
    levels: Vec<(Slots, usize)>,
    pairs: Pairs,
}

impl Totals {
    pub(super) fn new(set: &FramedSet, grain_rows: usize, memory: &BufferManager, cancel: &CancelToken) -> Self {
        Self {
            aggregates: set.aggregates.clone(),
            inputs: set.inputs.clone(),
            grain_rows,
            memory: memory.clone(),
            cancel: cancel.clone(),
            levels: Vec::new(),
            pairs: Pairs::new(set.aggregates.layout()),
        }
    }

    /// Adds the totals that cover a range of complete grains to `pairs`, to be combined into a state.
    pub(super) fn add(&self, grains: Range<usize>, target: State<'_>, pairs: &mut Pairs) {
        let (Range { mut start, mut end }, mut level) = (grains, 0);
        while start < end {
            let (nodes, _) = &self.levels[level];
            while start < end && !start.is_multiple_of(TREE_FANOUT) {
                pairs.push(target, nodes.get(start));
                start += 1;
            }
            while start < end && !end.is_multiple_of(TREE_FANOUT) {
                end -= 1;
                pairs.push(target, nodes.get(end));
            }
            (start, end, level) = (start / TREE_FANOUT, end / TREE_FANOUT, level + 1);
        }
    }

    /// Completes the first `grains` grains, all rows of which exist, and all nodes above whose children are complete.
    pub(super) fn complete(&mut self, rows: &Ordered, owner: &mut RowOwner, grains: usize) -> Result<()> {
        let layout = self.aggregates.layout().clone();
        let mut wanted = grains;
        let mut level = 0;
        while wanted > 0 {
            if self.levels.len() == level {
                self.levels.push((Slots::new(&layout, owner, &self.memory)?, 0));
            }
            let known = self.levels[level].1;
            if known < wanted {
                let nodes = &mut self.levels[level].0;
                nodes.grow(owner, wanted)?;
                nodes.reset(owner, known..wanted);
                match level {
                    0 => self.add_grains(rows, owner, known..wanted)?,
                    _ => self.add_children(level, owner, known..wanted)?,
                }
                self.levels[level].1 = wanted;
            }
            wanted /= TREE_FANOUT;
            level += 1;
        }
        Ok(())
    }

    fn add_grains(&mut self, rows: &Ordered, owner: &mut RowOwner, grains: Range<usize>) -> Result<()> {
        let (nodes, _) = &self.levels[0];
        let mut states = self.aggregates.layout().new_list();
        let (begin, end) = (grains.start * self.grain_rows, grains.end * self.grain_rows);
        for block in (begin..end).step_by(BLOCK_ROWS) {
            self.cancel.check()?;
            states.clear();
            for row in block..end.min(block + BLOCK_ROWS) {
                let (slots, slot) = nodes.get(row / self.grain_rows);
                states.push(slots, slot);
            }
            add_rows(&self.aggregates, &self.inputs, rows, block, owner, states.all())?;
        }
        Ok(())
    }

    fn add_children(&mut self, level: usize, owner: &mut RowOwner, nodes: Range<usize>) -> Result<()> {
        let ((below, _), (own, _)) = (&self.levels[level - 1], &self.levels[level]);
        for node in nodes {
            let children = node * TREE_FANOUT..(node + 1) * TREE_FANOUT;
            children.for_each(|child| self.pairs.push(own.get(node), below.get(child)));
            if self.pairs.len() >= BLOCK_ROWS {
                self.pairs.combine(owner, self.aggregates.layout())?;
            }
        }
        self.pairs.combine(owner, self.aggregates.layout())
    }
}
