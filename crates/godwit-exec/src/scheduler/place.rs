//! The share of the last-level cache that a worker's thread is in, and the class of a pipeline.

use std::sync::Arc;

use godwit_cache::{CacheClass, CachePartitioning, CacheSizes, ThreadPlace};
use godwit_pipeline::{CacheDecision, Pipeline, QueryContext};

/// The place of a worker's thread: in the partitions of the query that it worked for last.
#[derive(Default)]
pub(super) struct WorkerPlace(Option<ThreadPlace>);

impl WorkerPlace {
    /// Called before a quantum of work for `query`: the thread moves only if it is in another class.
    pub(super) fn enter(&mut self, query: &QueryContext, class: CacheClass) {
        let partitioning = query.settings.cache.as_ref();
        let stays = match (&self.0, partitioning) {
            (Some(place), Some(partitioning)) => place.belongs_to(partitioning),
            (None, None) => true,
            _ => false,
        };
        if !stays {
            // The thread returns home before it moves elsewhere.
            self.0 = None;
            self.0 = partitioning.map(CachePartitioning::thread);
        }
        if let Some(place) = &mut self.0 {
            place.enter(class);
        }
    }
}

/// The class of a pipeline whose source has started; computed only for a profile or a partitioned cache.
pub(super) fn class_of(pipeline: &Pipeline, query: &Arc<QueryContext>) -> CacheClass {
    let caches = CacheSizes::of_this_machine();
    match (query.settings.profile, &query.settings.cache) {
        (true, _) => {
            let decision = CacheDecision::of(pipeline, &caches);
            let class = decision.class;
            query.note_cache(decision);
            class
        }
        (false, Some(_)) => pipeline.cache_class(&caches),
        (false, None) => CacheClass::default(),
    }
}
