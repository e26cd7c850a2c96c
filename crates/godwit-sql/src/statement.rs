//! Planned statements.

use std::fmt;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use godwit_catalog::{
    AlterPlan, Comments, CopyOption, LateHandle, MacroDefinition, ObjectName, SchemaName, SequenceDefinition,
    TableRules, TypeDefinition, ViewDefinition,
};
use godwit_plan::{ParameterInfo, Plan};
use godwit_types::{SqlType, Value};
use godwit_vector::Vector;

use crate::{ExplainOptions, ParsedStatement, TracedQuery, WritePlan};

/// A database to be attached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttachPlan {
    /// Its file, a folder of Parquet files, or `:memory:`.
    pub path: String,
    /// Name of the attached database; `None`: that of its file.
    pub name: Option<String>,
    /// Whether it is opened read-only.
    pub is_read_only: bool,
    /// Whether an existing database of that name is accepted.
    pub if_not_exists: bool,
}

/// Transaction control. Names of savepoints are in lower case unless quoted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TransactionStep {
    /// `BEGIN`, `START TRANSACTION`.
    Begin {
        /// `READ ONLY`: only temporary tables may be changed.
        is_read_only: bool,
    },
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

/// Columns of rows: dense, of their natural types.
#[derive(Clone)]
pub struct ListedRows(pub Vec<Vector>);

impl fmt::Debug for ListedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ListedRows({} columns)", self.0.len())
    }
}

/// A planned statement. The planner changes nothing: the caller applies anything but queries. Every match on it and its
/// families is exhaustive, so that a new statement can't slip through as a read.
#[derive(Debug, Clone)]
pub enum Statement {
    /// Reads.
    Query(QueryStatement),
    /// Changes rows.
    Write(WriteStatement),
    /// Creates, alters and drops.
    Definition(Definition),
    /// Concerns the session or the maintenance of databases.
    Session(SessionStatement),
    /// `BEGIN`, `COMMIT`, `ROLLBACK`, `SAVEPOINT`.
    Transaction(TransactionStep),
    /// `EXECUTE name (values)`: runs a prepared statement.
    Execute {
        /// The prepared statement.
        name: String,
        /// The values of its parameters.
        arguments: Vec<Argument>,
    },
    /// `IMPORT DATABASE 'folder'`: runs the statements in the folder.
    Import {
        /// The folder.
        folder: String,
    },
}

impl Statement {
    /// Returns the plan of the statement's rows, if it has one.
    pub fn plan(&self) -> Option<&Arc<Plan>> {
        match self {
            Statement::Query(
                QueryStatement::Rows { plan }
                | QueryStatement::Copy { plan, .. }
                | QueryStatement::Explain { plan, .. }
                | QueryStatement::Trace { plan, .. },
            ) => Some(plan),
            Statement::Query(QueryStatement::Export { .. }) => None,
            Statement::Write(WriteStatement::Planned(write) | WriteStatement::Analyzed { write, .. }) => {
                Some(&write.rows)
            }
            Statement::Write(WriteStatement::Listed { .. } | WriteStatement::Parts { .. }) => None,
            Statement::Definition(Definition::CreateTable { rows, .. }) => rows.as_ref(),
            Statement::Definition(_)
            | Statement::Session(_)
            | Statement::Transaction(_)
            | Statement::Execute { .. }
            | Statement::Import { .. } => None,
        }
    }

    /// Returns the parameters that get values when it runs.
    pub fn parameters(&self) -> &[ParameterInfo] {
        self.plan().map_or(&[], |plan| plan.parameters())
    }
}

/// The value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The parameter's name; `None`: the next one by number.
    pub name: Option<String>,
    /// The value.
    pub value: Value,
    /// The value's type.
    pub ty: SqlType,
}

/// Statements that read.
#[derive(Debug, Clone)]
pub enum QueryStatement {
    /// Returns rows. `SHOW TABLES`, `DESCRIBE` and `SUMMARIZE` are queries, too.
    Rows {
        /// The optimized plan.
        plan: Arc<Plan>,
    },
    /// `COPY (query) TO 'file' (options)`: writes the rows to a file.
    Copy {
        /// The optimized plan.
        plan: Arc<Plan>,
        /// The file.
        path: String,
        /// Options for the file.
        options: Vec<CopyOption>,
        /// `EXPLAIN ANALYZE` of it: the result is what happened.
        analyzed: Option<ExplainOptions>,
    },
    /// `TRACE (options) query`: samples the memory that the query loads from.
    Trace {
        /// Options of TRACE.
        options: TracedQuery,
        /// The optimized plan.
        plan: Arc<Plan>,
    },
    /// `EXPLAIN`: shows the plan.
    Explain {
        /// Options of EXPLAIN.
        options: ExplainOptions,
        /// The optimized plan.
        plan: Arc<Plan>,
    },
    /// `EXPORT DATABASE 'folder' (options)`.
    Export {
        /// The folder.
        folder: String,
        /// Options, as for COPY.
        options: Vec<CopyOption>,
    },
}

/// Statements that change rows.
#[derive(Debug, Clone)]
pub enum WriteStatement {
    /// `INSERT`, `UPDATE`, `DELETE`, `MERGE`, `TRUNCATE`, `COPY t FROM 'file'`.
    Planned(WritePlan),
    /// `EXPLAIN ANALYZE` of a planned write: its result is what happened.
    Analyzed {
        /// The write, which is done.
        write: WritePlan,
        /// How the plan is shown.
        options: ExplainOptions,
    },
    /// `INSERT INTO t VALUES …` with literal rows, which need no plan.
    Listed {
        /// The table.
        table: ObjectName,
        /// Number of rows.
        rows: usize,
        /// All columns of the table.
        columns: ListedRows,
    },
    /// A statement that begins with a WITH that writes. All parts are planned against the state before the statement.
    Parts {
        /// The writes, in order.
        writes: Vec<WritePart>,
        /// The statement itself: a query or a write.
        last: Box<Statement>,
    },
}

/// A write in WITH.
#[derive(Debug, Clone)]
pub struct WritePart {
    /// The write itself.
    pub write: WriteStatement,
    /// Where the rows of RETURNING go, for later parts.
    pub rows: Option<Arc<LateHandle>>,
}

/// Statements that create, alter and drop.
#[derive(Debug, Clone)]
pub enum Definition {
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
        /// Replace an existing table of that name.
        or_replace: bool,
        /// Keep an existing table of that name, without an error.
        if_not_exists: bool,
        /// The rows, with columns of the types of `schema`.
        rows: Option<Arc<Plan>>,
        /// `EXPLAIN ANALYZE` of it: the result is what happened.
        analyzed: Option<ExplainOptions>,
    },
    /// `ALTER TABLE`, `CREATE INDEX`, `DROP INDEX`, if the rows stay.
    Alter(AlterPlan),
    /// `CREATE [OR REPLACE] [TEMP] VIEW [IF NOT EXISTS]`: the query has been planned once to check that it is valid.
    CreateView {
        /// Its name.
        name: ObjectName,
        /// The view.
        view: Arc<ViewDefinition>,
        /// Replace an existing view of that name.
        or_replace: bool,
        /// Keep an existing view of that name, without an error.
        if_not_exists: bool,
    },
    /// `CREATE [OR REPLACE] [TEMP] MACRO [IF NOT EXISTS]`.
    CreateMacro {
        /// Its name.
        name: ObjectName,
        /// Its definition.
        definition: Arc<MacroDefinition>,
        /// Replace an existing macro of that name.
        or_replace: bool,
        /// Keep an existing macro of that name, without an error.
        if_not_exists: bool,
    },
    /// `CREATE [OR REPLACE] [TEMP] TYPE [IF NOT EXISTS]`.
    CreateType {
        /// Its name.
        name: ObjectName,
        /// Its definition.
        definition: Arc<TypeDefinition>,
        /// Replace an existing type of that name.
        or_replace: bool,
        /// Keep an existing type of that name, without an error.
        if_not_exists: bool,
    },
    /// `CREATE [OR REPLACE] [TEMP] TYPE [IF NOT EXISTS] t AS ENUM (query)`.
    CreateEnum {
        /// Its name.
        name: ObjectName,
        /// The labels: one column.
        labels: Arc<Plan>,
        /// Replace an existing type of that name.
        or_replace: bool,
        /// Keep an existing type of that name, without an error.
        if_not_exists: bool,
    },
    /// `DROP MACRO [IF EXISTS] a, b`, without those that don't exist.
    DropMacro {
        /// Their names.
        names: Vec<ObjectName>,
    },
    /// `DROP TYPE [IF EXISTS] a, b`, without those that don't exist.
    DropType {
        /// Their names.
        names: Vec<ObjectName>,
    },
    /// `DROP VIEW [IF EXISTS] a, b`, without those that don't exist.
    DropView {
        /// Their names.
        names: Vec<ObjectName>,
    },
    /// `DROP TABLE [IF EXISTS] a, b`, without those that don't exist.
    DropTable {
        /// Their names.
        names: Vec<ObjectName>,
    },
    /// `CREATE [OR REPLACE] SCHEMA [IF NOT EXISTS] s`.
    CreateSchema {
        /// Its database and name.
        place: SchemaName,
        /// Replace an existing schema of that name, if it is empty.
        or_replace: bool,
        /// Keep an existing schema of that name, without an error.
        if_not_exists: bool,
    },
    /// `DROP SCHEMA [IF EXISTS] a, b [CASCADE]`.
    DropSchema {
        /// The schemas.
        places: Vec<SchemaName>,
        /// Drop their content as well.
        cascade: bool,
    },
    /// `CREATE [OR REPLACE] [TEMP] SEQUENCE [IF NOT EXISTS] s`.
    CreateSequence {
        /// Its name.
        name: ObjectName,
        /// Its definition.
        definition: SequenceDefinition,
        /// Replace an existing sequence of that name.
        or_replace: bool,
        /// Keep an existing sequence of that name, without an error.
        if_not_exists: bool,
    },
    /// `ALTER SEQUENCE s options`.
    AlterSequence {
        /// Its name.
        name: ObjectName,
        /// Its new definition.
        definition: SequenceDefinition,
        /// Its next number; `None` if it is exhausted.
        next: Option<i64>,
    },
    /// `ALTER VIEW v RENAME TO w`.
    RenameView {
        /// Its old name.
        name: ObjectName,
        /// The view under its new name.
        view: Arc<ViewDefinition>,
    },
    /// `DROP SEQUENCE [IF EXISTS] a, b`, without those that don't exist.
    DropSequence {
        /// Their names.
        names: Vec<ObjectName>,
    },
    /// `COMMENT ON`: the new comments of an object.
    Comment {
        /// Its database, and its key in the catalog.
        key: ObjectName,
        /// They replace its old comments.
        comments: Comments,
    },
    /// The requested state exists already.
    Nothing,
}

/// Statements that concern the session or the maintenance of databases.
#[derive(Debug, Clone)]
pub enum SessionStatement {
    /// `PREPARE name [(types)] AS statement`.
    Prepare {
        /// Its name.
        name: String,
        /// The statement to prepare.
        statement: Box<ParsedStatement>,
        /// Types of the first parameters, by number.
        types: Vec<SqlType>,
    },
    /// `DEALLOCATE name`, `DEALLOCATE ALL`.
    Deallocate {
        /// Its name; `None` for all.
        name: Option<String>,
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
    /// `SET VARIABLE name = value`.
    SetVariable {
        /// The variable's name, in lower case.
        name: String,
        /// A query of one row with one column.
        value: Arc<Plan>,
    },
    /// `RESET VARIABLE name`.
    ResetVariable {
        /// The variable's name, in lower case.
        name: String,
    },
    /// `SHOW name`, `SHOW ALL`.
    Show {
        /// Name of the setting; `None` for all.
        name: Option<String>,
    },
    /// `USE s`, `SET schema = s`, `SET search_path = 'a, b'`.
    Use {
        /// Schemas in which unqualified names are looked up; new objects are created in the first one.
        path: Vec<SchemaName>,
    },
    /// `ATTACH 'file' AS name (READ_ONLY)`.
    Attach(AttachPlan),
    /// `DETACH name`.
    Detach {
        /// The database.
        name: String,
        /// Whether a missing database is accepted.
        if_exists: bool,
    },
    /// `CHECKPOINT`, `VACUUM`.
    Checkpoint,
    /// `MERGE DELTA OF t`.
    MergeDelta {
        /// The table.
        table: ObjectName,
    },
}
