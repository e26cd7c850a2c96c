//! The estimator's guesses for missing statistics. All are fractions of rows unless stated otherwise.

/// `string = literal` on a column without a known distinct count.
pub(super) const STRING_EQUALITY: f64 = 0.02;

/// A range comparison without bounds, PostgreSQL's usual third.
pub(super) const RANGE: f64 = 1.0 / 3.0;

/// A range comparison of two columns of a row.
pub(super) const COLUMN_RANGE: f64 = 0.5;

/// A range comparison directly above an aggregation (`HAVING`): such filters select outliers.
pub(super) const HAVING_RANGE: f64 = 0.1;

/// `LIKE` with a literal at the start of the pattern.
pub(super) const LIKE_PREFIX: f64 = 0.05;

/// Each literal piece elsewhere in a `LIKE` pattern.
pub(super) const LIKE_PIECE: f64 = 0.1;

/// Lower bound on the selectivity of `LIKE`.
pub(super) const LIKE_MIN: f64 = 0.005;

/// A predicate about which nothing is known, such as a function's result.
pub(super) const UNKNOWN: f64 = 0.25;

/// Fraction of the rows kept by a semi join's keys alone that also pass its residual predicate.
pub(super) const RESIDUAL: f64 = 0.7;

/// Lower bound on the selectivity of a filter with a literal out of bounds: bounds may be truncated or stale.
pub(super) const SELECTIVITY_MIN: f64 = 1e-6;

/// Lower bound on the share of rows that an anti join keeps.
pub(super) const ANTI_MIN: f64 = 0.05;

/// Rows per unnested list.
pub(super) const UNNEST_ROWS: f64 = 4.0;

/// Iterations of a recursion: PostgreSQL's assumption.
pub(super) const RECURSION_ROUNDS: f64 = 10.0;

/// Size of a string beyond its view when no average is known, in bytes.
pub(super) const STRING_BYTES: f64 = 16.0;

/// Size of a nested value, in bytes.
pub(super) const NESTED_BYTES: f64 = 64.0;

/// Rows per value of a column's range at which the range is taken as its domain. With fewer, keys may be sparse, so the
/// range is only an upper bound.
pub(super) const DENSE_ROWS_MIN: f64 = 2.0;

/// Rows up to which the distinct values among them don't matter enough to read a file for them: a chunk.
pub(super) const UNASKED_ROWS_MAX: f64 = 2048.0;

/// They are also at most one in this many of the table's rows: small files are read quickly.
pub(super) const UNASKED_PART: f64 = 8.0;

/// Minimum number of scans in a query to try its filters on samples: with two tables, only the build side is left to
/// choose.
pub(super) const SAMPLED_SCANS_MIN: usize = 3;

/// Number of sampled rows assumed to pass a filter that none of them passes.
pub(super) const UNSEEN_ROWS: f64 = 0.5;

/// Number of pairs, found or expected but not found, at which a join of samples is more reliable than statistics.
pub(super) const MEASURED_PAIRS_MIN: f64 = 10.0;

/// Maximum number of rows of a relation whose keys are looked up in the samples of others: tables return no more.
pub(super) const HUB_ROWS_MAX: f64 = 8192.0;
