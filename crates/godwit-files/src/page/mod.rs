//! Pages of a column chunk: found, read, decompressed.
//!
//! ```text
//! chunk: | header, dictionary | header, rows 0.. | header, rows 20480.. | … |
//! ```
//!
//! With an offset index, the page that holds a row is read directly. Without one, headers are walked from the start of
//! the chunk, still without reading the data of unneeded pages. A page is decompressed into a buffer that is reused for
//! the next one, unless vectors still share it. If decompressing pages at once is faster than in sequence and the reader
//! takes page after page, the next ones are decompressed along with the requested one, and so are the dictionaries of
//! the next row groups.

mod buffer;
mod cache;
mod codec;
mod dictionaries;
mod header;
mod runs;

use std::ops::Range;

use arrow_buffer::Buffer;
use bytes::Bytes;
use godwit_common::{Error, Result};
use godwit_memory::BufferManager;
use godwit_pipeline::ColumnReads;
use godwit_trace::{ObjectPart, VECTOR_BYTES};

use buffer::{PageRoom, ReadBytes, SpareBuffers};
pub(crate) use buffer::{ReadWindow, SharedBuffer};
use cache::{Found, Keeping, PagePlace};
pub(crate) use cache::{PageCache, TextCheck};
pub(crate) use codec::Codec;
pub(crate) use dictionaries::DICTIONARIES_AHEAD;
pub(crate) use header::{PageHeader, PageKind, ValueEncoding};
pub(crate) use runs::RunCursor;

use crate::config::{HEADER_BYTES_MAX, READ_BYTES_MIN, TOGETHER_BYTES_MAX};
use crate::file::FileBytes;
use crate::footer::{ChunkLocation, PageSpan};

/// Pages that are decompressed together, at most: with more, blocks of Snappy would be no faster.
const PAGES_TOGETHER: usize = 3;

/// A decompressed page.
pub(crate) struct ParquetPage {
    /// Its header.
    pub header: PageHeader,
    /// First row, counted in the row group; 0 for dictionaries.
    pub first_row: usize,
    /// Levels and values.
    pub bytes: Buffer,
    /// The memory of `bytes`, for reuse; `None` if it is a page of the pool.
    pub buffer: Option<SharedBuffer>,
    /// Whether its texts were checked.
    pub text_check: TextCheck,
}

impl ParquetPage {
    /// Returns a page of the pool, which stays pinned as long as vectors share it.
    fn pinned(found: Found, first_row: usize) -> Self {
        let Found { header, page, text_check } = found;
        ParquetPage { header, first_row, bytes: Buffer::from(Bytes::from_owner(page)), buffer: None, text_check }
    }

    /// Returns the page at `offset` of `file`, which was decompressed into `room`.
    fn new(file: &FileBytes, offset: u64, header: PageHeader, room: PageRoom, first_row: usize) -> Self {
        match room {
            PageRoom::Cached(room) => Self::pinned(file.pages().keep(offset, header, room), first_row),
            PageRoom::Large(page) => {
                Self::pinned(Found { header, page: page.pinned(), text_check: TextCheck::default() }, first_row)
            }
            PageRoom::Buffer(buffer) => {
                let buffer = SharedBuffer::new(buffer);
                let (bytes, text_check) = (buffer.content(), TextCheck::default());
                ParquetPage { header, first_row, bytes, buffer: Some(buffer), text_check }
            }
        }
    }
}

/// Reads the pages of one column chunk.
pub(crate) struct PageReader {
    file: FileBytes,
    chunk: ChunkLocation,
    codec: Codec,
    window: ReadWindow,
    /// Where the next page begins, and its first row; for files without an offset index.
    next: (u64, usize),
    /// The rows that will be read, though some of their pages may not be needed.
    rows: Range<usize>,
    /// The page after the last one.
    next_page: usize,
    /// Pages that were decompressed along with the last one, the next one last.
    ahead: Vec<ParquetPage>,
    /// Where the dictionaries of the next row groups are, if they will be read.
    dictionaries_ahead: Vec<Range<u64>>,
    spare: SpareBuffers,
    /// Whether pages are kept at once.
    keeps_pages: bool,
    memory: BufferManager,
    /// Allocates the column's cached pages.
    cache: BufferManager,
    /// Amounts read so far, until they are taken.
    pub reads: ColumnReads,
}

fn codec_of(file: &FileBytes, chunk: &ChunkLocation) -> Result<Codec> {
    Codec::new(chunk.compression).map_err(|error| error.context(file.path().display()))
}

impl PageReader {
    /// Creates a reader of `rows` of `chunk` through `window`. Its buffers are accounted for with `memory`.
    pub(crate) fn new(
        file: FileBytes,
        chunk: ChunkLocation,
        rows: Range<usize>,
        window: ReadWindow,
        memory: &BufferManager,
    ) -> Result<Self> {
        let mut reader = Self {
            codec: codec_of(&file, &chunk)?,
            file,
            chunk,
            window,
            next: (0, 0),
            rows: 0..0,
            next_page: 0,
            ahead: Vec::new(),
            dictionaries_ahead: Vec::new(),
            spare: SpareBuffers::default(),
            keeps_pages: false,
            memory: memory.clone(),
            cache: memory.clone(),
            reads: ColumnReads::default(),
        };
        reader.turn_to(rows);
        Ok(reader)
    }

    /// From now on, pages are kept in spare memory: they will be read again soon.
    pub(crate) fn keep_pages(&mut self) {
        self.keeps_pages = true;
    }

    /// Switches to another chunk, keeping the buffers.
    pub(crate) fn reopen(&mut self, file: FileBytes, chunk: ChunkLocation, rows: Range<usize>) -> Result<()> {
        self.codec = codec_of(&file, &chunk)?;
        (self.file, self.chunk) = (file, chunk);
        self.turn_to(rows);
        Ok(())
    }

    fn turn_to(&mut self, rows: Range<usize>) {
        self.drop_ahead();
        self.dictionaries_ahead.clear();
        self.next = (self.chunk.start, 0);
        self.next_page = self.chunk.pages.as_ref().map_or(0, |pages| page_of(pages, rows.start));
        let object = self.file.column_object(&self.chunk.column, &self.memory);
        // Those who only read dictionaries or headers pass no rows.
        if !rows.is_empty() {
            let bytes = Self::bytes_of(&self.chunk, rows.clone());
            object.note_scan(rows.len(), bytes.end - bytes.start);
        }
        self.cache = self.memory.for_object(&object);
        self.rows = rows;
    }

    fn drop_ahead(&mut self) {
        self.ahead.drain(..).filter_map(|page| page.buffer).for_each(|buffer| self.spare.give(buffer));
    }

    /// Returns an error about the file.
    pub(crate) fn corrupt(&self, what: impl std::fmt::Display) -> Error {
        self.file.corrupt(what)
    }

    /// Returns where the bytes for `rows` are: their pages, or the whole chunk if its pages aren't known.
    pub(crate) fn bytes_of(chunk: &ChunkLocation, rows: Range<usize>) -> Range<u64> {
        let (start, end) = match &chunk.pages {
            Some(pages) => {
                let first = page_of(pages, rows.start);
                let last = pages.partition_point(|page| page.first_row < rows.end).saturating_sub(1).max(first);
                // The dictionary precedes the first page.
                let start = if first == 0 { chunk.start } else { pages[first].offset };
                (start, pages[last].offset + pages[last].bytes as u64)
            }
            None => (chunk.start, chunk.end),
        };
        start..end
    }

    /// Takes back a page's buffer for reuse, if nothing shares it.
    pub(crate) fn give_back(&mut self, buffer: SharedBuffer) {
        godwit_trace::forget(buffer.as_ref().as_ptr(), buffer.as_ref().len());
        self.spare.give(buffer);
    }

    /// Reads the dictionary page, if the chunk begins with one.
    pub(crate) fn dictionary_page(&mut self) -> Result<Option<ParquetPage>> {
        if self.chunk.start >= self.chunk.end {
            return Ok(None);
        }
        let start = self.chunk.start;
        let (header, header_bytes) = self.header_at(start)?;
        if header.kind != PageKind::Dictionary {
            return Ok(None);
        }
        let page = match self.dictionary_with_later(header, header_bytes)? {
            Some(page) => page,
            None => self.content(start, header_bytes, header, 0)?,
        };
        self.tell_trace(&page);
        Ok(Some(page))
    }

    /// Returns the header of the dictionary page, if the chunk begins with one.
    pub(crate) fn dictionary_header(&mut self) -> Result<Option<PageHeader>> {
        if self.chunk.start >= self.chunk.end {
            return Ok(None);
        }
        let (header, _) = self.header_at(self.chunk.start)?;
        Ok((header.kind == PageKind::Dictionary).then_some(header))
    }

    /// Reads the data page that holds `row`.
    pub(crate) fn page_of_row(&mut self, row: usize) -> Result<ParquetPage> {
        assert!(row < self.chunk.rows, "rows are inside the row group");
        let page = match &self.chunk.pages {
            Some(pages) => self.located_page(page_of(pages, row)),
            None => self.walk_to_page(row),
        }?;
        self.tell_trace(&page);
        Ok(page)
    }

    /// Tells a memory trace where the page is, and that all of it was read. Its place approximates that in the file, as
    /// if all pages were as long as this one.
    fn tell_trace(&self, page: &ParquetPage) {
        let Some(object) = self.cache.object().filter(|_| godwit_trace::is_on()) else { return };
        let (bytes, rows) = (page.bytes.len(), page.header.values.max(1));
        let offset = self.chunk.start + (page.first_row as u64).saturating_mul(bytes as u64) / rows as u64;
        let place = ObjectPart::of_bytes(page.bytes.as_ptr(), bytes, offset);
        godwit_trace::declare(place, object.trace_key(), || object.traced());
        godwit_trace::loads(|loads| loads.run(page.bytes.as_ptr(), bytes, VECTOR_BYTES));
    }

    /// Reads a page whose location and rows are given by the offset index.
    fn located_page(&mut self, index: usize) -> Result<ParquetPage> {
        let is_sequential = index == self.next_page;
        self.next_page = index + 1;
        let span = self.span(index);
        while let Some(page) = self.ahead.pop_if(|page| page.first_row <= span.first_row) {
            if page.first_row == span.first_row {
                return Ok(page);
            }
            page.buffer.into_iter().for_each(|buffer| self.spare.give(buffer));
        }
        self.drop_ahead();
        if let Some(page) = self.cached(span.offset, span.first_row) {
            return Ok(page);
        }
        if is_sequential && let Some(page) = self.page_with_next(index)? {
            return Ok(page);
        }
        self.fetch(&mut self.window.clone().lock(), span.offset, span.bytes)?;
        let (header, header_bytes) = self.header_at(span.offset)?;
        if !self.is_as_stated(index, &header, header_bytes) {
            return Err(self.corrupt("a page differs from what the page index says of it"));
        }
        self.content(span.offset, header_bytes, header, span.first_row)
    }

    /// Returns the page at `offset`, if it is in the pool.
    fn cached(&mut self, offset: u64, first_row: usize) -> Option<ParquetPage> {
        let found = self.file.pages().get(offset)?;
        self.reads.pages_cached += 1;
        Some(ParquetPage::pinned(found, first_row))
    }

    fn span(&self, index: usize) -> PageSpan {
        self.chunk.pages.as_ref().expect("pages that have a number are in an offset index")[index]
    }

    /// Returns true if a header agrees with the offset index.
    fn is_as_stated(&self, index: usize, header: &PageHeader, header_bytes: usize) -> bool {
        let pages = self.chunk.pages.as_deref().unwrap_or_default();
        let end = pages.get(index + 1).map_or(self.chunk.rows, |next| next.first_row);
        let is_data = matches!(header.kind, PageKind::DataV1 | PageKind::DataV2 { .. });
        let bytes = header_bytes.saturating_add(header.compressed_bytes);
        is_data && header.values == end - pages[index].first_row && bytes <= pages[index].bytes
    }

    /// Reads a page and the ones after it that will likely be read, decompressed together; `None` if that isn't possible.
    fn page_with_next(&mut self, index: usize) -> Result<Option<ParquetPage>> {
        if !self.reads_ahead() {
            return Ok(None);
        }
        let next = (index..).take_while(|&page| self.is_next_wanted(page)).take(PAGES_TOGETHER + 1);
        match next.count() {
            0 => Ok(None),
            // The last four pages are faster as twice two than as three and one.
            1 | PAGES_TOGETHER => self.pages_together(index..index + 2),
            _ => self.pages_together(index..index + PAGES_TOGETHER),
        }
    }

    /// Returns true if decompressing more than the requested page pays off, and there is room for it.
    fn reads_ahead(&self) -> bool {
        Codec::is_faster_together(self.chunk.compression)
            && self.memory.available_bytes() >= self.memory.memory_limit() / 2
    }

    fn is_cached(&self, offset: u64) -> bool {
        self.file.pages().get(offset).is_some()
    }

    /// Returns true if the page after this one will likely be read by a reader that takes page after page, and isn't
    /// cached.
    fn is_next_wanted(&self, index: usize) -> bool {
        let Some(next) = self.chunk.pages.as_ref().and_then(|pages| pages.get(index + 1)) else { return false };
        next.first_row < self.rows.end
            && next.offset == self.span(index).offset + self.span(index).bytes as u64
            && !self.is_cached(next.offset)
    }

    /// Reads neighbouring pages, decompressed together, and keeps those after the first one ahead; `None` if that isn't
    /// possible.
    fn pages_together(&mut self, indexes: Range<usize>) -> Result<Option<ParquetPage>> {
        let spans: Vec<PageSpan> = indexes.clone().map(|index| self.span(index)).collect();
        let window = self.window.clone();
        let mut window = window.lock();
        let seen = self.fetch(&mut window, spans[0].offset, spans.iter().map(|span| span.bytes).sum())?;
        let mut stored = Vec::with_capacity(spans.len());
        let mut rest = seen;
        for (index, span) in indexes.clone().zip(&spans) {
            let (bytes, behind) = rest.split_at(span.bytes);
            rest = behind;
            match PageHeader::parse(bytes) {
                Ok(Some((header, header_bytes))) if self.is_as_stated(index, &header, header_bytes) => {
                    stored.push((header, &bytes[header_bytes..][..header.compressed_bytes]));
                }
                _ => return Ok(None),
            }
        }
        if !may_be_together(stored.iter().map(|(header, _)| header)) {
            return Ok(None);
        }
        let rooms = indexes.zip(&spans).zip(&stored);
        let rooms = rooms.map(|((index, span), (header, _))| self.room(span.offset, Some(index), header));
        let mut rooms = rooms.collect::<Result<Vec<_>>>()?;
        if decompress_pages(&self.codec, &stored, &mut rooms).is_none() {
            return Ok(None);
        }
        let headers: Vec<_> = stored.into_iter().map(|(header, _)| header).collect();
        window.trim();
        self.reads.pages += spans.len() as u64;
        let pages = spans.iter().zip(headers).zip(rooms);
        let file = &self.file;
        self.ahead.extend(
            pages.map(|((span, header), room)| ParquetPage::new(file, span.offset, header, room, span.first_row)).rev(),
        );
        Ok(self.ahead.pop())
    }

    /// Walks over page headers to the page of `row` and reads it.
    fn walk_to_page(&mut self, row: usize) -> Result<ParquetPage> {
        let (header_bytes, header) = self.walk_to_header(row)?;
        let (offset, first_row) = self.next;
        let next = offset + header_bytes as u64 + header.compressed_bytes as u64;
        self.next = (next, first_row + header.values);
        self.content(offset, header_bytes, header, first_row)
    }

    /// Returns the row after the page of `row`, for files without an offset index, by walking headers from the last
    /// page that was read.
    pub(crate) fn page_end(&mut self, row: usize) -> Result<usize> {
        if row >= self.next.1 {
            let (_, header) = self.walk_to_header(row)?;
            return Ok(self.next.1 + header.values);
        }
        Ok(self.next.1)
    }

    /// Goes to the header of the page of `row`, which becomes the next page.
    fn walk_to_header(&mut self, row: usize) -> Result<(usize, PageHeader)> {
        let (mut offset, mut first_row) = self.next;
        if row < first_row {
            (offset, first_row) = (self.chunk.start, 0);
        }
        loop {
            if offset >= self.chunk.end {
                return Err(self.corrupt(format!("a column ends at row {first_row} of {}", self.chunk.rows)));
            }
            let (header, header_bytes) = self.header_at(offset)?;
            let next = offset + header_bytes as u64 + header.compressed_bytes as u64;
            if next > self.chunk.end {
                return Err(self.corrupt("a page is longer than its column"));
            }
            if matches!(header.kind, PageKind::DataV1 | PageKind::DataV2 { .. }) {
                let end_row = first_row + header.values;
                if end_row > self.chunk.rows {
                    return Err(self.corrupt("a column has more values than rows"));
                }
                if row < end_row {
                    self.next = (offset, first_row);
                    return Ok((header_bytes, header));
                }
                first_row = end_row;
            }
            offset = next;
        }
    }

    /// Parses the header at `offset`, reading as many bytes as needed, unless it is known.
    fn header_at(&mut self, offset: u64) -> Result<(PageHeader, usize)> {
        // Others are read along with their pages.
        let is_read_alone = self.chunk.pages.is_none() || offset == self.chunk.start;
        if is_read_alone && let Some(known) = self.file.pages().header(offset) {
            return Ok(known);
        }
        let found = self.read_header(offset)?;
        if is_read_alone {
            self.file.pages().note_header(offset, found);
        }
        Ok(found)
    }

    fn read_header(&mut self, offset: u64) -> Result<(PageHeader, usize)> {
        let left = (self.chunk.end - offset) as usize;
        let window = self.window.clone();
        let mut window = window.lock();
        // Usually the window has enough; otherwise as much as is read at once.
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

    /// Returns the decompressed page at `offset`: from the cache, or read, decompressed, and maybe cached.
    fn content(
        &mut self,
        offset: u64,
        header_bytes: usize,
        header: PageHeader,
        first_row: usize,
    ) -> Result<ParquetPage> {
        if let Some(page) = self.cached(offset, first_row) {
            return Ok(page);
        }
        let window = self.window.clone();
        let mut window = window.lock();
        let seen = self.fetch(&mut window, offset + header_bytes as u64, header.compressed_bytes)?;
        let stored = &seen[..header.compressed_bytes];
        let pages = self.chunk.pages.as_deref().filter(|_| header.kind != PageKind::Dictionary);
        let index = pages.map(|pages| page_of(pages, first_row));
        let mut room = self.room(offset, index, &header)?;
        let Self { file, codec, .. } = self;
        decompress(codec, &header, stored, room.as_mut_slice()).map_err(|error| file.corrupt(error.message()))?;
        window.trim();
        self.reads.pages += 1;
        Ok(ParquetPage::new(file, offset, header, room, first_row))
    }

    /// Returns true if reading a page again, from the system's cache, is little more than copying it.
    fn is_copied(&self, header: &PageHeader) -> bool {
        self.codec.copies(header) && !self.file.is_remote()
    }

    /// Returns room for the page at `offset`: in the cache if it is kept there. `index` is the number of a data page,
    /// where known.
    fn room(&mut self, offset: u64, index: Option<usize>, header: &PageHeader) -> Result<PageRoom> {
        let is_copied = self.is_copied(header);
        let Self { file, chunk, codec, keeps_pages, cache, .. } = self;
        let place = index.map_or(PagePlace::Unknown, |index| PagePlace::Chunk { start: chunk.start, index });
        // Samples of further columns need room, too.
        let is_sampled = *keeps_pages && cache.available_bytes() >= cache.memory_limit() / 4 * 3;
        let at_once = is_sampled || header.kind == PageKind::Dictionary || codec.is_slow();
        let keeping = Keeping::of(place, at_once, is_copied);
        match file.pages().room(offset, header, keeping, cache)? {
            Some(room) => Ok(PageRoom::Cached(room)),
            None => PageRoom::new(header.uncompressed_bytes, &mut self.spare, &self.memory)
                .map_err(|error| error.context(self.file.path().display())),
        }
    }

    /// Returns at least `bytes` bytes from `offset`.
    fn fetch<'a>(&mut self, window: &'a mut ReadBytes, offset: u64, bytes: usize) -> Result<&'a [u8]> {
        let left = self.chunk.end.saturating_sub(offset);
        if bytes as u64 > left {
            return Err(self.corrupt("a page is longer than its column"));
        }
        // Only those who will read rows need more than a dictionary, or its header.
        let reads_rows = !self.rows.is_empty() || self.keeps_pages;
        let ahead = match self.chunk.pages {
            Some(_) if bytes > 1 => bytes,
            None if offset == self.chunk.start && reads_rows && self.chunk.is_read_whole() => left as usize,
            _ => bytes.max(READ_BYTES_MIN),
        };
        let (seen, read) = window.fetch(&self.file, offset, bytes, (ahead as u64).min(left) as usize)?;
        self.reads.bytes += read as u64;
        Ok(seen)
    }
}

/// Returns the page of a row.
fn page_of(pages: &[PageSpan], row: usize) -> usize {
    pages.partition_point(|page| page.first_row <= row).saturating_sub(1)
}

/// Decompresses the data of a page into all of `target`.
fn decompress(codec: &mut Codec, header: &PageHeader, stored: &[u8], target: &mut [u8]) -> Result<()> {
    match compressed_part(header, stored, target)? {
        Some((input, output)) => codec.decompress(input, output),
        None => Ok(()),
    }
}

/// Returns true if pages may be decompressed together. Alone, each may be as large as it likes.
fn may_be_together<'a>(mut headers: impl Iterator<Item = &'a PageHeader> + Clone) -> bool {
    let bytes = headers.clone().fold(0, |bytes: usize, header| bytes.saturating_add(header.uncompressed_bytes));
    bytes <= TOGETHER_BYTES_MAX && headers.all(PageHeader::is_compressed)
}

/// Decompresses two or three pages at once, each into all of its room; `None` if one of them can't be.
fn decompress_pages(codec: &Codec, stored: &[(PageHeader, &[u8])], rooms: &mut [PageRoom]) -> Option<()> {
    let parts = stored.iter().zip(rooms);
    let parts = parts.map(|((header, stored), room)| compressed_part(header, stored, room.as_mut_slice()));
    let parts = parts.collect::<Result<Option<Vec<_>>>>().ok()??;
    let (inputs, outputs): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    codec.decompress_together(&inputs, outputs)
}

/// Returns the part of a page to decompress, and its target; uncompressed parts are copied. `None` if nothing is left.
fn compressed_part<'a>(
    header: &PageHeader,
    stored: &'a [u8],
    target: &'a mut [u8],
) -> Result<Option<(&'a [u8], &'a mut [u8])>> {
    let levels = match header.kind {
        PageKind::DataV2 { repetition_bytes, definition_bytes, .. } => {
            repetition_bytes.saturating_add(definition_bytes)
        }
        PageKind::Dictionary | PageKind::DataV1 | PageKind::Other => 0,
    };
    if levels > stored.len() || levels > target.len() {
        return Err(Error::corrupt("the levels of a page are longer than the page"));
    }
    target[..levels].copy_from_slice(&stored[..levels]);
    let (input, output) = (&stored[levels..], &mut target[levels..]);
    if !header.is_compressed() {
        Codec::None.decompress(input, output)?;
        return Ok(None);
    }
    Ok(Some((input, output)))
}
