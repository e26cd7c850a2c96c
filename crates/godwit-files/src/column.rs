//! Decoding of one flat column of a row group into vectors.
//!
//! ```text
//! page ── levels ──▶ validity (none if nothing is NULL)
//!      └─ values ──▶ PLAIN:      Flat over the page's own bytes where they are aligned; vectors are slices of it
//!                    DICTIONARY: codes; fixed-width values are looked up, strings stay codes of the shared dictionary
//! ```
//!
//! Reads address rows of the row group and may only move forward. A read may be restricted to some of its rows; pages
//! without such rows aren't touched. Decoded data is checked: codes against the dictionary, text for UTF-8, integers
//! against the range promised by the file's statistics.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use arrow_buffer::{Buffer, ScalarBuffer};
use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::ColumnReads;
use godwit_vector::kernels::byte_array::{concat_strings, fixed_width_strings, length_prefixed_strings};
use godwit_vector::kernels::concatenate::{concatenated_validity, concatenated_values};
use godwit_vector::kernels::spread::spread;
use godwit_vector::kernels::unpack::{all_within, look_up};
use godwit_vector::{Bitmap, Dictionary, Flat, Native, PhysicalType, StrColumn, ValueRange, Vector};
use parking_lot::Mutex;

use crate::config::BUFFER_STEP_BYTES;
use crate::fixed_bytes::{INTERVAL_BYTES, UUID_BYTES, UUID_TEXT_BYTES, intervals, uuid_texts};
use crate::footer::{ColumnPart, Decoding, Stored};
use crate::page::{PageKind, PageReader, ParquetPage, ReadWindow, RunCursor, SharedBuffer, TextCheck, ValueEncoding};

/// The dictionary of a column chunk, decoded by the first worker that needs it and shared by all.
#[derive(Default)]
pub(crate) struct SharedDictionary(Mutex<Option<Arc<ChunkDictionary>>>);

/// The entries of a dictionary page.
pub(crate) struct ChunkDictionary {
    /// The entries, which keep the page alive if they are stored in it.
    pub entries: Arc<Dictionary>,
    /// Memory of entries outside of the page.
    _memory: Reservation,
}

/// Decodes one column of row groups, one at a time.
pub(crate) struct ColumnReader {
    decoding: Decoding,
    /// The range promised by the statistics.
    range: Option<ValueRange>,
    memory: BufferManager,
    pages: PageReader,
    dictionary: Arc<SharedDictionary>,
    /// The dictionary, once a page needs it.
    loaded: Option<Arc<ChunkDictionary>>,
    page: Option<DataPage>,
    /// Memory of the page's values outside of it, and of its validity.
    values_memory: Reservation,
    codes: Vec<u32>,
    scratch: Vec<u32>,
}

/// A page being read.
struct DataPage {
    first_row: usize,
    rows: usize,
    /// Rows of the page that aren't NULL; `None` if all aren't.
    validity: Option<Bitmap>,
    /// The next row to read, counted in the page, and the number of values before it.
    row: usize,
    value: usize,
    values: Values,
    bytes: Buffer,
    buffer: Option<SharedBuffer>,
}

enum Values {
    Flat(Flat),
    Codes(RunCursor),
}

impl ColumnReader {
    /// Creates a reader of some rows. Values are checked against `range`, as promised by the statistics.
    pub(crate) fn new(
        part: ColumnPart,
        range: Option<ValueRange>,
        dictionary: Arc<SharedDictionary>,
        window: &ReadWindow,
        memory: &BufferManager,
    ) -> Result<Self> {
        let ColumnPart { file, chunk, decoding, rows } = part;
        Ok(Self {
            decoding,
            range,
            memory: memory.clone(),
            pages: PageReader::new(file, chunk, rows, window.clone(), memory)?,
            dictionary,
            loaded: None,
            page: None,
            values_memory: memory.reserve(0, MemoryTag::Reader)?,
            codes: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// From now on, pages are kept in spare memory: a scan will read them, too.
    pub(crate) fn keep_pages(&mut self) {
        self.pages.keep_pages();
    }

    /// The scan will read the chunks of this column that begin with these dictionary pages, too.
    pub(crate) fn expect_dictionaries(&mut self, places: Vec<Range<u64>>) {
        self.pages.expect_dictionaries(places);
    }

    /// Moves on to another part of the same column, keeping the buffers.
    pub(crate) fn reopen(&mut self, part: ColumnPart, dictionary: Arc<SharedDictionary>) -> Result<()> {
        let ColumnPart { file, chunk, decoding, rows } = part;
        self.drop_page();
        self.loaded = None;
        self.values_memory.resize(0)?;
        (self.decoding, self.dictionary) = (decoding, dictionary);
        self.pages.reopen(file, chunk, rows)
    }

    /// Returns the row after the page of `row`, for files without an offset index.
    pub(crate) fn page_end(&mut self, row: usize) -> Result<usize> {
        self.pages.page_end(row)
    }

    /// Returns the amounts read since the last call.
    pub(crate) fn take_reads(&mut self) -> ColumnReads {
        std::mem::take(&mut self.pages.reads)
    }

    /// Reads rows `row .. row + rows` of the row group, or those at `selected` (ascending positions below `rows`).
    pub(crate) fn read(&mut self, row: usize, rows: usize, selected: Option<&[u32]>) -> Result<Vector> {
        let mut parts: Vec<Vector> = Vec::new();
        let mut selected = selected;
        let mut done = 0;
        while done < rows {
            let page_end = match &self.page {
                Some(page) if (page.first_row..page.first_row + page.rows).contains(&(row + done)) => {
                    page.first_row + page.rows
                }
                _ => match selected {
                    // The next page needed is that of the next selected row.
                    Some([]) => break,
                    Some([first, ..]) => {
                        done = *first as usize;
                        self.open_page(row + done)?
                    }
                    None => self.open_page(row + done)?,
                },
            };
            let count = (rows - done).min(page_end - (row + done));
            match selected {
                None => parts.push(self.read_part(row + done, count, None)?),
                Some(positions) => {
                    let inside = positions.partition_point(|&position| (position as usize) < done + count);
                    let (here, later) = positions.split_at(inside);
                    if !here.is_empty() {
                        parts.push(self.read_selected_part(row + done, count, done, here)?);
                    }
                    selected = Some(later);
                }
            }
            done += count;
        }
        let stored = match parts.len() {
            1 => parts.remove(0),
            0 => Vector::flat(Flat::zeros(self.decoding.physical, 0), None),
            _ => concat(&parts),
        };
        Ok(if self.decoding.stored == Stored::Interval { intervals(&stored) } else { stored })
    }

    fn read_selected_part(&mut self, row: usize, count: usize, offset: usize, positions: &[u32]) -> Result<Vector> {
        if positions.len() == count {
            return self.read_part(row, count, None);
        }
        if offset == 0 {
            return self.read_part(row, count, Some(positions));
        }
        let shifted: Vec<u32> = positions.iter().map(|&position| position - offset as u32).collect();
        self.read_part(row, count, Some(&shifted))
    }

    /// Opens the page of `row` and returns the row after its last one.
    fn open_page(&mut self, row: usize) -> Result<usize> {
        self.drop_page();
        let page = self.pages.page_of_row(row)?;
        let page = self.decode_page(page)?;
        let end = page.first_row + page.rows;
        self.page = Some(page);
        Ok(end)
    }

    fn drop_page(&mut self) {
        if let Some(page) = self.page.take() {
            drop((page.values, page.bytes));
            page.buffer.into_iter().for_each(|buffer| self.pages.give_back(buffer));
        }
    }

    /// Reads rows `row .. row + count`, all of the current page, or those of them at `selected`.
    fn read_part(&mut self, row: usize, count: usize, selected: Option<&[u32]>) -> Result<Vector> {
        let Self { decoding, pages, loaded, page, codes, scratch, .. } = self;
        let page = page.as_mut().expect("the page was opened");
        page.skip_to(row - page.first_row).map_err(|error| pages.corrupt(error.message()))?;
        let (first, end) = (page.row, page.row + count);
        let validity = page.validity.as_ref().map(|validity| validity.slice(first, count)).filter(|v| !v.all());
        let values = validity.as_ref().map_or(count, Bitmap::count_ones);
        let start = page.value;
        (page.row, page.value) = (end, start + values);
        let rows = selected.map_or(count, <[u32]>::len);
        if values == 0 {
            return Ok(Vector::null(decoding.physical, rows));
        }
        // The values of selected rows; a neighbour's for NULL.
        let picks = selected.map(|selected| match &validity {
            Some(validity) => Cow::Owned(value_positions(validity, selected)),
            None => Cow::Borrowed(selected),
        });
        let vector = match &mut page.values {
            Values::Flat(flat) => {
                let slice = flat.slice(start, values);
                let rows = match (picks, &validity) {
                    (Some(picks), _) => pick(&slice, &picks).expect("selected rows are inside the page"),
                    (None, Some(validity)) => spread_over_rows(&slice, validity),
                    (None, None) => slice,
                };
                Vector::flat(rows, validity_at(validity, selected))
            }
            Values::Codes(cursor) => {
                codes.clear();
                let bytes = page.bytes.as_slice();
                let result = match &picks {
                    Some(picks) => cursor.read_selected(bytes, values, picks, scratch, codes),
                    None => cursor.read(bytes, values, codes),
                };
                result.map_err(|error| pages.corrupt(error.message()))?;
                if let (None, Some(validity)) = (picks, &validity) {
                    scratch.clear();
                    spread(codes, validity, scratch);
                    std::mem::swap(codes, scratch);
                }
                let dictionary = &loaded.as_ref().expect("pages of codes load the dictionary").entries;
                let validity = validity_at(validity, selected);
                from_codes(codes, dictionary, validity).ok_or_else(|| pages.corrupt(BAD_CODE))?
            }
        };
        Ok(vector)
    }

    /// Finds and checks the levels and values of a page.
    fn decode_page(&mut self, page: ParquetPage) -> Result<DataPage> {
        let ParquetPage { header, first_row, bytes, buffer, text_check } = page;
        let rows = header.values;
        let (levels, mut start) = self.levels(header.kind, &bytes)?;
        let validity_bytes = if levels.is_some() { rows.div_ceil(8) } else { 0 };
        self.hold(validity_bytes)?;
        let validity = match levels {
            Some(levels) => self.validity(&bytes, levels, rows)?,
            None => None,
        };
        let values = validity.as_ref().map_or(rows, Bitmap::count_ones);
        let values = match header.encoding {
            _ if values == 0 => Values::Flat(Flat::zeros(self.decoding.physical, 0)),
            ValueEncoding::Plain => {
                self.retire_dictionary();
                let apart = bytes_apart(&bytes, start, values, &self.decoding) + validity_bytes;
                self.hold(apart.next_multiple_of(BUFFER_STEP_BYTES))?;
                Values::Flat(self.plain_values(&bytes, start, values, &text_check)?)
            }
            ValueEncoding::Dictionary => {
                if self.load_dictionary()?.is_none() {
                    return Err(self.pages.corrupt("a page has codes, but its column has no dictionary"));
                }
                let width = *bytes.get(start).ok_or_else(|| self.pages.corrupt("a page has no codes"))?;
                let cursor = RunCursor::new(start + 1..bytes.len(), u32::from(width));
                Values::Codes(cursor.map_err(|error| self.pages.corrupt(error.message()))?)
            }
            ValueEncoding::Rle if self.decoding.stored == Stored::Bool => {
                start += 4;
                let _memory = self.memory.reserve(values.saturating_mul(2), MemoryTag::Reader)?;
                let bits = RunCursor::new(start.min(bytes.len())..bytes.len(), 1)
                    .and_then(|mut cursor| cursor.read_bits(&bytes, values))
                    .map_err(|error| self.pages.corrupt(error.message()))?;
                Values::Flat(Flat::Bool(bits.to_bytes().into()))
            }
            other => return Err(self.pages.corrupt(format!("a page has the unexpected encoding {other:?}"))),
        };
        Ok(DataPage { first_row, rows, validity, row: 0, value: 0, values, bytes, buffer })
    }

    /// Reserves memory that a page needs besides its own bytes.
    fn hold(&mut self, bytes: usize) -> Result<()> {
        if bytes > self.values_memory.bytes() { self.values_memory.resize(bytes) } else { Ok(()) }
    }

    /// Returns where the definition levels are, if there are any, and where the values begin.
    fn levels(&self, kind: PageKind, bytes: &[u8]) -> Result<(Option<Range<usize>>, usize)> {
        match kind {
            PageKind::DataV2 { repetition_bytes, definition_bytes, .. } => {
                // Their sum was checked against the page when it was decompressed.
                let end = repetition_bytes + definition_bytes;
                Ok((self.decoding.optional.then_some(repetition_bytes..end), end))
            }
            _ if self.decoding.optional => {
                let length = bytes.first_chunk::<4>().map(|length| u32::from_le_bytes(*length) as usize);
                match length.and_then(|length| length.checked_add(4)).filter(|&end| end <= bytes.len()) {
                    Some(end) => Ok((Some(4..end), end)),
                    None => Err(self.pages.corrupt("the levels of a page are longer than the page")),
                }
            }
            _ => Ok((None, 0)),
        }
    }

    /// Returns the rows that have a value; `None` if all have.
    fn validity(&mut self, bytes: &[u8], levels: Range<usize>, rows: usize) -> Result<Option<Bitmap>> {
        let corrupt = |error: godwit_common::Error| self.pages.corrupt(error.message());
        let mut cursor = RunCursor::new(levels, 1).map_err(corrupt)?;
        match cursor.repeated(bytes).map_err(corrupt)? {
            Some((1, count)) if count >= rows => return Ok(None),
            Some((0, count)) if count >= rows => return Ok(Some(Bitmap::filled(rows, false))),
            _ => {}
        }
        let validity = cursor.read_bits(bytes, rows).map_err(corrupt)?;
        Ok(if validity.all() { None } else { Some(validity) })
    }

    /// Returns the dictionary of the chunk, if it has one: decoded by another worker, or now.
    pub(crate) fn load_dictionary(&mut self) -> Result<Option<Arc<ChunkDictionary>>> {
        if self.loaded.is_none() {
            let shared = self.dictionary.clone();
            let mut slot = shared.0.lock();
            if slot.is_none() {
                *slot = self.decode_dictionary()?.map(Arc::new);
            }
            self.loaded = slot.clone();
        }
        Ok(self.loaded.clone())
    }

    /// Drops the dictionary: a chunk that outgrew it has no codes from here on. A worker that isn't this far yet has
    /// its own handle or decodes it again.
    fn retire_dictionary(&mut self) {
        if self.loaded.take().is_some() {
            self.dictionary.0.lock().take();
        }
    }

    fn decode_dictionary(&mut self) -> Result<Option<ChunkDictionary>> {
        let Some(page) = self.pages.dictionary_page()? else {
            return Ok(None);
        };
        let entries = page.header.values;
        // Each entry takes at least a bit in the page: a larger number of entries is invalid.
        if entries > page.bytes.len().saturating_mul(8) {
            return Err(self.pages.corrupt("a dictionary claims more entries than it has"));
        }
        let apart = bytes_apart(&page.bytes, 0, entries, &self.decoding);
        let memory = self.memory.reserve(apart, MemoryTag::Reader)?;
        let values = self.plain_values(&page.bytes, 0, entries, &page.text_check)?;
        Ok(Some(ChunkDictionary { entries: Arc::new(Dictionary::new(values, false)), _memory: memory }))
    }

    /// Decodes `count` values in PLAIN encoding from `start`, and checks them.
    fn plain_values(&self, bytes: &Buffer, start: usize, count: usize, text_check: &TextCheck) -> Result<Flat> {
        let flat = plain_values(bytes, start, count, &self.decoding)
            .ok_or_else(|| self.pages.corrupt("a page ends before its last value"))?;
        if self.range.is_some_and(|range| !within(&flat, range)) {
            return Err(self.pages.corrupt("a column has values outside the statistics of the file"));
        }
        let is_text = || is_utf8(&bytes[start.min(bytes.len())..], flat.strings());
        if self.decoding.text && !text_check.passes(is_text) {
            return Err(self.pages.corrupt("a text is not valid UTF-8"));
        }
        Ok(flat)
    }
}

const BAD_CODE: &str = "a code is outside of its dictionary";

impl DataPage {
    /// Skips rows up to `row` of the page.
    fn skip_to(&mut self, row: usize) -> Result<()> {
        assert!(row >= self.row, "reads move forward");
        if row == self.row {
            return Ok(());
        }
        let passed = match &self.validity {
            None => row - self.row,
            Some(validity) => validity.slice(self.row, row - self.row).count_ones(),
        };
        if let Values::Codes(cursor) = &mut self.values {
            cursor.skip(&self.bytes, passed)?;
        }
        self.row = row;
        self.value += passed;
        Ok(())
    }
}

/// Returns for each selected row the position of its value among the values; NULL rows get a neighbour's.
fn value_positions(validity: &Bitmap, selected: &[u32]) -> Vec<u32> {
    let words = validity.words();
    // The values before each word.
    let mut before = Vec::with_capacity(words.len());
    let mut sum = 0;
    for word in words {
        before.push(sum);
        sum += word.count_ones();
    }
    let position = |&row: &u32| {
        let (word, bit) = (row as usize / 64, row % 64);
        (before[word] + (words[word] & (u64::MAX >> (63 - bit))).count_ones()).saturating_sub(1)
    };
    selected.iter().map(position).collect()
}

/// Returns which of the selected rows, or of all, aren't NULL.
fn validity_at(validity: Option<Bitmap>, selected: Option<&[u32]>) -> Option<Bitmap> {
    match (validity, selected) {
        (Some(validity), Some(selected)) => Some(validity.take(selected)),
        (validity, _) => validity,
    }
}

/// Makes a vector of the same type from the `$values` of a fixed-width one; `$rest` from any `$other`.
macro_rules! map_fixed_width {
    ($flat:expr, $values:ident => $body:expr, $other:ident => $rest:expr) => {
        map_fixed_width!(
            @ $flat, $values => $body, $other => $rest; Bool, I8, I16, I32, I64, I128, U8, U16, U32, U64, F32, F64
        )
    };
    (@ $flat:expr, $values:ident => $body:expr, $other:ident => $rest:expr; $($variant:ident),*) => {
        match $flat {
            $(Flat::$variant($values) => Flat::$variant($body.into()),)*
            $other => $rest,
        }
    };
}

/// Returns the values of all rows; NULL rows get another row's.
fn spread_over_rows(values: &Flat, validity: &Bitmap) -> Flat {
    fn rows<T: Native>(values: &[T], validity: &Bitmap) -> Vec<T> {
        let mut rows = Vec::new();
        spread(values, validity, &mut rows);
        rows
    }
    map_fixed_width!(values, values => rows(values, validity), other => {
        let positions: Vec<u32> = (0..validity.count_ones() as u32).collect();
        other.take(&rows(&positions, validity))
    })
}

/// Returns codes as a vector; `None` if one is out of bounds.
fn from_codes(codes: &[u32], dictionary: &Arc<Dictionary>, validity: Option<Bitmap>) -> Option<Vector> {
    match dictionary.values() {
        Flat::Str(_) => {
            let largest = codes.iter().fold(0, |largest, &code| largest.max(code));
            ((largest as usize) < dictionary.len())
                .then(|| Vector::dictionary(codes.to_vec().into(), dictionary.clone(), validity))
        }
        values => Some(Vector::flat(pick(values, codes)?, validity)),
    }
}

/// Returns the values at `positions`; `None` if one is out of bounds.
fn pick(values: &Flat, positions: &[u32]) -> Option<Flat> {
    fn picked<T: Native>(values: &[T], positions: &[u32]) -> Option<Vec<T>> {
        let mut out = Vec::with_capacity(positions.len());
        look_up(values, positions, &mut out).then_some(out)
    }
    Some(map_fixed_width!(values, values => picked(values, positions)?, other => other.take(positions)))
}

/// Decodes `count` values in PLAIN encoding; `None` if the page ends before.
fn plain_values(bytes: &Buffer, start: usize, count: usize, decoding: &Decoding) -> Option<Flat> {
    use PhysicalType as P;
    macro_rules! narrowed {
        ($t:ty) => {
            <$t>::into_flat(native::<i32>(bytes, start, count)?.iter().map(|&v| v as $t).collect::<Vec<_>>().into())
        };
    }
    macro_rules! decimals {
        ($t:ty, $width:expr) => {{
            let end = start.checked_add(count.checked_mul($width)?)?;
            let values = bytes.get(start..end)?.chunks_exact($width).map(|v| big_endian(v) as $t);
            <$t>::into_flat(values.collect::<Vec<_>>().into())
        }};
    }
    Some(match (decoding.stored, decoding.physical) {
        (Stored::Bool, _) => {
            let packed = bytes.get(start..start.checked_add(count.div_ceil(8))?)?;
            let bits = (0..count).map(|i| packed[i / 8] >> (i % 8) & 1);
            Flat::Bool(bits.collect::<Vec<u8>>().into())
        }
        (Stored::I32, P::I8) => narrowed!(i8),
        (Stored::I32, P::I16) => narrowed!(i16),
        (Stored::I32, P::U8) => narrowed!(u8),
        (Stored::I32, P::U16) => narrowed!(u16),
        (Stored::I32, P::U32) => Flat::U32(native(bytes, start, count)?),
        (Stored::I32, _) => Flat::I32(native(bytes, start, count)?),
        (Stored::I64, P::U64) => Flat::U64(native(bytes, start, count)?),
        (Stored::I64, _) => Flat::I64(native(bytes, start, count)?),
        (Stored::F32, _) => Flat::F32(native(bytes, start, count)?),
        (Stored::F64, _) => Flat::F64(native(bytes, start, count)?),
        (Stored::Bytes, _) => Flat::Str(length_prefixed_strings(bytes, start, count)?),
        (Stored::FixedBytes(width), _) => Flat::Str(fixed_width_strings(bytes, start, width, count)?),
        (Stored::Interval, _) => Flat::Str(fixed_width_strings(bytes, start, INTERVAL_BYTES, count)?),
        (Stored::Uuid, _) => {
            let end = start.checked_add(count.checked_mul(UUID_BYTES)?)?;
            Flat::Str(uuid_texts(bytes.get(start..end)?.chunks_exact(UUID_BYTES)))
        }
        (Stored::FixedDecimal(width), P::I32) => decimals!(i32, width),
        (Stored::FixedDecimal(width), P::I64) => decimals!(i64, width),
        (Stored::FixedDecimal(width), _) => decimals!(i128, width),
    })
}

/// Returns the memory of `count` PLAIN-encoded values that aren't stored in the page or can't stay there. An invalid
/// count gives no more than could be in the page.
fn bytes_apart(bytes: &Buffer, start: usize, count: usize, decoding: &Decoding) -> usize {
    let stored_bytes = match decoding.stored {
        Stored::Bool => return count.min(bytes.len() * 8),
        Stored::I32 | Stored::F32 | Stored::Bytes => 4,
        Stored::I64 | Stored::F64 => 8,
        Stored::FixedBytes(width) | Stored::FixedDecimal(width) => width.max(1),
        Stored::Interval => INTERVAL_BYTES,
        Stored::Uuid => {
            return count.min(bytes.len() / UUID_BYTES) * (decoding.physical.width_bytes() + UUID_TEXT_BYTES);
        }
    };
    let width = decoding.physical.width_bytes();
    let is_as_stored =
        width == stored_bytes && matches!(decoding.stored, Stored::I32 | Stored::F32 | Stored::I64 | Stored::F64);
    let is_aligned = (bytes.as_ptr().addr() + start).is_multiple_of(stored_bytes);
    if is_as_stored && is_aligned { 0 } else { count.min(bytes.len() / stored_bytes) * width }
}

/// Returns little-endian values: the page's own bytes if they are aligned, otherwise a copy.
fn native<T: Native>(bytes: &Buffer, start: usize, count: usize) -> Option<ScalarBuffer<T>> {
    let length = count.checked_mul(size_of::<T>())?;
    if start.checked_add(length)? > bytes.len() {
        return None;
    }
    let slice = bytes.slice_with_length(start, length);
    let aligned = slice.as_ptr().align_offset(align_of::<T>()) == 0;
    // An Arrow buffer made from a slice of bytes is aligned for every type.
    let buffer = if aligned { slice } else { Buffer::from_slice_ref(slice.as_slice()) };
    Some(ScalarBuffer::new(buffer, 0, count))
}

fn big_endian(bytes: &[u8]) -> i128 {
    let sign = if bytes[0] & 0x80 == 0 { 0 } else { 0xFF };
    let mut wide = [sign; 16];
    wide[16 - bytes.len()..].copy_from_slice(bytes);
    i128::from_be_bytes(wide)
}

/// Returns true if all values are in `range`, which belongs to this type.
fn within(flat: &Flat, range: ValueRange) -> bool {
    fn check<T: Native + PartialOrd + TryFrom<i128>>(values: &[T], range: ValueRange) -> bool {
        match (T::try_from(range.min), T::try_from(range.max)) {
            (Ok(min), Ok(max)) => all_within(values, min, max),
            _ => false,
        }
    }
    match flat {
        Flat::I8(values) => check(values, range),
        Flat::I16(values) => check(values, range),
        Flat::I32(values) => check(values, range),
        Flat::I64(values) => check(values, range),
        Flat::I128(values) => check(values, range),
        Flat::U8(values) => check(values, range),
        Flat::U16(values) => check(values, range),
        Flat::U32(values) => check(values, range),
        Flat::U64(values) => check(values, range),
        _ => true,
    }
}

/// Returns true if all strings are UTF-8. `bytes` contain them and what is between; if all are ASCII, this is quick.
fn is_utf8(bytes: &[u8], strings: &StrColumn) -> bool {
    bytes.is_ascii() || strings.iter().all(|string| string.is_ascii() || std::str::from_utf8(string).is_ok())
}

/// Concatenates the rows of several vectors. Codes of a common dictionary stay codes; the bytes of strings are shared.
fn concat(parts: &[Vector]) -> Vector {
    let validity = concatenated_validity(parts);
    if let Some((_, dictionary)) = parts[0].as_dictionary() {
        let codes: Option<Vec<&[u32]>> = parts
            .iter()
            .map(|part| part.as_dictionary().filter(|(_, other)| other.id() == dictionary.id()).map(|(codes, _)| codes))
            .collect();
        if let Some(codes) = codes {
            return Vector::dictionary(codes.concat().into(), dictionary.clone(), validity);
        }
    }
    let flats: Vec<Flat> = parts.iter().map(Vector::to_flat).collect();
    let flat = match parts[0].physical() {
        PhysicalType::Str => {
            Flat::Str(concat_strings(&flats.iter().map(|flat| flat.strings().clone()).collect::<Vec<_>>()))
        }
        physical => concatenated_values(&flats, physical),
    };
    Vector::flat(flat, validity)
}
