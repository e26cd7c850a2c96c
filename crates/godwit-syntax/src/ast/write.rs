//! Statements that change rows or move them in and out.

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
    /// What happens to rows whose key is there.
    pub policy: Option<InsertPolicy>,
    /// The table.
    pub table: ObjectName,
    /// Its name in ON CONFLICT and RETURNING.
    pub alias: Option<Ident>,
    /// The columns that get values.
    pub columns: Vec<Ident>,
    /// True if columns of the source go to columns of that name.
    pub by_name: bool,
    /// The rows.
    pub source: InsertSource,
    /// ON CONFLICT.
    pub on_conflict: Option<OnConflict>,
    /// RETURNING; empty if there is none.
    pub returning: Vec<SelectItem>,
    /// Its place in the text.
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
    /// Which conflicts; `None`: all.
    pub target: Option<ConflictTarget>,
    /// What is done.
    pub action: ConflictAction,
    /// Its place in the text.
    pub span: Span,
}

/// Which conflicts are meant.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictTarget {
    /// `(columns) [WHERE …]`.
    Columns {
        /// The columns of a key.
        columns: Vec<Ident>,
        /// Of a partial index.
        filter: Option<Expr>,
    },
    /// `ON CONSTRAINT name`.
    Constraint(Ident),
}

/// What is done about a conflict.
#[derive(Debug, Clone, PartialEq)]
pub enum ConflictAction {
    /// `DO NOTHING`.
    Nothing,
    /// `DO UPDATE SET … [WHERE …]`.
    Update {
        /// The assignments.
        assignments: Vec<Assignment>,
        /// Which rows.
        filter: Option<Expr>,
    },
}

/// `column = value`, `(a, b) = (1, 2)`, `(a, b) = (SELECT …)`.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// What gets the value.
    pub target: AssignmentTarget,
    /// The value.
    pub value: Expr,
}

/// What gets a value.
#[derive(Debug, Clone, PartialEq)]
pub enum AssignmentTarget {
    /// A column, or a field of a struct in one.
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
    /// Its other name.
    pub alias: Option<TableAlias>,
    /// The assignments.
    pub assignments: Vec<Assignment>,
    /// FROM.
    pub from: Vec<TableWithJoins>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// RETURNING; empty if there is none.
    pub returning: Vec<SelectItem>,
    /// Its place in the text.
    pub span: Span,
}

/// `DELETE FROM table [USING …] [WHERE …] [RETURNING …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// Common table expressions before DELETE.
    pub with: Option<With>,
    /// The table.
    pub table: ObjectName,
    /// Its other name.
    pub alias: Option<TableAlias>,
    /// USING.
    pub using: Vec<TableWithJoins>,
    /// WHERE.
    pub filter: Option<Expr>,
    /// RETURNING; empty if there is none.
    pub returning: Vec<SelectItem>,
    /// Its place in the text.
    pub span: Span,
}

/// `MERGE INTO table USING source ON … WHEN …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Merge {
    /// Common table expressions before MERGE.
    pub with: Option<With>,
    /// The table.
    pub table: ObjectName,
    /// Its other name.
    pub alias: Option<TableAlias>,
    /// The rows that it is merged with.
    pub source: TableFactor,
    /// Which rows go together: `ON` or `USING`.
    pub on: JoinConstraint,
    /// What is done; at least one.
    pub clauses: Vec<MergeClause>,
    /// RETURNING; empty if there is none.
    pub returning: Vec<SelectItem>,
    /// Its place in the text.
    pub span: Span,
}

/// `WHEN MATCHED [AND condition] THEN action`.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeClause {
    /// Which rows.
    pub when: MergeCondition,
    /// What is done with them.
    pub action: MergeAction,
    /// Its place in the text.
    pub span: Span,
}

/// Which rows a clause of MERGE is about.
#[derive(Debug, Clone, PartialEq)]
pub struct MergeCondition {
    /// Whether they have a partner.
    pub matched: MergeMatch,
    /// What else must hold.
    pub condition: Option<Expr>,
}

/// Whether rows have a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MergeMatch {
    /// `WHEN MATCHED`.
    Matched,
    /// `WHEN NOT MATCHED [BY TARGET]`: rows of the source.
    NotMatchedByTarget,
    /// `WHEN NOT MATCHED BY SOURCE`: rows of the table.
    NotMatchedBySource,
}

/// What a clause of MERGE does.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeAction {
    /// `UPDATE SET …`.
    Update(Vec<Assignment>),
    /// `UPDATE`, `UPDATE SET *`: all columns by name or, if so written, by position.
    UpdateAll {
        /// BY POSITION.
        by_position: bool,
    },
    /// `INSERT [(columns)] VALUES (…)`.
    Insert {
        /// The columns that get values; none: all.
        columns: Vec<Ident>,
        /// The values.
        values: Vec<Expr>,
    },
    /// `INSERT`, `INSERT *`: all columns by name or, if so written, by position.
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
    /// Its place in the text.
    pub span: Span,
}

/// `COPY source TO path`, `COPY table FROM path`.
#[derive(Debug, Clone, PartialEq)]
pub struct Copy {
    /// What is in the database.
    pub source: CopySource,
    /// Out or in.
    pub direction: CopyDirection,
    /// What is outside of it.
    pub path: CopyPath,
    /// Options, in parentheses or not.
    pub options: Vec<StatementOption>,
    /// Its place in the text.
    pub span: Span,
}

/// What is in the database.
#[derive(Debug, Clone, PartialEq)]
pub enum CopySource {
    /// A table, or some columns of it.
    Table {
        /// The table.
        name: ObjectName,
        /// The columns; none: all.
        columns: Vec<Ident>,
    },
    /// What a query returns; out only.
    Query(Box<Query>),
}

/// Out or in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum CopyDirection {
    To,
    From,
}

/// A file, or a standard stream.
#[derive(Debug, Clone, PartialEq)]
pub enum CopyPath {
    /// A path or pattern, with where it stands.
    File(Arc<str>, Span),
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
    /// Its place in the text.
    pub span: Span,
}

/// `IMPORT DATABASE 'folder'`.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportDatabase {
    /// The folder.
    pub folder: Arc<str>,
    /// Its place in the text.
    pub span: Span,
}
