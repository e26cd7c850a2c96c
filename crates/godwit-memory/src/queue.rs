//! Which page leaves memory next.
//!
//! Unpinned pages wait in one list for each partition number; victims come from the highest number, the oldest first.
//! The queue is lazy, so that pins and unpins of queued pages touch only the page: an entry whose page was used since
//! goes to the back when it is popped, an entry whose page is pinned is forgotten (its last unpin queues it again), and
//! an entry whose page is destroyed is skipped.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::{Condvar, Mutex};

use crate::config::DEAD_ENTRIES_MAX;
use crate::page::{PageInner, WeakPage};

#[derive(Default)]
pub(crate) struct EvictionQueue {
    lists: Mutex<Lists>,
    /// A spill has ended.
    finished: Condvar,
    /// Counts entries pushed: the clock by which "used since" is told.
    clock: AtomicU64,
    /// Entries whose pages are destroyed.
    dead: AtomicUsize,
}

#[derive(Default)]
struct Lists {
    by_partition: BTreeMap<u32, VecDeque<Entry>>,
    entries: usize,
    /// Pages popped whose spill hasn't ended.
    spilling: usize,
}

struct Entry {
    page: WeakPage,
    pushed_at: u64,
}

impl Lists {
    fn push(&mut self, page: &Arc<PageInner>, now: u64) {
        let entry = Entry { page: Arc::downgrade(page), pushed_at: now };
        self.by_partition.entry(page.partition()).or_default().push_back(entry);
        self.entries += 1;
    }

    fn pop_entry(&mut self) -> Option<(u32, Entry)> {
        let mut last = self.by_partition.last_entry()?;
        let partition = *last.key();
        let entry = last.get_mut().pop_front().expect("empty lists are removed");
        if last.get().is_empty() {
            last.remove();
        }
        self.entries -= 1;
        Some((partition, entry))
    }
}

impl EvictionQueue {
    /// The time for a page's `last_use`.
    pub(crate) fn now(&self) -> u64 {
        self.clock.load(Relaxed)
    }

    fn tick(&self) -> u64 {
        self.clock.fetch_add(1, Relaxed) + 1
    }

    /// Adds a page that was just marked as queued.
    pub(crate) fn push(&self, page: &Arc<PageInner>) {
        let now = self.tick();
        let mut lists = self.lists.lock();
        lists.push(page, now);
        let dead = self.dead.load(Relaxed);
        if dead > DEAD_ENTRIES_MAX && dead > lists.entries / 2 {
            self.sweep(&mut lists);
        }
    }

    /// Adds a page that was popped and is still marked as queued.
    pub(crate) fn push_again(&self, page: &Arc<PageInner>) {
        let now = self.tick();
        self.lists.lock().push(page, now);
    }

    /// The next candidate, still marked as queued. Waits while there is none but others are spilling, because their
    /// pages may come back to the queue. Each pop is followed by [`finish`](Self::finish).
    pub(crate) fn pop(&self) -> Option<Arc<PageInner>> {
        // The last reference to a page mustn't be dropped under the lock.
        let mut outdated = Vec::new();
        let mut lists = self.lists.lock();
        loop {
            while let Some((partition, entry)) = lists.pop_entry() {
                let Some(page) = entry.page.upgrade() else {
                    self.forget_dead_entry();
                    continue;
                };
                let was_used = page.last_use.load(Relaxed) > entry.pushed_at;
                if (was_used && page.state.is_evictable()) || page.partition() != partition {
                    let now = self.tick();
                    lists.push(&page, now);
                    outdated.push(page);
                    continue;
                }
                lists.spilling += 1;
                return Some(page);
            }
            if lists.spilling == 0 {
                return None;
            }
            self.finished.wait(&mut lists);
        }
    }

    /// The page that [`pop`](Self::pop) returned has been dealt with.
    pub(crate) fn finish(&self) {
        let mut lists = self.lists.lock();
        lists.spilling -= 1;
        self.finished.notify_all();
    }

    /// A page that is marked as queued was destroyed.
    pub(crate) fn note_dead_entry(&self) {
        self.dead.fetch_add(1, Relaxed);
    }

    /// An entry may be met before its page's destructor has noted it, so the count may have to wait at zero.
    fn forget_dead_entry(&self) {
        let _ = self.dead.fetch_update(Relaxed, Relaxed, |dead| dead.checked_sub(1));
    }

    fn sweep(&self, lists: &mut Lists) {
        let mut kept = 0;
        lists.by_partition.retain(|_, list| {
            list.retain(|entry| entry.page.strong_count() > 0);
            kept += list.len();
            !list.is_empty()
        });
        lists.entries = kept;
        self.dead.store(0, Relaxed);
    }
}
