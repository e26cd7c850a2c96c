//! Guesses of the estimator, for when statistics are missing. All are shares of rows unless named otherwise.

/// `string = literal` on a column without a known distinct count.
pub(super) const STRING_EQUALITY: f64 = 0.02;

/// A range comparison without bounds, PostgreSQL's usual third.
pub(super) const RANGE: f64 = 1.0 / 3.0;

/// A range comparison of two columns of a row.
pub(super) const COLUMN_RANGE: f64 = 0.5;

/// A range comparison right above an aggregation (`HAVING`): such filters look for outliers.
pub(super) const HAVING_RANGE: f64 = 0.1;

/// `LIKE` with a literal at the start of the pattern.
pub(super) const LIKE_PREFIX: f64 = 0.05;

/// Each literal piece elsewhere in a `LIKE` pattern.
pub(super) const LIKE_PIECE: f64 = 0.1;

/// Lower bound on the selectivity of `LIKE`.
pub(super) const LIKE_MIN: f64 = 0.005;

/// A predicate about which nothing is known, such as a function's result.
pub(super) const UNKNOWN: f64 = 0.25;

/// A semi join with a residual predicate keeps this share of the rows that its keys alone keep.
pub(super) const RESIDUAL: f64 = 0.7;

/// Lower bound on the selectivity of a filter with a literal out of bounds: bounds may be cut or stale.
pub(super) const SELECTIVITY_MIN: f64 = 1e-6;

/// Lower bound on the share of rows that an anti join keeps.
pub(super) const ANTI_MIN: f64 = 0.05;

/// Rows of a list that is unnested.
pub(super) const UNNEST_ROWS: f64 = 4.0;

/// Rounds of a recursion: as many as PostgreSQL expects.
pub(super) const RECURSION_ROUNDS: f64 = 10.0;

/// Size of a string beyond its view when no average is known, in bytes.
pub(super) const STRING_BYTES: f64 = 16.0;

/// Size of a nested value, in bytes.
pub(super) const NESTED_BYTES: f64 = 64.0;

/// Rows per value of a column's range at which the range is taken as its domain. With fewer, the range is only an upper
/// bound: keys may be sparse.
pub(super) const DENSE_ROWS_MIN: f64 = 2.0;

/// Number of scans at which a query's filters are tried on samples: with two tables, there is only a build side to
/// choose.
pub(super) const SAMPLED_SCANS_MIN: usize = 3;

/// Assumed number of sampled rows that pass a filter that none of them passes.
pub(super) const UNSEEN_ROWS: f64 = 0.5;

/// Number of pairs at which a join of samples is more reliable than statistics: found, or expected and not found.
pub(super) const MEASURED_PAIRS_MIN: f64 = 10.0;
