//! All statements, and the read-only ones.

use std::sync::Arc;

use godwit_common::Span;

use super::{
    AlterObject, AlterTable, Attach, Begin, Call, Checkpoint, CommentOn, Copy, CreateIndex, CreateMacro, CreateSchema,
    CreateSequence, CreateTable, CreateType, CreateView, Deallocate, Delete, Detach, Drop, Execute, ExportDatabase,
    Expr, Ident, ImportDatabase, Insert, LoadExtension, Maintenance, Merge, MergeDelta, Pragma, Prepare, Query, Reset,
    Set, SetVariable, TableFactor, Truncate, Update, Use,
};

/// A statement.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub enum Statement {
    // Queries.
    Query(Box<Query>),
    Explain(Box<Explain>),
    Trace(Box<Trace>),
    Describe(Box<Describe>),
    Summarize(Box<Describe>),
    Show(Box<Show>),
    Call(Box<CallStatement>),
    // Changes to rows.
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    Merge(Box<Merge>),
    Truncate(Box<Truncate>),
    Copy(Box<Copy>),
    ExportDatabase(Box<ExportDatabase>),
    ImportDatabase(Box<ImportDatabase>),
    // Definitions.
    CreateTable(Box<CreateTable>),
    CreateView(Box<CreateView>),
    CreateSchema(Box<CreateSchema>),
    CreateSequence(Box<CreateSequence>),
    CreateIndex(Box<CreateIndex>),
    CreateType(Box<CreateType>),
    CreateMacro(Box<CreateMacro>),
    Drop(Box<Drop>),
    AlterTable(Box<AlterTable>),
    AlterObject(Box<AlterObject>),
    CommentOn(Box<CommentOn>),
    // The session.
    Set(Box<Set>),
    SetVariable(Box<SetVariable>),
    Reset(Box<Reset>),
    Pragma(Box<Pragma>),
    Use(Box<Use>),
    LoadExtension(Box<LoadExtension>),
    Attach(Box<Attach>),
    Detach(Box<Detach>),
    Prepare(Box<Prepare>),
    Execute(Box<Execute>),
    Deallocate(Box<Deallocate>),
    // Transactions and maintenance.
    Begin(Begin),
    Commit,
    Rollback,
    Savepoint(Ident),
    ReleaseSavepoint(Ident),
    RollbackToSavepoint(Ident),
    Checkpoint(Box<Checkpoint>),
    MergeDelta(Box<MergeDelta>),
    Vacuum(Box<Maintenance>),
    Analyze(Box<Maintenance>),
}

/// `EXPLAIN [ANALYZE] [(options)] statement`.
#[derive(Debug, Clone, PartialEq)]
pub struct Explain {
    /// True if the statement is executed.
    pub analyze: bool,
    /// Options in parentheses, except ANALYZE.
    pub options: Vec<StatementOption>,
    /// The explained statement.
    pub statement: Statement,
}

/// `TRACE [(options)] query`.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Options in parentheses.
    pub options: Vec<StatementOption>,
    /// The traced query.
    pub query: Box<Query>,
}

/// `DESCRIBE` or `SUMMARIZE` of a table or a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Describe {
    /// The table or query.
    pub target: DescribeTarget,
    /// Its span in the text.
    pub span: Span,
}

/// The target of DESCRIBE or SUMMARIZE.
#[derive(Debug, Clone, PartialEq)]
pub enum DescribeTarget {
    /// A table, a view, a file, or a call.
    Table(Box<TableFactor>),
    /// A query.
    Query(Box<Query>),
}

/// `SHOW …`.
#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    /// `SHOW TABLES [FROM schema]`; with ALL, of all databases.
    Tables {
        /// `SHOW ALL TABLES`.
        all: bool,
        /// The schema to which the list is restricted.
        schema: Option<super::ObjectName>,
    },
    /// `SHOW DATABASES`.
    Databases,
    /// `SHOW SCHEMAS`.
    Schemas,
    /// `SHOW ALL`: all settings.
    Settings,
    /// `SHOW name`: a setting, or a table.
    Name(super::ObjectName),
}

/// `CALL f(args)`.
#[derive(Debug, Clone, PartialEq)]
pub struct CallStatement {
    /// The call.
    pub call: Call,
    /// Its span in the text.
    pub span: Span,
}

/// `NAME [value]`, `name = value` in the parentheses of COPY, ATTACH, EXPLAIN, or after WITH.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementOption {
    /// The option.
    pub name: Ident,
    /// Its value. A bare word is a column, a list is a row, `*` is a wildcard.
    pub value: Option<Expr>,
}

impl StatementOption {
    /// Returns the value as a word or string, such as `csv`, `'csv'` or `"csv"`; `None` if it is something else.
    pub fn text(&self) -> Option<Arc<str>> {
        self.value.as_ref().and_then(Expr::as_word)
    }
}

impl Expr {
    /// Returns a bare word or a string, which settings and options accept as names.
    pub fn as_word(&self) -> Option<Arc<str>> {
        match &self.kind {
            super::ExprKind::Column(path) => match &path[..] {
                [name] => Some(Arc::clone(&name.text)),
                _ => None,
            },
            super::ExprKind::Literal(super::Literal::String(text)) => Some(Arc::clone(text)),
            _ => None,
        }
    }
}
