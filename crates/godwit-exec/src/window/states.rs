//! States of frames outside of rows: slots of an area, by number.

use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_rows::RowPtr;
use godwit_rows::aggregate_state::{StateArea, StateLayout};

use super::ordered::Ordered;
use crate::hash_aggregate::FramedAggregates;

/// Slots with the states of one frame each.
pub(super) struct Slots {
    layout: Arc<StateLayout>,
    area: StateArea,
    /// Slot i is at `pointers[i]`; the slot behind the last one stays empty, to copy from.
    pointers: Vec<RowPtr>,
    reservation: Reservation,
}

impl Slots {
    pub(super) fn new(layout: &Arc<StateLayout>, memory: &BufferManager) -> Result<Self> {
        let mut slots = Self {
            layout: layout.clone(),
            area: StateArea::new(layout),
            pointers: Vec::new(),
            reservation: memory.reserve(0, MemoryTag::Other)?,
        };
        slots.grow(0)?;
        Ok(slots)
    }

    /// Makes room for `slots` slots. Slots that were there keep their states; new ones are arbitrary.
    pub(super) fn grow(&mut self, slots: usize) -> Result<()> {
        if slots < self.pointers.len() {
            return Ok(());
        }
        let capacity = (slots + 1).max(self.pointers.len() * 2);
        self.reservation.resize(capacity * (self.layout.bytes() + size_of::<RowPtr>() + size_of::<u32>()))?;
        self.area.grow(capacity);
        self.area.pointers(&(0..capacity as u32).collect::<Vec<_>>(), &mut self.pointers);
        // What was the empty slot is one like the others now, and the new one was initialized with all new ones.
        Ok(())
    }

    /// Makes the first `slots` slots those of empty frames.
    pub(super) fn clear(&mut self, slots: usize) -> Result<&[RowPtr]> {
        self.grow(slots)?;
        let empty = vec![self.empty(); slots];
        self.layout.copy(&self.pointers[..slots], &empty);
        Ok(&self.pointers[..slots])
    }

    /// A slot that is never written.
    pub(super) fn empty(&self) -> RowPtr {
        *self.pointers.last().expect("there is an empty slot")
    }

    pub(super) fn get(&self, slot: usize) -> RowPtr {
        debug_assert!(slot + 1 < self.pointers.len());
        self.pointers[slot]
    }

    pub(super) fn first(&self, slots: usize) -> &[RowPtr] {
        &self.pointers[..slots]
    }
}

/// Pairs of states of which the second is added to the first, in order.
#[derive(Default)]
pub(super) struct Pairs {
    targets: Vec<RowPtr>,
    sources: Vec<RowPtr>,
}

impl Pairs {
    #[inline]
    pub(super) fn push(&mut self, target: RowPtr, source: RowPtr) {
        self.targets.push(target);
        self.sources.push(source);
    }

    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Adds them, and forgets them.
    pub(super) fn combine(&mut self, layout: &StateLayout) -> Result<()> {
        layout.combine(0, &self.targets, 0, &self.sources)?;
        self.targets.clear();
        self.sources.clear();
        Ok(())
    }
}

/// Adds the values of rows `begin ..` to the states, one row to each.
pub(super) fn add_rows(
    aggregates: &FramedAggregates,
    columns: &[usize],
    rows: &Ordered,
    begin: usize,
    states: &[RowPtr],
) -> Result<()> {
    let pinned = rows.pin(begin..begin + states.len())?;
    let inputs: Vec<_> = columns.iter().map(|&column| rows.gather(&pinned, column)).collect();
    aggregates.update(states, &inputs)
}
