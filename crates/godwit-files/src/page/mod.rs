//! Pages of a column chunk: found, read, decompressed.
//!
//! ```text
//! chunk: | header, dictionary | header, rows 0.. | header, rows 20480.. | … |
//! ```
//!
//! With an offset index, the page that holds a row is read directly. Without one, headers are walked from the start of
//! the chunk; the data of pages that nobody asks for isn't read then either. A page is decompressed into a buffer that
//! is used again for the next one, unless vectors still share it.

mod buffer;
mod cache;
mod codec;
mod header;
mod runs;

use arrow_buffer::Buffer;
use bytes::Bytes;
use godwit_common::{Error, Result};
use godwit_memory::BufferManager;

use buffer::{PageBuffer, Window};
pub(crate) use buffer::{ReadWindow, SharedBuffer};
use cache::Found;
pub(crate) use cache::{PageCache, TextCheck};
pub(crate) use codec::Codec;
pub(crate) use header::{PageHeader, PageKind, ValueEncoding};
pub(crate) use runs::RunCursor;

use crate::config::{HEADER_BYTES_MAX, READ_BYTES_MIN};
use crate::file::FileBytes;
use crate::footer::ChunkLocation;

/// A decompressed page.
pub(crate) struct Page {
    /// Its header.
    pub header: PageHeader,
    /// First row, counted in the row group; 0 for dictionaries.
    pub first_row: usize,
    /// Levels and values.
    pub bytes: Buffer,
    /// The memory of `bytes`, to be given back; `None` if it is in the cache.
    pub buffer: Option<SharedBuffer>,
    /// Whether its texts were looked at.
    pub text_check: TextCheck,
}

impl Page {
    /// A cached page, which stays pinned as long as vectors share it.
    fn cached(found: Found, first_row: usize) -> Self {
        let Found { header, page, text_check } = found;
        Page { header, first_row, bytes: Buffer::from(Bytes::from_owner(page)), buffer: None, text_check }
    }
}

/// Reads the pages of one column chunk.
pub(crate) struct PageReader {
    file: FileBytes,
    chunk: ChunkLocation,
    codec: Codec,
    window: ReadWindow,
    /// Where the next page begins, for files without an offset index, and its first row.
    next: (u64, usize),
    /// A buffer that was given back.
    spare: Option<PageBuffer>,
    memory: BufferManager,
    /// Read from the file so far.
    pub bytes_read: u64,
}

fn codec_of(file: &FileBytes, chunk: &ChunkLocation) -> Result<Codec> {
    Codec::new(chunk.compression).map_err(|error| error.context(file.path().display()))
}

impl PageReader {
    /// A reader of `chunk` through `window`. Its buffers are accounted with `memory`.
    pub(crate) fn new(
        file: FileBytes,
        chunk: ChunkLocation,
        window: ReadWindow,
        memory: &BufferManager,
    ) -> Result<Self> {
        let (codec, next) = (codec_of(&file, &chunk)?, (chunk.start, 0));
        Ok(Self { file, chunk, codec, window, next, spare: None, memory: memory.clone(), bytes_read: 0 })
    }

    /// Turns to another chunk and keeps the buffers.
    pub(crate) fn reopen(&mut self, file: FileBytes, chunk: ChunkLocation) -> Result<()> {
        self.codec = codec_of(&file, &chunk)?;
        self.next = (chunk.start, 0);
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
    pub(crate) fn give_back(&mut self, buffer: SharedBuffer) {
        self.spare = buffer.into_unshared().or(self.spare.take());
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
        self.content(start, header_bytes, header, 0).map(Some)
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
        if let Some(found) = self.file.pages().get(offset) {
            return Ok(Page::cached(found, first_row));
        }
        self.fetch(&mut self.window.clone().lock(), offset, bytes)?;
        let (header, header_bytes) = self.header_at(offset)?;
        let is_data = matches!(header.kind, PageKind::DataV1 | PageKind::DataV2 { .. });
        if !is_data || header.values != rows || header_bytes + header.compressed_bytes > bytes {
            return Err(self.corrupt("a page differs from what the page index says of it"));
        }
        self.content(offset, header_bytes, header, first_row)
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
                    return self.content(offset, header_bytes, header, first_row);
                }
                first_row = end_row;
            }
            offset = next;
        }
    }

    /// Parses the header at `offset`, reading as many bytes as it takes.
    fn header_at(&mut self, offset: u64) -> Result<(PageHeader, usize)> {
        let left = (self.chunk.end - offset) as usize;
        let window = self.window.clone();
        let mut window = window.lock();
        // Usually everything there is in the window, else as much as is read at once.
        let mut wanted = 1;
        loop {
            let seen = self.fetch(&mut window, offset, wanted)?;
            if let Some(found) = PageHeader::parse(seen).map_err(|error| self.corrupt(error.message()))? {
                return Ok(found);
            }
            if seen.len() >= left || seen.len() >= HEADER_BYTES_MAX {
                return Err(self.corrupt("a column ends inside a page header"));
            }
            wanted = (seen.len() * 4).min(left);
        }
    }

    /// The page at `offset`, decompressed: from the cache, or read, decompressed, and maybe cached.
    fn content(&mut self, offset: u64, header_bytes: usize, header: PageHeader, first_row: usize) -> Result<Page> {
        if let Some(found) = self.file.pages().get(offset) {
            return Ok(Page::cached(found, first_row));
        }
        let window = self.window.clone();
        let mut window = window.lock();
        let seen = self.fetch(&mut window, offset + header_bytes as u64, header.compressed_bytes)?;
        let stored = &seen[..header.compressed_bytes];
        let Self { file, codec, spare, memory, .. } = self;
        let mut fill =
            |target: &mut [u8]| decompress(codec, &header, stored, target).map_err(|e| file.corrupt(e.message()));
        if let Some(found) = file.pages().insert(offset, &header, memory, &mut fill)? {
            return Ok(Page::cached(found, first_row));
        }
        let buffer = PageBuffer::take(spare, header.uncompressed_bytes, memory);
        let mut buffer = buffer.map_err(|error| error.context(file.path().display()))?;
        fill(buffer.as_mut_slice())?;
        window.trim();
        let buffer = SharedBuffer::new(buffer);
        let (bytes, text_check) = (buffer.content(), TextCheck::default());
        Ok(Page { header, first_row, bytes, buffer: Some(buffer), text_check })
    }

    /// At least `bytes` bytes from `offset` on.
    fn fetch<'a>(&mut self, window: &'a mut Window, offset: u64, bytes: usize) -> Result<&'a [u8]> {
        let left = self.chunk.end.saturating_sub(offset);
        if bytes as u64 > left {
            return Err(self.corrupt("a page is longer than its column"));
        }
        let ahead = if self.chunk.pages.is_some() && bytes > 1 { bytes } else { bytes.max(READ_BYTES_MIN) };
        let (seen, read) = window.fetch(&self.file, offset, bytes, (ahead as u64).min(left) as usize)?;
        self.bytes_read += read as u64;
        Ok(seen)
    }
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
