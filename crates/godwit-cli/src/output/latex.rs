//! A LaTeX tabular with all rows, batch by batch.

use arrow_array::RecordBatch;
use godwit::Result;

use super::cells::Cells;
use super::{Columns, Options, Renderer};

pub(super) struct LatexRenderer {
    columns: Columns,
    null: String,
    has_header: bool,
    is_open: bool,
}

impl LatexRenderer {
    pub(super) fn new(columns: Columns, options: &Options) -> Self {
        Self { columns, null: escape(&options.null_or_word()), has_header: options.headers, is_open: false }
    }

    fn open(&mut self, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_open, true) {
            return;
        }
        let places: String = self.columns.numbers().iter().map(|&number| if number { 'r' } else { 'l' }).collect();
        let mut text = format!("\\begin{{tabular}}{{{places}}}\n\\hline\n");
        if self.has_header {
            let names: Vec<String> = self.columns.names.iter().map(|name| escape(name)).collect();
            text += &format!("{} \\\\\n\\hline\n", names.join(" & "));
        }
        out.extend_from_slice(text.as_bytes());
    }
}

impl Renderer for LatexRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        self.open(out);
        let cells = Cells::of(batch, &self.columns)?;
        for row in 0..batch.num_rows() {
            for column in 0..batch.num_columns() {
                let value = cells.text(column, row)?.map_or_else(|| self.null.clone(), |value| escape(&value));
                let before = if column == 0 { "" } else { " & " };
                out.extend_from_slice(format!("{before}{value}").as_bytes());
            }
            out.extend_from_slice(b" \\\\\n");
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        self.open(out);
        out.extend_from_slice(b"\\hline\n\\end{tabular}\n");
        Ok(())
    }
}

/// Text as LaTeX sets it, on one line.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => escaped.push_str("\\textbackslash{}"),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', character]),
            _ if character.is_control() => escaped.push(' '),
            _ => escaped.push(character),
        }
    }
    escaped
}
