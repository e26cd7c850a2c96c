//! The reference of all functions, for docs/functions.md.

use std::fmt::Write;

use crate::function::{Category, Function};
use crate::library::functions;

/// Writes the functions by subject, in Markdown.
pub fn reference() -> String {
    let mut text = String::from(
        "# Scalar functions\n\n\
         Written by `GODWIT_WRITE=1 cargo test --release --test functions`; every example is a test. Aggregate and window \
         functions, operators and casts are in [sql.md](sql.md).\n",
    );
    for category in Category::ALL {
        let mut of_category: Vec<&Function> =
            functions().iter().filter(|function| function.category == category).collect();
        if of_category.is_empty() {
            continue;
        }
        of_category.sort_by_key(|function| function.name());
        write!(text, "\n## {}\n\n| function | | example |\n|---|---|---|\n", category.title()).expect("texts take all");
        for function in of_category {
            writeln!(text, "{}", row(function)).expect("texts take all");
        }
    }
    text
}

fn row(function: &Function) -> String {
    let code = |text: &str| format!("`{}`", text.replace('|', "\\|"));
    let signatures: Vec<String> = function.signatures(function.name()).iter().map(|text| code(text)).collect();
    let aliases = match &function.names[1..] {
        [] => String::new(),
        others => format!("; also {}", others.iter().map(|name| code(name)).collect::<Vec<_>>().join(", ")),
    };
    let examples: Vec<String> =
        function.examples.iter().map(|(call, value)| format!("{} → {}", code(call), code(value))).collect();
    let description = function.description.replace('|', "\\|");
    format!("| {} | {description}{aliases} | {} |", signatures.join("<br>"), examples.join("<br>"))
}
