//! A file read at any position, by many threads at once.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use godwit_common::{Error, Result, call_foreign};
use godwit_io::{FileKind, Files, Input, InputFile, InputReader};
use godwit_memory::{BufferManager, Object, ObjectKind};
use parking_lot::Mutex;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use parquet::schema::types::ColumnPath;

use crate::page::PageCache;

/// An open file of known length. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct FileBytes(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: Arc<dyn InputFile>,
    path: PathBuf,
    pages: PageCache,
    objects: Mutex<FileObjects>,
}

/// The objects of the file and its columns in memory, created when the first page is read.
#[derive(Debug, Default)]
struct FileObjects {
    file: Option<Arc<Object>>,
    columns: HashMap<ColumnPath, Arc<Object>>,
}

impl FileBytes {
    /// Opens a file of a format for reading.
    pub(crate) fn open(files: &dyn Files, path: &Path, format: &str) -> Result<Self> {
        let io = |error: io::Error| Error::io(format!("opening {}", path.display()), &error);
        let shown = path.display();
        let stream = || {
            Error::user(format!("{shown} is a pipe or a device, and {format} files are read at any place"))
                .with_hint(format!("write it to a file first, or read text from it with read_csv('{shown}')"))
        };
        match files.metadata(path).map_err(io)?.kind {
            FileKind::Folder => Err(Error::user(format!("{shown} is a folder"))
                .with_hint(format!("to read its files, write '{shown}/*.{}'", format.to_lowercase()))),
            FileKind::Stream => Err(stream()),
            FileKind::File => match files.open(path).map_err(io)? {
                Input::Stream(_) => Err(stream()),
                Input::File(file) => {
                    let (pages, objects) = (PageCache::default(), Mutex::default());
                    Ok(Self(Arc::new(Inner { file, path: path.to_owned(), pages, objects })))
                }
            },
        }
    }

    /// Returns true if both are clones of one.
    pub(crate) fn is_same(&self, other: &FileBytes) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Length in bytes when it was opened.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.file.bytes()
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Its decompressed pages in memory.
    pub(crate) fn pages(&self) -> &PageCache {
        &self.0.pages
    }

    /// Returns the object of a column's pages in memory.
    pub(crate) fn column_object(&self, column: &ColumnPath, memory: &BufferManager) -> Arc<Object> {
        let mut objects = self.0.objects.lock();
        if let Some(known) = objects.columns.get(column) {
            return known.clone();
        }
        let path = || self.0.path.to_string_lossy();
        let file = objects.file.get_or_insert_with(|| memory.root_object(ObjectKind::File, &path()));
        let object = file.child(ObjectKind::FileColumn, &column.string());
        objects.columns.insert(column.clone(), object.clone());
        object
    }

    /// Fills `buffer` from `offset`.
    pub(crate) fn read_at(&self, buffer: &mut [u8], offset: u64) -> Result<()> {
        self.0.file.read_exact_at(buffer, offset).map_err(|error| self.read_error(&error))
    }

    /// Returns the error for a failed read.
    pub(crate) fn read_error(&self, error: &io::Error) -> Error {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.corrupt("the file became shorter while it was read"),
            _ => Error::io(format!("reading {}", self.path().display()), error),
        }
    }

    /// Announces that these bytes will be read soon, so that reading them starts now.
    pub(crate) fn advise(&self, offset: u64, bytes: u64) {
        self.0.file.will_need(offset, bytes);
    }

    /// Announces several ranges of pages, except those whose pages are cached.
    pub(crate) fn advise_all(&self, mut ranges: Vec<Range<u64>>) {
        ranges.retain(|range| !self.0.pages.has_most_of(range));
        if !ranges.is_empty() {
            self.0.file.will_need_all(&ranges);
        }
    }

    /// Announces that these ranges will probably be needed after a while.
    pub(crate) fn announce(&self, ranges: &[Range<u64>]) {
        self.0.file.may_need(ranges);
    }

    /// Withdraws an announcement made by [`FileBytes::advise_all`].
    pub(crate) fn take_back(&self, ranges: &[Range<u64>]) {
        self.0.file.wont_need(ranges);
    }

    /// Returns true if the file is remote, so reads should be announced well ahead.
    pub(crate) fn is_remote(&self) -> bool {
        self.0.file.is_remote()
    }

    /// Returns an error about this file's content.
    pub(crate) fn corrupt(&self, what: impl std::fmt::Display) -> Error {
        Error::corrupt(format!("{}: {what}", self.path().display()))
    }
}

/// Calls another crate on the content of a file; a panic becomes an error.
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T> {
    call_foreign(call).ok_or_else(|| Error::corrupt("the reader of the format gave up on it"))
}

impl Length for FileBytes {
    fn len(&self) -> u64 {
        self.bytes()
    }
}

impl ChunkReader for FileBytes {
    type T = io::BufReader<InputReader>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(io::BufReader::new(InputReader::new(self.0.file.clone(), start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        // Checked first, so a wrong length in a damaged file costs no memory.
        if start.checked_add(length as u64).is_none_or(|end| end > self.bytes()) {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} are behind the end of the file")));
        }
        let mut buffer = vec![0u8; length];
        self.0.file.read_exact_at(&mut buffer, start)?;
        Ok(buffer.into())
    }
}
