//! Files that must survive a crash: those of a database and its log.
//!
//! ```text
//!   godwit-storage ──► FileSystem (open, remove) ──► DurableFile (read_at, write_at, truncate, sync)
//!                        ├─ DiskSystem               real files, locked while they are open
//!                        └─ SimulatedDisk            in memory; loses what wasn't synced when the test pulls the plug
//! ```
//!
//! Written data is certain to survive a crash only once a `sync` that began after the write has returned. Until then,
//! any part of it may be on disk or not, in any order.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::FlockOperation;
use rustix::io::Errno;

use crate::page_cache::read_ahead;

/// A named file, shared by threads.
pub trait DurableFile: Send + Sync {
    /// Fills `buffer` from `offset`; an end of file before it is full is an error.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()>;

    /// Writes all of `buffer` at `offset`, extending the file if needed.
    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()>;

    /// Hints that these bytes will be read soon.
    fn will_need(&self, _offset: u64, _bytes: u64) {}

    /// The length.
    fn bytes(&self) -> io::Result<u64>;

    /// Truncates or extends the file to `bytes`.
    fn truncate(&self, bytes: u64) -> io::Result<()>;

    /// Returns when everything written is on disk. After an error, the state of the disk is unknown: the file has to be
    /// read again from the start.
    fn sync(&self) -> io::Result<()>;
}

/// How a file is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// For an existing file, which others may read, too.
    Read,
    /// For an existing file that isn't open elsewhere.
    Write,
    /// As `Write`, for a file that doesn't exist yet. Its name is on disk when the call returns.
    Create,
}

/// Opens and removes named files.
pub trait FileSystem: Send + Sync {
    /// Opens a file. If another process has it open in a way that excludes this one, the error is of kind `WouldBlock`.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DurableFile>>;

    /// True if a file of that name exists.
    fn exists(&self, path: &Path) -> io::Result<bool>;

    /// Removes a file; its absence is on disk when the call returns.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// Real files.
#[derive(Debug, Clone, Copy, Default)]
pub struct DiskSystem;

impl FileSystem for DiskSystem {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DurableFile>> {
        let mut options = fs::OpenOptions::new();
        options.read(true).write(mode != OpenMode::Read).create_new(mode == OpenMode::Create);
        let file = options.open(path)?;
        let lock = match mode {
            OpenMode::Read => FlockOperation::NonBlockingLockShared,
            OpenMode::Write | OpenMode::Create => FlockOperation::NonBlockingLockExclusive,
        };
        match rustix::fs::flock(file.as_fd(), lock) {
            // Some network file systems have no locks; there, the user has to be careful.
            Ok(()) | Err(Errno::NOTSUP | Errno::NOSYS) => {}
            Err(error) => return Err(error.into()),
        }
        if mode == OpenMode::Create {
            sync_folder_of(path)?;
        }
        Ok(Box::new(file))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)?;
        sync_folder_of(path)
    }
}

/// Syncs a file's folder, which puts the file's name on disk.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::File::open(folder)?.sync_all()
}

impl DurableFile for fs::File {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read_exact_at(buffer, offset)
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.write_all_at(buffer, offset)
    }

    fn will_need(&self, offset: u64, bytes: u64) {
        read_ahead(self, offset, bytes);
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn sync(&self) -> io::Result<()> {
        self.sync_data()
    }
}
