//! What a scan did with each of its columns: the one place where readers report it.

use std::ops::AddAssign;

/// What a reader took of a column from a file, or from the blocks of a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ColumnReads {
    /// Bytes as they are stored.
    pub bytes: u64,
    /// Pieces that were opened: pages of a Parquet file that were decompressed, columns of an Arrow batch, parts of a
    /// segment.
    pub pages: u64,
    /// Pages that were found decompressed in the pool.
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
    /// What was read for it.
    pub reads: ColumnReads,
    /// Values that became part of a vector.
    pub decoded: u64,
    /// Values of rows that filters were decided on in packed form.
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
    /// What was done.
    pub counts: ColumnCounts,
    /// Rows that the scan visited. Values that weren't decoded are of rows that bounds, dictionaries or filters had
    /// left out before.
    pub rows: u64,
}
