//! One Parquet file: its footer, checked once, and what the reader needs to know about each column chunk.
//!
//! Everything in a footer is untrusted: byte ranges are checked against the file, page locations against the chunk,
//! and the parser of the metadata runs behind a guard that turns a panic into an error.

use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema};
use godwit_catalog::as_view_type;
use godwit_common::{Error, MemoryTag, Result};
use godwit_io::Files;
use godwit_memory::{BufferManager, Reservation};
use godwit_types::SqlType;
use godwit_vector::sql::field_of;
use godwit_vector::{ColumnType, PhysicalType};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{Compression, Encoding, LogicalType, Repetition, Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader};
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};
use parquet::schema::types::{ColumnDescPtr, ColumnDescriptor, ColumnPath, SchemaDescriptor};

use crate::config::{BUFFER_STEP_BYTES, CHUNK_READ_BYTES_MAX};
use crate::file::{FileBytes, guarded};
use crate::fixed_bytes::{INTERVAL_BYTES, UUID_BYTES};
use crate::footer_shape::check_footer;
use crate::page::Codec;

const MAGIC: &[u8; 4] = b"PAR1";
const ENCRYPTED_MAGIC: &[u8; 4] = b"PARE";
/// Maximum length of fixed-length values: a chunk of them has to fit into memory, including NULLs, which take as much.
const FIXED_BYTES_MAX: i32 = 16 << 10;
/// Length of the metadata and magic number at the end of a file.
const TAIL_BYTES: u64 = 8;

/// A file with its footer.
pub(crate) struct ParquetFile {
    /// The file.
    pub bytes: FileBytes,
    /// Footer and schema, as required by the Arrow reader.
    pub arrow: ArrowReaderMetadata,
    /// Columns, by field of the schema.
    pub columns: Vec<FileColumn>,
    /// Rows per row group.
    pub row_group_rows: Vec<usize>,
    /// Length of the footer.
    pub footer_bytes: u64,
    /// Memory of the footer with its page index.
    _memory: Reservation,
}

/// A top-level column of a file.
pub(crate) struct FileColumn {
    /// Name and Arrow type; strings and binaries as views.
    pub field: Field,
    /// First leaf column in the Parquet schema.
    pub leaf: usize,
    /// How its pages are decoded; `None`: by the Arrow reader.
    pub decoding: Option<Decoding>,
}

/// The storage of a flat column's values in pages, and the physical type that they become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Decoding {
    /// The stored type.
    pub stored: Stored,
    /// The decoded type.
    pub physical: PhysicalType,
    /// True if the column may hold NULL, so pages have definition levels.
    pub optional: bool,
    /// True if values must be UTF-8.
    pub text: bool,
}

/// Physical types of Parquet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Bits.
    Bool,
    /// 32-bit integers.
    I32,
    /// 64-bit integers.
    I64,
    /// Singles.
    F32,
    /// Doubles.
    F64,
    /// Length-prefixed bytes.
    Bytes,
    /// This many bytes each.
    FixedBytes(usize),
    /// UUIDs, which become texts.
    Uuid,
    /// Intervals, bytes in pages, which become Arrow's when they are read.
    Interval,
    /// Big-endian two's complement integers of this many bytes.
    FixedDecimal(usize),
}

/// Location of a column's pages in a row group.
pub(crate) struct ChunkLocation {
    /// The column.
    pub column: ColumnPath,
    /// First byte: the dictionary page, or the first data page.
    pub start: u64,
    /// End of the last page.
    pub end: u64,
    /// The compression of pages.
    pub compression: Compression,
    /// Rows of the row group.
    pub rows: usize,
    /// Data pages, if the file has an offset index.
    pub pages: Option<Vec<PageSpan>>,
}

impl ChunkLocation {
    /// Returns true if readers of rows fetch all of it at once.
    pub(crate) fn is_read_whole(&self) -> bool {
        self.pages.is_none() && self.end - self.start <= CHUNK_READ_BYTES_MAX
    }
}

/// A column of a row group that this crate decodes, or some of its rows.
pub(crate) struct ColumnPart {
    /// The file.
    pub file: FileBytes,
    /// Location of the column.
    pub chunk: ChunkLocation,
    /// How its values are stored.
    pub decoding: Decoding,
    /// The rows that will be read, as far as known: pages are read along with others only for those.
    pub rows: Range<usize>,
}

/// A data page in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageSpan {
    /// Offset of its header.
    pub offset: u64,
    /// Header and data.
    pub bytes: usize,
    /// First row, counted in the row group.
    pub first_row: usize,
}

impl ParquetFile {
    /// Opens a file and reads its footer, which is accounted for with `memory`.
    pub(crate) fn open(files: &dyn Files, path: &Path, memory: &BufferManager) -> Result<Self> {
        let bytes = FileBytes::open(files, path, "Parquet")?;
        let footer = check_frame(&bytes)?;
        let footer_bytes = footer.end - footer.start;
        let (footer, _footer_memory) = read_footer(&bytes, footer, memory)?;
        let decoded = || guard(&bytes, || ParquetMetaDataReader::decode_metadata(&footer));
        let metadata = decoded()?;
        let row_group_rows = check_row_groups(&bytes, &metadata)?;
        let metadata = match with_page_index(&bytes, metadata)? {
            Some(metadata) => metadata,
            None => decoded()?,
        };
        let arrow = guard(&bytes, || ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::new()))?;
        let metadata = arrow.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let columns = file_columns(arrow.schema(), schema).map_err(|error| error.context(path.display()))?;
        let memory = memory.reserve(metadata.memory_size(), MemoryTag::Reader);
        let memory = memory.map_err(|error| error.context(format!("the footer of {}", path.display())))?;
        Ok(Self { bytes, arrow, columns, row_group_rows, footer_bytes, _memory: memory })
    }

    /// The footer.
    pub(crate) fn metadata(&self) -> &Arc<ParquetMetaData> {
        self.arrow.metadata()
    }

    /// Number of rows in all row groups.
    pub(crate) fn rows(&self) -> u64 {
        self.row_group_rows.iter().map(|&rows| rows as u64).sum()
    }

    /// Returns the chunk of a flat column in a row group.
    pub(crate) fn chunk(&self, row_group: usize, column: usize) -> Result<ChunkLocation> {
        let leaf = self.columns[column].leaf;
        let chunk = self.metadata().row_group(row_group).column(leaf);
        let (start, end) = chunk_range(&self.bytes, chunk)?;
        let rows = self.row_group_rows[row_group];
        let pages = self
            .metadata()
            .offset_index()
            .and_then(|index| index.get(row_group)?.get(leaf))
            .and_then(|index| page_spans(index.page_locations(), start, end, rows));
        let (column, compression) = (chunk.column_path().clone(), chunk.compression());
        Ok(ChunkLocation { column, start, end, compression, rows, pages })
    }

    /// Returns where the dictionary page of a column is in a later row group, if it could be decompressed along with
    /// that of `row_group`.
    pub(crate) fn later_dictionary(&self, row_group: usize, later: usize, column: usize) -> Option<Range<u64>> {
        self.decoding(later, column)?;
        let chunk = |row_group| self.metadata().row_group(row_group).column(self.columns[column].leaf);
        let (this, later) = (chunk(row_group), chunk(later));
        let (start, end) = chunk_range(&self.bytes, later).ok()?;
        let data = u64::try_from(later.data_page_offset()).ok()?;
        let codec = this.compression();
        let is_faster = Codec::is_faster_together(codec) && codec == later.compression();
        (start < data && data <= end && is_faster).then_some(start..data)
    }

    /// Returns rows of a column of a row group; `None` if this crate doesn't decode it.
    pub(crate) fn part(&self, row_group: usize, column: usize, rows: Range<usize>) -> Result<Option<ColumnPart>> {
        let Some(decoding) = self.decoding(row_group, column) else { return Ok(None) };
        let chunk = self.chunk(row_group, column)?;
        Ok(Some(ColumnPart { file: self.bytes.clone(), chunk, decoding, rows }))
    }

    /// Returns the decompressed size of a column's pages in a row group, according to the footer.
    pub(crate) fn decompressed_bytes(&self, row_group: usize, column: usize) -> u64 {
        let chunk = self.metadata().row_group(row_group).column(self.columns[column].leaf);
        chunk.uncompressed_size().try_into().unwrap_or(0)
    }

    /// Returns true if values of a column may have any length: texts, and types that the Arrow reader decodes.
    pub(crate) fn is_of_any_length(&self, row_group: usize, column: usize) -> bool {
        self.decoding(row_group, column).is_none_or(|decoding| decoding.physical == PhysicalType::Str)
    }

    /// Approximates the memory for reading a column of a row group page by page: the largest page and the dictionary,
    /// decompressed, with views of all strings.
    pub(crate) fn reader_bytes(&self, row_group: usize, column: usize) -> u64 {
        let Ok(location) = self.chunk(row_group, column) else { return 0 };
        let all_bytes = location.end - location.start;
        let read_bytes = match &location.pages {
            Some(pages) => {
                let largest = pages.iter().map(|page| page.bytes as u64).max().unwrap_or(0);
                largest + (pages[0].offset - location.start)
            }
            None => all_bytes,
        };
        let ratio = self.decompressed_bytes(row_group, column) as f64 / all_bytes.max(1) as f64;
        let bytes = (read_bytes as f64 * ratio.max(1.0)) as u64 + 2 * BUFFER_STEP_BYTES as u64;
        if self.is_of_any_length(row_group, column) { 2 * bytes } else { bytes }
    }

    /// Returns how a column is decoded in a row group; `None`: by the Arrow reader, due to its type or encodings.
    pub(crate) fn decoding(&self, row_group: usize, column: usize) -> Option<Decoding> {
        let file_column = &self.columns[column];
        // Old writers list BIT_PACKED for levels that don't exist.
        #[allow(deprecated, reason = "old files have it")]
        let known = |encoding: Encoding| match encoding {
            Encoding::PLAIN | Encoding::RLE | Encoding::PLAIN_DICTIONARY | Encoding::RLE_DICTIONARY => true,
            Encoding::BIT_PACKED => !file_column.decoding.is_some_and(|decoding| decoding.optional),
            _ => false,
        };
        let chunk = self.metadata().row_group(row_group).column(file_column.leaf);
        file_column.decoding.filter(|_| chunk.encodings().all(known))
    }
}

/// Calls the Parquet crate; an error or a panic becomes an error about the file.
pub(crate) fn guard<T>(file: &FileBytes, call: impl FnOnce() -> parquet::errors::Result<T>) -> Result<T> {
    match guarded(call).map_err(|error| error.context(file.path().display()))? {
        Ok(value) => Ok(value),
        Err(ParquetError::NYI(what)) => Err(Error::unsupported(format!("{}: {what}", file.path().display()))),
        Err(ParquetError::External(inner)) if inner.is::<io::Error>() => {
            Err(file.read_error(inner.downcast_ref().expect("just checked")))
        }
        Err(error) => Err(file.corrupt(error.to_string().trim_start_matches("Parquet error: "))),
    }
}

/// Checks the magic numbers and the length of the footer, for clear errors. Returns where the footer is.
fn check_frame(file: &FileBytes) -> Result<Range<u64>> {
    let path = file.path().display();
    let no_parquet = || {
        Error::user(format!("{path} is not a Parquet file"))
            .with_hint("Godwit reads Parquet, Arrow, CSV and JSON files")
    };
    let encrypted = || Error::unsupported(format!("{path}: encrypted Parquet files"));
    let truncated = || {
        Error::corrupt(format!("{path}: the file is truncated: it doesn't end with a Parquet footer"))
            .with_hint("copy or write the file again; maybe its writer wasn't closed")
    };
    if file.bytes() < MAGIC.len() as u64 {
        return Err(no_parquet());
    }
    let mut tail = [0u8; TAIL_BYTES as usize];
    if file.bytes() >= MAGIC.len() as u64 + TAIL_BYTES {
        file.read_at(&mut tail, file.bytes() - TAIL_BYTES)?;
    }
    // A valid end of the file suffices, and it is read with the footer. Only for other files is the beginning checked.
    match &tail[4..] {
        end if end == MAGIC => {}
        end if end == ENCRYPTED_MAGIC => return Err(encrypted()),
        _ => {
            let mut head = [0u8; 4];
            file.read_at(&mut head, 0)?;
            return Err(match &head {
                head if head == MAGIC => truncated(),
                head if head == ENCRYPTED_MAGIC => encrypted(),
                _ => no_parquet(),
            });
        }
    }
    let metadata_bytes = u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]) as u64;
    if metadata_bytes + TAIL_BYTES + MAGIC.len() as u64 > file.bytes() {
        return Err(Error::corrupt(format!(
            "{path}: the footer claims {metadata_bytes} bytes, but the file has only {}",
            file.bytes()
        )));
    }
    let end = file.bytes() - TAIL_BYTES;
    Ok(end - metadata_bytes..end)
}

/// Reads the footer, if it can be parsed in time and without overflowing the stack.
fn read_footer(file: &FileBytes, footer: Range<u64>, memory: &BufferManager) -> Result<(Vec<u8>, Reservation)> {
    let bytes = usize::try_from(footer.end - footer.start).map_err(|_| file.corrupt("its footer is too long"))?;
    let context = |error: Error| error.context(file.path().display());
    let reservation = memory.reserve(bytes, MemoryTag::Reader).map_err(context)?;
    let mut buffer = vec![0; bytes];
    file.read_at(&mut buffer, footer.start)?;
    check_footer(&buffer).map_err(context)?;
    Ok((buffer, reservation))
}

/// Adds the page index to a footer, if the file has one; `None` if the index is invalid, as it isn't required.
fn with_page_index(file: &FileBytes, metadata: ParquetMetaData) -> Result<Option<ParquetMetaData>> {
    let metadata = guard(file, || {
        let reader = ParquetMetaDataReader::new_with_metadata(metadata);
        let mut reader = reader.with_page_index_policy(PageIndexPolicy::Optional);
        match reader.read_page_indexes(file) {
            Err(ParquetError::External(error)) => Err(ParquetError::External(error)),
            Err(_) => Ok(None),
            Ok(()) => reader.finish().map(Some),
        }
    })?;
    let is_right =
        |metadata: &ParquetMetaData| metadata.offset_index().is_none_or(|index| has_all_pages(file, metadata, index));
    Ok(metadata.filter(is_right))
}

/// Returns true if the pages of an index are within their chunks.
fn has_all_pages(file: &FileBytes, metadata: &ParquetMetaData, index: &[Vec<OffsetIndexMetaData>]) -> bool {
    index.len() == metadata.num_row_groups()
        && metadata.row_groups().iter().zip(index).all(|(group, index)| {
            let rows = group.num_rows() as usize;
            index.len() == group.num_columns()
                && group.columns().iter().zip(index).all(|(chunk, index)| {
                    let range = chunk_range(file, chunk);
                    let pages =
                        range.ok().and_then(|(start, end)| page_spans(index.page_locations(), start, end, rows));
                    rows == 0 || pages.is_some()
                })
        })
}

/// Returns the rows per row group, if row groups and their chunks are plausible.
fn check_row_groups(file: &FileBytes, metadata: &ParquetMetaData) -> Result<Vec<usize>> {
    let leaves = metadata.file_metadata().schema_descr().num_columns();
    let mut rows = Vec::with_capacity(metadata.num_row_groups());
    for (index, group) in metadata.row_groups().iter().enumerate() {
        if group.num_columns() != leaves {
            return Err(file.corrupt(format!("row group {index} has {} of {leaves} columns", group.num_columns())));
        }
        // Positions of rows in a row group are 32 bits wide.
        let group_rows = u32::try_from(group.num_rows())
            .map_err(|_| file.corrupt(format!("row group {index} claims {} rows", group.num_rows())))?;
        rows.push(group_rows as usize);
        for chunk in group.columns() {
            if chunk.file_path().is_some() {
                return Err(Error::unsupported(format!("{}: columns in other files", file.path().display())));
            }
            chunk_range(file, chunk)?;
        }
    }
    Ok(rows)
}

/// Returns the range of a chunk's pages.
fn chunk_range(file: &FileBytes, chunk: &ColumnChunkMetaData) -> Result<(u64, u64)> {
    // Some writers use 0 for a missing dictionary.
    let data = chunk.data_page_offset();
    let start = chunk.dictionary_page_offset().filter(|&offset| 0 < offset && offset < data).unwrap_or(data);
    let range = u64::try_from(start).ok().zip(u64::try_from(chunk.compressed_size()).ok());
    match range {
        Some((start, bytes)) if start.checked_add(bytes).is_some_and(|end| end <= file.bytes()) => {
            Ok((start, start + bytes))
        }
        _ => Err(file.corrupt(format!("column {} lies outside of the file", chunk.column_path().string()))),
    }
}

/// Returns the pages of an offset index, if they fit the chunk.
fn page_spans(locations: &[PageLocation], start: u64, end: u64, rows: usize) -> Option<Vec<PageSpan>> {
    let mut spans: Vec<PageSpan> = Vec::with_capacity(locations.len());
    for location in locations {
        let span = PageSpan {
            offset: u64::try_from(location.offset).ok()?,
            bytes: usize::try_from(location.compressed_page_size).ok()?,
            first_row: usize::try_from(location.first_row_index).ok()?,
        };
        let (least_offset, row_is_next) = match spans.last() {
            Some(last) => (last.offset + last.bytes as u64, span.first_row > last.first_row),
            None => (start, span.first_row == 0),
        };
        let span_end = span.offset.checked_add(span.bytes as u64)?;
        if span.offset < least_offset || span_end > end || !row_is_next || span.first_row >= rows {
            return None;
        }
        spans.push(span);
    }
    (!spans.is_empty()).then_some(spans)
}

/// Returns the fields of the Arrow schema with their first leaves.
fn file_columns(arrow: &Schema, parquet: &SchemaDescriptor) -> Result<Vec<FileColumn>> {
    let roots = parquet.root_schema().get_fields();
    let too_long = |leaf: &&ColumnDescPtr| leaf.type_length() > FIXED_BYTES_MAX;
    if let Some(leaf) = parquet.columns().iter().find(too_long) {
        let (name, bytes) = (leaf.path().string(), leaf.type_length());
        return Err(Error::unsupported(format!("the column {name}, whose values have {bytes} bytes each")));
    }
    if roots.len() != arrow.fields().len() {
        return Err(Error::corrupt("the Arrow schema in the file differs from its Parquet schema"));
    }
    arrow
        .fields()
        .iter()
        .enumerate()
        .map(|(index, field)| {
            let leaf = (0..parquet.num_columns())
                .find(|&leaf| parquet.get_column_root_idx(leaf) == index)
                .ok_or_else(|| Error::unsupported(format!("the column {}, which has no values", field.name())))?;
            // Columns that are all NULL are stored as integers.
            let data_type = match field.data_type() {
                DataType::Null => DataType::Int32,
                other => as_view_type(other),
            };
            let field = Field::new(field.name(), data_type, field.is_nullable());
            let decoding = if roots[index].is_primitive() { decoding_of(&field, parquet, leaf) } else { None };
            let field = match decoding.map(|decoding| decoding.stored) {
                Some(Stored::Uuid) => field_of(field.name(), &SqlType::Uuid, field.is_nullable())?,
                Some(Stored::Interval) => field_of(field.name(), &SqlType::Interval, field.is_nullable())?,
                _ => field,
            };
            Ok(FileColumn { field, leaf, decoding })
        })
        .collect()
}

/// Returns how a flat column is decoded; `None` for combinations that the Arrow reader converts.
fn decoding_of(field: &Field, parquet: &SchemaDescriptor, leaf: usize) -> Option<Decoding> {
    let descriptor = parquet.column(leaf);
    let optional = match descriptor.self_type().get_basic_info().repetition() {
        Repetition::REQUIRED => false,
        Repetition::OPTIONAL => true,
        Repetition::REPEATED => return None,
    };
    let physical = ColumnType::new(field.data_type().clone(), optional).ok()?.physical;
    let logical = field.data_type();
    let width = usize::try_from(descriptor.type_length()).unwrap_or(0);
    use {DataType as D, PhysicalType as P, TypeOfParquet as T};
    let is_decimal = matches!(logical, D::Decimal32(..) | D::Decimal64(..) | D::Decimal128(..));
    let stored = match (descriptor.physical_type(), physical) {
        (T::BOOLEAN, P::Bool) => Stored::Bool,
        (T::INT32, P::I8 | P::I16 | P::I32 | P::U8 | P::U16 | P::U32) => Stored::I32,
        (T::INT64, P::I64 | P::U64) if same_ticks(logical, &descriptor) => Stored::I64,
        (T::FLOAT, P::F32) => Stored::F32,
        (T::DOUBLE, P::F64) => Stored::F64,
        (T::BYTE_ARRAY, P::Str) => Stored::Bytes,
        (T::FIXED_LEN_BYTE_ARRAY, P::Str) if is_uuid(&descriptor) && width == UUID_BYTES => Stored::Uuid,
        (T::FIXED_LEN_BYTE_ARRAY, P::Str) if matches!(logical, D::FixedSizeBinary(_)) => Stored::FixedBytes(width),
        (T::FIXED_LEN_BYTE_ARRAY, P::Nested) if matches!(logical, D::Interval(_)) && width == INTERVAL_BYTES => {
            return Some(Decoding { stored: Stored::Interval, physical: P::Str, optional, text: false });
        }
        (T::FIXED_LEN_BYTE_ARRAY, P::I32 | P::I64 | P::I128) if is_decimal && (1..=16).contains(&width) => {
            Stored::FixedDecimal(width)
        }
        _ => return None,
    };
    Some(Decoding { stored, physical, optional, text: matches!(logical, D::Utf8View) })
}

use Type as TypeOfParquet;

fn is_uuid(descriptor: &ColumnDescriptor) -> bool {
    matches!(descriptor.logical_type_ref(), Some(LogicalType::Uuid))
}

/// Returns false for timestamps whose unit in the Arrow schema differs from the file's.
fn same_ticks(logical: &DataType, descriptor: &ColumnDescriptor) -> bool {
    use arrow_schema::TimeUnit as U;
    use parquet::basic::{ConvertedType as C, LogicalType as L, TimeUnit as P};
    let unit = match logical {
        DataType::Timestamp(unit, _) | DataType::Time64(unit) => unit,
        DataType::Duration(_) | DataType::Date64 => return false,
        _ => return true,
    };
    let stored = match descriptor.logical_type_ref() {
        Some(L::Timestamp(timestamp)) => Some(timestamp.unit),
        Some(L::Time(time)) => Some(time.unit),
        _ => None,
    };
    match (stored, descriptor.converted_type()) {
        (Some(P::MILLIS), _) | (None, C::TIMESTAMP_MILLIS) => *unit == U::Millisecond,
        (Some(P::MICROS), _) | (None, C::TIMESTAMP_MICROS | C::TIME_MICROS) => *unit == U::Microsecond,
        (Some(P::NANOS), _) => *unit == U::Nanosecond,
        _ => false,
    }
}
