//! A file that appears under its name when it is whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::{Error, Result};

/// A file that is being written, next to the place where it will be. Dropped before [`OutputFile::commit`], it is gone.
pub(super) struct OutputFile {
    file: File,
    path: PathBuf,
    /// The name that it has until it is whole; `None` for pipes and devices, which are written as they are.
    temporary: Option<PathBuf>,
}

impl OutputFile {
    pub(super) fn create(path: &str) -> Result<Self> {
        let path = PathBuf::from(path);
        let is_special = match fs::metadata(&path) {
            Ok(found) if found.is_dir() => {
                return Err(Error::user(format!("{} is a folder", path.display())).with_hint("name a file in it"));
            }
            Ok(found) => !found.is_file(),
            Err(_) => false,
        };
        if is_special {
            let file = OpenOptions::new().write(true).open(&path).map_err(|error| failure("opening", &path, &error))?;
            return Ok(Self { file, path, temporary: None });
        }
        let temporary = temporary_name(&path)?;
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary);
        let file = file.map_err(|error| failure("creating", &path, &error))?;
        Ok(Self { file, path, temporary: Some(temporary) })
    }

    /// Makes the file durable and gives it its name; a file that had the name is replaced.
    pub(super) fn commit(&mut self) -> Result<()> {
        let Some(temporary) = &self.temporary else { return Ok(()) };
        self.file.sync_all().map_err(|error| failure("writing", &self.path, &error))?;
        fs::rename(temporary, &self.path).map_err(|error| failure("naming", &self.path, &error))?;
        self.temporary = None;
        Ok(())
    }
}

/// The error of a failed write to whichever file is being written.
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
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(temporary) = &self.temporary {
            // Nobody is there to hear of a failure; the cause was reported already.
            let _ = fs::remove_file(temporary);
        }
    }
}

/// A hidden name in the same folder, so that renaming moves no bytes and globs don't see the unfinished file.
fn temporary_name(path: &Path) -> Result<PathBuf> {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let Some(name) = path.file_name() else {
        return Err(Error::user(format!("'{}' is not the name of a file", path.display())));
    };
    let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
    let hidden = format!(".{}.{}-{serial}.unfinished", name.to_string_lossy(), std::process::id());
    Ok(path.with_file_name(hidden))
}

fn failure(doing: &str, path: &Path, error: &io::Error) -> Error {
    let shown = path.display();
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match error.kind() {
        io::ErrorKind::NotFound => Error::user(format!("there is no folder {} to write {shown} to", folder.display()))
            .with_hint("create the folder, or write to another one"),
        io::ErrorKind::PermissionDenied => {
            Error::io(format!("{doing} {shown}"), error).with_hint("you need the right to write to the folder")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => full_disk(format!("{doing} {shown}")),
        _ => Error::io(format!("{doing} {shown}"), error),
    }
}
