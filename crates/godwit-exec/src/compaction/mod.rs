//! Compaction: small chunks are copied together where processing them one by one would cost more than the copy.
//!
//! ```text
//! Scan ─▶ Filter ─▶ (compactor 1) ─▶ probe ─▶ (compactor 2) ─▶ probe ─▶ Sink
//!                    │  rows ≤ threshold: into the buffer; buffer nearly full: one large chunk
//!                    │  more rows: pass
//!                    └─ latency of all that follows ─▶ Learner of compactor 1, shared by the workers
//! ```
//!
//! An operator that *reduces* chunks (a filter, a probe) is followed by a compactor if others follow it before the
//! sink. The threshold is fixed (`binary`, `full`), computed from a cost model (`dynamic`), or learned from latencies
//! (`learning`). With `logical` and `smart` the probe itself combines the results of a probed chunk by selections,
//! without copying the probe side (see `hash_join::prober`).
//!
//! Nothing is compacted before a sink, nor where a LIMIT follows: held-back rows would keep it from stopping the scan
//! early.
//!
//! Source: "Data Chunk Compaction in Vectorized Execution"; section numbers refer to it.

mod compactor;
mod config;
mod deferral;
mod learner;
mod model;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use godwit_pipeline::{ChunkEffect, Compaction, Source, Transform};

use compactor::Compactor;
use model::Traffic;

/// Puts compactors behind the operators of a pipeline that reduce chunks.
pub(crate) fn insert_compactors(
    source: &Arc<dyn Source>,
    transforms: Vec<Arc<dyn Transform>>,
    compaction: Compaction,
) -> Vec<Arc<dyn Transform>> {
    let effects: Vec<ChunkEffect> =
        std::iter::once(source.effect()).chain(transforms.iter().map(|transform| transform.effect())).collect();
    // Behind the last limit, and not before the sink.
    let first = effects.iter().rposition(|&effect| effect == ChunkEffect::Limits).unwrap_or(0);
    let places: Vec<usize> =
        (first..transforms.len()).filter(|&place| effects[place] == ChunkEffect::Reduces).collect();
    if !compaction.copies() || places.is_empty() {
        return transforms;
    }
    let traffic = Arc::new(Traffic::new(places.iter().map(|place| transforms.len() - place).collect()));
    let mut before = source.metrics().clone();
    let mut compacted: Vec<Arc<dyn Transform>> = Vec::with_capacity(transforms.len() + places.len());
    for (place, transform) in transforms.into_iter().enumerate() {
        let metrics = std::mem::replace(&mut before, transform.metrics().clone());
        if let Ok(point) = places.binary_search(&place) {
            compacted.push(Compactor::new(compaction, traffic.clone(), point, source.is_ordered(), metrics));
        }
        compacted.push(transform);
    }
    compacted
}
