//! The memory of a reader: the decompressed page, and the window of the file that it comes from.
//!
//! ```text
//! file ──read──▶ ReadWindow ──decompress──▶ PageBuffer ──▶ vectors
//!                one for all columns        one per column, counted
//!                of a worker                until the last vector is gone
//! ```

use std::sync::Arc;

use arrow_buffer::Buffer;
use bytes::Bytes;
use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation, UnfilledPage};
use parking_lot::{Mutex, MutexGuard};

use super::PAGES_TOGETHER;
use crate::config::{BUFFER_STEP_BYTES, LARGE_PAGE_BYTES, WINDOW_KEPT_BYTES_MAX};
use crate::file::FileBytes;

/// Memory of a decompressed page, counted as long as it exists.
pub(crate) struct PageBuffer {
    bytes: Vec<u8>,
    _memory: Reservation,
}

impl PageBuffer {
    /// Allocates room for `bytes` bytes.
    fn new(bytes: usize, memory: &BufferManager) -> Result<Self> {
        let capacity = bytes.next_multiple_of(BUFFER_STEP_BYTES);
        let memory = memory.reserve(capacity, MemoryTag::Reader)?;
        Ok(Self { bytes: Vec::with_capacity(capacity), _memory: memory })
    }

    /// Returns room for exactly `bytes` bytes of arbitrary content: in one of `spare` if large enough, otherwise new.
    fn take(spare: &mut SpareBuffers, bytes: usize, memory: &BufferManager) -> Result<Self> {
        let mut buffer = match spare.0.pop().filter(|spare| spare.bytes.capacity() >= bytes) {
            Some(spare) => spare,
            None => Self::new(bytes, memory)?,
        };
        // Leftovers of an earlier page are overwritten, or the page is rejected.
        buffer.bytes.resize(bytes, 0);
        Ok(buffer)
    }

    fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

/// Buffers that are no longer shared, for reuse: as many as there are pages at once.
#[derive(Default)]
pub(super) struct SpareBuffers(Vec<PageBuffer>);

impl SpareBuffers {
    const MOST: usize = PAGES_TOGETHER;

    pub(super) fn give(&mut self, buffer: SharedBuffer) {
        if self.0.len() < Self::MOST {
            self.0.extend(Arc::into_inner(buffer.0));
        }
    }
}

/// The target of decompression.
pub(super) enum PageRoom {
    /// Kept for later readers.
    Cached(UnfilledPage),
    /// A separate page in the pool, until the last vector is gone.
    Large(UnfilledPage),
    /// Released when this reader goes on.
    Buffer(PageBuffer),
}

impl PageRoom {
    /// Returns room for a page that isn't kept.
    pub(super) fn new(bytes: usize, spare: &mut SpareBuffers, memory: &BufferManager) -> Result<Self> {
        match bytes < LARGE_PAGE_BYTES {
            true => PageBuffer::take(spare, bytes, memory).map(PageRoom::Buffer),
            false => memory.unfilled_page(bytes, MemoryTag::Reader).map(PageRoom::Large),
        }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        match self {
            PageRoom::Cached(page) | PageRoom::Large(page) => page.as_mut_slice(),
            PageRoom::Buffer(buffer) => buffer.as_mut_slice(),
        }
    }
}

/// A page buffer that vectors share.
#[derive(Clone)]
pub(crate) struct SharedBuffer(Arc<PageBuffer>);

impl AsRef<[u8]> for SharedBuffer {
    fn as_ref(&self) -> &[u8] {
        &self.0.bytes
    }
}

impl SharedBuffer {
    pub(super) fn new(buffer: PageBuffer) -> Self {
        Self(Arc::new(buffer))
    }

    /// Returns the content, which stays as long as any part of it is in use.
    pub(super) fn content(&self) -> Buffer {
        Buffer::from(Bytes::from_owner(self.clone()))
    }
}

/// The most recently read bytes of a file, compressed. All columns of a worker read through one window, since its
/// content is needed only until its page is decompressed. Clones share it.
#[derive(Clone)]
pub(crate) struct ReadWindow(Arc<Mutex<ReadBytes>>);

pub(super) struct ReadBytes {
    /// `None` while it is empty.
    file: Option<FileBytes>,
    start: u64,
    /// The first `length` bytes are from the file.
    bytes: Vec<u8>,
    length: usize,
    memory: Reservation,
}

impl ReadWindow {
    /// Creates an empty window, accounted for with `memory`.
    pub(crate) fn new(memory: &BufferManager) -> Result<Self> {
        let memory = memory.reserve(0, MemoryTag::Reader)?;
        Ok(Self(Arc::new(Mutex::new(ReadBytes { file: None, start: 0, bytes: Vec::new(), length: 0, memory }))))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ReadBytes> {
        self.0.lock()
    }
}

impl ReadBytes {
    /// Returns the bytes of `file` in the window from `offset`, if there are any.
    fn find(&self, file: &FileBytes, offset: u64) -> Option<&[u8]> {
        let at = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        let is_here = at <= self.length && self.file.as_ref().is_some_and(|here| here.is_same(file));
        is_here.then(|| &self.bytes[at..self.length])
    }

    /// Returns at least `least` bytes of `file` from `offset`; if they aren't in the window, `wanted` are read. Also
    /// returns how many were read.
    pub(super) fn fetch(
        &mut self,
        file: &FileBytes,
        offset: u64,
        least: usize,
        wanted: usize,
    ) -> Result<(&[u8], usize)> {
        let is_here = self.find(file, offset).is_some_and(|bytes| bytes.len() >= least);
        if !is_here {
            (self.file, self.length) = (None, 0);
            self.grow(wanted).map_err(|error| error.context(file.path().display()))?;
            file.read_at(&mut self.bytes[..wanted], offset)?;
            (self.file, self.start, self.length) = (Some(file.clone()), offset, wanted);
        }
        let read = if is_here { 0 } else { wanted };
        Ok((self.find(file, offset).expect("it was just read"), read))
    }

    fn grow(&mut self, bytes: usize) -> Result<()> {
        if bytes <= self.bytes.len() {
            return Ok(());
        }
        self.bytes = Vec::new();
        let rounded = bytes.next_multiple_of(BUFFER_STEP_BYTES);
        self.memory.resize(rounded)?;
        self.bytes = vec![0; rounded];
        Ok(())
    }

    /// Releases a window that has grown for an unusually large page.
    pub(super) fn trim(&mut self) {
        if self.bytes.len() > WINDOW_KEPT_BYTES_MAX {
            (self.file, self.length, self.bytes) = (None, 0, Vec::new());
            self.memory.resize(0).expect("a reservation can shrink");
        }
    }
}
