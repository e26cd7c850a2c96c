//! Regular expressions.
//!
//! ```text
//! patterns.rs   pattern, flags ──► a compiled expression: once per constant, or from a small cache
//! matching.rs   whether, where and how often a pattern matches
//! extracting.rs the parts that match, and those between
//! named.rs      parts by name: structs
//! replacing.rs  replacement of matches
//! ```
//!
//! The language is that of the crate `regex`: Perl's without backreferences and look-around, so a search takes time
//! linear in the length of its text. `.` doesn't match the end of a line unless the flag `s` is set, as in DuckDB and
//! with the operator `~`; PostgreSQL's `.` does.

mod extracting;
mod matching;
mod named;
mod patterns;
mod replacing;

use crate::function::Function;

pub(crate) fn functions() -> Vec<Function> {
    [matching::functions(), extracting::functions(), replacing::functions()].into_iter().flatten().collect()
}
