//! INSERT statements. Values other than numbers and booleans are quoted text, which is read as the type of its column,
//! so that any value survives a round trip.

use std::fmt::Write;

use arrow_array::RecordBatch;
use godwit::{Result, SqlType};

use super::cells::Cells;
use super::columns::is_number;
use super::{Columns, Renderer};

/// Maximum number of rows of a statement of several rows, and its approximate maximum size in bytes.
const PIECE_ROWS_MAX: usize = 500;
const PIECE_BYTES_MAX: usize = 256 << 10;

pub(super) struct InsertRenderer {
    columns: Columns,
    /// The statement up to VALUES.
    beginning: String,
    rows_max: usize,
    /// Number of rows of the incomplete statement.
    rows: usize,
    bytes: usize,
}

impl InsertRenderer {
    /// Creates a renderer with one statement per row. `table` is its name, optionally with a schema.
    pub(super) fn row_by_row(columns: Columns, table: &str) -> Self {
        let table = table.split('.').map(quoted_name).collect::<Vec<_>>().join(".");
        Self::new(columns, &table, 1)
    }

    /// Creates a renderer with statements of many rows each; `table` is SQL.
    pub(super) fn in_pieces(columns: Columns, table: &str) -> Self {
        Self::new(columns, table, PIECE_ROWS_MAX)
    }

    fn new(columns: Columns, table: &str, rows_max: usize) -> Self {
        let names: Vec<String> = columns.names.iter().map(|name| quoted_name(name)).collect();
        let beginning = format!("INSERT INTO {table} ({}) VALUES", names.join(", "));
        Self { columns, beginning, rows_max, rows: 0, bytes: 0 }
    }
}

impl Renderer for InsertRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let cells = Cells::of(batch, &self.columns)?;
        for row in 0..batch.num_rows() {
            let mut text = match (self.rows, self.rows_max) {
                (0, 1) => format!("{} ", self.beginning),
                (0, _) => format!("{}\n", self.beginning),
                _ => ",\n".into(),
            };
            for (column, ty) in self.columns.types.iter().enumerate() {
                text.push_str(if column == 0 { "(" } else { ", " });
                match cells.text(column, row)? {
                    Some(value) => write_literal(&mut text, &value, ty),
                    None => text.push_str("NULL"),
                }
            }
            text.push(')');
            self.rows += 1;
            self.bytes += text.len();
            if self.rows == self.rows_max || self.bytes >= PIECE_BYTES_MAX {
                text.push_str(";\n");
                (self.rows, self.bytes) = (0, 0);
            }
            out.extend_from_slice(text.as_bytes());
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if self.rows > 0 {
            out.extend_from_slice(b";\n");
        }
        Ok(())
    }
}

/// Writes a value of a type as a literal. A number with an exponent is a DOUBLE, which is read back exactly.
fn write_literal(out: &mut String, value: &str, ty: &SqlType) {
    let is_float = matches!(ty, SqlType::Real | SqlType::Double);
    let is_finite = value.ends_with(|last: char| last.is_ascii_digit());
    let _ = match () {
        () if is_float && is_finite && value.contains('e') => write!(out, "{value}"),
        () if is_float && is_finite => write!(out, "{value}e0"),
        () if is_number(ty) && is_finite => write!(out, "{value}"),
        () if *ty == SqlType::Boolean => write!(out, "{}", value.to_uppercase()),
        () => write!(out, "'{}'", value.replace('\'', "''")),
    };
}

/// Returns a name in quotes.
pub(super) fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
