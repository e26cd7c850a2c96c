//! The reference of all functions, for docs/functions.md.

use std::fmt::Write;

use godwit_functions::{Listed, listed_functions};
use godwit_scalar::Category;

/// What [`reference`] doesn't find in the registry of functions that have values: category, signatures, description,
/// example and its value. Functions that are described alike are one, with one example.
pub const TABLES_AND_MACROS: &str = "
    SELECT category, string_agg(signature, chr(10) ORDER BY signature), description, max(example), max(example_value)
    FROM godwit_functions() WHERE category IN ('Tables', 'Macros', 'Special forms', 'Sequences') GROUP BY category, description ORDER BY min(signature)";

/// Writes the functions by subject, in Markdown.
pub fn reference(tables_and_macros: &[Vec<String>]) -> String {
    let mut text = String::from(
        "# Functions\n\n\
         Written by `GODWIT_WRITE=1 cargo test --release --workspace --test functions`; every example is a test: what \
         follows SELECT, and the value, or the values of several rows. Operators and casts are in [sql.md](sql.md).\n",
    );
    let functions = listed_functions();
    for category in Category::ALL.map(Category::title).into_iter().chain(["Aggregates", "Windows"]) {
        let mut of_category: Vec<&Listed> = functions.iter().filter(|function| function.category == category).collect();
        of_category.sort_by_key(|function| (function.names[0], &function.signatures));
        section(&mut text, category, of_category.into_iter().map(row));
    }
    for category in ["Special forms", "Sequences", "Tables", "Macros"] {
        let of_category = tables_and_macros.iter().filter(|row| row[0] == category);
        section(&mut text, category, of_category.map(|row| row_of_texts(row)));
    }
    text
}

fn section(text: &mut String, title: &str, rows: impl Iterator<Item = String>) {
    write!(text, "\n## {title}\n\n| function | | example |\n|---|---|---|\n").expect("texts take all");
    for row in rows {
        writeln!(text, "{row}").expect("texts take all");
    }
}

fn row(function: &Listed) -> String {
    let aliases = match &function.names[1..] {
        [] => String::new(),
        others => format!("; also {}", others.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ")),
    };
    let examples: Vec<String> = function.examples.iter().map(|(call, value)| example(call, value)).collect();
    let signatures: Vec<String> = function.signatures.iter().map(|text| code(text)).collect();
    written(&signatures, &format!("{}{aliases}", escaped(function.description)), &examples)
}

fn row_of_texts(row: &[String]) -> String {
    let [_, signatures, description, call, value] = row else { panic!("the query has five columns") };
    let signatures: Vec<String> = signatures.lines().map(code).collect();
    let examples: Vec<String> = (!call.is_empty()).then(|| example(call, value)).into_iter().collect();
    written(&signatures, &escaped(description), &examples)
}

fn written(signatures: &[String], description: &str, examples: &[String]) -> String {
    format!("| {} | {description} | {} |", signatures.join("<br>"), examples.join("<br>"))
}

fn example(call: &str, value: &str) -> String {
    format!("{} → {}", code(call), code(value))
}

fn code(text: &str) -> String {
    format!("`{}`", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}
