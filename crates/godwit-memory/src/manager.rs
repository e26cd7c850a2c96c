//! The public interface of the pool.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_io::{DiskFiles, IoMethod, TemporaryFiles};

use crate::admission::{self, Admission, AdmissionRequest, Waiting};
use crate::codec::SpillCompression;
use crate::config::{BufferConfig, EvictionPolicy, PAGE_BYTES};
use crate::evictable::EvictableBytes;
use crate::grants::{self, MemoryClaim};
use crate::memory_policy::MemoryPolicy;
use crate::object::{Object, ObjectKind};
use crate::owner::{Owner, OwnerCounters, owners};
use crate::page::{CachedPage, Page, PinnedPage, UnfilledPage};
use crate::pool::Pool;
use crate::reservation::Reservation;
use crate::statistics::MemoryStatistics;
use crate::temporary::TempFile;

/// Hands out memory, and moves pages to disk when it runs short. One per database; clones and [`scoped`](Self::scoped)
/// children share the pool. All methods may be called concurrently.
#[derive(Clone)]
pub struct BufferManager {
    pool: Arc<Pool>,
    owner: Option<Owner>,
}

impl BufferManager {
    /// A pool that spills to real files. Nothing is created on disk before the first page is spilled.
    pub fn new(config: BufferConfig) -> Result<Self> {
        let files = if config.cached_spill { DiskFiles::Cached } else { DiskFiles::Direct };
        Self::with_files(config, Arc::new(files))
    }

    /// A pool that spills to `files`, such as simulated ones; they decide about the page cache.
    pub fn with_files(config: BufferConfig, files: Arc<dyn TemporaryFiles>) -> Result<Self> {
        Ok(Self { pool: Arc::new(Pool::new(config, files)?), owner: None })
    }

    /// The same pool; allocations through the child are charged to `owner` and to the owners of this manager.
    pub fn scoped(&self, owner: Arc<OwnerCounters>) -> Self {
        Self { pool: Arc::clone(&self.pool), owner: Some(Owner::of_query(owner, self.owner.as_ref())) }
    }

    /// The same pool; allocations through the child are charged to `object`, and to no query.
    pub fn for_object(&self, object: &Arc<Object>) -> Self {
        Self { pool: Arc::clone(&self.pool), owner: Some(Owner::Object(object.clone())) }
    }

    /// The object for which this manager allocates, if it does for one.
    pub fn object(&self) -> Option<&Arc<Object>> {
        self.owner.as_ref().and_then(Owner::object)
    }

    /// The object that memory with a tag is charged to when this manager allocates it: one that outlives queries, or
    /// what an operator holds under the tag; `None` if the owner has no name.
    pub fn object_of(&self, tag: MemoryTag) -> Option<Arc<Object>> {
        self.owner.as_ref()?.object_of(tag, &self.pool.objects)
    }

    /// An object without a parent.
    pub fn root_object(&self, kind: ObjectKind, name: &str) -> Arc<Object> {
        self.pool.objects.root(kind, name)
    }

    /// All objects, in the order in which they were created.
    pub fn objects(&self) -> Vec<Arc<Object>> {
        self.pool.objects.objects()
    }

    /// Reserves memory that the caller allocates itself. Evicts pages to make room; if that isn't enough, fails with a
    /// resource error that says who holds what.
    pub fn reserve(&self, bytes: usize, tag: MemoryTag) -> Result<Reservation> {
        let mut reservation = Reservation::empty(Arc::clone(&self.pool), self.owner.clone(), tag);
        reservation.resize(bytes)?;
        Ok(reservation)
    }

    /// [`reserve`](Self::reserve) for callers with a fallback: `None` instead of an error. May evict, too.
    pub fn try_reserve(&self, bytes: usize, tag: MemoryTag) -> Option<Reservation> {
        self.reserve(bytes, tag).ok()
    }

    /// Allocates a pinned page of [`PAGE_BYTES`] whose content is arbitrary. Under memory pressure the pages of the
    /// highest partition leave first, those of no partition last.
    pub fn allocate_page(&self, tag: MemoryTag, partition: Option<u32>) -> Result<PinnedPage> {
        Page::allocate(&self.pool, self.owner.as_ref(), PAGE_BYTES, tag, partition)
    }

    /// Allocates a pinned page of any size, filled with zeros, that spills into a file of its own. If kept pinned, it
    /// is a good place for a hash table: zeroed by the system, on huge pages where they pay off.
    pub fn allocate_large(&self, bytes: usize, tag: MemoryTag) -> Result<PinnedPage> {
        Page::allocate_large(&self.pool, self.owner.as_ref(), bytes, tag)
    }

    /// [`allocate_large`](Self::allocate_large) for content that is written once and then only read.
    pub fn unfilled_page(&self, bytes: usize, tag: MemoryTag) -> Result<UnfilledPage> {
        UnfilledPage::large(&self.pool, self.owner.as_ref(), bytes, tag)
    }

    /// Allocates a page of [`PAGE_BYTES`] that begins with `content`; the rest is arbitrary. It isn't pinned.
    pub fn page_of(&self, content: &[u8], tag: MemoryTag) -> Result<Page> {
        let pinned = self.allocate_page(tag, None)?;
        // SAFETY: the page was just created, has no other user, and is pinned for writing.
        let bytes = unsafe { pinned.as_mut_slice() };
        bytes[..content.len()].copy_from_slice(content);
        Ok(pinned.page().clone())
    }

    /// [`page_of`](Self::page_of) for a page that is as long as its content.
    pub fn large_page_of(&self, content: &[u8], tag: MemoryTag) -> Result<Page> {
        let pinned = self.allocate_large(content.len(), tag)?;
        // SAFETY: the page was just created, has no other user, and is pinned for writing.
        unsafe { pinned.as_mut_slice() }.copy_from_slice(content);
        Ok(pinned.page().clone())
    }

    /// Caches a copy of `bytes` bytes, which `fill` writes, if the pool has room to spare; otherwise returns `None`
    /// without calling `fill`. The page leaves memory before intermediates do.
    pub fn cache(
        &self,
        bytes: usize,
        tag: MemoryTag,
        fill: impl FnOnce(&mut [u8]) -> Result<()>,
    ) -> Result<Option<(CachedPage, PinnedPage)>> {
        let Some(mut room) = self.room_to_cache(bytes, tag)? else { return Ok(None) };
        fill(room.as_mut_slice())?;
        Ok(Some(room.finish()))
    }

    /// [`cache`](Self::cache) for callers that fill several pages at once.
    pub fn room_to_cache(&self, bytes: usize, tag: MemoryTag) -> Result<Option<UnfilledPage>> {
        // Copies outlive the query that makes them: they are charged to an object or to no owner.
        let owner = self.owner.as_ref().filter(|owner| owner.object().is_some());
        CachedPage::room(&self.pool, owner, bytes, tag)
    }

    /// Pins a page of this pool; reads it back from disk if it was evicted. From then on the page counts as changed: if
    /// it is evicted, it is written again.
    pub fn pin(&self, page: &Page) -> Result<PinnedPage> {
        page.pin(true)
    }

    /// [`pin`](Self::pin) for callers that promise not to change the page: a copy on disk stays valid, so that the next
    /// eviction costs no write.
    pub fn pin_unchanged(&self, page: &Page) -> Result<PinnedPage> {
        page.pin(false)
    }

    /// Starts reading pages that will be pinned soon back from disk. This is a hint, bounded by the memory that is free
    /// or can be freed without a write; pages that are in memory cost next to nothing.
    pub fn read_ahead<'a>(&self, pages: impl IntoIterator<Item = &'a Page>) {
        self.pool.read_ahead(pages.into_iter());
    }

    /// Waits until I/O threads have nothing in flight: by then, pages that were dropped while being written or read are
    /// freed.
    pub fn wait_for_io(&self) {
        self.pool.queue.wait_until_idle();
    }

    /// The limit on reservations and loaded pages together; that of an owner of this manager if it is lower.
    pub fn memory_limit(&self) -> u64 {
        let own = owners(self.owner.as_ref()).filter_map(|owner| owner.memory_limit_bytes());
        own.fold(self.pool.limit_bytes(), u64::min)
    }

    /// For tests: pages leave memory as soon as they are unpinned, and operators use pages even where they could do
    /// without.
    pub fn forces_spill(&self) -> bool {
        self.pool.forces_spill()
    }

    /// Changes the limit. Evicts pages if more is in use; if that isn't enough, the old limit stays.
    pub fn set_memory_limit(&self, bytes: u64) -> Result<()> {
        self.pool.set_memory_limit(bytes)?;
        admission::advance(&self.pool);
        Ok(())
    }

    /// Asks to run a query that can't do without `minimum_bytes` of its request. `start` is called with the admission
    /// as soon as that much of the limit is free and everything before it in line has been admitted: either before this
    /// returns, or later by the thread that ends another query. Returns the place in line if the query has to wait.
    pub fn admit(
        &self,
        request: AdmissionRequest,
        start: impl FnOnce(Option<Admission>) + Send + 'static,
    ) -> Option<Waiting> {
        admission::admit(&self.pool, request, Box::new(start))
    }

    /// For a thread that waits for the result of a query: if that query is in line behind queries that wait for their
    /// readers, possibly for this very thread, the first in line is admitted anyway.
    pub fn admit_past_stalled(&self) {
        admission::advance_past_stalled(&self.pool);
    }

    /// Whether a query is in line for the memory that it can't do without.
    pub fn has_line(&self) -> bool {
        admission::has_line(&self.pool)
    }

    /// Records whether this manager's query is blocked until its result is read.
    pub fn set_stalled(&self, is_stalled: bool) {
        owners(self.owner.as_ref()).for_each(|owner| owner.set_stalled(is_stalled));
    }

    /// A claim on memory for an operator that could use more than is available. Nothing is claimed yet.
    pub fn claim(&self) -> MemoryClaim {
        MemoryClaim::new(&self.pool, self.owner.clone())
    }

    /// What could be granted right now to a claim if no others asked.
    pub fn grantable_bytes(&self) -> u64 {
        grants::grantable_bytes(&self.pool)
    }

    /// How memory is divided among claims.
    pub fn memory_policy(&self) -> MemoryPolicy {
        self.pool.claims.policy()
    }

    /// Changes how memory is divided from the next request on.
    pub fn set_memory_policy(&self, policy: MemoryPolicy) {
        self.pool.claims.set_policy(policy);
    }

    /// Bytes promised to running queries.
    pub fn promised_bytes(&self) -> u64 {
        self.pool.admission.promised_bytes()
    }

    /// Bytes of reservations and loaded pages.
    pub fn used_bytes(&self) -> u64 {
        self.pool.ledger.used_bytes()
    }

    /// Bytes that can be allocated without evicting a page.
    pub fn available_bytes(&self) -> u64 {
        self.pool.ledger.limit_bytes().saturating_sub(self.used_bytes())
    }

    /// Copies are [cached](Self::cache) while less than this is in use.
    pub fn cache_limit(&self) -> u64 {
        self.pool.cache_limit()
    }

    /// Bytes of loaded pages without a pin: what could be freed on top of [`available_bytes`](Self::available_bytes) by
    /// writing them out.
    pub fn evictable_bytes(&self) -> u64 {
        self.pool.evictable_bytes()
    }

    /// The owners of those pages.
    pub fn evictable(&self) -> EvictableBytes {
        EvictableBytes::in_queue(&self.pool.queue)
    }

    /// The temporary files.
    pub fn temp_files(&self) -> Vec<TempFile> {
        self.pool.temp.files()
    }

    /// Statistics of the pool's memory and activity.
    pub fn statistics(&self) -> MemoryStatistics {
        self.pool.statistics()
    }

    /// Which pages leave first.
    pub fn eviction_policy(&self) -> EvictionPolicy {
        self.pool.eviction()
    }

    /// Changes which pages leave first, from now on.
    pub fn set_eviction_policy(&self, policy: EvictionPolicy) {
        self.pool.set_eviction(policy);
    }

    /// The configured compression of spilled pages.
    pub fn spill_compression(&self) -> SpillCompression {
        self.pool.codecs.setting()
    }

    /// The codec that most spilled pages are currently compressed with: `none`, `lz4` or `zstd`.
    pub fn spill_codec(&self) -> &'static str {
        self.pool.codecs.current_name()
    }

    /// Changes whether pages spilled from now on are compressed.
    pub fn set_spill_compression(&self, compression: SpillCompression) {
        self.pool.codecs.set(compression);
    }

    /// The configured I/O method of the I/O threads.
    pub fn io_method(&self) -> IoMethod {
        self.pool.io.method()
    }

    /// The method that they actually use, and why; unknown before the first of them has started.
    pub fn io_description(&self) -> Option<String> {
        self.pool.io.description()
    }

    /// Changes the method for I/O threads started from now on. Fails if the system doesn't support it.
    pub fn set_io_method(&self, method: IoMethod) -> Result<()> {
        self.pool.io.set_method(method)
    }

    /// Pages spilled from now on go to this directory; those already spilled stay where they are.
    pub fn set_temp_directory(&self, directory: impl Into<PathBuf>) {
        self.pool.temp.set_directory(directory.into());
    }

    /// The directory that spilled pages go to.
    pub fn temp_directory(&self) -> PathBuf {
        self.pool.temp.directory()
    }

    /// The quota of temporary files; `None`: no quota.
    pub fn max_temp_directory_bytes(&self) -> Option<u64> {
        self.pool.temp.max_bytes()
    }

    /// Changes the quota of temporary files; `None`: no quota. Pages that are already written stay.
    pub fn set_max_temp_directory_bytes(&self, bytes: Option<u64>) {
        self.pool.temp.set_max_bytes(bytes);
    }
}

impl fmt::Debug for BufferManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferManager({} of {} bytes used)", self.used_bytes(), self.memory_limit())
    }
}
