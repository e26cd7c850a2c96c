//! Pages on disk.
//!
//! Pages share temporary files of slots, one for each size of slot: a whole page, or less for compressed pages. A large
//! page has a file of its own. Files are created at the first spill, have no name, and are truncated when slots at the
//! end are free. The checksum of a copy stays in memory, next to its address, so a copy that was lost, swapped or
//! damaged can't be taken for the page.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::time::Instant;

use godwit_common::{Error, Result, format_bytes};
use godwit_io::{ALIGNMENT_BYTES, File, Request, TemporaryFiles};
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{Codec, CodecChooser};
use crate::config::{DISK_CHECK_SLOTS, DISK_RESERVE_BYTES, PAGE_BYTES, SHRINK_SLOTS_MIN, SLOT_STEP_BYTES};

/// A snapshot of a temporary file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TempFile {
    /// Where it is; it has no name there.
    pub directory: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Size of its slots; `None` if it holds one large page.
    pub slot_bytes: Option<u64>,
    /// Number of slots for pages.
    pub slots: u64,
    /// Number of slots that hold a page.
    pub used_slots: u64,
}

/// Sizes of slots: multiples of a step, up to a page.
const SLOT_CLASSES: usize = PAGE_BYTES / SLOT_STEP_BYTES;

/// Where pages go: the directory, the file of slots in use, and the quota over all files.
pub(crate) struct TempSpace {
    files: Arc<dyn TemporaryFiles>,
    current: Mutex<Current>,
    /// Files that are open; some of them may have been closed since.
    open: Mutex<Vec<Weak<dyn Listed>>>,
    used_bytes: AtomicU64,
    /// `u64::MAX`: no quota.
    max_bytes: AtomicU64,
}

struct Current {
    directory: PathBuf,
    /// The file of slots of each size class.
    slots: [Option<Arc<SlotFile>>; SLOT_CLASSES],
}

impl TempSpace {
    pub(crate) fn new(files: Arc<dyn TemporaryFiles>, directory: PathBuf, max_bytes: Option<u64>) -> Arc<Self> {
        Arc::new(Self {
            files,
            current: Mutex::new(Current { directory, slots: Default::default() }),
            open: Mutex::default(),
            used_bytes: AtomicU64::new(0),
            max_bytes: AtomicU64::new(max_bytes.unwrap_or(u64::MAX)),
        })
    }

    /// Makes later spills go to `directory`. The old file lives until its last slot is free.
    pub(crate) fn set_directory(&self, directory: PathBuf) {
        let mut current = self.current.lock();
        if current.directory != directory {
            *current = Current { directory, slots: Default::default() };
        }
    }

    /// Closes the files of slots, which hold this space as it holds them, when their last slot is free.
    pub(crate) fn close(&self) {
        let slots = std::mem::take(&mut self.current.lock().slots);
        drop(slots);
    }

    pub(crate) fn set_max_bytes(&self, bytes: Option<u64>) {
        self.max_bytes.store(bytes.unwrap_or(u64::MAX), Relaxed);
    }

    pub(crate) fn directory(&self) -> PathBuf {
        self.current.lock().directory.clone()
    }

    pub(crate) fn max_bytes(&self) -> Option<u64> {
        Some(self.max_bytes.load(Relaxed)).filter(|&bytes| bytes != u64::MAX)
    }

    pub(crate) fn used_bytes(&self) -> u64 {
        self.used_bytes.load(Relaxed)
    }

    /// The files that are open.
    pub(crate) fn files(&self) -> Vec<TempFile> {
        // The last handle of a file mustn't be dropped under the lock.
        let open: Vec<_> = self.open.lock().iter().filter_map(Weak::upgrade).collect();
        open.iter().map(|file| file.describe()).filter(|file| file.bytes > 0).collect()
    }

    /// Lists a file as long as it is open.
    fn list<T: Listed + 'static>(&self, file: &Arc<T>) {
        let file: Weak<T> = Arc::downgrade(file);
        let mut open = self.open.lock();
        open.retain(|known| known.strong_count() > 0);
        open.push(file);
    }

    /// The file with the smallest slots that hold `bytes` bytes.
    fn slots(self: &Arc<Self>, bytes: usize) -> Result<Arc<SlotFile>> {
        let class = bytes.div_ceil(SLOT_STEP_BYTES) - 1;
        let mut current = self.current.lock();
        if let Some(slots) = &current.slots[class] {
            return Ok(Arc::clone(slots));
        }
        let file = self.create_file(&current.directory)?;
        let directory = current.directory.clone();
        let slot_bytes = ((class + 1) * SLOT_STEP_BYTES) as u64;
        let slots =
            Arc::new(SlotFile { file, directory, space: Arc::clone(self), slot_bytes, slots: Mutex::default() });
        current.slots[class] = Some(Arc::clone(&slots));
        self.list(&slots);
        Ok(slots)
    }

    fn create_file(&self, directory: &Path) -> Result<Box<dyn File>> {
        self.files.create(directory).map_err(|error| {
            Error::io(format!("creating a temporary file in {}", directory.display()), &error)
                .with_hint("set temp_directory to a directory that can be written")
        })
    }

    /// Fails if `bytes` more would eat into the disk's reserve. Between checks the files may grow a little.
    fn check_disk(&self, directory: &Path, bytes: u64) -> Result<()> {
        let available = self
            .files
            .available_bytes(directory)
            .map_err(|error| Error::io(format!("asking for the free space of {}", directory.display()), &error))?;
        if available < bytes.saturating_add(DISK_RESERVE_BYTES) {
            return Err(self.full_disk(directory));
        }
        Ok(())
    }

    fn full_disk(&self, directory: &Path) -> Error {
        Error::resource(format!(
            "the disk with {} is full but for a reserve; temporary files hold {} of it",
            directory.display(),
            format_bytes(self.used_bytes()),
        ))
        .with_hint("free disk space, set temp_directory to another disk, or raise memory_limit")
    }

    fn take_quota(&self, bytes: u64) -> Result<()> {
        let max = self.max_bytes.load(Relaxed);
        let fits = |used: u64| used.checked_add(bytes).filter(|&sum| sum <= max);
        self.used_bytes.fetch_update(Relaxed, Relaxed, fits).map(|_| ()).map_err(|used| {
            Error::resource(format!(
                "out of temporary disk space: {} more are needed, {} of the allowed {} are in use",
                format_bytes(bytes),
                format_bytes(used),
                format_bytes(max),
            ))
            .with_hint("raise max_temp_directory_size, or raise memory_limit so that less is spilled")
        })
    }

    fn release_quota(&self, bytes: u64) {
        self.used_bytes.fetch_sub(bytes, Relaxed);
    }

    fn write_error(&self, directory: &Path, error: &io::Error) -> Error {
        if matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) {
            return self.full_disk(directory);
        }
        Error::io(format!("writing to a temporary file in {}", directory.display()), error)
    }
}

/// A file with a slot for each spilled page.
struct SlotFile {
    file: Box<dyn File>,
    directory: PathBuf,
    space: Arc<TempSpace>,
    slot_bytes: u64,
    slots: Mutex<Slots>,
}

#[derive(Default)]
struct Slots {
    /// Free slots before `end`. The lowest is used first, so that the file can be truncated.
    free: BTreeSet<u32>,
    /// All slots from here on are free.
    end: u32,
    /// Length of the file, in slots, which is what counts against the quota.
    file: u32,
}

impl SlotFile {
    fn offset_of(&self, slot: u32) -> u64 {
        u64::from(slot) * self.slot_bytes
    }

    fn take(&self) -> Result<u32> {
        let mut slots = self.slots.lock();
        if let Some(slot) = slots.free.pop_first() {
            return Ok(slot);
        }
        if slots.end == slots.file {
            if slots.file.is_multiple_of(DISK_CHECK_SLOTS) {
                self.space.check_disk(&self.directory, self.offset_of(DISK_CHECK_SLOTS))?;
            }
            self.space.take_quota(self.slot_bytes)?;
            slots.file += 1;
        }
        slots.end += 1;
        Ok(slots.end - 1)
    }

    fn release(&self, slot: u32) {
        let mut slots = self.slots.lock();
        let is_new = slots.free.insert(slot);
        assert!(is_new && slot < slots.end, "a slot is freed twice");
        while slots.end > 0 && slots.free.last() == Some(&(slots.end - 1)) {
            slots.free.pop_last();
            slots.end -= 1;
        }
        let surplus = slots.file - slots.end;
        // Truncated under the lock: a slot beyond the end that is taken meanwhile would be cut off. If the system
        // refuses, the file keeps its length and is truncated another time.
        if (surplus >= SHRINK_SLOTS_MIN || (slots.end == 0 && surplus > 0))
            && self.file.truncate(self.offset_of(slots.end)).is_ok()
        {
            slots.file = slots.end;
            self.space.release_quota(self.offset_of(surplus));
        }
    }
}

impl Drop for SlotFile {
    fn drop(&mut self) {
        let file_slots = self.slots.get_mut().file;
        self.space.release_quota(self.offset_of(file_slots));
    }
}

/// A file that [`TempSpace::files`] lists.
trait Listed: Send + Sync {
    fn describe(&self) -> TempFile;
}

impl Listed for SlotFile {
    fn describe(&self) -> TempFile {
        let slots = self.slots.lock();
        TempFile {
            directory: self.directory.clone(),
            bytes: self.offset_of(slots.file),
            slot_bytes: Some(self.slot_bytes),
            slots: u64::from(slots.file),
            used_slots: u64::from(slots.end) - slots.free.len() as u64,
        }
    }
}

impl Listed for OwnFile {
    fn describe(&self) -> TempFile {
        let directory = self.directory.clone();
        TempFile { directory, bytes: self.bytes, slot_bytes: None, slots: 1, used_slots: 1 }
    }
}

/// A slot taken, until it is dropped.
struct Slot {
    file: Arc<SlotFile>,
    index: u32,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.file.release(self.index);
    }
}

/// A file of its own, and its quota.
struct OwnFile {
    file: Box<dyn File>,
    directory: PathBuf,
    space: Arc<TempSpace>,
    bytes: u64,
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        self.space.release_quota(self.bytes);
    }
}

enum Extent {
    Slot(Slot),
    Own(Arc<OwnFile>),
}

impl Extent {
    fn take(space: &Arc<TempSpace>, bytes: usize, is_large: bool) -> Result<Self> {
        if is_large {
            space.take_quota(bytes as u64)?;
            let directory = space.current.lock().directory.clone();
            let file = space.create_file(&directory).inspect_err(|_| space.release_quota(bytes as u64))?;
            let own = Arc::new(OwnFile { file, directory, space: Arc::clone(space), bytes: bytes as u64 });
            space.check_disk(&own.directory, own.bytes)?;
            space.list(&own);
            return Ok(Self::Own(own));
        }
        let file = space.slots(bytes)?;
        let index = file.take()?;
        Ok(Self::Slot(Slot { file, index }))
    }

    fn address(&self) -> (&dyn File, u64) {
        match self {
            Self::Slot(slot) => (slot.file.file.as_ref(), slot.file.offset_of(slot.index)),
            Self::Own(own) => (own.file.as_ref(), 0),
        }
    }

    fn directory(&self) -> &Path {
        match self {
            Self::Slot(slot) => &slot.file.directory,
            Self::Own(own) => &own.directory,
        }
    }
}

/// The copy of a page on disk. Dropping it frees the space at once.
pub(crate) struct DiskCopy {
    place: Extent,
    codec: Codec,
    /// Size of the codec's output, which is followed by zeros up to a whole block.
    encoded_bytes: usize,
    checksum: u64,
}

impl DiskCopy {
    /// Allocates space for `stored`, the whole content of a page, which [`request`](Self::write_request) then writes.
    pub(crate) fn prepare(space: &Arc<TempSpace>, stored: &[u8], is_large: bool) -> Result<Self> {
        let place = Extent::take(space, stored.len(), is_large)?;
        Ok(Self { place, codec: Codec::Plain, encoded_bytes: stored.len(), checksum: xxh3_64(stored) })
    }

    /// [`prepare`](Self::prepare) for the output of `codec`: the first `encoded_bytes` of whole blocks.
    pub(crate) fn prepare_encoded(
        space: &Arc<TempSpace>,
        stored: &[u8],
        is_large: bool,
        codec: Codec,
        encoded_bytes: usize,
    ) -> Result<Self> {
        let place = Extent::take(space, stored.len(), is_large)?;
        Ok(Self { place, codec, encoded_bytes, checksum: xxh3_64(stored) })
    }

    /// The request that writes `stored`, for which the copy was prepared.
    pub(crate) fn write_request<'a>(&'a self, stored: &'a [u8]) -> Request<'a> {
        let (file, offset) = self.place.address();
        Request::write(file, offset, stored)
    }

    /// The error to report if the request failed.
    pub(crate) fn write_error(&self, space: &TempSpace, error: &io::Error) -> Error {
        space.write_error(self.place.directory(), error)
    }

    /// The number of bytes stored, if they are encoded and not simply the page.
    pub(crate) fn encoded_stored_bytes(&self) -> Option<usize> {
        (self.codec != Codec::Plain).then(|| self.encoded_bytes.next_multiple_of(ALIGNMENT_BYTES))
    }

    /// The request that fills `stored`, which has the size that was written; must be followed by
    /// [`verify`](Self::verify).
    pub(crate) fn read_request<'a>(&'a self, stored: &'a mut [u8]) -> Request<'a> {
        let (file, offset) = self.place.address();
        Request::read(file, offset, stored)
    }

    /// Checks that the request read what was written.
    pub(crate) fn verify(&self, read: &io::Result<()>, stored: &[u8]) -> Result<()> {
        if let Err(error) = read {
            return Err(Error::io("reading a spilled page back from its temporary file", error));
        }
        let found = xxh3_64(stored);
        if found != self.checksum {
            let (_, offset) = self.place.address();
            return Err(Error::corrupt(format!(
                "a spilled page of {} at offset {offset} of its temporary file has checksum {found:016x}, written was {:016x}",
                format_bytes(stored.len() as u64),
                self.checksum,
            ))
            .with_hint("check the disk that holds temp_directory"));
        }
        Ok(())
    }

    /// Restores the page from the stored and verified bytes.
    pub(crate) fn decode(&self, stored: &[u8], content: &mut [u8], chooser: &CodecChooser) -> Result<()> {
        let begun = Instant::now();
        self.codec.decode(&stored[..self.encoded_bytes], content)?;
        chooser.note_decoded(self.codec, content.len(), begun.elapsed());
        Ok(())
    }
}
