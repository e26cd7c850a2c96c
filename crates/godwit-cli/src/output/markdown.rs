//! A Markdown table with all rows, batch by batch. Columns aren't padded: that would need all rows first.

use std::fmt::Write;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use godwit::Result;

use super::{Renderer, formatters, is_number};

pub(super) struct MarkdownRenderer {
    /// Taken when the header is written.
    header: Option<SchemaRef>,
    /// Lines of one batch.
    text: String,
}

impl MarkdownRenderer {
    pub(super) fn new(schema: &SchemaRef) -> Self {
        Self { header: Some(schema.clone()), text: String::new() }
    }

    fn write_header(&mut self) {
        let Some(schema) = self.header.take() else { return };
        for field in schema.fields() {
            let _ = write!(self.text, "| {} ", escape(field.name()));
        }
        self.text.push_str("|\n");
        for field in schema.fields() {
            self.text.push_str(if is_number(field.data_type()) { "|---:" } else { "|---" });
        }
        self.text.push_str("|\n");
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.text.as_bytes());
        self.text.clear();
    }
}

impl Renderer for MarkdownRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.write_header();
        let formatters = formatters(batch)?;
        for row in 0..batch.num_rows() {
            for formatter in &formatters {
                let _ = write!(self.text, "| {} ", escape(&formatter.value(row).to_string()));
            }
            self.text.push_str("|\n");
        }
        self.flush(out);
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.write_header();
        self.flush(out);
        Ok(())
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}
