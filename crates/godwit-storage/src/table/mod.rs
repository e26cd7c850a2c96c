//! The read-optimized part of a table: row groups of encoded columns over blocks, immutable.
//!
//! ```text
//!   Main ─┬─ MainColumn   name, type, summary, ordered dictionary of a text column          (dictionary.rs)
//!         └─ RowGroup     at most 131,072 rows
//!              └─ Segment     a column of it
//!                   └─ StoredPart   header (rows, bounds, encoding) + where the body lies in a ByteStream
//! ```
//!
//! A text column's part holds either codes of the table-wide dictionary or strings; its header says which. A new
//! version of a table shares unchanged parts with the previous one. `load/` creates versions; `metadata.rs` defines
//! their form in the file.
//!
//! Source: thesis 2.2 and 5.2.

mod dictionary;
mod forms;
mod key_index;
mod load;
mod metadata;
mod types;
mod windows;

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use arrow_schema::Field;
use godwit_common::{Error, Result};
use godwit_encoding::{Part, PartContent, PartHeader};
use godwit_memory::BufferManager;
use godwit_trace::{ObjectPart, TracedObject};
use godwit_vector::{SharedBytes, ValueRange, Vector};

pub use dictionary::ColumnDictionary;
pub use forms::{Form, FormBytes};
pub use key_index::{KeyIndexes, WindowSet};
pub use load::{Load, LoadWorker};
pub use metadata::{read_fields, write_fields};
pub use types::stored_type;

use crate::block::Block;
use crate::byte_stream::ByteStream;
use forms::Forms;
use windows::WindowBounds;

/// Parts are cut at multiples of this many rows, which is what scans decode at once.
pub const WINDOW_ROWS: usize = 2_048;

/// One version of a table's main part.
#[derive(Clone)]
pub struct Main {
    /// The columns.
    pub columns: Vec<MainColumn>,
    /// The rows.
    pub groups: Vec<Arc<RowGroup>>,
}

/// A column, over all row groups.
#[derive(Clone)]
pub struct MainColumn {
    /// Name, type, and nullability.
    pub field: Field,
    /// Statistics of the values.
    pub summary: ColumnSummary,
    /// The strings that codes stand for; there is one if a part has codes.
    pub dictionary: Option<Arc<ColumnDictionary>>,
}

/// Statistics of a column's values. Bounds stay valid when rows are deleted.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnSummary {
    /// Number of NULLs.
    pub nulls: u64,
    /// Upper bound on the number of distinct values; exact if all parts have codes.
    pub distinct: u64,
    /// Bounds of integers, decimals, dates and times.
    pub range: Option<ValueRange>,
    /// Bounds of strings.
    pub strings: Option<(Vec<u8>, Vec<u8>)>,
    /// Bytes of all strings.
    pub string_bytes: u64,
}

/// Some rows of a table.
pub struct RowGroup {
    /// Number of rows.
    pub rows: u32,
    /// By column.
    pub segments: Vec<Segment>,
    /// Where keys are; shared with row groups that have the same rows in other codes.
    pub key_indexes: Arc<KeyIndexes>,
}

/// A column of a row group.
#[derive(Clone)]
pub struct Segment {
    /// The parts, cut at multiples of [`WINDOW_ROWS`].
    pub parts: Vec<StoredPart>,
    windows: Arc<WindowBounds>,
    forms: Arc<Forms>,
}

/// An encoded part and where it is stored.
#[derive(Clone)]
pub struct StoredPart {
    /// Rows, bounds, encoding.
    pub header: PartHeader,
    /// Row of the row group with which it begins.
    pub first_row: u32,
    pub(crate) stream: Arc<ByteStream>,
    /// Where the body begins in the stream.
    pub(crate) offset: u64,
}

/// A part with its body in memory.
pub struct OpenPart {
    header: PartHeader,
    first_row: u32,
    body: SharedBytes,
}

impl Main {
    /// A table without rows.
    pub fn empty(fields: &[Field]) -> Result<Self> {
        let columns = fields.iter().map(|field| {
            types::check(field)?;
            Ok(MainColumn { field: field.clone(), summary: ColumnSummary::default(), dictionary: None })
        });
        Ok(Self { columns: columns.collect::<Result<_>>()?, groups: Vec::new() })
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.groups.iter().map(|group| group.rows as u64).sum()
    }

    /// All blocks, each once.
    pub fn blocks(&self) -> Vec<Arc<Block>> {
        let mut seen = HashSet::new();
        let mut blocks = Vec::new();
        for stream in self.streams() {
            for extent in stream.extents() {
                if seen.insert(Arc::as_ptr(&extent.block)) {
                    blocks.push(extent.block.clone());
                }
            }
        }
        blocks
    }

    /// All streams, each once.
    fn streams(&self) -> Vec<Arc<ByteStream>> {
        let mut seen = HashSet::new();
        let dictionaries = self.columns.iter().filter_map(|column| column.dictionary.as_ref());
        let segments = self.groups.iter().flat_map(|group| &group.segments).flat_map(|segment| &segment.parts);
        let parts = dictionaries.flat_map(|dictionary| dictionary.parts()).chain(segments);
        parts.map(|part| &part.stream).filter(|stream| seen.insert(Arc::as_ptr(stream))).cloned().collect()
    }

    /// Passes on some columns of a row group, in windows of at most [`WINDOW_ROWS`] rows.
    pub fn for_each_window(
        &self,
        group: usize,
        columns: &[usize],
        memory: &BufferManager,
        mut visit: impl FnMut(&[Vector], usize) -> Result<()>,
    ) -> Result<()> {
        let rows = self.groups[group].rows as usize;
        for window in 0..rows.div_ceil(WINDOW_ROWS) {
            let vectors = self.window(group, columns, window, memory)?;
            visit(&vectors, WINDOW_ROWS.min(rows - window * WINDOW_ROWS))?;
        }
        Ok(())
    }

    /// Some columns of a window of a row group: of [`WINDOW_ROWS`] rows, or those that are left.
    pub fn window(
        &self,
        group: usize,
        columns: &[usize],
        window: usize,
        memory: &BufferManager,
    ) -> Result<Vec<Vector>> {
        let group = &self.groups[group];
        let start = window * WINDOW_ROWS;
        let rows = start..(group.rows as usize).min(start + WINDOW_ROWS);
        let read = |&index: &usize| {
            let (segment, column) = (&group.segments[index], &self.columns[index]);
            let open = segment.open_rows(&rows, memory)?;
            let first = open.rows().start;
            let values = open.part()?.decode(rows.start - first..rows.end - first)?;
            match column.dictionary.as_ref().filter(|_| segment.part_of(start).has_codes()) {
                Some(dictionary) => {
                    dictionary.load(memory)?.with_codes(&values).ok_or_else(|| corrupt("a code without a string"))
                }
                None => Ok(values),
            }
        };
        columns.iter().map(read).collect()
    }

    /// Removes row groups, given by their ascending numbers. The columns' summaries still count them, except for the
    /// number of NULLs.
    pub fn remove_groups(&mut self, numbers: &[usize]) {
        for &number in numbers.iter().rev() {
            let group = self.groups.remove(number);
            for (column, segment) in self.columns.iter_mut().zip(&group.segments) {
                column.summary.nulls -= segment.nulls().min(column.summary.nulls);
            }
        }
    }

    /// True if every part of the column has codes, or only NULLs.
    pub fn has_only_codes(&self, column: usize) -> bool {
        let mut parts = self.groups.iter().flat_map(|group| &group.segments[column].parts);
        parts.all(|part| part.has_codes() || part.header.nulls == part.header.rows)
    }
}

impl Segment {
    fn new(parts: Vec<StoredPart>) -> Self {
        Self { parts, windows: Arc::default(), forms: Arc::default() }
    }

    /// The part that contains a row of the row group.
    pub fn part_of(&self, row: usize) -> &StoredPart {
        let index = self.parts.partition_point(|part| part.first_row as usize <= row);
        &self.parts[index - 1]
    }

    /// The parts that contain some of these rows of the row group.
    pub fn parts_of(&self, rows: &Range<usize>) -> &[StoredPart] {
        let first = self.parts.partition_point(|part| part.first_row as usize <= rows.start);
        let end = self.parts.partition_point(|part| (part.first_row as usize) < rows.end);
        &self.parts[first.saturating_sub(1)..end]
    }

    /// Bounds of the integers, or of the codes, of all parts; `None` if there are no values, or of another type.
    pub fn range(&self) -> Option<ValueRange> {
        let ranges = self.parts.iter().filter_map(|part| part.header.range);
        ranges.reduce(|a, b| ValueRange { min: a.min.min(b.min), max: a.max.max(b.max) })
    }

    /// Rows that are NULL.
    pub fn nulls(&self) -> u64 {
        self.parts.iter().map(|part| part.header.nulls as u64).sum()
    }
}

impl StoredPart {
    /// True if its values are codes of the column's dictionary.
    pub fn has_codes(&self) -> bool {
        self.header.content == PartContent::Codes
    }

    /// Asks the system to read the body ahead.
    pub fn read_ahead(&self) {
        self.stream.read_ahead(self.offset..self.offset + self.header.body_bytes as u64);
    }

    /// Reads the body.
    pub fn open(&self, memory: &BufferManager) -> Result<OpenPart> {
        self.opened(self.header.clone(), self.first_row, 0, memory)
    }

    /// Reads the stored bytes of some rows of the row group, which begin a window of it; also those of other rows, if
    /// the encoding needs them.
    fn open_rows(&self, rows: &Range<usize>, memory: &BufferManager) -> Result<OpenPart> {
        match self.header.of_rows(&self.in_part(rows)) {
            Some((header, body)) => self.opened(header, rows.start as u32, body.start as u64, memory),
            None => self.open(memory),
        }
    }

    /// Asks the system to read ahead what [`open_rows`](Self::open_rows) will read.
    fn read_ahead_rows(&self, rows: &Range<usize>) {
        match self.header.of_rows(&self.in_part(rows)) {
            Some((_, body)) => self.stream.read_ahead(self.offset + body.start as u64..self.offset + body.end as u64),
            None => self.read_ahead(),
        }
    }

    /// Those of the rows of the row group that it contains, counted from its first; it must have the first of them.
    fn in_part(&self, rows: &Range<usize>) -> Range<usize> {
        let first = self.first_row as usize;
        rows.start - first..(rows.end - first).min(self.header.rows as usize)
    }

    /// `header` describes the part that begins after `skipped` bytes of the body.
    fn opened(&self, header: PartHeader, first_row: u32, skipped: u64, memory: &BufferManager) -> Result<OpenPart> {
        let start = self.offset + skipped;
        let body = self.stream.read(start..start + header.body_bytes as u64, memory)?;
        Ok(OpenPart { header, first_row, body: SharedBytes::new(body) })
    }
}

impl OpenPart {
    /// The part, to read from.
    pub fn part(&self) -> Result<Part<'_>> {
        Part::shared(&self.header, &self.body)
    }

    /// The header: what is known without the body.
    pub fn header(&self) -> &PartHeader {
        &self.header
    }

    /// The rows of the row group that it contains.
    pub fn rows(&self) -> Range<usize> {
        self.first_row as usize..(self.first_row + self.header.rows) as usize
    }

    /// Tells a memory trace that the body is a part of `segment`, whose first row is row `first_row` of its table.
    pub fn declare(&self, segment: &Segment, first_row: u64) {
        let Some(object) = segment.object() else { return };
        let before = segment.parts.iter().take_while(|part| part.first_row < self.first_row);
        let offset = before.map(|part| u64::from(part.header.body_bytes)).sum();
        let place = ObjectPart::of_bytes(self.body.as_ptr(), self.body.len(), offset)
            .with_entries(first_row + u64::from(self.first_row), self.header.rows.into());
        godwit_trace::declare(place, object.trace_key(), || TracedObject {
            rows: Some((first_row, segment.parts.iter().map(|part| u64::from(part.header.rows)).sum())),
            ..object.traced()
        });
    }
}

pub(crate) fn corrupt(what: &str) -> Error {
    Error::corrupt(format!("the metadata of a table is damaged: {what}"))
}
