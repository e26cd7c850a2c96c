//! A table's requirements on its rows beyond their types: defaults and constraints. Expressions are kept as SQL text
//! and bound again by each statement that needs them.

use crate::{Comments, GeneratedColumn};

/// Defaults and constraints of a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableRules {
    /// Columns with a default: name and expression.
    pub defaults: Vec<(String, String)>,
    /// Conditions that must not be false for any row.
    pub checks: Vec<CheckRule>,
    /// Columns whose values differ from row to row if none is NULL.
    pub keys: Vec<KeyRule>,
    /// Columns whose values, if none is NULL, occur in a key of another table.
    pub references: Vec<ReferenceRule>,
    /// Columns with a requested encoding: their names, and those of the encodings.
    pub encodings: Vec<(String, String)>,
    /// Requested indexes. Scans find rows without them; unique ones are keys.
    pub indexes: Vec<IndexRule>,
    /// Columns whose values follow from others.
    pub generated: Vec<GeneratedColumn>,
    /// Comments on the table and its columns.
    pub comments: Comments,
}

/// `CREATE INDEX`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexRule {
    /// Name of the index.
    pub name: String,
    /// Names of the columns.
    pub columns: Vec<String>,
}

/// `CHECK (condition)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRule {
    /// Name of the constraint.
    pub name: String,
    /// The condition's text.
    pub condition: String,
}

/// `PRIMARY KEY` or `UNIQUE`, also of a unique index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRule {
    /// Name of the constraint or index.
    pub name: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The primary key, whose columns are NOT NULL.
    pub is_primary: bool,
}

/// `FOREIGN KEY`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReferenceRule {
    /// Name of the constraint.
    pub name: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The other table.
    pub parent: String,
    /// Names of the other table's columns.
    pub parent_columns: Vec<String>,
}

impl TableRules {
    /// Returns the default expression of a column.
    pub fn default_of(&self, column: &str) -> Option<&str> {
        let default = self.defaults.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
        default.map(|(_, expression)| expression.as_str())
    }

    /// Returns the name of the encoding requested for a column.
    pub fn encoding_of(&self, column: &str) -> Option<&str> {
        let encoding = self.encodings.iter().find(|(name, _)| name.eq_ignore_ascii_case(column));
        encoding.map(|(_, name)| name.as_str())
    }

    /// Removes the constraint or index of that name; returns false if there is none.
    pub fn remove(&mut self, name: &str) -> bool {
        let count = |rules: &Self| rules.checks.len() + rules.keys.len() + rules.references.len() + rules.indexes.len();
        let before = count(self);
        self.checks.retain(|rule| !rule.name.eq_ignore_ascii_case(name));
        self.keys.retain(|rule| !rule.name.eq_ignore_ascii_case(name));
        self.references.retain(|rule| !rule.name.eq_ignore_ascii_case(name));
        self.indexes.retain(|rule| !rule.name.eq_ignore_ascii_case(name));
        count(self) < before
    }
}
