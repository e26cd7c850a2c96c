//! The eviction queue: which page leaves memory next, and which ones are written to disk before that.
//!
//! ```text
//!   last unpin ──► order: by rank, then age ──head, dirty──► being written ──► ready ──► evicted
//!                     ▲                     └─head, clean────────────────────► │
//!                     └────────────────── used meanwhile ──────────────────────┘
//! ```
//!
//! Unpinned pages wait in one list for each rank (see [`EvictionPolicy`]); victims come from the highest rank, the
//! oldest first. Clean victims are evicted at once. Dirty ones are written by the I/O threads, a batch at a time, and
//! are then *ready*: still in memory, but free to go. A request for memory takes ready pages, then clean ones whose
//! turn it is; otherwise it waits for the batch in flight.
//!
//! Nothing is written before a request has had to wait or evict. From then on the I/O threads keep some pages ready,
//! for as long as ready pages are taken.
//!
//! The queue is lazy, so that pins and unpins of queued pages touch only the page: an entry whose page has been used
//! since goes to the back when it is popped, an entry whose page is pinned is dropped (its last unpin queues it again),
//! and an entry whose page has been destroyed is skipped.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use godwit_common::{Error, Result};
use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::config::{DEAD_ENTRIES_MAX, PAGE_BYTES, READ_AHEAD_PAGES_MAX};
use crate::page::{PageInner, WeakPage};

#[derive(Default)]
pub(crate) struct EvictionQueue {
    lists: Mutex<Lists>,
    /// Signalled when a page has become ready, was settled, or couldn't be written.
    finished: Condvar,
    /// Signalled when there is work for an I/O thread.
    work: Condvar,
    /// Counts entries pushed: the clock for telling whether a page has been used since.
    clock: AtomicU64,
    /// Number of entries whose pages are destroyed.
    dead: AtomicUsize,
}

#[derive(Default)]
struct Lists {
    by_rank: BTreeMap<u64, VecDeque<Entry>>,
    ready: VecDeque<Entry>,
    entries: usize,
    /// Size of the pages in `ready`; pages used or destroyed since then count until they are encountered.
    ready_bytes: u64,
    /// Number of pages popped but not settled: being written, read or evicted.
    busy: usize,
    writing_bytes: u64,
    /// Highest rank among the pages written since nothing was being written: pages of lower ranks aren't evicted before
    /// those.
    writing_rank_max: u64,
    /// Number of requests waiting for a page to become ready.
    waiting: usize,
    /// How much to keep ready; 0 (write nothing) before the first eviction and after a failure.
    goal_bytes: u64,
    /// Pages to be read ahead.
    reads: VecDeque<WeakPage>,
    /// Number of failed writes, and the error of the last one.
    failures: u64,
    failure: Option<Error>,
    threads: usize,
    idle_threads: usize,
    is_closed: bool,
}

struct Entry {
    page: WeakPage,
    pushed_at: u64,
    bytes: u64,
}

/// Work for an I/O thread.
pub(crate) enum Work {
    /// Read these pages back as long as there is free room, then call [`EvictionQueue::finish`].
    Read(Vec<Arc<PageInner>>),
    /// Write these pages, then pass them to [`EvictionQueue::finish_write`].
    Write(Vec<Arc<PageInner>>),
}

/// How much is written ahead and at once.
#[derive(Clone, Copy)]
pub(crate) struct WriteAhead {
    pub(crate) goal_bytes: u64,
    pub(crate) batch_bytes: u64,
    pub(crate) threads_max: usize,
}

impl Lists {
    fn push(&mut self, page: &Arc<PageInner>, now: u64) {
        let entry = Entry { page: Arc::downgrade(page), pushed_at: now, bytes: page.charged_bytes() as u64 };
        self.by_rank.entry(page.rank()).or_default().push_back(entry);
        self.entries += 1;
    }

    fn push_ready(&mut self, page: &Arc<PageInner>, now: u64) {
        let entry = Entry { page: Arc::downgrade(page), pushed_at: now, bytes: page.charged_bytes() as u64 };
        self.ready_bytes += entry.bytes;
        self.ready.push_back(entry);
        self.entries += 1;
    }

    /// Queues a page without an entry where it belongs, unless it is pinned.
    fn place(&mut self, page: &Arc<PageInner>, now: u64) {
        if page.state.unqueue_if_pinned() {
            return;
        }
        if page.needs_write() { self.push(page, now) } else { self.push_ready(page, now) }
    }

    fn pop_ready(&mut self) -> Option<Entry> {
        let entry = self.ready.pop_front()?;
        self.ready_bytes -= entry.bytes;
        self.entries -= 1;
        Some(entry)
    }

    fn pop_entry(&mut self) -> Option<(u64, Entry)> {
        let mut last = self.by_rank.last_entry()?;
        let rank = *last.key();
        let entry = last.get_mut().pop_front().expect("empty lists are removed");
        if last.get().is_empty() {
            last.remove();
        }
        self.entries -= 1;
        Some((rank, entry))
    }

    /// Puts the entry that was popped last back at the head.
    fn push_back_to_head(&mut self, rank: u64, entry: Entry) {
        self.by_rank.entry(rank).or_default().push_front(entry);
        self.entries += 1;
    }

    /// Whether a batch of writes is due. Small batches aren't worth it, unless a request is waiting.
    fn is_write_due(&self, ahead: WriteAhead) -> bool {
        if self.goal_bytes == 0 {
            return false;
        }
        let coming = self.ready_bytes + self.writing_bytes;
        let is_behind = coming + ahead.batch_bytes <= self.goal_bytes;
        let is_waited_for = self.ready.is_empty() && self.writing_bytes < (self.waiting * PAGE_BYTES) as u64;
        (is_behind || is_waited_for) && !self.by_rank.is_empty()
    }
}

impl EvictionQueue {
    /// All pages that have an entry.
    pub(crate) fn pages(&self) -> Vec<Arc<PageInner>> {
        let lists = self.lists.lock();
        lists.by_rank.values().flatten().chain(&lists.ready).filter_map(|entry| entry.page.upgrade()).collect()
    }

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
        if lists.waiting > 0 {
            self.work.notify_one();
            self.finished.notify_all();
        }
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

    /// The next page to evict, still marked as queued, or `None` if no page can be evicted. It was clean a moment ago.
    /// If there are only dirty ones, waits until one is written; if no I/O thread can be started, returns a dirty one
    /// instead. `start_thread` starts an I/O thread; `note_waited` gets the duration of a wait. Each pop is followed by
    /// [`finish`](Self::finish).
    pub(crate) fn pop(
        &self,
        ahead: WriteAhead,
        start_thread: impl Fn() -> std::io::Result<()>,
        note_waited: impl Fn(Duration),
    ) -> Result<Option<Arc<PageInner>>> {
        // The last reference to a page mustn't be dropped under the lock.
        let mut outdated = Vec::new();
        let mut lists = self.lists.lock();
        let failures = lists.failures;
        lists.goal_bytes = ahead.goal_bytes;
        loop {
            let head =
                self.next_ready(&mut lists, &mut outdated).or_else(|| self.next_clean(&mut lists, &mut outdated));
            let can_write = self.call_io_threads(&mut lists, ahead, head.is_none(), &start_thread);
            if let Some(page) = head {
                lists.busy += 1;
                return Ok(Some(page));
            }
            if !can_write && let Some((_, page)) = self.next_in_order(&mut lists, &mut outdated) {
                lists.busy += 1;
                return Ok(Some(page));
            }
            if lists.failures > failures {
                return Err(lists.failure.clone().expect("a failure has a cause"));
            }
            if lists.busy == 0 && lists.by_rank.is_empty() {
                return Ok(None);
            }
            let begun = Instant::now();
            lists.waiting += 1;
            self.finished.wait(&mut lists);
            lists.waiting -= 1;
            note_waited(begun.elapsed());
        }
    }

    /// [`pop`](Self::pop) for callers that write dirty pages themselves.
    pub(crate) fn pop_any(&self) -> Option<Arc<PageInner>> {
        let mut outdated = Vec::new();
        let mut lists = self.lists.lock();
        let ready = self.next_ready(&mut lists, &mut outdated);
        let page = ready.or_else(|| self.next_in_order(&mut lists, &mut outdated).map(|(_, page)| page))?;
        lists.busy += 1;
        Some(page)
    }

    /// A ready page, if there is one. Must be followed by [`finish`](Self::finish).
    pub(crate) fn pop_ready(&self) -> Option<Arc<PageInner>> {
        let mut outdated = Vec::new();
        let mut lists = self.lists.lock();
        let page = self.next_ready(&mut lists, &mut outdated)?;
        lists.busy += 1;
        Some(page)
    }

    fn next_ready(&self, lists: &mut Lists, outdated: &mut Vec<Arc<PageInner>>) -> Option<Arc<PageInner>> {
        while let Some(entry) = lists.pop_ready() {
            let Some(page) = entry.page.upgrade() else {
                self.forget_dead_entry();
                continue;
            };
            if page.state.unqueue_if_pinned() {
                outdated.push(page);
            } else if page.last_use.load(Relaxed) > entry.pushed_at || page.needs_write() {
                lists.push(&page, self.tick());
                outdated.push(page);
            } else {
                return Some(page);
            }
        }
        None
    }

    /// The page at the head of the order, with its rank and entry.
    fn next_in_order(
        &self,
        lists: &mut Lists,
        outdated: &mut Vec<Arc<PageInner>>,
    ) -> Option<((u64, Entry), Arc<PageInner>)> {
        while let Some((rank, entry)) = lists.pop_entry() {
            let Some(page) = entry.page.upgrade() else {
                self.forget_dead_entry();
                continue;
            };
            if page.state.unqueue_if_pinned() {
                outdated.push(page);
            } else if page.last_use.load(Relaxed) > entry.pushed_at || page.rank() != rank {
                lists.push(&page, self.tick());
                outdated.push(page);
            } else {
                return Some(((rank, entry), page));
            }
        }
        None
    }

    /// The page at the head of the order if it is clean, and nothing that comes before it is being written.
    fn next_clean(&self, lists: &mut Lists, outdated: &mut Vec<Arc<PageInner>>) -> Option<Arc<PageInner>> {
        let ((rank, entry), page) = self.next_in_order(lists, outdated)?;
        if !page.needs_write() && rank >= lists.writing_rank_max {
            return Some(page);
        }
        lists.push_back_to_head(rank, entry);
        outdated.push(page);
        None
    }

    /// Makes sure that an I/O thread takes the writes that are due; returns false if there is none.
    fn call_io_threads(
        &self,
        lists: &mut MutexGuard<'_, Lists>,
        ahead: WriteAhead,
        is_waiting: bool,
        start_thread: impl Fn() -> std::io::Result<()>,
    ) -> bool {
        if lists.idle_threads == 0 && lists.threads < ahead.threads_max && (is_waiting || lists.is_write_due(ahead)) {
            lists.threads += 1;
            if start_thread().is_err() {
                lists.threads -= 1;
            }
        }
        if is_waiting || lists.is_write_due(ahead) {
            self.work.notify_one();
        }
        lists.threads > 0
    }

    /// Requests that pages be read back; returns false if the list is already full.
    pub(crate) fn push_reads<'a>(
        &self,
        pages: impl Iterator<Item = &'a Arc<PageInner>>,
        ahead: WriteAhead,
        start_thread: impl Fn() -> std::io::Result<()>,
    ) {
        let mut lists = self.lists.lock();
        for page in pages.take(READ_AHEAD_PAGES_MAX.saturating_sub(lists.reads.len())) {
            lists.reads.push_back(Arc::downgrade(page));
        }
        if !lists.reads.is_empty() {
            self.call_io_threads(&mut lists, ahead, true, start_thread);
        }
    }

    /// Waits for work. `None` if none arrived for `idle_max`, or if the queue is closed: then the thread ends.
    pub(crate) fn next_work(&self, ahead: WriteAhead, idle_max: Duration) -> Option<Work> {
        let mut outdated = Vec::new();
        let mut lists = self.lists.lock();
        loop {
            let work = if lists.waiting > 0 {
                self.next_write(&mut lists, ahead, &mut outdated).or_else(|| self.next_read(&mut lists, ahead))
            } else {
                self.next_read(&mut lists, ahead).or_else(|| self.next_write(&mut lists, ahead, &mut outdated))
            };
            if work.is_some() {
                if lists.idle_threads > 0 && (lists.is_write_due(ahead) || !lists.reads.is_empty()) {
                    self.work.notify_one();
                }
                return work;
            }
            // The pages looked at may have become ready, or may have been the last ones to wait for.
            if lists.waiting > 0 {
                self.finished.notify_all();
            }
            if !outdated.is_empty() {
                // Counts as work in flight: the last handle of a page may be among these.
                lists.busy += 1;
                MutexGuard::unlocked(&mut lists, || outdated.clear());
                lists.busy -= 1;
                self.finished.notify_all();
                continue;
            }
            lists.idle_threads += 1;
            let timed_out = !lists.is_closed && self.work.wait_for(&mut lists, idle_max).timed_out();
            lists.idle_threads -= 1;
            if lists.is_closed || (timed_out && lists.waiting == 0) {
                lists.threads -= 1;
                return None;
            }
        }
    }

    fn next_read(&self, lists: &mut Lists, ahead: WriteAhead) -> Option<Work> {
        let mut pages: Vec<Arc<PageInner>> = Vec::new();
        let mut bytes = 0;
        while bytes < ahead.batch_bytes
            && let Some(page) = lists.reads.pop_front()
        {
            let Some(page) = page.upgrade() else { continue };
            bytes += page.charged_bytes() as u64;
            pages.push(page);
        }
        lists.busy += pages.len();
        (!pages.is_empty()).then_some(Work::Read(pages))
    }

    fn next_write(&self, lists: &mut Lists, ahead: WriteAhead, outdated: &mut Vec<Arc<PageInner>>) -> Option<Work> {
        if !lists.is_write_due(ahead) {
            return None;
        }
        let mut pages = Vec::new();
        let mut bytes = 0;
        while bytes < ahead.batch_bytes
            && let Some(((rank, _), page)) = self.next_in_order(lists, outdated)
        {
            if page.needs_write() {
                lists.writing_rank_max = lists.writing_rank_max.max(rank);
                bytes += page.charged_bytes() as u64;
                pages.push(page);
            } else {
                lists.push_ready(&page, self.tick());
                outdated.push(page);
            }
        }
        lists.busy += pages.len();
        lists.writing_bytes += bytes;
        (!pages.is_empty()).then_some(Work::Write(pages))
    }

    /// Called when `pages` popped pages have been dealt with.
    pub(crate) fn finish(&self, pages: usize) {
        let mut lists = self.lists.lock();
        lists.busy -= pages;
        self.finished.notify_all();
    }

    /// Called when these pages have been written, except for those that couldn't be; `failure` says why.
    pub(crate) fn finish_write(&self, pages: Vec<Arc<PageInner>>, failure: Option<Error>) {
        let (count, now) = (pages.len(), self.tick());
        let mut lists = self.lists.lock();
        for page in &pages {
            lists.writing_bytes -= page.charged_bytes() as u64;
            lists.place(page, now);
        }
        if lists.writing_bytes == 0 {
            lists.writing_rank_max = 0;
        }
        // Pages whose last handle has been dropped meanwhile are destroyed before waiters look again.
        MutexGuard::unlocked(&mut lists, || drop(pages));
        lists.busy -= count;
        if failure.is_some() {
            // No retry before the next request.
            lists.goal_bytes = 0;
            lists.failures += 1;
            lists.failure = failure;
        }
        self.finished.notify_all();
    }

    /// Waits until nothing is being written, read or evicted.
    pub(crate) fn wait_until_idle(&self) {
        let mut lists = self.lists.lock();
        while lists.busy > 0 {
            self.finished.wait(&mut lists);
        }
    }

    /// Called when a page that is marked as queued is destroyed.
    pub(crate) fn note_dead_entry(&self) {
        self.dead.fetch_add(1, Relaxed);
    }

    /// Ends the I/O threads.
    pub(crate) fn close(&self) {
        self.lists.lock().is_closed = true;
        self.work.notify_all();
    }

    /// An entry may be encountered before its page's destructor has counted it, so the count saturates at zero.
    fn forget_dead_entry(&self) {
        let _ = self.dead.fetch_update(Relaxed, Relaxed, |dead| dead.checked_sub(1));
    }

    fn sweep(&self, lists: &mut Lists) {
        let is_alive = |entry: &Entry| entry.page.strong_count() > 0;
        lists.ready.retain(is_alive);
        lists.ready_bytes = lists.ready.iter().map(|entry| entry.bytes).sum();
        let mut kept = lists.ready.len();
        lists.by_rank.retain(|_, list| {
            list.retain(is_alive);
            kept += list.len();
            !list.is_empty()
        });
        lists.entries = kept;
        self.dead.store(0, Relaxed);
    }
}
