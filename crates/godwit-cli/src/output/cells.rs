//! Values as text, as a cast to VARCHAR writes them.
//!
//! Arrow writes values directly, without a separate string for each, if its text is the same as SQL's: numbers, text,
//! dates; also instants, which it shows in the session's time zone.

use arrow_array::{Array, RecordBatch};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_schema::DataType;
use godwit::{ColumnReader, Error, Result};

use super::{Columns, unsupported};

/// Values of a batch.
pub(super) struct Cells<'a>(Vec<Cell<'a>>);

enum Cell<'a> {
    Arrow(&'a dyn Array, ArrayFormatter<'a>),
    Sql(ColumnReader<'a>),
}

const OPTIONS: FormatOptions<'static> = FormatOptions::new().with_timestamp_tz_format(Some("%Y-%m-%d %H:%M:%S%.f%:z"));

impl<'a> Cells<'a> {
    pub(super) fn of(batch: &'a RecordBatch, columns: &'a Columns) -> Result<Self> {
        let cell = |(array, ty): (&'a arrow_array::ArrayRef, &'a godwit::SqlType)| {
            Ok(match is_written_by_arrow(array.data_type()) {
                true => Cell::Arrow(array, ArrayFormatter::try_new(array, &OPTIONS).map_err(unsupported)?),
                false => Cell::Sql(ColumnReader::new(array, ty)?),
            })
        };
        batch.columns().iter().zip(&columns.types).map(cell).collect::<Result<_>>().map(Self)
    }

    /// Appends a column's value in a row; writes nothing and returns false if it is NULL.
    pub(super) fn write(&self, column: usize, row: usize, out: &mut String) -> Result<bool> {
        match &self.0[column] {
            Cell::Arrow(array, _) if array.is_null(row) => Ok(false),
            Cell::Arrow(_, formatter) => {
                let written = formatter.value(row).write(out);
                written.map_err(|error| Error::internal(format!("a value can't be shown: {error}")))?;
                Ok(true)
            }
            Cell::Sql(reader) => {
                let text = reader.text(row)?;
                out.push_str(text.as_deref().unwrap_or_default());
                Ok(text.is_some())
            }
        }
    }

    /// Returns a column's value in a row; `None` for NULL.
    pub(super) fn text(&self, column: usize, row: usize) -> Result<Option<String>> {
        let mut text = String::new();
        Ok(self.write(column, row, &mut text)?.then_some(text))
    }
}

fn is_written_by_arrow(data_type: &DataType) -> bool {
    data_type.is_integer()
        || data_type.is_floating()
        || matches!(
            data_type,
            DataType::Boolean
                | DataType::Decimal128(..)
                | DataType::Utf8
                | DataType::LargeUtf8
                | DataType::Utf8View
                | DataType::Timestamp(_, Some(_))
        )
}
