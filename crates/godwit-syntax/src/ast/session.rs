//! Statements about the session: settings, search path, attached databases, prepared statements.

use std::sync::Arc;

use godwit_common::Span;

use super::{Argument, DataType, Expr, Ident, ObjectName, Statement, StatementOption};

/// `SET [SESSION | LOCAL | GLOBAL] name { = | TO } values`.
#[derive(Debug, Clone, PartialEq)]
pub struct Set {
    /// The scope of the change.
    pub scope: Option<SettingScope>,
    /// The setting.
    pub name: ObjectName,
    /// The values. Bare words are columns, including ON; empty for DEFAULT.
    pub values: Vec<Expr>,
    /// Everything after `=` or TO.
    pub value_span: Span,
    /// Its span in the text.
    pub span: Span,
}

/// The scope of a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum SettingScope {
    Session,
    Local,
    Global,
}

/// `SET VARIABLE name = expr`.
#[derive(Debug, Clone, PartialEq)]
pub struct SetVariable {
    /// The variable.
    pub name: Ident,
    /// Its value.
    pub value: Expr,
    /// Its span in the text.
    pub span: Span,
}

/// `RESET name`, `RESET VARIABLE name`, `RESET ALL`.
#[derive(Debug, Clone, PartialEq)]
pub struct Reset {
    /// The setting or variable; `None` for all settings.
    pub name: Option<ObjectName>,
    /// True for a variable.
    pub is_variable: bool,
    /// Its span in the text.
    pub span: Span,
}

/// `PRAGMA name …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Pragma {
    /// The setting or the function.
    pub name: Ident,
    /// Its value or arguments.
    pub value: PragmaValue,
    /// Its span in the text.
    pub span: Span,
}

/// The value or arguments of PRAGMA.
#[derive(Debug, Clone, PartialEq)]
pub enum PragmaValue {
    /// `PRAGMA name`.
    None,
    /// `PRAGMA name = value`.
    Set(Expr),
    /// `PRAGMA name(args)`.
    Call(Vec<Argument>),
}

/// `USE database`, `USE database.schema`, `USE schema`.
#[derive(Debug, Clone, PartialEq)]
pub struct Use {
    /// The database or schema.
    pub name: ObjectName,
    /// Its span in the text.
    pub span: Span,
}

/// `LOAD name`, `[FORCE] INSTALL name [FROM source]`.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadExtension {
    /// True for INSTALL.
    pub install: bool,
    /// The extension.
    pub name: Ident,
    /// Its span in the text.
    pub span: Span,
}

/// `ATTACH [OR REPLACE] [DATABASE] [IF NOT EXISTS] 'path' [AS name] [(options)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Attach {
    /// OR REPLACE.
    pub or_replace: bool,
    /// IF NOT EXISTS.
    pub if_not_exists: bool,
    /// The file.
    pub path: Arc<str>,
    /// The name; `None` for the file's.
    pub name: Option<Ident>,
    /// Options.
    pub options: Vec<StatementOption>,
    /// Its span in the text.
    pub span: Span,
}

/// `DETACH [DATABASE] [IF EXISTS] name`.
#[derive(Debug, Clone, PartialEq)]
pub struct Detach {
    /// IF EXISTS.
    pub if_exists: bool,
    /// The database.
    pub name: Ident,
    /// Its span in the text.
    pub span: Span,
}

/// `PREPARE name [(types)] AS statement`.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepare {
    /// The name.
    pub name: Ident,
    /// Parameter types, in order.
    pub types: Vec<DataType>,
    /// The prepared statement.
    pub statement: Statement,
    /// Its span in the text.
    pub statement_span: Span,
    /// Its span in the text.
    pub span: Span,
}

/// `EXECUTE name [(args)]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Execute {
    /// The prepared statement.
    pub name: Ident,
    /// Parameter values, by number or by name.
    pub args: Vec<Argument>,
    /// Its span in the text.
    pub span: Span,
}

/// `DEALLOCATE [PREPARE] { name | ALL }`.
#[derive(Debug, Clone, PartialEq)]
pub struct Deallocate {
    /// The prepared statement; `None` for all.
    pub name: Option<Ident>,
    /// Its span in the text.
    pub span: Span,
}
