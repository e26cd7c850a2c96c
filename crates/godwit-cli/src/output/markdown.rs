//! A Markdown table. Columns aren't padded: that would need all rows first.

use super::markup::{Markup, MarkupRenderer};
use super::{Columns, Options};

const MARKUP: Markup = Markup { row: ["| ", " | ", " |\n"], closing: "", escape };

/// Creates the renderer; always with a header, without which it isn't a table in Markdown.
pub(super) fn renderer(columns: Columns, options: &Options) -> MarkupRenderer {
    let names: String = columns.names.iter().map(|name| format!("| {} ", escape(name))).collect();
    let alignments = columns.numbers().into_iter().map(|is_number| if is_number { "|---:" } else { "|---" });
    let opening = format!("{names}|\n{}|\n", alignments.collect::<String>());
    MarkupRenderer::new(columns, options, opening, &MARKUP)
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace("\r\n", "<br>").replace(['\n', '\r'], "<br>")
}
