//! Users' files on the simulated disk.
//!
//! A folder exists if a file is in it. A new file that fails is gone, like an unnamed one.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{Content, DiskFault, SimulatedDisk};
use crate::{FileKind, FileMetadata, Files, Input, InputFile, NewFile};

impl Files for SimulatedDisk {
    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let world = self.world();
        world.check_up()?;
        if !world.files.keys().any(|file| file.starts_with(path)) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let (kind, bytes, changed) = match world.files.get(path) {
            Some(content) => (FileKind::File, content.current.len() as u64, content.committed),
            None => (FileKind::Folder, 0, 0),
        };
        let modified = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(changed));
        let mut identity = DefaultHasher::new();
        path.hash(&mut identity);
        Ok(FileMetadata { kind, bytes, modified, identity: (0, identity.finish()) })
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let world = self.world();
        world.check_up()?;
        let below = world.files.keys().filter_map(|file| file.strip_prefix(folder).ok());
        let names: BTreeSet<PathBuf> =
            below.filter_map(|rest| rest.components().next()).map(|name| folder.join(name)).collect();
        Ok(names.into_iter().collect())
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        let world = self.world();
        world.check_up()?;
        let content = world.files.get(path).ok_or(io::ErrorKind::NotFound)?;
        Ok(Input::File(Arc::new(Snapshot(content.current.clone()))))
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.world().change()?;
        Ok(Box::new(SimulatedNewFile { disk: self.clone(), path: path.to_owned(), content: Vec::new() }))
    }

    fn create_folder(&self, _path: &Path) -> io::Result<()> {
        self.world().check_up()
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world();
        world.change()?;
        world.files.remove(path).map(drop).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A file's content when it was opened.
#[derive(Debug)]
struct Snapshot(Vec<u8>);

impl InputFile for Snapshot {
    fn bytes(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|offset| self.0.get(offset..)).unwrap_or_default();
        let bytes = rest.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&rest[..bytes]);
        Ok(bytes)
    }
}

struct SimulatedNewFile {
    disk: SimulatedDisk,
    path: PathBuf,
    content: Vec<u8>,
}

impl Write for SimulatedNewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut world = self.disk.world();
        let written = match world.planned()? {
            None => bytes,
            Some(DiskFault::Short) => &bytes[..bytes.len().div_ceil(2)],
            Some(fault) => return Err(world.failure(fault)),
        };
        self.content.extend_from_slice(written);
        Ok(written.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewFile for SimulatedNewFile {
    fn commit(&mut self) -> io::Result<()> {
        let mut world = self.disk.world();
        // The content.
        world.change()?;
        // The name. A power failure may come before or after it is on disk.
        let named = world.change();
        if named.as_ref().is_err_and(|_| !world.is_down) {
            return named;
        }
        let current = std::mem::take(&mut self.content);
        let committed = world.changes;
        let content = Content { synced: current.clone(), current, committed, ..Content::default() };
        let before = world.files.insert(self.path.clone(), content);
        world.renamed.insert(self.path.clone(), before);
        named?;
        // The folder.
        world.change()?;
        world.renamed.remove(&self.path);
        Ok(())
    }
}
