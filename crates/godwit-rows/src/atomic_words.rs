//! Zeroed arrays of atomic words: entries of hash tables, bit vectors, Bloom filters.

use std::sync::atomic::AtomicU64;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, PinnedPage};

/// A fixed number of 64-bit words that many workers write concurrently. Stored in one pinned large page: zeroed lazily
/// by the system, on huge pages, accounted for by the buffer manager, freed when dropped.
pub struct AtomicWords {
    /// `None` if there are no words.
    page: Option<PinnedPage>,
    len: usize,
}

impl AtomicWords {
    /// `len` zeros.
    pub fn zeroed(len: usize, manager: &BufferManager, tag: MemoryTag) -> Result<Self> {
        let bytes = len * size_of::<u64>();
        let page = if len == 0 { None } else { Some(manager.allocate_large(bytes, tag)?) };
        assert!(page.as_ref().is_none_or(|page| page.len() >= bytes));
        Ok(Self { page, len })
    }

    /// The words.
    #[inline]
    pub fn as_slice(&self) -> &[AtomicU64] {
        match &self.page {
            None => &[],
            // SAFETY: the page is aligned to 4 KiB, holds `len` initialized words and stays pinned, at this address,
            // as long as `self`; nobody else has it, and all access through the slice is atomic.
            Some(page) => unsafe { std::slice::from_raw_parts(page.as_ptr().cast::<AtomicU64>(), self.len) },
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<u64>()
    }
}
