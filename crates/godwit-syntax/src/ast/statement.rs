//! All statements, and those that read.

use std::sync::Arc;

use godwit_common::Span;

use super::{
    AlterObject, AlterTable, Attach, Begin, Call, Checkpoint, CommentOn, Copy, CreateIndex, CreateMacro, CreateSchema,
    CreateSequence, CreateTable, CreateType, CreateView, Deallocate, Delete, Detach, Drop, Execute, ExportDatabase,
    Expr, Ident, ImportDatabase, Insert, Maintenance, Merge, MergeDelta, Pragma, Prepare, Query, Reset, Set,
    SetVariable, TableFactor, Truncate, Update, Use,
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
    // Rows.
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
    Attach(Box<Attach>),
    Detach(Box<Detach>),
    Prepare(Box<Prepare>),
    Execute(Box<Execute>),
    Deallocate(Box<Deallocate>),
    // Transactions and upkeep.
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
    /// True if it is run.
    pub analyze: bool,
    /// Options in parentheses, ANALYZE excepted.
    pub options: Vec<StatementOption>,
    /// What is explained.
    pub statement: Statement,
}

/// `TRACE [(options)] query`.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Options in parentheses.
    pub options: Vec<StatementOption>,
    /// The query whose loads are traced.
    pub query: Box<Query>,
}

/// `DESCRIBE` or `SUMMARIZE` of a table or a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Describe {
    /// Of what.
    pub target: DescribeTarget,
    /// Its place in the text.
    pub span: Span,
}

/// What is described.
#[derive(Debug, Clone, PartialEq)]
pub enum DescribeTarget {
    /// A table, a view, a file, a call.
    Table(Box<TableFactor>),
    /// A query.
    Query(Box<Query>),
}

/// `SHOW …`.
#[derive(Debug, Clone, PartialEq)]
pub enum Show {
    /// `SHOW TABLES [FROM schema]`, of all databases with ALL.
    Tables {
        /// `SHOW ALL TABLES`.
        all: bool,
        /// Only those of a schema.
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
    /// Its place in the text.
    pub span: Span,
}

/// `NAME [value]`, `name = value` in the parentheses of COPY, ATTACH, EXPLAIN, or after WITH.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementOption {
    /// The option.
    pub name: Ident,
    /// Its value. A bare word is a column, a list a row, `*` a wildcard.
    pub value: Option<Expr>,
}

impl StatementOption {
    /// The value as a word or text, such as `csv`, `'csv'` or `"csv"`; `None` if it is something else.
    pub fn text(&self) -> Option<Arc<str>> {
        self.value.as_ref().and_then(Expr::as_word)
    }
}

impl Expr {
    /// A bare word or a text: what settings and options take for names of things.
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
