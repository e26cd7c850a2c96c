//! The narrow door to files that Godwit writes: temporary files, as below, and files that must survive (durable.rs).
//!
//! ```text
//!   godwit-memory ──► TemporaryFiles (creates) ──► File (read_at, write_at, truncate, sync)
//!                        ├─ DiskFiles              real files without a name, past the page cache or through it
//!                        └─ SimulatedFiles         in memory, fails when the test says so
//! ```
//!
//! Requests are whole blocks: offset, length and the address of the buffer are multiples of [`ALIGNMENT_BYTES`], so
//! that the file can be opened for direct I/O. A call returns when all its bytes are transferred; nothing in the
//! interface says by which system call, or how many requests are under way at once.

mod disk;
mod durable;
mod simulated;
mod simulated_disk;

use std::io;
use std::path::Path;

pub use disk::DiskFiles;
pub use durable::{DiskSystem, DurableFile, FileSystem, OpenMode};
pub use simulated::{Fault, SimulatedFiles};
pub use simulated_disk::{DiskFault, SimulatedDisk};

/// What offsets, lengths and buffer addresses are multiples of: the largest block size of common disks.
pub const ALIGNMENT_BYTES: usize = 4096;

/// A file, shared by threads. Requests on different ranges may run at the same time.
pub trait File: Send + Sync {
    /// Fills `buffer` from `offset`; an end of file before that is an error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `buffer` at `offset`, and makes the file longer if it ends before that.
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()>;

    /// Cuts or extends the file to `bytes`.
    fn truncate(&self, bytes: u64) -> io::Result<()>;

    /// Returns when all that was written is on the disk.
    fn sync(&self) -> io::Result<()>;
}

/// Where temporary files come from.
pub trait TemporaryFiles: Send + Sync {
    /// Creates an empty file on the file system of `directory`, which is created if it doesn't exist. The file has no
    /// name: it goes with the last handle, even if the process is killed.
    fn create(&self, directory: &Path) -> io::Result<Box<dyn File>>;

    /// Bytes that may still be written to the file system of `directory`, which exists.
    fn available_bytes(&self, directory: &Path) -> io::Result<u64>;
}

/// Catches requests that direct I/O would refuse on some file systems and not on others.
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
