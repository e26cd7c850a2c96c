//! A disk in memory whose plug can be pulled: the file system's twin for tests of durability.
//!
//! Every write is kept separately until it is synced. When the plug is pulled, each unsynced write is lost, kept, or
//! torn at a sector, as a seed decides, independently of the others: the disk promises nothing about their order. A new
//! file that got its name may be there or not until its name is synced, too.

mod files;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use rustix::io::Errno;

use crate::{DurableFile, FileSystem, OpenMode};

/// The unit that a disk writes as a whole or not at all.
const SECTOR_BYTES: usize = 512;

/// The fault of an operation that changes the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiskFault {
    /// The plug is pulled: this and all later operations fail, until [`SimulatedDisk::restart`].
    Crash,
    /// It fails as on a full disk, once.
    Full,
    /// It fails as on a broken disk, once.
    Broken,
    /// Half of the bytes of a write to a new file are written, once, which isn't an error; for other operations the
    /// disk is full.
    Short,
}

/// A disk with files. Clones are the same disk.
#[derive(Debug, Clone, Default)]
pub struct SimulatedDisk(Arc<Mutex<World>>);

#[derive(Debug, Default)]
struct World {
    files: BTreeMap<PathBuf, Content>,
    /// Names that aren't synced, and what the disk still has under them.
    renamed: BTreeMap<PathBuf, Option<Content>>,
    /// Number of operations so far that change something.
    changes: u64,
    fault: Option<(u64, DiskFault)>,
    is_down: bool,
}

/// A file as its users see it, and its history.
#[derive(Debug, Default, Clone)]
struct Content {
    current: Vec<u8>,
    synced: Vec<u8>,
    pending: Vec<Change>,
    /// When it was committed as a new file, counted in changes of the disk.
    committed: u64,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate(usize),
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Change::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if content.len() < end {
                    content.resize(end, 0);
                }
                content[*offset..end].copy_from_slice(bytes);
            }
            Change::Truncate(bytes) => content.resize(*bytes, 0),
        }
    }
}

impl SimulatedDisk {
    /// Creates an empty disk.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of writes, truncations, syncs and removals so far: the points at which the plug can be pulled.
    pub fn changes(&self) -> u64 {
        self.world().changes
    }

    /// Plans a fault for the `change`-th operation from now that changes something, counted from 1.
    pub fn fail(&self, change: u64, fault: DiskFault) {
        let mut world = self.world();
        let at = world.changes + change;
        world.fault = Some((at, fault));
    }

    /// Returns the disk after a power failure: everything synced, and of the rest what `seed` decides.
    pub fn restart(&self, seed: u64) -> SimulatedDisk {
        let mut random = seed;
        let mut next = move |below: u64| {
            // SplitMix64.
            random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = random;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed ^ (mixed >> 31)) % below
        };
        let world = self.world();
        let mut files = world.files.clone();
        for (path, before) in &world.renamed {
            match before {
                _ if next(2) == 0 => {}
                Some(content) => drop(files.insert(path.clone(), content.clone())),
                None => drop(files.remove(path)),
            }
        }
        for content in files.values_mut() {
            let mut survived = content.synced.clone();
            for change in &content.pending {
                match (next(3), change) {
                    (0, _) => {}
                    (1, Change::Write { offset, bytes }) => {
                        let sectors = bytes.len().div_ceil(SECTOR_BYTES) as u64;
                        let kept = (next(sectors + 1) as usize * SECTOR_BYTES).min(bytes.len());
                        Change::Write { offset: *offset, bytes: bytes[..kept].to_vec() }.apply(&mut survived);
                    }
                    _ => change.apply(&mut survived),
                }
            }
            *content = Content { current: survived.clone(), synced: survived, pending: Vec::new(), ..*content };
        }
        SimulatedDisk(Arc::new(Mutex::new(World { files, ..World::default() })))
    }

    /// Flips a bit of a file, also on the disk.
    pub fn flip_bit(&self, path: &Path, at: usize, bit: u8) {
        let mut world = self.world();
        let content = world.files.get_mut(path).expect("the file exists");
        content.current[at] ^= 1 << bit;
        content.synced = content.current.clone();
        content.pending.clear();
    }

    /// The content of a file.
    pub fn content(&self, path: &Path) -> Option<Vec<u8>> {
        self.world().files.get(path).map(|content| content.current.clone())
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().expect("a test panicked with the disk locked")
    }
}

impl World {
    /// Counts an operation that changes something, and fails it if a fault is planned for it.
    fn change(&mut self) -> io::Result<()> {
        match self.planned()? {
            None => Ok(()),
            Some(fault) => Err(self.failure(fault)),
        }
    }

    /// Counts an operation that changes something and returns the fault planned for it.
    fn planned(&mut self) -> io::Result<Option<DiskFault>> {
        self.check_up()?;
        self.changes += 1;
        let changes = self.changes;
        Ok(self.fault.take_if(|(at, _)| *at == changes).map(|(_, fault)| fault))
    }

    /// The error of an operation with a fault.
    fn failure(&mut self, fault: DiskFault) -> io::Error {
        match fault {
            DiskFault::Crash => {
                self.is_down = true;
                power_is_off()
            }
            DiskFault::Full | DiskFault::Short => Errno::NOSPC.into(),
            DiskFault::Broken => Errno::IO.into(),
        }
    }

    fn check_up(&self) -> io::Result<()> {
        if self.is_down { Err(power_is_off()) } else { Ok(()) }
    }
}

fn power_is_off() -> io::Error {
    io::Error::other("the power is off")
}

impl FileSystem for SimulatedDisk {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DurableFile>> {
        let mut world = self.world();
        world.check_up()?;
        let exists = world.files.contains_key(path);
        match mode {
            OpenMode::Create if exists => return Err(io::ErrorKind::AlreadyExists.into()),
            OpenMode::Create => {
                world.change()?;
                world.files.insert(path.to_owned(), Content::default());
            }
            _ if !exists => return Err(io::ErrorKind::NotFound.into()),
            _ => {}
        }
        drop(world);
        Ok(Box::new(SimulatedDurableFile { disk: self.clone(), path: path.to_owned() }))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        Ok(self.world().files.contains_key(path))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut world = self.world();
        world.change()?;
        world.files.remove(path).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

struct SimulatedDurableFile {
    disk: SimulatedDisk,
    path: PathBuf,
}

impl SimulatedDurableFile {
    fn with<T>(&self, act: impl FnOnce(&mut Content) -> io::Result<T>) -> io::Result<T> {
        let mut world = self.disk.world();
        world.check_up()?;
        act(world.files.get_mut(&self.path).ok_or(io::ErrorKind::NotFound)?)
    }

    fn change(&self, change: Change) -> io::Result<()> {
        let failed = self.disk.world().change();
        let is_lost = failed.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Other);
        if is_lost {
            return failed;
        }
        // A write interrupted by the power failure may still reach the disk.
        let mut world = self.disk.world();
        let content = world.files.get_mut(&self.path).ok_or(io::ErrorKind::NotFound)?;
        change.apply(&mut content.current);
        content.pending.push(change);
        failed
    }
}

impl DurableFile for SimulatedDurableFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.with(|content| {
            let offset = offset as usize;
            let stored = content.current.get(offset..offset + buffer.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
            buffer.copy_from_slice(stored);
            Ok(())
        })
    }

    fn write_at(&self, buffer: &[u8], offset: u64) -> io::Result<()> {
        self.change(Change::Write { offset: offset as usize, bytes: buffer.to_vec() })
    }

    fn bytes(&self) -> io::Result<u64> {
        self.with(|content| Ok(content.current.len() as u64))
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        self.change(Change::Truncate(bytes as usize))
    }

    fn sync(&self) -> io::Result<()> {
        self.disk.world().change()?;
        self.with(|content| {
            content.synced.clone_from(&content.current);
            content.pending.clear();
            Ok(())
        })
    }
}
