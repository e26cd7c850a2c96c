//! Initial values of states, and states outside row pages.

use std::sync::Arc;

use godwit_vector::{Heap, match_physical};

use super::{StateKind, StateLayout, for_each_state, store};
use crate::owner::Access;
use crate::row_ptr::RowPtr;
use crate::{RowList, RowOwner, Rows};

/// Ordered fixed-width values, with a smallest and a largest one. NaN is the largest float and equals itself.
pub(super) trait Ordered: Copy {
    const SMALLEST: Self;
    const LARGEST: Self;
    fn is_less(self, other: Self) -> bool;
}

macro_rules! ordered_integers {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            const SMALLEST: Self = <$t>::MIN;
            const LARGEST: Self = <$t>::MAX;
            #[inline(always)]
            fn is_less(self, other: Self) -> bool { self < other }
        }
    )* };
}
ordered_integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);

macro_rules! ordered_floats {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            const SMALLEST: Self = <$t>::NEG_INFINITY;
            const LARGEST: Self = <$t>::NAN;
            #[inline(always)]
            fn is_less(self, other: Self) -> bool { self < other || (other.is_nan() && !self.is_nan()) }
        }
    )* };
}
ordered_floats!(f32, f64);

impl StateLayout {
    /// Initializes the states of `rows`, which are zero, to those of empty groups.
    pub fn initialize(&self, owner: &mut RowOwner, rows: Rows<'_>) {
        owner.check(rows);
        self.initialize_new(rows);
    }

    /// [`initialize`](Self::initialize) for rows that nobody else uses.
    fn initialize_new(&self, rows: Rows<'_>) {
        let base = self.base(rows.layout());
        for &(kind, offset) in &self.states {
            let at = base + offset;
            match kind {
                StateKind::Min(physical) => match_physical!(physical, T => fill(rows, at, <T as Ordered>::LARGEST)),
                StateKind::Max(physical) => match_physical!(physical, T => fill(rows, at, <T as Ordered>::SMALLEST)),
                StateKind::BitAnd => fill(rows, at, -1i128),
                StateKind::Product => fill(rows, at, 1f64),
                // The state of an empty group is all zeros.
                _ => {}
            }
        }
    }
}

fn fill<T: Copy>(rows: Rows<'_>, offset: usize, value: T) {
    // SAFETY: the state of this kind has room for a `T`; the rows are pinned.
    for_each_state(rows, offset, |_, at| unsafe { store(at, value) });
}

/// States of groups outside row pages, in sequence: those of a direct array. Who makes it accounts for the memory.
pub struct StateArea {
    states: Arc<StateLayout>,
    /// That of their owner.
    access: Access,
    memory: Arc<AreaMemory>,
    groups: usize,
}

/// Words that never move. Lists of groups share them: when an area grows, the lists keep the memory that they use.
struct AreaMemory {
    words: *mut u64,
    len: usize,
}

// SAFETY: the words are accessed only through rows, by who borrows their owner.
unsafe impl Send for AreaMemory {}
// SAFETY: as above.
unsafe impl Sync for AreaMemory {}

impl AreaMemory {
    fn zeroed(len: usize) -> Self {
        Self { words: Box::into_raw(vec![0u64; len].into_boxed_slice()).cast::<u64>(), len }
    }
}

impl Drop for AreaMemory {
    fn drop(&mut self) {
        let words = std::ptr::slice_from_raw_parts_mut(self.words, self.len);
        // SAFETY: it came from a box of this many words, and has no other users any more.
        drop(unsafe { Box::from_raw(words) });
    }
}

impl StateArea {
    /// An area without groups, for those of an owner.
    pub fn new(states: &Arc<StateLayout>, owner: &RowOwner) -> Self {
        let memory = Arc::new(AreaMemory::zeroed(0));
        Self { states: states.clone(), access: owner.access(), memory, groups: 0 }
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Adds empty groups until there are `groups`. Existing lists of groups are stale afterwards.
    pub fn grow(&mut self, owner: &RowOwner, groups: usize) {
        assert_eq!(owner.access(), self.access, "the area of another owner");
        let (old, words_per_group) = (self.groups, self.states.bytes() / 8);
        if groups <= old {
            return;
        }
        if groups * words_per_group > self.memory.len {
            let larger = AreaMemory::zeroed((groups * words_per_group).max(self.memory.len * 2));
            // SAFETY: both have at least this many words, and they don't overlap; the owner is borrowed, so that nobody
            // changes the old ones.
            unsafe { std::ptr::copy_nonoverlapping(self.memory.words, larger.words, old * words_per_group) };
            self.memory = Arc::new(larger);
        }
        self.groups = groups;
        let mut new = self.states.new_list();
        self.list(&(old as u32..groups as u32).collect::<Vec<_>>(), &mut new);
        // No list had them before.
        self.states.initialize_new(new.all());
    }

    /// Removes all groups.
    pub fn clear(&mut self) {
        self.memory = Arc::new(AreaMemory::zeroed(0));
        self.groups = 0;
    }

    /// Replaces the content of a list with these groups.
    pub fn list(&self, groups: &[u32], list: &mut RowList) {
        assert!(list.all().layout().reads(&self.states.area), "rows of another layout");
        let words_per_group = self.states.bytes() / 8;
        list.clear();
        // SAFETY: each group has its states in the memory, which the pins keep.
        let (rows, pins) = unsafe { list.parts_mut() };
        let memory: Heap = self.memory.clone();
        pins.add_common(&memory, self.access);
        rows.extend(groups.iter().map(|&group| {
            assert!((group as usize) < self.groups);
            RowPtr::new(self.memory.words.wrapping_add(group as usize * words_per_group).cast::<u8>())
        }));
    }
}
