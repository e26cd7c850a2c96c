//! Tuning constants of compaction.

use std::time::Duration;

/// Threshold of `binary`, in rows (the paper's choice, and DuckDB's), and of compactors without any measurements yet.
pub(super) const BINARY_ROWS: usize = 128;

/// Thresholds that the learner tries, in rows (section 4.2).
pub(super) const ARMS: [usize; 9] = [0, 32, 64, 128, 256, 384, 512, 768, 1024];

/// Tries of each arm before rewards count (section 4.2).
pub(super) const TRIES_MIN: u32 = 8;

/// Number of most recent rewards that an arm's mean is taken over (section 4.2).
pub(super) const REWARDS_KEPT: usize = 16;

/// Measured rounds between snapshots of the rewards (section 4.2 has 1,024 chunks; a round has at least 16, and there
/// may be held rounds between two that are measured).
pub(super) const SNAPSHOT_ROUNDS: u32 = 64;

/// A reward that changed by this factor since the snapshot makes the learner start over (section 4.2).
pub(super) const ANOMALY_FACTOR: f64 = 2.0;

/// Minimum number of chunks in a round: latencies of single chunks are mostly noise, and a chunk that was only buffered
/// has none.
pub(super) const ROUND_CHUNKS: u32 = 16;

/// Approximate cost of reading the clock when a chunk arrives and when it is done...
pub(super) const MEASURING: Duration = Duration::from_nanos(100);

/// ...which may be at most one n-th of the time for all chunks: a join needs some microseconds for a chunk of ten rows.
pub(super) const MEASURING_SHARE: u32 = 150;

/// Maximum number of rounds between two that are measured: the fastest arm may change.
pub(super) const HELD_ROUNDS_MAX: u32 = 15;

/// Rounds with the cost model's threshold before the arms are tried. A pipeline that is over sooner (16,384 rows of
/// single-row chunks, or 131,072 of half-full ones) is too short to recoup the cost of trying them.
pub(super) const ROUNDS_BEFORE_LEARNING: u32 = 64;

/// Rounds after which the cost model's threshold is recomputed; the first time, after one round.
pub(super) const MODEL_ROUNDS: u32 = 8;

/// A latency above this isn't due to the operators: the task was interrupted (a quantum is 10 ms).
pub(super) const LATENCY_MAX: Duration = Duration::from_millis(5);

/// Weight, in the mean, of the newest time per row that was held back.
pub(super) const PRICE_WEIGHT: f64 = 0.125;

/// A buffer with more bytes of copied strings than this is emitted even though it isn't full.
pub(super) const COPIED_BYTES_MAX: usize = 1 << 20;
