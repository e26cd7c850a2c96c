//! A change of a table that leaves its rows.

use arrow_schema::SchemaRef;

use crate::{ObjectName, TableRules};

/// Another definition of a table over the same rows.
#[derive(Debug, Clone)]
pub struct AlterPlan {
    /// The table.
    pub table: ObjectName,
    /// Its full name from now on.
    pub new_name: String,
    /// Its columns, with the types that they have.
    pub schema: SchemaRef,
    /// Its rules.
    pub rules: TableRules,
}
