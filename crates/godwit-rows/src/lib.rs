//! Rows in spillable pages, and the operations on raw row memory.
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
//! Pages are written to disk and read back as they are; nothing is serialized. A heap page may come back at another
//! address; then the views of exactly those rows that use it are adjusted by the difference, in place, when they are
//! next pinned (segment.rs).
//!
//! Rows that don't need an address are stored by column instead (columns/mod.rs).
//!
//! Work is done column by column over lists of rows: [`Rows::gather`], [`GroupTable`], [`JoinHashTable`].
//!
//! # Who keeps rows in place
//!
//! Rows are addresses, and a page that isn't pinned may be gone. So addresses never leave this crate. It hands out a
//! [`RowList`] instead, or a borrowed part of one ([`Rows`]), which holds the pins of its rows, shared with whoever
//! pinned them. Lists come from [`PinnedRows`], a [`RowBlock`], [`PagedRows`], or an append to a collection that keeps
//! its pages pinned; tables and sorted entries hold the pins of what they point to in the same way. The operators above
//! can neither make an address nor outlive a pin, and each function checks once per call that rows are of its layout.
//!
//! # Who changes rows
//!
//! Most rows are written once. Links and extremes change later, by all workers at once, with atomic operations. The
//! states and the payload of groups change by plain writes: such rows have an owner, which is borrowed to read or change
//! them (owner.rs). The [`Extra`] of a layout says which of these its rows have room for.
//!
//! Source: Kuiper, Mühleisen, "Robust External Hash Aggregation in the Solid State Age", IV.

pub mod aggregate_state;
mod atomic_words;
mod chain_insert;
mod collection;
mod columns;
mod copy_rows;
mod direct_table;
mod gather;
mod group_table;
mod held_pages;
mod integer_key;
mod join_table;
mod key_extremes;
mod keyed_rows;
mod layout;
mod links;
mod match_rows;
mod owner;
mod page_walk;
mod paged;
mod partition;
mod partition_order;
mod payload;
mod pinned;
mod place;
pub mod radix;
mod row_list;
mod row_order;
mod row_pages;
mod row_ptr;
mod scan;
mod scatter;
mod segment;

#[cfg(test)]
mod list_tests;
#[cfg(test)]
mod owner_tests;
#[cfg(test)]
mod tests;

pub use atomic_words::AtomicWords;
pub use collection::RowCollection;
pub use columns::{ColumnBlock, ColumnCollection, ColumnLayout, ColumnScan, PartitionedColumns};
pub use direct_table::DirectTable;
pub use group_table::GroupTable;
pub use integer_key::IntegerKey;
pub use join_table::{InsertScratch, JoinHashTable, LookupScratch};
pub use key_extremes::{Extreme, KeyExtremes};
pub use keyed_rows::{KeyedRows, RowTaker};
pub use layout::{Extra, RowLayout, RowLayoutOptions};
pub use links::Chains;
pub use owner::RowOwner;
pub use paged::PagedRows;
pub use partition::PartitionedRows;
pub use payload::PayloadKind;
pub use pinned::PinnedRows;
pub use row_list::{RowList, Rows};
pub use row_order::{RowOrder, RowOrderKey};
pub use row_pages::RowPages;
pub use scan::{RowBlock, RowScan};
