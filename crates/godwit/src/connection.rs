//! A connection runs statements.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_exec::CancelToken;
use godwit_memory::{BufferManager, OwnerCounters};
use godwit_sql::{Access, Planner, Statement};
use parking_lot::Mutex;

pub use godwit_sql::ParsedStatement;

use crate::database::Database;
use crate::execution::{result_schema, text_result};
use crate::result::QueryResult;
use crate::session::{OwnSettings, Session};
use crate::settings;
use crate::transactions::{CurrentTransaction, Scope, StatementEnd};

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
    settings: Mutex<OwnSettings>,
}

impl Connection {
    pub(crate) fn new(database: Database, id: u64) -> Self {
        let owner = OwnerCounters::new();
        let memory = database.0.memory.scoped(owner.clone());
        let settings = Mutex::new(OwnSettings::of(&database.0));
        let (current, transaction) = (Mutex::default(), CurrentTransaction::default());
        Self(Arc::new(Inner { database, id, owner, memory, current, transaction, settings }))
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
        self.0.database.0.planner.parse(sql)
    }

    /// Runs a parsed statement.
    pub fn run(&self, statement: &ParsedStatement) -> Result<QueryResult> {
        // A panic while planning is a bug, ours or a dependency's; it must not take the host program along.
        let result = catch_unwind(AssertUnwindSafe(|| self.0.run(statement)))
            .unwrap_or_else(|_| Err(Error::internal("planning the statement panicked")));
        if result.is_err() && statement.access() != Access::Control {
            self.0.transaction.abort();
        }
        result
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

    fn run(self: &Arc<Self>, statement: &ParsedStatement) -> Result<QueryResult> {
        let shared = &self.database.0;
        if statement.access() == Access::Control {
            let Statement::Transaction(step) = shared.planner.plan(statement)? else {
                unreachable!("it is about transactions");
            };
            return self.transaction_step(&step).map(|()| QueryResult::empty());
        }
        let scope = self.transaction.scope(&shared.store, statement.access())?;
        let catalog = match &scope.transaction {
            Some(transaction) => transaction.catalog(),
            None => Arc::new(shared.planner.catalog().snapshot()),
        };
        let planner = shared.planner.on(catalog);
        let planned = planner.plan(statement)?;
        self.run_planned(statement, planned, &planner, scope)
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
                Ok(match scope.transaction {
                    Some(_) => result.ending_with(StatementEnd::of_read(self.clone())),
                    None => result,
                })
            }
            Statement::Copy { plan, column_names, path, options } => {
                self.copy(sql, &plan, &column_names, &path, &options)
            }
            Statement::Explain { options, plan } if options.analyze => self.analyze(sql, &plan, options.json),
            Statement::Explain { options, plan } => self.explain(&plan, options.json),
            Statement::Write(plan) => self.write(sql, plan, scope, false),
            Statement::InsertRows { table, rows, columns } => self.insert_rows(table, &columns.0, rows, scope),
            Statement::CreateTable { name, schema, rules, or_replace, if_not_exists, rows } => {
                let fields = schema.fields().iter().map(|field| field.as_ref().clone()).collect();
                let table = godwit_tables::NewTable { name, fields, rules, or_replace };
                self.create_table(sql, table, if_not_exists, rows, scope)
            }
            Statement::CreateView { view, or_replace, if_not_exists } => {
                self.define(scope, |transaction| match if_not_exists && planner.catalog().get(&view.name).is_some() {
                    true => Ok(()),
                    false => transaction.create_view(view, or_replace),
                })
            }
            Statement::DropView { names, if_exists } => self.define(scope, |transaction| {
                let known = names.iter().filter(|name| !if_exists || planner.catalog().get(name).is_some());
                known.into_iter().try_for_each(|name| transaction.drop_view(name))
            }),
            Statement::DropTable { names, if_exists } => self.define(scope, |transaction| {
                let known = names.iter().filter(|name| !if_exists || planner.catalog().get(name).is_some());
                known.into_iter().try_for_each(|name| transaction.drop_table(name))
            }),
            Statement::Alter(alter) => self.alter(&alter, scope),
            Statement::Nothing => Ok(QueryResult::empty()),
            Statement::Transaction(_) => unreachable!("it was handled before"),
            Statement::Checkpoint => match scope.transaction {
                None => self.database.0.store.checkpoint().map(|()| QueryResult::empty()),
                Some(_) => {
                    Err(Error::user("a checkpoint can't be made within a transaction").with_hint("COMMIT first"))
                }
            },
            Statement::Set { name, value } => {
                settings::set(&self.session(), &name, &value).map(|()| QueryResult::empty())
            }
            Statement::Reset { name } => {
                settings::reset(&self.session(), name.as_deref()).map(|()| QueryResult::empty())
            }
            Statement::Show { name } => {
                let rows = settings::show(&self.session(), name.as_deref())?;
                let column = |index: usize| rows.iter().map(|row| row[index].clone()).collect();
                text_result(&settings::COLUMNS, (0..settings::COLUMNS.len()).map(column).collect())
            }
        }
    }
}
