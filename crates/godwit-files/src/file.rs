//! A file read by position, from many threads at once.

use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use godwit_common::{Error, Result};
use godwit_io::ReadFaults;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::page::PageCache;

/// An open file of known length. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct FileBytes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: File,
    path: PathBuf,
    bytes: u64,
    pages: PageCache,
    /// Given in tests only.
    faults: Option<ReadFaults>,
}

impl FileBytes {
    /// Opens a file for reading; some reads fail if `faults` are planned.
    pub(crate) fn open(path: &Path, faults: Option<&ReadFaults>) -> Result<Self> {
        let io = |error: io::Error| Error::io(format!("opening {}", path.display()), &error);
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if metadata.is_dir() {
            return Err(Error::user(format!("{} is a directory", path.display()))
                .with_hint(format!("to read its files, write '{}/*.parquet'", path.display())));
        }
        let (path, bytes, pages) = (path.to_owned(), metadata.len(), PageCache::default());
        Ok(Self(Arc::new(Inner { file, path, bytes, pages, faults: faults.cloned() })))
    }

    /// True if both are clones of one.
    pub(crate) fn is_same(&self, other: &FileBytes) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Length in bytes when it was opened.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Its decompressed pages that are in memory.
    pub(crate) fn pages(&self) -> &PageCache {
        &self.0.pages
    }

    /// Fills `buffer` from `offset`.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.read_exact_at(buffer, offset).map_err(|error| self.read_error(&error))
    }

    /// A read that failed.
    pub(crate) fn read_error(&self, error: &io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.corrupt("the file became shorter while it was read"),
            _ => Error::io(format!("reading {}", self.path().display()), error),
        }
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.read(buffer, |buffer| self.0.file.read_exact_at(buffer, offset))
    }

    fn read(&self, buffer: &mut [u8], read: impl FnOnce(&mut [u8]) -> io::Result<()>) -> io::Result<()> {
        match &self.0.faults {
            Some(faults) => faults.read(buffer, read),
            None => read(buffer),
        }
    }

    /// Tells the kernel that these bytes will be read soon, so that it starts to read them now.
    pub(crate) fn advise(&self, offset: u64, bytes: u64) {
        // Only advice: if the kernel refuses, the bytes are read when they are needed.
        let _ = rustix::fs::fadvise(&self.0.file, offset, NonZeroU64::new(bytes), rustix::fs::Advice::WillNeed);
    }

    /// An error about this file's content.
    pub(crate) fn corrupt(&self, what: impl std::fmt::Display) -> Error {
        Error::corrupt(format!("{}: {what}", self.path().display()))
    }
}

impl Length for FileBytes {
    fn len(&self) -> u64 {
        self.bytes()
    }
}

/// Reads on from a position of its own.
pub(crate) struct FileCursor {
    file: FileBytes,
    offset: u64,
}

impl Read for FileCursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut bytes = 0;
        self.file.read(buffer, |buffer| {
            bytes = self.file.0.file.read_at(buffer, self.offset)?;
            Ok(())
        })?;
        self.offset += bytes as u64;
        Ok(bytes)
    }
}

impl ChunkReader for FileBytes {
    type T = io::BufReader<FileCursor>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(io::BufReader::new(FileCursor { file: self.clone(), offset: start }))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // Checked first, so that a wrong length in a damaged file costs no memory.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes()) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are behind the end of the file")));
        }
        let mut buffer = vec![0u8; length];
        self.read_exact_at(&mut buffer, start)?;
        Ok(buffer.into())
    }
}
