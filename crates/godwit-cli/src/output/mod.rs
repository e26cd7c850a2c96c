//! Results as text, in the format that the user chose.
//!
//! A renderer turns batches into bytes and does no I/O: the shell writes the content of the buffer after each call. So
//! only the shell handles output errors, and memory holds the text of a few rows at a time ([`light_parts`]).

mod boxed;
mod cells;
mod columns;
mod delimited;
mod html;
mod insert;
mod json;
mod latex;
mod line;
mod markdown;
mod markup;
mod parts;
#[cfg(test)]
mod tests;

pub use boxed::with_separators;
pub use columns::Columns;
pub use parts::light_parts;

use arrow_array::RecordBatch;
use clap::ValueEnum;
use godwit::Result;

use delimited::Dialect;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table drawn with lines; of many rows, the first and the last
    Box,
    /// A line per value
    Line,
    /// Values between bars
    List,
    /// Values between tabs
    Tabs,
    /// Comma-separated values with a header
    Csv,
    /// One array of objects
    Json,
    /// One object per line
    #[value(name = "jsonlines")]
    JsonLines,
    /// A Markdown table
    Markdown,
    /// An HTML table
    Html,
    /// A LaTeX tabular
    Latex,
    /// INSERT statements
    Insert,
}

/// Options besides the format.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether to write column names, in formats that can omit them.
    pub headers: bool,
    /// Text for NULL; `None`: the format's default.
    pub null: Option<String>,
    /// Text between values and after rows of `list`, `tabs` and `csv`; `None`: the format's default.
    pub separators: Option<(String, String)>,
    /// The table named by `insert`.
    pub table: String,
    /// Maximum number of rows of a box.
    pub rows_max: usize,
    /// Maximum width of a box in terminal columns.
    pub width_max: Option<usize>,
    /// Whether to mark parts of a box by colours.
    pub colours: bool,
}

/// Default number of rows of a box.
pub const ROWS_MAX_DEFAULT: usize = 40;

impl Default for Options {
    fn default() -> Self {
        Self {
            headers: true,
            null: None,
            separators: None,
            table: "result".into(),
            rows_max: ROWS_MAX_DEFAULT,
            width_max: None,
            colours: false,
        }
    }
}

impl Options {
    /// Returns the text for NULL in formats for people.
    fn null_or_word(&self) -> String {
        self.null.clone().unwrap_or_else(|| "NULL".into())
    }
}

impl Format {
    /// Creates a renderer for one result.
    pub fn renderer(self, columns: Columns, options: &Options) -> Box<dyn Renderer> {
        match self {
            Format::Box => Box::new(boxed::BoxRenderer::new(columns, options)),
            Format::Line => Box::new(line::LineRenderer::new(columns, options)),
            Format::List => Box::new(delimited::DelimitedRenderer::new(columns, options, Dialect::List)),
            Format::Tabs => Box::new(delimited::DelimitedRenderer::new(columns, options, Dialect::Tabs)),
            Format::Csv => Box::new(delimited::DelimitedRenderer::new(columns, options, Dialect::Csv)),
            Format::Json => Box::new(json::JsonRenderer::array(columns)),
            Format::JsonLines => Box::new(json::JsonRenderer::lines(columns)),
            Format::Markdown => Box::new(markdown::renderer(columns, options)),
            Format::Html => Box::new(html::renderer(columns, options)),
            Format::Latex => Box::new(latex::renderer(columns, options)),
            Format::Insert => Box::new(insert::InsertRenderer::row_by_row(columns, &options.table)),
        }
    }

    /// Returns the name for `--format` and `.mode`.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns all names.
    pub fn names() -> Vec<String> {
        Self::value_variants().iter().map(|format| format.name()).collect()
    }
}

/// Writes one result.
pub trait Renderer {
    /// Appends the text that can be written once `batch` is known.
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()>;
    /// Appends the rest, after the last batch.
    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()>;
}

/// Creates a renderer of INSERT statements with several rows each, for a table whose name is given as SQL.
pub fn insert_renderer(columns: Columns, table: &str) -> Box<dyn Renderer> {
    Box::new(insert::InsertRenderer::in_pieces(columns, table))
}
