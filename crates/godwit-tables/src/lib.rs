//! The database's own tables: what they are to the executor, and how they change.
//!
//! ```text
//!   Store ── commits: change ─▶ record of the log ─▶ new TableVersion ─▶ catalog          (store/)
//!     └── TableVersion = main (row groups in blocks, godwit-storage) + delta (rows in memory, in the log)
//!            └── TableScan: a source of the executor; filters on codes                    (scan/)
//!   InsertSink: the end of a query whose rows go into a table                             (insert.rs)
//! ```
//!
//! A version never changes; a query reads the one that was the newest when it was planned. Small commits go to the delta,
//! large ones write row groups and log only where those are. A checkpoint makes row groups of all deltas and empties the
//! log.
#![forbid(unsafe_code)]

mod insert;
mod inspect;
mod scan;
mod store;
#[cfg(test)]
mod tests;
mod version;

pub use godwit_encoding::EncodingChoice;
pub use insert::InsertSink;
pub use inspect::{DictionaryInfo, SegmentInfo};
pub use store::{CheckReport, NewTable, Store, TableTarget};
pub use version::TableVersion;
