//! Transactions: what they see, what they have changed, and how that is committed.
//!
//! ```text
//!   begin ─▶ base: all that is committed ──┬──▶ own: base and the transaction's changes ◀── statements
//!                                          │                        │ savepoints keep copies
//!   commit: for each name that changed     ▼                        ▼
//!           what is committed now = base?  ── yes ─▶ own is the next version
//!                                          └─ no ──▶ the difference of own and base, put upon it     (merge.rs)
//! ```
//!
//! Snapshot isolation: a transaction reads `own` only, so nothing that others commit meanwhile. The first of two
//! transactions that change a row, or alter a table that the other one changes, wins; the other one's commit fails. Rows
//! that were read and not changed may be changed by others: write skew is possible. Keys and references are checked
//! against what is committed, so those hold nevertheless.
//!
//! A version of a table never changes; so a copy of the state is a few pointers, and undoing is dropping.

mod definitions;
mod merge;

use std::collections::BTreeSet;
use std::sync::Arc;

use godwit_catalog::Catalog;
use godwit_common::{Error, Result};
use godwit_memory::BufferManager;
use godwit_storage::table::Load;
use godwit_vector::Vector;
use parking_lot::{Mutex, MutexGuard};

pub use definitions::NewTable;

use crate::deleted::Marks;
use crate::store::{Put, Slot, Store, Tables, View, key};
use crate::version::TableVersion;

/// Number of attempts to commit when others come first, with its constraints checked outside of locks.
pub(crate) const SHARED_TRIES_MAX: usize = 5;

/// Number of further attempts with no other commits. Only a checkpoint and a note of a sequence can still come between.
const ALONE_TRIES_MAX: usize = 20;

/// Changes of a database that happen together or not at all. Dropping it undoes them.
pub struct Transaction {
    store: Arc<Store>,
    state: Mutex<State>,
}

struct State {
    base: View,
    own: Own,
    savepoints: Vec<(String, Own)>,
    /// Committed, or tried to.
    is_over: bool,
}

/// The database as a transaction sees it.
#[derive(Clone)]
struct Own {
    view: View,
    /// Names in lower case that stand for something different from the base.
    touched: BTreeSet<String>,
}

/// A change of a table whose constraints have to be checked: all that compare its rows with others.
pub struct Verification {
    /// The catalog in which all names are looked up.
    pub catalog: Arc<Catalog>,
    /// The table before; `None`: all rows are new.
    pub before: Option<Arc<TableVersion>>,
    /// The table after.
    pub after: Arc<TableVersion>,
    /// A version before `before` that the new keys have already been compared with.
    pub checked: Option<Arc<TableVersion>>,
    /// All tables of the database at that moment.
    pub(crate) tables: Tables,
}

impl Verification {
    /// A table of the database, with the change.
    pub fn table(&self, name: &str) -> Option<&Arc<TableVersion>> {
        self.tables.get(&key(name))
    }
}

/// Rows that a statement adds.
pub(crate) enum NewRows {
    None,
    /// For the delta: dense columns as they are stored.
    Few(Vec<Vector>, usize),
    /// In blocks; all workers have finished.
    Load(Arc<Load>),
}

impl Store {
    /// Begins a transaction, which sees what is committed now.
    pub fn begin(self: &Arc<Self>) -> Transaction {
        let base = self.committed();
        let own = Own { view: base.clone(), touched: BTreeSet::new() };
        Transaction {
            store: self.clone(),
            state: Mutex::new(State { base, own, savepoints: Vec::new(), is_over: false }),
        }
    }
}

impl Own {
    fn put(&mut self, key: String, slot: Slot) {
        self.touched.insert(key.clone());
        self.view.put_all([(key, slot)]);
    }
}

impl Transaction {
    /// What names stand for now; a copy that doesn't change.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.state.lock().own.view.catalog.clone()
    }

    /// True if a commit would change something.
    pub fn has_changes(&self) -> bool {
        !self.state.lock().own.touched.is_empty()
    }

    /// A table as the transaction sees it.
    pub fn table(&self, name: &str) -> Option<Arc<TableVersion>> {
        self.state.lock().own.view.tables.get(&key(name)).cloned()
    }

    /// What has to be verified of a table as the transaction sees it now.
    pub fn verification(&self, before: Option<Arc<TableVersion>>, after: Arc<TableVersion>) -> Verification {
        let view = self.state.lock().own.view.clone();
        Verification { catalog: view.catalog, before, after, checked: None, tables: view.tables }
    }

    /// Keeps the state under a name. An older savepoint of that name is hidden, not forgotten.
    pub fn savepoint(&self, name: &str) {
        let mut state = self.state.lock();
        let own = state.own.clone();
        state.savepoints.push((name.to_owned(), own));
    }

    /// Forgets a savepoint and those after it.
    pub fn release(&self, name: &str) -> Result<()> {
        let mut state = self.state.lock();
        let at = find_savepoint(&state, name)?;
        state.savepoints.truncate(at);
        Ok(())
    }

    /// Undoes what came after a savepoint, which stays.
    pub fn rollback_to(&self, name: &str) -> Result<()> {
        let mut state = self.state.lock();
        let at = find_savepoint(&state, name)?;
        state.savepoints.truncate(at + 1);
        state.own = state.savepoints[at].1.clone();
        Ok(())
    }

    /// Begins to load rows for a table. `memory` counts what the load holds.
    pub(crate) fn load(&self, table: &TableVersion, memory: &BufferManager, workers: usize) -> Result<Arc<Load>> {
        self.store.load(table, memory, workers)
    }

    /// The state, if it may be changed.
    fn changeable(&self) -> Result<MutexGuard<'_, State>> {
        self.store.check_writable()?;
        let state = self.state.lock();
        if state.is_over { Err(Error::user("the transaction of the statement has ended")) } else { Ok(state) }
    }

    /// Deletes and adds rows of a table that a statement was planned with.
    pub(crate) fn write(&self, planned: &TableVersion, deleted: &Marks, added: NewRows) -> Result<()> {
        let mut state = self.changeable()?;
        let key = key(planned.name());
        let current = state.own.view.tables.get(&key).cloned();
        let current =
            current.filter(|current| current.is_same_table(planned) && Arc::ptr_eq(current.epoch(), planned.epoch()));
        let mut version = current.ok_or_else(|| {
            Error::user(format!("{} was altered while the statement ran", planned.name())).with_hint("run it again")
        })?;
        if !deleted.is_empty() {
            if version.deleted().overlap(deleted) {
                return Err(Error::user(format!("another statement changed the same rows of {}", planned.name()))
                    .with_hint("run it again"));
            }
            version = version.without_rows(deleted)?;
        }
        version = match added {
            NewRows::None => version,
            NewRows::Few(columns, rows) => version.with_rows(&columns, rows)?,
            NewRows::Load(load) => version.with_main(load.finish(version.main())?)?,
        };
        state.own.put(key, Slot::of_table(version));
        Ok(())
    }

    /// Applies all changes; returns when they are on the disk. `verify` is called for tables whose constraints may be
    /// broken by the changes of others together with those of this transaction.
    pub fn commit(&self, verify: &dyn Fn(&Verification) -> Result<()>) -> Result<()> {
        let store = &self.store;
        let (base, own) = {
            let mut state = self.state.lock();
            state.is_over = true;
            (state.base.clone(), state.own.clone())
        };
        if own.touched.is_empty() {
            return Ok(());
        }
        // Statements were checked against the base, so each attempt has to look at what came after the last one.
        let mut checked = base.clone();
        for number in 0..SHARED_TRIES_MAX + ALONE_TRIES_MAX {
            let turn = if number < SHARED_TRIES_MAX { store.shared_turn() } else { store.turn_alone() };
            let now = store.committed();
            let mut puts = Vec::new();
            for key in &own.touched {
                let before = now.get(key);
                let after = merge::merged(store, key, &base.get(key), &own.view.get(key), &before)?;
                puts.push(Put { key: key.clone(), before, after });
            }
            puts.retain(|put| !put.before.is(&put.after));
            let watched = merge::verify_changes(&base, &checked, &now, &puts, verify)?;
            if store.publish(&puts, &watched)? {
                drop(turn);
                return store.checkpoint_if_due(puts.iter().filter_map(|put| put.after.table.as_ref()));
            }
            checked = now;
        }
        Err(conflict("checkpoints come faster than its constraints can be checked"))
    }
}

fn find_savepoint(state: &State, name: &str) -> Result<usize> {
    let found = state.savepoints.iter().rposition(|(known, _)| known == name);
    found.ok_or_else(|| Error::user(format!("there is no savepoint named {name}")))
}

/// The error of the transaction that came second.
fn conflict(what: impl Into<String>) -> Error {
    Error::user(format!("the transaction was rolled back: {}", what.into()))
        .with_hint("run the transaction again: it will see what was changed")
}
