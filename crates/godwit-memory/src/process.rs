//! Watches the memory that the process holds outside the pool: code, stacks, and what the allocator retains or
//! fragments.
//!
//! ```text
//!   resident size of the process
//!   │ before the pool │ growth: tolerated ──► taken off the limit │ pages and reservations │ idle frames │
//! ```
//!
//! Nobody reserves this memory, so it is measured: once for every [`LOOK_BYTES`] that the pool hands out. Growth beyond
//! [`TOLERATED_BYTES`] is first compensated by unmapping the program's code (code_pages.rs), then deducted from the
//! pool's limit, and returned to it as the process shrinks. Finishing has priority: the pool keeps the least that
//! operators need, even if that makes the process exceed its limit.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::code_pages::CodePages;
use crate::config::ProcessMemory;

/// How much the pool hands out between two measurements. A measurement takes some microseconds, as long as the pool
/// takes to hand out a few pages.
const LOOK_BYTES: u64 = 4 * 1024 * 1024;

/// Growth that doesn't count against the limit: a part of the 32 MiB by which the process may exceed it. The rest is
/// for idle frames, and for growth between two measurements.
const TOLERATED_BYTES: u64 = 12 * 1024 * 1024;

/// Reserved memory that hasn't been touched yet hides growth, so an estimate falls by at most one n-th from one
/// measurement to the next.
const DECAY_SHARE: u64 = 8;

pub(crate) struct ProcessWatch {
    config: ProcessMemory,
    handed_out_bytes: AtomicU64,
    growth_bytes: AtomicU64,
    code: CodePages,
}

impl ProcessWatch {
    pub(crate) fn new(config: ProcessMemory) -> Self {
        Self {
            config,
            handed_out_bytes: AtomicU64::new(0),
            growth_bytes: AtomicU64::new(0),
            code: CodePages::default(),
        }
    }

    /// Records that the pool hands out `bytes`; returns true if it is time to measure.
    pub(crate) fn is_due(&self, bytes: u64) -> bool {
        let before = self.handed_out_bytes.fetch_add(bytes, Relaxed);
        before / LOOK_BYTES != (before + bytes) / LOOK_BYTES
    }

    /// The resident size, after unmapping code if the pool would otherwise have to pay for it. `None` where the system
    /// doesn't report it.
    pub(crate) fn resident_bytes(&self, limit_bytes: u64, pool_bytes: u64) -> Option<u64> {
        let resident = resident_process_bytes()?;
        let is_tight = resident > limit_bytes + self.config.base_bytes
            && resident > pool_bytes + self.config.base_bytes + TOLERATED_BYTES;
        if is_tight && self.code.release() { resident_process_bytes() } else { Some(resident) }
    }

    /// The part of `limit_bytes` that is left if the process holds `resident_bytes`, `pool_bytes` of them for the pool.
    pub(crate) fn limit_left(&self, limit_bytes: u64, resident_bytes: u64, pool_bytes: u64) -> u64 {
        let now = resident_bytes.saturating_sub(pool_bytes + self.config.base_bytes);
        let before = self.growth_bytes.load(Relaxed);
        let growth = now.max(before - before / DECAY_SHARE);
        self.growth_bytes.store(growth, Relaxed);
        let most = limit_bytes.saturating_sub(self.config.pool_bytes_min);
        limit_bytes - growth.saturating_sub(TOLERATED_BYTES).min(most)
    }
}

/// Resident size of this process as Linux counts it; `None` where it isn't reported.
pub fn resident_process_bytes() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn watch(base_bytes: u64) -> ProcessWatch {
        ProcessWatch::new(ProcessMemory { base_bytes, pool_bytes_min: 60 * MIB })
    }

    #[test]
    fn growth_beyond_what_is_tolerated_comes_off_the_limit() {
        let watch = watch(30 * MIB);
        assert_eq!(watch.limit_left(90 * MIB, 126 * MIB, 84 * MIB), 90 * MIB);
        assert_eq!(watch.limit_left(90 * MIB, 140 * MIB, 84 * MIB), 76 * MIB);
        assert_eq!(watch.limit_left(90 * MIB, 500 * MIB, 84 * MIB), 60 * MIB);
    }

    #[test]
    fn untouched_reservations_hide_growth_for_a_while_only() {
        let watch = watch(0);
        assert_eq!(watch.limit_left(100 * MIB, 40 * MIB, 0), 72 * MIB);
        assert_eq!(watch.limit_left(100 * MIB, 40 * MIB, 40 * MIB), 77 * MIB);
        let last = (0..20).map(|_| watch.limit_left(100 * MIB, 40 * MIB, 40 * MIB)).last();
        assert_eq!(last, Some(100 * MIB));
    }

    #[test]
    fn a_look_is_due_once_for_so_many_bytes() {
        let watch = watch(0);
        let looks = (0..80).filter(|_| watch.is_due(LOOK_BYTES / 8)).count();
        assert_eq!(looks, 10);
    }
}
