//! Comma-separated values, batch by batch; NULL is an empty field.

use arrow_array::RecordBatch;
use arrow_csv::WriterBuilder;
use arrow_schema::SchemaRef;
use godwit::Result;

use super::{Renderer, TIMESTAMP_FORMAT, TIMESTAMP_TZ_FORMAT, unsupported};

pub(super) struct CsvRenderer {
    /// Taken when the header is written.
    header: Option<SchemaRef>,
}

impl CsvRenderer {
    pub(super) fn new(schema: &SchemaRef) -> Self {
        Self { header: Some(schema.clone()) }
    }
}

impl Renderer for CsvRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let mut writer = WriterBuilder::new()
            .with_header(self.header.take().is_some())
            .with_timestamp_format(TIMESTAMP_FORMAT.into())
            .with_timestamp_tz_format(TIMESTAMP_TZ_FORMAT.into())
            .build(out);
        writer.write(batch).map_err(unsupported)
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        match self.header.clone() {
            Some(schema) => self.batch(&RecordBatch::new_empty(schema), out),
            None => Ok(()),
        }
    }
}
