//! Pages and the pins on them.

use std::fmt;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Arc, Weak};

use godwit_common::{MemoryTag, Result, bail};
use godwit_io::ALIGNMENT_BYTES;
use godwit_trace::ObjectPart;
use parking_lot::Mutex;

use crate::config::PAGE_BYTES;
use crate::owner::Owner;
use crate::page_state::PageState;
use crate::pool::Pool;
use crate::temporary::DiskCopy;

/// Stands for "no partition", which is evicted after all partitions except the first.
const NO_PARTITION: u32 = 0;

/// The "partition" of cached pages that leave after the others.
const OUTLASTING: u32 = 1;

/// What happens to a page's content when the page leaves memory, and where its memory comes from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PageKind {
    /// [`PAGE_BYTES`] from an arena, spilled into a slot of the shared file.
    Temporary,
    /// Any size from a mapping of its own, spilled into a file of its own.
    Large,
    /// Any size; a copy of something that can be recreated, so it is just dropped. From an arena if that wastes less
    /// than half, otherwise from a mapping of its own.
    Cached,
}

impl PageKind {
    /// Whether a page of `bytes` bytes has a mapping of its own.
    fn is_mapped(self, bytes: usize) -> bool {
        match self {
            PageKind::Temporary => false,
            PageKind::Large => true,
            PageKind::Cached => bytes <= PAGE_BYTES / 2 || bytes > PAGE_BYTES,
        }
    }

    /// The space that a page of `bytes` bytes takes in memory and on disk: whole blocks.
    fn charged_bytes(self, bytes: usize) -> usize {
        if self.is_mapped(bytes) { bytes.next_multiple_of(ALIGNMENT_BYTES) } else { PAGE_BYTES }
    }
}

/// A handle of a page that may be in memory or on disk. Clones are handles of the same page; with the last handle and
/// the last pin the page is destroyed.
#[derive(Clone)]
pub struct Page(pub(crate) Arc<PageInner>);

pub(crate) struct PageInner {
    pub(crate) pool: Arc<Pool>,
    pub(crate) owner: Option<Owner>,
    pub(crate) tag: MemoryTag,
    /// The requested size.
    bytes: usize,
    pub(crate) kind: PageKind,
    pub(crate) state: PageState,
    /// Valid while the state is loaded or spilling.
    memory: AtomicPtr<u8>,
    partition: AtomicU32,
    /// Time on the clock of the queue when the last pin was dropped.
    pub(crate) last_use: AtomicU64,
    /// The latch of the page, and its copy on disk. An evicted page has one, and a loaded page may have; it is valid if
    /// the page is clean.
    pub(crate) disk: Mutex<Option<DiskCopy>>,
    traced: TracedPage,
}

/// What memory traces have been told about a page.
struct TracedPage {
    /// Number of the trace and address of the page at that time; 0: nothing.
    declared: AtomicU64,
    /// Where the page begins within its object; [`UNPLACED`] before the first trace.
    offset: AtomicU64,
}

const UNPLACED: u64 = u64::MAX;

/// Bits of an address in user space: what x86-64 and AArch64 use.
const ADDRESS_BITS: u32 = 48;

impl Page {
    pub(crate) fn allocate(
        pool: &Arc<Pool>,
        owner: Option<&Owner>,
        bytes: usize,
        tag: MemoryTag,
        partition: Option<u32>,
    ) -> Result<PinnedPage> {
        pool.take_room(PageKind::Temporary.charged_bytes(bytes) as u64)?;
        Self::allocate_in_room(pool, owner, bytes, tag, partition, PageKind::Temporary)
    }

    pub(crate) fn allocate_large(
        pool: &Arc<Pool>,
        owner: Option<&Owner>,
        bytes: usize,
        tag: MemoryTag,
    ) -> Result<PinnedPage> {
        if bytes == 0 || bytes > isize::MAX as usize - PAGE_BYTES {
            bail!(Internal, "a large page of {bytes} bytes was asked for");
        }
        pool.take_room(PageKind::Large.charged_bytes(bytes) as u64)?;
        Self::allocate_in_room(pool, owner, bytes, tag, None, PageKind::Large)
    }

    /// Allocates a page for a copy of something, if the pool has room to spare for it.
    pub(crate) fn allocate_cached(
        pool: &Arc<Pool>,
        owner: Option<&Owner>,
        bytes: usize,
        tag: MemoryTag,
    ) -> Result<Option<PinnedPage>> {
        if bytes == 0 || !pool.try_take_spare_room(PageKind::Cached.charged_bytes(bytes) as u64) {
            return Ok(None);
        }
        Self::allocate_in_room(pool, owner, bytes, tag, None, PageKind::Cached).map(Some)
    }

    /// Allocates a page for which room was taken; the room is given back if there is no memory.
    fn allocate_in_room(
        pool: &Arc<Pool>,
        owner: Option<&Owner>,
        bytes: usize,
        tag: MemoryTag,
        partition: Option<u32>,
        kind: PageKind,
    ) -> Result<PinnedPage> {
        let charged = kind.charged_bytes(bytes);
        let memory = match pool.allocate_memory(charged, kind.is_mapped(bytes)) {
            Ok(memory) => memory,
            Err(error) => {
                pool.ledger.release_room(charged as u64);
                return Err(error);
            }
        };
        pool.ledger.add_label(tag, owner, charged as u64);
        let page = Page(Arc::new(PageInner {
            pool: Arc::clone(pool),
            owner: owner.cloned(),
            tag,
            bytes,
            kind,
            state: PageState::new_pinned(),
            memory: AtomicPtr::new(memory.as_ptr()),
            partition: AtomicU32::new(partition.unwrap_or(NO_PARTITION)),
            last_use: AtomicU64::new(0),
            disk: Mutex::new(None),
            traced: TracedPage { declared: AtomicU64::new(0), offset: AtomicU64::new(UNPLACED) },
        }));
        Ok(PinnedPage::new(page, memory))
    }

    /// Pins the page; `writes` is false if the caller promises not to change it.
    pub(crate) fn pin(&self, writes: bool) -> Result<PinnedPage> {
        let memory = self.0.pool.pin(&self.0, writes)?;
        Ok(PinnedPage::new(self.clone(), memory))
    }

    /// Size of the content.
    pub fn bytes(&self) -> usize {
        self.0.bytes
    }

    /// Whether the page is in memory. The answer may already be stale, unless the page is pinned.
    pub fn is_loaded(&self) -> bool {
        self.0.state.is_loaded()
    }

    /// Moves the page to another partition of its operator: high partitions leave memory first.
    pub fn set_partition(&self, partition: u32) {
        self.0.partition.store(partition, Relaxed);
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Page({} bytes, {}, loaded: {})", self.bytes(), self.0.tag, self.is_loaded())
    }
}

impl PageInner {
    pub(crate) fn charged_bytes(&self) -> usize {
        self.kind.charged_bytes(self.bytes)
    }

    /// Whether its memory is a mapping of its own, not from an arena.
    pub(crate) fn is_mapped(&self) -> bool {
        self.kind.is_mapped(self.bytes)
    }

    /// The position of the page in the eviction order.
    pub(crate) fn rank(&self) -> u64 {
        self.pool.eviction().rank(self.kind == PageKind::Cached, self.partition.load(Relaxed))
    }

    /// Whether its content would be lost if it left memory now.
    pub(crate) fn needs_write(&self) -> bool {
        self.kind != PageKind::Cached && self.state.is_dirty()
    }

    /// The address of a loaded or spilling page.
    pub(crate) fn memory(&self) -> NonNull<u8> {
        NonNull::new(self.memory.load(Acquire)).expect("a loaded page has memory")
    }

    pub(crate) fn set_memory(&self, memory: Option<NonNull<u8>>) {
        self.memory.store(memory.map_or(std::ptr::null_mut(), NonNull::as_ptr), Release);
    }
}

impl PageInner {
    /// Tells the running memory trace that the page is about to lose its memory, if the trace knows it.
    pub(crate) fn forget_traced(&self, memory: NonNull<u8>) {
        if godwit_trace::is_on() && self.traced.declared.swap(0, Relaxed) != 0 {
            godwit_trace::forget(memory.as_ptr(), self.bytes);
        }
    }

    /// Tells the running memory trace which object the page belongs to, once per address that the page gets.
    #[cold]
    fn declare(&self, memory: NonNull<u8>) {
        let address = memory.as_ptr() as u64;
        let declared = godwit_trace::running_trace() << ADDRESS_BITS | address;
        if self.traced.declared.swap(declared, Relaxed) == declared {
            return;
        }
        let object = self.owner.as_ref().and_then(|owner| owner.object_of(self.tag, &self.pool.objects));
        let Some(object) = object else { return };
        let mut offset = self.traced.offset.load(Relaxed);
        if offset == UNPLACED {
            let taken = object.take_traced_bytes(self.bytes as u64);
            let placed = self.traced.offset.compare_exchange(UNPLACED, taken, Relaxed, Relaxed);
            offset = placed.map_or_else(|by_another| by_another, |_| taken);
        }
        let place = ObjectPart::of_bytes(memory.as_ptr(), self.bytes, offset);
        godwit_trace::declare(place, object.trace_key(), || object.traced());
    }
}

impl Drop for PageInner {
    fn drop(&mut self) {
        if self.state.is_queued() {
            self.pool.queue.note_dead_entry();
        }
        if !self.state.is_loaded() {
            return;
        }
        let charged = self.charged_bytes();
        if self.state.is_evictable() {
            self.pool.remove_evictable(charged);
        }
        self.forget_traced(self.memory());
        // SAFETY: the page is loaded, so its memory came from `allocate_memory` of this pool with the same size and
        // kind; no pin is left, because a pin holds a handle of the page.
        unsafe { self.pool.free_memory(self.memory(), charged, self.is_mapped()) };
        self.pool.ledger.remove_label(self.tag, self.owner.as_ref(), charged as u64);
        self.pool.ledger.release_room(charged as u64);
    }
}

/// A page that stays in memory, at the same address, until this is dropped. Owns one pin; a clone is another pin.
///
/// Pins give no exclusive access: a writer coordinates with the other holders, as with a raw pointer.
pub struct PinnedPage {
    page: Page,
    memory: NonNull<u8>,
}

// SAFETY: the pointer is only an address here; every access through it is in an unsafe method or behind one, whose
// caller has to prevent races.
unsafe impl Send for PinnedPage {}
// SAFETY: as above.
unsafe impl Sync for PinnedPage {}

impl PinnedPage {
    /// Takes over a pin of the page; `memory` is the page's memory.
    fn new(page: Page, memory: NonNull<u8>) -> Self {
        if godwit_trace::is_on() {
            page.0.declare(memory);
        }
        Self { page, memory }
    }

    /// The handle, for keeping the page without the pin.
    pub fn page(&self) -> &Page {
        &self.page
    }

    /// The first byte; aligned to 4 KiB. Stable while pinned; may differ at the next pin.
    pub fn as_ptr(&self) -> *mut u8 {
        self.memory.as_ptr()
    }

    /// Size of the content.
    pub fn len(&self) -> usize {
        self.page.bytes()
    }

    /// Never: pages have at least one byte.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The content. The page must not be written meanwhile.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the memory is mapped and has `len` readable bytes as long as the page is pinned; fresh pages come
        // from zeroed mappings or were written by an earlier user, so all bytes are initialised. Writers go through
        // `as_mut_slice` or raw pointers, whose contract excludes readers.
        unsafe { slice::from_raw_parts(self.memory.as_ptr(), self.len()) }
    }

    /// The content, to be changed.
    ///
    /// # Safety
    /// The page is neither read nor written through any other pin while the slice is alive, and it wasn't pinned by
    /// `pin_unchanged`.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn as_mut_slice(&self) -> &mut [u8] {
        // SAFETY: mapped, `len` bytes, pinned as in `as_slice`; the caller grants exclusive access.
        unsafe { slice::from_raw_parts_mut(self.memory.as_ptr(), self.len()) }
    }
}

impl AsRef<[u8]> for PinnedPage {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl Clone for PinnedPage {
    fn clone(&self) -> Self {
        self.page.0.state.pin_again();
        Self { page: self.page.clone(), memory: self.memory }
    }
}

impl Drop for PinnedPage {
    fn drop(&mut self) {
        self.page.0.pool.unpin(&self.page.0);
    }
}

impl fmt::Debug for PinnedPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned{:?}", self.page)
    }
}

/// A copy of something that can be recreated, such as a decompressed page of a file. It stays in memory as long as
/// there is room to spare, and is dropped, not written, when the room is needed.
#[derive(Clone, Debug)]
pub struct CachedPage(Page);

impl CachedPage {
    /// Room for a copy of `bytes` bytes; `None` if the pool has none to spare.
    pub(crate) fn room(
        pool: &Arc<Pool>,
        owner: Option<&Owner>,
        bytes: usize,
        tag: MemoryTag,
    ) -> Result<Option<UnfilledPage>> {
        Ok(Page::allocate_cached(pool, owner, bytes, tag)?.map(UnfilledPage))
    }

    /// Whether the page is still there. The answer may already be stale.
    pub fn is_loaded(&self) -> bool {
        self.0.is_loaded()
    }

    /// Makes the page leave memory after other cached pages.
    pub fn outlast_others(&self) {
        self.0.set_partition(OUTLASTING);
    }

    /// The memory that it takes while it is there.
    pub fn memory_bytes(&self) -> u64 {
        self.0.0.charged_bytes() as u64
    }

    /// Pins the page if it is still there. Its content never changes.
    pub fn pin(&self) -> Option<PinnedPage> {
        let memory = self.0.0.pool.pin_loaded(&self.0.0, false)?;
        Some(PinnedPage::new(self.0.clone(), memory))
    }
}

/// A page that is being filled. Dropped before it is finished, it leaves nothing behind.
#[derive(Debug)]
#[must_use]
pub struct UnfilledPage(PinnedPage);

impl UnfilledPage {
    /// A page with a mapping of its own, of any size.
    pub(crate) fn large(pool: &Arc<Pool>, owner: Option<&Owner>, bytes: usize, tag: MemoryTag) -> Result<Self> {
        Page::allocate_large(pool, owner, bytes, tag).map(Self)
    }

    /// The content to be filled in, arbitrary at first.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: the page has no other user before it is finished, and is pinned for writing.
        unsafe { self.0.as_mut_slice() }
    }

    /// The page as it is now, pinned: to be cached, if it was [room to cache](crate::BufferManager::room_to_cache).
    pub fn finish(self) -> (CachedPage, PinnedPage) {
        (CachedPage(self.0.page().clone()), self.0)
    }

    /// The page as it is now. It is gone with the last pin.
    pub fn pinned(self) -> PinnedPage {
        self.0
    }
}

/// An entry of the eviction queue doesn't keep its page alive.
pub(crate) type WeakPage = Weak<PageInner>;
