//! Threads that move pages between memory and disk while workers carry on.
//!
//! A thread takes a batch from the queue, latches its pages, submits all requests at once, and settles them. There are
//! a few threads, so that one prepares a batch while another waits for the disk. They are started when the first page
//! has to be written or read ahead, and end when there is nothing left to do.

use std::cell::RefCell;
use std::io;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Instant;

use godwit_common::{Error, MemoryTag, Named, Result};
use godwit_io::{ALIGNMENT_BYTES, AlignedBuffer, IoMethod, Request, RequestQueue, SequentialQueue, open_queue};
use parking_lot::{Mutex, MutexGuard};

use crate::codec::Codec;
use crate::config::{COMPRESSED_PAGE_BYTES_MAX, IO_THREAD_IDLE_MAX, PAGE_BYTES, QUEUE_DEPTH, SLOT_STEP_BYTES};
use crate::page::PageInner;
use crate::pool::Pool;
use crate::queue::{EvictionQueue, Work, WriteAhead};
use crate::temporary::DiskCopy;

/// An I/O thread runs batches, without deep recursion.
const STACK_BYTES: usize = 512 * 1024;

/// The I/O method that the threads of a pool are configured to use, and the one that they actually use.
#[derive(Clone)]
pub(crate) struct IoSettings(Arc<Inner>);

struct Inner {
    method: AtomicU8,
    description: Mutex<Option<String>>,
    /// Number of write batches in flight.
    writing: AtomicUsize,
}

impl IoSettings {
    pub(crate) fn new(method: IoMethod) -> Self {
        Self(Arc::new(Inner {
            method: AtomicU8::new(method as u8),
            description: Mutex::new(None),
            writing: AtomicUsize::new(0),
        }))
    }

    pub(crate) fn method(&self) -> IoMethod {
        IoMethod::NAMES[usize::from(self.0.method.load(Relaxed))].1
    }

    pub(crate) fn set_method(&self, method: IoMethod) -> Result<()> {
        open_queue(method, QUEUE_DEPTH).map_err(|error| {
            Error::io(format!("setting up {}", method.name()), &error).with_hint("use 'auto' or 'threads'")
        })?;
        self.0.method.store(method as u8, Relaxed);
        *self.0.description.lock() = None;
        Ok(())
    }

    pub(crate) fn description(&self) -> Option<String> {
        self.0.description.lock().clone()
    }

    /// A queue of the configured kind; the plain one if the system no longer offers that.
    fn open(&self) -> Box<dyn RequestQueue> {
        let (queue, description) = open_queue(self.method(), QUEUE_DEPTH)
            .unwrap_or_else(|error| (Box::new(SequentialQueue), format!("threads ({error})")));
        *self.0.description.lock() = Some(description);
        queue
    }
}

/// Starts a thread. It ends with the queue, or after having been idle for a while.
pub(crate) fn start(queue: Arc<EvictionQueue>, ahead: WriteAhead, settings: IoSettings) -> io::Result<()> {
    let run = move || {
        let mut worker = Worker { queue: settings.open(), spare: RefCell::default() };
        while let Some(work) = queue.next_work(ahead, IO_THREAD_IDLE_MAX) {
            match work {
                Work::Write(pages) => worker.write(pages),
                Work::Read(pages) => worker.read(pages),
            }
        }
    };
    thread::Builder::new().name("godwit-io".into()).stack_size(STACK_BYTES).spawn(run).map(drop)
}

/// State that a thread keeps between batches.
struct Worker {
    queue: Box<dyn RequestQueue>,
    spare: RefCell<SpareBuffers>,
}

/// Buffers for pages of the usual size, kept from batch to batch: an allocator from which each batch takes megabytes
/// and gives them back ends up holding many times as much.
type SpareBuffers = Vec<AlignedBuffer>;

/// Size of these buffers.
const SPARE_BYTES: usize = Codec::encoded_bytes_max(PAGE_BYTES);

/// Worst-case room for a compressed page of a batch, charged while the batch is in flight. No request fails because of
/// it: while a batch is in flight, requests that look for victims wait.
struct SpillBuffer<'a> {
    pool: &'a Pool,
    spare: &'a RefCell<SpareBuffers>,
    bytes: AlignedBuffer,
}

impl<'a> SpillBuffer<'a> {
    fn new(pool: &'a Pool, spare: &'a RefCell<SpareBuffers>, bytes: usize) -> Self {
        let kept = if bytes <= SPARE_BYTES { spare.borrow_mut().pop() } else { None };
        let bytes = kept.unwrap_or_else(|| AlignedBuffer::new(bytes.max(SPARE_BYTES)));
        let buffer = Self { pool, spare, bytes };
        pool.ledger.take_room_over_limit(buffer.bytes.len() as u64);
        pool.ledger.add_label(MemoryTag::SpillBuffer, None, buffer.bytes.len() as u64);
        buffer
    }
}

impl Drop for SpillBuffer<'_> {
    fn drop(&mut self) {
        let bytes = self.bytes.len() as u64;
        self.pool.ledger.remove_label(MemoryTag::SpillBuffer, None, bytes);
        self.pool.ledger.release_room(bytes);
        let mut spare = self.spare.borrow_mut();
        if self.bytes.len() == SPARE_BYTES && spare.len() < QUEUE_DEPTH as usize {
            spare.push(std::mem::take(&mut self.bytes));
        }
    }
}

/// A page whose latch the thread holds.
struct Latched<'a> {
    page: &'a Arc<PageInner>,
    latch: MutexGuard<'a, Option<DiskCopy>>,
}

impl Worker {
    /// Writes pages and hands them back to the queue: as ready, or at their old place.
    fn write(&mut self, pages: Vec<Arc<PageInner>>) {
        let pool = Arc::clone(&pages[0].pool);
        let failure = self.write_latched(&pool, &pages).err();
        pool.queue.finish_write(pages, failure);
    }

    /// Writes the pages that can be latched; returns the error of the last page that couldn't be written.
    fn write_latched(&mut self, pool: &Pool, pages: &[Arc<PageInner>]) -> Result<()> {
        let mut failure = Ok(());
        let mut buffers: Vec<Option<SpillBuffer<'_>>> = pages.iter().map(|_| None).collect();
        let mut latched = Vec::with_capacity(pages.len());
        let mut copies = Vec::with_capacity(pages.len());
        for (page, buffer) in pages.iter().zip(&mut buffers) {
            let Some(mut latch) = page.disk.try_lock() else { continue };
            if !page.state.begin_write() {
                continue;
            }
            // The old copy, if any, is worthless; freeing it first keeps the quota at one slot for each page.
            *latch = None;
            match prepare(pool, &self.spare, page, buffer) {
                Ok(copy) => {
                    latched.push(Latched { page, latch });
                    copies.push(copy);
                }
                Err(error) => {
                    page.state.end_write(false);
                    failure = Err(error);
                }
            }
        }
        let begun = Instant::now();
        let batches = pool.io.0.writing.fetch_add(1, Relaxed) + 1;
        let mut requests: Vec<Request<'_>> = copies.iter().map(|(copy, stored)| copy.write_request(stored)).collect();
        self.queue.run(&mut requests);
        let results: Vec<io::Result<()>> = requests.into_iter().map(|request| request.result).collect();
        pool.io.0.writing.fetch_sub(1, Relaxed);
        let mut stored_bytes = 0;
        for ((mut latched, (copy, stored)), result) in latched.into_iter().zip(copies).zip(results) {
            latched.page.state.end_write(result.is_ok());
            match result {
                Ok(()) => {
                    stored_bytes += stored.len();
                    pool.note_written(latched.page, stored.len());
                    *latched.latch = Some(copy);
                }
                Err(error) => failure = Err(copy.write_error(&pool.temp, &error)),
            }
        }
        if stored_bytes > 0 {
            pool.codecs.note_written(stored_bytes, begun.elapsed(), batches);
        }
        failure
    }

    /// Reads pages back as long as there is room without a write.
    fn read(&mut self, pages: Vec<Arc<PageInner>>) {
        let (pool, count) = (Arc::clone(&pages[0].pool), pages.len());
        self.read_latched(&pool, &pages);
        drop(pages);
        pool.queue.finish(count);
    }

    fn read_latched(&mut self, pool: &Pool, pages: &[Arc<PageInner>]) {
        let mut latched = Vec::with_capacity(pages.len());
        let mut memories = Vec::with_capacity(pages.len());
        let mut buffers = Vec::with_capacity(pages.len());
        for page in pages {
            let Some(latch) = page.disk.try_lock() else { continue };
            if !page.state.is_evicted() {
                continue;
            }
            let Some(memory) = ReadMemory::new(pool, page) else { continue };
            let page = Latched { page, latch };
            buffers.push(copy_of(&page).encoded_stored_bytes().map(|bytes| SpillBuffer::new(pool, &self.spare, bytes)));
            latched.push(page);
            memories.push(memory);
        }
        let mut targets: Vec<&mut [u8]> = latched
            .iter()
            .zip(&mut memories)
            .zip(&mut buffers)
            .map(|((latched, memory), buffer)| match (copy_of(latched).encoded_stored_bytes(), buffer) {
                (Some(bytes), Some(buffer)) => &mut buffer.bytes[..bytes],
                _ => memory.content(),
            })
            .collect();
        let mut requests: Vec<Request<'_>> =
            latched.iter().zip(&mut targets).map(|(latched, target)| copy_of(latched).read_request(target)).collect();
        self.queue.run(&mut requests);
        let results: Vec<io::Result<()>> = requests.into_iter().map(|request| request.result).collect();
        for (((latched, mut memory), buffer), result) in latched.into_iter().zip(memories).zip(buffers).zip(results) {
            // A page that can't be read stays on disk: pinning it will report why.
            let copy = copy_of(&latched);
            let filled = match (copy.encoded_stored_bytes(), &buffer) {
                (Some(bytes), Some(buffer)) => {
                    let stored = &buffer.bytes[..bytes];
                    copy.verify(&result, stored).and_then(|()| copy.decode(stored, memory.content(), &pool.codecs))
                }
                _ => copy.verify(&result, memory.content()),
            };
            if filled.is_ok() {
                memory.load(&latched);
            }
        }
    }
}

/// Encodes a page that is being written, if a codec is chosen and makes it smaller, and allocates space on disk for it.
/// Returns the bytes to store there, too.
fn prepare<'a, 'p>(
    pool: &'p Pool,
    spare: &'p RefCell<SpareBuffers>,
    page: &'a PageInner,
    buffer: &'a mut Option<SpillBuffer<'p>>,
) -> Result<(DiskCopy, &'a [u8])> {
    let content = content_of(page);
    let codec = if content.len() > COMPRESSED_PAGE_BYTES_MAX { Codec::Plain } else { pool.codecs.next() };
    if codec != Codec::Plain {
        *buffer = Some(SpillBuffer::new(pool, spare, Codec::encoded_bytes_max(content.len())));
    }
    if let Some(SpillBuffer { bytes: target, .. }) = buffer {
        let begun = Instant::now();
        let encoded_bytes = codec.encode(content, target).unwrap_or(content.len());
        pool.codecs.note_encoded(codec, content.len(), encoded_bytes, begun.elapsed());
        if encoded_bytes + SLOT_STEP_BYTES <= content.len() {
            let stored_bytes = encoded_bytes.next_multiple_of(ALIGNMENT_BYTES);
            target[encoded_bytes..stored_bytes].fill(0);
            let stored = &target[..stored_bytes];
            let copy = DiskCopy::prepare_encoded(&pool.temp, stored, page.is_mapped(), codec, encoded_bytes)?;
            return Ok((copy, stored));
        }
    }
    Ok((DiskCopy::prepare(&pool.temp, content, page.is_mapped())?, content))
}

/// The content of a page that is being written.
fn content_of(page: &PageInner) -> &[u8] {
    // SAFETY: a page that is being written stays in memory and has `charged_bytes` mapped bytes; they don't change,
    // because the state refuses pins for writing, and there was no pin when the write began.
    unsafe { slice::from_raw_parts(page.memory().as_ptr(), page.charged_bytes()) }
}

fn copy_of<'a>(latched: &'a Latched<'_>) -> &'a DiskCopy {
    latched.latch.as_ref().expect("an evicted page has a copy on disk")
}

/// Room and memory for a page that is being read back; released unless it becomes the page's.
struct ReadMemory<'a> {
    pool: &'a Pool,
    memory: Option<std::ptr::NonNull<u8>>,
    bytes: usize,
    is_large: bool,
}

impl<'a> ReadMemory<'a> {
    fn new(pool: &'a Pool, page: &PageInner) -> Option<Self> {
        let (bytes, is_large) = (page.charged_bytes(), page.is_mapped());
        if !pool.try_take_ready_room(bytes as u64) {
            return None;
        }
        let mut taken = Self { pool, memory: None, bytes, is_large };
        taken.memory = Some(pool.allocate_memory(bytes, is_large).ok()?);
        Some(taken)
    }

    fn content(&mut self) -> &mut [u8] {
        let memory = self.memory.expect("memory until the page is loaded");
        // SAFETY: allocated with this size, initialised by the mapping, and not shared.
        unsafe { slice::from_raw_parts_mut(memory.as_ptr(), self.bytes) }
    }

    /// Makes this the memory of the page, which may be pinned from here on.
    fn load(mut self, latched: &Latched<'_>) {
        let page = latched.page;
        self.pool.note_read(page);
        self.pool.add_evictable(self.bytes);
        page.set_memory(self.memory.take());
        page.last_use.store(self.pool.queue.now(), Relaxed);
        page.state.end_read_ahead();
        self.pool.enqueue(page);
        std::mem::forget(self);
    }
}

impl Drop for ReadMemory<'_> {
    fn drop(&mut self) {
        if let Some(memory) = self.memory.take() {
            // SAFETY: allocated with these arguments, and no slice of it is alive.
            unsafe { self.pool.free_memory(memory, self.bytes, self.is_large) };
        }
        self.pool.ledger.release_room(self.bytes as u64);
    }
}
