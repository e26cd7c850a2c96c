//! Which owners hold unpinned pages: computed on demand, so that pinning and unpinning don't pay for it.

use std::collections::HashMap;
use std::sync::Arc;

use godwit_common::MemoryTag;

use crate::object::{Object, ObjectId};
use crate::owner::{Owner, OwnerCounters, owners};
use crate::queue::EvictionQueue;

/// Bytes by tag; the index is `tag as usize`.
type TagBytes = [u64; MemoryTag::COUNT];

/// Bytes of loaded pages without a pin at one moment: of the pool, and of each owner.
#[derive(Debug, Default)]
pub struct EvictableBytes {
    total: TagBytes,
    /// By address of the owner's counters.
    by_owner: HashMap<usize, TagBytes>,
    by_object: HashMap<ObjectId, u64>,
}

impl EvictableBytes {
    pub(crate) fn in_queue(queue: &EvictionQueue) -> Self {
        let mut found = Self::default();
        // Every page that can go has an entry.
        for page in queue.pages().iter().filter(|page| page.state.is_evictable()) {
            let (tag, bytes) = (page.tag as usize, page.charged_bytes() as u64);
            found.total[tag] += bytes;
            if let Some(object) = page.owner.as_ref().and_then(Owner::object) {
                *found.by_object.entry(object.id()).or_default() += bytes;
            }
            for owner in owners(page.owner.as_ref()) {
                found.by_owner.entry(Arc::as_ptr(owner).addr()).or_default()[tag] += bytes;
            }
        }
        found
    }

    /// The pool's evictable bytes.
    pub fn total(&self) -> TagBytes {
        self.total
    }

    /// An owner's evictable bytes.
    pub fn of(&self, owner: &Arc<OwnerCounters>) -> TagBytes {
        self.by_owner.get(&Arc::as_ptr(owner).addr()).copied().unwrap_or_default()
    }

    /// An object's evictable bytes.
    pub fn of_object(&self, object: &Object) -> u64 {
        self.by_object.get(&object.id()).copied().unwrap_or(0)
    }
}
