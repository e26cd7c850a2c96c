//! Settings, and all tuning constants of this crate with their rationale.

use std::path::PathBuf;
use std::time::Duration;

use godwit_common::Named;
use godwit_io::IoMethod;

use crate::codec::SpillCompression;
use crate::queue::WriteAhead;
use crate::request_faults::RequestFaults;

/// Size of a page in memory and of its slot in the temporary file. 2^18: large enough that one request keeps a disk
/// busy and that per-page work is negligible, small enough that a partitioned operator can keep one page per partition
/// open. A sixteenth of that under Miri, where the checksum of a full page takes seconds; everything made of pages
/// shrinks with it.
pub const PAGE_BYTES: usize = if cfg!(miri) { 16 * 1024 } else { 256 * 1024 };

/// Pages are carved from mappings of this size: few system calls and few entries in the kernel's memory map of the
/// process.
pub(crate) const ARENA_BYTES: usize = 16 * HUGE_PAGE_BYTES;

/// Size and alignment of a transparent huge page on x86-64 and on AArch64 with 4 KiB base pages.
pub(crate) const HUGE_PAGE_BYTES: usize = if cfg!(miri) { 8 * PAGE_BYTES } else { 2 * 1024 * 1024 };

/// Resident memory of freed pages that may stay on top of the limit. It has to cover the unused rest of huge pages that
/// are being carved up: two of them. It is a part of the 32 MiB by which the process may exceed the limit. Twice as much
/// made an aggregation that spills 2 % faster, and a load of long texts exceed them by 1 MiB.
pub(crate) const IDLE_BYTES_MIN: u64 = 2 * HUGE_PAGE_BYTES as u64;

/// Below the limit, freed pages stay resident up to this multiple of what is in use. An operator that alternately frees
/// and allocates causes no page faults; most memory goes back when a query ends, in whole huge pages, which is cheap.
pub(crate) const IDLE_PER_USED: u64 = 4;

/// Compressed pages lie in slots whose sizes are multiples of this. Fewer sizes would waste more of each slot, more
/// would scatter free slots over more files.
pub(crate) const SLOT_STEP_BYTES: usize = PAGE_BYTES / 8;

/// The temporary file is truncated when at least this many slots at its end are free (16 MiB), or when all are:
/// truncating costs a file-system transaction and blocks new slots meanwhile.
pub(crate) const SHRINK_SLOTS_MIN: u32 = 64;

/// Space that temporary files leave free on their disk: other programs on the host need some, and many misbehave
/// without it.
pub(crate) const DISK_RESERVE_BYTES: u64 = 256 * 1024 * 1024;

/// The free space of the disk is checked whenever the temporary file has grown by this many slots (16 MiB).
pub(crate) const DISK_CHECK_SLOTS: u32 = 64;

/// Pages written ahead that are kept ready to be taken, as a share of the limit: one n-th of it...
const READY_LIMIT_SHARE: u64 = 16;

/// ...but no more than this, about 30 ms of writing on a good disk. Pages that are written early may be needed again or
/// destroyed, and were then written in vain.
const READY_BYTES_MAX: u64 = 32 * 1024 * 1024;

/// ...and nothing if that is less than this.
const READY_BYTES_MIN: u64 = 4 * PAGE_BYTES as u64;

/// Maximum that an I/O thread writes or reads at once: it keeps a disk busy for some milliseconds, so that the cost of
/// handing over work is negligible. It also bounds the bytes in flight per I/O thread.
const BATCH_BYTES_MAX: u64 = 2 * 1024 * 1024;

/// Larger pages are spilled as they are: compression takes a buffer as large as the page.
pub(crate) const COMPRESSED_PAGE_BYTES_MAX: usize = BATCH_BYTES_MAX as usize;

/// Requests that one I/O thread has in flight at once: those of a batch.
pub(crate) const QUEUE_DEPTH: u32 = (BATCH_BYTES_MAX / PAGE_BYTES as u64) as u32;

/// I/O threads. While one waits for its batch, the other prepares the next; without io_uring a thread has one request
/// in flight, and it takes several to keep a disk busy.
const IO_THREADS_URING: usize = 2;
const IO_THREADS_SEQUENTIAL: usize = 4;

/// An I/O thread ends when it has been idle for this long.
pub(crate) const IO_THREAD_IDLE_MAX: Duration = Duration::from_secs(1);

/// Maximum number of pages queued for reading ahead; further requests are dropped.
pub(crate) const READ_AHEAD_PAGES_MAX: usize = 64;

/// The queue is swept when more than this many, and more than half, of its entries belong to destroyed pages.
pub(crate) const DEAD_ENTRIES_MAX: usize = 1024;

/// Pages are cached while less than one n-th of the limit is in use: operators that start then find room without having
/// to evict first.
pub(crate) const CACHED_LIMIT_SHARE: u64 = 2;

/// Working memory is one n-th of the limit, see [`working_bytes`].
const WORKING_SHARE: u64 = 3;

/// Working memory is as much as this, if that isn't more than two thirds of the limit: two workers with the open pages
/// and readers of two queries. At the smallest limit two workers of one query have pinned 50 MiB: 17 MiB in a reader
/// and 8 MiB of open pages each (TPC-H 9 and 10, SF 10).
const WORKING_BYTES_MIN: u64 = 4 * WORKER_BYTES_MIN;

/// The part of a limit for what queries pin while they run, such as open pages and readers' buffers. The rest is
/// granted to hash tables and the like.
pub(crate) fn working_bytes(limit_bytes: u64) -> u64 {
    (limit_bytes / WORKING_SHARE).max(WORKING_BYTES_MIN.min(limit_bytes / 3 * 2))
}

/// The most that admitted queries are promised: out of working memory, and no more than half of the limit, so that one
/// query runs at a time where two would run short.
pub(crate) fn promised_bytes_max(limit_bytes: u64) -> u64 {
    working_bytes(limit_bytes).min(limit_bytes / 2)
}

/// Pipelines of one query that may run at the same time: workers keep the pages of one open while they work on another.
pub fn running_pipelines_max(limit_bytes: u64, workers: usize) -> usize {
    (promised_bytes_max(limit_bytes) / minimum_query_bytes(workers)).max(1) as usize
}

/// How far writes run ahead under this limit. Pools of a few pages write only when somebody waits for a page.
pub(crate) fn write_ahead(limit_bytes: u64, method: IoMethod) -> WriteAhead {
    let share = limit_bytes / READY_LIMIT_SHARE;
    let goal_bytes = if share < READY_BYTES_MIN { 1 } else { share.min(READY_BYTES_MAX) };
    let threads_max = if method == IoMethod::Threads { IO_THREADS_SEQUENTIAL } else { IO_THREADS_URING };
    WriteAhead { goal_bytes, batch_bytes: (goal_bytes / 4).clamp(PAGE_BYTES as u64, BATCH_BYTES_MAX), threads_max }
}

/// How long a request waits for other queries to give back memory before it fails, and how long between attempts. An
/// admitted query that makes progress frees or unpins something every few milliseconds.
pub(crate) const ROOM_WAIT_MAX: Duration = Duration::from_millis(500);
pub(crate) const ROOM_WAIT_STEP: Duration = Duration::from_millis(1);

/// Queries that have waited for the readers of their results for this long aren't expected to end before another result
/// is read: those in line need no longer wait for them. Some hundred times what a reader takes for a batch.
pub(crate) const STALL_MIN: Duration = Duration::from_millis(200);

/// Maximum number of queries named in an error about memory.
pub(crate) const QUERIES_NAMED_MAX: usize = 4;

/// Memory that every process needs besides its workers: the smallest limit is this plus [`WORKER_BYTES_MIN`] for each.
const PROCESS_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// Maximum that one worker pins at once, with reader buffers and one open page for each partition.
const WORKER_BYTES_MIN: u64 = 16 * 1024 * 1024;

/// The smallest memory limit with which every statement can finish on `workers` workers.
pub fn minimum_memory_limit(workers: usize) -> u64 {
    PROCESS_BYTES_MIN + WORKER_BYTES_MIN * workers as u64
}

/// Memory that a query on `workers` workers is promised before it starts.
pub fn minimum_query_bytes(workers: usize) -> u64 {
    WORKER_BYTES_MIN * workers as u64
}

/// Which pages leave memory first. Cached pages correspond to the paper's persistent pages: copies of data in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EvictionPolicy {
    /// Cached copies first: dropping them costs no write. Then temporary pages, of the partition that is needed last
    /// (the highest number) first; within a partition, the least recently used.
    #[default]
    PersistentFirst,
    /// Temporary pages, in the same order, before cached copies: tables stay cached while intermediates go to disk.
    TemporaryFirst,
    /// The least recently used of all pages, whatever their kind.
    Mixed,
}

impl Named for EvictionPolicy {
    const NAMES: &'static [(&'static str, Self)] = &[
        ("persistent_first", Self::PersistentFirst),
        ("temporary_first", Self::TemporaryFirst),
        ("mixed", Self::Mixed),
    ];
}

impl EvictionPolicy {
    /// The position of a page in the eviction order; the highest rank leaves first.
    pub(crate) fn rank(self, is_cached: bool, partition: u32) -> u64 {
        match (self, is_cached) {
            (EvictionPolicy::PersistentFirst, true) => u64::MAX - u64::from(partition),
            (EvictionPolicy::TemporaryFirst, true) | (EvictionPolicy::Mixed, _) => 0,
            (EvictionPolicy::PersistentFirst | EvictionPolicy::TemporaryFirst, false) => u64::from(partition) + 1,
        }
    }
}

/// What a pool has to know about its process to compensate for its growth.
#[derive(Debug, Clone, Copy)]
pub struct ProcessMemory {
    /// Resident size of the process before the pool hands out anything.
    pub base_bytes: u64,
    /// Memory that the pool keeps however much the process grows.
    pub pool_bytes_min: u64,
}

/// How a [`BufferManager`](crate::BufferManager) is set up.
#[derive(Debug, Clone)]
pub struct BufferConfig {
    /// Maximum number of bytes that pages and reservations together may hold in memory.
    pub memory_limit: u64,
    /// Set if the limit has to cover memory that the process allocates outside the pool.
    pub process: Option<ProcessMemory>,
    /// Where the temporary files live. Created when the first page is spilled.
    pub temp_directory: PathBuf,
    /// Maximum number of bytes in temporary files; `None`: all that the disk has, less a small reserve.
    pub max_temp_directory_bytes: Option<u64>,
    /// Spill through the system's page cache. Faster while the system has memory to spare, which then holds copies of
    /// spilled pages that our limit doesn't count.
    pub cached_spill: bool,
    /// Which pages leave memory first.
    pub eviction: EvictionPolicy,
    /// How I/O threads talk to the system.
    pub io_method: IoMethod,
    /// Whether spilled pages are compressed.
    pub compression: SpillCompression,
    /// Test world: every page is written out as soon as its last pin is dropped.
    pub force_spill: bool,
    /// For tests: makes some requests for memory fail.
    pub request_faults: Option<RequestFaults>,
}

impl BufferConfig {
    /// A configuration with this limit, the temporary directory of the system and no quota.
    pub fn new(memory_limit: u64) -> Self {
        Self {
            memory_limit,
            process: None,
            temp_directory: std::env::temp_dir(),
            max_temp_directory_bytes: None,
            cached_spill: false,
            eviction: EvictionPolicy::default(),
            io_method: IoMethod::default(),
            compression: SpillCompression::default(),
            force_spill: false,
            request_faults: None,
        }
    }
}
