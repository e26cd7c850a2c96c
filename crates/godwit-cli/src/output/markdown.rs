//! A Markdown table with all rows, batch by batch. Columns aren't padded: that would need all rows first.

use std::fmt::Write;

use arrow_array::RecordBatch;
use godwit::Result;

use super::cells::Cells;
use super::{Columns, Options, Renderer};

pub(super) struct MarkdownRenderer {
    columns: Columns,
    null: String,
    has_header: bool,
}

impl MarkdownRenderer {
    pub(super) fn new(columns: Columns, options: &Options) -> Self {
        Self { columns, null: escape(&options.null_or_word()), has_header: true }
    }

    /// A table without a header isn't one in Markdown.
    fn write_header(&mut self, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.has_header) {
            return;
        }
        let mut text = String::new();
        for name in &self.columns.names {
            let _ = write!(text, "| {} ", escape(name));
        }
        text.push_str("|\n");
        for is_number in self.columns.numbers() {
            text.push_str(if is_number { "|---:" } else { "|---" });
        }
        text.push_str("|\n");
        out.extend_from_slice(text.as_bytes());
    }
}

impl Renderer for MarkdownRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.write_header(out);
        let cells = Cells::of(batch, &self.columns)?;
        for row in 0..batch.num_rows() {
            for column in 0..batch.num_columns() {
                let value = cells.text(column, row)?;
                let value = value.map_or_else(|| self.null.clone(), |value| escape(&value));
                out.extend_from_slice(format!("| {value} ").as_bytes());
            }
            out.extend_from_slice(b"|\n");
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.write_header(out);
        Ok(())
    }
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}
