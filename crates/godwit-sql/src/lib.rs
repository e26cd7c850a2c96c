//! From SQL text to planned statements.
//!
//! ```text
//! text ── godwit_syntax ──► tree ── godwit_bind ──► plan ── godwit_optimize ──► plan ──► Statement
//!                                     │
//!                         names of the catalog (environment.rs), then paths by TableResolver
//!
//! queries.rs    SELECT, EXPLAIN, COPY                create_table.rs, alter.rs    tables and their rules
//! write/        INSERT, UPDATE, DELETE, MERGE         generated.rs, sequence.rs    computed columns, numbers
//! views.rs      views, schemas, DROP                  macros.rs, comments.rs       macros and types, COMMENT ON
//! session.rs    settings, transactions, upkeep        session_values.rs            variables
//! prepared.rs   PREPARE, EXECUTE
//! ```
//!
//! In every `Join` of a finished plan, the **right input is the build side** and the left one the probe side.
#![forbid(unsafe_code)]

mod alter;
mod built_in_macros;
mod built_in_views;
mod comments;
mod create_table;
mod encodings;
mod environment;
mod explain;
mod export;
mod generated;
mod information_schema;
mod macros;
mod objects;
mod parse;
mod pg_catalog;
mod planner;
mod prepared;
mod queries;
mod sequence;
mod session;
mod session_values;
mod statement;
mod statement_files;
mod system_table;
#[cfg(test)]
mod test_tables;
#[cfg(test)]
mod tests;
mod trace;
mod types;
mod views;
mod write;

pub use explain::ExplainOptions;
pub use export::{ExportScript, ExportedTable};
pub use godwit_bind::{Dialect, NullOrder};
pub use godwit_optimize::JoinOrder;
pub use godwit_syntax::is_name;
pub use information_schema::INFORMATION_SCHEMA;
pub use parse::{Access, ParsedStatement};
pub use planner::{Interrupt, Planner, ReadRows};
pub use session_values::{ReadSetting, SessionValues, Settings};
pub use statement::{
    Argument, AttachPlan, Definition, ListedRows, QueryStatement, SessionStatement, Statement, TransactionStep,
    WritePart, WriteStatement,
};
pub use trace::TracedQuery;
pub use write::WritePlan;
