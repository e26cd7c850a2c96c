//! Transactions: what they see, what they have changed, and how they commit.
//!
//! ```text
//!   begin ─▶ base: all that is committed ──┬──▶ own: base and the transaction's changes ◀── statements
//!                                          │                        │ savepoints keep copies
//!   commit: for each name that changed     ▼                        ▼
//!           what is committed now = base?  ── yes ─▶ own is the next version
//!                                          └─ no ──▶ the difference of own and base, put upon it     (merge.rs)
//! ```
//!
//! Snapshot isolation: a transaction only reads `own`, and thus nothing that others commit meanwhile. If two
//! transactions change the same row, or one alters a table that the other changes, the first to commit wins; the other
//! one's commit fails. Rows that were read but not changed may be changed by others: write skew is possible. Keys and
//! references are checked against the committed state, so they hold nevertheless.
//!
//! A version of a table never changes; so copying the state means copying a few pointers, and undoing means dropping
//! it.

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

/// Maximum number of attempts to commit while others come first, with constraints checked outside locks.
pub(crate) const SHARED_TRIES_MAX: usize = 5;

/// Number of further attempts with no other commits. Only a checkpoint or a note of a sequence can still get in
/// between.
const ALONE_TRIES_MAX: usize = 20;

/// Changes to a database that happen together or not at all. Dropping it undoes them.
pub struct Transaction {
    store: Arc<Store>,
    state: Mutex<State>,
}

struct State {
    base: View,
    own: Own,
    savepoints: Vec<(String, Own)>,
    /// It has been committed, or a commit was attempted.
    is_over: bool,
}

/// The database as a transaction sees it.
#[derive(Clone)]
struct Own {
    view: View,
    /// Names in lower case that stand for something different from the base.
    touched: BTreeSet<String>,
}

/// A change of a table that requires checking the constraints that compare its rows with others.
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
    /// Begins a transaction, which sees the state committed now.
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
    /// The current catalog; a copy that doesn't change.
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

    /// The verification of a table as the transaction sees it now.
    pub fn verification(&self, before: Option<Arc<TableVersion>>, after: Arc<TableVersion>) -> Verification {
        let view = self.state.lock().own.view.clone();
        Verification { catalog: view.catalog, before, after, checked: None, tables: view.tables }
    }

    /// Saves the state under a name. An older savepoint with that name is hidden, not released.
    pub fn savepoint(&self, name: &str) {
        let mut state = self.state.lock();
        let own = state.own.clone();
        state.savepoints.push((name.to_owned(), own));
    }

    /// Releases a savepoint and those after it.
    pub fn release(&self, name: &str) -> Result<()> {
        let mut state = self.state.lock();
        let at = find_savepoint(&state, name)?;
        state.savepoints.truncate(at);
        Ok(())
    }

    /// Undoes everything after a savepoint, which stays.
    pub fn rollback_to(&self, name: &str) -> Result<()> {
        let mut state = self.state.lock();
        let at = find_savepoint(&state, name)?;
        state.savepoints.truncate(at + 1);
        state.own = state.savepoints[at].1.clone();
        Ok(())
    }

    /// Begins loading rows for a table. The load's memory is charged to `memory`.
    pub(crate) fn load(&self, table: &TableVersion, memory: &BufferManager, workers: usize) -> Result<Arc<Load>> {
        self.store.load(table, memory, workers)
    }

    /// The state, if the transaction may still change it.
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

    /// Applies all changes; returns when they are on disk. `verify` is called for tables whose constraints may be
    /// broken by the combination of this transaction's changes with those of others.
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
        // Statements were checked against the base, so each attempt has to check what came after the last one.
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
