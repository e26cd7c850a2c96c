//! The tuning numbers of sorting.

/// Share of the memory limit that the runs being collected may pin, all workers together. A third, because a sort
/// hands its rows on while another operator collects them, and the rest of the query needs memory too.
pub(super) const COLLECT_SHARE: u64 = 3;

/// Of that share, a sort gets at least one n-th, beside joins and other sorts that were there first: with shorter runs,
/// merging takes another pass long before memory is worth as much to the others.
pub(super) const MINIMUM_SHARE: u64 = 4;

/// A worker doesn't write a run out before it has this many bytes, however short memory is: tiny runs cost more merge
/// passes than they save.
pub(super) const RUN_BYTES_MIN: u64 = 2 << 20;

/// A run is written out early if less than this share of the memory limit can be had without taking pinned memory.
pub(super) const SCARCE_SHARE: u64 = 8;

/// Share of the memory limit that the open blocks of a merge may pin.
pub(super) const MERGE_SHARE: u64 = 8;

/// What an open run pins while it is merged: a row page, two heap pages, and the keys of a block.
pub(super) const CURSOR_BYTES: u64 = 3 * godwit_memory::PAGE_BYTES as u64 + (64 << 10);

/// Most runs in one merge: beyond some hundred, comparing costs as much as another pass.
pub(super) const FAN_IN_MAX: usize = 256;

/// A batch of a merge ends early when this many blocks were used up, so that blocks of few, long rows don't pile up.
pub(super) const RETIRED_BLOCKS_MAX: usize = 16;

/// Rows that a top-N lets pile up beyond the N it keeps, at least, before it throws away the losers.
pub(super) const TOP_SLACK_ROWS: usize = 4096;

/// Batches that a step of a merge pass writes before it looks for cancellation.
pub(super) const BATCHES_PER_STEP: usize = 32;

/// Least bytes of a string prefix in a key for which room is left for the keys behind it.
pub(super) const PREFIX_BYTES_MIN: u32 = 4;

/// Sampling step: every n-th row of a run in place is a candidate for a cut between ranges that are merged at the same
/// time.
pub(super) const SAMPLE_ROWS: usize = 1024;

/// Rows of a range that one worker merges, at most: enough that finding its place in all runs costs nothing.
pub(super) const RANGE_ROWS_MAX: usize = 128 << 10;

/// Rows of a range, at least, unless everything is less.
pub(super) const RANGE_ROWS_MIN: usize = 8 << 10;

/// Share of the memory limit that merged ranges which wait for their turn may take in total.
pub(super) const WAITING_SHARE: u64 = 16;

/// Ranges that workers are ahead of the one which is emitted, besides one for each of them.
pub(super) const RANGES_AHEAD: usize = 1;

/// A LIMIT is sorted as a whole, and cut at the end, if its rows would fill more than this share of what a worker
/// collects before it writes a run: repeatedly throwing away losers would copy more than it saves.
pub(super) const TOP_SHARE: u64 = 4;

/// How many entries ahead strings are asked for, and their views as far again, when they get new keys: a miss of about
/// 100 ns behind entries that take some nanoseconds each.
pub(super) const PREFETCH_ENTRIES: usize = 16;

/// Smaller groups of rows with equal keys are compared outright, unless a look at their next bytes is likely to be enough.
pub(super) const REKEY_ROWS_MIN: usize = 16;

/// Rows that get new keys at once: few enough that what is gathered for them stays in the L2 cache.
pub(super) const REKEY_ROWS: usize = 1024;

/// How often rows get new keys before they are compared outright: enough for strings that share 200 bytes.
pub(super) const REKEYS_MAX: u32 = 16;
