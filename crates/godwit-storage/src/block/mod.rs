//! The blocks of tables, and where they are stored.
//!
//! ```text
//!   Blocks::of_file    a block of the database file; in memory a copy in the pool, which leaves before intermediates do
//!   Blocks::of_pool    a page of the pool, which goes to a temporary file: databases in memory, intermediates of loads
//! ```
//!
//! In memory, a block is either as it is stored, or *frozen*: compressed, if it turns out not to be read (`frozen.rs`).
//! Readers see the same bytes either way.
//!
//! A [`Block`] is held by everything that may still read it: versions of tables, snapshots of queries. When the last
//! holder is gone, its place is freed: at once if nothing on disk ever pointed to it, otherwise after the next
//! checkpoint.

mod frozen;

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, CachedPage, Object, Page, PinnedPage, Reservation};
use parking_lot::{Mutex, RwLock};

use frozen::{Frozen, compress};

use crate::file::{BLOCK_BYTES, BlockNumber, BlockPointer, DatabaseFile};

/// Where blocks are written to, and the pool through which they are read. Cheap to clone.
#[derive(Clone)]
pub struct Blocks {
    /// `None`: blocks are pages of the pool.
    file: Option<Arc<DatabaseFile>>,
    memory: BufferManager,
    /// The tag of pages in the pool.
    tag: MemoryTag,
    /// Blocks encountered when the file was opened: the checkpoint and log records may point to the same ones.
    adopted: Arc<Mutex<HashMap<BlockNumber, Weak<Block>>>>,
}

/// A block; its content never changes.
pub struct Block {
    place: Backing,
    /// Freezing was tried and doesn't pay off.
    stays_compact: AtomicBool,
}

enum Backing {
    File {
        file: Arc<DatabaseFile>,
        pointer: BlockPointer,
        /// A checkpoint or a record of the log points to it.
        is_saved: AtomicBool,
        copies: Mutex<Copies>,
    },
    Pool(RwLock<PoolContent>),
}

/// The pool's copies of a file block. Each may be dropped at any time.
#[derive(Default)]
struct Copies {
    /// As it is stored.
    compact: Option<CachedPage>,
    frozen: Option<Frozen<CachedPage>>,
}

/// A block that is stored only in the pool.
enum PoolContent {
    Compact(Page),
    Frozen {
        stored: Frozen<Page>,
        /// A thawed copy for readers that need the block anyway.
        thawed: Option<CachedPage>,
    },
}

/// The result of freezing a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freezing {
    /// It takes this many fewer bytes of memory.
    Saved(u64),
    /// It stays as it is: frozen already, not in memory, or freezing doesn't pay off.
    Nothing,
}

/// Bytes of memory that a block takes in each form.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlockMemory {
    /// As it is stored.
    pub compact: u64,
    /// Compressed.
    pub frozen: u64,
}

/// The content of a block, in memory as long as this lives.
pub enum BlockBytes {
    /// In the pool.
    Pinned(PinnedPage),
    /// A copy, because the pool had no room to spare.
    Copied(Vec<u8>, Reservation),
}

impl Blocks {
    /// The blocks of a database file.
    pub fn of_file(file: Arc<DatabaseFile>, memory: BufferManager) -> Self {
        Self { file: Some(file), memory, tag: MemoryTag::Table, adopted: Arc::default() }
    }

    /// Blocks that live as long as they are held, in the pool and in its temporary files.
    pub fn of_pool(memory: BufferManager, tag: MemoryTag) -> Self {
        Self { file: None, memory, tag, adopted: Arc::default() }
    }

    /// The same, except that pool pages written from now on are charged to `object`.
    pub fn for_object(&self, object: &Arc<Object>) -> Self {
        Self { memory: self.memory.for_object(object), ..self.clone() }
    }

    /// The pool.
    pub fn memory(&self) -> &BufferManager {
        &self.memory
    }

    /// The file; `None` for blocks in the pool.
    pub fn file(&self) -> Option<&Arc<DatabaseFile>> {
        self.file.as_ref()
    }

    /// Writes a block; `content` is padded with zeros to [`BLOCK_BYTES`].
    pub fn write(&self, mut content: Vec<u8>) -> Result<Arc<Block>> {
        let Some(file) = &self.file else {
            let page = self.memory.page_of(&content, self.tag)?;
            return Ok(Arc::new(Block::at(Backing::Pool(RwLock::new(PoolContent::Compact(page))))));
        };
        content.resize(BLOCK_BYTES, 0);
        let pointer = file.write_block(&content)?;
        Ok(Arc::new(Block::in_file(file.clone(), pointer, false)))
    }

    /// A block that a checkpoint or a log record points to, encountered when the file was opened. Fails if there is
    /// another one at the same place.
    pub fn adopt(&self, pointer: BlockPointer) -> Result<Arc<Block>> {
        let file = self.file.as_ref().expect("only files are opened");
        let mut adopted = self.adopted.lock();
        let known = adopted.get(&pointer.block).and_then(Weak::upgrade);
        if let Some(known) = known.filter(|known| known.pointer() == pointer) {
            return Ok(known);
        }
        file.mark_used(pointer)?;
        let block = Arc::new(Block::in_file(file.clone(), pointer, true));
        adopted.insert(pointer.block, Arc::downgrade(&block));
        Ok(block)
    }
}

impl Block {
    fn at(place: Backing) -> Self {
        Self { place, stays_compact: AtomicBool::new(false) }
    }

    fn in_file(file: Arc<DatabaseFile>, pointer: BlockPointer, is_saved: bool) -> Self {
        Self::at(Backing::File { file, pointer, is_saved: AtomicBool::new(is_saved), copies: Mutex::default() })
    }

    /// Where the block is in the file.
    ///
    /// # Panics
    /// For blocks in the pool, which no metadata points to.
    pub fn pointer(&self) -> BlockPointer {
        match &self.place {
            Backing::File { pointer, .. } => *pointer,
            Backing::Pool(_) => panic!("blocks in the pool have no place in a file"),
        }
    }

    /// From now on, something on disk points, or may point, to the block.
    pub fn mark_saved(&self) {
        if let Backing::File { is_saved, .. } = &self.place {
            is_saved.store(true, Ordering::Relaxed);
        }
    }

    /// Asks the system to read the block ahead, unless it is in the pool.
    pub(crate) fn read_ahead(&self) {
        if let Backing::File { file, pointer, copies, .. } = &self.place {
            let copies = copies.lock();
            if copies.compact.is_none() && copies.frozen.is_none() {
                file.read_ahead(*pointer);
            }
        }
    }

    /// Reads the content. Fails if it isn't what was written. Cached copies are charged to the object of `memory`.
    pub fn read(&self, memory: &BufferManager) -> Result<BlockBytes> {
        match &self.place {
            Backing::File { file, pointer, copies, .. } => read_from_file(file, *pointer, copies, memory),
            Backing::Pool(content) => read_from_pool(content, memory),
        }
    }

    /// Compresses the block's copy in memory, if that makes it sufficiently smaller; a copy thawed since then is
    /// dropped.
    pub fn freeze(&self, memory: &BufferManager) -> Result<Freezing> {
        if self.stays_compact.load(Ordering::Relaxed) {
            return Ok(Freezing::Nothing);
        }
        let before = self.memory();
        match &self.place {
            Backing::File { file, copies, .. } => self.freeze_copies(file, copies, memory)?,
            Backing::Pool(content) => self.freeze_content(content, memory)?,
        }
        let after = self.memory();
        let saved = (before.compact + before.frozen).saturating_sub(after.compact + after.frozen);
        Ok(if saved > 0 && after.compact == 0 { Freezing::Saved(saved) } else { Freezing::Nothing })
    }

    fn freeze_copies(&self, file: &DatabaseFile, copies: &Mutex<Copies>, memory: &BufferManager) -> Result<()> {
        let loaded = {
            let mut copies = copies.lock();
            if copies.frozen.as_ref().is_some_and(|frozen| frozen.memory_bytes() > 0) {
                copies.compact = None;
            }
            copies.compact.as_ref().and_then(CachedPage::pin)
        };
        let Some(pinned) = loaded else { return Ok(()) };
        match compress(pinned.as_slice(), file.read_nanos()) {
            None => self.stays_compact.store(true, Ordering::Relaxed),
            Some(made) => {
                drop(pinned);
                // The old copy is dropped first, to make room for the new one; if there still isn't any, the file has
                // the block.
                copies.lock().compact = None;
                copies.lock().frozen = Frozen::in_cache(&made, memory)?;
            }
        }
        Ok(())
    }

    fn freeze_content(&self, content: &RwLock<PoolContent>, memory: &BufferManager) -> Result<()> {
        let page = match &mut *content.write() {
            // Spilled pages take no memory.
            PoolContent::Compact(page) if page.is_loaded() => page.clone(),
            PoolContent::Compact(_) => return Ok(()),
            PoolContent::Frozen { thawed, .. } => {
                *thawed = None;
                return Ok(());
            }
        };
        let pinned = memory.pin_unchanged(&page)?;
        match compress(pinned.as_slice(), None) {
            None => self.stays_compact.store(true, Ordering::Relaxed),
            Some(made) => {
                let stored = Frozen::in_pool(&made, memory)?;
                *content.write() = PoolContent::Frozen { stored, thawed: None };
            }
        }
        Ok(())
    }

    /// Makes sure that the block, if it is in memory, is there as it is stored.
    pub fn thaw(&self, memory: &BufferManager) -> Result<()> {
        match &self.place {
            // If it isn't in memory in that form, it is read from the file when needed.
            Backing::File { copies, .. } => copies.lock().frozen = None,
            Backing::Pool(content) => {
                let stored = match &*content.read() {
                    PoolContent::Frozen { stored, .. } => stored.clone(),
                    PoolContent::Compact(_) => return Ok(()),
                };
                let mut bytes = vec![0; BLOCK_BYTES];
                stored.pin(memory)?.thaw_into(&mut bytes)?;
                let page = memory.page_of(&bytes, MemoryTag::Table)?;
                *content.write() = PoolContent::Compact(page);
            }
        }
        Ok(())
    }

    /// Drops the pool's copy of a block that isn't frozen and can be read from its file again; returns its size in
    /// bytes.
    pub fn forget(&self) -> u64 {
        let bytes = self.memory();
        match &self.place {
            Backing::File { copies, .. } if bytes.frozen == 0 => {
                copies.lock().compact = None;
                bytes.compact
            }
            Backing::File { .. } | Backing::Pool(_) => 0,
        }
    }

    /// The memory that the block takes.
    pub fn memory(&self) -> BlockMemory {
        let of_copy = |page: &Option<CachedPage>| match page {
            Some(page) if page.is_loaded() => page.memory_bytes(),
            Some(_) | None => 0,
        };
        match &self.place {
            Backing::File { copies, .. } => {
                let copies = copies.lock();
                let frozen = copies.frozen.as_ref().map_or(0, Frozen::<CachedPage>::memory_bytes);
                BlockMemory { compact: of_copy(&copies.compact), frozen }
            }
            Backing::Pool(content) => match &*content.read() {
                PoolContent::Compact(page) => {
                    BlockMemory { compact: if page.is_loaded() { page.bytes() as u64 } else { 0 }, frozen: 0 }
                }
                PoolContent::Frozen { stored, thawed } => {
                    BlockMemory { compact: of_copy(thawed), frozen: stored.memory_bytes() }
                }
            },
        }
    }
}

fn read_from_file(
    file: &DatabaseFile,
    pointer: BlockPointer,
    copies: &Mutex<Copies>,
    memory: &BufferManager,
) -> Result<BlockBytes> {
    let frozen = {
        let copies = copies.lock();
        if let Some(pinned) = copies.compact.as_ref().and_then(CachedPage::pin) {
            return Ok(BlockBytes::Pinned(pinned));
        }
        copies.frozen.as_ref().and_then(Frozen::<CachedPage>::pin)
    };
    let fill = |buffer: &mut [u8]| match &frozen {
        Some(frozen) => frozen.thaw_into(buffer),
        None => file.read_block(pointer, buffer),
    };
    // Two readers at once may read the block twice; the later copy stays.
    cached_or_copied(memory, fill, |page| copies.lock().compact = Some(page))
}

fn read_from_pool(content: &RwLock<PoolContent>, memory: &BufferManager) -> Result<BlockBytes> {
    // The lock is held only briefly: pages may have to be read back from disk.
    let stored = match &*content.read() {
        PoolContent::Compact(page) => Err(page.clone()),
        PoolContent::Frozen { stored, thawed } => match thawed.as_ref().and_then(CachedPage::pin) {
            Some(pinned) => return Ok(BlockBytes::Pinned(pinned)),
            None => Ok(stored.clone()),
        },
    };
    let frozen = match stored {
        Err(page) => return memory.pin_unchanged(&page).map(BlockBytes::Pinned),
        Ok(stored) => stored.pin(memory)?,
    };
    let keep = |page| {
        if let PoolContent::Frozen { thawed, .. } = &mut *content.write() {
            *thawed = Some(page);
        }
    };
    cached_or_copied(memory, |buffer| frozen.thaw_into(buffer), keep)
}

/// A block that `fill` writes: either in a cached page, which is passed to `keep`, or as a copy if there is no room to
/// spare.
fn cached_or_copied(
    memory: &BufferManager,
    fill: impl Fn(&mut [u8]) -> Result<()>,
    keep: impl FnOnce(CachedPage),
) -> Result<BlockBytes> {
    if let Some((page, pinned)) = memory.cache(BLOCK_BYTES, MemoryTag::Table, &fill)? {
        keep(page);
        return Ok(BlockBytes::Pinned(pinned));
    }
    let reservation = memory.reserve(BLOCK_BYTES, MemoryTag::Table)?;
    let mut bytes = vec![0; BLOCK_BYTES];
    fill(&mut bytes)?;
    Ok(BlockBytes::Copied(bytes, reservation))
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Backing::File { file, pointer, is_saved, .. } = &self.place {
            match is_saved.load(Ordering::Relaxed) {
                true => file.retire(pointer.block),
                false => file.free_block(pointer.block),
            }
        }
    }
}

impl Deref for BlockBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            BlockBytes::Pinned(page) => page.as_slice(),
            BlockBytes::Copied(bytes, _) => bytes,
        }
    }
}
