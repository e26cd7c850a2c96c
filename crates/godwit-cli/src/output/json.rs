//! JSON, batch by batch: one array, or one object per line. NULLs are written out, so that all objects have all keys.

use arrow_array::RecordBatch;
use arrow_json::WriterBuilder;
use arrow_json::writer::{JsonArray, JsonFormat, LineDelimited, Writer};
use godwit::Result;

use super::{Renderer, unsupported};

pub(super) struct JsonRenderer<F: JsonFormat> {
    /// Writes into a vector of its own, which is emptied after each batch.
    writer: Writer<Vec<u8>, F>,
    /// What follows the last row.
    end: &'static str,
}

impl JsonRenderer<JsonArray> {
    pub(super) fn array() -> Self {
        Self { writer: builder().build(Vec::new()), end: "\n" }
    }
}

impl JsonRenderer<LineDelimited> {
    pub(super) fn lines() -> Self {
        Self { writer: builder().build(Vec::new()), end: "" }
    }
}

fn builder() -> WriterBuilder {
    WriterBuilder::new().with_explicit_nulls(true)
}

impl<F: JsonFormat> Renderer for JsonRenderer<F> {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.writer.write(batch).map_err(unsupported)?;
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
