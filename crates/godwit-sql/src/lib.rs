//! SQL text to an optimized logical plan.
//!
//! ```text
//! text ── parse ──► ParsedStatement ── bind ──► LogicalPlan ── optimize ──► Statement
//!          │                            │                        │
//!    DuckDB's dialect            Catalog, then paths      rules of the planner crates,
//!    (sqlparser)                 by TableResolver         join order, build sides
//! ```
//!
//! Parsing, binding and most rules are the DataFusion planner crates'; ours are the catalog, statistics and
//! [estimates](Estimates), join order, and errors that name the place and the near name.
//!
//! Of every `Join` in a finished plan the **right input is the build side**, the left one the probe side.
#![forbid(unsafe_code)]

mod aggregates;
mod alter;
mod attach;
mod binder;
mod bound;
mod bridge;
mod catalog;
mod copy;
mod create_table;
mod dialect;
mod encodings;
mod environment;
mod estimate;
mod explain;
mod export;
mod from_first;
mod functions;
mod generated;
mod grammar;
mod inexact;
mod information_schema;
mod macros;
mod names;
mod namespace;
mod optimize;
mod parse;
mod plan_error;
mod planner;
mod queries;
mod repeat;
mod result_names;
mod rules;
mod sample;
mod sequence;
mod spelling;
mod stack;
mod statement;
mod statistics;
mod summarize;
mod table;
mod table_function;
#[cfg(test)]
mod test_tables;
#[cfg(test)]
mod tests;
mod typed_rewrites;
mod write;

pub use alter::AlterPlan;
pub use bridge::ScannedTable;
pub use catalog::{Catalog, CatalogEntry, SchemaDefinition, ViewDefinition};
pub use estimate::{ColumnEstimate, Estimates, NodeEstimate};
pub use explain::ExplainOptions;
pub use export::{ExportScript, ExportedTable};
pub use generated::{GeneratedColumn, GeneratedKind};
pub use information_schema::INFORMATION_SCHEMA;
pub use names::{
    ObjectName, SCHEMA, full_name, literal_text, quoted_text, schema_key, schema_of_key, split_name, sql_of_name,
};
pub use namespace::{Namespace, Place, TEMPORARY};
pub use optimize::JoinOrder;
pub use parse::{Access, ParsedStatement};
pub use planner::Planner;
pub use queries::FrontEnd;
pub use repeat::Repeat;
pub use rules::{CheckRule, IndexRule, KeyRule, ReferenceRule, TableRules};
pub use sequence::{Sequence, SequenceDefinition, SequenceKeeper, TakenNumbers, sequences_in};
pub use statement::{AttachPlan, CopyOption, ListedRows, Statement, TransactionStep};
pub use statistics::{ColumnStatistics, SampleCount, TableSample, TableStatistics};
pub use summarize::sql_name;
pub use table::{ROW_ID, TableDefinition, TableResolver, WritableTable, as_view_type, table_of};
pub use table_function::{TableFunction, TableFunctions};
pub use write::{WriteKind, WritePlan};
