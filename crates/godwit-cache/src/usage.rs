//! How work uses the last-level cache, and the resulting class.

use std::fmt;

use crate::machine::CacheSizes;

/// How an operator, a pipeline or a job uses the last-level cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheUsage {
    /// Reads or writes a lot of data, each byte once: scans, streaming writes. Doesn't need the cache, and spoils it
    /// for others.
    Polluting,
    /// Comes back to what it has read: hash tables, dictionaries. The default, so that nothing loses by not declaring
    /// its usage.
    #[default]
    Sensitive,
    /// Streams, and looks up random positions in one structure, such as the bit vector of a foreign-key join: sensitive
    /// only if that is about as large as the cache.
    Depends {
        /// Size of the whole structure, no matter who shares it.
        bytes: u64,
    },
    /// Streams, and reads random rows of a hash table or random entries of a dictionary, each a line or more:
    /// sensitive, unless the size is known to be so small or so large that the share of the cache hardly matters.
    Table {
        /// Size of the table with its rows, or of the dictionary.
        bytes: u64,
    },
}

impl CacheUsage {
    /// Size of the structure that is looked up at random, if it matters.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Polluting | Self::Sensitive => 0,
            Self::Depends { bytes } | Self::Table { bytes } => bytes,
        }
    }

    /// The usage of two operators that run in turn on the same thread: the needier one counts, and sizes add up.
    fn with(self, other: Self) -> Self {
        use CacheUsage::{Depends, Polluting, Sensitive, Table};
        let bytes = self.bytes().saturating_add(other.bytes());
        match (self, other) {
            (Sensitive, _) | (_, Sensitive) => Sensitive,
            (Table { .. }, _) | (_, Table { .. }) => Table { bytes },
            (Depends { .. }, _) | (_, Depends { .. }) => Depends { bytes },
            (Polluting, Polluting) => Polluting,
        }
    }
}

impl fmt::Display for CacheUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Polluting => "polluting",
            Self::Sensitive => "sensitive",
            Self::Depends { .. } => "depends",
            Self::Table { .. } => "table",
        })
    }
}

/// The share of the last-level cache that a thread may fill. It may *hit* in all of it.
///
/// In the order of need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CacheClass {
    /// 10 % of the ways, at least two.
    Polluting,
    /// 60 % of the ways, none of them a polluting one.
    Comparable,
    /// What the process has without partitioning; all of the cache unless an administrator decided otherwise.
    #[default]
    Sensitive,
}

impl CacheClass {
    /// "polluting", "comparable", "sensitive".
    pub fn name(self) -> &'static str {
        match self {
            Self::Polluting => "polluting",
            Self::Comparable => "comparable",
            Self::Sensitive => "sensitive",
        }
    }
}

/// A structure up to this fraction of the cache, half of the polluting class's ways (10 %), stays in these ways
/// although a stream passes through them.
const UNDISTURBED_PART: u64 = 20;
/// With a table of this many times the cache's size, at most an eighth of the lookups hit, even with the whole cache.
const TABLE_CACHES_MAX: u64 = 8;

impl CacheSizes {
    /// The class of a usage on this machine. A usage that depends on a size is *comparable* if the structure neither
    /// fits in a core's own cache or half of the polluting ways, nor exceeds the last-level cache; beyond that, more
    /// ways would hardly help. A table keeps all ways until it exceeds the cache many times over: its rows are seldom
    /// used equally often.
    pub fn class_of(&self, usage: CacheUsage) -> CacheClass {
        let small = self.core_bytes.max(self.last_level_bytes / UNDISTURBED_PART);
        let is_between = |bytes, most| bytes > small && bytes <= most;
        match usage {
            CacheUsage::Sensitive => CacheClass::Sensitive,
            CacheUsage::Depends { bytes } if is_between(bytes, self.last_level_bytes) => CacheClass::Comparable,
            CacheUsage::Table { bytes } if is_between(bytes, TABLE_CACHES_MAX * self.last_level_bytes) => {
                CacheClass::Sensitive
            }
            CacheUsage::Polluting | CacheUsage::Depends { .. } | CacheUsage::Table { .. } => CacheClass::Polluting,
        }
    }

    /// The class of operators that run in turn on the same thread, as those of a pipeline: that of the neediest.
    /// Structures that are small individually may need more together; one that exceeds the cache is counted on its own,
    /// because hardly any of it is kept there.
    pub fn class_of_all(&self, usages: &[CacheUsage]) -> CacheClass {
        let alone = usages.iter().map(|&usage| self.class_of(usage)).max().unwrap_or_default();
        let kept = usages.iter().filter(|usage| usage.bytes() <= self.last_level_bytes);
        alone.max(self.class_of(kept.fold(CacheUsage::Polluting, |all, &usage| all.with(usage))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CacheUsage::{Depends, Polluting, Sensitive, Table};

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
        // A structure that fits in a core's own cache needs no other.
        let large_cores = CacheSizes { core_bytes: 4 << 20, ..XEON };
        assert_eq!(class(large_cores, 4 << 20), CacheClass::Polluting);
        assert_eq!(class(large_cores, (4 << 20) + 1), CacheClass::Comparable);
    }

    #[test]
    fn tables_need_all_ways_unless_tiny_or_huge() {
        let class = |bytes| XEON.class_of(Table { bytes });
        let lower = (55 << 20) / 20;
        assert_eq!([lower, lower + 1].map(class), [CacheClass::Polluting, CacheClass::Sensitive]);
        assert_eq!([8 * (55 << 20), 8 * (55 << 20) + 1].map(class), [CacheClass::Sensitive, CacheClass::Polluting]);
    }

    #[test]
    fn the_neediest_operator_of_a_pipeline_counts() {
        let (depends, table) = (|mib: u64| Depends { bytes: mib << 20 }, |mib: u64| Table { bytes: mib << 20 });
        for (usages, expected) in [
            (vec![Polluting, Polluting], CacheClass::Polluting),
            (vec![Polluting, Sensitive], CacheClass::Sensitive),
            (vec![depends(30), Sensitive], CacheClass::Sensitive),
            (vec![depends(30), Polluting], CacheClass::Comparable),
            // Small individually, but not together.
            (vec![depends(2), depends(2)], CacheClass::Comparable),
            (vec![table(2), depends(2)], CacheClass::Sensitive),
            // A structure that can't be kept doesn't hide one that can.
            (vec![depends(30), depends(1 << 20)], CacheClass::Comparable),
            (vec![depends(30), depends(30)], CacheClass::Comparable),
            (vec![table(1 << 20), table(30)], CacheClass::Sensitive),
            (vec![depends(u64::MAX >> 20), depends(u64::MAX >> 20)], CacheClass::Polluting),
        ] {
            assert_eq!(XEON.class_of_all(&usages), expected, "{usages:?}");
        }
        assert_eq!(CacheUsage::default(), Sensitive);
    }
}
