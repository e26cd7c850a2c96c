//! A table drawn with lines, for people. Of many rows it keeps and shows the first and the last; of columns that don't
//! fit, the outer ones.
//!
//! ```text
//! ┌─────────┬───┬─────────┐
//! │       n │ … │ name    │
//! │ integer │   │ varchar │
//! ├─────────┼───┼─────────┤
//! │       1 │ … │ one     │
//! │       · │ · │ ·       │   rows that aren't shown
//! │       9 │ … │ nine    │
//! └─────────┴───┴─────────┘
//! 9 rows (2 shown), 5 columns (2 shown; .mode line shows all)
//! ```
//!
//! Rows are held back until all are known, since they determine the widths: up to [`Options::rows_max`] rows, and up to
//! [`HELD_BYTES_MAX`] of text.

mod layout;

use std::collections::VecDeque;
use std::iter::repeat_n;

use arrow_array::RecordBatch;
use godwit::{Result, SqlType};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::cells::Cells;
use super::{Columns, Options, Renderer};
use layout::Layout;

/// Maximum text of rows that are held back, half of it for each end of the result. Beyond that, fewer rows are shown.
const HELD_BYTES_MAX: usize = 8 << 20;

/// Maximum width that a type's name gives its column.
const TYPE_WIDTH_MAX: usize = 20;

const BOLD: &str = "\x1b[1m";
const FAINT: &str = "\x1b[2m";
const PLAIN: &str = "\x1b[0m";

#[derive(Debug, Clone)]
struct Cell {
    text: String,
    style: &'static str,
}

type Row = Vec<Cell>;

fn bytes_of(row: &Row) -> usize {
    row.iter().map(|cell| cell.text.len() + size_of::<Cell>()).sum()
}

pub(super) struct BoxRenderer {
    columns: Columns,
    options: Options,
    right_aligned: Vec<bool>,
    null: String,
    /// The first rows.
    head: Vec<Row>,
    head_bytes: usize,
    /// Whether no more rows go to the head.
    is_head_full: bool,
    /// The last rows, unless they are in `head`.
    tail: VecDeque<Row>,
    tail_bytes: usize,
    rows: usize,
}

impl BoxRenderer {
    pub(super) fn new(columns: Columns, options: &Options) -> Self {
        Self {
            right_aligned: columns.numbers(),
            null: one_line(&options.null_or_word()),
            columns,
            options: options.clone(),
            head: Vec::new(),
            head_bytes: 0,
            is_head_full: false,
            tail: VecDeque::new(),
            tail_bytes: 0,
            rows: 0,
        }
    }

    fn row(&self, cells: &Cells, row: usize) -> Result<Row> {
        let cell = |column| {
            Ok(match cells.text(column, row)? {
                Some(text) => Cell { text: one_line(&text), style: "" },
                None => Cell { text: self.null.clone(), style: FAINT },
            })
        };
        (0..self.columns.names.len()).map(cell).collect()
    }

    fn head_rows_max(&self) -> usize {
        self.options.rows_max.div_ceil(2)
    }

    fn tail_rows_max(&self) -> usize {
        self.options.rows_max / 2
    }

    fn push_head(&mut self, row: Row) {
        self.head_bytes += bytes_of(&row);
        self.head.push(row);
        self.is_head_full = self.head.len() >= self.head_rows_max() || self.head_bytes > HELD_BYTES_MAX / 2;
    }

    fn push_tail(&mut self, row: Row) {
        self.tail_bytes += bytes_of(&row);
        self.tail.push_back(row);
        while self.tail.len() > self.tail_rows_max() || (self.tail.len() > 1 && self.tail_bytes > HELD_BYTES_MAX / 2) {
            self.tail_bytes -= self.tail.pop_front().as_ref().map_or(0, bytes_of);
        }
    }

    fn names(&self) -> Row {
        self.columns.names.iter().map(|name| Cell { text: one_line(name), style: BOLD }).collect()
    }

    fn types(&self) -> Row {
        self.columns.types.iter().map(|ty| Cell { text: type_name(ty), style: FAINT }).collect()
    }

    /// Returns the widths of the columns if nothing is cut.
    fn widths(&self, header: &[Row]) -> Vec<usize> {
        let rows = || header.iter().take(1).chain(&self.head).chain(&self.tail);
        let width = |column: usize| {
            let values = rows().map(|row| row[column].text.width()).max().unwrap_or(0);
            let of_type = header.get(1).map_or(0, |types| types[column].text.width().min(TYPE_WIDTH_MAX));
            values.max(of_type).max(1)
        };
        (0..self.columns.names.len()).map(width).collect()
    }

    fn line(&self, row: &Row, layout: &Layout, gap: &str) -> String {
        let part = |&(column, width): &(usize, usize)| {
            let Cell { text, style } = &row[column];
            let text = pad(text, width, self.right_aligned[column]);
            match self.options.colours && !style.is_empty() {
                true => format!("{style}{text}{PLAIN}"),
                false => text,
            }
        };
        let mut parts: Vec<String> = layout.shown.iter().map(part).collect();
        if let Some(place) = layout.gap {
            parts.insert(place, gap.to_owned());
        }
        format!("│ {} │\n", parts.join(" │ "))
    }

    fn footer(&self, layout: &Layout) -> String {
        let shown = self.head.len() + self.tail.len();
        let mut text = counted(self.rows, "row");
        if shown < self.rows {
            text += &format!(" ({} shown)", with_separators(shown));
        }
        if layout.gap.is_some() {
            let columns = counted(self.columns.names.len(), "column");
            text += &format!(", {columns} ({} shown; .mode line shows all)", layout.shown.len());
        }
        text + "\n"
    }
}

impl Renderer for BoxRenderer {
    fn batch(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<()> {
        let columns = self.columns.clone();
        let cells = Cells::of(batch, &columns)?;
        let rows = batch.num_rows();
        let mut row = 0;
        while row < rows && !self.is_head_full {
            let first = self.row(&cells, row)?;
            self.push_head(first);
            row += 1;
        }
        for row in row.max(rows.saturating_sub(self.tail_rows_max()))..rows {
            let last = self.row(&cells, row)?;
            self.push_tail(last);
        }
        self.rows += rows;
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let header = if self.options.headers { vec![self.names(), self.types()] } else { Vec::new() };
        let layout = Layout::new(&self.widths(&header), self.options.width_max);
        let widths: Vec<usize> = layout.widths_with_gap();
        let rule = |left: &str, middle: &str, right: &str| {
            let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            format!("{left}{}{right}\n", dashes.join(middle))
        };
        let mut write = |text: String| out.extend_from_slice(text.as_bytes());
        write(rule("┌", "┬", "┐"));
        for (at, row) in header.iter().enumerate() {
            write(self.line(row, &layout, if at == 0 { "…" } else { " " }));
        }
        if !header.is_empty() {
            write(rule("├", "┼", "┤"));
        }
        self.head.iter().for_each(|row| write(self.line(row, &layout, "…")));
        if self.head.len() + self.tail.len() < self.rows {
            let dots = vec![Cell { text: "·".into(), style: FAINT }; self.columns.names.len()];
            write(self.line(&dots, &layout, "·"));
        }
        self.tail.iter().for_each(|row| write(self.line(row, &layout, "…")));
        write(rule("└", "┴", "┘"));
        write(self.footer(&layout));
        Ok(())
    }
}

/// Returns the type in lower case; for an ENUM, without its labels.
fn type_name(ty: &SqlType) -> String {
    match ty {
        SqlType::Enum(_) => "enum".into(),
        ty => one_line(&ty.to_string().to_lowercase()),
    }
}

fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", with_separators(number), if number == 1 { "" } else { "s" })
}

/// Returns a cell of exactly `width` columns; longer text ends with an ellipsis.
fn pad(text: &str, width: usize, right_aligned: bool) -> String {
    let text_width = text.width();
    if text_width <= width {
        let spaces: String = repeat_n(' ', width - text_width).collect();
        return if right_aligned { spaces + text } else { text.to_owned() + &spaces };
    }
    let mut cut = String::new();
    let mut cut_width = 1;
    for character in text.chars() {
        let character_width = character.width().unwrap_or(0);
        if cut_width + character_width > width {
            break;
        }
        cut_width += character_width;
        cut.push(character);
    }
    cut.push('…');
    cut.extend(repeat_n(' ', width - cut_width));
    cut
}

/// Escapes control characters, which would break the lines of the box or control the terminal, and directional marks,
/// which would reorder the surrounding text.
pub(super) fn one_line(text: &str) -> String {
    if !text.contains(is_unsafe) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if is_unsafe(c) { c.escape_default().collect() } else { vec![c] }).collect()
}

fn is_unsafe(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Formats 1234567 as "1,234,567".
pub fn with_separators(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests;
