//! Tuning constants of window functions.

/// 2^4 partitions: small ones are merged again, and few pages are open.
pub(super) const RADIX_BITS_USUAL: u32 = 4;
/// 2^6 partitions if many rows are expected: partitions of some ten megabytes are sorted faster than large ones, and
/// can be evicted one by one.
pub(super) const RADIX_BITS_MANY: u32 = 6;
/// Number of expected rows that counts as many.
pub(super) const MANY_ROWS: u64 = 4_000_000;
/// Share of the memory limit that the open pages of all partitions and workers may take.
pub(super) const OPEN_PAGES_SHARE: f64 = 0.25;
/// A partition that doesn't fit is split into 2^3 at a time.
pub(super) const REPARTITION_BITS: u32 = 3;
/// A piece that still has more than this share of a split partition's rows holds one large partition: it is sorted
/// externally.
pub(super) const HOT_SHARE: f64 = 0.75;
/// Partitions with fewer rows than this in total are one morsel: full chunks, little setup.
pub(super) const MORSEL_ROWS_MIN: u64 = 1 << 14;
/// Share of the memory limit that all partitions sorted in place may take together.
pub(super) const IN_PLACE_SHARE: f64 = 0.5;

/// Rows that are read at a time, wherever rows are read sequentially: a chunk's worth.
pub(super) const BLOCK_ROWS: usize = godwit_vector::CHUNK_ROWS;
/// Sliding frames are computed together as long as they lie within this many rows: the states of an average of floats
/// then take 1 MiB, which stays in the L2 cache.
pub(super) const REGION_ROWS_MAX: usize = 1 << 14;
/// Rows whose aggregate is kept, for frames that are longer than a region.
pub(super) const GRAIN_ROWS: usize = 1 << 10;
/// The same for frames that may be anywhere: a state of 24 bytes then takes about a byte per row, and a frame reads
/// about as many single rows as it combines states.
pub(super) const SMALL_GRAIN_ROWS: usize = 32;
/// Rows from anywhere that are pinned at a time: each may be on a page of its own.
pub(super) const SCATTERED_ROWS: usize = 16;
/// The same for rows in small grains, each of which is contiguous.
pub(super) const SCATTERED_GRAINS: usize = 16;
/// Number of totals that are combined into one total of the next level.
pub(super) const TREE_FANOUT: usize = 8;
/// Reservations that follow the data grow in steps of this many bytes.
pub(super) const GROWTH_BYTES: usize = 1 << 16;
/// Bytes that a kept value takes besides its content: its entry in a list or map.
pub(super) const LISTED_VALUE_BYTES: usize = 64;

/// Maximum size of what a worker that drops rows before sorting remembers about partitions: it should stay in caches.
pub(super) const BOUNDS_BYTES_MAX: usize = 4 << 20;
/// Approximate bytes of a remembered string besides its content: its entry in a map or heap, and the allocator's
/// overhead.
pub(super) const BOUND_BYTES: usize = 48;
/// Rows after which it is decided whether dropping rows is worth it: checking a row costs about as much as keeping and
/// sorting a fraction of one.
pub(super) const TRIAL_ROWS: usize = 1 << 16;
/// The share of rows that must have been dropped by then.
pub(super) const DROPPED_SHARE_MIN: f64 = 0.25;
