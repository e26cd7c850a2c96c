//! SQL text to syntax trees, and back.
//!
//! ```text
//! text ─▶ lex: tokens ─▶ parse: recursive descent ─▶ ast ─▶ print: canonical SQL
//!          keyword: which words can be names
//! ```
//!
//! The parser is our own and not the `sqlparser` crate, because the binder needs the place of every node for its
//! errors, precedences have to be PostgreSQL's everywhere (`IS DISTINCT FROM`, `||`, `~`), and numbers, comments
//! and texts have forms that would have to be patched into another library's tokens. Meaning is not looked at here:
//! which name is what, and whether a function exists, is for the binder to say.
//!
//! Any text ends in a tree or an error with a place, in linear time, without overflowing the stack; any tree
//! printed and parsed again is the same tree, unless it is so deep that parentheses make it too deep.
//! `PostgreSQL`'s grammar is the reference, `DuckDB`'s additions are read as well.
#![forbid(unsafe_code)]

pub mod ast;
mod keyword;
mod lex;
mod parse;
mod print;
mod script;
mod walk;

pub use godwit_common::with_stack;
pub use keyword::is_name;
pub use script::{
    Parameters, ParsedStatement, Script, is_complete, parse_data_type, parse_expression, parse_query, parse_script,
    split_script,
};
pub use walk::Child;

/// Levels of the deepest tree. More deeply nested statements are refused. See [`with_stack`] for the stack that
/// they need.
pub const DEPTH_MAX: usize = 1_000;

/// Longest text of a statement, in bytes: a bound on memory, far beyond what people and generators write.
pub const TEXT_BYTES_MAX: usize = 16 << 20;
