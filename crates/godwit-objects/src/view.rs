//! Memory of lookups while one table is planned, so that nothing is requested twice from a store.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use godwit_io::{FileMetadata, Files, Input, NewFile};
use parking_lot::Mutex;

use crate::config::REQUESTS_AHEAD_MAX;
use crate::files::{Found, ObjectFiles, metadata_of};
use crate::listing::Entry;
use crate::location::Location;
use crate::store::Version;

/// Files that remember lookups.
pub(crate) struct View {
    files: ObjectFiles,
    seen: Mutex<HashMap<PathBuf, Seen>>,
}

/// The result of a lookup.
#[derive(Clone)]
enum Seen {
    Found(Found),
    /// From a listing: the object itself wasn't requested.
    Listed(Version),
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("View").field(&self.files).finish()
    }
}

impl View {
    pub(crate) fn new(files: ObjectFiles) -> Self {
        Self { files, seen: Mutex::default() }
    }

    fn seen(&self, path: &Path) -> Option<Seen> {
        self.seen.lock().get(path).cloned()
    }

    fn note(&self, path: &Path, seen: Seen) {
        self.seen.lock().insert(path.to_owned(), seen);
    }

    /// Returns what is at a location, open for reading.
    fn found(&self, path: &Path, location: &Location) -> io::Result<Found> {
        let found = match self.seen(path) {
            Some(Seen::Found(found)) => return Ok(found),
            Some(Seen::Listed(version)) => Found::File(Arc::new(self.files.open_version(location, version)?)),
            None => self.files.look(location)?,
        };
        self.note(path, Seen::Found(found.clone()));
        Ok(found)
    }
}

impl Files for View {
    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        let Some(location) = self.files.location(path) else { return self.files.local().metadata(path) };
        let location = location?;
        match self.seen(path) {
            Some(Seen::Listed(version)) => Ok(metadata_of(&location, Some(&version))),
            _ => Ok(self.found(path, &location)?.metadata(&location)),
        }
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        let Some(location) = self.files.location(folder) else { return self.files.local().entries(folder) };
        let entries = self.files.list(&location?)?;
        let mut seen = self.seen.lock();
        let paths = entries.into_iter().map(|entry| {
            let path = folder.join(entry.name());
            let what = match entry {
                Entry::File(_, version) => Seen::Listed(version),
                Entry::Folder(_) => Seen::Found(Found::Folder),
            };
            seen.insert(path.clone(), what);
            path
        });
        Ok(paths.collect())
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        let Some(location) = self.files.location(path) else { return self.files.local().open(path) };
        match self.found(path, &location?)? {
            Found::File(file) => Ok(Input::File(file)),
            Found::Folder => Err(io::ErrorKind::IsADirectory.into()),
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.files.create(path)
    }

    fn create_folder(&self, path: &Path) -> io::Result<()> {
        self.files.create_folder(path)
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.files.remove_file(path)
    }

    fn is_link(&self, path: &Path) -> bool {
        self.files.is_link(path)
    }

    fn reaches(&self, scheme: &str) -> bool {
        self.files.reaches(scheme)
    }

    fn will_open(&self, paths: &[PathBuf]) {
        for path in paths.iter().take(REQUESTS_AHEAD_MAX) {
            let Some(Ok(location)) = self.files.location(path) else { continue };
            // The others were fetched along with their ends when they were looked up.
            if let (Some(Seen::Listed(_)), Ok(Found::File(file))) = (self.seen(path), self.found(path, &location)) {
                file.announce_end();
            }
        }
    }
}
