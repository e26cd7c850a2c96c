//! Transactions of a connection, and those in which statements run.
//!
//! ```text
//!           BEGIN                     a statement fails
//!   none ──────────▶ open ──────────────────────────────▶ aborted
//!    ▲                │ COMMIT, ROLLBACK                      │ ROLLBACK, or COMMIT, which fails
//!    └────────────────┴───────────────────────────────────────┘   (ROLLBACK TO: open again)
//! ```
//!
//! Without one, a statement that changes something runs in its own transaction, which ends with it. A statement that
//! could not be planned has done nothing, so the transaction stays open.
//!
//! A [`Unit`] has a transaction for each database that the connection sees. All but that of temporary tables may commit
//! to different disks, so only one of those may change; temporary tables belong to the connection alone, and their
//! commit can't fail.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use godwit_catalog::{Catalog, ObjectName, TEMPORARY};
use godwit_common::{Error, Result, SqlState};
use godwit_sql::{Access, TransactionStep};
use godwit_tables::{Store, TableVersion, Transaction, Verification};
use parking_lot::Mutex;

use crate::connection::Inner;

/// A database and its name.
#[derive(Clone)]
pub(crate) struct NamedStore {
    pub name: Arc<str>,
    pub store: Arc<Store>,
}

/// The transaction state of a connection.
#[derive(Default)]
pub(crate) struct CurrentTransaction(Mutex<Phase>);

#[derive(Default, Clone)]
enum Phase {
    #[default]
    None,
    Open(Arc<Unit>),
    /// A statement failed.
    Aborted(Arc<Unit>),
}

/// One transaction per database.
pub(crate) struct Unit {
    parts: Vec<(Arc<str>, Arc<Transaction>)>,
    /// Start time, in microseconds since 1970.
    began: i64,
    /// Whether only temporary tables may change.
    is_read_only: bool,
}

/// The scope in which a statement runs.
pub(crate) struct Scope {
    /// Names that it sees, by database.
    pub catalogs: Vec<(Arc<str>, Arc<Catalog>)>,
    /// Its transactions; `None`: it reads committed data.
    unit: Option<Arc<Unit>>,
    /// Whether the transaction ends with the statement.
    pub ends: bool,
}

impl Scope {
    /// Returns true if it is part of a transaction that continues.
    pub(crate) fn is_open(&self) -> bool {
        self.unit.is_some() && !self.ends
    }

    /// Returns the value of `now()`: the start time of the transaction, in microseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        self.unit.as_ref().map_or_else(micros_now, |unit| unit.began)
    }

    /// Returns the transaction in which a database may be changed.
    pub(crate) fn transaction_of(&self, database: &str) -> Result<Arc<Transaction>> {
        let unit = self.unit.as_ref().ok_or_else(|| Error::internal("a statement that writes has no transaction"))?;
        if unit.is_read_only && database != TEMPORARY {
            let error = Error::user(format!("the transaction is READ ONLY, and can't change {database}"));
            return Err(error.with_code(SqlState::READ_ONLY_SQL_TRANSACTION).with_hint("BEGIN without READ ONLY"));
        }
        let other = unit.parts.iter().find(|(name, transaction)| {
            &**name != database && &**name != TEMPORARY && database != TEMPORARY && transaction.has_changes()
        });
        if let Some((other, _)) = other {
            return Err(Error::user(format!("the transaction has changed {other}, and can't change {database}, too"))
                .with_hint("a transaction changes one database: COMMIT first"));
        }
        let found = unit.parts.iter().find(|(name, _)| &**name == database);
        let (_, transaction) = found.ok_or_else(|| Error::user(format!("no database named {database}")))?;
        Ok(transaction.clone())
    }

    /// Returns a table whose rows are to be changed, and its transaction.
    pub(crate) fn table_to_change(&self, name: &ObjectName) -> Result<(Arc<Transaction>, Arc<TableVersion>)> {
        let transaction = self.transaction_of(&name.database)?;
        let table = transaction.table(&name.name);
        let table = table.ok_or_else(|| Error::user(format!("{name} isn't a table whose rows can be changed")))?;
        Ok((transaction, table))
    }

    /// Commits a statement's changes, if its transaction ends with it.
    pub(crate) fn finish(&self, verify: &dyn Fn(&Verification) -> Result<()>) -> Result<()> {
        match &self.unit {
            Some(unit) if self.ends => unit.commit(verify),
            _ => Ok(()),
        }
    }
}

/// Returns the microseconds since 1970; 0 for a clock set before that.
fn micros_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Unit {
    fn begin(stores: &[NamedStore], is_read_only: bool) -> Arc<Self> {
        let parts = stores.iter().map(|NamedStore { name, store }| (name.clone(), Arc::new(store.begin())));
        Arc::new(Self { parts: parts.collect(), began: micros_now(), is_read_only })
    }

    /// Commits the databases in the order of stores: temporary tables come last.
    fn commit(&self, verify: &dyn Fn(&Verification) -> Result<()>) -> Result<()> {
        self.for_each(|transaction| transaction.commit(verify))
    }

    fn catalogs(&self) -> Vec<(Arc<str>, Arc<Catalog>)> {
        self.parts.iter().map(|(name, transaction)| (name.clone(), transaction.catalog())).collect()
    }

    fn for_each(&self, step: impl Fn(&Transaction) -> Result<()>) -> Result<()> {
        self.parts.iter().try_for_each(|(_, transaction)| step(transaction))
    }
}

impl CurrentTransaction {
    /// Returns the scope of the next statement, given all databases, temporary tables last.
    pub(crate) fn scope(&self, stores: &[NamedStore], access: Access) -> Result<Scope> {
        match self.0.lock().clone() {
            Phase::Open(unit) => Ok(Scope { catalogs: unit.catalogs(), unit: Some(unit), ends: false }),
            Phase::Aborted(_) => Err(aborted()),
            Phase::None => {
                let unit = match access {
                    Access::Read | Access::Control => None,
                    Access::Change => Some(Unit::begin(stores, false)),
                };
                let committed = |NamedStore { name, store }: &NamedStore| {
                    let catalog = Arc::new(store.catalog().snapshot());
                    (name.clone(), catalog)
                };
                let catalogs = match &unit {
                    Some(unit) => unit.catalogs(),
                    None => stores.iter().map(committed).collect(),
                };
                Ok(Scope { catalogs, unit, ends: true })
            }
        }
    }

    /// Returns true if a transaction is open.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(*self.0.lock(), Phase::None)
    }

    /// Marks an open transaction as failed, so that it can only be rolled back.
    pub(crate) fn abort(&self) {
        let mut phase = self.0.lock();
        if let Phase::Open(unit) = &*phase {
            *phase = Phase::Aborted(unit.clone());
        }
    }

    /// Rolls back the open transaction.
    pub(crate) fn clear(&self) {
        *self.0.lock() = Phase::None;
    }
}

fn aborted() -> Error {
    Error::user("the transaction is aborted, because a statement failed")
        .with_hint("ROLLBACK ends it; ROLLBACK TO a savepoint goes on from there")
}

impl Inner {
    /// Runs `BEGIN`, `COMMIT` and so on.
    pub(crate) fn transaction_step(self: &Arc<Self>, step: &TransactionStep) -> Result<()> {
        let current = &self.transaction.0;
        let phase = current.lock().clone();
        let none = || Error::user("there is no transaction").with_hint("BEGIN begins one");
        match (step, phase) {
            (TransactionStep::Begin { is_read_only }, Phase::None) => {
                *current.lock() = Phase::Open(Unit::begin(&self.stores(), *is_read_only));
                Ok(())
            }
            (TransactionStep::Begin { .. }, _) => {
                Err(Error::user("there is a transaction already").with_hint("COMMIT or ROLLBACK ends it"))
            }
            (_, Phase::None) => Err(none()),
            (TransactionStep::Commit, Phase::Open(unit)) => {
                self.transaction.clear();
                unit.commit(&self.verifier())
            }
            (TransactionStep::Commit, Phase::Aborted(_)) => {
                self.transaction.clear();
                Err(Error::user("the transaction was rolled back, because a statement had failed"))
            }
            (TransactionStep::Rollback, _) => {
                self.transaction.clear();
                Ok(())
            }
            (TransactionStep::RollbackTo(name), Phase::Open(unit) | Phase::Aborted(unit)) => {
                unit.for_each(|transaction| transaction.rollback_to(name))?;
                *current.lock() = Phase::Open(unit);
                Ok(())
            }
            (_, Phase::Aborted(_)) => Err(aborted()),
            (TransactionStep::Savepoint(name), Phase::Open(unit)) => unit.for_each(|transaction| {
                transaction.savepoint(name);
                Ok(())
            }),
            (TransactionStep::Release(name), Phase::Open(unit)) => unit.for_each(|part| part.release(name)),
        }
    }

    /// Returns a function that checks constraints by queries of this connection.
    pub(crate) fn verifier(self: &Arc<Self>) -> impl Fn(&Verification) -> Result<()> + use<> {
        let connection = self.clone();
        move |verification: &Verification| connection.verify(verification)
    }
}

/// Work to do when a statement's query has ended. If it isn't reached, the statement has failed.
pub(crate) struct StatementEnd {
    connection: Arc<Inner>,
    /// Tables that were changed.
    writes: Vec<WriteEnd>,
    /// Scope of a statement that writes.
    scope: Option<Scope>,
    is_reached: bool,
}

/// The end of changes to a table.
pub(crate) struct WriteEnd {
    pub transaction: Arc<Transaction>,
    /// The changed table, and its version before; `None`: it is new.
    pub table: String,
    pub before: Option<Arc<TableVersion>>,
}

impl StatementEnd {
    /// Returns the end of a query in an open transaction.
    pub(crate) fn of_read(connection: Arc<Inner>) -> Self {
        Self { connection, writes: Vec::new(), scope: None, is_reached: false }
    }

    pub(crate) fn of_writes(connection: Arc<Inner>, writes: Vec<WriteEnd>, scope: Scope) -> Self {
        Self { connection, writes, scope: Some(scope), is_reached: false }
    }

    /// Returns true if rows count only if the end succeeds.
    pub(crate) fn holds_rows(&self) -> bool {
        self.scope.is_some()
    }

    /// Ends a query that succeeded: checks constraints, and commits if that is due.
    pub(crate) fn reach(mut self) -> Result<()> {
        for WriteEnd { transaction, table, before } in std::mem::take(&mut self.writes) {
            if let Some(after) = transaction.table(&table) {
                self.connection.verify(&transaction.verification(before, after))?;
            }
        }
        if let Some(scope) = self.scope.take() {
            scope.finish(&self.connection.verifier())?;
        }
        self.is_reached = true;
        Ok(())
    }
}

impl Drop for StatementEnd {
    fn drop(&mut self) {
        if !self.is_reached {
            self.connection.transaction.abort();
        }
    }
}
