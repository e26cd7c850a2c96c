//! The interplay of the pool's parts: room, eviction, loading.

use std::cell::RefCell;
use std::io;
use std::ptr::NonNull;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use godwit_common::{Error, ErrorKind, MemoryTag, Named, Result, format_bytes};
use godwit_io::{AlignedBuffer, Request, RequestQueue, SequentialQueue, TemporaryFiles};

use crate::admission::AdmissionLine;
use crate::arena::{Arenas, Mapping};
use crate::codec::CodecChooser;
use crate::config::{
    BufferConfig, CACHED_LIMIT_SHARE, EvictionPolicy, IDLE_BYTES_MIN, IDLE_PER_USED, PAGE_BYTES, QUERIES_NAMED_MAX,
    ROOM_WAIT_MAX, ROOM_WAIT_STEP, write_ahead,
};
use crate::grants::ClaimTable;
use crate::io_thread::{self, IoSettings};
use crate::ledger::Ledger;
use crate::object::Registry;
use crate::owner;
use crate::page::{Page, PageInner, PageKind};
use crate::page_state::Claim;
use crate::process::ProcessWatch;
use crate::queue::{EvictionQueue, WriteAhead};
use crate::request_faults::RequestFaults;
use crate::statistics::MemoryStatistics;
use crate::temporary::{DiskCopy, TempSpace};

fn check_holds_a_page(memory_limit: u64) -> Result<()> {
    if memory_limit < PAGE_BYTES as u64 {
        return Err(Error::user(format!("a memory limit of {} holds no page", format_bytes(memory_limit)))
            .with_hint("raise memory_limit"));
    }
    Ok(())
}

pub(crate) struct Pool {
    pub(crate) ledger: Ledger,
    pub(crate) queue: Arc<EvictionQueue>,
    pub(crate) temp: Arc<TempSpace>,
    pub(crate) admission: AdmissionLine,
    pub(crate) io: IoSettings,
    pub(crate) codecs: CodecChooser,
    eviction: AtomicU8,
    pub(crate) claims: ClaimTable,
    pub(crate) objects: Arc<Registry>,
    /// A thread is waiting for others to give back memory.
    somebody_waits: AtomicBool,
    arenas: Arenas,
    /// The configured limit; that of the ledger is lower while the process has grown outside the pool.
    limit_bytes: AtomicU64,
    process: Option<ProcessWatch>,
    force_spill: bool,
    request_faults: Option<RequestFaults>,
    /// Bytes of loaded pages without pins. Signed, because a first pin may be counted before the last unpin.
    evictable_bytes: AtomicI64,
    evictions: AtomicU64,
    spilled_bytes: AtomicU64,
    stored_bytes: AtomicU64,
    reread_bytes: AtomicU64,
}

impl Pool {
    pub(crate) fn new(config: BufferConfig, files: Arc<dyn TemporaryFiles>) -> Result<Self> {
        check_holds_a_page(config.memory_limit)?;
        Ok(Self {
            ledger: Ledger::new(config.memory_limit),
            queue: Arc::default(),
            temp: TempSpace::new(files, config.temp_directory, config.max_temp_directory_bytes),
            admission: AdmissionLine::default(),
            io: IoSettings::new(config.io_method),
            codecs: CodecChooser::new(config.compression),
            eviction: AtomicU8::new(config.eviction as u8),
            claims: ClaimTable::default(),
            objects: Arc::default(),
            somebody_waits: AtomicBool::new(false),
            arenas: Arenas::default(),
            limit_bytes: AtomicU64::new(config.memory_limit),
            process: config.process.map(ProcessWatch::new),
            force_spill: config.force_spill,
            request_faults: config.request_faults,
            evictable_bytes: AtomicI64::new(0),
            evictions: AtomicU64::new(0),
            spilled_bytes: AtomicU64::new(0),
            stored_bytes: AtomicU64::new(0),
            reread_bytes: AtomicU64::new(0),
        })
    }

    pub(crate) fn forces_spill(&self) -> bool {
        self.force_spill
    }

    /// Takes `bytes` of the limit: free room, or else room that this call evicts. Evicted room goes straight to the
    /// evictor, so every round makes progress; the queue bounds the number of rounds.
    pub(crate) fn take_room(&self, bytes: u64) -> Result<()> {
        if let Some(watch) = self.process.as_ref().filter(|watch| watch.is_due(bytes)) {
            self.follow_process(watch);
        }
        if self.request_faults.as_ref().is_some_and(RequestFaults::strike) {
            return Err(self.shortage(bytes));
        }
        if self.ledger.try_take_room(bytes) {
            return Ok(());
        }
        if bytes > self.ledger.limit_bytes() {
            return Err(self.shortage(bytes));
        }
        match self.evict_for(bytes) {
            Err(error) if error.kind() == ErrorKind::Resource => self.wait_for_room(bytes, error),
            made => made,
        }
    }

    /// Retries for a while, if other queries may give back enough. Only one thread waits at a time: if a second one
    /// runs short, the others evidently make no progress, and ending its query helps them.
    fn wait_for_room(&self, bytes: u64, mut error: Error) -> Result<()> {
        if !self.admission.has_several() || self.somebody_waits.swap(true, Relaxed) {
            return Err(error);
        }
        let began = Instant::now();
        while began.elapsed() < ROOM_WAIT_MAX {
            std::thread::sleep(ROOM_WAIT_STEP);
            match self.evict_for(bytes) {
                Err(again) if again.kind() == ErrorKind::Resource => error = again,
                made => {
                    self.somebody_waits.store(false, Relaxed);
                    return made;
                }
            }
        }
        self.somebody_waits.store(false, Relaxed);
        Err(error)
    }

    fn evict_for(&self, bytes: u64) -> Result<()> {
        let mut earned = 0;
        while earned < bytes {
            // If the limit has been lowered meanwhile, give back before taking.
            let is_over = self.ledger.used_bytes() > self.ledger.limit_bytes();
            match self.evict_next(if is_over { 0 } else { bytes - earned }) {
                Ok(Some(kept)) => earned += kept,
                Ok(None) => {
                    self.ledger.release_room(earned);
                    // Memory may have been freed without eviction while we looked for victims.
                    return if self.ledger.try_take_room(bytes) { Ok(()) } else { Err(self.shortage(bytes)) };
                }
                Err(error) => {
                    self.ledger.release_room(earned);
                    return Err(error.context(format!("making room for {}", format_bytes(bytes))));
                }
            }
            if self.ledger.try_take_room(bytes - earned) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Adjusts the ledger's limit to what the process holds outside the pool. Pages that can't be evicted now stay: the
    /// next requests make up for them.
    fn follow_process(&self, watch: &ProcessWatch) {
        let pool_bytes = self.ledger.used_bytes() + self.arenas.idle_bytes();
        let Some(resident) = watch.resident_bytes(self.limit_bytes(), pool_bytes) else { return };
        let limit = watch.limit_left(self.limit_bytes(), resident, pool_bytes);
        self.ledger.set_limit_bytes(limit);
        while self.ledger.used_bytes() > limit {
            if !matches!(self.evict_next(0), Ok(Some(_))) {
                break;
            }
        }
        self.trim_idle_frames();
    }

    pub(crate) fn limit_bytes(&self) -> u64 {
        self.limit_bytes.load(Relaxed)
    }

    /// Takes `bytes` for a cached page, if enough of the limit is free that operators won't miss them right away.
    pub(crate) fn try_take_spare_room(&self, bytes: u64) -> bool {
        self.ledger.used_bytes() + bytes <= self.cache_limit() && self.ledger.try_take_room(bytes)
    }

    pub(crate) fn cache_limit(&self) -> u64 {
        self.ledger.limit_bytes() / CACHED_LIMIT_SHARE
    }

    fn shortage(&self, bytes: u64) -> Error {
        let limit = format_bytes(self.ledger.limit_bytes());
        let hint = "raise memory_limit, use fewer threads, or run fewer queries at once";
        if bytes > self.ledger.limit_bytes() {
            let needed = format_bytes(bytes);
            return Error::resource(format!("out of memory: {needed} are needed in one piece, the limit is {limit}"))
                .with_hint(hint);
        }
        let used = self.ledger.used_bytes();
        let mut holders: Vec<_> =
            MemoryTag::ALL.into_iter().zip(self.ledger.tag_bytes()).filter(|&(_, held)| held > 0).collect();
        holders.sort_by_key(|&(_, held)| std::cmp::Reverse(held));
        let mut holders: Vec<_> = holders.iter().map(|(tag, held)| format!("{tag} {}", format_bytes(*held))).collect();
        if self.admission.has_several() {
            let queries = self.admission.holders().into_iter().take(QUERIES_NAMED_MAX);
            holders.extend(queries.map(|(name, held)| format!("{name} holds {}", format_bytes(held))));
        }
        Error::resource(format!(
            "out of memory: {} more are needed, {} of {} are in use and can't be spilled ({})",
            format_bytes(bytes),
            format_bytes(used),
            limit,
            if holders.is_empty() { "nothing is held".to_owned() } else { holders.join(", ") },
        ))
        .with_hint(hint)
    }

    /// Lowers or raises the limit; evicts whatever exceeds it.
    pub(crate) fn set_memory_limit(&self, bytes: u64) -> Result<()> {
        check_holds_a_page(bytes)?;
        let old = self.limit_bytes.swap(bytes, Relaxed);
        self.ledger.set_limit_bytes(bytes);
        while self.ledger.used_bytes() > bytes {
            match self.evict_next(0) {
                Ok(Some(_)) => {}
                Ok(None) if self.ledger.used_bytes() <= bytes => break,
                failed => {
                    let cause = failed.err().unwrap_or_else(|| self.shortage(0));
                    self.limit_bytes.store(old, Relaxed);
                    self.ledger.set_limit_bytes(old);
                    return Err(cause.context(format!("lowering the memory limit to {}", format_bytes(bytes))));
                }
            }
        }
        self.trim_idle_frames();
        Ok(())
    }

    /// Takes the best victim out of memory. Up to `keep` bytes of its room now belong to the caller; returns how many.
    /// The rest is free. `None` if no page can be evicted. Waits for the I/O threads if all victims are dirty.
    fn evict_next(&self, keep: u64) -> Result<Option<u64>> {
        while let Some(page) =
            self.queue.pop(self.write_ahead(), || self.start_io_thread(), |waited| self.codecs.note_waited(waited))?
        {
            if let Some(kept) = self.settle_victim(page, keep)? {
                return Ok(Some(kept));
            }
        }
        Ok(None)
    }

    /// Like [`evict_next`](Self::evict_next), but writes the page in the calling thread.
    fn evict_now(&self) -> Result<()> {
        while let Some(page) = self.queue.pop_any() {
            if self.settle_victim(page, 0)?.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Takes room at the cost of ready pages only.
    pub(crate) fn try_take_ready_room(&self, bytes: u64) -> bool {
        if self.ledger.try_take_room(bytes) {
            return true;
        }
        let mut earned = 0;
        while earned < bytes {
            let Some(page) = self.queue.pop_ready() else { break };
            earned += self.settle_victim(page, bytes - earned).ok().flatten().unwrap_or(0);
        }
        if earned < bytes {
            self.ledger.release_room(earned);
        }
        earned >= bytes
    }

    /// Evicts a popped page, if that is still possible, and finishes the pop.
    fn settle_victim(&self, page: Arc<PageInner>, keep: u64) -> Result<Option<u64>> {
        let freed = self.evict(&page);
        // Everything is settled before waiters look again: the room, and the page, if its last handle has been dropped
        // meanwhile.
        drop(page);
        let kept = freed.map(|freed| {
            freed.map(|bytes| {
                self.ledger.release_room(bytes.saturating_sub(keep));
                bytes.min(keep)
            })
        });
        self.queue.finish(1);
        kept
    }

    /// Frees the memory of a page, unless it is pinned. Writes it first if it is dirty, which happens only when there
    /// is no I/O thread. The room stays taken.
    fn evict(&self, page: &Arc<PageInner>) -> Result<Option<u64>> {
        let Some(mut disk) = page.disk.try_lock() else {
            // Another thread is using it right now.
            self.queue.push_again(page);
            return Ok(None);
        };
        let Claim::Spilling { dirty } = page.state.begin_spill() else { return Ok(None) };
        let bytes = page.charged_bytes();
        if dirty && page.kind != PageKind::Cached {
            // SAFETY: a spilling page has `bytes` of mapped memory, and can't be pinned before the latch is free.
            let content = unsafe { slice::from_raw_parts(page.memory().as_ptr(), bytes) };
            // The old copy, if any, is worthless; freeing it first keeps the quota at one slot for each page.
            *disk = None;
            let written = DiskCopy::prepare(&self.temp, content, page.is_mapped()).and_then(|copy| {
                let result = run_alone(copy.write_request(content));
                result.map_err(|error| copy.write_error(&self.temp, &error)).map(|()| copy)
            });
            match written {
                Ok(copy) => *disk = Some(copy),
                Err(error) => {
                    page.state.cancel_spill();
                    drop(disk);
                    self.enqueue(page);
                    return Err(error);
                }
            }
            self.note_written(page, bytes);
        }
        let memory = page.memory();
        page.forget_traced(memory);
        page.set_memory(None);
        // SAFETY: the memory is that of this page, which is claimed, unpinned, and has its copy on disk or needs none.
        unsafe { self.free_memory(memory, bytes, page.is_mapped()) };
        self.remove_evictable(bytes);
        self.ledger.remove_label(page.tag, page.owner.as_ref(), bytes as u64);
        self.evictions.fetch_add(1, Relaxed);
        page.state.end_spill();
        Ok(Some(bytes as u64))
    }

    /// Counts a written page, which takes `stored_bytes` on disk.
    pub(crate) fn note_written(&self, page: &PageInner, stored_bytes: usize) {
        let bytes = page.charged_bytes() as u64;
        self.stored_bytes.fetch_add(stored_bytes as u64, Relaxed);
        self.spilled_bytes.fetch_add(bytes, Relaxed);
        owner::add_spilled(page.owner.as_ref(), bytes);
    }

    /// Counts a page that was read back, and charges it to its owners; its room is already taken.
    pub(crate) fn note_read(&self, page: &PageInner) {
        let bytes = page.charged_bytes() as u64;
        self.ledger.add_label(page.tag, page.owner.as_ref(), bytes);
        self.reread_bytes.fetch_add(bytes, Relaxed);
        owner::add_reread(page.owner.as_ref(), bytes);
    }

    /// Starts reading evicted pages back while the caller carries on. This is a hint: it is dropped if no room is free
    /// or ready, and errors are reported by the pin.
    pub(crate) fn read_ahead<'a>(&self, pages: impl Iterator<Item = &'a Page>) {
        let mut evicted = pages.map(|page| &page.0).filter(|page| page.state.is_evicted()).peekable();
        if evicted.peek().is_some() {
            self.queue.push_reads(evicted, self.write_ahead(), || self.start_io_thread());
        }
    }

    pub(crate) fn write_ahead(&self) -> WriteAhead {
        write_ahead(self.ledger.limit_bytes(), self.io.method())
    }

    fn start_io_thread(&self) -> io::Result<()> {
        io_thread::start(Arc::clone(&self.queue), self.write_ahead(), self.io.clone())
    }

    pub(crate) fn eviction(&self) -> EvictionPolicy {
        EvictionPolicy::NAMES[usize::from(self.eviction.load(Relaxed))].1
    }

    pub(crate) fn set_eviction(&self, policy: EvictionPolicy) {
        self.eviction.store(policy as u8, Relaxed);
    }

    /// Pins a page, reading it from disk if necessary, and returns its address.
    pub(crate) fn pin(&self, page: &PageInner, writes: bool) -> Result<NonNull<u8>> {
        if let Some(memory) = self.pin_loaded(page, writes) {
            return Ok(memory);
        }
        let mut disk = page.disk.lock();
        if let Some(memory) = self.pin_loaded(page, writes) {
            return Ok(memory);
        }
        self.load(page, &mut disk, writes)
    }

    pub(crate) fn pin_loaded(&self, page: &PageInner, writes: bool) -> Option<NonNull<u8>> {
        let is_first = page.state.try_pin(writes)?;
        if is_first {
            self.remove_evictable(page.charged_bytes());
        }
        Some(page.memory())
    }

    /// Reads an evicted page back. The caller holds the latch, whose content is `disk`.
    fn load(&self, page: &PageInner, disk: &mut Option<DiskCopy>, writes: bool) -> Result<NonNull<u8>> {
        let bytes = page.charged_bytes();
        self.take_room(bytes as u64)?;
        let copy = disk.as_ref().expect("an evicted page has a copy on disk");
        let begun = Instant::now();
        let memory = match self.read_copy(copy, bytes, page.is_mapped()) {
            Ok(memory) => memory,
            Err(error) => {
                self.ledger.release_room(bytes as u64);
                return Err(error);
            }
        };
        self.codecs.note_waited(begun.elapsed());
        self.note_read(page);
        if writes {
            // The copy is about to become stale; its slot is freed at once.
            *disk = None;
        }
        page.set_memory(Some(memory));
        page.state.end_load(writes);
        Ok(memory)
    }

    fn read_copy(&self, copy: &DiskCopy, bytes: usize, is_large: bool) -> Result<NonNull<u8>> {
        let memory = self.allocate_memory(bytes, is_large)?;
        // SAFETY: just allocated with this size, initialised by the mapping, and not shared.
        let content = unsafe { slice::from_raw_parts_mut(memory.as_ptr(), bytes) };
        if let Err(error) = self.fill_from(copy, content) {
            // SAFETY: as above; the slice isn't used any more.
            unsafe { self.free_memory(memory, bytes, is_large) };
            return Err(error);
        }
        Ok(memory)
    }

    /// Reads a copy into the memory of its page, in the calling thread.
    fn fill_from(&self, copy: &DiskCopy, content: &mut [u8]) -> Result<()> {
        thread_local! {
            static STORED: RefCell<AlignedBuffer> = RefCell::default();
        }
        let Some(bytes) = copy.encoded_stored_bytes() else {
            let result = run_alone(copy.read_request(content));
            return copy.verify(&result, content);
        };
        let mut read = |stored: &mut [u8]| {
            let result = run_alone(copy.read_request(stored));
            copy.verify(&result, stored)?;
            copy.decode(stored, content, &self.codecs)
        };
        if bytes > PAGE_BYTES {
            return read(&mut AlignedBuffer::new(bytes)[..bytes]);
        }
        STORED.with_borrow_mut(|buffer| {
            if buffer.is_empty() {
                *buffer = AlignedBuffer::new(PAGE_BYTES);
            }
            read(&mut buffer[..bytes])
        })
    }

    /// Drops a pin; with the last one the page may be evicted.
    pub(crate) fn unpin(&self, page: &Arc<PageInner>) {
        page.last_use.store(self.queue.now(), Relaxed);
        if !page.state.unpin() {
            return;
        }
        self.add_evictable(page.charged_bytes());
        // The page can't be pinned again: it is destroyed as soon as the caller's handle is gone.
        if Arc::strong_count(page) == 1 {
            return;
        }
        self.enqueue(page);
        if self.force_spill {
            // A page that can't be written stays in memory, as it would without forced spilling; the next request
            // reports why.
            let _ = self.evict_now();
        }
    }

    pub(crate) fn enqueue(&self, page: &Arc<PageInner>) {
        if page.state.mark_queued() {
            self.queue.push(page);
        }
    }

    /// Memory for a page whose room is taken. Large pages are zeroed.
    pub(crate) fn allocate_memory(&self, bytes: usize, is_large: bool) -> Result<NonNull<u8>> {
        if is_large {
            self.trim_idle_frames();
            Ok(self.arenas.map(bytes)?.into_raw())
        } else {
            self.arenas.allocate()
        }
    }

    /// Gives back memory that [`allocate_memory`](Self::allocate_memory) returned.
    ///
    /// # Safety
    /// `memory` came from `allocate_memory` of this pool with the same arguments, and is no longer in use.
    pub(crate) unsafe fn free_memory(&self, memory: NonNull<u8>, bytes: usize, is_large: bool) {
        if is_large {
            // SAFETY: the caller's promise.
            drop(unsafe { Mapping::from_raw(memory, bytes) });
        } else {
            self.arenas.free(memory, self.idle_bytes_max());
        }
    }

    /// How much freed memory may stay resident: it must fit under the limit, except for a small remainder, and be in
    /// proportion to the memory in use.
    fn idle_bytes_max(&self) -> u64 {
        let used = self.ledger.used_bytes();
        let below_limit = self.ledger.limit_bytes().saturating_sub(used);
        below_limit.min(used * IDLE_PER_USED).max(IDLE_BYTES_MIN)
    }

    /// Returns idle frames to the system after something other than a page was charged.
    pub(crate) fn trim_idle_frames(&self) {
        self.arenas.trim(self.idle_bytes_max());
    }

    pub(crate) fn add_evictable(&self, bytes: usize) {
        self.evictable_bytes.fetch_add(bytes as i64, Relaxed);
    }

    pub(crate) fn remove_evictable(&self, bytes: usize) {
        self.evictable_bytes.fetch_sub(bytes as i64, Relaxed);
    }

    pub(crate) fn evictable_bytes(&self) -> u64 {
        self.evictable_bytes.load(Relaxed).max(0) as u64
    }

    /// Bytes that are free, or would be if all evictable pages were evicted.
    pub(crate) fn obtainable_bytes(&self) -> u64 {
        let free = self.ledger.limit_bytes().saturating_sub(self.ledger.used_bytes());
        free + self.evictable_bytes()
    }

    pub(crate) fn statistics(&self) -> MemoryStatistics {
        MemoryStatistics {
            limit_bytes: self.limit_bytes(),
            used_bytes: self.ledger.used_bytes(),
            peak_bytes: self.ledger.peak_bytes(),
            evictable_bytes: self.evictable_bytes(),
            idle_bytes: self.arenas.idle_bytes(),
            tag_bytes: self.ledger.tag_bytes(),
            evictions: self.evictions.load(Relaxed),
            spilled_bytes_total: self.spilled_bytes.load(Relaxed),
            stored_bytes_total: self.stored_bytes.load(Relaxed),
            reread_bytes_total: self.reread_bytes.load(Relaxed),
            temp_file_bytes: self.temp.used_bytes(),
        }
    }
}

/// Runs a request in the calling thread.
fn run_alone(request: Request<'_>) -> io::Result<()> {
    let mut request = [request];
    SequentialQueue.run(&mut request);
    let [request] = request;
    request.result
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.queue.close();
        self.temp.close();
    }
}
