//! `ATTACH`, `DETACH`: databases besides the one that was opened. They share its memory and are visible to all
//! connections.

use std::path::Path;
use std::sync::Arc;

use godwit_catalog::{Catalog, SCHEMA, TEMPORARY};
use godwit_common::{Error, Result};
use godwit_files::check_local;
use godwit_memory::ObjectKind;
use godwit_sql::{AttachPlan, INFORMATION_SCHEMA};
use godwit_tables::Store;

use crate::connection::Inner;
use crate::database::{Shared, name_of};
use crate::result::QueryResult;
use crate::transactions::NamedStore;

/// Reserved names.
const RESERVED: [&str; 3] = [TEMPORARY, SCHEMA, INFORMATION_SCHEMA];

impl Shared {
    /// Returns all databases, the one that was opened first.
    pub(crate) fn stores(&self) -> Vec<NamedStore> {
        let first = NamedStore { name: self.name.clone(), store: self.store.clone() };
        std::iter::once(first).chain(self.attached.read().iter().cloned()).collect()
    }

    fn attach(&self, plan: &AttachPlan) -> Result<()> {
        check_local(&plan.path)?;
        let path = Path::new(&plan.path);
        let name = plan.name.clone().unwrap_or_else(|| name_of(path));
        // Held until the database is registered, so that the same one can't be opened in the meantime.
        let mut attached = self.attached.write();
        if name == *self.name || attached.iter().any(|other| *other.name == *name) {
            return match plan.if_not_exists {
                true => Ok(()),
                false => Err(Error::user(format!("there is a database named {name} already"))
                    .with_hint("ATTACH '...' AS another_name")),
            };
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(
                Error::user(format!("a database can't be named {name}")).with_hint("ATTACH '...' AS another_name")
            );
        }
        let catalog = Arc::new(Catalog::new());
        let own_memory = self.memory.for_object(&self.memory.root_object(ObjectKind::Database, &name));
        let store = match path == Path::new(":memory:") || path.is_dir() {
            true => Store::in_memory(catalog.clone(), &own_memory),
            false => Store::open(catalog.clone(), &own_memory, path, plan.is_read_only)?,
        };
        if path.is_dir() {
            let tables = godwit_files::tables_in(&*self.files, path, &self.memory)?;
            tables.into_iter().try_for_each(|table| catalog.create_table(table, false))?;
        }
        store.set_encoding(self.store.encoding());
        self.adaptation.watch(&store);
        attached.push(NamedStore { name: name.into(), store });
        Ok(())
    }

    fn detach(&self, name: &str, if_exists: bool) -> Result<()> {
        if name == &*self.name {
            return Err(Error::user(format!("{name} is the database that was opened, and can't be detached")));
        }
        let mut attached = self.attached.write();
        match attached.iter().position(|other| &*other.name == name) {
            Some(at) => {
                // It closes with the last transaction that uses it; then its log is moved into the file.
                let closed = attached.remove(at);
                drop(attached);
                self.adaptation.let_go();
                drop(closed);
                Ok(())
            }
            None if if_exists => Ok(()),
            None => {
                Err(Error::user(format!("no database named {name}")).with_hint("SHOW DATABASES lists what there is"))
            }
        }
    }
}

impl Inner {
    pub(crate) fn attach(&self, plan: &AttachPlan) -> Result<QueryResult> {
        self.check_alone("ATTACH")?;
        self.database.0.attach(plan).map(|()| QueryResult::empty())
    }

    pub(crate) fn detach(&self, name: &str, if_exists: bool) -> Result<QueryResult> {
        self.check_alone("DETACH")?;
        if self.session().own().path.iter().any(|place| &*place.database == name) {
            return Err(Error::user(format!("{name} is the current database"))
                .with_hint(format!("USE {} first", self.database.0.name)));
        }
        self.database.0.detach(name, if_exists).map(|()| QueryResult::empty())
    }

    /// Fails within a transaction, which sees the databases that existed when it began.
    fn check_alone(&self, what: &str) -> Result<()> {
        match self.transaction.is_open() {
            true => Err(Error::user(format!("{what} isn't possible within a transaction")).with_hint("COMMIT first")),
            false => Ok(()),
        }
    }
}
