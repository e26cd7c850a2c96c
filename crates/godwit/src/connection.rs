//! A connection runs statements.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_exec::CancelToken;
use godwit_memory::{BufferManager, OwnerCounters};
use godwit_sql::{Access, Catalog, Namespace, Planner, Statement, TEMPORARY, TakenNumbers};
use godwit_tables::Store;
use parking_lot::Mutex;

pub use godwit_sql::ParsedStatement;

use crate::database::Database;
use crate::execution::result_schema;
use crate::result::QueryResult;
use crate::session::{OwnSettings, Session};
use crate::transactions::{CurrentTransaction, NamedStore, Scope, StatementEnd};

/// A session: settings and a transaction. Statements of one connection may overlap; each has its own result.
pub struct Connection(Arc<Inner>);

/// What the results of a connection's statements need of it, too.
pub(crate) struct Inner {
    pub(crate) database: Database,
    /// Number of the connection among those of the database.
    pub(crate) id: u64,
    /// Counts the memory of the connection's queries.
    pub(crate) owner: Arc<OwnerCounters>,
    /// The pool, with the connection as owner.
    pub(crate) memory: BufferManager,
    /// Stops the statement that was started last.
    pub(crate) current: Mutex<CancelToken>,
    pub(crate) transaction: CurrentTransaction,
    /// Tables and views that end with the connection.
    temporary: NamedStore,
    /// Numbers of sequences that its statements took.
    taken: TakenNumbers,
    settings: Mutex<OwnSettings>,
}

impl Connection {
    pub(crate) fn new(database: Database, id: u64) -> Self {
        let owner = OwnerCounters::new();
        let memory = database.0.memory.scoped(owner.clone());
        let settings = Mutex::new(OwnSettings::of(&database.0));
        let (current, transaction) = (Mutex::default(), CurrentTransaction::default());
        let store = Store::in_memory(Arc::new(Catalog::new()), &database.0.memory);
        let temporary = NamedStore { name: TEMPORARY.into(), store };
        let taken = TakenNumbers::default();
        Self(Arc::new(Inner { database, id, owner, memory, current, transaction, temporary, taken, settings }))
    }

    /// Number of the connection, as in [`QueryInfo::connection`](crate::QueryInfo::connection).
    pub fn id(&self) -> u64 {
        self.0.id
    }

    /// The database that this connection is to.
    pub fn database(&self) -> &Database {
        &self.0.database
    }

    /// Runs one statement. Rows are computed while the result is read; dropping it cancels the query. Outside of a
    /// transaction, a statement that changes something has done so when its result was read to the end.
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
        self.0.database.0.planner.parse_by(sql, self.0.session().own().front_end)
    }

    /// Runs a parsed statement.
    pub fn run(&self, statement: &ParsedStatement) -> Result<QueryResult> {
        // A panic while planning is a bug, ours or a dependency's; it must not take the host program along.
        catch_unwind(AssertUnwindSafe(|| self.0.run(statement))).unwrap_or_else(|_| {
            self.0.transaction.abort();
            Err(Error::internal("planning the statement panicked"))
        })
    }

    /// Stops the statement that was started last, from any thread. Reading its result ends with an error.
    pub fn cancel(&self) {
        let current = self.0.current.lock().clone();
        current.cancel();
    }
}

impl Drop for Connection {
    /// An open transaction is undone, even if results are still being read.
    fn drop(&mut self) {
        self.0.transaction.clear();
    }
}

impl Inner {
    pub(crate) fn session(&self) -> Session<'_> {
        Session { shared: &self.database.0, own: &self.settings }
    }

    pub(crate) fn run(self: &Arc<Self>, statement: &ParsedStatement) -> Result<QueryResult> {
        let shared = &self.database.0;
        if statement.access() == Access::Control {
            return match shared.planner.plan(statement)? {
                Statement::Transaction(step) => self.transaction_step(&step),
                Statement::Import { folder } => self.import(&folder),
                _ => unreachable!("it is about transactions"),
            }
            .map(|()| QueryResult::empty());
        }
        let scope = self.transaction.scope(&self.stores(), statement.access())?;
        let planner = shared.planner.on(self.namespace(&scope)).with_join_order(self.session().own().join_order);
        let planned = planner.plan(statement)?;
        let result = self.run_planned(statement, planned, &planner, scope);
        if result.is_err() {
            self.transaction.abort();
        }
        result
    }

    /// All databases that the connection sees, temporary tables last.
    pub(crate) fn stores(&self) -> Vec<NamedStore> {
        let mut stores = self.database.0.stores();
        stores.push(self.temporary.clone());
        stores
    }

    /// What names mean in a scope. Places of the search path that are gone don't count.
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
        planner: &Planner,
        scope: Scope,
    ) -> Result<QueryResult> {
        let sql = statement.text();
        match planned {
            Statement::Query { plan, column_names } => {
                let schema = result_schema(&plan, Some(&column_names));
                let (result, _) = self.start(sql, &plan, schema, false, |_, rows| Ok(rows))?;
                Ok(match scope.is_open() {
                    true => result.ending_with(StatementEnd::of_read(self.clone())),
                    false => result,
                })
            }
            Statement::Copy { plan, column_names, path, options } => {
                self.copy(sql, &plan, &column_names, &path, &options)
            }
            Statement::Explain { options, plan } if options.analyze => self.analyze(sql, &plan, options.json),
            Statement::Explain { options, plan } => self.explain(&plan, options.json),
            Statement::Write(plan) => self.write(sql, plan, scope, false),
            Statement::InsertRows { table, rows, columns } => self.insert_rows(&table, &columns.0, rows, &scope),
            Statement::CreateTable { name, schema, rules, sequences, or_replace, if_not_exists, rows } => {
                let fields = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
                let table = godwit_tables::NewTable { name: name.name, fields, rules, sequences, or_replace };
                self.create_table(sql, &name.database, table, if_not_exists, rows, scope)
            }
            Statement::Alter(alter) => self.alter(&alter, scope),
            Statement::Export { folder, options } => self.export(sql, planner, &folder, &options),
            other => self.define_planned(other, planner, scope),
        }
    }
}
