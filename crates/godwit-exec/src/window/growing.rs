//! Aggregates over frames that begin where their partition begins: a running state.
//!
//! ```text
//! block of rows   | a b c | d e f g |      prefix i: the values of i and of all rows before it in its partition
//! prefixes        | . . . | . . . . |      result of a row: the prefix of the last row of its frame
//! ```
//!
//! Every row is read once. Prefixes of a block are made from the states of single rows by adding each to the next; only
//! those of one block are kept.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_rows::{RowOwner, Rows};

use super::config::BLOCK_ROWS;
use super::frame::Bounds;
use super::ordered::Ordered;
use super::plan::FramedSet;
use super::states::{Pairs, Slots, add_rows};
use crate::hash_aggregate::FramedAggregates;

/// A set of aggregates over one sequence of rows.
pub(super) struct Growing {
    aggregates: Arc<FramedAggregates>,
    inputs: Vec<usize>,
    /// The prefix before the block, then those of the block's rows.
    prefixes: Slots,
    block_begin: usize,
    block_end: usize,
    pairs: Pairs,
}

impl Growing {
    pub(super) fn new(set: &FramedSet, owner: &mut RowOwner, memory: &BufferManager) -> Result<Self> {
        let layout = set.aggregates.layout();
        let mut prefixes = Slots::new(layout, owner, memory)?;
        prefixes.clear(owner, 1)?;
        Ok(Self {
            aggregates: set.aggregates.clone(),
            inputs: set.inputs.clone(),
            prefixes,
            block_begin: 0,
            block_end: 0,
            pairs: Pairs::new(set.aggregates.layout()),
        })
    }

    /// Adds the frames to the states of empty frames at `results`.
    pub(super) fn add(
        &mut self,
        rows: &Ordered,
        bounds: &Bounds,
        owner: &mut RowOwner,
        results: Rows<'_>,
    ) -> Result<()> {
        let mut sources = self.aggregates.layout().new_list();
        let mut done = 0;
        loop {
            // The rows whose frames end in the block.
            sources.clear();
            let frames = bounds.begins.iter().zip(&bounds.ends).skip(done);
            for (&begin, &end) in frames.take_while(|(begin, end)| end <= begin || **end <= self.block_end) {
                let (slots, slot) = match end > begin {
                    true => self.prefixes.get(end - self.block_begin),
                    false => self.prefixes.empty(),
                };
                sources.push(slots, slot);
            }
            self.aggregates.layout().copy(owner, results.slice(done..done + sources.len()), sources.all());
            done += sources.len();
            if done == results.len() {
                return Ok(());
            }
            self.next_block(rows, owner)?;
        }
    }

    fn next_block(&mut self, rows: &Ordered, owner: &mut RowOwner) -> Result<()> {
        let layout = self.aggregates.layout().clone();
        let last = self.block_end - self.block_begin;
        let slots = self.prefixes.first(last + 1);
        layout.copy(owner, slots.slice(0..1), slots.slice(last..last + 1));
        self.block_begin = self.block_end;
        self.block_end = rows.len().min(self.block_begin + BLOCK_ROWS);
        let len = self.block_end - self.block_begin;
        self.prefixes.grow(owner, 1 + len)?;
        self.prefixes.reset(owner, 1..1 + len);
        let own = self.prefixes.first(1 + len).slice(1..1 + len);
        add_rows(&self.aggregates, &self.inputs, rows, self.block_begin, owner, own)?;
        for row in self.block_begin..self.block_end {
            if !rows.partitions().get(row) {
                let slot = row - self.block_begin + 1;
                self.pairs.push(self.prefixes.get(slot), self.prefixes.get(slot - 1));
            }
        }
        self.pairs.combine(owner, &layout)
    }
}
