//! JSON, batch by batch: one array, or one object per line. NULLs are written explicitly, so that all objects have all
//! keys.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_json::WriterBuilder;
use arrow_json::writer::{JsonArray, JsonFormat, LineDelimited, Writer};
use arrow_schema::{DataType, Field, Schema};
use godwit::{ColumnReader, Error, Result, SqlType};

use super::{Columns, Renderer, unsupported};

pub(super) struct JsonRenderer<F: JsonFormat> {
    columns: Columns,
    /// Writes to its own vector, which is emptied after each batch.
    writer: Writer<Vec<u8>, F>,
    /// Text after the last row.
    end: &'static str,
}

impl JsonRenderer<JsonArray> {
    pub(super) fn array(columns: Columns) -> Self {
        Self { columns, writer: builder().build(Vec::new()), end: "\n" }
    }
}

impl JsonRenderer<LineDelimited> {
    pub(super) fn lines(columns: Columns) -> Self {
        Self { columns, writer: builder().build(Vec::new()), end: "" }
    }
}

fn builder() -> WriterBuilder {
    WriterBuilder::new().with_explicit_nulls(true)
}

impl<F: JsonFormat> Renderer for JsonRenderer<F> {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let batch = with_texts(batch, &self.columns.types)?;
        self.writer.write(&batch).map_err(unsupported)?;
        out.append(self.writer.get_mut());
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.writer.finish().map_err(unsupported)?;
        out.append(self.writer.get_mut());
        out.extend_from_slice(self.end.as_bytes());
        Ok(())
    }
}

/// Returns the batch with text in place of intervals: Arrow's text for them isn't SQL's.
fn with_texts(batch: &RecordBatch, types: &[SqlType]) -> Result<RecordBatch> {
    if !types.contains(&SqlType::Interval) {
        return Ok(batch.clone());
    }
    let (mut fields, mut arrays): (Vec<Field>, Vec<ArrayRef>) = Default::default();
    for ((field, array), ty) in batch.schema().fields().iter().zip(batch.columns()).zip(types) {
        if *ty != SqlType::Interval {
            fields.push(field.as_ref().clone());
            arrays.push(array.clone());
            continue;
        }
        let reader = ColumnReader::new(array, ty)?;
        let texts = (0..array.len()).map(|row| reader.text(row)).collect::<Result<StringArray>>()?;
        fields.push(Field::new(field.name(), DataType::Utf8, true));
        arrays.push(Arc::new(texts));
    }
    RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map_err(|error| Error::internal(error.to_string()))
}
