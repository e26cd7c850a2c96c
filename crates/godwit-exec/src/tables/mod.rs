//! Tables that are created while a query runs: series of numbers and timestamps, repeated rows, rows that a function
//! computes, and rows that another part of the statement returned.
//!
//! Their scans take no filters ([`godwit_catalog::TableDefinition::without_filters`]) except those of joins, which may
//! be ignored.

mod computed;
mod repeat;
mod returned;
mod series;

pub use computed::ComputedTable;
pub use repeat::Repeat;
pub use returned::ReturnedRows;
pub use series::Series;

#[cfg(test)]
mod tests;
