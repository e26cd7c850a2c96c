//! Columns that the Arrow reader of the Parquet crate decodes: nested types, and encodings without a decoder here.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use godwit_common::Result;
use godwit_memory::{BufferManager, Reservation};
use godwit_vector::{Vector, from_arrow};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};

use crate::file::FileBytes;
use crate::footer::{ParquetFile, guard};

/// Reads one column of one morsel, rows ascending.
pub(crate) struct ArrowColumn {
    file: FileBytes,
    reader: ParquetRecordBatchReader,
    /// What the reader gave last, and the row of the row group where it begins.
    batch: Option<ArrayRef>,
    first_row: usize,
    memory: Reservation,
}

impl ArrowColumn {
    /// A reader of `rows` of a row group.
    pub(crate) fn open(
        file: &ParquetFile,
        row_group: usize,
        column: usize,
        rows: Range<usize>,
        batch_rows: usize,
        memory: &BufferManager,
    ) -> Result<Self> {
        let selection = RowSelection::from(vec![RowSelector::skip(rows.start), RowSelector::select(rows.len())]);
        let reader = guard(&file.bytes, || {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file.bytes.clone(), file.arrow.clone());
            let mask = ProjectionMask::roots(builder.parquet_schema(), [column]);
            builder
                .with_row_groups(vec![row_group])
                .with_projection(mask)
                .with_row_selection(selection)
                .with_batch_size(batch_rows)
                .build()
        })?;
        let memory = memory.reserve(0, godwit_common::MemoryTag::Reader)?;
        Ok(Self { file: file.bytes.clone(), reader, batch: None, first_row: rows.start, memory })
    }

    /// Rows `row .. row + rows` of the row group, or those of them at `selected`.
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
                self.memory.resize(batch.get_array_memory_size())?;
                Ok(batch.column(0).clone())
            }
            _ => Err(self.file.corrupt("a column has fewer values than rows")),
        }
    }
}
