//! Replays the loads of a real program in a part of a last-level cache.

use super::{Geometry, Hierarchy, Level, Replacement, SetSampling};
use crate::model::Costs;
use crate::{CacheSizes, WayMask};

/// Maximum number of threads with a core of their own; further ones share those.
const CORES_MAX: usize = 64;
/// Assumed number of ways of a core's own cache.
const PRIVATE_WAYS: u32 = 8;
/// Shares of the ways, in percent: those of polluting and comparable pipelines, and all ways.
pub const SHARES_PERCENT: [u32; 3] = [10, 60, 100];

/// Where the loads of one structure hit, for each of [`SHARES_PERCENT`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Number of all loads.
    pub loads: u64,
    /// Number of hits in the core's own cache.
    pub private: [u64; 3],
    /// Number of hits in the last-level cache.
    pub shared: [u64; 3],
}

impl Hits {
    /// The share of the loads missing in the core's own cache that hit in the last-level cache, with the `i`-th share
    /// of its ways. `None` if there were none.
    pub fn shared_ratio(&self, i: usize) -> Option<f64> {
        let below = self.loads - self.private[i];
        (below > 0).then(|| self.shared[i] as f64 / below as f64)
    }

    /// Average time of a load, in nanoseconds, if it overlaps others as random lookups do.
    pub fn nanos_per_load(&self, i: usize, costs: &Costs) -> f64 {
        let memory = self.loads - self.private[i] - self.shared[i];
        let times = [self.private[i], self.shared[i], memory].into_iter().zip(costs.random_ns);
        times.map(|(loads, nanos)| loads as f64 * nanos).sum::<f64>() / self.loads.max(1) as f64
    }

    /// Adds the hits of another structure.
    pub fn add(&mut self, other: &Hits) {
        self.loads += other.loads;
        for i in 0..SHARES_PERCENT.len() {
            self.private[i] += other.private[i];
            self.shared[i] += other.shared[i];
        }
    }
}

/// Caches of one machine, one for each of [`SHARES_PERCENT`], which all see the same loads.
pub struct Replay {
    caches: [(Hierarchy, WayMask); 3],
    cores: usize,
}

impl Replay {
    /// Empty caches of these sizes, rounded down to whole sets, for this many threads.
    pub fn new(sizes: &CacheSizes, threads: usize) -> Self {
        let cores = threads.clamp(1, CORES_MAX);
        let geometry = |bytes: u64, ways: u32| {
            let line_bytes = sizes.line_bytes;
            Geometry { sets: (bytes / line_bytes / u64::from(ways)).max(1), ways, line_bytes }
        };
        let private = geometry(sizes.core_bytes, PRIVATE_WAYS);
        let ways = sizes.ways.clamp(1, 64);
        let shared = geometry(sizes.last_level_bytes, ways);
        let caches = SHARES_PERCENT.map(|percent| {
            // Never a single way: everything that a scan loads would collide in it.
            let part = ((ways * percent + 50) / 100).clamp(2.min(ways), ways);
            let whole = SetSampling { one_in: 1 };
            (Hierarchy::new(cores, private, shared, Replacement::Rrip, false, whole), WayMask::run(0, part))
        });
        Self { caches, cores }
    }

    /// Simulates a load of a thread from `address`, which belongs to a structure.
    pub fn load(&mut self, thread: usize, address: u64, structure: &mut Hits) {
        structure.loads += 1;
        for (i, (cache, mask)) in self.caches.iter_mut().enumerate() {
            match cache.access(thread % self.cores, address, *mask) {
                Some(Level::Private) => structure.private[i] += 1,
                Some(Level::Shared) => structure.shared[i] += 1,
                Some(Level::Memory) => {}
                None => unreachable!("all sets are simulated"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: CacheSizes =
        CacheSizes { last_level_bytes: 1 << 20, ways: 20, core_bytes: 32 << 10, ..CacheSizes::ASSUMED };

    /// Hits of loads that walk through `bytes` several times.
    fn walk(bytes: u64, times: usize) -> Hits {
        let mut replay = Replay::new(&SIZES, 1);
        let mut hits = Hits::default();
        for _ in 0..times {
            for line in 0..bytes / SIZES.line_bytes {
                replay.load(0, line * SIZES.line_bytes, &mut hits);
            }
        }
        hits
    }

    #[test]
    fn what_fits_into_the_cores_cache_hits_there() {
        let hits = walk(16 << 10, 10);
        assert_eq!(hits.loads, 2_560);
        assert!(hits.private.iter().all(|&loads| loads == 2_560 - 256), "{hits:?}");
    }

    #[test]
    fn what_fits_the_whole_cache_only_needs_all_ways() {
        let hits = walk(768 << 10, 10);
        let ratios = [0, 1, 2].map(|i| hits.shared_ratio(i).unwrap());
        assert!(ratios[2] > 0.85 && ratios[0] < 0.2, "{ratios:?}");
        assert!(ratios[1] < ratios[2], "{ratios:?}");
        let costs = crate::model::Machine::of_the_thesis().costs;
        assert!(hits.nanos_per_load(0, &costs) > 2.0 * hits.nanos_per_load(2, &costs));
    }

    #[test]
    fn a_stream_misses_whatever_it_gets() {
        let hits = walk(64 << 20, 1);
        assert_eq!((hits.private, hits.shared), ([0; 3], [0; 3]));
        assert_eq!(hits.shared_ratio(2), Some(0.0));
        assert_eq!(Hits::default().shared_ratio(0), None);
    }
}
