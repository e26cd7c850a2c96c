//! How work uses the last-level cache, and the class that follows from it.

use crate::machine::CacheSizes;

/// What an operator, a pipeline or a job says about its use of the last-level cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheUsage {
    /// Reads or writes much, each place once: scans, streaming writes. Needs no cache, and spoils it for others.
    Polluting,
    /// Comes back to what it has read: hash tables, dictionaries. The default, so that nothing loses by saying nothing.
    #[default]
    Sensitive,
    /// Streams, and looks up one structure at random places, such as the bit vector of a foreign-key join: sensitive
    /// only if that is about as large as the cache.
    Depends {
        /// Size of the structure (all of it, whoever shares it).
        bytes: u64,
    },
}

impl CacheUsage {
    /// The usage of two operators that run in turn on the same thread, as those of a pipeline: the needier one counts,
    /// and sizes add up.
    pub fn with(self, other: Self) -> Self {
        use CacheUsage::{Depends, Polluting, Sensitive};
        match (self, other) {
            (Sensitive, _) | (_, Sensitive) => Sensitive,
            (Depends { bytes: a }, Depends { bytes: b }) => Depends { bytes: a.saturating_add(b) },
            (depends @ Depends { .. }, Polluting) | (Polluting, depends) => depends,
        }
    }
}

/// The share of the last-level cache that a thread may fill. It may *hit* in all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheClass {
    /// 10 % of the ways, at least two.
    Polluting,
    /// 60 % of the ways, none of them a polluting one.
    Comparable,
    /// What the process has without partitioning; all of the cache unless an administrator decided otherwise.
    #[default]
    Sensitive,
}

/// A structure up to this part of the cache stays in the ways of the polluting class (10 %), although a stream passes
/// through the same ways: half of them.
const UNDISTURBED_PART: u64 = 20;

impl CacheSizes {
    /// The class of a usage on this machine. What depends on a size is *comparable* if it neither fits a core's own
    /// cache or half of the polluting ways, nor exceeds the last-level cache; then more ways would hardly help.
    pub fn class_of(&self, usage: CacheUsage) -> CacheClass {
        match usage {
            CacheUsage::Polluting => CacheClass::Polluting,
            CacheUsage::Sensitive => CacheClass::Sensitive,
            CacheUsage::Depends { bytes } => {
                let small = self.core_bytes.max(self.last_level_bytes / UNDISTURBED_PART);
                if bytes > small && bytes <= self.last_level_bytes {
                    CacheClass::Comparable
                } else {
                    CacheClass::Polluting
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CacheUsage::{Depends, Polluting, Sensitive};

    /// The thesis's machine: 55 MiB, 256 KiB per core.
    const XEON: CacheSizes = CacheSizes { last_level_bytes: 55 << 20, core_bytes: 256 << 10, ..CacheSizes::ASSUMED };

    #[test]
    fn bit_vectors_of_the_thesis() {
        for (keys, expected) in [
            (1_000_000u64, CacheClass::Polluting),
            (10_000_000, CacheClass::Polluting),
            (100_000_000, CacheClass::Comparable),
            (1_000_000_000, CacheClass::Polluting),
        ] {
            assert_eq!(XEON.class_of(Depends { bytes: keys / 8 }), expected, "{keys} keys");
        }
        assert_eq!(XEON.class_of(Polluting), CacheClass::Polluting);
        assert_eq!(XEON.class_of(Sensitive), CacheClass::Sensitive);
    }

    #[test]
    fn thresholds_are_exact() {
        let class = |caches: CacheSizes, bytes| caches.class_of(Depends { bytes });
        let lower = (55 << 20) / 20;
        assert_eq!(class(XEON, 0), CacheClass::Polluting);
        assert_eq!(class(XEON, lower), CacheClass::Polluting);
        assert_eq!(class(XEON, lower + 1), CacheClass::Comparable);
        assert_eq!(class(XEON, 55 << 20), CacheClass::Comparable);
        assert_eq!(class(XEON, (55 << 20) + 1), CacheClass::Polluting);
        assert_eq!(class(XEON, u64::MAX), CacheClass::Polluting);
        // What fits a core's own cache needs no other.
        let large_cores = CacheSizes { core_bytes: 4 << 20, ..XEON };
        assert_eq!(class(large_cores, 4 << 20), CacheClass::Polluting);
        assert_eq!(class(large_cores, (4 << 20) + 1), CacheClass::Comparable);
    }

    #[test]
    fn the_needier_operator_of_a_pipeline_counts() {
        let depends = |bytes| Depends { bytes };
        for (a, b, expected) in [
            (Polluting, Polluting, Polluting),
            (Polluting, Sensitive, Sensitive),
            (depends(7), Sensitive, Sensitive),
            (depends(7), Polluting, depends(7)),
            (depends(7), depends(8), depends(15)),
            (depends(u64::MAX), depends(8), depends(u64::MAX)),
        ] {
            assert_eq!(a.with(b), expected);
            assert_eq!(b.with(a), expected);
        }
        assert_eq!(CacheUsage::default(), Sensitive);
    }
}
