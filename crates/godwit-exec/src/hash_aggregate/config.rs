//! Tuning constants of hash aggregation.

use godwit_memory::PAGE_BYTES;

/// Maximum number of entries in a worker's table: 2^17 (paper, section V); with rows of typical width the groups of a
/// table fill the L2 cache and part of the L3.
pub(super) const LOCAL_ENTRIES_MAX: usize = 1 << 17;
/// Initial number of entries in a worker's table: room for the groups of a chunk, little to clear for small queries.
pub(super) const LOCAL_ENTRIES_MIN: usize = 1 << 12;
/// Share of the memory limit that the tables of all workers and their pinned rows may take.
pub(super) const LOCAL_MEMORY_SHARE: f64 = 0.25;
/// A table is grown, or reset once it can't grow, when this many percent of its entries are taken (paper, section V).
pub(super) const FILL_PERCENT_MAX: usize = 66;
/// If a table took fewer rows per group than this when it was full, probing it doesn't pay: rows are only partitioned.
pub(super) const REDUCTION_MIN: f64 = 1.25;
/// After this many rows that were only partitioned, a table is tried again: the data may have changed.
pub(super) const RETRY_ROWS: u64 = 1 << 21;

/// Bytes of the distinct strings that get codes in a worker's direct array: they are kept twice, and not accounted for.
/// Keys of few values have short ones.
pub(super) const STRING_CODES_BYTES_MAX: usize = 256 << 10;

/// Keys count as repeating when a sketch has seen at least this share of rows repeat: six standard errors.
pub(super) const REPEATS_MIN: f64 = 0.1;
/// While rows are only partitioned, a large table is reconsidered after this many of them.
pub(super) const DECIDE_ROWS: u64 = 1 << 18;
/// Size of a group from which a table lookup that misses the caches costs less than writing the row and reading it
/// back; smaller rows are looked up only when memory is short.
pub(super) const WIDE_GROUP_BYTES: usize = 96;
/// Memory counts as short when partitioned rows take this share of the limit.
pub(super) const PRESSURE_SHARE: f64 = 0.4;
/// Share of the memory limit that the large tables of all workers and their pinned rows may take.
pub(super) const LARGE_MEMORY_SHARE: f64 = 0.5;
/// A large table is created if it can hold at least this share of the groups, and kept as long as half of that share of
/// the rows find their group in it.
pub(super) const LARGE_HELD_MIN: f64 = 0.3;
/// A large table gets at least one n-th of what it asks for, even if joins came first. Whether that is worth a table is
/// then decided by [`LARGE_HELD_MIN`].
pub(super) const LARGE_CLAIM_MIN: u64 = 4;
/// A large table stops taking groups when less than this share of the memory limit is free or can be evicted.
pub(super) const LARGE_FREE_MIN: f64 = 0.15;

/// 2^4 partitions: enough for the usual number of workers, and few open pages.
pub(super) const RADIX_BITS_USUAL: u32 = 4;
/// 2^6 partitions if many groups are expected: smaller tables in phase two, 16 MiB of open pages per worker.
pub(super) const RADIX_BITS_MANY: u32 = 6;
/// Number of expected groups that counts as many.
pub(super) const MANY_GROUPS: u64 = 300_000;
/// Share of the memory limit that the open pages of all partitions may take; with less memory there are fewer
/// partitions.
pub(super) const OPEN_PAGES_SHARE: f64 = 0.25;
/// Partitions with fewer rows than this aren't split unless they have [`SPLIT_BYTES_MIN`]: the pieces would take more
/// pages than the whole.
pub(super) const SPLIT_ROWS_MIN: u64 = 1 << 12;
/// Partitions of few rows with long strings are split if they take this much: each piece then has several pages.
pub(super) const SPLIT_BYTES_MIN: u64 = 16 << 20;
/// A partition that doesn't fit is split into 2^3 at a time.
pub(super) const REPARTITION_BITS: u32 = 3;
/// Partitions with fewer rows than this in total are one morsel of phase two: full chunks, little setup.
pub(super) const MORSEL_ROWS_MIN: u64 = 1 << 14;
/// Share of the memory limit that all partitions under aggregation in phase two may take.
pub(super) const PARTITIONS_MEMORY_SHARE: f64 = 0.5;

/// Share of a worker's part of [`PARTITIONS_MEMORY_SHARE`] that growing results of one chunk may take; a single result
/// may take more.
pub(super) const RESULTS_SHARE: u64 = 16;

/// Maximum number of slots in the map of a direct array with strings among its keys, 4 bytes each: 256 KiB, part of the
/// L2 cache.
pub(super) const DIRECT_SLOTS_MAX: usize = 1 << 16;
/// Maximum number of slots if all keys are integers or booleans: 8 MiB, part of the L3 cache. Even there an access
/// costs less than a lookup in a hash table of that many groups.
pub(super) const DENSE_SLOTS_MAX: usize = 1 << 21;
/// Share of the memory limit that the direct arrays of all workers may take; they can't be spilled.
pub(super) const DIRECT_MEMORY_SHARE: f64 = 0.125;
/// A direct array with more groups than this gives up if half of its slots are taken and it has seen fewer than
/// [`DIRECT_REDUCTION_MIN`] rows per group.
pub(super) const DIRECT_GROUPS_FREE: usize = 1 << 15;
/// Half of the slots are taken after 1.4 rows per group if keys are random, and after 1 if they are unique: then moving
/// the groups to the table costs more than the direct array saves.
pub(super) const DIRECT_REDUCTION_MIN: f64 = 1.2;
/// The reservation of a direct array grows in steps of this many bytes.
pub(super) const DIRECT_GROWTH_BYTES: usize = 1 << 16;
/// Maximum number of slots for the distinct values of one dictionary key. More values end the direct array.
pub(super) const DIRECT_STRINGS_MAX: usize = 1 << 8;
/// No direct array is created if it could hold fewer strings than this per key.
pub(super) const DIRECT_STRINGS_MIN: usize = 1 << 4;
/// Sums whose lanes could overflow after fewer rows than this don't use lanes.
pub(super) const LANE_ROWS_MIN: u64 = 1 << 16;
/// Maximum number of groups for which sums keep several lanes: the lanes stay in the L1 cache.
pub(super) const LANES_GROUPS_MAX: usize = 1 << 8;
/// Neighbouring rows add to different lanes, so that an addition doesn't wait for the one before to reach the cache.
pub(super) const LANES: usize = 4;

/// Maximum number of groups for which aggregates that may be approximate are: a sketch takes 4 KiB and a digest 7, so all
/// together take some megabytes. If there are more groups, each has few values, which take less.
pub(crate) const SKETCHED_GROUPS_MAX: f64 = 1024.0;
/// Maximum bytes of a group's sketches and digests: three quarters of a page, in which rows have to fit. Further aggregates
/// are exact.
pub(crate) const SKETCHES_BYTES_MAX: usize = 3 * PAGE_BYTES / 4;

/// No query aggregates more rows than this; sums whose range times this fits 64 bits need no wider state.
pub(super) const ROWS_MAX: i128 = 1 << 40;
