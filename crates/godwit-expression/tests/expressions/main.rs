//! Compiled expressions against the reference evaluator.
//!
//! Random expressions over columns of every type (`random.rs`), hand-made plans (`tables.rs`) and SQL with expected
//! values (`values.rs`) are evaluated in several representations of the same rows, with and without proven ranges.

mod filters;
mod random;
mod ranges;
mod rows;
mod sql;
mod tables;
mod values;
