//! Private caches above a shared one.

use super::cache::{Cache, Geometry, Lookup, Replacement};
use crate::WayMask;

/// One set in `one_in` is simulated: the sets of the lines whose number is a multiple of `one_in`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetSampling {
    /// A power of two; 1 simulates everything.
    pub one_in: u64,
}

impl SetSampling {
    /// The simulated part of a cache.
    fn part(self, geometry: Geometry) -> Geometry {
        assert!(self.one_in.is_power_of_two(), "one set in a power of two is simulated");
        assert!(
            geometry.sets.is_multiple_of(self.one_in),
            "{} sets can't be sampled 1 in {}",
            geometry.sets,
            self.one_in
        );
        Geometry { sets: geometry.sets / self.one_in, ..geometry }
    }
}

/// Where an access found its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// In the core's own cache.
    Private,
    /// In the shared cache.
    Shared,
    /// In memory.
    Memory,
}

/// Private caches of up to 64 cores above an inclusive shared one.
pub struct Hierarchy {
    /// Shifts from an address to its line, and from a line to its number among the simulated ones: most accesses need
    /// nothing else.
    line_bits: u32,
    sampling_bits: u32,
    private: Vec<Cache>,
    private_ways: WayMask,
    shared: Cache,
    /// By slot in the shared cache: the cores that have fetched the line since it was loaded, one bit each.
    holders: Vec<u64>,
    inclusive: bool,
}

impl Hierarchy {
    /// `private` is the cache that each of `cores` has to itself; always LRU. If `inclusive`, a line that leaves the
    /// shared cache also leaves all private ones.
    pub fn new(
        cores: usize,
        private: Geometry,
        shared: Geometry,
        replacement: Replacement,
        inclusive: bool,
        sampling: SetSampling,
    ) -> Self {
        assert!((1..=64).contains(&cores), "1 to 64 cores are simulated");
        assert_eq!(private.line_bytes, shared.line_bytes, "all caches have the same lines");
        assert!(shared.line_bytes.is_power_of_two(), "lines have a power of two of bytes");
        let (private, shared) = (sampling.part(private), sampling.part(shared));
        let slots = (shared.sets * u64::from(shared.ways)) as usize;
        Self {
            line_bits: shared.line_bytes.trailing_zeros(),
            sampling_bits: sampling.one_in.trailing_zeros(),
            private: (0..cores).map(|_| Cache::new(private, Replacement::Lru)).collect(),
            private_ways: WayMask::all(private.ways),
            shared: Cache::new(shared, replacement),
            holders: vec![0; slots],
            inclusive,
        }
    }

    /// An access of `core` to the line at `address`; a line that it loads fills the shared cache's ways in `mask`.
    /// `None` if the line's sets aren't simulated.
    pub fn access(&mut self, core: usize, address: u64, mask: WayMask) -> Option<Level> {
        let line = address >> self.line_bits;
        let simulated = line >> self.sampling_bits;
        if simulated << self.sampling_bits != line {
            return None;
        }
        let line = simulated;
        if self.private[core].access(line, self.private_ways) == Lookup::Hit {
            return Some(Level::Private);
        }
        let (slot, lookup) = self.shared.access_slot(line, mask);
        let Lookup::Miss { evicted } = lookup else {
            self.holders[slot] |= 1 << core;
            return Some(Level::Shared);
        };
        let holders = std::mem::replace(&mut self.holders[slot], 1 << core);
        if let Some(evicted) = evicted.filter(|_| self.inclusive) {
            (0..self.private.len())
                .filter(|holder| holders >> holder & 1 == 1)
                .for_each(|holder| self.private[holder].invalidate(evicted));
        }
        Some(Level::Memory)
    }
}
