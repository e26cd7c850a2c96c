//! Regular expressions.
//!
//! ```text
//! patterns.rs   pattern, flags ──► a compiled expression: once per constant, or from a small cache
//! matching.rs   whether, where and how often a text matches
//! extracting.rs the parts that match, and those between
//! named.rs      parts by name: structs
//! replacing.rs  other texts in place of what matches
//! ```
//!
//! The language is that of the crate `regex`: Perl's without references to groups and without looking around, so that a
//! search takes time in proportion to its text. `.` doesn't match the end of a line unless the flag `s` is set, as in
//! DuckDB and with the operator `~`; PostgreSQL's `.` does.

mod extracting;
mod matching;
mod named;
mod patterns;
mod replacing;

use crate::function::Function;

pub(crate) fn functions() -> Vec<Function> {
    [matching::functions(), extracting::functions(), replacing::functions()].into_iter().flatten().collect()
}
