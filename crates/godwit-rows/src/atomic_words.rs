//! Zeroed arrays of atomic words: entries of hash tables, bit vectors, Bloom filters.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, PinnedPage};

/// A fixed number of 64-bit words that many workers write concurrently. Stored in one pinned large page: zeroed lazily
/// by the system, on huge pages where they pay off, accounted for by the buffer manager, freed when dropped.
pub struct AtomicWords {
    /// `None` if there are no words.
    page: Option<PinnedPage>,
    len: usize,
    /// The words before this one are resident, or about to be.
    resident: AtomicUsize,
    /// How many are expected to be changed.
    changes: usize,
}

/// Words in a page of the system.
const SYSTEM_PAGE_WORDS: usize = 4096 / size_of::<u64>();

/// Words that a thread makes resident at once: a huge page, which would be cleared twice if two threads met in it.
const RESIDENT_STEP_WORDS: usize = if cfg!(miri) { 4096 } else { 2 << 20 } / size_of::<u64>();

impl AtomicWords {
    /// `len` zeros, of which about `changes`, anywhere, will be changed.
    pub fn zeroed(len: usize, changes: usize, manager: &BufferManager, tag: MemoryTag) -> Result<Self> {
        let bytes = len * size_of::<u64>();
        let page = if len == 0 { None } else { Some(manager.allocate_large(bytes, tag)?) };
        assert!(page.as_ref().is_none_or(|page| page.len() >= bytes));
        Ok(Self { page, len, resident: AtomicUsize::new(0), changes })
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

    /// Makes the words resident, together with the other threads that call this, unless the changes to come would leave
    /// most of them alone. To be called before words are read in order to be changed: the first read of a page maps the
    /// system's page of zeros, and the first write then has to take it away from all processors, which costs several
    /// times what a write alone does.
    #[inline]
    pub fn make_resident(&self) {
        if self.resident.load(Ordering::Relaxed) < self.len && self.changes >= self.len / SYSTEM_PAGE_WORDS {
            self.share_making_resident();
        }
    }

    #[cold]
    fn share_making_resident(&self) {
        loop {
            let from = self.resident.fetch_add(RESIDENT_STEP_WORDS, Ordering::Relaxed);
            let Some(words) = self.as_slice().get(from..) else { return };
            let words = &words[..words.len().min(RESIDENT_STEP_WORDS)];
            for word in words.iter().step_by(SYSTEM_PAGE_WORDS) {
                // A write whatever the word is; `fetch_or(0)` may be compiled to a read.
                let _ = word.compare_exchange(0, 0, Ordering::Relaxed, Ordering::Relaxed);
            }
            if words.len() < RESIDENT_STEP_WORDS {
                return;
            }
        }
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::manager;

    #[test]
    fn resident_words_keep_what_they_hold() {
        let manager = manager(64 << 20, false);
        for len in [0, 1, SYSTEM_PAGE_WORDS + 1, RESIDENT_STEP_WORDS, 3 * RESIDENT_STEP_WORDS + 7] {
            let words = AtomicWords::zeroed(len, len, &manager, MemoryTag::HashTable).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..2 {
                    let words = &words;
                    scope.spawn(move || {
                        words.make_resident();
                        assert!(words.resident.load(Ordering::Relaxed) >= len);
                        for word in words.as_slice().iter().step_by(100) {
                            word.fetch_add(1 + thread, Ordering::Relaxed);
                        }
                        words.make_resident();
                    });
                }
            });
            let changes = (len / SYSTEM_PAGE_WORDS).saturating_sub(1);
            let few = AtomicWords::zeroed(len, changes, &manager, MemoryTag::HashTable).unwrap();
            few.make_resident();
            assert!(
                len < 2 * SYSTEM_PAGE_WORDS || few.resident.load(Ordering::Relaxed) == 0,
                "few words of many pages"
            );
            let expected = |i: usize| if i.is_multiple_of(100) { 3 } else { 0 };
            assert!(words.as_slice().iter().enumerate().all(|(i, word)| word.load(Ordering::Relaxed) == expected(i)));
        }
    }
}
