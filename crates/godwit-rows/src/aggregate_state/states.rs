//! First values of states, and states outside of row pages.

use std::sync::Arc;

use godwit_vector::match_physical;

use super::{StateKind, StateLayout, for_each_state, store};
use crate::RowPtr;

/// Fixed-width values with an order, smallest and largest included. NaN is the largest float and equals itself.
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
    /// Makes the states of `rows`, whose area is zero, those of empty groups. `base` is the offset of the area.
    pub fn initialize(&self, base: usize, rows: &[RowPtr]) {
        for &(kind, offset) in &self.states {
            let at = base + offset;
            match kind {
                StateKind::Min(physical) => match_physical!(physical, T => fill(rows, at, <T as Ordered>::LARGEST)),
                StateKind::Max(physical) => match_physical!(physical, T => fill(rows, at, <T as Ordered>::SMALLEST)),
                StateKind::BitAnd => fill(rows, at, -1i64),
                StateKind::Product => fill(rows, at, 1f64),
                // An empty group is all zero.
                _ => {}
            }
        }
    }
}

fn fill<T: Copy>(rows: &[RowPtr], offset: usize, value: T) {
    // SAFETY: the state of this kind has room for a `T`; the caller owns the pinned rows.
    for_each_state(rows, offset, |_, at| unsafe { store(at, value) });
}

/// States of groups outside of row pages, one after the other: those of a direct array. The owner accounts for it.
pub struct StateArea {
    layout: Arc<StateLayout>,
    words: Vec<u64>,
    groups: usize,
}

impl StateArea {
    /// An area without groups.
    pub fn new(layout: &Arc<StateLayout>) -> Self {
        Self { layout: layout.clone(), words: Vec::new(), groups: 0 }
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Adds empty groups until there are `groups`.
    pub fn grow(&mut self, groups: usize) {
        let first = self.groups as u32;
        if groups > self.groups {
            self.words.resize(groups * (self.layout.bytes() / 8), 0);
            self.groups = groups;
            let mut rows = Vec::new();
            self.pointers((first..groups as u32).collect::<Vec<_>>().as_slice(), &mut rows);
            self.layout.initialize(0, &rows);
        }
    }

    /// Forgets all groups.
    pub fn clear(&mut self) {
        self.words.clear();
        self.groups = 0;
    }

    /// The states of `groups` as rows whose area starts at offset 0; replaces the content of `rows`. Valid until the
    /// area grows, is cleared or dropped.
    pub fn pointers(&mut self, groups: &[u32], rows: &mut Vec<RowPtr>) {
        let stride_words = self.layout.bytes() / 8;
        let start = self.words.as_mut_ptr();
        rows.clear();
        rows.extend(groups.iter().map(|&group| {
            assert!((group as usize) < self.groups);
            RowPtr::new(start.wrapping_add(group as usize * stride_words).cast::<u8>())
        }));
    }
}
