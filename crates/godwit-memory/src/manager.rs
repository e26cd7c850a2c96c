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
/// children share the pool. All methods may be called by many threads at once.
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

    /// The same pool; what is allocated through the child counts for `owner` and for the owners of this manager.
    pub fn scoped(&self, owner: Arc<OwnerCounters>) -> Self {
        Self { pool: Arc::clone(&self.pool), owner: Some(Owner::of_query(owner, self.owner.as_ref())) }
    }

    /// The same pool; what is allocated through the child counts for `object`, and for no query.
    pub fn for_object(&self, object: &Arc<Object>) -> Self {
        Self { pool: Arc::clone(&self.pool), owner: Some(Owner::Object(object.clone())) }
    }

    /// The object for which this manager allocates, if it does for one.
    pub fn object(&self) -> Option<&Arc<Object>> {
        self.owner.as_ref().and_then(Owner::object)
    }

    /// The object that memory with a tag counts for when this manager allocates it: what outlives queries, or what an
    /// operator holds under the tag; `None` if the owner has no name.
    pub fn object_of(&self, tag: MemoryTag) -> Option<Arc<Object>> {
        self.owner.as_ref()?.object_of(tag, &self.pool.objects)
    }

    /// An object without a parent.
    pub fn root_object(&self, kind: ObjectKind, name: &str) -> Arc<Object> {
        self.pool.objects.root(kind, name)
    }

    /// All objects, in the order in which they were made.
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

    /// As [`reserve`](Self::reserve), for callers with a fallback: `None` instead of an error. May evict too.
    pub fn try_reserve(&self, bytes: usize, tag: MemoryTag) -> Option<Reservation> {
        self.reserve(bytes, tag).ok()
    }

    /// Allocates a pinned page of [`PAGE_BYTES`] whose content is arbitrary. Under memory pressure the pages of the
    /// highest partition leave first, those of no partition last.
    pub fn allocate_page(&self, tag: MemoryTag, partition: Option<u32>) -> Result<PinnedPage> {
        Page::allocate(&self.pool, self.owner.as_ref(), PAGE_BYTES, tag, partition)
    }

    /// Allocates a pinned page of any size, filled with zeros, that spills into a file of its own. Kept pinned it is
    /// a good home for a hash table: zeroed by the system, on huge pages where they pay.
    pub fn allocate_large(&self, bytes: usize, tag: MemoryTag) -> Result<PinnedPage> {
        Page::allocate_large(&self.pool, self.owner.as_ref(), bytes, tag)
    }

    /// As [`allocate_large`](Self::allocate_large), for content that is written once and then only read.
    pub fn unfilled_page(&self, bytes: usize, tag: MemoryTag) -> Result<UnfilledPage> {
        UnfilledPage::large(&self.pool, self.owner.as_ref(), bytes, tag)
    }

    /// Allocates a page of [`PAGE_BYTES`] that begins with `content`; what follows is arbitrary. It isn't pinned.
    pub fn page_of(&self, content: &[u8], tag: MemoryTag) -> Result<Page> {
        let pinned = self.allocate_page(tag, None)?;
        // SAFETY: the page was just made, has no other user, and is pinned for writing.
        let bytes = unsafe { pinned.as_mut_slice() };
        bytes[..content.len()].copy_from_slice(content);
        Ok(pinned.page().clone())
    }

    /// As [`page_of`](Self::page_of), a page that is as long as its content.
    pub fn large_page_of(&self, content: &[u8], tag: MemoryTag) -> Result<Page> {
        let pinned = self.allocate_large(content.len(), tag)?;
        // SAFETY: the page was just made, has no other user, and is pinned for writing.
        unsafe { pinned.as_mut_slice() }.copy_from_slice(content);
        Ok(pinned.page().clone())
    }

    /// Caches a copy of `bytes` bytes, which `fill` writes, as long as the pool has room to spare; `None`, without a call
    /// of `fill`, if it has none. The page leaves memory before intermediates do.
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

    /// As [`cache`](Self::cache), for callers that fill several at once.
    pub fn room_to_cache(&self, bytes: usize, tag: MemoryTag) -> Result<Option<UnfilledPage>> {
        // Copies outlive the query that makes them: they count for an object or for no owner.
        let owner = self.owner.as_ref().filter(|owner| owner.object().is_some());
        CachedPage::room(&self.pool, owner, bytes, tag)
    }

    /// Pins a page of this pool; reads it back from disk if it was evicted. The page counts as changed from here on: if
    /// it is evicted, it is written again.
    pub fn pin(&self, page: &Page) -> Result<PinnedPage> {
        page.pin(true)
    }

    /// As [`pin`](Self::pin), for callers that promise not to change the page: a copy that is on disk stays
    /// valid, so that the next eviction costs no write.
    pub fn pin_unchanged(&self, page: &Page) -> Result<PinnedPage> {
        page.pin(false)
    }

    /// Asks for pages that will be pinned soon to be read back from disk meanwhile. This is a hint, bounded by the
    /// memory that is free or can be had without a write; pages that are in memory cost next to nothing.
    pub fn read_ahead<'a>(&self, pages: impl IntoIterator<Item = &'a Page>) {
        self.pool.read_ahead(pages.into_iter());
    }

    /// Waits until I/O threads have nothing under way: what was dropped while it was being written or read is freed then.
    pub fn wait_for_io(&self) {
        self.pool.queue.wait_until_idle();
    }

    /// The limit on what reservations and loaded pages hold together; that of an owner of this manager if it is lower.
    pub fn memory_limit(&self) -> u64 {
        let own = owners(self.owner.as_ref()).filter_map(|owner| owner.memory_limit_bytes());
        own.fold(self.pool.limit_bytes(), u64::min)
    }

    /// Pages leave memory as soon as they are unpinned, for tests: what could do without pages does with them.
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
    /// as soon as that much of the limit is free and everything before it in line has been let in: maybe before this
    /// returns, maybe later by the thread that ends another query. The place in line is returned if the query has to
    /// wait.
    pub fn admit(
        &self,
        request: AdmissionRequest,
        start: impl FnOnce(Option<Admission>) + Send + 'static,
    ) -> Option<Waiting> {
        admission::admit(&self.pool, request, Box::new(start))
    }

    /// For a thread that waits for the result of a query: if that is in line behind queries that wait for their
    /// readers, maybe for this very thread, the first in line is let in all the same.
    pub fn admit_past_stalled(&self) {
        admission::advance_past_stalled(&self.pool);
    }

    /// Is a query in line for the memory that it can't do without?
    pub fn has_line(&self) -> bool {
        admission::has_line(&self.pool)
    }

    /// Notes that the query that this manager is for can't go on before its result is read, or that it can again.
    pub fn set_stalled(&self, is_stalled: bool) {
        owners(self.owner.as_ref()).for_each(|owner| owner.set_stalled(is_stalled));
    }

    /// A claim on memory for an operator that would use more than there may be. Nothing is claimed yet.
    pub fn claim(&self) -> MemoryClaim {
        MemoryClaim::new(&self.pool, self.owner.clone())
    }

    /// What could be granted now to a claim if it were the only one to ask.
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

    /// What the queries that run have been promised.
    pub fn promised_bytes(&self) -> u64 {
        self.pool.admission.promised_bytes()
    }

    /// Bytes of reservations and loaded pages.
    pub fn used_bytes(&self) -> u64 {
        self.pool.ledger.used_bytes()
    }

    /// Bytes that can be had without evicting a page.
    pub fn available_bytes(&self) -> u64 {
        self.pool.ledger.limit_bytes().saturating_sub(self.used_bytes())
    }

    /// Copies are [cached](Self::cache) while less than this is in use.
    pub fn cache_limit(&self) -> u64 {
        self.pool.cache_limit()
    }

    /// Bytes of loaded pages without a pin: what could be had on top of [`available_bytes`](Self::available_bytes)
    /// by writing them out.
    pub fn evictable_bytes(&self) -> u64 {
        self.pool.evictable_bytes()
    }

    /// Who holds those pages.
    pub fn evictable(&self) -> EvictableBytes {
        EvictableBytes::in_queue(&self.pool.queue)
    }

    /// The temporary files.
    pub fn temp_files(&self) -> Vec<TempFile> {
        self.pool.temp.files()
    }

    /// What the pool holds and has done.
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

    /// Whether spilled pages are compressed, as it was set.
    pub fn spill_compression(&self) -> SpillCompression {
        self.pool.codecs.setting()
    }

    /// What most spilled pages are compressed with now: `none`, `lz4` or `zstd`.
    pub fn spill_codec(&self) -> &'static str {
        self.pool.codecs.current_name()
    }

    /// Changes whether pages spilled from now on are compressed.
    pub fn set_spill_compression(&self, compression: SpillCompression) {
        self.pool.codecs.set(compression);
    }

    /// How I/O threads were told to talk to the system.
    pub fn io_method(&self) -> IoMethod {
        self.pool.io.method()
    }

    /// How they actually do, and why; unknown before the first of them has started.
    pub fn io_description(&self) -> Option<String> {
        self.pool.io.description()
    }

    /// Changes how I/O threads that start from now on talk to the system. Fails if the system doesn't have it.
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

    /// Changes the quota of temporary files; `None`: no quota. What is already written stays.
    pub fn set_max_temp_directory_bytes(&self, bytes: Option<u64>) {
        self.pool.temp.set_max_bytes(bytes);
    }
}

impl fmt::Debug for BufferManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BufferManager({} of {} bytes used)", self.used_bytes(), self.memory_limit())
    }
}
