//! The database's own tables: how the executor reads them, and how they change.
//!
//! ```text
//!   WriteSink: the end of a query whose rows change a table                                  (write.rs)
//!     └─▶ Transaction: the database as one sees it, and what one has changed                 (transaction/)
//!           └── commit ─▶ Store: record of the log ─▶ what is committed                      (store/)
//!   TableVersion = main (row groups in blocks, godwit-storage) + delta (rows in memory, in the log) − deleted rows
//!     └── Scan: a source of the executor; filters on codes                                   (scan/)
//! ```
//!
//! A version never changes; a query reads the one that its transaction sees. Small changes go to the delta; large ones
//! write row groups, and the log only records where those are. A checkpoint turns all deltas into row groups and
//! empties the log.
#![forbid(unsafe_code)]

pub mod adaptation;
mod codes;
mod deleted;
mod delta;
mod inspect;
mod keys;
mod moves;
mod objects;
mod rules;
mod scan;
mod store;
#[cfg(test)]
mod tests;
mod transaction;
mod version;
mod write;

pub use godwit_encoding::EncodingChoice;
pub use inspect::{DictionaryInfo, SegmentInfo};
pub use store::{CHECKPOINT_BYTES, CheckReport, Store};
pub use transaction::{NewTable, Transaction, Verification};
pub use version::TableVersion;
pub use write::{WriteSink, WriteTask};
