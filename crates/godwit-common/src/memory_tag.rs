//! Labels of memory by purpose.

use std::fmt;

/// The purpose of a piece of tracked memory. Every page and every reservation carries one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum MemoryTag {
    /// Fixed-width rows of a blocking operator.
    RowPage,
    /// Variable-size values of such rows.
    HeapPage,
    /// Entry arrays of join and aggregate hash tables, direct arrays, bit vectors, Bloom filters.
    HashTable,
    /// Sort keys and runs.
    Sort,
    /// Column-major intermediates, such as spilled probe sides.
    ColumnPage,
    /// Buffers of file readers: compressed pages, decoded dictionaries, metadata.
    Reader,
    /// Rows of a result that the caller hasn't fetched yet.
    Result,
    /// Buffers of file writers.
    Writer,
    /// Compressed bytes of spilled pages, while they are written and read back.
    SpillBuffer,
    /// Blocks and dictionaries of the database's own tables, and their rows that aren't in blocks yet.
    Table,
    /// Everything small that is counted in bulk, such as vectors in flight.
    Other,
}

impl MemoryTag {
    /// Number of tags; `tag as usize` is below it.
    pub const COUNT: usize = 11;

    /// All tags, in the order of their discriminants.
    pub const ALL: [MemoryTag; Self::COUNT] = [
        MemoryTag::RowPage,
        MemoryTag::HeapPage,
        MemoryTag::HashTable,
        MemoryTag::Sort,
        MemoryTag::ColumnPage,
        MemoryTag::Reader,
        MemoryTag::Result,
        MemoryTag::Writer,
        MemoryTag::SpillBuffer,
        MemoryTag::Table,
        MemoryTag::Other,
    ];
}

impl MemoryTag {
    /// The name shown to users.
    pub fn name(self) -> &'static str {
        match self {
            MemoryTag::RowPage => "row page",
            MemoryTag::HeapPage => "heap page",
            MemoryTag::HashTable => "hash table",
            MemoryTag::Sort => "sort",
            MemoryTag::ColumnPage => "column page",
            MemoryTag::Reader => "reader",
            MemoryTag::Result => "result",
            MemoryTag::Writer => "writer",
            MemoryTag::SpillBuffer => "spill buffer",
            MemoryTag::Table => "table",
            MemoryTag::Other => "other",
        }
    }
}

impl fmt::Display for MemoryTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
