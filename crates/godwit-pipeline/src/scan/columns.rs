//! Statistics of what a scan did with each of its columns, as reported by readers.

use std::ops::AddAssign;

/// What a reader has read of a column from a file, or from the blocks of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnReads {
    /// Number of stored bytes.
    pub bytes: u64,
    /// Pieces that were opened: pages of a Parquet file that were decompressed, columns of an Arrow batch, parts of a
    /// segment.
    pub pages: u64,
    /// Pages that were found decompressed in the buffer pool.
    pub pages_cached: u64,
}

impl AddAssign for ColumnReads {
    fn add_assign(&mut self, more: Self) {
        self.bytes += more.bytes;
        self.pages += more.pages;
        self.pages_cached += more.pages_cached;
    }
}

/// What a scan did with a column.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnCounts {
    /// The reads for it.
    pub reads: ColumnReads,
    /// Number of values that were decoded into a vector.
    pub decoded: u64,
    /// Number of values on which filters were evaluated in packed form.
    pub packed: u64,
}

impl AddAssign for ColumnCounts {
    fn add_assign(&mut self, more: Self) {
        self.reads += more.reads;
        self.decoded += more.decoded;
        self.packed += more.packed;
    }
}

/// What a scan did with a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScannedColumn {
    /// Its name.
    pub name: String,
    /// The counts.
    pub counts: ColumnCounts,
    /// Number of rows that the scan visited. Values that weren't decoded belong to rows that bounds, dictionaries or
    /// filters had already excluded.
    pub rows: u64,
}
