//! Files as tables and as targets of `COPY … TO` (copy/). Parquet: footers, statistics, and scans that decode pages
//! directly into vectors. CSV and JSON (text/), and Arrow (arrow/). Facts about files (facts/).
//!
//! ```text
//! FileResolver ─▶ ParquetTable ── files, footers, statistics        (resolver, table, footer, statistics, distinct)
//!                     └─ Scan ─▶ ParquetReader ── morsels           (scan/, bounds)
//!                                   └─ ColumnReader ── vectors      (column)
//!                                         └─ PageReader ── pages    (page/, file)
//! ```
//!
//! The Parquet crate parses footers and decodes rare cases: nested types, and encodings other than PLAIN, dictionary
//! and run lengths. Everything in a file is untrusted: sizes are checked before memory is taken, codes against their
//! dictionary, text for UTF-8, and integers against the ranges that the statistics promise to the planner.
#![forbid(unsafe_code)]

mod arrow;
mod column;
mod config;
mod copy;
mod distinct;
mod facts;
mod file;
mod fixed_bytes;
mod footer;
mod footer_shape;
mod glob;
mod hive;
mod local;
mod metadata;
mod page;
mod resolver;
mod same_columns;
mod sample;
mod scan;
mod statistics;
mod table;
#[cfg(test)]
mod test_scan;
mod text;
mod text_domain;
mod thrift;
mod trace_file;

pub use copy::{CopySink, CopyTarget, FileFormat, OutputFile, SplitOptions};
pub use facts::{FileFacts, Takes};
pub use local::{check_local, check_reachable};
pub use metadata::metadata_json;
pub use resolver::{FileResolver, tables_in};
pub use table::ParquetTable;
pub use trace_file::{SAMPLE_BYTES_MAX, TRACE_KEY, TraceFile, TracedStatements};
