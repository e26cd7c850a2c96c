//! Arrow files as tables: the IPC file format (`.arrow`, `.feather`) and streams of messages in files (`.arrows`).
//!
//! ```text
//! ArrowTable ── files, places of messages, columns                (table, file, message, types)
//!     └─ Scan ─▶ BatchReader ── a batch is a morsel               (scan)
//!                    ├─ ColumnValues ── arrays to vectors         (column)
//!                    └─ Dictionaries ── shared by the workers     (dictionary)
//! ```
//!
//! The footer or the headers of a stream tell where batches are and how many rows they have, so workers read different
//! batches in parallel, and counting rows reads nothing else. Only the buffers of the requested columns of a batch are
//! read, each when a filter or the query first needs it; memory holds the columns of one batch per worker.
//!
//! The crate `arrow-ipc` decodes headers. Buffers become arrays here, because the crate decodes whole batches and
//! trusts the lengths in front of compressed buffers.

mod column;
mod dictionary;
mod file;
mod message;
mod scan;
mod table;
mod types;

#[cfg(test)]
mod tests;

pub(crate) use table::{ArrowTable, EXTENSIONS, is_arrow_file};
