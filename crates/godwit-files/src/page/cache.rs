//! Decompressed pages of a file, kept in spare room of the buffer pool.
//!
//! Decompression is about half of the work of a scan, so queries that come back to a column find its pages ready. A page
//! is cached when it is read for the second time: what is read once, as in one pass over a large file, costs nothing and
//! pushes nothing out. The pool drops cached pages before it writes any intermediate to disk.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, CachedPage, CachedPageRoom, PinnedPage};
use parking_lot::Mutex;

use super::PageHeader;

/// Smaller pages decompress in less time than it takes to map memory for them.
const PAGE_BYTES_MIN: usize = 32 * 1024;

/// The cache of one open file, by the offset of the page's header. At most one entry per page of the file.
#[derive(Debug, Default)]
pub(crate) struct PageCache(Mutex<HashMap<u64, Entry>>);

#[derive(Debug)]
enum Entry {
    /// Read once.
    Seen,
    /// In the pool, unless it was dropped since.
    Cached(PageHeader, CachedPage, TextCheck),
}

/// A page that was in the cache, or is now.
pub(super) struct Found {
    pub header: PageHeader,
    pub page: PinnedPage,
    pub text_check: TextCheck,
}

/// Whether the texts of a page were found to be UTF-8. Readers of a cached page share it: one of them looks.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextCheck(Arc<AtomicBool>);

impl TextCheck {
    /// True if the texts are UTF-8: by `check`, or because it said so before.
    pub(crate) fn passes(&self, check: impl FnOnce() -> bool) -> bool {
        // Nothing else is published with it.
        let passes = self.0.load(Ordering::Relaxed) || check();
        self.0.store(passes, Ordering::Relaxed);
        passes
    }
}

impl PageCache {
    /// The page at `offset`, if it is there.
    pub(super) fn get(&self, offset: u64) -> Option<Found> {
        match self.0.lock().get(&offset) {
            Some(Entry::Cached(header, page, text_check)) => {
                Some(Found { header: *header, page: page.pin()?, text_check: text_check.clone() })
            }
            _ => None,
        }
    }

    /// Room for the page at `offset`, if it is worth caching and there is room to spare.
    pub(super) fn room(
        &self,
        offset: u64,
        header: &PageHeader,
        memory: &BufferManager,
    ) -> Result<Option<CachedPageRoom>> {
        if header.uncompressed_bytes < PAGE_BYTES_MIN || self.0.lock().insert(offset, Entry::Seen).is_none() {
            return Ok(None);
        }
        memory.room_to_cache(header.uncompressed_bytes, MemoryTag::Reader)
    }

    /// Keeps the page at `offset` that `room` was filled with.
    pub(super) fn keep(&self, offset: u64, header: PageHeader, room: CachedPageRoom) -> Found {
        let (cached, page) = room.finish();
        let text_check = TextCheck::default();
        self.0.lock().insert(offset, Entry::Cached(header, cached, text_check.clone()));
        Found { header, page, text_check }
    }
}
