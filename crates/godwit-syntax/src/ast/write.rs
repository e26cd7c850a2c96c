//! Data-modifying statements, import and export.

use std::sync::Arc;

use godwit_common::Span;

use super::{
    Expr, Ident, JoinConstraint, ObjectName, Query, SelectItem, StatementOption, TableAlias, TableFactor,
    TableWithJoins, With,
};

/// `INSERT [OR REPLACE | OR IGNORE] INTO table [AS alias] [BY NAME] [(columns)] source [ON CONFLICT …] [RETURNING …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// Common table expressions before INSERT.
    pub with: Option<With>,
    /// The action for rows whose key exists.
    pub policy: Option<InsertPolicy>,
    /// The table.
    pub table: ObjectName,
    /// Its alias in ON CONFLICT and RETURNING.
    pub alias: Option<Ident>,
    /// The columns that receive values.
    pub columns: Vec<Ident>,
    /// True if columns of the source are matched by name.
    pub by_name: bool,
    /// The rows.
    pub source: InsertSource,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING; empty if there is none.
    pub returning: Vec<SelectItem>,
    /// Its span in the text.
    pub span: Span,
}

/// `OR REPLACE`, `OR IGNORE`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum InsertPolicy {
    Replace,
    Ignore,
}

/// The rows of INSERT.
#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// A query; its body may be VALUES with DEFAULT among the values.
    Query(Box<Query>),
    /// `DEFAULT VALUES`.
    DefaultValues,
}

/// `ON CONFLICT [target] action`.
#[derive(Debug, Clone, PartialEq)]
pub struct OnConflict {
    /// The conflicts it applies to; `None` for all.
    pub target: Option<ConflictTarget>,
    /// The action.
    pub action: ConflictAction,
    /// Its span in the text.
    pub span: Span,
}

/// The conflicts that a clause applies to.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictTarget {
    /// `(columns) [WHERE …]`.
    Columns {
        /// The columns of a key.
        columns: Vec<Ident>,
        /// The predicate of a partial index.
        filter: Option<Expr>,
    },
    /// `ON CONSTRAINT name`.
    Constraint(Ident),
}

/// The action on a conflict.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictAction {
    /// `DO NOTHING`.
    Nothing,
    /// `DO UPDATE SET … [WHERE …]`.
    Update {
        /// The assignments.
        assignments: Vec<Assignment>,
        /// The rows to update.
        filter: Option<Expr>,
    },
}

/// `column = value`, `(a, b) = (1, 2)`, `(a, b) = (SELECT …)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The target of the value.
    pub target: AssignmentTarget,
    /// The value.
    pub value: Expr,
}

/// The target of an assigned value.
#[derive(Debug, Clone, PartialEq)]
pub enum AssignmentTarget {
    /// A column, or a field of a struct column.
    Column(ObjectName),
    /// Several columns.
    Row(Vec<ObjectName>),
}

/// `UPDATE table SET … [FROM …] [WHERE …] [RETURNING …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// Common table expressions before UPDATE.
    pub with: Option<With>,
    /// The table.
    pub table: ObjectName,
    /// Its alias.
    pub alias: Option<TableAlias>,
    /// The assignments.
    pub assignments: Vec<Assignment>,
    /// FROM.
    pub from: Vec<TableWithJoins>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// RETURNING; empty if there is none.
    pub returning: Vec<SelectItem>,
    /// Its span in the text.
    pub span: Span,
}

/// `DELETE FROM table [USING …] [WHERE …] [RETURNING …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// Common table expressions before DELETE.
    pub with: Option<With>,
    /// The table.
    pub table: ObjectName,
    /// Its alias.
    pub alias: Option<TableAlias>,
    /// USING.
    pub using: Vec<TableWithJoins>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// RETURNING; empty if there is none.
    pub returning: Vec<SelectItem>,
    /// Its span in the text.
    pub span: Span,
}

/// `MERGE INTO table USING source ON … WHEN …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// Common table expressions before MERGE.
    pub with: Option<With>,
    /// The table.
    pub table: ObjectName,
    /// Its alias.
    pub alias: Option<TableAlias>,
    /// The source rows.
    pub source: TableFactor,
    /// The match condition: `ON` or `USING`.
    pub on: JoinConstraint,
    /// The WHEN clauses; at least one.
    pub clauses: Vec<MergeClause>,
    /// RETURNING; empty if there is none.
    pub returning: Vec<SelectItem>,
    /// Its span in the text.
    pub span: Span,
}

/// `WHEN MATCHED [AND condition] THEN action`.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeClause {
    /// The rows it applies to.
    pub when: MergeCondition,
    /// The action on them.
    pub action: MergeAction,
    /// Its span in the text.
    pub span: Span,
}

/// The rows that a MERGE clause applies to.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeCondition {
    /// Whether they have a match.
    pub matched: MergeMatch,
    /// An additional condition.
    pub condition: Option<Expr>,
}

/// Whether rows have a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeMatch {
    /// `WHEN MATCHED`.
    Matched,
    /// `WHEN NOT MATCHED [BY TARGET]`: rows of the source.
    NotMatchedByTarget,
    /// `WHEN NOT MATCHED BY SOURCE`: rows of the table.
    NotMatchedBySource,
}

/// The action of a MERGE clause.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    /// `UPDATE SET …`.
    Update(Vec<Assignment>),
    /// `UPDATE`, `UPDATE SET *`: all columns, by name or, if written, by position.
    UpdateAll {
        /// BY POSITION.
        by_position: bool,
    },
    /// `INSERT [(columns)] VALUES (…)`.
    Insert {
        /// The columns that receive values; empty for all.
        columns: Vec<Ident>,
        /// The values.
        values: Vec<Expr>,
    },
    /// `INSERT`, `INSERT *`: all columns, by name or, if written, by position.
    InsertAll {
        /// BY POSITION.
        by_position: bool,
    },
    /// `INSERT DEFAULT VALUES`.
    InsertDefaults,
    /// `DELETE`.
    Delete,
    /// `DO NOTHING`.
    Nothing,
    /// `ERROR [message]`.
    Error(Option<Expr>),
}

/// `TRUNCATE [TABLE] a, b`.
#[derive(Debug, Clone, PartialEq)]
pub struct Truncate {
    /// The tables.
    pub tables: Vec<ObjectName>,
    /// Its span in the text.
    pub span: Span,
}

/// `COPY source TO path`, `COPY table FROM path`.
#[derive(Debug, Clone, PartialEq)]
pub struct Copy {
    /// The table or query.
    pub source: CopySource,
    /// The direction.
    pub direction: CopyDirection,
    /// The file or stream.
    pub path: CopyPath,
    /// Options, in parentheses or not.
    pub options: Vec<StatementOption>,
    /// Its span in the text.
    pub span: Span,
}

/// The database side of COPY.
#[derive(Debug, Clone, PartialEq)]
pub enum CopySource {
    /// A table, or some columns of it.
    Table {
        /// The table.
        name: ObjectName,
        /// The columns; empty for all.
        columns: Vec<Ident>,
    },
    /// The rows of a query; only for COPY … TO.
    Query(Box<Query>),
}

/// The direction of COPY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CopyDirection {
    To,
    From,
}

/// A file, or a standard stream.
#[derive(Debug, Clone, PartialEq)]
pub enum CopyPath {
    /// A path or pattern, with its span.
    File(Arc<str>, Span),
    /// An expression in parentheses, or a parameter.
    Computed(Box<Expr>),
    /// STDIN or STDOUT.
    Standard(Span),
}

/// `EXPORT DATABASE 'folder' [(options)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ExportDatabase {
    /// The folder.
    pub folder: Arc<str>,
    /// Options.
    pub options: Vec<StatementOption>,
    /// Its span in the text.
    pub span: Span,
}

/// `IMPORT DATABASE 'folder'`.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportDatabase {
    /// The folder.
    pub folder: Arc<str>,
    /// Its span in the text.
    pub span: Span,
}
