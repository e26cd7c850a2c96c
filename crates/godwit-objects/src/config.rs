//! Limits and tuning numbers of object stores, all of them.

use std::time::Duration;

/// Requests in flight for bytes that are read ahead, per store. 20 ms and 100 MB/s for each keep 24 × 2 MB on their way,
/// which is more than a network of 10 Gbit/s brings; S3 takes thousands. Reads that somebody waits for come on top, one for
/// each thread that reads.
pub(crate) const REQUESTS_AHEAD_MAX: usize = 24;

/// Bytes read ahead and not yet taken, over all stores: what `REQUESTS_AHEAD_MAX` requests bring, and as much again that
/// waits for its reader. A smaller memory limit allows a part of it only: see [`AHEAD_LIMIT_SHARE`].
pub(crate) const AHEAD_BYTES_MAX: usize = 96 << 20;

/// Bytes read ahead take at most one part in so many of the memory limit.
pub(crate) const AHEAD_LIMIT_SHARE: u64 = 8;

/// Nothing is read ahead while less than one part in so many of the memory limit is free: queries need it more.
pub(crate) const AHEAD_FREE_SHARE: u64 = 4;

/// Ranges that are no further apart are read by one request: at 100 MB/s, they take less time than another request.
pub(crate) const GAP_BYTES_MAX: u64 = 256 << 10;

/// What is there of a range that is announced is fetched again along with the rest, if it is at most one part in so many: it
/// would cut the request into pieces.
pub(crate) const SMALL_SHARE: u64 = 8;

/// Longest range of a request: longer ones are cut, and read at the same time.
pub(crate) const REQUEST_BYTES_MAX: u64 = 4 << 20;

/// A read that was not announced fetches so many bytes at least: headers and lengths are read in small steps.
pub(crate) const READ_BYTES_MIN: u64 = 64 << 10;

/// The part of a file that comes with the answer to whether it is there: its end, where formats with footers begin to
/// read. The footers and page indexes of most files fit in: TPC-H's lineitem of 6 million rows has 180 KB.
pub(crate) const FIRST_BYTES: u64 = 256 << 10;

/// Longest file that is taken from a server that sends files as a whole only: it is kept in memory while it is open.
pub(crate) const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// A file that is read from front to back is read so far ahead.
pub(crate) const SEQUENTIAL_BYTES_AHEAD: u64 = 16 << 20;

/// Reads that begin where the one before ended until a file counts as read from front to back.
pub(crate) const SEQUENTIAL_READS_MIN: u32 = 2;

/// Readers of one file that may each be found to read from front to back.
pub(crate) const READERS_MAX: usize = 4;

/// Bytes read ahead that nobody took for so long are given back.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(4);

/// How often an interrupted statement is looked for while one waits for the network.
pub(crate) const INTERRUPT_INTERVAL: Duration = Duration::from_millis(20);

/// Threads that send requests and take answers: one copies about 1 GB/s out of TLS.
pub(crate) const NETWORK_THREADS: usize = 2;

/// Until a connection stands.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Until a request is answered as a whole: the longest, at 1 Mbit/s.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// A request that fails with 5xx or 429, or for which there is no connection, is sent so many times more.
pub(crate) const RETRIES_MAX: usize = 5;

/// Nothing is tried again after so long.
pub(crate) const RETRY_TIMEOUT: Duration = Duration::from_secs(60);

/// The first pause before a request is sent again; each is up to twice as long as the one before.
pub(crate) const RETRY_PAUSE_MIN: Duration = Duration::from_millis(100);

/// The longest pause.
pub(crate) const RETRY_PAUSE_MAX: Duration = Duration::from_secs(5);

/// A part of an upload. S3 takes no parts below 5 MiB, and no more than 10,000.
pub(crate) const PART_BYTES_MIN: usize = 8 << 20;

/// After so many parts, all further ones are larger by [`PART_BYTES_MIN`]: 10,000 hold 440 GB.
pub(crate) const PARTS_PER_SIZE: usize = 1_000;

/// Parts of one file on their way at once.
pub(crate) const PARTS_IN_FLIGHT_MAX: usize = 4;

/// How long one waits for the end of an upload that is given up.
pub(crate) const ABORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Entries of a folder that are listed at most, and what each is taken to need in memory.
pub(crate) const ENTRIES_MAX: usize = 1_000_000;

/// Path, ETag and size of an entry while a pattern is expanded.
pub(crate) const ENTRY_BYTES: usize = 400;

/// Versions of objects that are remembered, to be asked for again without their content.
pub(crate) const VERSIONS_MAX: usize = 4_096;

/// Stores with connections and credentials that are kept: buckets, containers, web servers.
pub(crate) const STORES_MAX: usize = 256;
