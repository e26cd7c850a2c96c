//! Rows stored by column in spillable pages: for rows that are appended and read back in page order, and don't need an
//! address, such as the probe side of a join.
//!
//! ```text
//! PartitionedColumns ── 2^bits ──► ColumnCollection ──► ColumnPage, of some capacity in rows
//!
//! column page   | values of column 0 | values of column 1 | … | validity bits of 0 | … | flags? | strings ──►   |
//! ```
//!
//! Each area has room for as many rows as the page's *capacity*, a multiple of [`CAPACITY_STEP`], so every area is
//! aligned for its values. The area of a string column holds lengths of 4 bytes; the strings of a row are stored
//! together, row after row. The capacity of a page is chosen when it is opened, based on the average size of a row's
//! strings so far. A page is full when an area or the room for strings is. A row that doesn't fit in a page gets a
//! large one.
//!
//! Neither pointers nor hashes are stored: hashes are computed from the keys when needed. So pages are written to disk
//! and read back as they are, and a row takes little more than its values.
//!
//! Source: Kuiper et al., "Saving Private Hash Join", section 4, on the spilled probe side.

mod collection;
mod layout;
mod page;
mod partitioned;
mod scan;

#[cfg(test)]
mod tests;

pub use collection::ColumnCollection;
pub use layout::ColumnLayout;
pub use partitioned::PartitionedColumns;
pub use scan::{ColumnBlock, ColumnScan};

/// Capacities of pages are multiples of this: areas of 1-byte values stay aligned to 16 bytes, the widest value.
const CAPACITY_STEP: usize = 16;
