//! Decides whether new memory is backed by huge pages.
//!
//! On most machines the first touch of a huge page clears it in 0.1 ms, a fourth of what the faults of its small pages
//! take, and lookups in it miss the TLB less often. A virtual machine may have given free memory back to its host,
//! which then has to find it again while the page is cleared: 5 ms were observed, where small pages, which the kernel
//! keeps at hand, took 0.7. There is no way to ask which is the case, so it is measured, now and then:
//!
//! ```text
//!   small ──[a step of memory later]──► probe ──[fast]──────► huge
//!     ▲                                  │  ▲                   │
//!     └──[slow: the step doubles]────────┘  └──[8 MiB later]────┘
//! ```
//!
//! A slow probe after a fast one is repeated with the next block: the thread may just have been interrupted.
//!
//! Mappings larger than a block, such as hash tables, are treated alike: where huge pages are slow, they cost more than
//! the misses of the TLB that they save. A mapping that is the probe stays in small pages but for its first huge one.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::config::HUGE_PAGE_BYTES;
use crate::system_memory::advise_huge;

/// Memory that comes in small pages at first: a query that needs no more never pays for a probe.
const SMALL_BYTES: u64 = 8 << 20;

/// Memory in small pages after a first slow probe: one touch of 5 ms among pages that take 11.
const SLOW_STEP_BYTES: u64 = 32 << 20;

/// The same after many slow ones. In a virtual machine that returns free memory, this made first runs of TPC-H's
/// queries at scale factor 10 take 0.94 of the time that they took with a probe in every 32 MiB, and second runs, which
/// keep a gigabyte of pages, 0.90.
const SLOW_STEP_BYTES_MAX: u64 = 256 << 20;

/// Memory on huge pages after a fast probe, until the next one: others wait for blocks while it is touched.
const FAST_STEP_BYTES: u64 = 8 << 20;

/// A first touch that takes longer than this counts as slow: small pages would have taken no longer.
const SLOW_TOUCH: Duration = Duration::from_micros(700);

/// What was measured for new memory of a pool.
pub(crate) struct HugePages {
    /// Memory prepared so far, in bytes.
    prepared_bytes: AtomicU64,
    /// Amount of memory at which the next probe is due.
    probe_at_bytes: AtomicU64,
    /// Memory in small pages after the next slow probe.
    slow_step_bytes: AtomicU64,
    /// Whether memory is on huge pages until the next probe.
    is_fast: AtomicBool,
}

/// Stands for the next probe while one is being made.
const PROBING: u64 = u64::MAX;

impl Default for HugePages {
    fn default() -> Self {
        Self {
            prepared_bytes: AtomicU64::new(0),
            probe_at_bytes: AtomicU64::new(SMALL_BYTES),
            slow_step_bytes: AtomicU64::new(SLOW_STEP_BYTES),
            is_fast: AtomicBool::new(false),
        }
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
        let probe_at = self.probe_at_bytes.load(Relaxed);
        let is_probe =
            prepared >= probe_at && self.probe_at_bytes.compare_exchange(probe_at, PROBING, Relaxed, Relaxed).is_ok();
        let is_huge = is_probe || self.is_fast.load(Relaxed);
        // SAFETY: the caller's promise.
        unsafe { advise_huge(start, bytes, is_huge) };
        if is_probe {
            let touched = Instant::now();
            // SAFETY: mapped for writing, and not in use.
            unsafe { start.write_volatile(0) };
            let is_fast = touched.elapsed() <= SLOW_TOUCH;
            self.note_probe(prepared, is_fast);
            if !is_fast {
                // SAFETY: the rest of the range.
                unsafe { advise_huge(start.add(HUGE_PAGE_BYTES), bytes - HUGE_PAGE_BYTES, false) };
            }
        }
        is_huge
    }

    /// Notes how the probe went that was due at about `prepared_bytes`.
    fn note_probe(&self, prepared_bytes: u64, is_fast: bool) {
        let was_fast = self.is_fast.swap(is_fast, Relaxed);
        let step = match (was_fast, is_fast) {
            (_, true) => {
                self.slow_step_bytes.store(SLOW_STEP_BYTES, Relaxed);
                FAST_STEP_BYTES
            }
            (true, false) => 0,
            (false, false) => {
                let step = self.slow_step_bytes.load(Relaxed);
                self.slow_step_bytes.store((step * 2).min(SLOW_STEP_BYTES_MAX), Relaxed);
                step
            }
        };
        self.probe_at_bytes.store(prepared_bytes + step, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_become_rare_while_they_are_slow() {
        let pages = HugePages::default();
        let mut at = vec![pages.probe_at_bytes.load(Relaxed)];
        for is_fast in [false, false, false, false, false, true, true, false, true, false, false] {
            pages.note_probe(*at.last().unwrap(), is_fast);
            at.push(pages.probe_at_bytes.load(Relaxed));
        }
        let steps: Vec<u64> = at.windows(2).map(|pair| (pair[1] - pair[0]) >> 20).collect();
        assert_eq!(steps, [32, 64, 128, 256, 256, 8, 8, 0, 8, 0, 32]);
        assert!(!pages.is_fast.load(Relaxed));
    }
}
