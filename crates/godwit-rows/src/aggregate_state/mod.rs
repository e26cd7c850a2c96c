//! Aggregate states: fixed-size accumulators in raw row memory.
//!
//! ```text
//! row:   | key columns | hash | extra area: state 0 | state 1 | … |      offsets are multiples of 8
//! ```
//!
//! A [`StateLayout`] says where each state is in the area and works on many rows at once: initialize, update from a
//! vector, combine the states of other rows into them, read into vectors. States that several aggregates share (the
//! count of an argument serves COUNT, AVG and the NULL of an empty SUM) exist only once; the operator decides which
//! ones exist. States contain no pointers, so pages with states can be spilled.
//!
//! Rows may repeat in `rows`: each occurrence is one update. Their [owner](crate::RowOwner) is borrowed mutably to change
//! states, so nobody else uses them meanwhile, and immutably to read them.

mod combine;
mod digest;
pub mod distinct;
mod moments;
mod read;
mod states;
mod update;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use godwit_vector::PhysicalType;

use crate::{Extra, RowLayout, RowList, Rows};

use digest::Digest;
pub use moments::{Comoments, Moments, PowerSums};
pub use states::StateArea;

/// What a state accumulates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum StateKind {
    /// Number of rows, or of values that aren't NULL: u64.
    Count,
    /// Sum of integers of at most 64 bits whose total is proven to fit: i64.
    SumI64,
    /// Sum of integers: i128, checked if the values have 128 bits themselves.
    SumI128,
    /// Sum of floats: f64.
    SumF64,
    /// Sum of floats, and what rounding has taken from it.
    CompensatedSum,
    /// Smallest value of a fixed-width type; the largest possible one if there is none. NaN is the largest float.
    Min(PhysicalType),
    /// Largest value, likewise.
    Max(PhysicalType),
    /// Bitwise and of integers: i128.
    BitAnd,
    /// Bitwise or.
    BitOr,
    /// Bitwise exclusive or.
    BitXor,
    /// Number, mean and sum of squared differences from the mean: variance in one pass (Welford; combined as by Chan).
    Moments,
    /// Product of numbers: f64, 1 without any.
    Product,
    /// Number, mean, and sums of the second to fourth powers of differences from the mean: skewness and kurtosis.
    PowerSums,
    /// For pairs of floats: number, both means, sums of squared differences from them, and the sum of the differences'
    /// products.
    Comoments,
    /// A sketch of the different values: 4 KiB ([`distinct`]).
    Distinct,
    /// A digest of numbers: 7 KiB.
    Digest,
    /// A number that the operator assigns to the group.
    Ordinal,
}

impl StateKind {
    /// Bytes in the area, a multiple of 8.
    pub fn bytes(self) -> usize {
        match self {
            StateKind::SumI128
            | StateKind::CompensatedSum
            | StateKind::BitAnd
            | StateKind::BitOr
            | StateKind::BitXor => 16,
            StateKind::Min(physical) | StateKind::Max(physical) => physical.width_bytes().next_multiple_of(8),
            StateKind::Moments => 24,
            StateKind::PowerSums => 40,
            StateKind::Comoments => 48,
            StateKind::Distinct => distinct::SKETCH_BYTES,
            StateKind::Digest => size_of::<Digest>(),
            StateKind::Count | StateKind::SumI64 | StateKind::SumF64 | StateKind::Product | StateKind::Ordinal => 8,
        }
    }
}

/// Where the states of a group are, relative to the start of the area.
#[derive(Debug)]
pub struct StateLayout {
    states: Vec<(StateKind, usize)>,
    bytes: usize,
    /// The layout of rows that consist of states only.
    area: Arc<RowLayout>,
}

impl StateLayout {
    /// A layout of these states, in order.
    pub fn new(kinds: &[StateKind]) -> Arc<Self> {
        let mut bytes = 0;
        let states = kinds
            .iter()
            .map(|&kind| {
                let strings = [StateKind::Min(PhysicalType::Str), StateKind::Max(PhysicalType::Str)];
                assert!(!strings.contains(&kind), "states have no pointers");
                bytes += kind.bytes();
                (kind, bytes - kind.bytes())
            })
            .collect();
        Arc::new(Self { states, bytes, area: RowLayout::of_extra(Extra::States(bytes)) })
    }

    /// An empty list for states outside row pages ([`StateArea`]).
    pub fn new_list(&self) -> RowList {
        RowList::new(&self.area)
    }

    /// Size of the area, a multiple of 8.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Number of states.
    pub fn len(&self) -> usize {
        self.states.len()
    }

    /// True if there are no states.
    pub fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    /// What state `index` accumulates.
    pub fn kind(&self, index: usize) -> StateKind {
        self.states[index].0
    }

    /// Where a state is in the rows of a layout that has room for all states.
    fn at(&self, index: usize, layout: &RowLayout) -> usize {
        self.base(layout) + self.states[index].1
    }

    /// Where the states begin in the rows of a layout that has room for them.
    fn base(&self, layout: &RowLayout) -> usize {
        assert_eq!(layout.extra(), Extra::States(self.bytes), "rows have room for these states");
        layout.extra_offset()
    }
}

/// Calls `f` with the address `offset` bytes into each row.
#[inline(always)]
fn for_each_state(rows: Rows<'_>, offset: usize, mut f: impl FnMut(usize, *mut u8)) {
    for (i, row) in rows.pointers().iter().enumerate() {
        f(i, row.as_ptr().wrapping_add(offset));
    }
}

/// Reads a `T` at `at`.
///
/// # Safety
/// `at` is inside a pinned row, with room for a `T` that was written before.
#[inline(always)]
unsafe fn load<T: Copy>(at: *const u8) -> T {
    // SAFETY: passed on to the caller; rows are only aligned to 8 bytes.
    unsafe { at.cast::<T>().read_unaligned() }
}

/// Borrows the `T` at `at`: for states too large to be copied with each value.
///
/// # Safety
/// The contract of [`load`]. Also, `at` is aligned for a `T`, and nothing else accesses the row while the borrow lives.
#[inline(always)]
unsafe fn borrow<'a, T>(at: *mut u8) -> &'a mut T {
    // SAFETY: passed on to the caller.
    unsafe { &mut *at.cast::<T>() }
}

/// Writes a `T` at `at`.
///
/// # Safety
/// `at` is inside a pinned row that nobody else uses now, with room for a `T`.
#[inline(always)]
unsafe fn store<T: Copy>(at: *mut u8, value: T) {
    // SAFETY: passed on to the caller; rows are only aligned to 8 bytes.
    unsafe { at.cast::<T>().write_unaligned(value) }
}
