//! What is known of a table's values before a query runs.
//!
//! Two kinds of numbers live here and must not be confused: a [`ColumnStatistics::range`] is *proven* (the executor
//! skips overflow checks on its word), all others only steer the choice of plans.

use datafusion_common::ScalarValue;
use datafusion_expr::Expr;
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

/// What is known of a column; the default knows nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnStatistics {
    /// Proven bound of all non-NULL values: integers, decimals (unscaled), dates, times only.
    pub range: Option<ValueRange>,
    /// Smallest non-NULL value, or a lower bound of it; a string may be cut.
    pub min: Option<ScalarValue>,
    /// Largest non-NULL value, or an upper bound of it.
    pub max: Option<ScalarValue>,
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

/// Some rows of a table, picked evenly, on which filters are tried while a query is planned: it knows of skew, and of
/// columns that depend on each other, what statistics of single columns don't.
pub trait TableSample: Send + Sync {
    /// How many of the sampled rows pass all filters (columns by name); `None` if that can't be found out.
    fn passing(&self, filters: &[Expr]) -> Option<SampleCount>;

    /// The values of an integer column in the sampled rows that pass all filters, without NULLs; `None` if they are too
    /// many to be looked at one by one.
    fn keys(&self, filters: &[Expr], column: &str) -> Option<Vec<i64>>;

    /// True if the sample is the whole table.
    fn is_whole(&self) -> bool;
}

/// What passed a filter on a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleCount {
    /// Rows of the sample that passed.
    pub passing: u64,
    /// Rows of the sample.
    pub rows: u64,
}
