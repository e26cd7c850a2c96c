//! The [`Files`] of this crate: local paths go to local files, URLs to stores.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::fmt;
use std::future::Future;
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc;

use godwit_io::{FileKind, FileMetadata, Files, Input, NewFile, check_interrupt, url_scheme};
use godwit_memory::{BufferManager, OwnerCounters};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::config::{FIRST_BYTES, INTERRUPT_INTERVAL, STORES_MAX, VERSIONS_MAX};
use crate::failure::Failure;
use crate::input::{ObjectFile, Room};
use crate::listing::{self, Entry};
use crate::location::{Location, StoreKind};
use crate::output::NewObject;
use crate::settings::ObjectSettings;
use crate::store::{Part, Store, Version};
use crate::transport::Network;
use crate::view::View;

/// File name extensions of files that are read from their beginning.
const READ_FROM_START: [&str; 7] = ["csv", "tsv", "json", "ndjson", "jsonl", "txt", "gz"];

/// Files of this machine and of object stores. Cheap to clone.
#[derive(Clone)]
pub struct ObjectFiles(Arc<Shared>);

struct Shared {
    local: Arc<dyn Files>,
    settings: Arc<ObjectSettings>,
    memory: BufferManager,
    room: Room,
    network: Network,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// Number of changes of the settings for which the stores below are valid.
    changes: u64,
    /// Stores by the root of their locations.
    stores: HashMap<String, Arc<Store>>,
    /// The versions last found under URLs.
    versions: HashMap<String, Version>,
}

/// The object or folder at a location.
#[derive(Clone)]
pub(crate) enum Found {
    /// An object, which can be read.
    File(Arc<ObjectFile>),
    /// A common prefix of names.
    Folder,
}

impl fmt::Debug for ObjectFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObjectFiles").field("local", &self.0.local).finish_non_exhaustive()
    }
}

impl ObjectFiles {
    /// Creates files for which URLs lead to stores, reached according to `settings`, and other paths to `local`. Bytes
    /// read ahead are accounted for with `memory`.
    pub fn new(local: Arc<dyn Files>, settings: Arc<ObjectSettings>, memory: &BufferManager) -> Self {
        let memory = memory.scoped(OwnerCounters::new());
        let (room, network, known) = (Room::new(memory.clone()), Network::default(), Mutex::default());
        Self(Arc::new(Shared { local, settings, memory, room, network, known }))
    }

    /// Returns the location of a path; `None`: a local file.
    pub(crate) fn location(&self, path: &Path) -> Option<io::Result<Location>> {
        let scheme = url_scheme(path.to_str()?)?;
        self.reaches(scheme).then(|| Location::of(path))
    }

    pub(crate) fn local(&self) -> &Arc<dyn Files> {
        &self.0.local
    }

    /// Returns the network threads.
    pub(crate) fn runtime(&self) -> io::Result<Handle> {
        self.0.network.runtime()
    }

    /// Returns the store of a location, connecting to it once. Each file of a web server has its own store.
    fn store(&self, location: &Location) -> io::Result<Arc<Store>> {
        let root = if location.kind == StoreKind::Web { &location.url } else { &location.root };
        let changes = self.0.settings.changes();
        {
            let mut known = self.0.known.lock();
            if known.changes != changes || known.stores.len() >= STORES_MAX {
                *known = Known { changes, ..Known::default() };
            }
            if let Some(store) = known.stores.get(root) {
                return Ok(store.clone());
            }
        }
        let mut store = Store::connect(location, &self.0.settings, &self.0.network)?;
        let mut known = self.0.known.lock();
        if location.kind == StoreKind::Web {
            // The limit on requests is per server.
            let server = known.stores.entry(location.root.clone());
            store.slots = server.or_insert_with(|| Arc::new(store.sharing_slots())).slots.clone();
        }
        Ok(known.stores.entry(root.clone()).or_insert(Arc::new(store)).clone())
    }

    /// Runs a future on the network threads and waits for it, unless the statement is interrupted.
    pub(crate) fn wait<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> io::Result<T> {
        check_interrupt()?;
        let (sender, receiver) = mpsc::sync_channel(1);
        let task = self.0.network.runtime()?.spawn(async move {
            // Sending fails only if the receiver has gone.
            let _ = sender.send(work.await);
        });
        loop {
            match receiver.recv_timeout(INTERRUPT_INTERVAL) {
                Ok(done) => return Ok(done),
                Err(mpsc::RecvTimeoutError::Disconnected) => return Err(io::Error::other("a request was given up")),
                Err(mpsc::RecvTimeoutError::Timeout) => check_interrupt().inspect_err(|_| task.abort())?,
            }
        }
    }

    /// Looks up a location; an object takes a single request, which also returns a part of it.
    pub(crate) fn look(&self, location: &Location) -> io::Result<Found> {
        let store = self.store(location)?;
        if location.path.as_ref().is_empty() && location.kind != StoreKind::Web {
            return Ok(Found::Folder);
        }
        let known = self.0.known.lock().versions.get(&location.url).cloned();
        let part = if is_read_from_start(&location.url) { Part::Start } else { Part::End };
        let looked = self.wait({
            let (store, path, known) = (store.clone(), location.path.clone(), known.clone());
            async move { store.look(&path, part, FIRST_BYTES, known.as_ref()).await }
        })?;
        match (looked, known) {
            (Ok(got), _) => {
                self.remember(location, &got.version);
                let file = self.file(location, got.version.clone(), store)?;
                file.keep(got);
                Ok(Found::File(Arc::new(file)))
            }
            (Err(Failure::NotModified), Some(version)) => {
                Ok(Found::File(Arc::new(self.file(location, version, store)?)))
            }
            (Err(Failure::NotFound), _) => self.look_for_folder(location, &store),
            (Err(Failure::NoRanges), _) => self.whole(location, store),
            (Err(failure), _) => Err(failure.into_io()),
        }
    }

    /// Returns a file from a server that only sends whole files.
    fn whole(&self, location: &Location, store: Arc<Store>) -> io::Result<Found> {
        let (from, path, memory) = (store.clone(), location.path.clone(), self.0.memory.clone());
        let taken = self.wait(async move { from.whole(&path, &memory).await })?;
        let (got, memory) = taken.map_err(Failure::into_io)?;
        let file = self.file(location, got.version.clone(), store)?;
        file.keep_whole(got, memory);
        Ok(Found::File(Arc::new(file)))
    }

    fn look_for_folder(&self, location: &Location, store: &Store) -> io::Result<Found> {
        self.0.known.lock().versions.remove(&location.url);
        let Some(lister) = store.lister() else { return Err(Failure::NotFound.into_io()) };
        let prefix = location.prefix();
        match self.wait(async move { listing::has_entries(&lister, prefix).await })? {
            Ok(true) => Ok(Found::Folder),
            Ok(false) => Err(Failure::NotFound.into_io()),
            Err(failure) => Err(failure.into_io()),
        }
    }

    /// Returns the content of a folder, ordered by name.
    pub(crate) fn list(&self, location: &Location) -> io::Result<Vec<Entry>> {
        let store = self.store(location)?;
        let Some(lister) = store.lister() else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "web servers don't tell which files they have"));
        };
        let (prefix, memory) = (location.prefix(), self.0.memory.clone());
        let listed = self.wait(async move { listing::entries(&lister, prefix, &memory).await })?;
        listed.map_err(Failure::into_io)
    }

    /// Opens a version of an object for reading.
    pub(crate) fn open_version(&self, location: &Location, version: Version) -> io::Result<ObjectFile> {
        self.remember(location, &version);
        self.file(location, version, self.store(location)?)
    }

    fn file(&self, location: &Location, version: Version, store: Arc<Store>) -> io::Result<ObjectFile> {
        let (room, network) = (self.0.room.clone(), self.0.network.runtime()?);
        Ok(ObjectFile::new(location.clone(), version, store, room, network))
    }

    fn remember(&self, location: &Location, version: &Version) {
        let versions = &mut self.0.known.lock().versions;
        if versions.len() >= VERSIONS_MAX {
            versions.clear();
        }
        versions.insert(location.url.clone(), version.clone());
    }

    /// Begins an object.
    pub(crate) fn create_object(&self, location: &Location) -> io::Result<Box<dyn NewFile>> {
        if location.kind == StoreKind::Web {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "files on web servers can be read, not written"));
        }
        if location.path.as_ref().is_empty() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let objects = self.store(location)?.objects().clone();
        Ok(Box::new(NewObject::new(self.clone(), objects, location.path.clone(), self.0.memory.clone())))
    }
}

/// Returns true for files that are read sequentially, judging by their name.
fn is_read_from_start(url: &str) -> bool {
    let name = url.split('?').next().unwrap_or_default();
    let ending = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    READ_FROM_START.contains(&ending.as_str())
}

impl Found {
    /// Returns its metadata. The identity is that of the version: different content is a different file.
    pub(crate) fn metadata(&self, location: &Location) -> FileMetadata {
        match self {
            Found::File(file) => metadata_of(location, Some(file.version())),
            Found::Folder => metadata_of(location, None),
        }
    }
}

/// Returns the metadata of a version of an object, or of a folder.
pub(crate) fn metadata_of(location: &Location, version: Option<&Version>) -> FileMetadata {
    let hash = |value: &dyn Fn(&mut DefaultHasher)| {
        let mut hasher = DefaultHasher::new();
        value(&mut hasher);
        hasher.finish()
    };
    let of_place = hash(&|hasher| location.url.trim_end_matches('/').hash(hasher));
    match version {
        None => FileMetadata { kind: FileKind::Folder, bytes: 0, modified: None, identity: (of_place, 0) },
        Some(version) => FileMetadata {
            kind: FileKind::File,
            bytes: version.bytes,
            modified: version.modified,
            identity: (of_place, hash(&|hasher| (&version.etag, version.bytes, version.modified).hash(hasher))),
        },
    }
}

impl Files for ObjectFiles {
    fn metadata(&self, path: &Path) -> io::Result<FileMetadata> {
        match self.location(path) {
            None => self.0.local.metadata(path),
            Some(location) => location.and_then(|location| Ok(self.look(&location)?.metadata(&location))),
        }
    }

    fn entries(&self, folder: &Path) -> io::Result<Vec<PathBuf>> {
        match self.location(folder) {
            None => self.0.local.entries(folder),
            Some(location) => Ok(self.list(&location?)?.iter().map(|entry| folder.join(entry.name())).collect()),
        }
    }

    fn open(&self, path: &Path) -> io::Result<Input> {
        match self.location(path) {
            None => self.0.local.open(path),
            Some(location) => match self.look(&location?)? {
                Found::File(file) => Ok(Input::File(file)),
                Found::Folder => Err(io::ErrorKind::IsADirectory.into()),
            },
        }
    }

    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        match self.location(path) {
            None => self.0.local.create(path),
            Some(location) => self.create_object(&location?),
        }
    }

    /// Stores have no folders other than those implied by the names of objects.
    fn create_folder(&self, path: &Path) -> io::Result<()> {
        match self.location(path) {
            None => self.0.local.create_folder(path),
            Some(location) => location.map(drop),
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        match self.location(path) {
            None => self.0.local.remove_file(path),
            Some(_) => Err(io::Error::new(io::ErrorKind::Unsupported, "objects of a store aren't removed")),
        }
    }

    fn is_link(&self, path: &Path) -> bool {
        self.location(path).is_none() && self.0.local.is_link(path)
    }

    fn reaches(&self, scheme: &str) -> bool {
        StoreKind::of_scheme(scheme).is_some()
    }

    fn view(&self) -> Option<Arc<dyn Files>> {
        Some(Arc::new(View::new(self.clone())))
    }
}
