//! A snapshot of the pool.

use godwit_common::MemoryTag;

/// Statistics of the pool's memory and activity. The numbers are read one by one while other threads work, so sums may
/// be slightly off.
#[derive(Debug, Clone, Default)]
pub struct MemoryStatistics {
    /// The limit on [`used_bytes`](Self::used_bytes).
    pub limit_bytes: u64,
    /// Bytes of reservations and loaded pages.
    pub used_bytes: u64,
    /// The most that `used_bytes` has been.
    pub peak_bytes: u64,
    /// Bytes of loaded pages without a pin.
    pub evictable_bytes: u64,
    /// Bytes of freed pages that are still resident, kept for reuse.
    pub idle_bytes: u64,
    /// `used_bytes` by tag; the index is `tag as usize`.
    pub tag_bytes: [u64; MemoryTag::COUNT],
    /// Pages that left memory for the disk.
    pub evictions: u64,
    /// Bytes of pages written to temporary files so far.
    pub spilled_bytes_total: u64,
    /// Bytes that they took there: fewer if they were compressed.
    pub stored_bytes_total: u64,
    /// Bytes read back so far.
    pub reread_bytes_total: u64,
    /// Size of the temporary files now.
    pub temp_file_bytes: u64,
}

impl MemoryStatistics {
    /// Bytes in use for `tag`.
    pub fn bytes_of(&self, tag: MemoryTag) -> u64 {
        self.tag_bytes[tag as usize]
    }
}
