//! Tables that are made while a query runs: series of numbers and instants, and rows that a function computes.
//!
//! Their scans take no filters ([`godwit_catalog::TableDefinition::without_filters`]); those of joins, which may be ignored,
//! are.

mod computed;
mod series;

pub use computed::ComputedTable;
pub use series::Series;

#[cfg(test)]
mod tests;
