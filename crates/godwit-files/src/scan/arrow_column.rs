//! Columns decoded by the Parquet crate's Arrow reader: nested types, and encodings without a decoder here.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{Array, ArrayRef};
use bytes::Bytes;
use godwit_common::{Error, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::ColumnReads;
use godwit_vector::{Vector, from_arrow};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};

use crate::config::HEADER_BYTES_MAX;
use crate::file::FileBytes;
use crate::footer::{ParquetFile, guard};
use crate::page::PageHeader;

/// Reads one column of one morsel, in ascending order of rows.
pub(crate) struct ArrowColumn {
    file: FileBytes,
    reader: ParquetRecordBatchReader,
    /// The reader's last batch, and the row of the row group where it begins.
    batch: Option<ArrayRef>,
    first_row: usize,
    memory: Reservation,
    reads: Arc<PageReads>,
    /// Number of values in the batches so far.
    decoded: u64,
}

impl ArrowColumn {
    /// Opens a reader of `rows` of a row group.
    pub(crate) fn open(
        file: &ParquetFile,
        row_group: usize,
        column: usize,
        rows: Range<usize>,
        batch_rows: usize,
        memory: &BufferManager,
    ) -> Result<Self> {
        let selection = RowSelection::from(vec![RowSelector::skip(rows.start), RowSelector::select(rows.len())]);
        let reads = Arc::<PageReads>::default();
        let reader = guard(&file.bytes, || {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(
                CheckedPages::new(file, row_group, column, &reads),
                file.arrow.clone(),
            );
            let mask = ProjectionMask::roots(builder.parquet_schema(), [column]);
            builder
                .with_row_groups(vec![row_group])
                .with_projection(mask)
                .with_row_selection(selection)
                .with_batch_size(batch_rows)
                .build()
        })?;
        let memory = memory.reserve(0, godwit_common::MemoryTag::Reader)?;
        let (file, batch, first_row, decoded) = (file.bytes.clone(), None, rows.start, 0);
        Ok(Self { file, reader, batch, first_row, memory, reads, decoded })
    }

    /// Returns the reads and the number of values decoded since the last call.
    pub(crate) fn take_counts(&mut self) -> (ColumnReads, u64) {
        let take = |count: &AtomicU64| count.swap(0, Ordering::Relaxed);
        let reads = ColumnReads { bytes: take(&self.reads.bytes), pages: take(&self.reads.pages), pages_cached: 0 };
        (reads, std::mem::take(&mut self.decoded))
    }

    /// Reads rows `row .. row + rows` of the row group, or those of them at `selected`.
    pub(crate) fn read(&mut self, row: usize, rows: usize, selected: Option<&[u32]>) -> Result<Vector> {
        let mut parts: Vec<ArrayRef> = Vec::new();
        let mut done = 0;
        while done < rows {
            let batch_rows = self.batch.as_ref().map_or(0, |batch| batch.len());
            let at = row + done;
            if at >= self.first_row + batch_rows {
                self.first_row += batch_rows;
                self.batch = Some(self.next_batch()?);
                continue;
            }
            let offset = at - self.first_row;
            let count = (batch_rows - offset).min(rows - done);
            parts.extend(self.batch.as_ref().map(|batch| batch.slice(offset, count)));
            done += count;
        }
        let array = match parts.len() {
            1 => parts.remove(0),
            _ => {
                let parts: Vec<&dyn Array> = parts.iter().map(|part| part.as_ref()).collect();
                arrow_select::concat::concat(&parts).map_err(|error| self.file.corrupt(error))?
            }
        };
        let vector = from_arrow(&array)?;
        Ok(match selected {
            Some(selected) => vector.take(selected),
            None => vector,
        })
    }

    fn next_batch(&mut self) -> Result<ArrayRef> {
        let Self { file, reader, .. } = self;
        let batch = guard(file, || Ok(reader.next().transpose()?))?;
        match batch {
            Some(batch) if batch.num_rows() > 0 => {
                self.decoded += batch.num_rows() as u64;
                self.memory.resize(batch.get_array_memory_size())?;
                Ok(batch.column(0).clone())
            }
            _ => Err(self.file.corrupt("a column has fewer values than rows")),
        }
    }
}

/// What the Parquet crate has read of a column: pages, and the bytes of these and of the headers it looked at.
#[derive(Default)]
struct PageReads {
    bytes: AtomicU64,
    pages: AtomicU64,
}

/// Bytes read at once to find the end of a page header.
const HEADER_STEP_BYTES: usize = 256;

/// Pages of a file for the Parquet crate, without headers that could keep it busy for hours: see
/// [`crate::footer_shape`]. With a page index, the crate requests whole pages; otherwise a reader of the header, and
/// then the bytes after it.
struct CheckedPages {
    file: FileBytes,
    /// Where the pages begin that may be requested as a whole, ascending.
    starts: Vec<u64>,
    reads: Arc<PageReads>,
}

impl CheckedPages {
    fn new(file: &ParquetFile, row_group: usize, column: usize, reads: &Arc<PageReads>) -> Self {
        let metadata = file.metadata();
        let schema = metadata.file_metadata().schema_descr();
        let leaves = (0..schema.num_columns()).filter(|&leaf| schema.get_column_root_idx(leaf) == column);
        let mut starts = Vec::new();
        for leaf in leaves {
            let chunk = metadata.row_group(row_group).column(leaf);
            let index = metadata.offset_index().and_then(|index| index.get(row_group)?.get(leaf));
            let pages = index.into_iter().flat_map(|index| index.page_locations()).map(|page| page.offset);
            let first = chunk.dictionary_page_offset().into_iter().chain([chunk.data_page_offset()]);
            starts.extend(pages.chain(first).filter_map(|offset| u64::try_from(offset).ok()));
        }
        starts.sort_unstable();
        Self { file: file.bytes.clone(), starts, reads: reads.clone() }
    }
}

/// Fails if a header at `start` shouldn't be parsed by the Parquet crate.
fn check_header(file: &FileBytes, start: u64) -> Result<()> {
    let left = usize::try_from(file.bytes().saturating_sub(start)).unwrap_or(usize::MAX);
    let most = left.min(HEADER_BYTES_MAX);
    let mut bytes = vec![0; HEADER_STEP_BYTES.min(most)];
    loop {
        // The crate may see the same error, which its own message will report.
        if file.read_at(&mut bytes, start).is_err() {
            return Ok(());
        }
        if PageHeader::parse(&bytes)?.is_some() {
            return Ok(());
        }
        if bytes.len() == most {
            return Err(Error::corrupt("a column ends inside a page header"));
        }
        bytes.resize((bytes.len() * 4).min(most), 0);
    }
}

impl Length for CheckedPages {
    fn len(&self) -> u64 {
        self.file.len()
    }
}

impl ChunkReader for CheckedPages {
    type T = HeaderReader;

    fn get_read(&self, start: u64) -> parquet::errors::Result<HeaderReader> {
        let input = self.file.get_read(start)?;
        Ok(HeaderReader { file: self.file.clone(), unchecked: Some(start), input, reads: self.reads.clone() })
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<Bytes> {
        if self.starts.binary_search(&start).is_ok() {
            check_header(&self.file, start).map_err(|error| ParquetError::General(error.message().to_owned()))?;
        }
        self.reads.pages.fetch_add(1, Ordering::Relaxed);
        self.reads.bytes.fetch_add(length as u64, Ordering::Relaxed);
        self.file.get_bytes(start, length)
    }
}

/// Reads a header, which is checked first. The crate also requests readers at other places, but doesn't read from them.
struct HeaderReader {
    file: FileBytes,
    /// Where the header begins, until it was checked.
    unchecked: Option<u64>,
    input: <FileBytes as ChunkReader>::T,
    reads: Arc<PageReads>,
}

impl io::Read for HeaderReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(start) = self.unchecked.take() {
            check_header(&self.file, start).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        }
        let read = self.input.read(buffer)?;
        self.reads.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
