//! The buffer manager: one pool of memory for everything that grows with data.
//!
//! ```text
//!   BufferManager ── reserve ────────► Reservation   accounted only; the bytes live elsewhere
//!     │  (scoped: counts for an owner)
//!     ├── allocate_page, _large ─────► PinnedPage ──drop──► Page (unpinned: may go to disk)
//!     └── pin(&Page) ────────────────► PinnedPage     ▲          │
//!                                                     └── pin ───┘ back from disk if it went
//!   Ledger        bytes in use ≤ limit, by tag and owner          (ledger.rs, owner.rs)
//!   Arenas        memory of pages, carved from large mappings     (arena.rs)
//!   EvictionQueue unpinned pages, the best victim first           (queue.rs)
//!   I/O threads   write victims, read ahead, while workers go on  (io_thread.rs)
//!   CodecChooser  whether pages are compressed on their way out   (codec.rs)
//!   TempSpace     slots and files on disk, quota, checksums       (temporary.rs)
//!   Object        what memory is for that outlives queries, and how much it is read  (object.rs)
//!   ClaimTable    who is granted how much               (grants.rs, memory_policy.rs)
//!   AdmissionLine queries that run, queries that wait     (admission.rs)
//!   ProcessWatch  what grows outside of the pool                  (process.rs)
//! ```
//!
//! Invariants: the ledger never exceeds the limit, except by the buffers of I/O batches in flight; a request that
//! doesn't fit evicts first and gets exactly what it evicted; a page whose last handle is dropped leaves memory and
//! disk at once, or as soon as a write of it in flight has ended; the address of a page is stable while it is pinned
//! and may differ when it comes back. An I/O thread waits for nothing but its files: it takes latches only with
//! `try_lock`, and only room that is free or ready. So a worker that waits for an I/O thread, with any latch held,
//! waits only for the disk.
//!
//! # Latch order
//!
//! 1. The latch of one page (`PageInner::disk`). A thread that holds one takes another only with `try_lock`, as an
//!    evictor does for the victim, and an I/O thread for the pages of a batch.
//! 2. The queue, the arenas, the slots, the directory of the temporary files: leaves. A thread holds one of them at a
//!    time, and calls nothing that could block on memory while it does.
//!
//! Source: Kuiper, Mühleisen, "Robust External Hash Aggregation in the Solid State Age", III.

mod admission;
mod arena;
mod code_pages;
mod codec;
mod config;
mod evictable;
mod grants;
mod huge_pages;
mod io_thread;
mod ledger;
mod limits;
mod manager;
mod memory_policy;
mod object;
mod owner;
mod page;
mod page_state;
mod pool;
mod process;
mod queue;
mod request_faults;
mod reservation;
mod statistics;
mod system_memory;
mod temporary;

#[cfg(test)]
mod io_tests;
#[cfg(test)]
mod tests;

pub use admission::{Admission, AdmissionRequest, Waiting};
pub use codec::{Codec, SpillCompression};
pub use config::{
    BufferConfig, EvictionPolicy, PAGE_BYTES, ProcessMemory, minimum_memory_limit, minimum_query_bytes,
    running_pipelines_max,
};
pub use evictable::EvictableBytes;
pub use godwit_io::IoMethod;
pub use grants::MemoryClaim;
pub use limits::{check_memory_limit, default_memory_limit};
pub use manager::BufferManager;
pub use memory_policy::MemoryPolicy;
pub use object::{Accesses, Object, ObjectId, ObjectKind};
pub use owner::OwnerCounters;
pub use page::{CachedPage, Page, PinnedPage, UnfilledPage};
pub use process::resident_process_bytes;
pub use request_faults::RequestFaults;
pub use reservation::Reservation;
pub use statistics::MemoryStatistics;
pub use temporary::TempFile;
