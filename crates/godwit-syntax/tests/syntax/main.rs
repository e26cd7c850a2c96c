//! The parser's public interface: text in, trees and errors out.

mod corpus;
mod depth;
mod errors;
mod literals;
mod mutation;
mod precedence;
mod scripts;
mod statements;
mod walk;

use std::fmt::Debug;

use godwit_syntax::{ParsedStatement, parse_script};

/// Returns a tree's debug text without spans.
fn shape(tree: &impl Debug) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split("Span { start: ");
    let mut shape = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        shape.push_str(part.split_once(" }").map_or(part, |(_, behind)| behind));
    }
    shape
}

/// Returns the only statement of a script.
fn statement(sql: &str) -> ParsedStatement {
    let mut statements = parse_script(sql).unwrap_or_else(|error| panic!("{sql}\n{}", error.locate(sql)));
    assert_eq!(statements.len(), 1, "{sql}");
    statements.pop().expect("there is one")
}

/// Asserts that a statement's printed form parses to the same tree.
fn assert_round_trip(sql: &str) -> String {
    let first = statement(sql).statement;
    let printed = first.to_string();
    let second = statement(&printed).statement;
    assert_eq!(shape(&first), shape(&second), "{sql}\nwas printed as\n{printed}");
    assert_eq!(printed, second.to_string());
    printed
}
