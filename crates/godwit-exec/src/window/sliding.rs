//! Aggregates over frames that slide.
//!
//! *Short frames* of a step are computed together, over the region of rows that they cover. A pivot cuts the frames
//! around it in two, like a queue made of two stacks.
//!
//! ```text
//! region            | . . . . . . . . | . . . . . . | . . .        pivots |
//! suffixes            ◀───────────────   ◀────────── ◀───          up to the next pivot, made from right to left
//! prefixes                             ─────────────▶ ───▶         from the last pivot on, made from left to right
//! frame                     [──────────┼────────)                  suffix of its first row + prefix of its last one
//! ```
//!
//! Each row is in at most one suffix and one prefix, whatever the length of the frames, and nothing is ever subtracted:
//! sums of floats don't lose precision, and minima slide like sums.
//!
//! *Long frames* are cut at boundaries of grains: the suffix of a grain, whole grains, the prefix of a grain (long.rs).

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::CancelToken;
use godwit_rows::{RowOwner, Rows};

use super::config::{BLOCK_ROWS, REGION_ROWS_MAX};
use super::frame::Bounds;
use super::long::LongFrames;
use super::ordered::Ordered;
use super::plan::FramedSet;
use super::states::{Pairs, Slots, add_rows};
use crate::hash_aggregate::FramedAggregates;

/// A set of aggregates over one sequence of rows.
pub(super) struct Sliding {
    aggregates: Arc<FramedAggregates>,
    inputs: Vec<usize>,
    prefixes: Slots,
    suffixes: Slots,
    long: LongFrames,
    chain: Pairs,
    parts: Pairs,
}

impl Sliding {
    pub(super) fn new(
        set: &FramedSet,
        owner: &mut RowOwner,
        memory: &BufferManager,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let layout = set.aggregates.layout();
        Ok(Self {
            aggregates: set.aggregates.clone(),
            inputs: set.inputs.clone(),
            prefixes: Slots::new(layout, owner, memory)?,
            suffixes: Slots::new(layout, owner, memory)?,
            long: LongFrames::new(set, owner, memory, cancel)?,
            chain: Pairs::new(set.aggregates.layout()),
            parts: Pairs::new(set.aggregates.layout()),
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
        let Bounds { begins, ends } = bounds;
        let mut first = 0;
        while first < results.len() {
            let region_begin = begins[first];
            let mut end = ends[first..].partition_point(|&end| end <= region_begin + REGION_ROWS_MAX) + first;
            if end > first {
                self.short_frames(rows, &begins[first..end], &ends[first..end], owner, results.slice(first..end))?;
            } else {
                let is_long = |i: &usize| ends[*i] > begins[*i] + REGION_ROWS_MAX / 2;
                end = (first..results.len()).find(|i| !is_long(i)).unwrap_or(results.len());
                self.long.compute(rows, &begins[first..end], &ends[first..end], owner, results.slice(first..end))?;
            }
            first = end;
        }
        Ok(())
    }

    /// Frames within one region.
    fn short_frames(
        &mut self,
        rows: &Ordered,
        begins: &[usize],
        ends: &[usize],
        owner: &mut RowOwner,
        results: Rows<'_>,
    ) -> Result<()> {
        let layout = self.aggregates.layout().clone();
        let (region_begin, region_end) = (begins[0], ends[ends.len() - 1]);
        let region_rows = region_end.saturating_sub(region_begin);
        let prefixes = self.prefixes.clear(owner, region_rows)?;
        for begin in (0..region_rows).step_by(BLOCK_ROWS) {
            let states = prefixes.slice(begin..region_rows.min(begin + BLOCK_ROWS));
            add_rows(&self.aggregates, &self.inputs, rows, region_begin + begin, owner, states)?;
        }
        self.suffixes.grow(owner, region_rows)?;
        layout.copy(owner, self.suffixes.first(region_rows), prefixes);

        let (prefix, suffix) =
            (|row| self.prefixes.get(row - region_begin), |row| self.suffixes.get(row - region_begin));
        // The last pivot, and how far its prefixes extend.
        let (mut pivot, mut reached) = (region_begin, region_begin);
        for (i, (&begin, &end)) in begins.iter().zip(ends).enumerate() {
            if begin >= end {
                continue;
            }
            if begin > pivot || reached == region_begin {
                (pivot, reached) = (end, end);
                (begin + 1..end).rev().for_each(|row| self.chain.push(suffix(row - 1), suffix(row)));
            }
            // The prefix of the pivot's own row is the row.
            (reached.max(pivot + 1)..end).for_each(|row| self.chain.push(prefix(row), prefix(row - 1)));
            reached = reached.max(end);
            if begin < pivot {
                self.parts.push((results, i), suffix(begin));
            }
            if end > pivot {
                self.parts.push((results, i), prefix(end - 1));
            }
        }
        self.chain.combine(owner, &layout)?;
        self.parts.combine(owner, &layout)
    }
}
