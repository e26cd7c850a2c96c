//! Files of users: what statements name by path.
//!
//! ```text
//!   COPY, EXPORT, scans, globs ──► Files ─┬─ open ───► Input: a file, read at any place; or a stream, read once
//!                                         ├─ create ─► NewFile: write … commit; whole under its name, or never there
//!                                         └─ metadata, entries, create_folder
//!                                           ├─ DiskSystem      real files
//!                                           ├─ SimulatedDisk   in memory; fails, and loses what wasn't synced
//!                                           └─ ReadFaults      real files, some reads of which fail
//! ```
//!
//! Neither a failure nor the end of the process nor a power failure leaves part of a new file under its name, and a
//! file that is replaced is there until the new one is whole.

use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// Bytes that can be read at any offset, any number of times.
    File,
    /// A folder.
    Folder,
    /// A pipe, a terminal or another device: what is read from it is gone.
    Stream,
}

/// Metadata of a file, without opening it; for a link, that of its target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileMetadata {
    /// What it is.
    pub kind: FileKind,
    /// The length; 0 if it has none.
    pub bytes: u64,
    /// When its content was last changed, if the file system says so.
    pub modified: Option<SystemTime>,
    /// The same for all names of a file, and for no other file.
    pub identity: (u64, u64),
}

/// Where statements find files and put them.
pub trait Files: fmt::Debug + Send + Sync {
    /// What is at a path; links are followed.
    fn metadata(&self, path: &Path) -> io::Result<FileMetadata>;

    /// The paths of everything in a folder, ordered by name.
    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>>;

    /// Opens a path for reading. A stream that this process already reads is an error of kind `ResourceBusy`: two
    /// readers would each get a part of it.
    fn open(&self, path: &Path) -> io::Result<Input>;

    /// Begins a file that will have this name; an existing file of that name stays until the commit. If the name is
    /// that of a link, the file is its target. Streams are written in place: what is written to them is there at once.
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Creates a folder and its missing parents.
    fn create_folder(&self, path: &Path) -> io::Result<()>;

    /// True if it supports URLs of this scheme.
    fn reaches(&self, _scheme: &str) -> bool {
        false
    }

    /// The same files for the planning of one table, in which each is looked up once; `None`: lookups cost nothing.
    fn view(&self) -> Option<Arc<dyn Files>> {
        None
    }

    /// Announces that these files will be opened soon, in this order. Only advice.
    fn will_open(&self, _paths: &[PathBuf]) {}
}

/// The scheme of a URL, such as `https`; `None`: the text is a local path.
pub fn url_scheme(text: &str) -> Option<&str> {
    let (scheme, _) = text.split_once("://")?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    is_scheme.then_some(scheme)
}

/// What was opened for reading.
pub enum Input {
    /// A file.
    File(Arc<dyn InputFile>),
    /// A stream, which others can't read until it is dropped.
    Stream(Box<dyn Read + Send>),
}

impl Input {
    /// Reads from front to back.
    pub fn reader(self) -> Box<dyn Read + Send> {
        match self {
            Input::File(file) => Box::new(InputReader { file, offset: 0 }),
            Input::Stream(stream) => stream,
        }
    }
}

/// A file open for reading, shared by threads. It stays as it was opened, even if another file gets its name.
pub trait InputFile: fmt::Debug + Send + Sync {
    /// The length when it was opened.
    fn bytes(&self) -> u64;

    /// Reads some bytes from `offset` on; none at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Fills `buffer` from `offset`; an end of file before that is an error.
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

    /// Announces that these bytes will be read soon. Only advice: it may be ignored.
    fn will_need(&self, _offset: u64, _bytes: u64) {}

    /// Announces several ranges, of which neighbours may be read at once.
    fn will_need_all(&self, ranges: &[Range<u64>]) {
        ranges.iter().for_each(|range| self.will_need(range.start, range.end - range.start));
    }

    /// Announces that ranges will probably be needed, in a while. This isn't withdrawn, but forgotten.
    fn may_need(&self, _ranges: &[Range<u64>]) {}

    /// Withdraws an announcement of these ranges by [`InputFile::will_need_all`].
    fn wont_need(&self, _ranges: &[Range<u64>]) {}

    /// True if each read takes some milliseconds, however short it is: its readers announce their needs long before.
    fn is_remote(&self) -> bool {
        false
    }
}

/// Reads on from a position of its own.
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

/// A file that is being written. If it is dropped before [`NewFile::commit`], it never existed.
pub trait NewFile: Write + Send {
    /// Gives the file its name. When it returns, content and name are on the disk. Nothing is written after it.
    fn commit(&mut self) -> io::Result<()>;
}
