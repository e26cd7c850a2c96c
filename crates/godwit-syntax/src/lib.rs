//! SQL text to syntax trees, and back.
//!
//! ```text
//! text ─▶ lex: tokens ─▶ parse: recursive descent ─▶ ast ─▶ print: canonical SQL
//!          keyword: which words can be names
//! ```
//!
//! The parser is our own rather than the `sqlparser` crate because the binder needs the span of every node for its
//! errors, precedences have to be PostgreSQL's everywhere (`IS DISTINCT FROM`, `
//! `, `~`), and numbers, comments and string literals have forms that would have to be patched into another library's
//! tokens. The parser ignores meaning: resolving names and functions is up to the binder.
//!
//! Parsing any text yields a tree or an error with a span, in linear time, without overflowing the stack. Any tree that
//! is printed and parsed again yields the same tree, unless it is so deep that parentheses make it too deep.
//! `PostgreSQL`'s grammar is the reference; `DuckDB`'s additions are accepted as well.
#![forbid(unsafe_code)]

pub mod ast;
mod keyword;
mod lex;
mod parse;
mod print;
mod script;
mod walk;

pub use godwit_common::with_stack;
pub use keyword::{is_name, keywords};
pub use script::{
    Parameters, ParsedStatement, Script, is_complete, parse_data_type, parse_expression, parse_query, parse_script,
    split_script,
};
pub use walk::Child;

/// Maximum depth of a tree, in levels. More deeply nested statements are rejected. See [`with_stack`] for the stack
/// that they need.
pub const DEPTH_MAX: usize = 1_000;

/// Maximum length of a statement, in bytes: a bound on memory, far beyond what people and generators write.
pub const TEXT_BYTES_MAX: usize = 16 << 20;
