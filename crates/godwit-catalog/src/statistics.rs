//! What is known about a table's values before a query runs.
//!
//! There are two kinds of numbers here that must not be confused: a [`ColumnStatistics::range`] is *proven* (the
//! executor relies on it to skip overflow checks), all others only steer the choice of plans.

use godwit_types::Value;
use godwit_vector::ValueRange;

/// Row count and column statistics of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableStatistics {
    /// Number of rows.
    pub rows: u64,
    /// True if `rows` is the exact number, false if it is a guess.
    pub rows_exact: bool,
    /// One per column of the schema, in its order.
    pub columns: Vec<ColumnStatistics>,
}

/// What is known about a column; by default nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnStatistics {
    /// Proven bound of all non-NULL values: integers, decimals (unscaled), dates, times only.
    pub range: Option<ValueRange>,
    /// Smallest non-NULL value, or a lower bound of it; a string may be cut.
    pub min: Option<Value>,
    /// Largest non-NULL value, or an upper bound of it.
    pub max: Option<Value>,
    /// Number of NULLs.
    pub null_count: Option<u64>,
    /// Estimated number of distinct non-NULL values.
    pub distinct: Option<u64>,
    /// Average size of a value in memory, in bytes; matters for strings.
    pub average_bytes: Option<f64>,
}

impl TableStatistics {
    /// Statistics of which only the row count is known.
    pub fn of_rows(rows: u64, rows_exact: bool, columns: usize) -> Self {
        Self { rows, rows_exact, columns: vec![ColumnStatistics::default(); columns] }
    }
}
