//! Users' files, which statements name by path.
//!
//! ```text
//!   COPY, EXPORT, scans, globs ──► Files ─┬─ open ───► Input: a file, read at any place; or a stream, read once
//!                                         ├─ create ─► NewFile: write … commit; whole under its name, or never there
//!                                         └─ metadata, entries, create_folder, remove_file
//!                                           ├─ DiskSystem      real files
//!                                           ├─ SimulatedDisk   in memory; fails, and loses what wasn't synced
//!                                           └─ ReadFaults      real files, some reads of which fail
//! ```
//!
//! Neither a failure nor the end of the process nor a power failure leaves part of a new file under its name. A file
//! that is replaced stays until the new one is complete.

use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The kind of object at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Bytes that can be read at any offset, any number of times.
    File,
    /// A folder.
    Folder,
    /// A pipe, a terminal or another device: bytes can be read only once.
    Stream,
}

/// Metadata of a file, read without opening it; for a link, that of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMetadata {
    /// The kind of the object.
    pub kind: FileKind,
    /// The length; 0 if there is none.
    pub bytes: u64,
    /// When the content was last changed, if the file system knows.
    pub modified: Option<SystemTime>,
    /// The same for all names of a file, and different for all other files.
    pub identity: (u64, u64),
}

/// Access to the files that statements read and write.
pub trait Files: fmt::Debug + Send + Sync {
    /// Returns the metadata of a path; links are followed.
    fn metadata(&self, path: &Path) -> io::Result<FileMetadata>;

    /// Returns the paths of everything in a folder, ordered by name.
    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Opens a path for reading. A stream that this process already reads is an error of kind `ResourceBusy`: each
    /// reader would get only part of it.
    fn open(&self, path: &Path) -> io::Result<Input>;

    /// Begins a file that will have this name; an existing file of that name stays until the commit. If the name is
    /// that of a link, its target is replaced. Streams are written in place: their content is visible at once.
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Creates a folder and its missing parents.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// Removes a local file; objects of a store aren't removed.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Returns true if the last part of a path is a symbolic link.
    fn is_link(&self, _path: &Path) -> bool {
        false
    }

    /// Returns true if URLs of this scheme are supported.
    fn reaches(&self, _scheme: &str) -> bool {
        false
    }

    /// Returns a view for planning one table, which looks up each file only once; `None`: lookups cost nothing.
    fn view(&self) -> Option<Arc<dyn Files>> {
        None
    }

    /// Announces that these files will be opened soon, in this order. A hint only.
    fn will_open(&self, _paths: &[PathBuf]) {}
}

/// Returns the scheme of a URL, such as `https`; `None`: the text is a local path.
pub fn url_scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then_some(scheme)
}

/// A file or stream opened for reading.
pub enum Input {
    /// A file.
    File(Arc<dyn InputFile>),
    /// A stream, which others can't read until it is dropped.
    Stream(Box<dyn Read + Send>),
}

impl Input {
    /// Returns a reader from front to back.
    pub fn reader(self) -> Box<dyn Read + Send> {
        match self {
            Input::File(file) => Box::new(InputReader { file, offset: 0 }),
            Input::Stream(stream) => stream,
        }
    }
}

/// A file open for reading, shared by threads. It keeps the content that it had when opened, even if another file gets
/// its name.
pub trait InputFile: fmt::Debug + Send + Sync {
    /// The length when it was opened.
    fn bytes(&self) -> u64;

    /// Reads some bytes at `offset`; none at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Fills `buffer` from `offset`; an end of file before it is full is an error.
    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        let mut done = 0;
        while done < buffer.len() {
            match self.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(bytes) => done += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Announces that these bytes will be read soon. A hint only, which may be ignored.
    fn will_need(&self, _offset: u64, _bytes: u64) {}

    /// Announces several ranges; neighbouring ones may be read together.
    fn will_need_all(&self, ranges: &[Range<u64>]) {
        ranges.iter().for_each(|range| self.will_need(range.start, range.end - range.start));
    }

    /// Announces that ranges will probably be needed after a while. Such hints expire and aren't withdrawn.
    fn may_need(&self, _ranges: &[Range<u64>]) {}

    /// Withdraws an announcement made by [`InputFile::will_need_all`].
    fn wont_need(&self, _ranges: &[Range<u64>]) {}

    /// Returns true if each read, however short, takes some milliseconds, so reads should be announced well ahead.
    fn is_remote(&self) -> bool {
        false
    }
}

/// Reads sequentially from its own position.
pub struct InputReader {
    file: Arc<dyn InputFile>,
    offset: u64,
}

impl InputReader {
    /// Reads a file from `offset` on.
    pub fn new(file: Arc<dyn InputFile>, offset: u64) -> Self {
        Self { file, offset }
    }
}

impl Read for InputReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read_at(buffer, self.offset)?;
        self.offset += bytes as u64;
        Ok(bytes)
    }
}

/// A file being written. If it is dropped before [`NewFile::commit`], it never existed.
pub trait NewFile: Write + Send {
    /// Gives the file its name. When it returns, content and name are on disk. Nothing may be written afterwards.
    fn commit(&mut self) -> io::Result<()>;
}
