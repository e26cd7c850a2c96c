//! Pages of a column chunk: found, read, decompressed.
//!
//! ```text
//! chunk: | header, dictionary | header, rows 0.. | header, rows 20480.. | … |
//! ```
//!
//! With an offset index, the page that holds a row is read directly. Without one, headers are walked from the start of
//! the chunk; the data of pages that nobody asks for isn't read then either. A page is decompressed into a buffer that
//! is used again for the next one, unless vectors still share it.

mod cache;
mod codec;
mod header;
mod runs;

use arrow_buffer::Buffer;
use bytes::Bytes;
use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::{BufferManager, PinnedPage, Reservation};

pub(crate) use cache::PageCache;
pub(crate) use codec::Codec;
pub(crate) use header::{PageHeader, PageKind, ValueEncoding};
pub(crate) use runs::RunCursor;

use crate::config::{HEADER_BYTES_MAX, READ_BYTES_MIN};
use crate::file::FileBytes;
use crate::footer::ChunkLocation;

/// Granularity of the reservation for page buffers, so that it doesn't change with every page.
const RESERVATION_STEP_BYTES: usize = 64 * 1024;

/// A decompressed page.
pub(crate) struct Page {
    /// Its header.
    pub header: PageHeader,
    /// First row, counted in the row group; 0 for dictionaries.
    pub first_row: usize,
    /// Levels and values.
    pub bytes: Buffer,
}

/// Reads the pages of one column chunk.
pub(crate) struct PageReader {
    file: FileBytes,
    chunk: ChunkLocation,
    codec: Codec,
    /// Bytes of the file from `window_start` on.
    window: Vec<u8>,
    window_start: u64,
    /// Where the next page begins, for files without an offset index, and its first row.
    next: (u64, usize),
    /// A buffer that was given back.
    spare: Vec<u8>,
    pool: BufferManager,
    memory: Reservation,
    /// Read from the file so far.
    pub bytes_read: u64,
}

impl PageReader {
    /// A reader of `chunk`. Its buffers are accounted with `memory`.
    pub(crate) fn new(file: FileBytes, chunk: ChunkLocation, memory: &BufferManager) -> Result<Self> {
        Ok(Self {
            codec: Codec::new(chunk.compression)?,
            next: (chunk.start, 0),
            file,
            chunk,
            window: Vec::new(),
            window_start: 0,
            spare: Vec::new(),
            pool: memory.clone(),
            memory: memory.reserve(0, MemoryTag::Reader)?,
            bytes_read: 0,
        })
    }

    /// Turns to another chunk and keeps the buffers.
    pub(crate) fn reopen(&mut self, file: FileBytes, chunk: ChunkLocation) -> Result<()> {
        self.codec = Codec::new(chunk.compression)?;
        self.next = (chunk.start, 0);
        self.window.clear();
        (self.file, self.chunk) = (file, chunk);
        Ok(())
    }

    /// An error about the file.
    pub(crate) fn corrupt(&self, what: impl std::fmt::Display) -> Error {
        self.file.corrupt(what)
    }

    /// Where the kernel should read ahead for `rows`: the pages that hold them, or nothing if they aren't known.
    pub(crate) fn read_ahead(file: &FileBytes, chunk: &ChunkLocation, rows: std::ops::Range<usize>) {
        let (start, end) = match &chunk.pages {
            Some(pages) => {
                let first = pages.partition_point(|page| page.first_row <= rows.start).saturating_sub(1);
                let last = pages.partition_point(|page| page.first_row < rows.end).saturating_sub(1).max(first);
                (pages[first].offset, pages[last].offset + pages[last].bytes as u64)
            }
            None => (chunk.start, chunk.end),
        };
        file.advise(start, end - start);
    }

    /// Takes a page's buffer back, to use it again if nothing shares it.
    pub(crate) fn give_back(&mut self, bytes: Buffer) {
        match bytes.into_vec::<u8>() {
            Ok(buffer) if buffer.capacity() > self.spare.capacity() => self.spare = buffer,
            _ => {}
        }
    }

    /// The dictionary page, if the chunk begins with one.
    pub(crate) fn dictionary_page(&mut self) -> Result<Option<Page>> {
        if self.chunk.start >= self.chunk.end {
            return Ok(None);
        }
        let start = self.chunk.start;
        let (header, header_bytes) = self.header_at(start)?;
        if header.kind != PageKind::Dictionary {
            return Ok(None);
        }
        let bytes = self.content(start, header_bytes, &header)?;
        Ok(Some(Page { header, first_row: 0, bytes }))
    }

    /// Number of entries that the header of the dictionary page states, if the chunk begins with one.
    pub(crate) fn dictionary_entries(&mut self) -> Result<Option<usize>> {
        if self.chunk.start >= self.chunk.end {
            return Ok(None);
        }
        let (header, _) = self.header_at(self.chunk.start)?;
        Ok((header.kind == PageKind::Dictionary).then_some(header.values))
    }

    /// The data page that holds `row`.
    pub(crate) fn page_of_row(&mut self, row: usize) -> Result<Page> {
        assert!(row < self.chunk.rows, "rows are inside the row group");
        match &self.chunk.pages {
            Some(pages) => {
                let index = pages.partition_point(|page| page.first_row <= row) - 1;
                let span = pages[index];
                let end = pages.get(index + 1).map_or(self.chunk.rows, |next| next.first_row);
                self.located_page(span.offset, span.bytes, span.first_row, end - span.first_row)
            }
            None => self.walk_to_page(row),
        }
    }

    /// A page whose place and rows the offset index states.
    fn located_page(&mut self, offset: u64, bytes: usize, first_row: usize, rows: usize) -> Result<Page> {
        if let Some((header, page)) = self.file.pages().get(offset) {
            return Ok(Page { header, first_row, bytes: shared(page) });
        }
        self.fetch(offset, bytes)?;
        let (header, header_bytes) = self.header_at(offset)?;
        let is_data = matches!(header.kind, PageKind::DataV1 | PageKind::DataV2 { .. });
        if !is_data || header.values != rows || header_bytes + header.compressed_bytes > bytes {
            return Err(self.corrupt("a page differs from what the page index says of it"));
        }
        let bytes = self.content(offset, header_bytes, &header)?;
        Ok(Page { header, first_row, bytes })
    }

    /// Walks over page headers until the page of `row`.
    fn walk_to_page(&mut self, row: usize) -> Result<Page> {
        let (mut offset, mut first_row) = self.next;
        if row < first_row {
            (offset, first_row) = (self.chunk.start, 0);
        }
        loop {
            if offset >= self.chunk.end {
                return Err(self.corrupt(format!("a column ends at row {first_row} of {}", self.chunk.rows)));
            }
            let (header, header_bytes) = self.header_at(offset)?;
            let data = offset + header_bytes as u64;
            let next = data + header.compressed_bytes as u64;
            if next > self.chunk.end {
                return Err(self.corrupt("a page is longer than its column"));
            }
            if matches!(header.kind, PageKind::DataV1 | PageKind::DataV2 { .. }) {
                let end_row = first_row + header.values;
                if end_row > self.chunk.rows {
                    return Err(self.corrupt("a column has more values than rows"));
                }
                if row < end_row {
                    self.next = (next, end_row);
                    let bytes = self.content(offset, header_bytes, &header)?;
                    return Ok(Page { header, first_row, bytes });
                }
                first_row = end_row;
            }
            offset = next;
        }
    }

    /// Parses the header at `offset`, reading as many bytes as it takes.
    fn header_at(&mut self, offset: u64) -> Result<(PageHeader, usize)> {
        let left = (self.chunk.end - offset) as usize;
        // Usually everything there is in the window, else as much as is read at once.
        let mut wanted = 1;
        loop {
            let at = self.fetch(offset, wanted)?;
            let parsed = PageHeader::parse(&self.window[at..]).map_err(|error| self.corrupt(error.message()))?;
            if let Some(found) = parsed {
                return Ok(found);
            }
            let seen = self.window.len() - at;
            if seen >= left || seen >= HEADER_BYTES_MAX {
                return Err(self.corrupt("a column ends inside a page header"));
            }
            wanted = (seen * 4).min(left);
        }
    }

    /// The decompressed content of the page at `offset`: from the cache, or read, decompressed, and maybe cached.
    fn content(&mut self, offset: u64, header_bytes: usize, header: &PageHeader) -> Result<Buffer> {
        if let Some((_, page)) = self.file.pages().get(offset) {
            return Ok(shared(page));
        }
        let at = self.fetch(offset + header_bytes as u64, header.compressed_bytes)?;
        let stored = &self.window[at..at + header.compressed_bytes];
        let (file, codec) = (&self.file, &mut self.codec);
        let fill = |target: &mut [u8]| decompress(codec, header, stored, target).map_err(|e| file.corrupt(e.message()));
        if let Some(page) = file.pages().insert(offset, header, &self.pool, fill)? {
            return Ok(shared(page));
        }
        self.reserve(self.window.capacity(), header.uncompressed_bytes)?;
        let stored = &self.window[at..at + header.compressed_bytes];
        let mut bytes = std::mem::take(&mut self.spare);
        // What is left of an earlier page is overwritten, or the page is refused.
        bytes.resize(header.uncompressed_bytes, 0);
        decompress(&mut self.codec, header, stored, &mut bytes).map_err(|e| self.file.corrupt(e.message()))?;
        Ok(Buffer::from_vec(bytes))
    }

    /// Accounts the window, the page, and a page that vectors may still share.
    fn reserve(&mut self, window: usize, page: usize) -> Result<()> {
        let bytes = (window + 2 * page).next_multiple_of(RESERVATION_STEP_BYTES);
        if bytes > self.memory.bytes() {
            self.memory.resize(bytes).map_err(|error| error.context(self.file.path().display()))?;
        }
        Ok(())
    }

    /// Makes `bytes` bytes from `offset` on available, and tells where they are in the window.
    fn fetch(&mut self, offset: u64, bytes: usize) -> Result<usize> {
        let left = self.chunk.end.saturating_sub(offset);
        if bytes as u64 > left {
            return Err(self.corrupt("a page is longer than its column"));
        }
        let window_end = self.window_start + self.window.len() as u64;
        if offset < self.window_start || offset + bytes as u64 > window_end {
            let least = if self.chunk.pages.is_some() && bytes > 1 { bytes } else { bytes.max(READ_BYTES_MIN) };
            let wanted = (least as u64).min(left) as usize;
            self.reserve(wanted.max(self.window.capacity()), 0)?;
            self.window.resize(wanted, 0);
            self.window_start = offset;
            let read = self.file.read_at(&mut self.window, offset);
            if read.is_err() {
                self.window.clear();
            }
            read?;
            self.bytes_read += wanted as u64;
        }
        Ok((offset - self.window_start) as usize)
    }
}

/// A cached page as a buffer; the pin lives as long as vectors share it.
fn shared(page: PinnedPage) -> Buffer {
    Buffer::from(Bytes::from_owner(page))
}

/// Decompresses the data of a page into all of `target`.
fn decompress(codec: &mut Codec, header: &PageHeader, stored: &[u8], target: &mut [u8]) -> Result<()> {
    let (levels, is_compressed) = match header.kind {
        PageKind::DataV2 { repetition_bytes, definition_bytes, is_compressed } => {
            (repetition_bytes.saturating_add(definition_bytes), is_compressed)
        }
        _ => (0, true),
    };
    if levels > stored.len() || levels > target.len() {
        return Err(Error::corrupt("the levels of a page are longer than the page"));
    }
    target[..levels].copy_from_slice(&stored[..levels]);
    let (input, output) = (&stored[levels..], &mut target[levels..]);
    if is_compressed { codec.decompress(input, output) } else { Codec::None.decompress(input, output) }
}
