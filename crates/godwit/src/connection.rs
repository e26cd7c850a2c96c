//! Connections, which run statements.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Weak};

use godwit_catalog::{Catalog, Namespace, TEMPORARY, TakenNumbers};
use godwit_common::{Error, Result};
use godwit_memory::{BufferManager, ObjectKind, OwnerCounters};
use godwit_pipeline::CancelToken;
use godwit_sql::{Access, ExportScript, Planner, QueryStatement, Statement};
use godwit_tables::Store;
use parking_lot::Mutex;

pub use godwit_sql::ParsedStatement;

use crate::database::Database;
use crate::execution::{in_zone, result_schema};
use crate::prepared::{ParameterValues, Prepared};
use crate::result::QueryResult;
use crate::session::{OwnSettings, Session};
use crate::settings;
use crate::system_tables;
use crate::transactions::{CurrentTransaction, NamedStore, Scope, StatementEnd};

/// A session: settings and a transaction. Statements of one connection may overlap; each has its own result.
pub struct Connection(Arc<Inner>);

/// State that results of a connection's statements need as well.
pub(crate) struct Inner {
    pub(crate) database: Database,
    /// The connection's number within the database.
    pub(crate) id: u64,
    /// Plans its statements; it finds the rows that they rejected.
    planner: Planner,
    /// Counts the memory of the connection's queries.
    pub(crate) owner: Arc<OwnerCounters>,
    /// The pool, with the connection as owner.
    pub(crate) memory: BufferManager,
    /// Stops the statement that was started last.
    pub(crate) current: Mutex<CancelToken>,
    pub(crate) transaction: CurrentTransaction,
    /// Tables and views that end with the connection.
    temporary: NamedStore,
    /// Numbers taken from sequences by its statements.
    taken: TakenNumbers,
    /// Named prepared statements.
    pub(crate) prepared: Mutex<HashMap<String, Arc<Prepared>>>,
    settings: Mutex<OwnSettings>,
}

impl Connection {
    pub(crate) fn new(database: Database, id: u64) -> Self {
        let owner = OwnerCounters::new();
        let memory = database.0.memory.scoped(owner.clone());
        let mut own = OwnSettings::of(&database.0);
        let (current, transaction) = (Mutex::default(), CurrentTransaction::default());
        let shared = &database.0.memory;
        let own_memory = shared.for_object(&shared.root_object(ObjectKind::Database, TEMPORARY));
        let store = Store::in_memory(Arc::new(Catalog::new()), &own_memory);
        database.0.adaptation.watch(&store);
        let temporary = NamedStore { name: TEMPORARY.into(), store };
        let (taken, prepared) = (TakenNumbers::default(), Mutex::default());
        let resolver = Arc::new(database.0.resolver.of_connection());
        let functions = system_tables::functions(&Arc::downgrade(&database.0), &resolver);
        let planner = database.0.planner.clone().with_resolver(resolver).with_table_functions(functions);
        Self(Arc::new_cyclic(|inner: &Weak<Inner>| {
            // Weak, since the connection owns its settings.
            let inner = inner.clone();
            let read = move |name: &str| settings::value(&inner.upgrade()?.session(), name);
            own.values.settings.reader = Some(Arc::new(read));
            let settings = Mutex::new(own);
            Inner { database, id, planner, owner, memory, current, transaction, temporary, taken, prepared, settings }
        }))
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.0
    }

    /// Returns the connection's number, as in [`QueryInfo::connection`](crate::QueryInfo::connection).
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// Returns the database that this connection belongs to.
    pub fn database(&self) -> &Database {
        &self.0.database
    }

    /// Runs one statement. Rows are computed while the result is read; dropping the result cancels the query. Outside a
    /// transaction, a statement's changes are done once its result has been read to the end.
    pub fn query(&self, sql: &str) -> Result<QueryResult> {
        match &self.parse(sql)?[..] {
            [statement] => self.run(statement),
            [] => Err(Error::user("there is no statement in the text")),
            more => Err(Error::user(format!("expected one statement, found {}", more.len()))
                .with_hint("run them one by one, or all with Connection::execute")),
        }
    }

    /// Runs all statements of a script and drops their rows.
    pub fn execute(&self, sql: &str) -> Result<()> {
        for statement in self.parse(sql)? {
            self.run(&statement)?.try_for_each(|batch| batch.map(drop))?;
        }
        Ok(())
    }

    /// Splits a script into statements.
    pub fn parse(&self, sql: &str) -> Result<Vec<ParsedStatement>> {
        self.0.database.0.planner.parse(sql)
    }

    /// Runs a parsed statement.
    pub fn run(&self, statement: &ParsedStatement) -> Result<QueryResult> {
        // A panic while planning is a bug in our code or in a dependency; it must not bring down the host program.
        catch_unwind(AssertUnwindSafe(|| self.0.run(statement))).unwrap_or_else(|_| {
            self.0.transaction.abort();
            Err(Error::internal("planning the statement panicked"))
        })
    }

    /// Returns the current database as the statements that create it, without rows.
    pub fn definitions(&self) -> Result<ExportScript> {
        self.0.begin_statement();
        let scope = self.0.transaction.scope(&self.0.stores(), Access::Read)?;
        self.0.planner(&scope).export_script()
    }

    /// Fails if a file belongs to a database that is open here. `COPY` checks its targets itself; this is for programs
    /// that write what they show to files of the user's choice.
    pub fn check_target(&self, path: &Path) -> Result<()> {
        self.0.database.0.check_target(path)
    }

    /// Returns true if a transaction is open, from `BEGIN` to `COMMIT` or `ROLLBACK`.
    pub fn is_in_transaction(&self) -> bool {
        self.0.transaction.is_open()
    }

    /// Stops the statement that was started last. Can be called from any thread. Reading its result ends with an error.
    pub fn cancel(&self) {
        let current = self.0.current.lock().clone();
        current.cancel();
    }
}

impl Drop for Connection {
    /// Rolls back an open transaction, even if results are still being read.
    fn drop(&mut self) {
        self.0.transaction.clear();
    }
}

impl Inner {
    pub(crate) fn session(&self) -> Session<'_> {
        Session { shared: &self.database.0, own: &self.settings }
    }

    pub(crate) fn run(self: &Arc<Self>, statement: &ParsedStatement) -> Result<QueryResult> {
        if let Some(steps) = statement.steps() {
            return self.run_together(&steps).map(|()| QueryResult::empty());
        }
        let shared = &self.database.0;
        self.begin_statement();
        if statement.access() == Access::Control {
            match shared.planner.plan(statement)? {
                Statement::Transaction(step) => self.transaction_step(&step)?,
                Statement::Import { folder } => self.import(&folder)?,
                Statement::Execute { name, arguments } => return self.execute(&name, arguments),
                Statement::Query(_) | Statement::Write(_) | Statement::Definition(_) | Statement::Session(_) => {
                    unreachable!("it controls transactions")
                }
            }
            return Ok(QueryResult::empty());
        }
        let plan = |planner: Planner, values: &ParameterValues| {
            let planner = planner.with_rows(self.row_reader(statement.text(), values));
            planner.plan(statement).map(|planned| (planned, planner))
        };
        let result = self.run_in_scope(statement, &ParameterValues::default(), plan);
        result.map(|result| result.located_in(statement.script())).map_err(|error| error.locate(statement.script()))
    }

    /// Runs a statement planned with the names of its scope.
    pub(crate) fn run_in_scope(
        self: &Arc<Self>,
        statement: &ParsedStatement,
        values: &ParameterValues,
        plan: impl FnOnce(Planner, &ParameterValues) -> Result<(Statement, Planner)>,
    ) -> Result<QueryResult> {
        let scope = self.transaction.scope(&self.stores(), statement.access())?;
        let values = values.at(scope.now());
        let cancel = self.current.lock().clone();
        let planned = cancel.interrupting(|| plan(self.planner(&scope), &values));
        let (planned, planner) = planned.map_err(|error| cancel.cause_of(error))?;
        let result = cancel.interrupting(|| self.run_planned(statement, planned, &values, &planner, scope));
        if result.is_err() {
            self.transaction.abort();
        }
        result.map_err(|error| cancel.cause_of(error))
    }

    /// Replaces the cancel token by one for the statement that begins now.
    pub(crate) fn begin_statement(&self) {
        *self.current.lock() = CancelToken::with_timeout(self.session().own().statement_timeout);
    }

    /// Creates a planner for statements of a scope.
    pub(crate) fn planner(&self, scope: &Scope) -> Planner {
        let cancel = self.current.lock().clone();
        let interrupt = move || cancel.check();
        let planner = self.planner.on(self.namespace(scope)).with_interrupt(Arc::new(interrupt));
        let own = self.session().own();
        let threads = self.database.0.pool().workers();
        planner.with_join_order(own.join_order).with_threads(threads).with_session(own.values)
    }

    /// Returns all databases that the connection sees, temporary tables last.
    pub(crate) fn stores(&self) -> Vec<NamedStore> {
        let mut stores = self.database.0.stores();
        stores.push(self.temporary.clone());
        stores
    }

    /// Returns the namespace of a scope. Places of the search path that no longer exist are ignored.
    fn namespace(&self, scope: &Scope) -> Namespace {
        let mut path = self.session().own().path;
        path.retain(|place| {
            let database = scope.catalogs.iter().find(|(name, _)| *name == place.database);
            database.is_some_and(|(_, catalog)| catalog.has_schema(&place.schema))
        });
        Namespace::new(scope.catalogs.clone(), &path).with_taken(self.taken.clone())
    }

    fn run_planned(
        self: &Arc<Self>,
        statement: &ParsedStatement,
        planned: Statement,
        values: &ParameterValues,
        planner: &Planner,
        scope: Scope,
    ) -> Result<QueryResult> {
        let sql = statement.text();
        match planned {
            Statement::Query(query) => self.run_query(sql, query, values, planner, &scope),
            Statement::Write(write) => self.write(sql, write, values, scope),
            Statement::Definition(definition) => self.run_definition(sql, definition, values, planner, scope),
            Statement::Session(statement) => self.run_session_statement(sql, statement, planner, &scope),
            Statement::Transaction(_) | Statement::Execute { .. } | Statement::Import { .. } => {
                unreachable!("they have no scope")
            }
        }
    }

    fn run_query(
        self: &Arc<Self>,
        sql: &str,
        query: QueryStatement,
        values: &ParameterValues,
        planner: &Planner,
        scope: &Scope,
    ) -> Result<QueryResult> {
        match query {
            QueryStatement::Rows { plan } => {
                let schema = in_zone(result_schema(&plan)?, &planner.session().time_zone);
                let (result, _) = self.start(sql, &plan, values, schema, false, |_, rows| Ok(rows))?;
                let result = result.with_types_of(&plan);
                Ok(match scope.is_open() {
                    true => result.ending_with(StatementEnd::of_read(self.clone())),
                    false => result,
                })
            }
            QueryStatement::Copy { plan, path, options, analyzed } => {
                self.copy(sql, &plan, values, &path, &options, analyzed)
            }
            QueryStatement::Explain { options, plan } if options.analyze => {
                self.analyze(sql, &plan, values, options.json)
            }
            QueryStatement::Trace { options, plan } => self.trace(sql, &plan, values, &options),
            QueryStatement::Explain { options, plan } => self.explain(&plan, values, options.json),
            QueryStatement::Export { folder, options } => self.export(sql, planner, &folder, &options),
        }
    }
}
