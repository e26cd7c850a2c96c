//! Compiled expressions against the reference evaluator.
//!
//! Random expressions over columns of every type (`random.rs`), plans by hand (`tables.rs`) and SQL with the values that are
//! expected (`values.rs`) are evaluated in several representations of the same rows, with proven ranges and without.

mod filters;
mod random;
mod ranges;
mod rows;
mod sql;
mod tables;
mod values;
