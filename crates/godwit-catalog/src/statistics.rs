//! Knowledge about a table's values before a query runs.
//!
//! Two kinds of numbers must not be confused here: a [`ColumnStatistics::range`] is *proven* (the executor relies on it
//! to skip overflow checks), all others only guide the choice of plans.

use godwit_types::Value;
use godwit_vector::ValueRange;

/// Row count and column statistics of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableStatistics {
    /// Number of rows.
    pub rows: u64,
    /// True if `rows` is exact, false if it is an estimate.
    pub rows_exact: bool,
    /// One per column of the schema, in its order.
    pub columns: Vec<ColumnStatistics>,
}

/// Knowledge about a column; by default none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnStatistics {
    /// Proven bounds of all non-NULL values; only for integers, decimals (unscaled), dates and times.
    pub range: Option<ValueRange>,
    /// Smallest non-NULL value, or a lower bound; a string may be truncated.
    pub min: Option<Value>,
    /// Largest non-NULL value, or an upper bound.
    pub max: Option<Value>,
    /// Number of NULLs.
    pub null_count: Option<u64>,
    /// Estimated number of distinct non-NULL values.
    pub distinct: Option<u64>,
    /// Average size of a value in memory, in bytes; matters for strings.
    pub average_bytes: Option<f64>,
}

impl TableStatistics {
    /// Returns statistics of which only the row count is known.
    pub fn of_rows(rows: u64, rows_exact: bool, columns: usize) -> Self {
        Self { rows, rows_exact, columns: vec![ColumnStatistics::default(); columns] }
    }
}
