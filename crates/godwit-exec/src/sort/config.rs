//! Tuning constants of sorting.

/// Share of the memory limit that the runs being collected by all workers together may pin. A third, because a sort
/// emits its rows while another operator collects them, and the rest of the query needs memory, too.
pub(super) const COLLECT_SHARE: u64 = 3;

/// Of that share, a sort gets at least one n-th, even if joins and other sorts came first: with shorter runs, merging
/// would need another pass, which costs more than the others gain from the memory.
pub(super) const MINIMUM_SHARE: u64 = 4;

/// A worker doesn't write a run out before it has this many bytes, however short memory is: tiny runs cost more merge
/// passes than they save.
pub(super) const RUN_BYTES_MIN: u64 = 2 << 20;

/// A run is written out early if less than this share of the memory limit is available without taking pinned memory.
pub(super) const SCARCE_SHARE: u64 = 8;

/// Share of the memory limit that the open blocks of a merge may pin.
pub(super) const MERGE_SHARE: u64 = 8;

/// Bytes that an open run pins while it is merged: a row page, two heap pages, and the keys of a block.
pub(super) const CURSOR_BYTES: u64 = 3 * godwit_memory::PAGE_BYTES as u64 + (64 << 10);

/// Maximum number of runs in one merge: beyond a few hundred, comparing costs as much as another pass.
pub(super) const FAN_IN_MAX: usize = 256;

/// A batch of a merge ends early when this many blocks have been used up, so that blocks of few, long rows don't pile
/// up.
pub(super) const RETIRED_BLOCKS_MAX: usize = 16;

/// Minimum number of rows that a top-N lets pile up beyond its N before it discards the losers.
pub(super) const TOP_SLACK_ROWS: usize = 4096;

/// Batches that a step of a merge pass writes before it checks for cancellation.
pub(super) const BATCHES_PER_STEP: usize = 32;

/// Minimum bytes of a string prefix in a key; only beyond that is room left for the following keys.
pub(super) const PREFIX_BYTES_MIN: u32 = 4;

/// Sampling step: every n-th row of a run in place is a candidate for a cut between ranges that are merged at the same
/// time.
pub(super) const SAMPLE_ROWS: usize = 1024;

/// Maximum number of rows in a range that one worker merges: enough that finding its place in all runs costs next to
/// nothing.
pub(super) const RANGE_ROWS_MAX: usize = 128 << 10;

/// Minimum number of rows in a range, unless there are fewer in total.
pub(super) const RANGE_ROWS_MIN: usize = 8 << 10;

/// Share of the memory limit that merged ranges waiting for their turn may take in total.
pub(super) const WAITING_SHARE: u64 = 16;

/// Number of ranges that workers may be ahead of the one being emitted, besides one for each worker.
pub(super) const RANGES_AHEAD: usize = 1;

/// A LIMIT is sorted as a whole, and cut at the end, if its rows would fill more than this share of what a worker
/// collects before it writes a run: repeatedly discarding losers would copy more than it saves.
pub(super) const TOP_SHARE: u64 = 4;

/// Prefetch distance, in entries, for strings when rows get new keys; views are prefetched twice as far ahead. A miss
/// takes about 100 ns, an entry a few nanoseconds.
pub(super) const PREFETCH_ENTRIES: usize = 16;

/// Smaller groups of rows with equal keys are compared directly, unless their next bytes are likely to decide.
pub(super) const REKEY_ROWS_MIN: usize = 16;

/// Rows that get new keys at once: few enough that the values gathered for them stay in the L2 cache.
pub(super) const REKEY_ROWS: usize = 1024;

/// How often rows get new keys before they are compared directly: enough for strings that share 200 bytes.
pub(super) const REKEYS_MAX: u32 = 16;
