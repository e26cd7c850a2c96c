//! Tuning numbers of the Parquet reader.

/// Rows of a morsel: it ends at the first page boundary after this many rows. Large enough that opening pages and
/// handing out morsels costs nothing, small enough that two workers finish together.
pub(crate) const MORSEL_ROWS_MIN: usize = 80_000;

/// Rows of a morsel of a large table. The pages of most columns end at the same rows, but those of some don't: these
/// are decompressed for both morsels that they overlap, a fifth of them at the minimum size and a ninth at this one.
pub(crate) const MORSEL_ROWS_MAX: usize = 2 * MORSEL_ROWS_MIN;

/// Number of morsels per worker above which a table gets larger morsels.
pub(crate) const MORSELS_PER_WORKER: usize = 16;

/// Morsels of a remote file for which bytes are requested ahead, for each worker. One takes some 10 ms to work on and
/// has some 2 MB: 8 hide 80 ms of waiting. The number of bytes is bounded by `godwit-objects`.
pub(crate) const REMOTE_MORSELS_AHEAD: usize = 8;

/// Bytes read at once while page boundaries are unknown (files without an offset index), to find the next page header.
pub(crate) const READ_BYTES_MIN: usize = 64 * 1024;

/// Buffers of readers have multiples of this, so that they don't change with every page.
pub(crate) const BUFFER_STEP_BYTES: usize = 64 * 1024;

/// Decompressed pages from this size on are pages of the pool, which the system has back as soon as they are dropped: what
/// one thread allocates and another one frees, the allocator keeps for a while from 16 MiB on.
pub(crate) const LARGE_PAGE_BYTES: usize = 8 << 20;

/// A reader keeps its window on the file from page to page unless it is larger than this: usual writers end a page at
/// 1 MiB.
pub(crate) const WINDOW_KEPT_BYTES_MAX: usize = 1 << 20;

/// Decompressed bytes of a column whose pages a worker holds at once for the rows of a window: if a chunk's rows of
/// long texts exceed this, the chunk is shorter. Chunks of short texts have some hundred kilobytes.
pub(crate) const WINDOW_VALUES_BYTES_MAX: usize = 4 << 20;

/// Mean decompressed size of a row's value of a column, in bytes, above which its pages may be much larger than usual: a
/// page has at least one row, and some writers end one by the number of its rows only.
pub(crate) const LONG_VALUE_BYTES: u64 = 16 << 10;

/// The pages of long values that all workers of a scan hold at once take the limit divided by this at most: the rest is for
/// what operators keep. One worker always reads.
pub(crate) const LARGE_PAGES_PER_LIMIT: u64 = 4;

/// Bytes of a column that are read for a sample: whole pages and batches are read, and some are large.
pub(crate) const SAMPLED_BYTES_MAX: u64 = 32 << 20;

/// Longest page header that is accepted: it may contain statistics of long strings.
pub(crate) const HEADER_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Row groups whose dictionary sizes are looked at to estimate distinct values.
pub(crate) const SAMPLED_ROW_GROUPS: usize = 8;

/// Rows that are read at each of two places of a table to estimate distinct values where there is no dictionary.
pub(crate) const SAMPLED_ROWS: usize = 4096;

/// Tables on other machines that are looked up at once: each takes a thread that waits most of the time.
pub(crate) const RESOLVED_AT_ONCE_MAX: usize = 16;

/// Tables whose footers the resolver remembers.
pub(crate) const CACHED_TABLES_MAX: usize = 256;

/// Maximum number of dictionary entries, over all chunks of a text column, that are read to know its values: some 20
/// ms.
pub(crate) const DOMAIN_ENTRIES_MAX: usize = 1 << 18;
