//! The ring buffer that the kernel shares with us: a page of positions, then the records.
//!
//! The kernel writes records and then `data_head`; we read records and then write `data_tail`, and because the mapping
//! is writable, the kernel doesn't overwrite anything between tail and head. So two orderings have to be guaranteed:
//!
//! * `data_head` is loaded with *acquire*: no read of a record may move before it, or it could see bytes from before
//!   the kernel wrote them. It pairs with the barrier between records and `data_head` in the kernel.
//! * `data_tail` is stored with *release*: no read of a record may move after it, or it could see bytes of a record
//!   that the kernel wrote over. It pairs with the kernel's control dependency from `data_tail` to its writes.

use super::records::Readable;
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Offsets of `data_head` and `data_tail` in `perf_event_mmap_page`, part of Linux's interface.
const HEAD_OFFSET: usize = 1024;
const TAIL_OFFSET: usize = 1032;

/// The ring of an event, unmapped when it is dropped.
#[derive(Debug)]
pub(super) struct Mapping {
    base: NonNull<u8>,
    page_bytes: usize,
    ring_bytes: usize,
    tail: u64,
}

// SAFETY: the mapping belongs to this value, whichever thread has it; its positions are atomic.
unsafe impl Send for Mapping {}

impl Mapping {
    /// Maps the ring of an event: `ring_bytes` is a power of two of pages.
    ///
    /// # Errors
    ///
    /// The kernel's error; `PERM` if it would be more locked memory than the user may have.
    pub(super) fn new(event: impl AsFd, ring_bytes: usize) -> Result<Mapping, Errno> {
        let page_bytes = rustix::param::page_size();
        assert!(ring_bytes.is_power_of_two() && ring_bytes >= page_bytes, "a ring of {ring_bytes} bytes");
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let length = page_bytes + ring_bytes;
        // SAFETY: the kernel chooses a free range of addresses.
        let base = unsafe { mmap(std::ptr::null_mut(), length, protection, MapFlags::SHARED, event, 0)? };
        let base = NonNull::new(base.cast()).expect("a mapping isn't at address 0");
        Ok(Mapping { base, page_bytes, ring_bytes, tail: 0 })
    }

    fn position(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: aligned, within the mapped first page, which lives as long as `self`; the kernel accesses it
        // atomically.
        unsafe { self.base.add(offset).cast().as_ref() }
    }

    /// Passes the readable bytes to `read`, then gives their space back to the kernel; passes `None` if head and tail
    /// contradict each other.
    pub(super) fn consume(&mut self, read: impl FnOnce(Option<Readable<'_>>)) {
        let head = self.position(HEAD_OFFSET).load(Ordering::Acquire);
        read(Readable::ranges(self.ring_bytes, self.tail, head).map(|(first, second)| {
            let slice = |range: std::ops::Range<usize>| {
                // SAFETY: within the mapped ring, since `ranges` stays below `ring_bytes`; between tail and head, where
                // the kernel doesn't write before the tail is advanced below.
                unsafe {
                    let start = self.base.add(self.page_bytes + range.start);
                    std::slice::from_raw_parts(start.as_ptr(), range.len())
                }
            };
            Readable { first: slice(first), second: slice(second) }
        }));
        self.tail = head;
        self.position(TAIL_OFFSET).store(head, Ordering::Release);
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length; no slice of it outlives `consume`.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.page_bytes + self.ring_bytes) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}
