//! Users' files on real file systems.
//!
//! ```text
//!   create ─▶ a file without a name, in the folder of the target ─▶ write … ─▶ commit: sync, link under the name, sync the folder
//!             where the file system has none: a hidden name                            if the name is taken: under a hidden
//!             next to it, which goes when the file is dropped                          one, then renamed over it
//! ```
//!
//! An unnamed file disappears with the process, even if it is killed.

mod stream;

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::fs::{AtFlags, CWD};
#[cfg(target_os = "linux")]
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use self::stream::Stream;
use crate::durable::sync_folder_of;
use crate::page_cache::read_ahead;
use crate::{DiskSystem, FileKind, FileMetadata, Files, Input, InputFile, NewFile};

/// Maximum number of links followed from a name; the same as the kernel's.
const LINKS_MAX: usize = 40;

/// Permissions of a new file, before the user's mask is applied.
#[cfg(target_os = "linux")]
const NEW_FILE_MODE: u32 = 0o666;

impl Files for DiskSystem {
    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        Ok(metadata_of(&fs::metadata(path)?))
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
        let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
        paths.sort();
        Ok(paths)
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        let found = self.metadata(path)?;
        match found.kind {
            FileKind::Folder => Err(io::ErrorKind::IsADirectory.into()),
            FileKind::Stream => Ok(Input::Stream(Box::new(Stream::open(path, found.identity)?))),
            FileKind::File => {
                let file = File::open(path)?;
                let bytes = file.metadata()?.len();
                Ok(Input::File(Arc::new(LocalInput { file, bytes })))
            }
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let path = match target_of(path)? {
            Target::Descriptor(file) => return Ok(Box::new(InPlace(file))),
            Target::Path(path) => path,
        };
        let permissions = match fs::metadata(&path) {
            Ok(found) if found.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Ok(found) if found.is_file() => Some(found.permissions()),
            Ok(_) => return Ok(Box::new(InPlace(OpenOptions::new().write(true).open(&path)?))),
            Err(_) => None,
        };
        Ok(Box::new(LocalNewFile::create(path, permissions)?))
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn is_link(&self, path: &Path) -> bool {
        path.is_symlink()
    }
}

fn metadata_of(found: &fs::Metadata) -> FileMetadata {
    let kind = match found.file_type() {
        kind if kind.is_dir() => FileKind::Folder,
        kind if kind.is_file() => FileKind::File,
        _ => FileKind::Stream,
    };
    let (modified, identity) = (found.modified().ok(), (found.dev(), found.ino()));
    FileMetadata { kind, bytes: found.len(), modified, identity }
}

#[derive(Debug)]
struct LocalInput {
    file: File,
    bytes: u64,
}

impl InputFile for LocalInput {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }

    fn will_need(&self, offset: u64, bytes: u64) {
        read_ahead(&self.file, offset, bytes);
    }
}

/// The target of a path to write to.
enum Target {
    /// A descriptor of this process, such as `/dev/stdout`: opened, whatever it refers to.
    Descriptor(File),
    /// A name that isn't a link.
    Path(PathBuf),
}

/// Follows the links of a path, even to a target that doesn't exist yet.
fn target_of(path: &Path) -> io::Result<Target> {
    let descriptors = PathBuf::from(format!("/proc/{}/fd", std::process::id()));
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let folder = folder_of(&path).to_owned();
        if fs::canonicalize(&folder).is_ok_and(|folder| folder == descriptors) {
            return open_descriptor(&path).map(Target::Descriptor);
        }
        match fs::read_link(&path) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Ok(Target::Path(path)),
        }
    }
    Err(Errno::LOOP.into())
}

/// Opens a descriptor to write at its current position, if the program itself writes to it; others are appended to.
fn open_descriptor(path: &Path) -> io::Result<File> {
    let own = match path.file_name().and_then(|name| name.to_str()) {
        Some("1") => io::stdout().as_fd().try_clone_to_owned()?,
        Some("2") => io::stderr().as_fd().try_clone_to_owned()?,
        _ => return OpenOptions::new().append(true).open(path),
    };
    Ok(own.into())
}

/// A target that can't appear as a whole: a pipe, a device, an open descriptor.
struct InPlace(File);

impl Write for InPlace {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl NewFile for InPlace {
    fn commit(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

struct LocalNewFile {
    file: File,
    /// Its name after the commit.
    path: PathBuf,
    /// Its name before the commit, if the file system doesn't support unnamed files.
    hidden: Option<PathBuf>,
}

impl LocalNewFile {
    /// Creates the file. `permissions` are those of the file that it replaces.
    fn create(path: PathBuf, permissions: Option<Permissions>) -> io::Result<Self> {
        path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let (file, hidden) = match create_unnamed(folder_of(&path))? {
            Some(file) => (file, None),
            None => {
                let hidden = hidden_name(&path);
                (OpenOptions::new().write(true).create_new(true).open(&hidden)?, Some(hidden))
            }
        };
        let new = Self { file, path, hidden };
        if let Some(permissions) = permissions {
            new.file.set_permissions(permissions)?;
        }
        Ok(new)
    }

    /// Links an unnamed file under `name`, which must be free.
    fn link(&self, name: &Path) -> io::Result<()> {
        Ok(rustix::fs::linkat(CWD, link_to(&self.file), CWD, name, AtFlags::SYMLINK_FOLLOW)?)
    }
}

impl Write for LocalNewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl NewFile for LocalNewFile {
    fn commit(&mut self) -> io::Result<()> {
        self.file.sync_all()?;
        if self.hidden.is_none() {
            match self.link(&self.path) {
                Ok(()) => return sync_folder_of(&self.path),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            let hidden = hidden_name(&self.path);
            self.link(&hidden)?;
            self.hidden = Some(hidden);
        }
        fs::rename(self.hidden.as_ref().expect("it has a name"), &self.path)?;
        self.hidden = None;
        sync_folder_of(&self.path)
    }
}

impl Drop for LocalNewFile {
    fn drop(&mut self) {
        if let Some(hidden) = &self.hidden {
            // A failure can't be reported any more; its cause already was.
            let _ = fs::remove_file(hidden);
        }
    }
}

/// Creates an unnamed file that can be named later; `None` if the system doesn't support that.
#[cfg(target_os = "linux")]
fn create_unnamed(folder: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::TMPFILE;
    match rustix::fs::open(folder, flags, Mode::from_raw_mode(NEW_FILE_MODE)) {
        Ok(descriptor) => {
            let file = File::from(descriptor);
            // Without /proc, the file can't be named.
            let is_reachable = fs::symlink_metadata(link_to(&file)).is_ok();
            Ok(is_reachable.then_some(file))
        }
        // Not every file system supports unnamed files, and an old kernel takes the flag for "open a folder".
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn create_unnamed(_folder: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Returns the system's own link to an open file.
fn link_to(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns a hidden name in the same folder, so renaming moves no bytes.
fn hidden_name(path: &Path) -> PathBuf {
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    let (process, serial) = (std::process::id(), SERIAL.fetch_add(1, Relaxed));
    path.with_file_name(format!(".godwit-{process}-{serial}.unfinished"))
}

#[cfg(test)]
mod tests;
