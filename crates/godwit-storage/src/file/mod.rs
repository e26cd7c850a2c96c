//! The database file: blocks, the two headers, and streams of metadata.
//!
//! ```text
//! byte 0        4096       8192                256 Ki          512 Ki
//!   │ header A  │ header B │ (unused)          │ block 1       │ block 2 …
//!
//!   DatabaseFile ── begin ──▶ Checkpoint ── write_block, write_stream ── commit(root) ──▶ the new state
//!        │                               └─ drop: what it wrote is free again
//!        └── write_block, by any thread at any time ──▶ free_block (never mattered) │ retire (free after a checkpoint)
//! ```
//!
//! Invariants: a block that the newest checkpoint or its log uses is never written; a block pointer carries the block's
//! checksum, so that damage is detected and reported on the first read; the free blocks are those that neither uses, as
//! reported when the file is opened ([`DatabaseFile::mark_used`]).

mod blocks;
mod header;
mod stream;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use godwit_common::{Error, ErrorKind, Result};
use godwit_io::{DurableFile, FileSystem, OpenMode};
use parking_lot::{Mutex, MutexGuard};

pub use blocks::{BLOCK_BYTES, BlockNumber, BlockPointer};
pub use stream::StreamPointer;

use crate::CheckpointNumber;
use blocks::FreeBlocks;
use header::{FileHeader, HEADER_BYTES};

/// The running average of read times covers about this many reads: few enough that a slow one is forgotten within a
/// scan.
const READS_AVERAGED: u64 = 32;

/// An open database file.
pub struct DatabaseFile {
    file: Box<dyn DurableFile>,
    path: PathBuf,
    is_read_only: bool,
    state: Mutex<State>,
    /// Running average of the time to read a block; 0 if none was read.
    read_nanos: AtomicU64,
    /// Held by the checkpoint that is being written. Taken before `state`.
    checkpointing: Mutex<()>,
}

struct State {
    header: FileHeader,
    /// Where the next header goes.
    next_slot: u64,
    free: FreeBlocks,
    /// Blocks used by the newest checkpoint or its log, but by nothing in memory: free after the next checkpoint.
    retired: Vec<BlockNumber>,
    /// It is unknown whether a header was written.
    is_uncertain: bool,
}

impl DatabaseFile {
    /// Creates a file with an empty first checkpoint.
    pub fn create(files: &dyn FileSystem, path: &Path) -> Result<Self> {
        let file = files.open(path, OpenMode::Create).map_err(|error| io_error("create", path, &error))?;
        let header = FileHeader { checkpoint: CheckpointNumber::FIRST, root: None, blocks: 1 };
        let written = file.truncate(BLOCK_BYTES as u64).and_then(|()| file.write_at(&header.to_bytes(0), 0));
        if let Err(error) = written.and_then(|()| file.sync()) {
            // The file was created a moment ago and isn't in use yet.
            let _ = files.remove(path);
            return Err(io_error("create", path, &error));
        }
        Ok(Self::assemble(file, path, false, header, 0, header.blocks))
    }

    /// Opens a file. The caller then reports which blocks are in use.
    pub fn open(files: &dyn FileSystem, path: &Path, is_read_only: bool) -> Result<Self> {
        let mode = if is_read_only { OpenMode::Read } else { OpenMode::Write };
        let file = files.open(path, mode).map_err(|error| open_error(path, &error))?;
        let (header, slot) = read_headers(&*file, path)?;
        // Blocks after those of the checkpoint may be used by the log.
        let bytes = file.bytes().map_err(|error| io_error("read", path, &error))?;
        let blocks = u32::try_from(bytes / BLOCK_BYTES as u64).unwrap_or(u32::MAX).max(header.blocks);
        Ok(Self::assemble(file, path, is_read_only, header, slot, blocks))
    }

    fn assemble(
        file: Box<dyn DurableFile>,
        path: &Path,
        is_read_only: bool,
        header: FileHeader,
        slot: u64,
        blocks: u32,
    ) -> Self {
        let free = FreeBlocks::new(blocks);
        let state = State { header, next_slot: 1 - slot, free, retired: Vec::new(), is_uncertain: false };
        let (state, checkpointing) = (Mutex::new(state), Mutex::new(()));
        Self { file, path: path.to_owned(), is_read_only, state, read_nanos: AtomicU64::new(0), checkpointing }
    }

    /// True if the file can't be written.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The newest checkpoint and its root; `None` if it is empty.
    pub fn newest(&self) -> (CheckpointNumber, Option<StreamPointer>) {
        let state = self.state.lock();
        (state.header.checkpoint, state.header.root)
    }

    /// Number of blocks in the file, including the first, and how many of them are free.
    pub fn block_counts(&self) -> (u32, u32) {
        let state = self.state.lock();
        (state.free.blocks(), state.free.free())
    }

    /// Reports that the newest checkpoint uses a block. Must be called for all of them after opening the file and
    /// before the first checkpoint. Fails if the file has no such block, or if it is used twice.
    pub fn mark_used(&self, pointer: BlockPointer) -> Result<()> {
        self.state.lock().free.mark_used(pointer.block).map_err(|what| self.corrupt(pointer.block, what))
    }

    /// [`mark_used`](Self::mark_used) for the blocks of a stream.
    pub fn mark_stream_used(&self, stream: &StreamPointer) -> Result<()> {
        self.stream_blocks(stream)?.into_iter().try_for_each(|pointer| self.mark_used(pointer))
    }

    /// Asks the system to read ahead a block that will be needed soon.
    pub fn read_ahead(&self, pointer: BlockPointer) {
        self.file.will_need(pointer.block.offset(), BLOCK_BYTES as u64);
    }

    /// Reads a block. Fails if it isn't the one that was written.
    pub fn read_block(&self, pointer: BlockPointer, buffer: &mut [u8]) -> Result<()> {
        assert!(buffer.len() == BLOCK_BYTES, "a block is read as a whole");
        let began = Instant::now();
        match self.file.read_at(buffer, pointer.block.offset()) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                return Err(self.corrupt(pointer.block, "the file ends before it"));
            }
            Err(error) => return Err(io_error("read", &self.path, &error)),
        }
        if pointer.block.checksum(buffer) != pointer.checksum {
            return Err(self.corrupt(pointer.block, "its checksum is wrong"));
        }
        self.note_read(began.elapsed());
        Ok(())
    }

    fn note_read(&self, took: Duration) {
        let (nanos, before) = (took.as_nanos() as u64, self.read_nanos.load(Ordering::Relaxed));
        // Concurrent readers may lose an update: it is only an average.
        let average = if before == 0 { nanos } else { before - before / READS_AVERAGED + nanos / READS_AVERAGED };
        self.read_nanos.store(average, Ordering::Relaxed);
    }

    /// Time to read a block, including its checksum, averaged over recent reads; `None` if none was read.
    pub fn read_nanos(&self) -> Option<u64> {
        Some(self.read_nanos.load(Ordering::Relaxed)).filter(|&nanos| nanos > 0)
    }

    /// Writes a block to a free place. It is durable after the next sync, and counts once a checkpoint or a record of
    /// the log points to it; until then it belongs to the caller, who gives it back with
    /// [`free_block`](Self::free_block).
    pub fn write_block(&self, content: &[u8]) -> Result<BlockPointer> {
        assert!(content.len() == BLOCK_BYTES, "a block is written as a whole");
        self.check_writable()?;
        let block = self.state.lock().free.allocate().ok_or_else(|| {
            Error::resource(format!("{} has as many blocks as its format allows", self.path.display()))
        })?;
        if let Err(error) = self.file.write_at(content, block.offset()) {
            self.free_block(block);
            return Err(io_error("write", &self.path, &error));
        }
        Ok(BlockPointer { block, checksum: block.checksum(content) })
    }

    /// Gives back a block that neither a checkpoint nor the log ever pointed to.
    pub fn free_block(&self, block: BlockNumber) {
        self.state.lock().free.release(block);
    }

    /// Gives back a block that the newest checkpoint or its log may point to: it is free after the next checkpoint.
    pub fn retire(&self, block: BlockNumber) {
        self.state.lock().retired.push(block);
    }

    /// Returns when all blocks written so far are on disk.
    pub fn sync(&self) -> Result<()> {
        self.file.sync().map_err(|error| io_error("write", &self.path, &error))
    }

    /// Begins a checkpoint. One at a time: another thread's call waits until this one is over.
    ///
    /// Fails if the file is open for reading only, or if the switch to an earlier checkpoint failed halfway: then the
    /// disk may hold either, and the file has to be opened again to see.
    pub fn begin(&self) -> Result<Checkpoint<'_>> {
        let turn = self.checkpointing.lock();
        self.check_writable()?;
        Ok(Checkpoint { file: self, _turn: turn, allocated: Vec::new(), released: Vec::new() })
    }

    fn check_writable(&self) -> Result<()> {
        if self.is_read_only {
            return Err(Error::user(format!("{} is open for reading only", self.path.display())));
        }
        if self.is_uncertain() {
            let message = format!("an earlier checkpoint of {} failed halfway", self.path.display());
            return Err(Error::new(ErrorKind::Io, message).with_hint("open the database again"));
        }
        Ok(())
    }

    /// True if it is unknown which checkpoint is on the disk. Then nothing may be committed to the log either: a log of
    /// the older one would be stale.
    pub fn is_uncertain(&self) -> bool {
        self.state.lock().is_uncertain
    }

    fn corrupt(&self, block: BlockNumber, what: &str) -> Error {
        Error::corrupt(format!("{}: block {block} is damaged: {what}", self.path.display()))
            .with_hint("restore the file from a backup; `godwit check` lists all that is damaged")
    }
}

/// The newer of the valid headers, and its slot.
///
/// If the newer one is damaged, this returns the older one; the log, which continues the newer one, then reveals that.
fn read_headers(file: &dyn DurableFile, path: &Path) -> Result<(FileHeader, u64)> {
    let mut newest: Option<(FileHeader, u64)> = None;
    let mut complaint = None;
    for slot in [0, 1] {
        let mut bytes = [0; HEADER_BYTES];
        match file.read_at(&mut bytes, slot * HEADER_BYTES as u64) {
            Ok(()) => {}
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => break,
            Err(error) => return Err(io_error("read", path, &error)),
        }
        match FileHeader::from_bytes(&bytes, slot, path) {
            Ok(Some(header)) if newest.is_none_or(|(known, _)| known.checkpoint < header.checkpoint) => {
                newest = Some((header, slot));
            }
            Ok(_) => {}
            Err(error) => complaint = complaint.or(Some(error)),
        }
    }
    let no_database = || Error::user(format!("{} is not a Godwit database", path.display()));
    newest.ok_or_else(|| complaint.unwrap_or_else(no_database))
}

/// A checkpoint being written. If dropped without [`commit`](Self::commit), it leaves the file as it was.
pub struct Checkpoint<'a> {
    file: &'a DatabaseFile,
    _turn: MutexGuard<'a, ()>,
    allocated: Vec<BlockNumber>,
    released: Vec<BlockNumber>,
}

impl Checkpoint<'_> {
    /// The number that the checkpoint will have.
    pub fn number(&self) -> CheckpointNumber {
        self.file.state.lock().header.checkpoint.next()
    }

    /// Writes a block to a free place.
    pub fn write_block(&mut self, content: &[u8]) -> Result<BlockPointer> {
        let pointer = self.file.write_block(content)?;
        self.allocated.push(pointer.block);
        Ok(pointer)
    }

    /// Reports that the checkpoint no longer uses a block of the previous one.
    pub fn release(&mut self, block: BlockNumber) {
        self.released.push(block);
    }

    /// [`release`](Self::release) for the blocks of a stream.
    pub fn release_stream(&mut self, stream: &StreamPointer) -> Result<()> {
        self.released.extend(self.file.stream_blocks(stream)?.into_iter().map(|pointer| pointer.block));
        Ok(())
    }

    /// Makes this checkpoint the newest. Once it returns, the new state survives whatever happens. Blocks retired
    /// before are free from then on: the new state must not use them.
    pub fn commit(mut self, root: Option<StreamPointer>) -> Result<CheckpointNumber> {
        let file = &self.file.file;
        let io = |error: &std::io::Error| io_error("write", &self.file.path, error);
        file.sync().map_err(|error| io(&error))?;
        let (header, slot) = {
            let state = self.file.state.lock();
            let header = FileHeader { checkpoint: state.header.checkpoint.next(), root, blocks: state.free.blocks() };
            (header, state.next_slot)
        };
        self.allocated.clear();
        let place = slot * HEADER_BYTES as u64;
        let switched = file.write_at(&header.to_bytes(slot), place).and_then(|()| file.sync());
        let mut state = self.file.state.lock();
        if let Err(error) = switched {
            state.is_uncertain = true;
            return Err(io(&error));
        }
        let retired = std::mem::take(&mut state.retired);
        for block in retired.into_iter().chain(std::mem::take(&mut self.released)) {
            state.free.release(block);
        }
        state.header = header;
        state.next_slot = 1 - slot;
        // Free blocks at the end are returned to the file system; failing to do so doesn't affect correctness. They
        // can't be allocated meanwhile: the state is locked.
        let blocks = state.free.cut_tail();
        let _ = file.truncate(blocks as u64 * BLOCK_BYTES as u64);
        Ok(header.checkpoint)
    }
}

impl Drop for Checkpoint<'_> {
    fn drop(&mut self) {
        std::mem::take(&mut self.allocated).into_iter().for_each(|block| self.file.free_block(block));
    }
}

fn open_error(path: &Path, error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::WouldBlock => {
            Error::user(format!("{} is open in another process", path.display()))
                .with_hint("one process can write a database, or several can read it: close it there, or open it with --read-only in all")
        }
        _ => io_error("open", path, error),
    }
}

pub(crate) fn io_error(verb: &str, path: &Path, error: &std::io::Error) -> Error {
    let kind = match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => ErrorKind::Resource,
        std::io::ErrorKind::NotFound | std::io::ErrorKind::AlreadyExists => ErrorKind::User,
        _ => ErrorKind::Io,
    };
    Error::new(kind, format!("can't {verb} {}: {error}", path.display()))
}
