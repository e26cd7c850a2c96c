//! The catalog: schemas, tables, views, sequences, and the rules of tables; names and the search path.
//!
//! ```text
//! Namespace   the databases that a statement sees, and where names without a schema are looked up
//!   Catalog   the names of one database
//!     CatalogEntry   TableDefinition | ViewDefinition | Sequence | MacroDefinition | TypeDefinition | SchemaDefinition
//!       TableRules   defaults, checks, keys, references, generated columns: expressions as text (stored.rs)
//! ScannedTable       a TableDefinition as the Relation that plans scan
//! ```
//!
//! Definitions hold SQL as text, so storing them in a file or replaying them from its log needs no parser.
#![forbid(unsafe_code)]

mod alter;
mod catalog;
mod comments;
mod generated;
pub mod names;
mod namespace;
mod rules;
mod scanned_table;
mod sequence;
mod statistics;
pub mod stored;
mod table;
mod table_function;

pub use alter::AlterPlan;
pub use catalog::{Catalog, CatalogEntry, MacroDefinition, SchemaDefinition, TypeDefinition, ViewDefinition};
pub use comments::Comments;
pub use generated::{GeneratedColumn, GeneratedKind};
pub use names::{
    ObjectName, SCHEMA, full_name, full_name_of_key, literal_text, macro_key, quoted_text, schema_key, schema_of_key,
    split_name, sql_of_name, type_key,
};
pub use namespace::{Namespace, SchemaName, TEMPORARY};
pub use rules::{CheckRule, IndexRule, KeyRule, ReferenceRule, TableRules};
pub use scanned_table::ScannedTable;
pub use sequence::{Sequence, SequenceDefinition, SequenceKeeper, TakenNumbers};
pub use statistics::{ColumnStatistics, TableStatistics};
pub use stored::sequences_in;
pub use table::{
    CopyOption, FILE_INDEX, FILE_NAME, FILE_ROW_NUMBER, LateHandle, OptionValue, ROW_ID, ROW_ID_NAME, TableDefinition,
    TableResolver, WritableTable, as_view_type, hidden_name, paths_of,
};
pub use table_function::{Argument, TableFunction, TableFunctions};
