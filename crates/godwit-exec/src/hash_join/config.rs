//! Tuning constants of the hash join.

/// Radix bits by which a large build side and a spilled probe side are partitioned, and by which a partition that is
/// too large is refined: 16 partitions. More would cost more open pages (two of 256 KiB each, per worker).
pub(super) const RADIX_BITS: u32 = 4;

/// A worker partitions its build rows only when they take more than this share of the available memory, divided by the
/// workers (1/8): below that, rows stay in the order of the input, and nothing is partitioned unnecessarily.
pub(super) const WHOLE_SHARE: u64 = 8;

/// The minimum grant of a join (1 MiB): a row page, a heap page and a table always fit.
pub(super) const GRANT_BYTES_MIN: u64 = 1 << 20;

/// Filters of the build keys are made while build rows arrive if the rows are expected to take more than this share of
/// what may be granted (1/4). The estimate doesn't include long strings and the table, which take up to three times as
/// much again; and filters that turn out to be useless cost a few nanoseconds per row, while without a filter all probe
/// rows without a match are spilled.
pub(super) const EARLY_SETS_SHARE: u64 = 4;

/// Build rows inserted, or scanned for those without a match, in one piece of work: about 1 ms.
pub(super) const MORSEL_ROWS: usize = 64 * 1024;

/// Spilled probe rows per piece of work: 8 pages.
pub(super) const PROBE_TASK_BYTES: u64 = 2 << 20;

/// An array indexed by key may take this much per build row if all build rows fit in memory: twice as much as a hash
/// table at its emptiest, for one access instead of two.
pub(super) const DIRECT_BYTES_PER_ROW_MAX: u128 = 64;

/// It may always take this much (L2 cache).
pub(super) const DIRECT_BYTES_ALWAYS: u128 = 128 * 1024;

/// A partition that keeps more than this share of its rows after being refined (7/8) consists of few keys: refining
/// it further would not help.
pub(super) const HOT_SHARE: (u64, u64) = (7, 8);

/// Pages of a partition that are sampled to decide whether refining it would help: some thousand rows from its
/// beginning, middle, and end, for the price of reading half a MiB.
pub(super) const HOT_SAMPLE_PAGES: usize = 3;
