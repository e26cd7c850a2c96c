//! The binder's interface to everything around a statement.

use std::sync::Arc;

use godwit_common::{Error, Result, Span};
use godwit_plan::{FunctionRegistry, Plan, Relation};
use godwit_syntax::ast;
use godwit_types::{SqlType, TimeZone, Value};

use crate::Dialect;

/// Tables, views, functions and types visible to a statement. Most of these are optional.
pub trait Environment: Send + Sync {
    /// Returns the table or view with a name of one to three parts (`database.schema.table`, or less); `None` if there
    /// is none.
    fn named(&self, parts: &[&str]) -> Result<Option<Named>>;

    /// Returns the rows of files, by path or glob; `None` if the text doesn't look like a readable path.
    fn file(&self, _path: &str) -> Option<Result<Arc<dyn Relation>>> {
        None
    }

    /// Returns the rows of a function in FROM, by its name in lower case; `None` if there is no such function.
    fn table_function(&self, _name: &str, _arguments: &[TableArgument]) -> Option<Result<Arc<dyn Relation>>> {
        None
    }

    /// Scalar, aggregate and window functions.
    fn functions(&self) -> &dyn FunctionRegistry;

    /// Returns a macro, by a name of one to three parts.
    fn find_macro(&self, _parts: &[&str]) -> Option<Arc<Macro>> {
        None
    }

    /// Returns a user-defined type, by a name of one to three parts.
    fn named_type(&self, _parts: &[&str]) -> Option<SqlType> {
        None
    }

    /// Returns a session variable, by its name in lower case.
    fn variable(&self, _name: &str) -> Option<(Value, SqlType)> {
        None
    }

    /// Returns the value of a session function without arguments: `current_schema`, `current_database`, `current_user`.
    fn session_value(&self, _name: &str) -> Option<(Value, SqlType)> {
        None
    }

    /// The session's time zone, used to show timestamps with time zone and to convert times without a zone.
    fn time_zone(&self) -> TimeZone {
        TimeZone::UTC
    }

    /// The session's choices where dialects differ; the default for the names that a definition sees.
    fn dialect(&self) -> Dialect {
        Dialect::default()
    }

    /// Returns the value of a session setting, by its name in lower case.
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }

    /// Returns what a table says about its columns, by a name of one to three parts; nothing for other names.
    fn column_rules(&self, _parts: &[&str]) -> Vec<ColumnRules> {
        Vec::new()
    }

    /// Returns the error for a table that doesn't exist, with a hint at similar names.
    fn unknown_table(&self, name: &str) -> Error;

    /// Returns the rows of a SHOW statement.
    fn listed(&self, _show: &ast::Show) -> Result<Rows> {
        Err(Error::unsupported("SHOW inside a query"))
    }

    /// Returns the names visible to a query that the statement has as a text: the same, but not the statement's own WITH.
    fn for_text(&self) -> Result<Arc<dyn Environment>> {
        Err(Error::unsupported("queries in texts"))
    }

    /// Returns the result of the data-modifying WITH item at this position; `None` if none is allowed there.
    fn written(&self, _cte: Span) -> Option<Written> {
        None
    }

    /// Returns the distinct rows of a plan as text, in the plan's order: PIVOT turns them into columns. `None` where
    /// rows can't be read during planning; fails if there are more than `rows_max`.
    fn distinct_rows(&self, _plan: &Plan, _rows_max: usize) -> Option<Result<TextRows>> {
        None
    }

    /// Returns the names of table functions, for hints.
    fn table_function_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Rows of text; `None` is NULL.
pub type TextRows = Vec<Vec<Option<String>>>;

/// What a name in FROM stands for.
pub enum Named {
    /// A table, and its full name, outermost part first.
    Relation(Arc<dyn Relation>, Vec<String>),
    /// A view.
    View(Arc<View>),
    /// Rows that the environment itself provides, such as `information_schema`, with their full name.
    Rows(Rows, Vec<String>),
}

/// The result of a data-modifying WITH item, as seen by the rest of the statement.
#[derive(Clone)]
pub enum Written {
    /// The rows of RETURNING.
    Rows(Arc<dyn Relation>),
    /// Nothing: it has no RETURNING.
    Nothing,
}

/// Rows of constants.
pub struct Rows {
    /// Name and type of each column.
    pub columns: Vec<(String, SqlType)>,
    /// The rows.
    pub rows: Vec<Vec<Value>>,
}

/// What a table says about a column besides its type, for DESCRIBE.
pub struct ColumnRules {
    /// Its name.
    pub name: String,
    /// True if it can't be NULL.
    pub not_null: bool,
    /// `PRI` in the primary key, `UNI` in another one.
    pub key: Option<&'static str>,
    /// The expression of its default.
    pub default: Option<String>,
}

/// A view: a query that is bound in the environment of its definition.
pub struct View {
    /// Full name; views of the same name are the same.
    pub name: String,
    /// The query.
    pub query: Arc<ast::Query>,
    /// Names of its columns; may be fewer than it has.
    pub columns: Vec<String>,
    /// Resolves its names.
    pub environment: Arc<dyn Environment>,
}

/// A macro, with its overloads.
pub struct Macro {
    /// Its name.
    pub name: String,
    /// The overloads, in the order in which they are tried.
    pub overloads: Vec<ast::MacroOverload>,
    /// Resolves its names.
    pub environment: Arc<dyn Environment>,
}

/// A constant argument of a table function.
#[derive(Debug, Clone)]
pub struct TableArgument {
    /// The name of the option, in lower case, if it was given by name.
    pub name: Option<String>,
    /// Its value.
    pub value: Value,
    /// The value's type.
    pub ty: SqlType,
    /// Its position in the text.
    pub span: Span,
}
