//! A cycle through lines of memory.

use std::hint::black_box;
use std::io;

use crate::model::Random;

/// Size of a link: a cache line of most processors.
const LINK_BYTES: u64 = 64;

/// The order of links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Each leads to its neighbour.
    Sequential,
    /// Each leads to a random one.
    Random,
}

#[derive(Clone)]
#[repr(align(64))]
struct Link {
    next: u32,
}

const _: () = assert!(size_of::<Link>() as u64 == LINK_BYTES);

/// Links that form a single cycle.
pub(super) struct Chain(Vec<Link>);

impl Chain {
    /// A chain of `bytes`, rounded down to links, at least one and at most 2^32 - 1.
    ///
    /// Errors: if there isn't that much memory.
    pub(super) fn new(bytes: u64, order: Order) -> io::Result<Self> {
        let count = u32::try_from(bytes / LINK_BYTES).unwrap_or(u32::MAX).max(1);
        let mut links = Vec::new();
        links.try_reserve_exact(count as usize)?;
        match order {
            Order::Sequential => links.extend((1..=count).map(|next| Link { next: next % count })),
            Order::Random => {
                links.extend((0..count).map(|next| Link { next }));
                join_into_one_cycle(&mut links);
            }
        }
        Ok(Self(links))
    }

    pub(super) fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// The link that is `links` steps after `start`.
    pub(super) fn follow(&self, start: u32, links: u32) -> u32 {
        let mut at = start;
        for _ in 0..links {
            at = self.0[at as usize].next;
        }
        black_box(at)
    }
}

/// Joins links that lead to themselves into one cycle, each cycle with the same probability (Sattolo, "An Algorithm to
/// Generate a Random Cyclic Permutation", 1986).
fn join_into_one_cycle(links: &mut [Link]) {
    let mut random = Random::new(links.len() as u64);
    for last in (1..links.len()).rev() {
        let other = random.below(last as u64) as usize;
        let next = links[last].next;
        links[last].next = std::mem::replace(&mut links[other].next, next);
    }
}
