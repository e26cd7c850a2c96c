//! Accounted memory that lives outside of pages.

use std::fmt;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};

use crate::owner::Owner;
use crate::pool::Pool;

/// A share of the memory limit, held until it is dropped: the accounting of a vector or hash table that its owner
/// allocates itself. It can't be evicted.
pub struct Reservation {
    pool: Arc<Pool>,
    owner: Option<Owner>,
    tag: MemoryTag,
    bytes: usize,
}

impl Reservation {
    /// A reservation of no bytes, which always succeeds.
    pub(crate) fn empty(pool: Arc<Pool>, owner: Option<Owner>, tag: MemoryTag) -> Self {
        Self { pool, owner, tag, bytes: 0 }
    }

    /// Number of reserved bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Changes the number of reserved bytes. Growing may evict pages; if it fails, the reservation stays as it was.
    /// Grow before allocating the memory, shrink after freeing it.
    pub fn resize(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.bytes {
            let more = (bytes - self.bytes) as u64;
            self.pool.take_room(more)?;
            self.pool.ledger.add_label(self.tag, self.owner.as_ref(), more);
            self.pool.trim_idle_frames();
        } else {
            let less = (self.bytes - bytes) as u64;
            self.pool.ledger.remove_label(self.tag, self.owner.as_ref(), less);
            self.pool.ledger.release_room(less);
        }
        self.bytes = bytes;
        Ok(())
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let bytes = self.bytes as u64;
        self.pool.ledger.remove_label(self.tag, self.owner.as_ref(), bytes);
        self.pool.ledger.release_room(bytes);
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reservation({} bytes, {})", self.bytes, self.tag)
    }
}
