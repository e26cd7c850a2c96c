//! Guesses of the estimator, for when statistics say nothing. All are shares of rows unless named otherwise.

/// `string = literal` on a column of which no distinct count is known.
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

/// The least that `LIKE` is believed to select.
pub(super) const LIKE_MIN: f64 = 0.005;

/// A predicate of which nothing is known, such as a function's result.
pub(super) const UNKNOWN: f64 = 0.25;

/// A semi join with a residual predicate keeps this share of the rows that its keys alone keep.
pub(super) const RESIDUAL: f64 = 0.7;

/// No filter with a literal out of bounds is believed to select less than this: bounds may be cut or stale.
pub(super) const SELECTIVITY_MIN: f64 = 1e-6;

/// The least share of rows that an anti join is believed to keep.
pub(super) const ANTI_MIN: f64 = 0.05;

/// Rows of a list that is unnested.
pub(super) const UNNEST_ROWS: f64 = 4.0;

/// Rounds of a recursion: as many as PostgreSQL expects.
pub(super) const RECURSION_ROUNDS: f64 = 10.0;

/// Size of a string beyond its view when no average is known, in bytes.
pub(super) const STRING_BYTES: f64 = 16.0;

/// Size of a nested value, in bytes.
pub(super) const NESTED_BYTES: f64 = 64.0;

/// Rows per value of a column's range from which on the range is taken as its domain. With fewer, the range is only an
/// upper bound: keys may be sparse.
pub(super) const DENSE_ROWS_MIN: f64 = 2.0;

/// Scans from which on a query's filters are tried on samples: with two tables, there is only a build side to choose.
pub(super) const SAMPLED_SCANS_MIN: usize = 3;

/// Sampled rows that a filter that none of them passes is believed to let pass.
pub(super) const UNSEEN_ROWS: f64 = 0.5;

/// Pairs from which on a join of samples tells more than statistics do: found, or expected and not found.
pub(super) const MEASURED_PAIRS_MIN: f64 = 10.0;
