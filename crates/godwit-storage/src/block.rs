//! Blocks that tables hold, and where they are.
//!
//! ```text
//!   Blocks::of_file    a block of the database file; in memory a copy in the pool, which leaves before intermediates do
//!   Blocks::of_pool    a page of the pool, which goes to a temporary file: databases in memory, intermediates of loads
//! ```
//!
//! A [`Block`] is held by everything that may still read it: versions of tables, snapshots of queries. When the last holder
//! is gone, its place is free again: at once if nothing on the disk ever pointed to it, else after the next checkpoint.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, CachedPage, Page, PinnedPage, Reservation};
use parking_lot::Mutex;

use crate::file::{BLOCK_BYTES, BlockNumber, BlockPointer, DatabaseFile};

/// Where blocks are written to, and the pool through which they are read. Cheap to clone.
#[derive(Clone)]
pub struct Blocks {
    /// `None`: blocks are pages of the pool.
    file: Option<Arc<DatabaseFile>>,
    memory: BufferManager,
    /// Blocks met when the file was opened: the checkpoint and records of the log may point to the same ones.
    adopted: Arc<Mutex<HashMap<BlockNumber, Weak<Block>>>>,
}

/// A block, whose content never changes.
pub struct Block(Place);

enum Place {
    File {
        file: Arc<DatabaseFile>,
        pointer: BlockPointer,
        /// A checkpoint or a record of the log points to it.
        is_saved: AtomicBool,
        cached: Mutex<Option<CachedPage>>,
    },
    Pool(Page),
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
        Self { file: Some(file), memory, adopted: Arc::default() }
    }

    /// Blocks that live as long as they are held, in the pool and in its temporary files.
    pub fn of_pool(memory: BufferManager) -> Self {
        Self { file: None, memory, adopted: Arc::default() }
    }

    /// The pool.
    pub fn memory(&self) -> &BufferManager {
        &self.memory
    }

    /// The file; `None` for blocks in the pool.
    pub fn file(&self) -> Option<&Arc<DatabaseFile>> {
        self.file.as_ref()
    }

    /// Writes a block; what `content` lacks of [`BLOCK_BYTES`] is zeros.
    pub fn write(&self, mut content: Vec<u8>) -> Result<Arc<Block>> {
        let Some(file) = &self.file else {
            let page = self.memory.page_of(&content, MemoryTag::ColumnPage)?;
            return Ok(Arc::new(Block(Place::Pool(page))));
        };
        content.resize(BLOCK_BYTES, 0);
        let pointer = file.write_block(&content)?;
        Ok(Arc::new(Block::in_file(file.clone(), pointer, false)))
    }

    /// A block that a checkpoint or a record of the log points to, met when the file was opened. Fails if another one is
    /// at the same place.
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
    fn in_file(file: Arc<DatabaseFile>, pointer: BlockPointer, is_saved: bool) -> Self {
        Self(Place::File { file, pointer, is_saved: AtomicBool::new(is_saved), cached: Mutex::default() })
    }

    /// Where the block is in the file.
    ///
    /// # Panics
    /// For blocks in the pool, which no metadata points to.
    pub fn pointer(&self) -> BlockPointer {
        match &self.0 {
            Place::File { pointer, .. } => *pointer,
            Place::Pool(_) => panic!("blocks in the pool have no place in a file"),
        }
    }

    /// Something on the disk points, or may point, to the block from now on.
    pub fn mark_saved(&self) {
        if let Place::File { is_saved, .. } = &self.0 {
            is_saved.store(true, Ordering::Relaxed);
        }
    }

    /// Has the system read the block, unless it was read before.
    pub(crate) fn read_ahead(&self) {
        if let Place::File { file, pointer, cached, .. } = &self.0
            && cached.lock().is_none()
        {
            file.read_ahead(*pointer);
        }
    }

    /// The content. Fails if it isn't what was written.
    pub fn read(&self, memory: &BufferManager) -> Result<BlockBytes> {
        let (file, pointer, cached) = match &self.0 {
            Place::Pool(page) => return memory.pin_unchanged(page).map(BlockBytes::Pinned),
            Place::File { file, pointer, cached, .. } => (file, pointer, cached),
        };
        // Two readers at once may read the block twice; the later copy stays.
        if let Some(pinned) = cached.lock().as_ref().and_then(CachedPage::pin) {
            return Ok(BlockBytes::Pinned(pinned));
        }
        let made = memory.cache(BLOCK_BYTES, MemoryTag::Table, |buffer| file.read_block(*pointer, buffer))?;
        if let Some((page, pinned)) = made {
            *cached.lock() = Some(page);
            return Ok(BlockBytes::Pinned(pinned));
        }
        let reservation = memory.reserve(BLOCK_BYTES, MemoryTag::Table)?;
        let mut bytes = vec![0; BLOCK_BYTES];
        file.read_block(*pointer, &mut bytes)?;
        Ok(BlockBytes::Copied(bytes, reservation))
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Place::File { file, pointer, is_saved, .. } = &self.0 {
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
