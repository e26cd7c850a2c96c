//! The file written by a `COPY`, with errors that say what to do.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::{Error, Result};
use godwit_io::{Files, NewFile};

use crate::local::check_reachable;

/// A file that appears under its name once it is complete. Dropped before [`OutputFile::commit`], it never existed.
pub struct OutputFile {
    file: Box<dyn NewFile>,
    path: PathBuf,
    /// Bytes written so far.
    written: Arc<AtomicU64>,
}

impl OutputFile {
    /// Begins a file; an existing one of that name is replaced at the end.
    pub fn create(files: &dyn Files, path: &str) -> Result<Self> {
        check_reachable(files, path)?;
        let path = PathBuf::from(path);
        let file = files.create(&path).map_err(|error| failure("creating", &path, &error))?;
        Ok(Self { file, path, written: Arc::default() })
    }

    /// Returns the counter of bytes written, which keeps counting.
    pub(super) fn written(&self) -> Arc<AtomicU64> {
        self.written.clone()
    }

    /// Gives the file its name, once all of it is on disk.
    pub fn commit(&mut self) -> Result<()> {
        self.file.commit().map_err(|error| failure("writing", &self.path, &error))
    }
}

/// Returns the error for a failed write to whichever file is being written.
pub(super) fn write_error(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full_disk("writing the file"),
        _ => Error::io("writing the file", error),
    }
}

fn full_disk(doing: impl std::fmt::Display) -> Error {
    Error::resource(format!("{doing}: no space is left on the disk"))
        .with_hint("free disk space, or write to another disk; nothing of the file was kept")
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.written.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn failure(doing: &str, path: &Path, error: &io::Error) -> Error {
    let shown = path.display();
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match error.kind() {
        io::ErrorKind::NotFound => Error::user(format!("there is no folder {} to write {shown} to", folder.display()))
            .with_hint("create the folder, or write to another one"),
        io::ErrorKind::IsADirectory => Error::user(format!("{shown} is a folder")).with_hint("name a file in it"),
        io::ErrorKind::InvalidFilename => Error::user(format!("'{shown}' is not the name of a file")),
        io::ErrorKind::PermissionDenied => {
            Error::io(format!("{doing} {shown}"), error).with_hint("you need the right to write to the folder")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full_disk(format!("{doing} {shown}")),
        _ => Error::io(format!("{doing} {shown}"), error),
    }
}
