//! Rows as lines of delimited values: `csv`, `list`, `tabs`.
//!
//! In CSV, a value is quoted if it contains the separator, a quote or a line break. The other two write values
//! unchanged. NULL is an empty value, except in `list`.

use arrow_array::RecordBatch;
use godwit::Result;

use super::cells::Cells;
use super::{Columns, Options, Renderer};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Csv,
    List,
    Tabs,
}

pub(super) struct DelimitedRenderer {
    columns: Columns,
    has_header: bool,
    null: String,
    /// Between values.
    column_separator: String,
    /// After rows.
    row_separator: String,
    /// Values with one of these bytes are quoted: the first byte of a separator, line ends, and quotes.
    special: Option<Box<[bool; 256]>>,
}

impl DelimitedRenderer {
    pub(super) fn new(columns: Columns, options: &Options, dialect: Dialect) -> Self {
        let (null, separator) = match dialect {
            Dialect::Csv => ("", ","),
            Dialect::List => ("NULL", "|"),
            Dialect::Tabs => ("", "\t"),
        };
        let separators = options.separators.clone().unwrap_or_else(|| (separator.into(), "\n".into()));
        let special = (dialect == Dialect::Csv).then(|| {
            let mut special = Box::new([false; 256]);
            let firsts = [&separators.0, &separators.1].into_iter().filter_map(|text| text.bytes().next());
            firsts.chain(*b"\"\n\r").for_each(|byte| special[usize::from(byte)] = true);
            special
        });
        Self {
            columns,
            has_header: options.headers,
            null: options.null.clone().unwrap_or_else(|| null.into()),
            column_separator: separators.0,
            row_separator: separators.1,
            special,
        }
    }

    fn write_header(&mut self, out: &mut Vec<u8>) {
        if !std::mem::take(&mut self.has_header) {
            return;
        }
        for (at, name) in self.columns.names.iter().enumerate() {
            self.write_value(at, name, out);
        }
        out.extend_from_slice(self.row_separator.as_bytes());
    }

    fn write_value(&self, column: usize, value: &str, out: &mut Vec<u8>) {
        if column > 0 {
            out.extend_from_slice(self.column_separator.as_bytes());
        }
        // An empty line would not be a row.
        let is_lost = value.is_empty() && self.columns.names.len() == 1;
        let needs_quotes = |special: &[bool; 256]| is_lost || value.bytes().any(|byte| special[usize::from(byte)]);
        if self.special.as_deref().is_some_and(needs_quotes) {
            out.push(b'"');
            out.extend_from_slice(value.replace('"', "\"\"").as_bytes());
            out.push(b'"');
        } else {
            out.extend_from_slice(value.as_bytes());
        }
    }
}

impl Renderer for DelimitedRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.write_header(out);
        let cells = Cells::of(batch, &self.columns)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for column in 0..batch.num_columns() {
                text.clear();
                match cells.write(column, row, &mut text)? {
                    true => self.write_value(column, &text, out),
                    false => self.write_value(column, &self.null, out),
                }
            }
            out.extend_from_slice(self.row_separator.as_bytes());
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.write_header(out);
        Ok(())
    }
}
