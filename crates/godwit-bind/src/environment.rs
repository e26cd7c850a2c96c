//! The binder's interface to everything around a statement.

use std::sync::Arc;

use godwit_common::{Error, Result, Span};
use godwit_plan::{FunctionRegistry, Plan, Relation};
use godwit_syntax::ast;
use godwit_types::{SqlType, TimeZone, Value};

/// Tables, views, functions and types that a statement sees. Most kinds of them need not be there.
pub trait Environment: Send + Sync {
    /// The table or view of a name of one to three parts (`database.schema.table`, or less); `None` if there is none.
    fn named(&self, parts: &[&str]) -> Result<Option<Named>>;

    /// The rows of files, by path or glob; `None` if the text doesn't look like a path that can be read.
    fn file(&self, _path: &str) -> Option<Result<Arc<dyn Relation>>> {
        None
    }

    /// The rows of a function in FROM, by its name in lower case; `None` if there is none of that name.
    fn table_function(&self, _name: &str, _arguments: &[TableArgument]) -> Option<Result<Arc<dyn Relation>>> {
        None
    }

    /// Scalar, aggregate and window functions.
    fn functions(&self) -> &dyn FunctionRegistry;

    /// A macro, by a name of one to three parts.
    fn find_macro(&self, _parts: &[&str]) -> Option<Arc<Macro>> {
        None
    }

    /// A type that a user has made, by a name of one to three parts.
    fn named_type(&self, _parts: &[&str]) -> Option<SqlType> {
        None
    }

    /// A variable of the session, by its name in lower case.
    fn variable(&self, _name: &str) -> Option<(Value, SqlType)> {
        None
    }

    /// The value of a session function without arguments: `current_schema`, `current_database`, `current_user`.
    fn session_value(&self, _name: &str) -> Option<(Value, SqlType)> {
        None
    }

    /// The zone in which moments are shown, and in which times without a zone are read as moments.
    fn time_zone(&self) -> TimeZone {
        TimeZone::UTC
    }

    /// The value of a setting of the session, by its name in lower case.
    fn setting(&self, _name: &str) -> Option<String> {
        None
    }

    /// The error for a table that doesn't exist, with a hint at similar names.
    fn unknown_table(&self, name: &str) -> Error;

    /// What SHOW lists.
    fn listed(&self, _show: &ast::Show) -> Result<Rows> {
        Err(Error::unsupported("SHOW inside a query"))
    }

    /// What the write in WITH at this place returns; `None` if no write is allowed there.
    fn written(&self, _cte: Span) -> Option<Written> {
        None
    }

    /// The distinct rows of a plan as texts, in the order in which they come: PIVOT turns them into columns. `None`
    /// where rows can't be read while a statement is planned; an error if there are more than `rows_max`.
    fn distinct_rows(&self, _plan: &Plan, _rows_max: usize) -> Option<Result<TextRows>> {
        None
    }

    /// Names of table functions, for hints.
    fn table_function_names(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Rows of texts; `None` is NULL.
pub type TextRows = Vec<Vec<Option<String>>>;

/// What a name in FROM stands for.
pub enum Named {
    /// A table, and its full name, outermost part first.
    Relation(Arc<dyn Relation>, Vec<String>),
    /// A view.
    View(Arc<View>),
    /// Rows that the environment provides itself: `information_schema`. With their full name.
    Rows(Rows, Vec<String>),
}

/// What a write in WITH provides to the other parts of the statement.
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

/// A view: a query that is bound where it was defined.
pub struct View {
    /// Full name; views of the same name are the same.
    pub name: String,
    /// The query.
    pub query: Arc<ast::Query>,
    /// Names of its columns; may be fewer than it has.
    pub columns: Vec<String>,
    /// What its names mean.
    pub environment: Arc<dyn Environment>,
}

/// A macro: forms by their parameters.
pub struct Macro {
    /// Its name.
    pub name: String,
    /// The forms, in the order in which they are tried.
    pub overloads: Vec<ast::MacroOverload>,
    /// What its names mean.
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
    /// Its place in the text.
    pub span: Span,
}
