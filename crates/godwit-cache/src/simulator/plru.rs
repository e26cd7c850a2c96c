//! Tree pseudo-LRU: a bit per inner node of a binary tree over the ways tells which half was used less recently.

use crate::WayMask;

/// The bits of one set, numbered as in a heap, starting at 1; a set bit means that the upper half was used less
/// recently.
///
/// The tree has as many leaves as the next power of two; leaves beyond the last way are never permitted.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Tree(u64);

impl Tree {
    /// Records a use of `way`: makes every node above it point away from it.
    pub(super) fn touch(&mut self, way: u32, ways: u32) {
        let mut node = way + ways.next_power_of_two();
        while node > 1 {
            let (parent, is_upper) = (node / 2, node & 1 == 1);
            self.0 = self.0 & !(1 << parent) | u64::from(!is_upper) << parent;
            node = parent;
        }
    }

    /// The way to evict among those in `mask`, which must not be empty: follows the bits, except where the half that
    /// they point to has no permitted way.
    pub(super) fn victim(self, mask: WayMask, ways: u32) -> u32 {
        let leaves = ways.next_power_of_two();
        let (mut node, mut first, mut count) = (1, 0, leaves);
        while node < leaves {
            count /= 2;
            let half = |upper: bool| WayMask::run(if upper { first + count } else { first }, count);
            let wanted = self.0 >> node & 1 == 1;
            let upper = if (half(wanted) & mask).is_empty() { !wanted } else { wanted };
            first += if upper { count } else { 0 };
            node = 2 * node + u32::from(upper);
        }
        assert!(mask.contains(first), "the mask has a way of this cache");
        first
    }
}
