//! Decides whether new memory is backed by huge pages.
//!
//! On most machines the first touch of a huge page clears it in 0.1 ms, a fourth of what the faults of its small pages
//! take, and lookups in it miss the TLB less often. A virtual machine may have given free memory back to its host,
//! which then has to find it again while the page is cleared: 5 ms were observed, where small pages, which the kernel
//! keeps at hand, took 0.7. There is no way to ask which is the case, so it is measured: after some memory in small
//! pages, one huge page is touched and timed; if that was slow, memory comes in small pages until [`PROBE_GROWTH`]
//! times as much has been taken, or [`PROBE_BYTES_MAX`] more.
//!
//! ```text
//!   small ──[next probe is reached]──► huge ──[a first touch was slow]──► small, the next probe is farther away
//! ```
//!
//! Once a process has taken [`YOUNG_BYTES`], it will probably run for long. Then one block in a few is timed, since that
//! takes place while others wait for blocks. Mappings larger than a block, such as hash tables, are always on huge pages:
//! random lookups gain most from them.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::config::HUGE_PAGE_BYTES;
use crate::system_memory::advise_huge;

/// Memory that comes in small pages at first: a query that needs no more never pays for a probe.
const SMALL_BYTES: u64 = 8 << 20;

/// The factor between one probe and the next: a probe costs little compared with the small pages before it.
const PROBE_GROWTH: u64 = 4;

/// Memory between two probes, at most: one touch of 5 ms among 32 MiB, which take 11 in small pages. When probing ended at
/// 256 MiB, with only huge pages from then on, second runs of TPC-H's queries at scale factor 10, which keep a gigabyte of
/// pages, took up to 1.6 times as long as first ones.
const PROBE_BYTES_MAX: u64 = 32 << 20;

/// Memory that a process takes before all of its large mappings are on huge pages. With probes for them, too, repeated
/// TPC-H joins took up to 1.4 times as long: a slow one switched to small pages where huge ones would have been fast.
const YOUNG_BYTES: u64 = 256 << 20;

/// A first touch that takes longer than this counts as slow: small pages would have taken no longer.
const SLOW_TOUCH: Duration = Duration::from_micros(700);

/// What was measured for new memory of a pool.
pub(crate) struct HugePages {
    /// Memory prepared so far, in bytes.
    prepared_bytes: AtomicU64,
    /// Amount of memory from which huge pages are tried again.
    probe_at_bytes: AtomicU64,
    /// Whether the last one that was tried was fast.
    is_fast: AtomicBool,
}

impl Default for HugePages {
    fn default() -> Self {
        let (prepared_bytes, probe_at_bytes) = (AtomicU64::new(0), AtomicU64::new(SMALL_BYTES));
        Self { prepared_bytes, probe_at_bytes, is_fast: AtomicBool::new(false) }
    }
}

impl HugePages {
    /// Decides about untouched memory, and may touch its first byte; returns whether it uses huge pages.
    ///
    /// # Safety
    /// The range is mapped for writing, starts at a multiple of [`HUGE_PAGE_BYTES`], is at least that large, and isn't
    /// in use.
    pub(crate) unsafe fn prepare(&self, start: NonNull<u8>, bytes: usize) -> bool {
        let prepared = self.prepared_bytes.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        let is_old = prepared > YOUNG_BYTES;
        let is_probe = prepared >= self.probe_at_bytes.load(Relaxed);
        let is_huge = is_old && (bytes > HUGE_PAGE_BYTES || self.is_fast.load(Relaxed));
        if !is_probe && !is_huge {
            // SAFETY: the caller's promise.
            unsafe { advise_huge(start, bytes, false) };
            return false;
        }
        // SAFETY: the caller's promise.
        unsafe { advise_huge(start, bytes, true) };
        if !is_probe || is_old && bytes > HUGE_PAGE_BYTES {
            return true;
        }
        let touched = Instant::now();
        // SAFETY: mapped for writing, and not in use.
        unsafe { start.write_volatile(0) };
        let is_fast = touched.elapsed() <= SLOW_TOUCH;
        self.is_fast.store(is_fast, Relaxed);
        if !is_fast {
            // SAFETY: the rest of the range.
            unsafe { advise_huge(start.add(HUGE_PAGE_BYTES), bytes - HUGE_PAGE_BYTES, false) };
        }
        if !is_fast || is_old {
            let next = (prepared * PROBE_GROWTH).min(prepared + PROBE_BYTES_MAX);
            self.probe_at_bytes.store(next, Relaxed);
        }
        true
    }
}
