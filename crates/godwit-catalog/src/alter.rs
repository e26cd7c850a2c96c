//! Changes of a table's definition that leave its rows alone.

use arrow_schema::SchemaRef;

use crate::{ObjectName, TableRules};

/// A new definition of a table over the same rows.
#[derive(Debug, Clone)]
pub struct AlterPlan {
    /// The table.
    pub table: ObjectName,
    /// Its new full name.
    pub new_name: String,
    /// Its columns, with their present types.
    pub schema: SchemaRef,
    /// Its rules.
    pub rules: TableRules,
}
