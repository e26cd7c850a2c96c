//! What a statement asks for, after planning.

use std::fmt;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_expr::LogicalPlan;

use godwit_common::{Error, Result};
use godwit_vector::Vector;

use crate::{AlterPlan, ExplainOptions, TableRules, ViewDefinition, WritePlan};

/// An option of `COPY`: a name, in lower case, and a value unless the name says it all (`HEADER`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyOption {
    /// The name.
    pub name: String,
    /// The value's text, without quotes.
    pub value: Option<String>,
}

impl CopyOption {
    /// The value of an option that needs one.
    pub fn text(&self) -> Result<&str> {
        self.value.as_deref().ok_or_else(|| Error::user(format!("the option {} needs a value", self.name)))
    }
}

/// What is to become of a transaction. Names of savepoints are in lower case unless quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionStep {
    /// `BEGIN`, `START TRANSACTION`.
    Begin,
    /// `COMMIT`, `END`.
    Commit,
    /// `ROLLBACK`, `ABORT`.
    Rollback,
    /// `SAVEPOINT name`.
    Savepoint(String),
    /// `RELEASE [SAVEPOINT] name`.
    Release(String),
    /// `ROLLBACK TO [SAVEPOINT] name`.
    RollbackTo(String),
}

/// Columns of rows: dense, of the natural types.
#[derive(Clone)]
pub struct ListedRows(pub Vec<Vector>);

impl fmt::Debug for ListedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListedRows({} columns)", self.0.len())
    }
}

/// A planned statement. The planner changes nothing: the caller applies what isn't a query.
#[derive(Debug, Clone)]
pub enum Statement {
    /// Rows are wanted. `SHOW TABLES`, `DESCRIBE` and `SUMMARIZE` are queries too.
    Query {
        /// The optimized plan.
        plan: LogicalPlan,
        /// A name for each column of the result. Several may be the same; the plan's own names all differ.
        column_names: Vec<String>,
    },
    /// `COPY (query) TO 'file' (options)`: the rows are wanted in a file.
    Copy {
        /// The optimized plan.
        plan: LogicalPlan,
        /// A name for each column.
        column_names: Vec<String>,
        /// The file.
        path: String,
        /// What was said about the file.
        options: Vec<CopyOption>,
    },
    /// The plan is wanted.
    Explain {
        /// How.
        options: ExplainOptions,
        /// The optimized plan.
        plan: LogicalPlan,
    },
    /// `CREATE [OR REPLACE] [TEMP] VIEW [IF NOT EXISTS]`: the query was planned once to prove that it is valid.
    CreateView {
        /// The view.
        view: Arc<ViewDefinition>,
        /// Replace a view of that name.
        or_replace: bool,
        /// Keep a view of that name without an error.
        if_not_exists: bool,
    },
    /// `DROP VIEW [IF EXISTS] a, b`.
    DropView {
        /// Names, in lower case unless quoted.
        names: Vec<String>,
        /// A missing view is no error.
        if_exists: bool,
    },
    /// `CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t (…)` or `… AS query`.
    CreateTable {
        /// The name, in lower case unless quoted.
        name: String,
        /// The columns; strings are views.
        schema: SchemaRef,
        /// Defaults and constraints.
        rules: TableRules,
        /// Replace a table of that name.
        or_replace: bool,
        /// Keep a table of that name without an error.
        if_not_exists: bool,
        /// The rows, with columns of the types of `schema`.
        rows: Option<LogicalPlan>,
    },
    /// `DROP TABLE [IF EXISTS] a, b`.
    DropTable {
        /// Names, in lower case unless quoted.
        names: Vec<String>,
        /// A missing table is no error.
        if_exists: bool,
    },
    /// `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `TRUNCATE`, `COPY t FROM 'file'`.
    Write(WritePlan),
    /// `INSERT INTO t VALUES …`, of rows that are there already.
    InsertRows {
        /// The table's name.
        table: String,
        /// How many.
        rows: usize,
        /// All columns of the table.
        columns: ListedRows,
    },
    /// `ALTER TABLE`, `CREATE INDEX`, `DROP INDEX`, as far as rows stay.
    Alter(AlterPlan),
    /// What was asked for is so already.
    Nothing,
    /// `BEGIN`, `COMMIT`, `ROLLBACK`, `SAVEPOINT`.
    Transaction(TransactionStep),
    /// `CHECKPOINT`, `VACUUM`, `MERGE DELTA OF t`.
    Checkpoint,
    /// `SET name = value`, `PRAGMA name = value`.
    Set {
        /// Name of the setting, in lower case.
        name: String,
        /// The value's text, without quotes.
        value: String,
    },
    /// `RESET name`, `RESET ALL`.
    Reset {
        /// Name of the setting; `None` for all.
        name: Option<String>,
    },
    /// `SHOW name`, `SHOW ALL`.
    Show {
        /// Name of the setting; `None` for all.
        name: Option<String>,
    },
}
