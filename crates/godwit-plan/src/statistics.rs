//! Statistics on a table's values, known before a query runs.
//!
//! Two kinds of numbers must not be confused: a [`ColumnStatistics::range`] is *proven* (the executor relies on it to
//! skip overflow checks), all others only guide the choice of plans.

use godwit_types::Value;

/// Row count and column statistics of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableStatistics {
    /// Number of rows.
    pub rows: u64,
    /// True if `rows` is the exact number, false if it is a guess.
    pub rows_exact: bool,
    /// One per column, in order.
    pub columns: Vec<ColumnStatistics>,
}

/// Statistics of a column; by default, nothing is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnStatistics {
    /// Proven bounds of all non-NULL values: integers, decimals (unscaled), dates, times only.
    pub range: Option<ValueRange>,
    /// Smallest non-NULL value, or a lower bound of it; a string may be truncated.
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

/// A closed range of integers: unscaled decimals, days of dates, ticks of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueRange {
    /// Smallest possible value.
    pub min: i128,
    /// Largest possible value.
    pub max: i128,
}

impl TableStatistics {
    /// Creates statistics with only a row count.
    pub fn of_rows(rows: u64, rows_exact: bool, columns: usize) -> Self {
        Self { rows, rows_exact, columns: vec![ColumnStatistics::default(); columns] }
    }
}
