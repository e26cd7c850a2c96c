//! Decides whether new memory is backed by huge pages.
//!
//! On most machines the first touch of a huge page clears it in 0.1 ms, a fourth of what the faults of its small pages
//! take, and lookups in it miss the TLB less often. A virtual machine may have given free memory back to its host,
//! which then has to find it again while the page is cleared: 5 ms were observed, where small pages, which the kernel
//! keeps at hand, took 0.7. There is no way to ask which is the case, so it is measured, now and then:
//!
//! ```text
//!   small ──[a step of memory later]──► probe ──[fast]──► huge ──[the next block; after 128 of them, 8 MiB later]──► probe
//!     ▲                                   │
//!     └────[slow: the next step doubles]──┘
//! ```
//!
//! The kernel hands out what was freed last first, so memory that the host hasn't taken back ends at some block, and
//! all later ones are slow: each of them would cost as much as eight fast ones save. Time is that of the thread, which
//! doesn't count when it was interrupted.
//!
//! Larger mappings, such as hash tables, are treated alike, with one probe in 8 MiB at most, since one thread makes
//! them: where huge pages are slow, they cost more than the misses of the TLB that they save.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use crate::config::HUGE_PAGE_BYTES;
use crate::system_memory::{advise_huge, thread_time};

/// Memory that comes in small pages at first: a query that needs no more never pays for a probe.
const SMALL_BYTES: u64 = 8 << 20;

/// Memory in small pages after a first slow probe: one touch of 5 ms among pages that take 90. What the host hasn't
/// taken back is handed out first, so a second probe that comes soon is slow, too. TPC-H's queries at scale factor 10
/// in a virtual machine that returns free memory, times with this step as a share of those with 128 MiB: first run
/// 0.98, second 0.97; those with 128 as a share of those with 32: 0.94 and 0.90.
const SLOW_STEP_BYTES: u64 = 256 << 20;

/// The same after further ones.
const SLOW_STEP_BYTES_MAX: u64 = 1 << 30;

/// Fast probes in a row after which slow ones are forgotten: they have saved as much as two slow ones cost. A few of
/// them come from memory that was freed a moment ago.
const FAST_PROBES_TO_FORGET: u64 = 16;

/// Fast probes in a row, one per block, before they become rarer.
const FAST_PROBES: u64 = 128;

/// Memory on huge pages between two probes after these.
const FAST_STEP_BYTES: u64 = PIECE_BYTES as u64;

/// Memory of a mapping that has one probe at most.
const PIECE_BYTES: usize = 4 * HUGE_PAGE_BYTES;

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
    /// Decides about untouched memory, and may touch the first byte of some blocks.
    ///
    /// # Safety
    /// The range is mapped for writing, starts at a multiple of [`HUGE_PAGE_BYTES`], is at least that large, and isn't
    /// in use.
    pub(crate) unsafe fn prepare(&self, start: NonNull<u8>, bytes: usize) {
        for at in (0..bytes).step_by(PIECE_BYTES) {
            // SAFETY: each piece is in the range, and starts at a multiple of huge pages.
            unsafe { self.prepare_piece(start.add(at), PIECE_BYTES.min(bytes - at), |block| touch(block)) };
        }
    }

    /// Decides about a piece of memory; `touch` returns the time of the first touch of a block.
    ///
    /// # Safety
    /// As for [`prepare`](Self::prepare).
    unsafe fn prepare_piece(
        &self,
        start: NonNull<u8>,
        bytes: usize,
        touch: impl FnOnce(NonNull<u8>) -> Duration,
    ) -> bool {
        // SAFETY: the caller's promise.
        let (is_huge, probe) = unsafe { self.advise(start, bytes) };
        if let Some(probe) = probe {
            probe.finish(self, touch);
        }
        is_huge
    }

    /// Advises the system about a piece of memory; returns whether it uses huge pages, and the probe that is due. There
    /// is one probe at a time.
    ///
    /// # Safety
    /// As for [`prepare`](Self::prepare); the memory isn't in use before the probe is done.
    pub(crate) unsafe fn advise(&self, start: NonNull<u8>, bytes: usize) -> (bool, Option<Probe>) {
        let prepared_bytes = self.prepared_bytes.fetch_add(bytes as u64, Relaxed) + bytes as u64;
        let probe_at = self.probe_at_bytes.load(Relaxed);
        let is_probe = bytes >= HUGE_PAGE_BYTES
            && prepared_bytes >= probe_at
            && self.probe_at_bytes.compare_exchange(probe_at, PROBING, Relaxed, Relaxed).is_ok();
        let is_huge = is_probe || self.fast_probes.load(Relaxed) > 0;
        // SAFETY: the caller's promise.
        unsafe { advise_huge(start, bytes, is_huge) };
        (is_huge, is_probe.then_some(Probe { start, bytes, prepared_bytes }))
    }

    /// Notes how the probe went that was due at about `prepared_bytes`.
    fn note_probe(&self, prepared_bytes: u64, is_fast: bool) {
        let step = if is_fast {
            let fast_probes = self.fast_probes.fetch_add(1, Relaxed) + 1;
            if fast_probes == FAST_PROBES_TO_FORGET {
                self.slow_step_bytes.store(SLOW_STEP_BYTES, Relaxed);
            }
            if fast_probes <= FAST_PROBES { 0 } else { FAST_STEP_BYTES }
        } else {
            self.fast_probes.store(0, Relaxed);
            let step = self.slow_step_bytes.load(Relaxed);
            self.slow_step_bytes.store((step * 2).min(SLOW_STEP_BYTES_MAX), Relaxed);
            step
        };
        self.probe_at_bytes.store(prepared_bytes + step, Relaxed);
    }
}

/// The first touch of a piece of memory, which may take milliseconds.
#[must_use = "no other probe is made before this one is done"]
pub(crate) struct Probe {
    start: NonNull<u8>,
    bytes: usize,
    prepared_bytes: u64,
}

impl Probe {
    /// Touches the memory, and notes how long it took.
    pub(crate) fn run(self, pages: &HugePages) {
        // SAFETY: the memory isn't in use, as was promised when the probe was made.
        self.finish(pages, |block| unsafe { touch(block) });
    }

    fn finish(self, pages: &HugePages, touch: impl FnOnce(NonNull<u8>) -> Duration) {
        let is_fast = touch(self.start) <= SLOW_TOUCH;
        pages.note_probe(self.prepared_bytes, is_fast);
        if !is_fast {
            // SAFETY: the rest of the piece, which was promised to be mapped.
            unsafe { advise_huge(self.start.add(HUGE_PAGE_BYTES), self.bytes - HUGE_PAGE_BYTES, false) };
        }
    }
}

/// Returns the time of the first touch of a block.
///
/// # Safety
/// It is mapped for writing, and not in use.
unsafe fn touch(block: NonNull<u8>) -> Duration {
    let start = thread_time();
    // SAFETY: the caller's promise.
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
        assert_eq!([false; 4].map(step_after), [256, 512, 1024, 1024]);
        assert!((1..FAST_PROBES_TO_FORGET).all(|_| step_after(true) == 0));
        assert_eq!(step_after(false), 1024, "a few fast probes don't make slow ones forgotten");
        assert!((0..FAST_PROBES).all(|_| step_after(true) == 0));
        assert_eq!([true, true, false, false, true, false].map(step_after), [8, 8, 256, 512, 0, 1024]);
        assert_eq!(pages.fast_probes.load(Relaxed), 0);
    }

    #[test]
    fn memory_is_small_until_a_probe_is_fast_and_after_a_slow_one() {
        let pages = HugePages::default();
        let small_bytes = SMALL_BYTES as usize - HUGE_PAGE_BYTES;
        let bytes = small_bytes + 4 * HUGE_PAGE_BYTES;
        let mapping = crate::system_memory::map(bytes).unwrap();
        let mut at = 0;
        let mut is_huge = |bytes: usize, touch: Option<Duration>| {
            let mut touched = false;
            // SAFETY: the next part of the mapping, which isn't in use.
            let is_huge = unsafe {
                pages.prepare_piece(mapping.add(at), bytes, |_| {
                    touched = true;
                    touch.expect("it is a probe")
                })
            };
            at += bytes;
            assert_eq!(touched, touch.is_some());
            is_huge
        };
        let (fast, slow) = (Some(Duration::ZERO), Some(SLOW_TOUCH * 2));
        assert!(!is_huge(small_bytes, None));
        assert!([fast, fast, slow].into_iter().all(|touch| is_huge(HUGE_PAGE_BYTES, touch)));
        assert!(!is_huge(HUGE_PAGE_BYTES, None), "the last one was slow");
        // SAFETY: nothing refers to it.
        unsafe { crate::system_memory::unmap(mapping, bytes) };
    }

    #[test]
    fn all_of_a_mapping_is_prepared() {
        let pages = HugePages::default();
        let bytes = 3 * PIECE_BYTES + 1000;
        let mapping = crate::system_memory::map(bytes).unwrap();
        // SAFETY: the mapping isn't in use.
        unsafe {
            pages.prepare(mapping, bytes);
            crate::system_memory::unmap(mapping, bytes);
        }
        assert_eq!(pages.prepared_bytes.load(Relaxed), bytes as u64);
    }
}
