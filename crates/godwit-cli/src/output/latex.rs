//! A LaTeX tabular.

use super::markup::{Markup, MarkupRenderer};
use super::{Columns, Options};

const MARKUP: Markup = Markup { row: ["", " & ", " \\\\\n"], closing: "\\hline\n\\end{tabular}\n", escape };

pub(super) fn renderer(columns: Columns, options: &Options) -> MarkupRenderer {
    let places: String = columns.numbers().iter().map(|&number| if number { 'r' } else { 'l' }).collect();
    let mut opening = format!("\\begin{{tabular}}{{{places}}}\n\\hline\n");
    if options.headers {
        let names: Vec<String> = columns.names.iter().map(|name| escape(name)).collect();
        opening += &format!("{} \\\\\n\\hline\n", names.join(" & "));
    }
    MarkupRenderer::new(columns, options, opening, &MARKUP)
}

/// Escapes text for LaTeX, on one line.
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
