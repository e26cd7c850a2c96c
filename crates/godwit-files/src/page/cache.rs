//! Decompressed pages of a file, kept in spare memory of the buffer pool.
//!
//! Decompression is about half of the work of a scan, so later queries on a column find its pages ready. Keeping a page
//! costs half as much again as decompressing it once with a fast codec, since it takes memory that the process hasn't
//! touched yet. So every page is kept when it is read for the second time. On first reading, while there is plenty of
//! memory, four kinds are kept: pages of which a sample is read (the scan will follow), pages of slow codecs,
//! dictionaries (most come along with [those of earlier row groups](super::dictionaries), and wait here), and
//! [a few](KEPT_AT_ONCE_ONE_IN) of the others. Pages of local files that are copied when they are decompressed, as
//! most pages of dictionary codes are, are [never](Keeping::Never) kept. A single pass over a large file costs little
//! and evicts nothing. The pool drops cached pages before it spills anything.

use std::collections::BTreeMap;
use std::collections::btree_map;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, CachedPage, PinnedPage, UnfilledPage};
use parking_lot::Mutex;

use super::{PAGES_TOGETHER, PageHeader};

/// Smaller pages decompress in less time than it takes to map memory for them.
const PAGE_BYTES_MIN: usize = 32 * 1024;

/// A page that takes more than this share of the limit isn't kept: it would evict all others, and soon be evicted.
const PAGE_SHARE_MIN: u64 = 16;

/// Sampling step: one in this many groups of pages of fast codecs is kept on its first reading. TPC-H's queries from
/// Snappy at scale factor 10, in new processes that run a query three times: with one in five, first runs take 0.96 of
/// the time that they take with one in three, second ones 1.1, third ones the same. Keeping the rest on the second and
/// the third reading made second runs no faster than with one in three, and third ones take 1.7 times as long.
const KEPT_AT_ONCE_ONE_IN: usize = 5;

/// Pages of a group, which are neighbours: the second reading finds several in a row that weren't kept, and can
/// decompress them together.
const KEPT_TOGETHER: usize = PAGES_TOGETHER;

/// Column chunks whose starts differ by less may begin with the same group.
const START_STEP_BYTES: usize = 4096;

/// Headers that are remembered of a file, at most: one to two megabytes.
const HEADERS_MAX: usize = 16 * 1024;

/// The cache of one open file, by the offset of the page header.
#[derive(Debug, Default)]
pub(crate) struct PageCache {
    /// At most one entry per page of the file.
    pages: Mutex<BTreeMap<u64, Entry>>,
    /// Headers and their sizes. Without them, walking to a page would read the file even if all its pages are cached.
    headers: Mutex<BTreeMap<u64, (PageHeader, usize)>>,
}

#[derive(Debug)]
enum Entry {
    /// Read once, not kept.
    Seen,
    /// In the pool, unless it has been dropped since.
    Cached(PageHeader, CachedPage, TextCheck),
}

/// When a page is kept.
#[derive(Debug, Clone, Copy)]
pub(super) enum Keeping {
    /// Never: copying it from the system's cache takes less than touching memory for it. TPC-H's queries at scale
    /// factor 10: with such pages kept as others are, first runs take 1.02 to 1.03 of the time, second ones 1.04, third
    /// ones 0.97.
    Never,
    /// On its second reading, or on its first one if the group of its place is in the sample.
    Sampled(PagePlace),
    /// On its first reading.
    AtOnce,
}

impl Keeping {
    /// Decides when a page is kept that is read at `place`; `at_once` if that is wanted on its first reading.
    pub(super) fn of(place: PagePlace, at_once: bool, is_copied: bool) -> Self {
        match (is_copied, at_once) {
            (true, _) => Keeping::Never,
            (false, true) => Keeping::AtOnce,
            (false, false) => Keeping::Sampled(place),
        }
    }
}

/// What is known of the place of a page.
#[derive(Debug, Clone, Copy)]
pub(super) enum PagePlace {
    /// Where the column chunk of a data page starts, and the page's number in it.
    Chunk { start: u64, index: usize },
    /// A dictionary, or a page of a chunk without an offset index.
    Unknown,
}

impl PagePlace {
    /// The number of the group of the page at `offset`.
    fn group(self, offset: u64) -> usize {
        let step = |offset: u64| offset as usize / START_STEP_BYTES;
        match self {
            // Columns and row groups begin with different ones, or short ones would be kept as a whole.
            PagePlace::Chunk { start, index } => index / KEPT_TOGETHER + step(start),
            PagePlace::Unknown => step(offset),
        }
    }
}

/// A page found in the cache, or just added to it.
pub(super) struct Found {
    pub header: PageHeader,
    pub page: PinnedPage,
    pub text_check: TextCheck,
}

/// Whether a page's texts are known to be UTF-8. Readers of a cached page share it, so only one of them checks.
#[derive(Debug, Clone, Default)]
pub(crate) struct TextCheck(Arc<AtomicBool>);

impl TextCheck {
    /// Returns true if the texts are UTF-8, according to `check` or an earlier check.
    pub(crate) fn passes(&self, check: impl FnOnce() -> bool) -> bool {
        // Nothing else is published along with it.
        let passes = self.0.load(Ordering::Relaxed) || check();
        self.0.store(passes, Ordering::Relaxed);
        passes
    }
}

impl PageCache {
    /// Returns the header at `offset` and its size, if it was noted.
    pub(super) fn header(&self, offset: u64) -> Option<(PageHeader, usize)> {
        self.headers.lock().get(&offset).copied()
    }

    /// Notes the header at `offset` and its size.
    pub(super) fn note_header(&self, offset: u64, header: (PageHeader, usize)) {
        let mut headers = self.headers.lock();
        if headers.len() < HEADERS_MAX {
            headers.insert(offset, header);
        }
    }

    /// Returns the page at `offset`, if it is cached.
    pub(super) fn get(&self, offset: u64) -> Option<Found> {
        match self.pages.lock().get(&offset) {
            Some(Entry::Cached(header, page, text_check)) => {
                Some(Found { header: *header, page: page.pin()?, text_check: text_check.clone() })
            }
            _ => None,
        }
    }

    /// Returns true if most of this range of the file is pages that are cached, and all that were read are. Tiny pages
    /// aren't known here, nor are those that weren't read yet.
    pub(crate) fn has_most_of(&self, range: &Range<u64>) -> bool {
        let pages = self.pages.lock();
        let mut cached_bytes = 0;
        let is_cached = pages.range(range.clone()).all(|(_, entry)| match entry {
            Entry::Cached(header, page, _) if page.is_loaded() => {
                cached_bytes += header.compressed_bytes as u64;
                true
            }
            Entry::Cached(..) | Entry::Seen => false,
        });
        is_cached && cached_bytes > 0 && cached_bytes >= (range.end - range.start) / 2
    }

    /// Returns room for the page at `offset`, if it is to be kept now and there is memory to spare: plenty of it if
    /// this is its first reading.
    pub(super) fn room(
        &self,
        offset: u64,
        header: &PageHeader,
        keeping: Keeping,
        memory: &BufferManager,
    ) -> Result<Option<UnfilledPage>> {
        let is_usual = |bytes: usize| bytes >= PAGE_BYTES_MIN && bytes as u64 <= memory.memory_limit() / PAGE_SHARE_MIN;
        if !is_usual(header.uncompressed_bytes) {
            return Ok(None);
        }
        let is_first = match self.pages.lock().entry(offset) {
            btree_map::Entry::Vacant(unknown) => {
                unknown.insert(Entry::Seen);
                true
            }
            // Another worker may have just cached it.
            btree_map::Entry::Occupied(_) => false,
        };
        let is_plenty = || memory.available_bytes() >= memory.memory_limit() / 2;
        let is_wanted = match keeping {
            Keeping::Never => false,
            Keeping::AtOnce => true,
            Keeping::Sampled(place) => !is_first || place.group(offset).is_multiple_of(KEPT_AT_ONCE_ONE_IN),
        };
        if !is_wanted || is_first && !is_plenty() {
            return Ok(None);
        }
        memory.room_to_cache(header.uncompressed_bytes, MemoryTag::Reader)
    }

    /// Keeps the page at `offset`, which was decompressed into `room`.
    pub(super) fn keep(&self, offset: u64, header: PageHeader, room: UnfilledPage) -> Found {
        let (cached, page) = room.finish();
        let text_check = TextCheck::default();
        self.pages.lock().insert(offset, Entry::Cached(header, cached, text_check.clone()));
        Found { header, page, text_check }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::header::{PageKind, ValueEncoding};
    use crate::test_scan::memory;

    const BYTES: usize = 64 << 10;

    fn header() -> PageHeader {
        PageHeader {
            kind: PageKind::DataV1,
            values: 1,
            encoding: ValueEncoding::Plain,
            compressed_bytes: BYTES,
            uncompressed_bytes: BYTES,
        }
    }

    fn read(cache: &PageCache, offset: u64, memory: &BufferManager) {
        let header = header();
        let keeping = Keeping::Sampled(PagePlace::Unknown);
        if let Some(mut room) = cache.room(offset, &header, keeping, memory).unwrap() {
            room.as_mut_slice().fill(1);
            drop(cache.keep(offset, header, room));
        }
    }

    #[test]
    fn groups_of_pages_are_kept_on_their_first_reading() {
        let (cache, memory) = (PageCache::default(), memory());
        let kept = |start: u64| -> Vec<usize> {
            let is_kept = |&index: &usize| {
                let place = PagePlace::Chunk { start, index };
                let keeping = Keeping::Sampled(place);
                cache.room(start + index as u64, &header(), keeping, &memory).unwrap().is_some()
            };
            (0..18).filter(is_kept).collect()
        };
        assert_eq!(kept(0), [0, 1, 2, 15, 16, 17]);
        assert_eq!(kept(START_STEP_BYTES as u64), [12, 13, 14]);
    }

    #[test]
    fn pages_are_kept_on_their_second_reading_or_at_once_or_never() {
        let (cache, memory) = (PageCache::default(), memory());
        let is_kept = |offset: u64, at_once: bool, is_copied: bool| {
            let keeping = Keeping::of(PagePlace::Chunk { start: 0, index: KEPT_TOGETHER }, at_once, is_copied);
            [(); 3].map(|()| cache.room(offset, &header(), keeping, &memory).unwrap().is_some())
        };
        assert_eq!(is_kept(0, false, false), [false, true, true]);
        assert_eq!(is_kept(1, true, false), [true; 3]);
        assert_eq!(is_kept(2, true, true), [false; 3]);
    }

    #[test]
    fn headers_are_noted_up_to_a_number() {
        let cache = PageCache::default();
        (0..2 * HEADERS_MAX as u64).for_each(|offset| cache.note_header(offset, (header(), offset as usize)));
        assert_eq!(cache.header(5), Some((header(), 5)));
        assert_eq!(cache.header(HEADERS_MAX as u64), None);
    }

    #[test]
    fn bytes_whose_pages_are_all_cached() {
        let (cache, memory) = (PageCache::default(), memory());
        let range = 100..100 + 4 * BYTES as u64;
        assert!(!cache.has_most_of(&range), "nothing was read");
        let offsets = || range.clone().step_by(BYTES);
        offsets().for_each(|offset| read(&cache, offset, &memory));
        assert!(!cache.has_most_of(&range), "some were seen once");
        offsets().for_each(|offset| read(&cache, offset, &memory));
        assert!(cache.has_most_of(&range) && cache.has_most_of(&(range.start..range.start + 1)));
        assert!(!cache.has_most_of(&(range.end..range.end + 1)), "no page begins there");
        assert!(!cache.has_most_of(&(range.start..range.end + 10 * BYTES as u64)), "most of it wasn't read");
        // Everything else needs the memory.
        let everything = memory.memory_limit() - BYTES as u64;
        let _reservation = memory.reserve(everything as usize, MemoryTag::Reader).unwrap();
        assert!(!cache.has_most_of(&range), "some were dropped");
    }
}
