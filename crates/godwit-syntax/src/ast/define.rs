//! Statements that define, change and drop objects.
//!
//! Objects that the catalog keeps as text (a view's query, the body of a macro, a default, a check) are nodes with
//! spans, by which their text is taken from the script.

use std::sync::Arc;

use godwit_common::Span;

use super::{DataType, Expr, Ident, ObjectName, OrderByExpr, Query, StatementOption};

/// `CREATE [OR REPLACE] [TEMP] TABLE [IF NOT EXISTS] name (…) [WITH (…)] [AS query]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    /// OR REPLACE.
    pub or_replace: bool,
    /// TEMP.
    pub temporary: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The table.
    pub name: ObjectName,
    /// Its columns; with `AS query`, they may have no types.
    pub columns: Vec<ColumnDef>,
    /// Table constraints.
    pub constraints: Vec<TableConstraint>,
    /// `LIKE other`: tables whose columns it takes over, each with the number of its own columns before it.
    pub like: Vec<(usize, ObjectName)>,
    /// `WITH (…)`.
    pub options: Vec<StatementOption>,
    /// `AS query`.
    pub query: Option<Box<Query>>,
    /// False for `WITH NO DATA`.
    pub with_data: bool,
    /// Its span in the text.
    pub span: Span,
}

/// `name type constraints`.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDef {
    /// The name.
    pub name: Ident,
    /// The type; generated columns and columns of `AS query` may have none.
    pub data_type: Option<DataType>,
    /// Constraints, in order.
    pub constraints: Vec<ColumnConstraint>,
    /// Its span in the text.
    pub span: Span,
}

/// `[CONSTRAINT name] kind`.
#[derive(Debug, Clone, PartialEq)]
pub struct ColumnConstraint {
    /// The name.
    pub name: Option<Ident>,
    /// Its kind.
    pub kind: ColumnConstraintKind,
    /// Its span in the text.
    pub span: Span,
}

/// The constraints and properties of a column.
#[derive(Debug, Clone, PartialEq)]
pub enum ColumnConstraintKind {
    /// `NOT NULL`.
    NotNull,
    /// `NULL`.
    Null,
    /// `DEFAULT expr`.
    Default(Expr),
    /// `PRIMARY KEY`.
    PrimaryKey,
    /// `UNIQUE`.
    Unique,
    /// `CHECK (expr)`.
    Check(Expr),
    /// `REFERENCES table (column)`.
    References(ForeignReference),
    /// `[GENERATED ALWAYS] AS (expr) [STORED | VIRTUAL]`.
    Generated {
        /// The value.
        expr: Expr,
        /// STORED or VIRTUAL, if it was written.
        stored: Option<bool>,
    },
    /// `GENERATED { ALWAYS | BY DEFAULT } AS IDENTITY [(options)]`.
    Identity {
        /// ALWAYS.
        always: bool,
        /// The sequence's options.
        options: Vec<SequenceOption>,
    },
    /// `COLLATE name`.
    Collate(ObjectName),
    /// `ENCODING name`, `USING COMPRESSION name`.
    Encoding(Ident),
}

/// `[CONSTRAINT name] kind` in a table definition.
#[derive(Debug, Clone, PartialEq)]
pub struct TableConstraint {
    /// The name.
    pub name: Option<Ident>,
    /// Its kind.
    pub kind: TableConstraintKind,
    /// Its span in the text.
    pub span: Span,
}

/// The constraints of tables.
#[derive(Debug, Clone, PartialEq)]
pub enum TableConstraintKind {
    /// `PRIMARY KEY (columns)`.
    PrimaryKey(Vec<Ident>),
    /// `UNIQUE (columns)`.
    Unique(Vec<Ident>),
    /// `CHECK (expr)`.
    Check(Expr),
    /// `FOREIGN KEY (columns) REFERENCES …`.
    ForeignKey {
        /// The columns.
        columns: Vec<Ident>,
        /// The referenced table and columns.
        reference: ForeignReference,
    },
}

/// `REFERENCES table [(columns)] [ON DELETE …] [ON UPDATE …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignReference {
    /// The table.
    pub table: ObjectName,
    /// Its columns; if empty, its primary key.
    pub columns: Vec<Ident>,
    /// ON DELETE.
    pub on_delete: Option<ReferentialAction>,
    /// ON UPDATE.
    pub on_update: Option<ReferentialAction>,
}

/// The action for rows that refer to a deleted or updated row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ReferentialAction {
    NoAction,
    Restrict,
    Cascade,
    SetNull,
    SetDefault,
}

/// `CREATE [OR REPLACE] [TEMP] VIEW [IF NOT EXISTS] name [(columns)] AS query`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    /// OR REPLACE.
    pub or_replace: bool,
    /// TEMP.
    pub temporary: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// RECURSIVE.
    pub recursive: bool,
    /// The view.
    pub name: ObjectName,
    /// Column names.
    pub columns: Vec<Ident>,
    /// The query; its span is the text that the catalog keeps.
    pub query: Box<Query>,
    /// Its span in the text.
    pub span: Span,
}

/// `CREATE [OR REPLACE] SCHEMA [IF NOT EXISTS] name`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSchema {
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The schema.
    pub name: ObjectName,
    /// Its span in the text.
    pub span: Span,
}

/// `CREATE [OR REPLACE] [TEMP] SEQUENCE [IF NOT EXISTS] name options`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateSequence {
    /// OR REPLACE.
    pub or_replace: bool,
    /// TEMP.
    pub temporary: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The sequence.
    pub name: ObjectName,
    /// Options, in order.
    pub options: Vec<SequenceOption>,
    /// Its span in the text.
    pub span: Span,
}

/// An option of a sequence.
#[derive(Debug, Clone, PartialEq)]
pub struct SequenceOption {
    /// Its kind.
    pub kind: SequenceOptionKind,
    /// Its span in the text.
    pub span: Span,
}

/// The options of sequences. Numbers are literals, possibly signed.
#[derive(Debug, Clone, PartialEq)]
pub enum SequenceOptionKind {
    /// `START [WITH] n`.
    Start(Expr),
    /// `RESTART [[WITH] n]`.
    Restart(Option<Expr>),
    /// `INCREMENT [BY] n`.
    Increment(Expr),
    /// `MINVALUE n`, `NO MINVALUE`.
    MinValue(Option<Expr>),
    /// `MAXVALUE n`, `NO MAXVALUE`.
    MaxValue(Option<Expr>),
    /// `CACHE n`.
    Cache(Expr),
    /// `CYCLE`, `NO CYCLE`.
    Cycle(bool),
    /// `AS type`.
    As(DataType),
    /// `OWNED BY table.column`, `OWNED BY NONE`.
    OwnedBy(Option<ObjectName>),
}

/// `CREATE [UNIQUE] INDEX [IF NOT EXISTS] [name] ON table [USING method] (keys) [WITH (…)] [WHERE …]`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    /// UNIQUE.
    pub unique: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The index.
    pub name: Option<ObjectName>,
    /// The table.
    pub table: ObjectName,
    /// The method.
    pub method: Option<Ident>,
    /// The keys; columns or expressions.
    pub keys: Vec<OrderByExpr>,
    /// `WITH (…)`.
    pub options: Vec<StatementOption>,
    /// The predicate of a partial index.
    pub filter: Option<Expr>,
    /// Its span in the text.
    pub span: Span,
}

/// `CREATE [OR REPLACE] [TEMP] TYPE [IF NOT EXISTS] name AS definition`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateType {
    /// OR REPLACE.
    pub or_replace: bool,
    /// TEMP.
    pub temporary: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The type.
    pub name: ObjectName,
    /// Its definition.
    pub definition: TypeDefinition,
    /// Its span in the text.
    pub span: Span,
}

/// The definition of a new type.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeDefinition {
    /// An existing type, for an alias, or `ENUM ('a', 'b')`.
    Type(DataType),
    /// `ENUM (SELECT …)`.
    EnumOf(Box<Query>),
}

/// `CREATE [OR REPLACE] [TEMP] MACRO [IF NOT EXISTS] name (parameters) AS body, (parameters) AS body`.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateMacro {
    /// OR REPLACE.
    pub or_replace: bool,
    /// TEMP.
    pub temporary: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The macro.
    pub name: ObjectName,
    /// One for each set of parameters; at least one.
    pub overloads: Vec<MacroOverload>,
    /// Its span in the text.
    pub span: Span,
}

/// `(parameters) AS body`.
#[derive(Debug, Clone, PartialEq)]
pub struct MacroOverload {
    /// The parameters.
    pub parameters: Vec<MacroParameter>,
    /// The body.
    pub body: MacroBody,
    /// Its span in the text.
    pub span: Span,
}

/// `name [type] [:= default]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MacroParameter {
    /// The name.
    pub name: Ident,
    /// The type.
    pub data_type: Option<DataType>,
    /// The default value.
    pub default: Option<Expr>,
}

/// The body of a macro.
#[derive(Debug, Clone, PartialEq)]
pub enum MacroBody {
    /// A value.
    Expr(Expr),
    /// Rows: `AS TABLE query`.
    Table(Box<Query>),
}

/// Kinds of named objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum ObjectKind {
    Table,
    View,
    Schema,
    Sequence,
    Index,
    Type,
    Macro,
    TableMacro,
    Database,
}

/// `DROP kind [IF EXISTS] names [CASCADE | RESTRICT]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Drop {
    /// Their kind.
    pub kind: ObjectKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// The objects.
    pub names: Vec<ObjectName>,
    /// CASCADE or RESTRICT, if it was written.
    pub behavior: Option<DropBehavior>,
    /// Its span in the text.
    pub span: Span,
}

/// What happens to objects that depend on a dropped one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum DropBehavior {
    Cascade,
    Restrict,
}

/// `ALTER TABLE [IF EXISTS] name action, action`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: ObjectName,
    /// IF EXISTS.
    pub if_exists: bool,
    /// The changes, in order; at least one.
    pub actions: Vec<AlterTableAction>,
    /// Its span in the text.
    pub span: Span,
}

/// A change to a table.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterTableAction {
    /// `RENAME TO name`.
    RenameTable(Ident),
    /// `RENAME [COLUMN] path TO name`; a path of several parts refers to a field of a struct.
    RenameColumn {
        /// The column.
        column: ObjectName,
        /// Its new name.
        to: Ident,
    },
    /// `RENAME CONSTRAINT name TO name`.
    RenameConstraint {
        /// The constraint.
        name: Ident,
        /// Its new name.
        to: Ident,
    },
    /// `ADD [COLUMN] [IF NOT EXISTS] [struct.]column`.
    AddColumn {
        /// IF NOT EXISTS.
        if_not_exists: bool,
        /// The struct that gets a field; empty for a column of the table.
        parent: Vec<Ident>,
        /// The column or field.
        column: Box<ColumnDef>,
    },
    /// `DROP [COLUMN] [IF EXISTS] path [CASCADE]`.
    DropColumn {
        /// IF EXISTS.
        if_exists: bool,
        /// The column, or the path to a field of a struct.
        column: ObjectName,
        /// CASCADE or RESTRICT, if it was written.
        behavior: Option<DropBehavior>,
    },
    /// `ALTER [COLUMN] path …`.
    AlterColumn {
        /// The column, or the path to a field of a struct.
        column: ObjectName,
        /// The change.
        action: AlterColumnAction,
    },
    /// `ADD [CONSTRAINT name] …`.
    AddConstraint(TableConstraint),
    /// `DROP CONSTRAINT [IF EXISTS] name [CASCADE]`.
    DropConstraint {
        /// IF EXISTS.
        if_exists: bool,
        /// The constraint.
        name: Ident,
        /// CASCADE or RESTRICT, if it was written.
        behavior: Option<DropBehavior>,
    },
    /// `SET SCHEMA name`.
    SetSchema(Ident),
    /// `SET (options)`.
    SetOptions(Vec<StatementOption>),
    /// `RESET (names)`.
    ResetOptions(Vec<Ident>),
}

/// A change to a column.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterColumnAction {
    /// `[SET DATA] TYPE type [COLLATE name] [USING expr]`.
    SetType {
        /// The new type; `None` if it follows from USING alone.
        data_type: Option<DataType>,
        /// Its collation.
        collation: Option<ObjectName>,
        /// The new value.
        using: Option<Expr>,
    },
    /// `SET DEFAULT expr`.
    SetDefault(Expr),
    /// `DROP DEFAULT`.
    DropDefault,
    /// `SET NOT NULL`.
    SetNotNull,
    /// `DROP NOT NULL`.
    DropNotNull,
    /// `SET ENCODING name`.
    SetEncoding(Ident),
}

/// `ALTER { VIEW | SEQUENCE | SCHEMA | INDEX | TYPE | … } [IF EXISTS] name action`.
#[derive(Debug, Clone, PartialEq)]
pub struct AlterObject {
    /// Its kind.
    pub kind: ObjectKind,
    /// IF EXISTS.
    pub if_exists: bool,
    /// The object.
    pub name: ObjectName,
    /// The change.
    pub action: AlterAction,
    /// Its span in the text.
    pub span: Span,
}

/// A change to an object that isn't a table.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    /// `RENAME TO name`.
    RenameTo(Ident),
    /// `SET SCHEMA name`.
    SetSchema(Ident),
    /// Options of a sequence.
    SequenceOptions(Vec<SequenceOption>),
}

/// `COMMENT ON kind name IS 'text'`.
#[derive(Debug, Clone, PartialEq)]
pub struct CommentOn {
    /// The kind of object.
    pub target: CommentTarget,
    /// Its name; for a column, preceded by the table's.
    pub name: ObjectName,
    /// The text; `None` removes it.
    pub comment: Option<Arc<str>>,
    /// Its span in the text.
    pub span: Span,
}

/// The kind of object that a comment describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CommentTarget {
    /// An object.
    Object(ObjectKind),
    /// A column.
    Column,
}
