//! Rows in spillable pages, and what works on raw row memory.
//!
//! ```text
//! PartitionedRows ── 2^bits ──► RowCollection ──► RowPage ──► Part: a range of its rows and the heap page that holds
//!      append: columns → rows, partitioned by hash,              their long strings, with its last known address
//!              in one copy (place.rs, scatter.rs)
//!
//! row page   | row | row | row | …      row: | columns | validity bits | hash? | extra area? |
//!                |                                 └ strings as 16-byte views: inline, or pointers into the heap page
//! heap page  | strings of row 0 | strings of row 1 | …      large page: the strings of one row above a page
//! ```
//!
//! Pages go to disk and come back as they are, nothing is serialized. A heap page may come back at another address;
//! then the views of exactly the rows that use it are moved by the difference, in place, when they are pinned the next
//! time (segment.rs).
//!
//! Rows that need no address are kept by column instead (columns/mod.rs).
//!
//! Work is done column by column over lists of [`RowPtr`]: [`RowLayout::gather`], [`RowLayout::match_rows`].
//!
//! # The contract of row pointers
//!
//! A [`RowPtr`] is the address of a row. It is valid while a pin of its page is held: a [`PinnedRows`], a [`RowBlock`],
//! or the collection it was appended to as long as the page is open or [`RowCollection::keep_pinned`] is on. Functions
//! that take row pointers are safe to call for the operators above, which can't make pointers themselves; they owe it
//! to hold the pins, to pass pointers only to the layout that they belong to, and to pass the [`Heaps`] that came with
//! them. Whoever writes the extra area of one row from several threads uses the atomic accessors of [`RowPtr`].
//!
//! Source: Kuiper, Mühleisen, "Robust External Hash Aggregation in the Solid State Age", IV.
//!
//! [`Heaps`]: godwit_vector::Heaps

pub mod aggregate_state;
mod atomic_words;
mod collection;
mod columns;
mod copy_rows;
mod gather;
mod group_table;
mod integer_key;
mod join_table;
mod key_extremes;
mod layout;
mod match_rows;
mod page_walk;
mod paged;
mod partition;
mod partition_order;
mod payload;
mod pinned;
mod place;
pub mod radix;
mod row_order;
mod row_pages;
mod row_ptr;
mod scan;
mod scatter;
mod segment;

#[cfg(test)]
mod tests;

pub use atomic_words::AtomicWords;
pub use collection::RowCollection;
pub use columns::{ColumnBlock, ColumnCollection, ColumnLayout, ColumnScan, PartitionedColumns};
pub use group_table::GroupTable;
pub use integer_key::IntegerKey;
pub use join_table::{DirectTable, JoinHashTable, LookupScratch, RowLinks};
pub use key_extremes::{Extreme, KeyExtremes};
pub use layout::{RowLayout, RowLayoutOptions};
pub use paged::PagedRows;
pub use partition::PartitionedRows;
pub use payload::PayloadKind;
pub use pinned::PinnedRows;
pub use row_order::{RowOrder, RowOrderKey};
pub use row_pages::RowPages;
pub use row_ptr::RowPtr;
pub use scan::{RowBlock, RowScan};
