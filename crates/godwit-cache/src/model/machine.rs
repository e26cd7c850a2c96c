//! The modelled machine.

use crate::simulator::{Geometry, Level, Replacement, SetSampling};

/// Caches, cores and speeds.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Number of cores; each operator has a worker on each.
    pub cores: usize,
    /// A core's own cache.
    pub private: Geometry,
    /// The last-level cache.
    pub shared: Geometry,
    /// Replacement policy of the last-level cache.
    pub replacement: Replacement,
    /// Whether the last-level cache contains everything in the cores' caches.
    pub inclusive: bool,
    /// The part that is simulated.
    pub sampling: SetSampling,
    /// Access costs.
    pub costs: Costs,
}

/// Costs of accesses, by the level that they hit, in nanoseconds of a worker.
#[derive(Clone, Copy, Debug)]
pub struct Costs {
    /// A random lookup; several are in flight at once.
    pub random_ns: [f64; 3],
    /// A line of a sequence, which is prefetched.
    pub sequential_ns: [f64; 3],
    /// Bytes per nanosecond that memory delivers to all cores together.
    pub memory_bytes_per_ns: f64,
}

/// Lookups of different rows don't wait for each other. A processor overlaps about ten; fewer if there are hash chains
/// and branches in between.
const OVERLAP: f64 = 4.0;

impl Machine {
    /// The machine of the thesis's chapter 4: a Xeon E5-2699 v4 with 22 cores, 256 KiB and 8 ways each, an inclusive
    /// last level of 55 MiB in 20 ways, 64 GB/s and 80 ns to memory. Latencies of the caches and of sequences are those
    /// measured in chapter 2.1.3 on a sibling. One set in 16 is simulated.
    ///
    /// Its replacement policy isn't published, but it is known to protect lines in use from streams, so it is
    /// [`Replacement::Rrip`] here. With LRU, confining a scan would more than double an aggregation's throughput, where
    /// the thesis measured 21 %.
    pub fn of_the_thesis() -> Self {
        Self {
            cores: 22,
            private: Geometry::of_size(256 << 10, 8, 64),
            shared: Geometry::of_size(55 << 20, 20, 64),
            replacement: Replacement::Rrip,
            inclusive: true,
            sampling: SetSampling { one_in: 16 },
            costs: Costs {
                random_ns: [4.0 / OVERLAP, 18.0 / OVERLAP, 80.0 / OVERLAP],
                sequential_ns: [4.0, 4.0, 10.0],
                memory_bytes_per_ns: 64.0,
            },
        }
    }
}

/// Index of a level in arrays by level.
pub(super) fn index(level: Level) -> usize {
    match level {
        Level::Private => 0,
        Level::Shared => 1,
        Level::Memory => 2,
    }
}
