//! Tables in a markup language, with all rows, batch by batch.

use arrow_array::RecordBatch;
use godwit::Result;

use super::cells::Cells;
use super::{Columns, Options, Renderer};

/// Syntax of a language for the rows of a table.
pub(super) struct Markup {
    /// Text before the first value of a row, between two values, and after the last.
    pub row: [&'static str; 3],
    /// End of the table.
    pub closing: &'static str,
    /// Escapes text for the language.
    pub escape: fn(&str) -> String,
}

pub(super) struct MarkupRenderer {
    columns: Columns,
    null: String,
    /// Start of the table, until it has been written.
    opening: String,
    markup: &'static Markup,
}

impl MarkupRenderer {
    pub(super) fn new(columns: Columns, options: &Options, opening: String, markup: &'static Markup) -> Self {
        Self { columns, null: (markup.escape)(&options.null_or_word()), opening, markup }
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(std::mem::take(&mut self.opening).as_bytes());
    }
}

impl Renderer for MarkupRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.open(out);
        let cells = Cells::of(batch, &self.columns)?;
        let [before, between, behind] = self.markup.row;
        for row in 0..batch.num_rows() {
            for column in 0..batch.num_columns() {
                let value = cells.text(column, row)?;
                let value = value.map_or_else(|| self.null.clone(), |value| (self.markup.escape)(&value));
                out.extend_from_slice(if column == 0 { before } else { between }.as_bytes());
                out.extend_from_slice(value.as_bytes());
            }
            out.extend_from_slice(behind.as_bytes());
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.open(out);
        out.extend_from_slice(self.markup.closing.as_bytes());
        Ok(())
    }
}
