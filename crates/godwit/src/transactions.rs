//! The transaction of a connection, and in which one a statement runs.
//!
//! ```text
//!           BEGIN                     a statement fails
//!   none ──────────▶ open ──────────────────────────────▶ aborted
//!    ▲                │ COMMIT, ROLLBACK                      │ ROLLBACK, or COMMIT, which fails
//!    └────────────────┴───────────────────────────────────────┘   (ROLLBACK TO: open again)
//! ```
//!
//! Without one, a statement that changes something has a transaction of its own, which ends with it.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_sql::{Access, TransactionStep};
use godwit_tables::{Store, TableVersion, Transaction, Verification};
use parking_lot::Mutex;

use crate::connection::Inner;

/// What a connection has begun.
#[derive(Default)]
pub(crate) struct CurrentTransaction(Mutex<Phase>);

#[derive(Default, Clone)]
enum Phase {
    #[default]
    None,
    Open(Arc<Transaction>),
    /// A statement failed.
    Aborted(Arc<Transaction>),
}

/// Where a statement runs.
pub(crate) struct Scope {
    /// `None`: it reads what is committed.
    pub transaction: Option<Arc<Transaction>>,
    /// The transaction ends with the statement.
    pub ends: bool,
}

impl CurrentTransaction {
    /// Where the next statement runs.
    pub(crate) fn scope(&self, store: &Arc<Store>, access: Access) -> Result<Scope> {
        match self.0.lock().clone() {
            Phase::Open(transaction) => Ok(Scope { transaction: Some(transaction), ends: false }),
            Phase::Aborted(_) => Err(aborted()),
            Phase::None => {
                let transaction = match access {
                    Access::Read | Access::Control => None,
                    Access::Change => Some(store.begin()),
                };
                Ok(Scope { transaction: transaction.map(Arc::new), ends: true })
            }
        }
    }

    /// A statement failed: whatever is open can only be undone.
    pub(crate) fn abort(&self) {
        let mut phase = self.0.lock();
        if let Phase::Open(transaction) = &*phase {
            *phase = Phase::Aborted(transaction.clone());
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
            (TransactionStep::Begin, Phase::None) => {
                *current.lock() = Phase::Open(Arc::new(self.database.0.store.begin()));
                Ok(())
            }
            (TransactionStep::Begin, _) => {
                Err(Error::user("there is a transaction already").with_hint("COMMIT or ROLLBACK ends it"))
            }
            (_, Phase::None) => Err(none()),
            (TransactionStep::Commit, Phase::Open(transaction)) => {
                self.transaction.clear();
                transaction.commit(&self.verifier())
            }
            (TransactionStep::Commit, Phase::Aborted(_)) => {
                self.transaction.clear();
                Err(Error::user("the transaction was rolled back, because a statement had failed"))
            }
            (TransactionStep::Rollback, _) => {
                self.transaction.clear();
                Ok(())
            }
            (TransactionStep::RollbackTo(name), Phase::Open(transaction) | Phase::Aborted(transaction)) => {
                transaction.rollback_to(name)?;
                *current.lock() = Phase::Open(transaction);
                Ok(())
            }
            (_, Phase::Aborted(_)) => Err(aborted()),
            (TransactionStep::Savepoint(name), Phase::Open(transaction)) => {
                transaction.savepoint(name);
                Ok(())
            }
            (TransactionStep::Release(name), Phase::Open(transaction)) => transaction.release(name),
        }
    }

    /// Checks constraints by queries of this connection.
    pub(crate) fn verifier(self: &Arc<Self>) -> impl Fn(&Verification) -> Result<()> + use<> {
        let connection = self.clone();
        move |verification: &Verification| connection.verify(verification)
    }
}

/// What comes when the query of a statement has ended. If it isn't reached, the statement has failed.
pub(crate) struct StatementEnd {
    connection: Arc<Inner>,
    write: Option<WriteEnd>,
    is_reached: bool,
}

/// The end of a statement that changed a table.
pub(crate) struct WriteEnd {
    pub transaction: Arc<Transaction>,
    /// The transaction ends with the statement.
    pub ends: bool,
    /// The table that was changed, and what it was before; `None`: it is new.
    pub table: String,
    pub before: Option<Arc<TableVersion>>,
}

impl StatementEnd {
    /// Of a query in an open transaction.
    pub(crate) fn of_read(connection: Arc<Inner>) -> Self {
        Self { connection, write: None, is_reached: false }
    }

    pub(crate) fn of_write(connection: Arc<Inner>, write: WriteEnd) -> Self {
        Self { connection, write: Some(write), is_reached: false }
    }

    /// True if rows count only if the end is good.
    pub(crate) fn holds_rows(&self) -> bool {
        self.write.is_some()
    }

    /// The query succeeded: checks constraints, and commits if that is due.
    pub(crate) fn reach(mut self) -> Result<()> {
        if let Some(WriteEnd { transaction, ends, table, before }) = self.write.take() {
            if let Some(after) = transaction.table(&table) {
                self.connection.verify(&transaction.verification(before, after))?;
            }
            if ends {
                transaction.commit(&self.connection.verifier())?;
            }
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
