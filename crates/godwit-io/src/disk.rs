//! Temporary files on a real file system.
//!
//! A direct file is opened for direct I/O, so spilled pages don't stay in the page cache as a second copy of our
//! memory. Some file systems refuse that when the file is opened, others at the first request, so the first block is
//! written as a test. Where direct I/O is refused, the kernel is told after each write that it may drop the pages. A
//! cached file leaves everything to the page cache.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::{ALIGNMENT_BYTES, File, TemporaryFiles, assert_aligned};

/// Names tried before giving up, where files without a name aren't supported.
const NAME_ATTEMPTS_MAX: u32 = 16;

/// Creates temporary files on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFiles {
    /// Bypasses the page cache: what is written leaves memory.
    Direct,
    /// Uses the page cache: faster while the system has memory to spare, which then holds what was written.
    Cached,
}

impl TemporaryFiles for DiskFiles {
    fn create(&self, directory: &Path) -> io::Result<Box<dyn File>> {
        fs::create_dir_all(directory)?;
        if *self == Self::Direct
            && let Some(descriptor) = open_direct(directory)?
        {
            return Ok(Box::new(DiskFile { descriptor, drops_cache: false }));
        }
        let descriptor = open_unnamed(directory, OFlags::empty())?;
        Ok(Box::new(DiskFile { descriptor, drops_cache: *self == Self::Direct }))
    }

    fn available_bytes(&self, directory: &Path) -> io::Result<u64> {
        let statistics = rustix::fs::statvfs(directory)?;
        Ok(statistics.f_bavail.saturating_mul(statistics.f_frsize))
    }
}

/// Opens a file for direct I/O; `None` if the file system doesn't support it.
#[cfg(target_os = "linux")]
fn open_direct(directory: &Path) -> io::Result<Option<OwnedFd>> {
    #[repr(C, align(4096))]
    struct Block([u8; ALIGNMENT_BYTES]);
    let descriptor = match open_unnamed(directory, OFlags::DIRECT) {
        Ok(descriptor) => descriptor,
        Err(error) if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) => return Ok(None),
        Err(error) => return Err(error),
    };
    match rustix::io::pwrite(&descriptor, &Block([0; ALIGNMENT_BYTES]).0, 0) {
        Ok(_) => {
            rustix::fs::ftruncate(&descriptor, 0)?;
            Ok(Some(descriptor))
        }
        Err(Errno::INVAL) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn open_direct(_directory: &Path) -> io::Result<Option<OwnedFd>> {
    Ok(None)
}

fn open_unnamed(directory: &Path, extra: OFlags) -> io::Result<OwnedFd> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC | extra;
    let mode = Mode::RUSR | Mode::WUSR;
    #[cfg(target_os = "linux")]
    match rustix::fs::open(directory, flags | OFlags::TMPFILE, mode) {
        Ok(descriptor) => return Ok(descriptor),
        // Not every file system supports unnamed files, and an old kernel takes the flag for "open a directory".
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    create_and_unlink(directory, flags, mode)
}

fn create_and_unlink(directory: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let process = std::process::id();
    for _ in 0..NAME_ATTEMPTS_MAX {
        let path = directory.join(format!("godwit-{process}-{}.tmp", SERIAL.fetch_add(1, Relaxed)));
        match rustix::fs::open(&path, flags | OFlags::CREATE | OFlags::EXCL, mode) {
            Ok(descriptor) => {
                fs::remove_file(&path)?;
                return Ok(descriptor);
            }
            Err(Errno::EXIST) => {}
            Err(error) => {
                // A file system may create the name before it refuses a flag.
                let _ = fs::remove_file(&path);
                return Err(error.into());
            }
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name for a temporary file"))
}

struct DiskFile {
    descriptor: OwnedFd,
    /// True if written pages are dropped from the page cache.
    drops_cache: bool,
}

impl File for DiskFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        assert_aligned(buffer.as_ptr(), buffer.len(), offset);
        let mut done = 0;
        while done < buffer.len() {
            match rustix::io::pread(&self.descriptor, &mut buffer[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => done += bytes,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        assert_aligned(buffer.as_ptr(), buffer.len(), offset);
        let mut done = 0;
        while done < buffer.len() {
            match rustix::io::pwrite(&self.descriptor, &buffer[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(bytes) => done += bytes,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.drops_cache {
            self.drop_from_page_cache(offset, buffer.len() as u64);
        }
        Ok(())
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        Ok(rustix::fs::ftruncate(&self.descriptor, bytes)?)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fdatasync(&self.descriptor)?)
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (!self.drops_cache).then(|| self.descriptor.as_fd())
    }
}

impl DiskFile {
    /// Advice only: pages that the kernel doesn't drop cost memory that it can reclaim, so a refusal isn't an error.
    #[cfg(target_os = "linux")]
    fn drop_from_page_cache(&self, offset: u64, bytes: u64) {
        let _ = rustix::fs::fadvise(
            &self.descriptor,
            offset,
            std::num::NonZeroU64::new(bytes),
            rustix::fs::Advice::DontNeed,
        );
    }

    #[cfg(not(target_os = "linux"))]
    fn drop_from_page_cache(&self, _offset: u64, _bytes: u64) {}
}
