//! The transaction of a connection, and the one in which a statement runs.
//!
//! ```text
//!           BEGIN                     a statement fails
//!   none ──────────▶ open ──────────────────────────────▶ aborted
//!    ▲                │ COMMIT, ROLLBACK                      │ ROLLBACK, or COMMIT, which fails
//!    └────────────────┴───────────────────────────────────────┘   (ROLLBACK TO: open again)
//! ```
//!
//! Without one, a statement that changes something has a transaction of its own, which ends with it. A statement that could
//! not be planned has done nothing: the transaction stays open.
//!
//! A [`Unit`] has a transaction of each database that the connection sees. All but that of temporary tables may end on
//! different disks, so only one of those may change; temporary tables belong to the connection alone, and their commit
//! can't fail.

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

/// What a connection has begun.
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

/// A transaction of each database.
pub(crate) struct Unit {
    parts: Vec<(Arc<str>, Arc<Transaction>)>,
    /// When they began, in microseconds since 1970.
    began: i64,
    /// Only temporary tables may change.
    is_read_only: bool,
}

/// The scope in which a statement runs.
pub(crate) struct Scope {
    /// The names that it sees, by database.
    pub catalogs: Vec<(Arc<str>, Arc<Catalog>)>,
    /// `None`: it reads what is committed.
    unit: Option<Arc<Unit>>,
    /// The transaction ends with the statement.
    pub ends: bool,
}

impl Scope {
    /// True if it is part of a transaction that goes on.
    pub(crate) fn is_open(&self) -> bool {
        self.unit.is_some() && !self.ends
    }

    /// The value of `now()`: the moment in which the transaction began, in microseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        self.unit.as_ref().map_or_else(micros_now, |unit| unit.began)
    }

    /// The transaction in which a database may be changed.
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

    /// A table whose rows are to be changed, and the transaction for it.
    pub(crate) fn table_to_change(&self, name: &ObjectName) -> Result<(Arc<Transaction>, Arc<TableVersion>)> {
        let transaction = self.transaction_of(&name.database)?;
        let table = transaction.table(&name.name);
        let table = table.ok_or_else(|| Error::user(format!("{name} isn't a table whose rows can be changed")))?;
        Ok((transaction, table))
    }

    /// Commits what a statement has changed, if its transaction ends with it.
    pub(crate) fn finish(&self, verify: &dyn Fn(&Verification) -> Result<()>) -> Result<()> {
        match &self.unit {
            Some(unit) if self.ends => unit.commit(verify),
            _ => Ok(()),
        }
    }
}

/// Microseconds since 1970; a clock before that is at its beginning.
fn micros_now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Unit {
    fn begin(stores: &[NamedStore], is_read_only: bool) -> Arc<Self> {
        let parts = stores.iter().map(|NamedStore { name, store }| (name.clone(), Arc::new(store.begin())));
        Arc::new(Self { parts: parts.collect(), began: micros_now(), is_read_only })
    }

    /// The databases in the order of stores: temporary tables come last.
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
    /// The scope of the next statement, given all databases, temporary tables last.
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

    /// True if there is a transaction.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(*self.0.lock(), Phase::None)
    }

    /// A statement failed: an open transaction can only be undone.
    pub(crate) fn abort(&self) {
        let mut phase = self.0.lock();
        if let Phase::Open(unit) = &*phase {
            *phase = Phase::Aborted(unit.clone());
        }
    }

    /// Undoes what is open.
    pub(crate) fn clear(&self) {
        *self.0.lock() = Phase::None;
    }
}

fn aborted() -> Error {
    Error::user("the transaction is aborted, because a statement failed")
        .with_hint("ROLLBACK ends it; ROLLBACK TO a savepoint goes on from there")
}

impl Inner {
    /// `BEGIN`, `COMMIT` and so on.
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

    /// Checks constraints by queries of this connection.
    pub(crate) fn verifier(self: &Arc<Self>) -> impl Fn(&Verification) -> Result<()> + use<> {
        let connection = self.clone();
        move |verification: &Verification| connection.verify(verification)
    }
}

/// What is done when the query of a statement has ended. If it isn't reached, the statement has failed.
pub(crate) struct StatementEnd {
    connection: Arc<Inner>,
    /// The tables that were changed.
    writes: Vec<WriteEnd>,
    /// Where it ran, of a statement that writes.
    scope: Option<Scope>,
    is_reached: bool,
}

/// The end of changes of a table.
pub(crate) struct WriteEnd {
    pub transaction: Arc<Transaction>,
    /// The table that was changed, and what it was before; `None`: it is new.
    pub table: String,
    pub before: Option<Arc<TableVersion>>,
}

impl StatementEnd {
    /// The end of a query in an open transaction.
    pub(crate) fn of_read(connection: Arc<Inner>) -> Self {
        Self { connection, writes: Vec::new(), scope: None, is_reached: false }
    }

    pub(crate) fn of_writes(connection: Arc<Inner>, writes: Vec<WriteEnd>, scope: Scope) -> Self {
        Self { connection, writes, scope: Some(scope), is_reached: false }
    }

    /// True if rows count only if the end is good.
    pub(crate) fn holds_rows(&self) -> bool {
        self.scope.is_some()
    }

    /// The query succeeded: checks constraints, and commits if that is due.
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
