//! The memory that the workers of a sort may pin while they collect runs: a claim that grows with what they hold.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use godwit_memory::{BufferManager, MemoryClaim};
use parking_lot::Mutex;

use super::config::{COLLECT_SHARE, MINIMUM_SHARE, RUN_BYTES_MIN};

/// The claim of a sort. A worker asks before it continues collecting; if it is refused, it writes its run out.
pub(super) struct Room {
    memory: BufferManager,
    claim: MemoryClaim,
    /// Number of workers times number of sorts that share the memory: each may hold one n-th of the sort's share of the
    /// limit.
    holders: u64,
    workers: u64,
    /// Width of the rows, which are written out where memory runs short.
    weight: f64,
    /// The last grant.
    granted_bytes: AtomicU64,
    /// Once others have asked for memory, the claim is limited to what is left of it.
    bytes_max: AtomicU64,
    growing: Mutex<()>,
}

impl Room {
    pub(super) fn new(memory: &BufferManager, workers: usize, sharers: usize, row_bytes: usize) -> Self {
        Self {
            claim: memory.claim(),
            memory: memory.clone(),
            holders: (workers * sharers) as u64,
            workers: workers as u64,
            weight: row_bytes as f64,
            granted_bytes: AtomicU64::new(0),
            bytes_max: AtomicU64::new(u64::MAX),
            growing: Mutex::new(()),
        }
    }

    /// Whether a worker may hold this many bytes. Small amounts need no claim; beyond that, the claim grows until it
    /// isn't granted, or until others have asked for a part of it.
    pub(super) fn allows(&self, worker_bytes: u64) -> bool {
        worker_bytes < RUN_BYTES_MIN || worker_bytes < self.worker_share() || self.grow(worker_bytes)
    }

    /// Number of bytes that each worker may hold without asking for more.
    fn worker_share(&self) -> u64 {
        let granted = self.claim.settle();
        if granted < self.granted_bytes.load(Relaxed) {
            self.bytes_max.fetch_min(granted, Relaxed);
        }
        granted / self.workers
    }

    fn grow(&self, worker_bytes: u64) -> bool {
        let _one_grows = self.growing.lock();
        if worker_bytes < self.worker_share() {
            return true;
        }
        let share = (self.memory.memory_limit() / COLLECT_SHARE / self.holders).max(RUN_BYTES_MIN);
        let worker_bytes_max = share.min(self.bytes_max.load(Relaxed) / self.workers);
        if worker_bytes >= worker_bytes_max {
            return false;
        }
        let wanted = (2 * worker_bytes).min(worker_bytes_max);
        let minimum = wanted.min(worker_bytes_max / MINIMUM_SHARE);
        self.claim.report(wanted * self.workers, minimum * self.workers, self.weight);
        let granted = self.claim.request();
        self.granted_bytes.store(granted, Relaxed);
        worker_bytes < granted / self.workers
    }

    /// Called when all rows are collected; `bytes` of them stay pinned.
    pub(super) fn keep(&self, bytes: u64) {
        self.claim.report(bytes, bytes, self.weight);
        self.claim.request();
    }
}

#[cfg(test)]
mod tests {
    use godwit_memory::BufferConfig;

    use super::*;

    const MIB: u64 = 1 << 20;

    fn holds(room: &Room) -> u64 {
        (1..).take_while(|&mib| room.allows(mib * MIB)).last().unwrap() * MIB
    }

    #[test]
    fn a_sort_gives_way_to_one_that_comes_later() {
        let memory = BufferManager::new(BufferConfig::new(300 * MIB)).unwrap();
        let rooms: Vec<Room> = (0..4).map(|_| Room::new(&memory, 1, 1, 100)).collect();
        assert_eq!(holds(&rooms[0]), 99 * MIB, "a third of the limit");
        assert!(memory.grantable_bytes() <= 100 * MIB);
        assert_eq!(holds(&rooms[1]), 99 * MIB);
        let third = holds(&rooms[2]);
        assert!(third < 60 * MIB, "{third}: others were there first");
        assert!(!rooms[0].allows(99 * MIB), "the first has to write its run");
        assert!(rooms[0].allows(20 * MIB));
        assert!(holds(&rooms[2]) > third, "and the third gets more");
        rooms[1].keep(0);
        drop(rooms);
        assert_eq!(memory.grantable_bytes(), 200 * MIB);
    }
}
