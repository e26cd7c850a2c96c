//! An HTML table with all rows, batch by batch.

use arrow_array::RecordBatch;
use godwit::Result;

use super::cells::Cells;
use super::{Columns, Options, Renderer};

pub(super) struct HtmlRenderer {
    columns: Columns,
    null: String,
    has_header: bool,
    is_open: bool,
}

impl HtmlRenderer {
    pub(super) fn new(columns: Columns, options: &Options) -> Self {
        Self { columns, null: escape(&options.null_or_word()), has_header: options.headers, is_open: false }
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_open, true) {
            return;
        }
        out.extend_from_slice(b"<table>\n");
        if self.has_header {
            let names: String = self.columns.names.iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
            out.extend_from_slice(format!("<tr>{names}</tr>\n").as_bytes());
        }
    }
}

impl Renderer for HtmlRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.open(out);
        let cells = Cells::of(batch, &self.columns)?;
        for row in 0..batch.num_rows() {
            out.extend_from_slice(b"<tr>");
            for column in 0..batch.num_columns() {
                let value = cells.text(column, row)?.map_or_else(|| self.null.clone(), |value| escape(&value));
                out.extend_from_slice(format!("<td>{value}</td>").as_bytes());
            }
            out.extend_from_slice(b"</tr>\n");
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.open(out);
        out.extend_from_slice(b"</table>\n");
        Ok(())
    }
}

/// Text as HTML has it. Control characters that no document may have are replaced.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\r' | '\t' => escaped.push(character),
            _ if character.is_control() => escaped.push(char::REPLACEMENT_CHARACTER),
            _ => escaped.push(character),
        }
    }
    escaped
}
