//! What a statement asks for, after planning.

use std::fmt;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_expr::LogicalPlan;

use godwit_common::{Error, Result};
use godwit_vector::Vector;

use crate::{AlterPlan, ExplainOptions, ObjectName, Place, SequenceDefinition, TableRules, ViewDefinition, WritePlan};

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

/// A database to be attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachPlan {
    /// Its file, a folder of Parquet files, or `:memory:`.
    pub path: String,
    /// What it is to be called; `None`: as its file.
    pub name: Option<String>,
    /// Nothing of it is changed.
    pub is_read_only: bool,
    /// A database of that name is no error.
    pub if_not_exists: bool,
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
        /// Its name.
        name: ObjectName,
        /// The view.
        view: Arc<ViewDefinition>,
        /// Replace a view of that name.
        or_replace: bool,
        /// Keep a view of that name without an error.
        if_not_exists: bool,
    },
    /// `DROP VIEW [IF EXISTS] a, b`, without those that may be missing and are.
    DropView {
        /// Which.
        names: Vec<ObjectName>,
    },
    /// `CREATE [OR REPLACE] TABLE [IF NOT EXISTS] t (…)` or `… AS query`.
    CreateTable {
        /// Its name.
        name: ObjectName,
        /// The columns; strings are views.
        schema: SchemaRef,
        /// Defaults and constraints.
        rules: TableRules,
        /// Sequences of its identity columns.
        sequences: Vec<SequenceDefinition>,
        /// Replace a table of that name.
        or_replace: bool,
        /// Keep a table of that name without an error.
        if_not_exists: bool,
        /// The rows, with columns of the types of `schema`.
        rows: Option<LogicalPlan>,
    },
    /// `DROP TABLE [IF EXISTS] a, b`, without those that may be missing and are.
    DropTable {
        /// Which.
        names: Vec<ObjectName>,
    },
    /// `CREATE SCHEMA [IF NOT EXISTS] s`.
    CreateSchema {
        /// Where, and its name.
        place: Place,
        /// A schema of that name is no error.
        if_not_exists: bool,
    },
    /// `DROP SCHEMA [IF EXISTS] a, b [CASCADE]`.
    DropSchema {
        /// Which.
        places: Vec<Place>,
        /// What is in them goes, too.
        cascade: bool,
    },
    /// `CREATE [OR REPLACE] [TEMP] SEQUENCE [IF NOT EXISTS] s`.
    CreateSequence {
        /// Its name.
        name: ObjectName,
        /// What it is.
        definition: SequenceDefinition,
        /// Replace a sequence of that name.
        or_replace: bool,
        /// Keep a sequence of that name without an error.
        if_not_exists: bool,
    },
    /// `DROP SEQUENCE [IF EXISTS] a, b`, without those that may be missing and are.
    DropSequence {
        /// Which.
        names: Vec<ObjectName>,
    },
    /// `ATTACH 'file' AS name (READ_ONLY)`.
    Attach(AttachPlan),
    /// `DETACH name`.
    Detach {
        /// Which database.
        name: String,
        /// A missing one is no error.
        if_exists: bool,
    },
    /// `EXPORT DATABASE 'folder' (options)`.
    Export {
        /// The folder.
        folder: String,
        /// As those of COPY.
        options: Vec<CopyOption>,
    },
    /// `IMPORT DATABASE 'folder'`.
    Import {
        /// The folder.
        folder: String,
    },
    /// `USE s`, `SET schema = s`, `SET search_path = 'a, b'`.
    Use {
        /// Where names without a schema are looked for; the first is where things are made.
        path: Vec<Place>,
    },
    /// `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `TRUNCATE`, `COPY t FROM 'file'`.
    Write(WritePlan),
    /// `INSERT INTO t VALUES …`, of rows that are there already.
    InsertRows {
        /// The table.
        table: ObjectName,
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
    /// `CHECKPOINT`, `VACUUM`.
    Checkpoint,
    /// `MERGE DELTA OF t`.
    MergeDelta {
        /// The table.
        table: ObjectName,
    },
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
