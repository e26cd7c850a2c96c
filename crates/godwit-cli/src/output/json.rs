//! JSON, batch by batch: one array, or one object per line. Values are those of `to_json`. NULLs are written explicitly,
//! so that all objects have all keys.

use arrow_array::RecordBatch;
use godwit::Result;
use godwit_types::write_json_string;

use super::cells::Cells;
use super::{Columns, Renderer};

pub(super) struct JsonRenderer {
    columns: Columns,
    /// Text before each column's value.
    keys: Vec<String>,
    frame: Frame,
    has_rows: bool,
}

/// Text around objects.
struct Frame {
    /// Before the first one.
    open: &'static str,
    between: &'static str,
    /// After each one, at once, so that who reads lines doesn't wait for the next.
    behind: &'static str,
    /// After the last one.
    close: &'static str,
}

const ARRAY: Frame = Frame { open: "[", between: ",", behind: "", close: "]\n" };
const LINES: Frame = Frame { open: "", between: "", behind: "\n", close: "" };

impl JsonRenderer {
    pub(super) fn array(columns: Columns) -> Self {
        Self::new(columns, ARRAY)
    }

    pub(super) fn lines(columns: Columns) -> Self {
        Self::new(columns, LINES)
    }

    fn new(columns: Columns, frame: Frame) -> Self {
        let key = |(at, name): (usize, &String)| {
            let mut key = String::from(if at == 0 { "" } else { "," });
            write_json_string(&mut key, name);
            key + ":"
        };
        Self { keys: columns.names.iter().enumerate().map(key).collect(), columns, frame, has_rows: false }
    }
}

impl Renderer for JsonRenderer {
    fn batch(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<()> {
        let cells = Cells::of(batch, &self.columns)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            text.push_str(if self.has_rows { self.frame.between } else { self.frame.open });
            self.has_rows = true;
            text.push('{');
            for (column, key) in self.keys.iter().enumerate() {
                text.push_str(key);
                cells.write_json(column, row, &mut text)?;
            }
            text.push('}');
            text.push_str(self.frame.behind);
        }
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if !self.has_rows {
            out.extend_from_slice(self.frame.open.as_bytes());
        }
        out.extend_from_slice(self.frame.close.as_bytes());
        Ok(())
    }
}
