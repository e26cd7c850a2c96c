//! The resources of a database.

use std::path::PathBuf;
use std::sync::Arc;

#[cfg(all(unix, feature = "cache-partitioning"))]
use godwit_cache::Imitation;
use godwit_common::{Error, Result, parse_bytes};
use godwit_io::{Files, SimulatedFiles};
use godwit_memory::RequestFaults;

/// Limits and directories of a database. `Config::default()` takes 80 % of the memory that the process may use, and all
/// cores.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Maximum memory in bytes; `None`: 80 % of what the process may use.
    pub memory_limit_bytes: Option<u64>,
    /// Whether the limit applies to the whole process, including memory already in use: for programs that consist of
    /// nothing but Godwit.
    pub whole_process: bool,
    /// Number of worker threads; `None`: one per core.
    pub threads: Option<usize>,
    /// Directory for spilled intermediates; `None`: the system's directory for temporary files.
    pub temp_directory: Option<PathBuf>,
    /// Maximum disk space for intermediates in bytes; `None`: what the disk has.
    pub max_temp_directory_bytes: Option<u64>,
    /// Opens a database file read-only; several processes may do so at the same time.
    pub read_only: bool,
    /// Switches that exercise rare paths, for tests.
    pub debug: DebugOptions,
}

/// Switches for tests: results never depend on them.
#[derive(Debug, Clone, Default)]
pub struct DebugOptions {
    /// Maximum number of rows in a chunk; `None`: the usual 2,048.
    pub chunk_rows: Option<usize>,
    /// Whether every page is written to disk as soon as it is no longer in use.
    pub force_spill: bool,
    /// Size of the buffer pool, possibly less than the minimum; `None`: what the limit leaves for it.
    pub pool_bytes: Option<u64>,
    /// Simulated temporary files that fail on demand; `None`: real ones.
    pub spill_files: Option<SimulatedFiles>,
    /// Requests for memory that are to fail.
    pub request_faults: Option<RequestFaults>,
    /// Replaces the machine's partitions of the last-level cache; `None`: those that Linux offers.
    #[cfg(all(unix, feature = "cache-partitioning"))]
    pub resctrl: Option<Imitation>,
    /// The files that statements name by path; `None`: those on the real disk.
    pub files: Option<Arc<dyn Files>>,
}

impl Config {
    /// Sets the memory limit from text such as "2GB".
    pub fn with_memory_limit(mut self, size: &str) -> Result<Self> {
        self.memory_limit_bytes = Some(parse_bytes(size)?);
        Ok(self)
    }

    /// Sets the number of worker threads.
    pub fn with_threads(mut self, threads: usize) -> Result<Self> {
        self.threads = Some(check_threads(threads)?);
        Ok(self)
    }
}

/// Maximum number of worker threads. Beyond it the per-worker minimum of memory alone is tens of gigabytes.
const THREADS_MAX: usize = 1024;

pub(crate) fn check_threads(threads: usize) -> Result<usize> {
    if (1..=THREADS_MAX).contains(&threads) {
        return Ok(threads);
    }
    Err(Error::user(format!("{threads} threads are not possible")).with_hint(format!("use 1 to {THREADS_MAX}")))
}

/// Returns the number of cores: one worker per core.
pub(crate) fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |cores| cores.get())
}
