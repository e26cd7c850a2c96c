//! Fault injection for tests: makes requests for memory fail.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counts the requests for memory of a pool, and fails one of them as if nothing could be spilled. Clones share the
/// count.
#[derive(Debug, Clone, Default)]
pub struct RequestFaults(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    requests: AtomicU64,
    /// The request that fails; 0: none.
    failing: AtomicU64,
}

impl RequestFaults {
    /// Number of requests so far.
    pub fn requests(&self) -> u64 {
        self.0.requests.load(Relaxed)
    }

    /// Makes the `request`-th request from now fail, counting from 1, instead of one planned earlier; 0: none.
    pub fn fail(&self, request: u64) {
        let at = if request == 0 { 0 } else { self.requests() + request };
        self.0.failing.store(at, Relaxed);
    }

    /// Counts a request; returns true if it should fail.
    pub(crate) fn strike(&self) -> bool {
        self.0.requests.fetch_add(1, Relaxed) + 1 == self.0.failing.load(Relaxed)
    }
}
