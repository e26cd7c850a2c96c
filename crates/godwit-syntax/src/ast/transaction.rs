//! Transactions and upkeep.

use godwit_common::Span;

use super::{Ident, ObjectName};

/// `BEGIN [TRANSACTION] [modes]`, `START TRANSACTION [modes]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Begin {
    /// Modes, in order, with where they stand.
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
    /// The database; `None`: the current one.
    pub database: Option<Ident>,
    /// Its place in the text.
    pub span: Span,
}

/// `MERGE DELTA OF table`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeDelta {
    /// The table.
    pub table: ObjectName,
    /// Its place in the text.
    pub span: Span,
}

/// `VACUUM [ANALYZE] [table [(columns)]]`, `ANALYZE [table [(columns)]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Maintenance {
    /// The table; `None`: all.
    pub table: Option<ObjectName>,
    /// Columns of it.
    pub columns: Vec<Ident>,
    /// Its place in the text.
    pub span: Span,
}
