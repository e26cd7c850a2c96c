//! Decides whether new memory is backed by huge pages.
//!
//! On most machines the first touch of a huge page clears it in 0.1 ms, a fourth of what the faults of its small pages
//! take, and lookups in it miss the TLB less often. A virtual machine may have given free memory back to its host,
//! which then has to find it again while the page is cleared: 5 ms were observed, where small pages, which the kernel
//! keeps at hand, took 0.7. There is no way to ask which is the case, so it is measured, now and then:
//!
//! ```text
//!   small ──[a step of memory later]──► probe ──[fast]──► huge: each block is a probe, after 256 MiB one in 8 MiB
//!     ▲                                  ▲ │                │
//!     └──────────[slow: the step doubles]┼─┘                │
//!     └──────────────────────────────────┴────────[slow]────┘
//! ```
//!
//! The kernel hands out what was freed last first, so a host's memory ends at some block, and all later ones are slow:
//! each of them would cost as much as eight fast ones save. Time is that of the thread, which doesn't count when it was
//! interrupted.
//!
//! Mappings larger than a block, such as hash tables, are treated alike, block by block: where huge pages are slow, they
//! cost more than the misses of the TLB that they save. What follows a slow block in a mapping stays in small pages.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::config::HUGE_PAGE_BYTES;
use crate::system_memory::{advise_huge, thread_time};

/// Memory that comes in small pages at first: a query that needs no more never pays for a probe.
const SMALL_BYTES: u64 = 8 << 20;

/// Memory in small pages after a first slow probe: one touch of 5 ms among pages that take 45. What the host hasn't taken
/// back is handed out first, so a second probe that comes soon is slow, too.
const SLOW_STEP_BYTES: u64 = 128 << 20;

/// The same after many slow ones. In a virtual machine that returns free memory, this made first runs of TPC-H's
/// queries at scale factor 10 take 0.94 of the time that they took with a probe in every 32 MiB, and second runs, which
/// keep a gigabyte of pages, 0.90.
const SLOW_STEP_BYTES_MAX: u64 = 256 << 20;

/// Fast probes in a row, one per block, before they become rarer: others wait for blocks while one is touched.
const FAST_PROBES: u64 = 128;

/// Memory on huge pages between two probes after these.
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
    /// Fast probes since the last slow one: while there is one, memory is on huge pages until the next probe.
    fast_probes: AtomicU64,
}

/// Stands for the next probe while one is being made.
const PROBING: u64 = u64::MAX;

impl Default for HugePages {
    fn default() -> Self {
        Self {
            prepared_bytes: AtomicU64::new(0),
            probe_at_bytes: AtomicU64::new(SMALL_BYTES),
            slow_step_bytes: AtomicU64::new(SLOW_STEP_BYTES),
            fast_probes: AtomicU64::new(0),
        }
    }
}

impl HugePages {
    /// Decides about untouched memory, and may touch the first byte of its blocks; returns whether its first block uses
    /// huge pages.
    ///
    /// # Safety
    /// The range is mapped for writing, starts at a multiple of [`HUGE_PAGE_BYTES`], is at least that large, and isn't
    /// in use.
    pub(crate) unsafe fn prepare(&self, start: NonNull<u8>, bytes: usize) -> bool {
        let mut probed = 0;
        while probed + HUGE_PAGE_BYTES <= bytes {
            let prepared = self.prepared_bytes.fetch_add(HUGE_PAGE_BYTES as u64, Relaxed) + HUGE_PAGE_BYTES as u64;
            let probe_at = self.probe_at_bytes.load(Relaxed);
            if prepared < probe_at || self.probe_at_bytes.compare_exchange(probe_at, PROBING, Relaxed, Relaxed).is_err()
            {
                break;
            }
            // SAFETY: a block of the range.
            let is_fast = unsafe { touch_huge(start.add(probed)) } <= SLOW_TOUCH;
            self.note_probe(prepared, is_fast);
            probed += HUGE_PAGE_BYTES;
        }
        let is_huge = self.fast_probes.load(Relaxed) > 0;
        if probed < bytes {
            self.prepared_bytes.fetch_add((bytes - probed).saturating_sub(HUGE_PAGE_BYTES) as u64, Relaxed);
            // SAFETY: the rest of the range.
            unsafe { advise_huge(start.add(probed), bytes - probed, is_huge) };
        }
        is_huge || probed > 0
    }

    /// Notes how the probe went that was due at about `prepared_bytes`.
    fn note_probe(&self, prepared_bytes: u64, is_fast: bool) {
        let step = if is_fast {
            self.slow_step_bytes.store(SLOW_STEP_BYTES, Relaxed);
            if self.fast_probes.fetch_add(1, Relaxed) < FAST_PROBES { 0 } else { FAST_STEP_BYTES }
        } else {
            self.fast_probes.store(0, Relaxed);
            let step = self.slow_step_bytes.load(Relaxed);
            self.slow_step_bytes.store((step * 2).min(SLOW_STEP_BYTES_MAX), Relaxed);
            step
        };
        self.probe_at_bytes.store(prepared_bytes + step, Relaxed);
    }
}

/// Puts a block on a huge page, and returns the time of its first touch.
///
/// # Safety
/// As for [`HugePages::prepare`], for one block.
unsafe fn touch_huge(block: NonNull<u8>) -> Duration {
    // SAFETY: the caller's promise.
    unsafe { advise_huge(block, HUGE_PAGE_BYTES, true) };
    let start = thread_time();
    // SAFETY: mapped for writing, and not in use.
    unsafe { block.write_volatile(0) };
    thread_time().saturating_sub(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_become_rare_while_they_are_slow_and_after_many_fast_ones() {
        let pages = HugePages::default();
        let step_after = |is_fast: bool| {
            let at = pages.probe_at_bytes.load(Relaxed);
            pages.note_probe(at, is_fast);
            (pages.probe_at_bytes.load(Relaxed) - at) >> 20
        };
        assert_eq!([false; 3].map(step_after), [128, 256, 256]);
        assert!((0..FAST_PROBES).all(|_| step_after(true) == 0));
        assert_eq!([true, true, false, false, true, false].map(step_after), [8, 8, 128, 256, 0, 128]);
        assert_eq!(pages.fast_probes.load(Relaxed), 0);
    }

    #[test]
    fn blocks_of_a_mapping_are_probed_one_by_one() {
        let pages = HugePages::default();
        let blocks = SMALL_BYTES as usize / HUGE_PAGE_BYTES + 3;
        let bytes = blocks * HUGE_PAGE_BYTES;
        let mapping = crate::system_memory::map(bytes).unwrap();
        let small = HUGE_PAGE_BYTES * (blocks - 4);
        // SAFETY: the mapping isn't in use.
        unsafe {
            assert!(!pages.prepare(mapping, small));
            assert_eq!(pages.prepared_bytes.load(Relaxed), small as u64);
            assert!(pages.prepare(mapping.add(small), bytes - small));
            crate::system_memory::unmap(mapping, bytes);
        }
        assert_eq!(pages.prepared_bytes.load(Relaxed), bytes as u64);
    }
}
