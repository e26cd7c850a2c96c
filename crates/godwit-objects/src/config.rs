//! All limits and tuning numbers of object stores.

use std::time::Duration;

/// Requests in flight for bytes that are read ahead, per store. At 20 ms and 100 MB/s each, 24 × 2 MB are in flight,
/// more than a network of 10 Gbit/s delivers; S3 accepts thousands. Reads that somebody waits for come on top, one for
/// each reading thread.
pub(crate) const REQUESTS_AHEAD_MAX: usize = 24;

/// Bytes read ahead and not yet taken, over all stores: as many as `REQUESTS_AHEAD_MAX` requests deliver, and as many
/// again waiting for their readers. A smaller memory limit allows only a part of it: see [`AHEAD_LIMIT_SHARE`].
pub(crate) const AHEAD_BYTES_MAX: usize = 96 << 20;

/// Bytes read ahead take at most one n-th of the memory limit.
pub(crate) const AHEAD_LIMIT_SHARE: u64 = 8;

/// Nothing is read ahead while less than one n-th of the memory limit is free: queries need it more.
pub(crate) const AHEAD_FREE_SHARE: u64 = 4;

/// Ranges with a gap of at most this many bytes are read by one request: at 100 MB/s, the gap takes less time than
/// another request.
pub(crate) const GAP_BYTES_MAX: u64 = 256 << 10;

/// If at most one n-th of an announced range has already arrived, that part is fetched again along with the rest, since
/// it would split the request.
pub(crate) const SMALL_SHARE: u64 = 8;

/// Longest range of a request. Longer ranges are split and read in parallel.
pub(crate) const REQUEST_BYTES_MAX: u64 = 4 << 20;

/// Minimum bytes fetched by a read that wasn't announced: headers and lengths are read in small steps.
pub(crate) const READ_BYTES_MIN: u64 = 64 << 10;

/// Bytes of a file that come with the lookup of whether it exists: those at its end, where formats with footers are
/// read first. The footers and page indexes of most files fit: TPC-H's lineitem of 6 million rows has 180 KB.
pub(crate) const FIRST_BYTES: u64 = 256 << 10;

/// Longest file accepted from a server that only sends whole files: it is kept in memory while it is open.
pub(crate) const WHOLE_BYTES_MAX: u64 = 256 << 20;

/// Read-ahead for a file that is read sequentially.
pub(crate) const SEQUENTIAL_BYTES_AHEAD: u64 = 16 << 20;

/// Number of consecutive reads after which a file counts as read sequentially.
pub(crate) const SEQUENTIAL_READS_MIN: u32 = 2;

/// Readers of one file that may each be detected as sequential.
pub(crate) const READERS_MAX: usize = 4;

/// Bytes read ahead that aren't taken for this long are released.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(4);

/// How often a thread that waits for the network checks whether its statement is interrupted.
pub(crate) const INTERRUPT_INTERVAL: Duration = Duration::from_millis(20);

/// Threads that send requests and receive answers: one copies about 1 GB/s out of TLS.
pub(crate) const NETWORK_THREADS: usize = 2;

/// Timeout for establishing a connection.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for a complete answer: of the longest request, at 1 Mbit/s.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Maximum number of redirects of a request.
pub(crate) const REDIRECTS_MAX: usize = 10;

/// Number of retries of a request that fails with 5xx or 429, or for lack of a connection.
pub(crate) const RETRIES_MAX: usize = 5;

/// Time after which there are no more retries.
pub(crate) const RETRY_TIMEOUT: Duration = Duration::from_secs(60);

/// The first pause before a retry; each is up to twice as long as the one before.
pub(crate) const RETRY_PAUSE_MIN: Duration = Duration::from_millis(100);

/// The longest pause.
pub(crate) const RETRY_PAUSE_MAX: Duration = Duration::from_secs(5);

/// Minimum size of a part of an upload. S3 accepts no parts below 5 MiB, and at most 10,000.
pub(crate) const PART_BYTES_MIN: usize = 8 << 20;

/// Number of parts after which all further ones are larger by [`PART_BYTES_MIN`]: 10,000 hold 440 GB.
pub(crate) const PARTS_PER_SIZE: usize = 1_000;

/// Parts of one file in flight at once.
pub(crate) const PARTS_IN_FLIGHT_MAX: usize = 4;

/// How long to wait for an abandoned upload to be aborted.
pub(crate) const ABORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of entries of a folder that are listed, and the memory assumed for each.
pub(crate) const ENTRIES_MAX: usize = 1_000_000;

/// Path, ETag and size of an entry while a pattern is expanded.
pub(crate) const ENTRY_BYTES: usize = 400;

/// Number of object versions that are remembered, so that they can be requested again without their content.
pub(crate) const VERSIONS_MAX: usize = 4_096;

/// Number of stores whose connections and credentials are kept: buckets, containers, web servers.
pub(crate) const STORES_MAX: usize = 256;
