//! How operators use the last-level cache, and the resulting class of a pipeline.
//!
//! A worker runs the operators of a pipeline in turn, chunk by chunk, so they share a class: that of the neediest, just
//! as Stefan Noll ("Resource-Efficient Data Processing", section 4.4) gives the whole cache to a query that scans *and*
//! groups. Conversely, confining a grouping because it reads from a scan would slow down the query itself for the
//! benefit of others; a scan that isn't confined costs others no more than it does today. Operators are asked when
//! their pipeline is launched, because the sizes of tables are known by then.
//!
//! | | says |
//! |---|---|
//! | scans | polluting; filters from joins depend; dictionaries of text columns, which operators after it look up, are a table |
//! | streaming operators, sinks that append rows, results, files | polluting: they see chunks, which stay in a core's own cache |
//! | probes, building a table | a table; bit vectors and arrays by key depend |
//! | grouping | sensitive; arrays by key depend, one group of all rows is polluting |
//! | all others | sensitive |

use std::fmt;

use godwit_cache::{CacheClass, CacheSizes, CacheUsage};
use godwit_common::format_bytes;

use crate::Pipeline;

/// How an operator uses the cache, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheUse {
    /// How.
    pub usage: CacheUsage,
    /// Why: completes a sentence that starts with the operator.
    pub why: &'static str,
}

impl CacheUse {
    /// For an operator that doesn't say.
    pub const UNKNOWN: Self = Self { usage: CacheUsage::Sensitive, why: "may come back to what it has read" };

    /// For a streaming operator.
    pub const CHUNKS: Self =
        Self { usage: CacheUsage::Polluting, why: "works on chunks, which stay in a core's own cache" };

    /// For a sink that collects rows.
    pub const APPENDS: Self = Self { usage: CacheUsage::Polluting, why: "appends rows to pages" };

    /// For a source of collected rows.
    pub const READS: Self = Self { usage: CacheUsage::Polluting, why: "reads each row once" };

    /// Uses each memory location once.
    pub fn polluting(why: &'static str) -> Self {
        Self { usage: CacheUsage::Polluting, why }
    }

    /// Comes back to what it has read, however large that becomes.
    pub fn sensitive(why: &'static str) -> Self {
        Self { usage: CacheUsage::Sensitive, why }
    }

    /// Looks up bits or slots of one structure.
    pub fn depends(bytes: u64, why: &'static str) -> Self {
        Self { usage: CacheUsage::Depends { bytes }, why }
    }

    /// Looks up rows or entries of a table.
    pub fn table(bytes: u64, why: &'static str) -> Self {
        Self { usage: CacheUsage::Table { bytes }, why }
    }
}

impl fmt::Display for CacheUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.usage {
            CacheUsage::Polluting | CacheUsage::Sensitive => f.write_str(self.why),
            CacheUsage::Depends { bytes } | CacheUsage::Table { bytes } => {
                write!(f, "{} of {}", self.why, format_bytes(bytes))
            }
        }
    }
}

/// The class of a pipeline, and its operators' cache uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheDecision {
    /// The class that its workers enter.
    pub class: CacheClass,
    /// By operator, from the source to the sink: what `EXPLAIN` shows, and its use.
    pub operators: Vec<(String, CacheUse)>,
}

impl CacheDecision {
    /// For a pipeline whose source has started.
    pub fn of(pipeline: &Pipeline, caches: &CacheSizes) -> Self {
        let operators = pipeline.operators().map(|(metrics, used)| (metrics.name().to_owned(), used));
        Self { class: pipeline.cache_class(caches), operators: operators.collect() }
    }

    /// The operators that have the class of the pipeline by themselves, or all of them if only several together do.
    pub fn neediest(&self, caches: &CacheSizes) -> Vec<&(String, CacheUse)> {
        let alone = self.operators.iter().filter(|(_, used)| caches.class_of(used.usage) == self.class);
        let alone: Vec<_> = alone.collect();
        if alone.is_empty() { self.operators.iter().collect() } else { alone }
    }
}

impl Pipeline {
    /// The class that its workers enter; its source has started.
    pub fn cache_class(&self, caches: &CacheSizes) -> CacheClass {
        let usages: Vec<CacheUsage> = self.operators().map(|(_, used)| used.usage).collect();
        caches.class_of_all(&usages)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHES: CacheSizes = CacheSizes { last_level_bytes: 32 << 20, core_bytes: 1 << 20, ..CacheSizes::ASSUMED };

    fn decision(operators: &[(&str, CacheUse)]) -> CacheDecision {
        let usages: Vec<CacheUsage> = operators.iter().map(|(_, used)| used.usage).collect();
        let operators = operators.iter().map(|&(name, used)| (name.to_owned(), used)).collect();
        CacheDecision { class: CACHES.class_of_all(&usages), operators }
    }

    #[test]
    fn the_neediest_are_those_that_decide() {
        let scan = ("Scan", CacheUse::polluting("reads each value once"));
        let probe = |mib: u64| ("HashJoin", CacheUse::table(mib << 20, "looks up rows in a hash table"));
        let names = |decision: &CacheDecision| {
            let neediest = decision.neediest(&CACHES);
            neediest.iter().map(|(name, used)| format!("{name} {used}")).collect::<Vec<_>>()
        };
        let alone = decision(&[scan, probe(20), probe(1)]);
        assert_eq!(alone.class, CacheClass::Sensitive);
        assert_eq!(names(&alone), ["HashJoin looks up rows in a hash table of 20.0 MiB"]);
        // No table is large enough alone.
        let together = decision(&[scan, probe(1), probe(1)]);
        assert_eq!((together.class, names(&together).len()), (CacheClass::Sensitive, 3));
        let streams = decision(&[scan]);
        assert_eq!(
            (streams.class, names(&streams)),
            (CacheClass::Polluting, vec!["Scan reads each value once".into()])
        );
    }
}
