//! The plans of data-modifying statements.

/// The effect of a statement on rows, and the columns of its plan, in this order:
///
/// | | row id | is deleted | columns of the table | a BOOLEAN per check | RETURNING |
/// |---|---|---|---|---|---|
/// | `Insert` | | | yes | yes | if asked for |
/// | `Update` | yes | | yes | yes | if asked for |
/// | `Delete` | yes | | | | if asked for |
/// | `Upsert` | or NULL | | yes | yes | if asked for |
/// | `Merge` | or NULL | yes | yes | yes | if asked for |
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteKind {
    /// Adds rows.
    Insert,
    /// Replaces rows. A row that matches several times is replaced once.
    Update,
    /// Removes rows.
    Delete,
    /// Replaces rows, or adds those without a row id.
    Upsert,
    /// Like `Upsert`, but may also remove rows.
    Merge,
}

impl WriteKind {
    /// True if there is a row id column.
    pub fn has_row_ids(self) -> bool {
        self != WriteKind::Insert
    }

    /// True if there is a column that tells which rows are deleted.
    pub fn has_deletions(self) -> bool {
        self == WriteKind::Merge
    }

    /// True if there are the columns of the table.
    pub fn has_columns(self) -> bool {
        self != WriteKind::Delete
    }
}
