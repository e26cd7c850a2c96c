//! States of frames outside rows: numbered slots. All slots of a set of aggregates have one owner, which functions that
//! change them borrow.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_rows::aggregate_state::{StateArea, StateLayout};
use godwit_rows::{RowList, RowOwner, Rows};

use super::ordered::Ordered;
use crate::hash_aggregate::FramedAggregates;

/// Slots with the states of one frame each.
pub(super) struct Slots {
    layout: Arc<StateLayout>,
    area: StateArea,
    /// All slots; the one after the last used slot stays empty, to copy from.
    slots: RowList,
    reservation: Reservation,
}

/// The states of a frame: one of some rows.
pub(super) type State<'a> = (Rows<'a>, usize);

impl Slots {
    pub(super) fn new(layout: &Arc<StateLayout>, owner: &RowOwner, memory: &BufferManager) -> Result<Self> {
        let mut slots = Self {
            layout: layout.clone(),
            area: StateArea::new(layout, owner),
            slots: layout.new_list(),
            reservation: memory.reserve(0, MemoryTag::Other)?,
        };
        slots.grow(owner, 0)?;
        Ok(slots)
    }

    /// Makes room for `slots` slots. Existing slots keep their states; new ones are arbitrary.
    pub(super) fn grow(&mut self, owner: &RowOwner, slots: usize) -> Result<()> {
        if slots < self.slots.len() {
            return Ok(());
        }
        let capacity = (slots + 1).max(self.slots.len() * 2);
        self.reservation.resize(capacity * (self.layout.bytes() + RowList::ROW_BYTES + size_of::<u32>()))?;
        self.slots.clear();
        self.area.grow(owner, capacity);
        self.area.list(&(0..capacity as u32).collect::<Vec<_>>(), &mut self.slots);
        // The former empty slot is now an ordinary one; the new empty slot was initialized along with all new ones.
        Ok(())
    }

    /// Resets the first `slots` slots to those of empty frames, making room for them if necessary.
    pub(super) fn clear(&mut self, owner: &mut RowOwner, slots: usize) -> Result<Rows<'_>> {
        self.grow(owner, slots)?;
        self.reset(owner, 0..slots);
        Ok(self.first(slots))
    }

    /// Resets existing slots to those of empty frames.
    pub(super) fn reset(&self, owner: &mut RowOwner, slots: Range<usize>) {
        let (all, empty) = self.empty();
        let mut sources = self.layout.new_list();
        sources.resize(slots.len(), all, empty);
        self.layout.copy(owner, all.slice(slots), sources.all());
    }

    /// A slot that is never written.
    pub(super) fn empty(&self) -> State<'_> {
        (self.slots.all(), self.slots.len() - 1)
    }

    pub(super) fn get(&self, slot: usize) -> State<'_> {
        debug_assert!(slot + 1 < self.slots.len());
        (self.slots.all(), slot)
    }

    pub(super) fn first(&self, slots: usize) -> Rows<'_> {
        self.slots.slice(0..slots)
    }
}

/// Pairs of states of which the second is added to the first, in order.
pub(super) struct Pairs {
    targets: RowList,
    sources: RowList,
}

impl Pairs {
    pub(super) fn new(layout: &StateLayout) -> Self {
        Self { targets: layout.new_list(), sources: layout.new_list() }
    }

    #[inline]
    pub(super) fn push(&mut self, target: State<'_>, source: State<'_>) {
        self.targets.push(target.0, target.1);
        self.sources.push(source.0, source.1);
    }

    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// Combines all pairs, and clears the list.
    pub(super) fn combine(&mut self, owner: &mut RowOwner, layout: &StateLayout) -> Result<()> {
        layout.combine(owner, self.targets.all(), self.sources.all())?;
        self.targets.clear();
        self.sources.clear();
        Ok(())
    }
}

/// Adds the values of the rows starting at `begin` to the states, one row to each.
pub(super) fn add_rows(
    aggregates: &FramedAggregates,
    columns: &[usize],
    rows: &Ordered,
    begin: usize,
    owner: &mut RowOwner,
    states: Rows<'_>,
) -> Result<()> {
    let pinned = rows.pin(begin..begin + states.len())?;
    let inputs: Vec<_> = columns.iter().map(|&column| rows.gather(&pinned, column)).collect();
    aggregates.update(owner, states, &inputs)
}
