//! Transactions and maintenance.

use godwit_common::Span;

use super::{Ident, ObjectName};

/// `BEGIN [TRANSACTION] [modes]`, `START TRANSACTION [modes]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Modes and their spans, in order.
    pub modes: Vec<(TransactionMode, Span)>,
}

/// A mode of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum TransactionMode {
    ReadOnly,
    ReadWrite,
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// `[FORCE] CHECKPOINT [database]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// FORCE.
    pub force: bool,
    /// The database; `None` for the current one.
    pub database: Option<Ident>,
    /// Its span in the text.
    pub span: Span,
}

/// `MERGE DELTA OF table`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeDelta {
    /// The table.
    pub table: ObjectName,
    /// Its span in the text.
    pub span: Span,
}

/// `VACUUM [ANALYZE] [table [(columns)]]`, `ANALYZE [table [(columns)]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maintenance {
    /// The table; `None` for all.
    pub table: Option<ObjectName>,
    /// Columns of the table, if listed.
    pub columns: Vec<Ident>,
    /// Its span in the text.
    pub span: Span,
}
