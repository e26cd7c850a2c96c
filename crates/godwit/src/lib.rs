//! Godwit: an analytical SQL database that finishes the query on the memory you have.
//!
//! Open a [`Database`], [connect](Database::connect) as often as you like, and read the rows of a
//! [query](Connection::query) as a stream of Arrow record batches:
//!
//! ```
//! # fn main() -> godwit::Result<()> {
//! let database = godwit::Database::open(":memory:")?;
//! let connection = database.connect();
//! let mut rows = 0;
//! for batch in connection.query("SELECT x, x * x AS square FROM (VALUES (1), (2), (3)) AS t(x) WHERE x > 1")? {
//!     rows += batch?.num_rows();
//! }
//! assert_eq!(rows, 2);
//! # Ok(())
//! # }
//! ```
//!
//! To avoid waiting, use [`QueryResult::poll_next`], which wakes a [`std::task::Waker`], as `futures` streams do.
//!
//! Parquet files are tables: `SELECT count(*) FROM 'data/*.parquet'`. The limits of a database are in [`Config`].
#![forbid(unsafe_code)]

mod attach;
mod cache;
mod columns;
mod commands;
mod config;
mod connection;
mod constraints;
mod database;
mod execution;
mod export;
mod foreign_settings;
mod objects;
mod prepared;
mod queries;
mod result;
mod session;
mod settings;
mod system_tables;
mod tracing;
mod transactions;
mod values;
mod writes;

pub use columns::ColumnReader;
pub use config::{Config, DebugOptions};
pub use connection::{Connection, ParsedStatement};
pub use database::Database;
#[cfg(all(unix, feature = "cache-partitioning"))]
pub use godwit_cache::{Call, Imitation};
pub use godwit_common::{
    Error, ErrorKind, Position, Result, format_bytes, is_in_foreign_call, parse_bytes, without_secrets,
};
pub use godwit_io::{DiskFault, Fault, Files, ReadFault, ReadFaults, SimulatedDisk, SimulatedFiles};
pub use godwit_memory::{MemoryStatistics, RequestFaults, default_memory_limit, minimum_memory_limit};
pub use godwit_pipeline::CancelToken;
pub use godwit_plan::ParameterInfo;
pub use godwit_sql::{ExportScript, ExportedTable, is_name};
pub use godwit_tables::CheckReport;
pub use godwit_types::{SqlType, Value};
pub use prepared::PreparedStatement;
pub use queries::{QueryInfo, QueryRegistry, QueryState};
pub use result::{Change, QueryMemory, QueryProgress, QueryResult};
