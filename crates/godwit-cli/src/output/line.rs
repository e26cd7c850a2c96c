//! A line per value, for rows that are wider than the window:
//!
//! ```text
//!    id = 1
//!  text = the first line
//!         the second line
//! ```

use std::fmt::Write;

use arrow_array::RecordBatch;
use godwit::Result;
use unicode_width::UnicodeWidthStr;

use super::boxed::one_line;
use super::cells::Cells;
use super::{Columns, Options, Renderer};

pub(super) struct LineRenderer {
    columns: Columns,
    null: String,
    /// Names of the columns, padded to the same width.
    labels: Vec<String>,
    /// Columns before a value.
    indent: usize,
    is_first: bool,
}

impl LineRenderer {
    pub(super) fn new(columns: Columns, options: &Options) -> Self {
        let names: Vec<String> = columns.names.iter().map(|name| one_line(name)).collect();
        let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
        let label = |name: &String| format!("{}{name} = ", " ".repeat(width - name.width()));
        Self {
            labels: names.iter().map(label).collect(),
            columns,
            null: options.null_or_word(),
            indent: width + 3,
            is_first: true,
        }
    }
}

impl Renderer for LineRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let cells = Cells::of(batch, &self.columns)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            if !std::mem::take(&mut self.is_first) {
                text.push('\n');
            }
            for (column, label) in self.labels.iter().enumerate() {
                let value = cells.text(column, row)?.unwrap_or_else(|| self.null.clone());
                for (at, line) in value.split('\n').enumerate() {
                    match at {
                        0 => text.push_str(label),
                        _ => text.extend(std::iter::repeat_n(' ', self.indent)),
                    }
                    let _ = writeln!(text, "{}", one_line(line));
                }
            }
            out.extend_from_slice(text.as_bytes());
            text.clear();
        }
        Ok(())
    }

    fn finish(&mut self, _: &mut Vec<u8>) -> Result<()> {
        Ok(())
    }
}
