//! Combines the states of some rows with those of others.

use godwit_common::Result;
use godwit_vector::kernels::compensated::CompensatedSum;
use godwit_vector::match_physical;

use super::distinct::{Registers, add_sketch};
use super::states::Ordered;
use super::update::sum_overflow;
use super::{Comoments, Digest, Moments, PowerSums, StateKind, StateLayout, borrow, load, store};
use crate::{RowOwner, Rows};

impl StateLayout {
    /// Adds the states of each row of `sources` to those of the row at the same position of `targets`. The sources are
    /// the owner's, too, or those of another one that lets them be read.
    pub fn combine(&self, owner: &mut RowOwner, targets: Rows<'_>, sources: Rows<'_>) -> Result<()> {
        owner.check_pairs(targets, sources);
        assert_eq!(targets.len(), sources.len());
        let (to, from) = (self.base(targets.layout()), self.base(sources.layout()));
        sources.note_loads(from);
        for &(kind, offset) in &self.states {
            let pairs = Pairs { targets, to: to + offset, sources, from: from + offset };
            match kind {
                StateKind::Count => pairs.merge::<u64>(|a, b| a + b),
                StateKind::SumI64 => pairs.merge::<i64>(i64::wrapping_add),
                StateKind::SumI128 => {
                    let mut overflow = false;
                    pairs.merge::<i128>(|a, b| {
                        let (sum, overflowed) = a.overflowing_add(b);
                        overflow |= overflowed;
                        sum
                    });
                    if overflow {
                        return Err(sum_overflow());
                    }
                }
                StateKind::SumF64 => pairs.merge::<f64>(|a, b| a + b),
                StateKind::CompensatedSum => pairs.merge(CompensatedSum::combined),
                StateKind::Min(physical) => {
                    match_physical!(physical, T => pairs.merge::<T>(|a, b| if b.is_less(a) { b } else { a }))
                }
                StateKind::Max(physical) => {
                    match_physical!(physical, T => pairs.merge::<T>(|a, b| if a.is_less(b) { b } else { a }))
                }
                StateKind::BitAnd => pairs.merge::<i128>(|a, b| a & b),
                StateKind::BitOr => pairs.merge::<i128>(|a, b| a | b),
                StateKind::BitXor => pairs.merge::<i128>(|a, b| a ^ b),
                StateKind::Product => pairs.merge::<f64>(|a, b| a * b),
                StateKind::Moments => pairs.merge(Moments::combined),
                StateKind::PowerSums => pairs.merge(PowerSums::combined),
                StateKind::Comoments => pairs.merge(Comoments::combined),
                StateKind::Distinct => pairs.add::<Registers>(add_sketch),
                StateKind::Digest => pairs.add::<Digest>(Digest::add_digest),
                StateKind::Ordinal => {}
            }
        }
        Ok(())
    }
}

impl StateLayout {
    /// Overwrites the states of each row of `targets` with those of the row at the same position of `sources`, in
    /// order. They are as for [`combine`](Self::combine).
    pub fn copy(&self, owner: &mut RowOwner, targets: Rows<'_>, sources: Rows<'_>) {
        owner.check_pairs(targets, sources);
        assert_eq!(targets.len(), sources.len());
        let (to, from) = (self.base(targets.layout()), self.base(sources.layout()));
        sources.note_loads(from);
        for (target, source) in targets.pointers().iter().zip(sources.pointers()) {
            // SAFETY: both rows are pinned and have states, the target isn't in use elsewhere, and the source doesn't
            // change meanwhile; they may be the same row.
            unsafe { std::ptr::copy(source.as_ptr().add(from), target.as_ptr().add(to), self.bytes) };
        }
    }
}

/// States of pairs of rows: nobody else uses the targets, and nobody changes the sources.
struct Pairs<'a> {
    targets: Rows<'a>,
    to: usize,
    sources: Rows<'a>,
    from: usize,
}

impl Pairs<'_> {
    /// Replaces each target's state, which is small.
    #[inline(always)]
    fn merge<T: Copy>(&self, mut f: impl FnMut(T, T) -> T) {
        // SAFETY: callers pass the type of the state, and both rows are pinned.
        self.for_each(|target, source| unsafe { store(target, f(load::<T>(target), load::<T>(source))) });
    }

    /// Changes each target's state in place.
    fn add<T>(&self, f: impl Fn(&mut T, &T)) {
        self.for_each(|target, source| {
            assert_ne!(target, source, "a state isn't combined with itself");
            // SAFETY: as above; the states begin at multiples of 8 bytes and differ.
            unsafe { f(borrow::<T>(target), borrow::<T>(source)) };
        });
    }

    /// Calls `f` with the addresses of both states of each pair.
    #[inline(always)]
    fn for_each(&self, mut f: impl FnMut(*mut u8, *mut u8)) {
        self.targets.note_loads(self.to);
        self.sources.note_loads(self.from);
        for (target, source) in self.targets.pointers().iter().zip(self.sources.pointers()) {
            f(target.as_ptr().wrapping_add(self.to), source.as_ptr().wrapping_add(self.from));
        }
    }
}
