//! The interface to files: temporary files, as below; database files, which must survive a crash (durable.rs); and
//! users' files, which statements name by path (files.rs).
//!
//! ```text
//!   godwit-memory ──► TemporaryFiles (creates) ──► File (read_at, write_at, truncate, sync)
//!                        ├─ DiskFiles              real files without a name, past the page cache or through it
//!                        └─ SimulatedFiles         in memory, fails when the test says so
//!                 ──► RequestQueue (runs a batch of requests on any files)
//!                        ├─ UringQueue             all under way at once, by io_uring; whatever has no descriptor, and
//!                        │                         whatever io_uring leaves undone, goes the other way
//!                        └─ SequentialQueue        one after the other, by the calls of File
//! ```
//!
//! Requests are whole blocks: offset, length and buffer address are multiples of [`ALIGNMENT_BYTES`], so the file can
//! be opened for direct I/O. A call returns when all its bytes are transferred. A batch borrows its buffers and returns
//! when all its requests are done, so buffers in flight needn't be tracked. A thread with other work to do leaves
//! batches to another thread.

mod aligned;
mod at_once;
mod disk;
mod durable;
mod files;
mod interrupt;
mod local_files;
mod page_cache;
mod priority;
mod queue;
mod read_faults;
mod simulated;
mod simulated_disk;
#[cfg(target_os = "linux")]
mod uring;

use std::io;
use std::os::fd::BorrowedFd;
use std::path::Path;

pub use aligned::AlignedBuffer;
pub use at_once::at_once;
pub use disk::DiskFiles;
pub use durable::{DiskSystem, DurableFile, FileSystem, OpenMode};
pub use files::{FileKind, FileMetadata, Files, Input, InputFile, InputReader, NewFile, url_scheme};
pub use interrupt::{INTERRUPTED, Interrupt, check_interrupt, current_interrupt, interruptible};
pub use priority::lower_thread_priority;
pub use queue::{IoMethod, Request, RequestQueue, SequentialQueue, Transfer, open_queue};
pub use read_faults::{ReadFault, ReadFaults};
pub use simulated::{Fault, SimulatedFiles};
pub use simulated_disk::{DiskFault, SimulatedDisk};

/// Alignment of offsets, lengths and buffer addresses: the largest block size of common disks.
pub const ALIGNMENT_BYTES: usize = 4096;

/// A file shared by threads. Requests on different ranges may run concurrently.
pub trait File: Send + Sync {
    /// Fills `buffer` from `offset`; an end of file before it is full is an error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `buffer` at `offset`, extending the file if needed.
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()>;

    /// Truncates or extends the file to `bytes`.
    fn truncate(&self, bytes: u64) -> io::Result<()>;

    /// Returns when everything written is on disk.
    fn sync(&self) -> io::Result<()>;

    /// Returns the descriptor through which the system reads and writes at any offset, if the file has one and needs no
    /// work after a write.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// Creates temporary files.
pub trait TemporaryFiles: Send + Sync {
    /// Creates an empty file on the file system of `directory`, which is created if it doesn't exist. The file has no
    /// name: it disappears with its last handle, even if the process is killed.
    fn create(&self, directory: &Path) -> io::Result<Box<dyn File>>;

    /// Returns the bytes that may still be written to the file system of `directory`, which exists.
    fn available_bytes(&self, directory: &Path) -> io::Result<u64>;
}

/// Catches requests that direct I/O would refuse on some file systems but not on others.
fn assert_aligned(address: *const u8, bytes: usize, offset: u64) {
    assert!(
        address.addr().is_multiple_of(ALIGNMENT_BYTES)
            && bytes.is_multiple_of(ALIGNMENT_BYTES)
            && offset.is_multiple_of(ALIGNMENT_BYTES as u64),
        "a request of {bytes} bytes at offset {offset} is not aligned"
    );
}

#[cfg(test)]
mod tests;
