//! An HTML table.

use super::markup::{Markup, MarkupRenderer};
use super::{Columns, Options};

const MARKUP: Markup = Markup { row: ["<tr><td>", "</td><td>", "</td></tr>\n"], closing: "</table>\n", escape };

pub(super) fn renderer(columns: Columns, options: &Options) -> MarkupRenderer {
    let mut opening = String::from("<table>\n");
    if options.headers {
        let names: String = columns.names.iter().map(|name| format!("<th>{}</th>", escape(name))).collect();
        opening += &format!("<tr>{names}</tr>\n");
    }
    MarkupRenderer::new(columns, options, opening, &MARKUP)
}

/// Escapes text for HTML. Control characters that HTML doesn't allow are replaced.
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
