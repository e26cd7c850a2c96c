//! The values of a batch as text, as a cast to VARCHAR writes them, and as JSON.

use arrow_array::RecordBatch;
use godwit::{ColumnReader, Result};

use super::Columns;

/// Values of a batch.
pub(super) struct Cells<'a>(Vec<ColumnReader<'a>>);

impl<'a> Cells<'a> {
    pub(super) fn of(batch: &RecordBatch, columns: &'a Columns) -> Result<Self> {
        let readers = batch.columns().iter().zip(&columns.types).map(|(array, ty)| ColumnReader::new(array, ty));
        readers.collect::<Result<_>>().map(Self)
    }

    /// Appends a column's value in a row; writes nothing and returns false if it is NULL.
    pub(super) fn write(&self, column: usize, row: usize, out: &mut String) -> Result<bool> {
        self.0[column].write_text(row, out)
    }

    /// Returns a column's value in a row; `None` for NULL.
    pub(super) fn text(&self, column: usize, row: usize) -> Result<Option<String>> {
        self.0[column].text(row)
    }

    /// Appends a column's value in a row as JSON.
    pub(super) fn write_json(&self, column: usize, row: usize, out: &mut String) -> Result<()> {
        self.0[column].write_json(row, out)
    }
}
