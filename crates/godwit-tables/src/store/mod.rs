//! The tables of a database: how they are found when it is opened, and how commits change them.
//!
//! ```text
//!   commit ─▶ new versions in memory ─▶ record in the log ─▶ catalog ─▶ sync, together with others ─▶ done
//!   open   ─▶ newest checkpoint ─▶ records of the log, one after the other
//! ```
//!
//! Locks, in this order: `loads` (one load ends at a time, or a checkpoint), `commits` (shared by commits until they are
//! on the disk, alone by a checkpoint), `tables` (short). A version is visible as soon as its record is written; the
//! commit is acknowledged when the record is on the disk.
//!
//! A database in memory is the same without file and log.

mod check;
mod checkpoint;
mod record;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_schema::Field;
use godwit_common::{Error, ErrorKind, Result};
use godwit_encoding::EncodingChoice;
use godwit_io::{DiskSystem, FileSystem};
use godwit_memory::BufferManager;
use godwit_sql::{Catalog, CatalogEntry, Planner, ViewDefinition};
use godwit_storage::block::Blocks;
use godwit_storage::file::{DatabaseFile, StreamPointer};
use godwit_storage::log::{Log, LogEnd};
use godwit_storage::table::{Load, Main};
use godwit_vector::Vector;
use parking_lot::{Mutex, RwLock};

pub use check::CheckReport;
pub(crate) use record::Change;

use crate::version::TableVersion;

/// From so many bytes of log on, a commit makes a checkpoint: opening the database replays the log.
const LOG_BYTES_MAX: u64 = 16 << 20;

/// The tables of a database.
pub struct Store {
    catalog: Arc<Catalog>,
    memory: BufferManager,
    blocks: Blocks,
    disk: Option<Disk>,
    tables: Mutex<Tables>,
    loads: Mutex<()>,
    commits: RwLock<()>,
    /// Asked for by the user, for all columns.
    encoding: Mutex<EncodingChoice>,
}

type Tables = BTreeMap<String, Arc<TableVersion>>;

/// A database in a file.
struct Disk {
    file: Arc<DatabaseFile>,
    /// `None`: nothing may be written.
    log: Option<Log>,
    /// What the newest checkpoint wrote besides the tables.
    root: Mutex<Option<StreamPointer>>,
}

/// A table that is about to be made.
#[derive(Debug, Clone)]
pub struct NewTable {
    /// Its name.
    pub name: String,
    /// Its columns; strings are views.
    pub fields: Vec<Field>,
    /// Replaces a table of that name.
    pub or_replace: bool,
}

/// Where rows go.
#[derive(Clone)]
pub enum TableTarget {
    /// A table that is there.
    Existing(Arc<TableVersion>),
    /// A table that appears with all of its rows.
    New(NewTable),
}

impl TableTarget {
    /// The table's name.
    pub fn name(&self) -> &str {
        match self {
            TableTarget::Existing(version) => version.name(),
            TableTarget::New(table) => &table.name,
        }
    }

    /// The columns.
    pub fn fields(&self) -> Vec<Field> {
        match self {
            TableTarget::Existing(version) => {
                version.schema().fields().iter().map(|field| field.as_ref().clone()).collect()
            }
            TableTarget::New(table) => table.fields.clone(),
        }
    }
}

impl Store {
    /// Tables that live as long as the database is open.
    pub fn in_memory(catalog: Arc<Catalog>, memory: &BufferManager) -> Arc<Self> {
        Arc::new(Self::assemble(catalog, memory, Blocks::of_pool(memory.clone()), None))
    }

    /// Opens a database file, or creates it if there is none. With `is_read_only` nothing is created or changed.
    pub fn open(catalog: Arc<Catalog>, memory: &BufferManager, path: &Path, is_read_only: bool) -> Result<Arc<Self>> {
        Self::open_on(&DiskSystem, catalog, memory, path, is_read_only)
    }

    /// As [`open`](Self::open), on any file system.
    pub fn open_on(
        files: &dyn FileSystem,
        catalog: Arc<Catalog>,
        memory: &BufferManager,
        path: &Path,
        is_read_only: bool,
    ) -> Result<Arc<Self>> {
        let io = |error: std::io::Error| Error::new(ErrorKind::Io, format!("can't open {}: {error}", path.display()));
        let exists = files.exists(path).map_err(io)?;
        let file = match exists || is_read_only {
            true => DatabaseFile::open(files, path, is_read_only)?,
            false => DatabaseFile::create(files, path)?,
        };
        let file = Arc::new(file);
        let (checkpoint, root) = file.newest();
        let blocks = Blocks::of_file(file.clone(), memory.clone());
        let mut store = Self::assemble(catalog, memory, blocks, None);
        if let Some(root) = root {
            file.mark_stream_used(&root)?;
            store.read_root(&file.read_stream(&root)?)?;
        }
        let log_path = log_path(path);
        let has_log = files.exists(&log_path).map_err(io)?;
        let log = match (has_log, is_read_only) {
            (true, _) => {
                let replay = |payload: &[u8]| store.replay(payload);
                let (log, end) = Log::open(files, &log_path, checkpoint, is_read_only, replay)?;
                // What a crash tore off was never acknowledged.
                let (LogEnd::Clean | LogEnd::Torn(_)) = end;
                (!is_read_only).then_some(log)
            }
            (false, true) => None,
            (false, false) => Some(Log::create(files, &log_path, checkpoint)?),
        };
        store.disk = Some(Disk { file, log, root: Mutex::new(root) });
        Ok(Arc::new(store))
    }

    fn assemble(catalog: Arc<Catalog>, memory: &BufferManager, blocks: Blocks, disk: Option<Disk>) -> Self {
        Self {
            catalog,
            memory: memory.clone(),
            blocks,
            disk,
            tables: Mutex::default(),
            loads: Mutex::default(),
            commits: RwLock::default(),
            encoding: Mutex::default(),
        }
    }

    /// How rows are stored that come from now on.
    pub fn encoding(&self) -> EncodingChoice {
        *self.encoding.lock()
    }

    /// Changes how rows are stored that come from now on.
    pub fn set_encoding(&self, choice: EncodingChoice) {
        *self.encoding.lock() = choice;
    }

    /// The newest version of a table.
    pub fn table(&self, name: &str) -> Option<Arc<TableVersion>> {
        self.tables.lock().get(&key(name)).cloned()
    }

    /// All tables.
    pub fn tables(&self) -> Vec<Arc<TableVersion>> {
        self.tables.lock().values().cloned().collect()
    }

    /// Makes a table without rows.
    pub fn create_table(&self, table: &NewTable) -> Result<()> {
        self.check_new(table)?;
        let (name, fields) = (table.name.clone(), table.fields.clone());
        self.commit(vec![Change::CreateTable { name, fields }], None)
    }

    /// An error if a table can't be made under its name.
    pub fn check_new(&self, table: &NewTable) -> Result<()> {
        match self.catalog.get(&table.name) {
            Some(CatalogEntry::View(_)) => Err(Error::user(format!("{} is a view already", table.name))),
            Some(CatalogEntry::Table(_)) if self.table(&table.name).is_none() => {
                Err(Error::user(format!("{} is a file's table", table.name)).with_hint("choose another name"))
            }
            Some(CatalogEntry::Table(_)) if !table.or_replace => {
                Err(Error::user(format!("{} exists already", table.name))
                    .with_hint("use CREATE OR REPLACE TABLE to replace it, or choose another name"))
            }
            _ => Ok(()),
        }
    }

    /// Removes a table.
    pub fn drop_table(&self, name: &str) -> Result<()> {
        if self.table(name).is_none() {
            return self.catalog.drop_table(name);
        }
        self.commit(vec![Change::DropTable { name: name.to_owned() }], None)
    }

    /// Makes a view.
    pub fn create_view(&self, view: Arc<ViewDefinition>, or_replace: bool) -> Result<()> {
        let Some(statement) = view.statement.clone() else { return self.catalog.create_view(view, or_replace) };
        if self.table(&view.name).is_some() || (!or_replace && self.catalog.get(&view.name).is_some()) {
            return self.catalog.create_view(view, or_replace);
        }
        self.commit(vec![Change::CreateView { name: view.name.clone(), statement }], None)
    }

    /// Removes a view.
    pub fn drop_view(&self, name: &str) -> Result<()> {
        match self.catalog.get(name) {
            Some(CatalogEntry::View(view)) if view.statement.is_some() => {
                self.commit(vec![Change::DropView { name: name.to_owned() }], None)
            }
            _ => self.catalog.drop_view(name),
        }
    }

    /// Begins to load rows for a table. `memory` counts what the load holds.
    pub(crate) fn load(&self, target: &TableTarget, memory: &BufferManager, workers: usize) -> Result<Arc<Load>> {
        self.check_writable()?;
        let fields = target.fields();
        let choices = vec![self.encoding(); fields.len()];
        Load::new(&fields, &choices, self.blocks.clone(), memory, workers)
    }

    /// Commits the rows of a load whose workers have finished.
    pub(crate) fn commit_load(&self, target: &TableTarget, load: &Load) -> Result<()> {
        let _turn = self.loads.lock();
        let name = target.name().to_owned();
        let changes = match target {
            TableTarget::Existing(planned) => {
                let current = self.current(planned)?;
                vec![Change::SetMain { name, main: load.finish(current.main())? }]
            }
            TableTarget::New(table) => {
                self.check_new(table)?;
                let main = load.finish(&Main::empty(&table.fields)?)?;
                vec![
                    Change::CreateTable { name: name.clone(), fields: table.fields.clone() },
                    Change::SetMain { name, main },
                ]
            }
        };
        if let Some(file) = self.blocks.file() {
            file.sync()?;
        }
        self.commit(changes, Some(target))
    }

    /// Commits a few rows.
    pub(crate) fn commit_rows(&self, target: &TableTarget, columns: Vec<Vector>, rows: usize) -> Result<()> {
        self.commit(vec![Change::Insert { name: target.name().to_owned(), columns, rows }], Some(target))
    }

    /// The newest version of a table; an error if it is another one than was planned with.
    fn current(&self, planned: &TableVersion) -> Result<Arc<TableVersion>> {
        let current = self.table(planned.name());
        current.filter(|current| current.schema() == planned.schema()).ok_or_else(|| {
            Error::user(format!("{} was dropped or replaced meanwhile", planned.name()))
                .with_hint("run the statement again")
        })
    }

    fn check_writable(&self) -> Result<()> {
        match &self.disk {
            Some(Disk { file, log: None, .. }) => {
                Err(Error::user(format!("{} is open for reading only", file.path().display())))
            }
            Some(Disk { file, .. }) if file.is_uncertain() => {
                let message = format!("an earlier checkpoint of {} failed halfway", file.path().display());
                Err(Error::new(ErrorKind::Io, message).with_hint("open the database again"))
            }
            _ => Ok(()),
        }
    }

    /// Makes changes happen; returns when they are on the disk. `target` must still be what it was.
    fn commit(&self, changes: Vec<Change>, target: Option<&TableTarget>) -> Result<()> {
        self.check_writable()?;
        let log = self.disk.as_ref().and_then(|disk| disk.log.as_ref());
        {
            let _commit = self.commits.read();
            let position = {
                let mut tables = self.tables.lock();
                if let Some(TableTarget::Existing(planned)) = target {
                    let current = tables.get(&key(planned.name()));
                    if current.is_none_or(|current| current.schema() != planned.schema()) {
                        return Err(Error::user(format!("{} was dropped or replaced meanwhile", planned.name())));
                    }
                }
                let mut changed = tables.clone();
                changes.iter().try_for_each(|change| self.apply(&mut changed, change))?;
                // Even a record whose write fails may be found on the disk.
                changes.iter().for_each(mark_saved);
                let position = match log {
                    Some(log) => Some(log.append(&record::to_bytes(&changes)?)?),
                    None => None,
                };
                self.publish(&changes, &changed)?;
                *tables = changed;
                position
            };
            if let (Some(log), Some(position)) = (log, position) {
                log.sync_to(position)?;
            }
        }
        if log.is_some_and(|log| log.bytes() > LOG_BYTES_MAX) {
            self.checkpoint()?;
        }
        Ok(())
    }

    /// The tables after a change.
    fn apply(&self, tables: &mut Tables, change: &Change) -> Result<()> {
        let of = |tables: &Tables, name: &str| {
            tables.get(&key(name)).cloned().ok_or_else(|| Error::user(format!("no table named {name}")))
        };
        match change {
            Change::CreateTable { name, fields } => {
                tables.insert(key(name), TableVersion::new(name, Main::empty(fields)?, &self.memory)?);
            }
            Change::SetMain { name, main } => {
                let version = of(tables, name)?.with_main(main.clone())?;
                tables.insert(key(name), version);
            }
            Change::Insert { name, columns, rows } => {
                let version = of(tables, name)?.with_rows(columns, *rows)?;
                tables.insert(key(name), version);
            }
            Change::DropTable { name } => {
                of(tables, name)?;
                tables.remove(&key(name));
            }
            Change::CreateView { .. } | Change::DropView { .. } => {}
        }
        Ok(())
    }

    /// Makes changes visible to statements that are planned from now on.
    fn publish(&self, changes: &[Change], tables: &Tables) -> Result<()> {
        for change in changes {
            match change {
                Change::CreateTable { name, .. } | Change::SetMain { name, .. } | Change::Insert { name, .. } => {
                    if let Some(version) = tables.get(&key(name)) {
                        self.catalog.create_table(version.definition(), true)?;
                    }
                }
                Change::DropTable { name } => self.catalog.drop_table(name)?,
                Change::CreateView { statement, .. } => {
                    self.catalog.create_view(Arc::new(Planner::parse_view(statement)?), true)?;
                }
                Change::DropView { name } => self.catalog.drop_view(name)?,
            }
        }
        Ok(())
    }

    /// Makes the changes of a record of the log happen again.
    fn replay(&self, payload: &[u8]) -> Result<()> {
        let changes = record::from_bytes(payload, &self.blocks)?;
        let mut tables = self.tables.lock();
        changes.iter().try_for_each(|change| self.apply(&mut tables, change))?;
        self.publish(&changes, &tables)
    }
}

/// Notes that a record of the log is about to point to the blocks of a change.
fn mark_saved(change: &Change) {
    if let Change::SetMain { main, .. } = change {
        main.blocks().iter().for_each(|block| block.mark_saved());
    }
}

/// Names are compared without case.
fn key(name: &str) -> String {
    name.to_lowercase()
}

/// The log beside a database file.
fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".wal");
    name.into()
}
