//! A table drawn with lines, for people: of many rows it keeps and shows the first and the last.
//!
//! ```text
//! ┌───┬───────┐
//! │ n │ name  │
//! ├───┼───────┤
//! │ 1 │ one   │
//! │ · │ ·     │   rows that aren't shown
//! │ 9 │ nine  │
//! └───┴───────┘
//! 9 rows (2 shown)
//! ```

use std::collections::VecDeque;
use std::iter::repeat_n;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use godwit::Result;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Renderer, formatters, is_number};

/// Rows shown from either end of a result that has more than twice as many.
const END_ROWS: usize = 20;

/// No column is cut below this width, even if the table gets wider than the terminal.
const COLUMN_WIDTH_MIN: usize = 8;

type Row = Vec<String>;

pub(super) struct BoxRenderer {
    names: Row,
    /// Per column.
    right_aligned: Vec<bool>,
    width_max: Option<usize>,
    /// The first rows.
    head: Vec<Row>,
    /// The last rows, as far as they aren't in `head`.
    tail: VecDeque<Row>,
    rows: usize,
}

impl BoxRenderer {
    pub(super) fn new(schema: &SchemaRef, width_max: Option<usize>) -> Self {
        let fields = schema.fields();
        Self {
            names: fields.iter().map(|field| one_line(field.name())).collect(),
            right_aligned: fields.iter().map(|field| is_number(field.data_type())).collect(),
            width_max,
            head: Vec::new(),
            tail: VecDeque::new(),
            rows: 0,
        }
    }

    /// Widths of the columns, cut as far as the table has to be narrower.
    fn widths(&self) -> Vec<usize> {
        let rows = || std::iter::once(&self.names).chain(&self.head).chain(&self.tail);
        let mut widths: Vec<usize> =
            (0..self.names.len()).map(|column| rows().map(|row| row[column].width()).max().unwrap_or(0)).collect();
        const BORDERS_PER_COLUMN: usize = 3;
        if let Some(width_max) = self.width_max {
            let room = width_max.saturating_sub(BORDERS_PER_COLUMN * widths.len() + 1);
            let cut = column_width_max(&widths, room);
            widths.iter_mut().for_each(|width| *width = (*width).min(cut));
        }
        widths
    }

    fn line(&self, row: &Row, widths: &[usize]) -> String {
        let cells = row.iter().zip(widths).zip(&self.right_aligned);
        let cells: Vec<String> = cells.map(|((cell, &width), &right)| pad(cell, width, right)).collect();
        format!("│ {} │\n", cells.join(" │ "))
    }
}

impl Renderer for BoxRenderer {
    fn batch(&mut self, batch: &RecordBatch, _: &mut Vec<u8>) -> Result<()> {
        let formatters = formatters(batch)?;
        let row = |index: usize| -> Row { formatters.iter().map(|f| one_line(&f.value(index).to_string())).collect() };
        let rows = batch.num_rows();
        let head_rows = rows.min(END_ROWS - self.head.len());
        self.head.extend((0..head_rows).map(row));
        for index in head_rows.max(rows.saturating_sub(END_ROWS))..rows {
            if self.tail.len() == END_ROWS {
                self.tail.pop_front();
            }
            self.tail.push_back(row(index));
        }
        self.rows += rows;
        Ok(())
    }

    fn finish(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let widths = self.widths();
        let rule = |left: &str, middle: &str, right: &str| {
            let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(width + 2)).collect();
            format!("{left}{}{right}\n", dashes.join(middle))
        };
        let mut text = rule("┌", "┬", "┐") + &self.line(&self.names, &widths) + &rule("├", "┼", "┤");
        self.head.iter().for_each(|row| text += &self.line(row, &widths));
        let shown = self.head.len() + self.tail.len();
        if shown < self.rows {
            text += &self.line(&vec!["·".to_owned(); self.names.len()], &widths);
        }
        self.tail.iter().for_each(|row| text += &self.line(row, &widths));
        text += &rule("└", "┴", "┘");
        let noun = if self.rows == 1 { "row" } else { "rows" };
        text += &match shown == self.rows {
            true => format!("{} {noun}\n", with_separators(self.rows)),
            false => format!("{} {noun} ({shown} shown)\n", with_separators(self.rows)),
        };
        out.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

/// The largest width to which columns can be cut so that all fit into `room`; wide columns give way first.
fn column_width_max(widths: &[usize], room: usize) -> usize {
    let widest = widths.iter().copied().max().unwrap_or(0);
    let fits = |cut: usize| widths.iter().map(|&width| width.min(cut)).sum::<usize>() <= room;
    (COLUMN_WIDTH_MIN..=widest).rev().find(|&cut| fits(cut)).unwrap_or(COLUMN_WIDTH_MIN)
}

/// A cell of exactly `width` columns; text that is longer ends with an ellipsis.
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

/// Control characters would break the lines of the box, or drive the terminal: they are written as escapes.
fn one_line(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// 1234567 as "1,234,567".
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
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray};

    use super::*;
    use crate::output::Format;
    use crate::output::tests::{batches, render};

    #[test]
    fn numbers_stand_right_and_line_breaks_are_escaped() {
        assert_eq!(
            render(Format::Box, &batches(), None),
            "┌──────┬────────┬───────┬─────────────────────┐\n\
             │    n │ text   │     d │ t                   │\n\
             ├──────┼────────┼───────┼─────────────────────┤\n\
             │    1 │ a,\"b\"  │ 12.50 │ 1970-01-02 00:00:00 │\n\
             │ NULL │ x|y\\nz │ 12.50 │ 1970-01-02 00:00:00 │\n\
             │  300 │ NULL   │ 12.50 │ 1970-01-02 00:00:00 │\n\
             └──────┴────────┴───────┴─────────────────────┘\n\
             3 rows\n"
        );
    }

    fn numbered(range: std::ops::Range<i64>) -> RecordBatch {
        RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from_iter_values(range)) as ArrayRef)]).unwrap()
    }

    #[test]
    fn many_rows_show_both_ends_however_they_are_cut_into_batches() {
        let whole = render(Format::Box, &[numbered(0..5000)], None);
        assert!(whole.ends_with("5,000 rows (40 shown)\n"));
        assert!(whole.contains("│   19 │\n│    · │\n│ 4980 │"), "{whole}");
        let pieces = [numbered(0..7), numbered(7..30), numbered(30..4999), numbered(4999..5000)];
        assert_eq!(render(Format::Box, &pieces, None), whole);
        let forty = render(Format::Box, &[numbered(0..13), numbered(13..40)], None);
        assert!(forty.ends_with("\n40 rows\n") && !forty.contains('·'), "{forty}");
    }

    #[test]
    fn wide_characters_keep_the_lines_straight_and_wide_columns_give_way() {
        let texts = StringArray::from(vec!["東京", "a very long text that doesn't fit", "é"]);
        let shorts = StringArray::from(vec!["x"; 3]);
        let columns = [("city", Arc::new(texts) as ArrayRef), ("s", Arc::new(shorts) as ArrayRef)];
        let text = render(Format::Box, &[RecordBatch::try_from_iter(columns).unwrap()], Some(24));
        let table: Vec<&str> = text.lines().take_while(|line| !line.contains("rows")).collect();
        assert!(table.iter().all(|line| line.width() == 24), "{text}");
        assert!(text.contains("a very long tex…") && text.contains("東京"), "{text}");
    }
}
