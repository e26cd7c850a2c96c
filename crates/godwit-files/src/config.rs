//! Tuning numbers of the Parquet reader.

/// Rows of a morsel: it ends at the first page boundary after this many rows. Large enough that opening pages and
/// handing out morsels costs nothing, small enough that two workers finish together.
pub(crate) const MORSEL_ROWS_MIN: usize = 80_000;

/// Rows of a morsel of a large table. The pages of most columns end at the same rows, but some columns' don't: those
/// are decompressed for both morsels that they overlap, a fifth of them at the minimum size and a ninth at this one.
pub(crate) const MORSEL_ROWS_MAX: usize = 2 * MORSEL_ROWS_MIN;

/// Number of morsels per worker above which a table gets larger morsels.
pub(crate) const MORSELS_PER_WORKER: usize = 16;

/// Morsels of a remote file for which bytes are requested ahead, per worker. A morsel takes some 10 ms to process and
/// has some 2 MB: 8 hide 80 ms of waiting. The number of bytes is bounded by `godwit-objects`.
pub(crate) const REMOTE_MORSELS_AHEAD: usize = 8;

/// Bytes read at once while page boundaries are unknown (files without an offset index), to find the next page header.
pub(crate) const READ_BYTES_MIN: usize = 64 * 1024;

/// Column chunks without an offset index that are no larger than this, in bytes, are read whole if none of their
/// headers is known yet: they usually have a dictionary and one page, which would be read in parts that overlap. Scans
/// reserve as much for a window.
pub(crate) const CHUNK_READ_BYTES_MAX: u64 = 1024 * 1024;
const _: () = assert!(CHUNK_READ_BYTES_MAX <= WINDOW_KEPT_BYTES_MAX as u64);

/// Sizes of readers' buffers are multiples of this, so they don't change with every page.
pub(crate) const BUFFER_STEP_BYTES: usize = 64 * 1024;

/// Decompressed pages of at least this size are pages of the pool, which go back to the system as soon as they are
/// dropped: memory of 16 MiB or more that one thread allocates and another one frees is kept by the allocator for a
/// while.
pub(crate) const LARGE_PAGE_BYTES: usize = 8 << 20;

/// Decompressed bytes of pages that are decompressed together, at most: of usual ones, which writers end at 1 MiB or at
/// 20,000 rows. Larger ones are read one by one, as the memory of readers is estimated.
pub(crate) const TOGETHER_BYTES_MAX: usize = 4 << 20;

/// Dictionaries of fewer decompressed bytes are decompressed alone, in some ten microseconds.
pub(crate) const DICTIONARY_BYTES_MIN: usize = 64 * 1024;

/// The stored bytes of each dictionary that is read ahead take at most one n-th of the limit, as estimates of readers'
/// memory don't have them.
pub(crate) const DICTIONARY_AHEAD_SHARE_MIN: u64 = 64;

/// A reader keeps its window on the file from page to page unless it is larger than this: writers usually end a page at
/// 1 MiB, before it is compressed, and up to three are read together.
pub(crate) const WINDOW_KEPT_BYTES_MAX: usize = 2 << 20;

/// Maximum decompressed bytes of a column in pages that a worker holds at once for the rows of a window. A chunk whose
/// long texts would exceed this is shorter. Chunks of short texts have some hundred kilobytes.
pub(crate) const WINDOW_VALUES_BYTES_MAX: usize = 4 << 20;

/// Mean decompressed size of a column's value per row, in bytes, above which its pages may be unusually large: a page
/// has at least one row, and some writers end pages by row count only.
pub(crate) const LONG_VALUE_BYTES: u64 = 16 << 10;

/// The pages of long values held at once by all workers of a scan take at most one n-th of the limit: the rest is for
/// what operators keep. One worker can always read.
pub(crate) const LARGE_PAGES_PER_LIMIT: u64 = 4;

/// Maximum bytes of a column read for a sample: whole pages and batches are read, and some are large.
pub(crate) const SAMPLED_BYTES_MAX: u64 = 32 << 20;

/// Longest accepted page header. It may contain statistics of long strings.
pub(crate) const HEADER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Number of row groups whose dictionary sizes are used to estimate distinct values.
pub(crate) const SAMPLED_ROW_GROUPS: usize = 8;

/// Rows per value of a column's range at which the range is taken as its values: if rows had values at random, 98 % of
/// them would occur. Reading samples of such columns (most foreign keys) took half of the planning time of first runs.
pub(crate) const FULL_RANGE_ROWS_MIN: u128 = 4;

/// Rows read at each of two places of a table to estimate distinct values without a dictionary.
pub(crate) const SAMPLED_ROWS: usize = 4096;

/// Maximum number of tables on other machines looked up at once: each takes a thread that mostly waits.
pub(crate) const RESOLVED_AT_ONCE_MAX: usize = 16;

/// Number of tables whose footers the resolver remembers.
pub(crate) const CACHED_TABLES_MAX: usize = 256;

/// Maximum number of dictionary entries, over all chunks of a text column, that are read to determine its values: some
/// 20 ms.
pub(crate) const DOMAIN_ENTRIES_MAX: usize = 1 << 18;

/// Bytes of dictionaries, over all chunks of a text column, that are read to determine its values. They are copied, so
/// this is what a domain takes at most. Codes instead of longer texts would pay off as well, but only for few values,
/// and those have short dictionaries.
pub(crate) const DOMAIN_BYTES_MAX: usize = 16 << 20;
