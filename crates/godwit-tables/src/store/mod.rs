//! The tables of a database: opening it, and committing changes.
//!
//! ```text
//!   Transaction ─ commit ─▶ record in the log ─▶ tables and catalog ─▶ sync, together with others ─▶ done
//!   open        ─▶ newest checkpoint ─▶ records of the log, one after the other
//! ```
//!
//! Locks, in this order: `turns` (shared by commits while they check and write, exclusive for one that others have
//! overtaken too often), `checkpointing` (while a checkpoint is made), `commits` (shared by commits until they are on
//! disk, exclusive for a checkpoint during its switch), `tables` (briefly). A commit is visible as soon as its record
//! is written; it is acknowledged when the record is on disk.
//!
//! A database in memory is the same, without file and log.

mod check;
mod checkpoint;
mod maintenance;
mod record;
mod sequences;
mod view;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::Field;
use godwit_catalog::{Catalog, CatalogEntry, TableRules, full_name_of_key, schema_key, split_name};
use godwit_common::{Error, ErrorKind, MemoryTag, Named, Result};
use godwit_encoding::{EncodingChoice, ROW_GROUP_ROWS};
use godwit_io::{DiskSystem, FileSystem};
use godwit_memory::BufferManager;
use godwit_storage::CheckpointNumber;
use godwit_storage::block::Blocks;
use godwit_storage::file::{DatabaseFile, StreamPointer};
use godwit_storage::log::{Log, LogEnd};
use godwit_storage::table::Load;
use parking_lot::{Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard};

pub use check::CheckReport;
use maintenance::Maintenance;
use view::put_table;
pub(crate) use view::{Put, Slot, Tables, View};

use crate::version::TableVersion;

/// Log size, in bytes, at which a checkpoint becomes due unless set otherwise: opening the database replays the log.
pub const CHECKPOINT_BYTES: u64 = 16 << 20;

/// Number of rows in the delta of a table at which a checkpoint becomes due: they are scanned row by row, and stay in
/// memory.
const DELTA_ROWS_MAX: usize = ROW_GROUP_ROWS;

/// Size of the delta of a table, in bytes, at which a checkpoint becomes due: merging another table's delta empties the
/// log, but leaves this one.
const DELTA_BYTES_MAX: u64 = 2 * CHECKPOINT_BYTES;

/// A commit waits for the running checkpoint if the log or a delta has reached this many times its intended size.
const WAITS_FROM: u64 = 4;

/// The tables of a database.
pub struct Store {
    /// The catalog that statements outside transactions see.
    catalog: Arc<Catalog>,
    memory: BufferManager,
    blocks: Blocks,
    disk: Option<Disk>,
    tables: Mutex<Tables>,
    turns: RwLock<()>,
    commits: RwLock<()>,
    checkpointing: Mutex<()>,
    maintenance: Maintenance,
    /// Log size, in bytes, at which a checkpoint becomes due.
    checkpoint_bytes: AtomicU64,
    /// Number of checkpoints made.
    checkpoints: AtomicU64,
    /// A failed checkpoint isn't tried again before the log has this size.
    postponed_to_bytes: AtomicU64,
    /// The user's setting for all columns.
    encoding: Mutex<EncodingChoice>,
}

/// The right to attempt a commit.
pub(crate) enum Turn<'a> {
    Shared { _guard: RwLockReadGuard<'a, ()> },
    Alone { _guard: RwLockWriteGuard<'a, ()> },
}

/// A database in a file.
struct Disk {
    file: Arc<DatabaseFile>,
    /// `None`: the database is read-only.
    log: Option<Log>,
    /// The root that the newest checkpoint wrote, besides the tables.
    root: Mutex<Option<StreamPointer>>,
}

impl Store {
    /// Tables that live as long as the database is open. `memory` allocates for the object of the database.
    pub fn in_memory(catalog: Arc<Catalog>, memory: &BufferManager) -> Arc<Self> {
        Arc::new(Self::assemble(catalog, memory, Blocks::of_pool(memory.clone(), MemoryTag::Table), None))
    }

    /// Opens a database file, or creates it if there is none. With `is_read_only` nothing is created or changed.
    /// `memory` allocates for the object of the database.
    pub fn open(catalog: Arc<Catalog>, memory: &BufferManager, path: &Path, is_read_only: bool) -> Result<Arc<Self>> {
        Self::open_on(&DiskSystem, catalog, memory, path, is_read_only)
    }

    /// [`open`](Self::open) on any file system.
    pub fn open_on(
        files: &dyn FileSystem,
        catalog: Arc<Catalog>,
        memory: &BufferManager,
        path: &Path,
        is_read_only: bool,
    ) -> Result<Arc<Self>> {
        let io = |error: std::io::Error| Error::new(ErrorKind::Io, format!("can't open {}: {error}", path.display()));
        let exists = files.exists(path).map_err(io)?;
        let log_path = log_path(path);
        let file = match exists || is_read_only {
            true => DatabaseFile::open(files, path, is_read_only)?,
            false => create_files(files, path, &log_path)?,
        };
        let file = Arc::new(file);
        let (checkpoint, root) = file.newest();
        let blocks = Blocks::of_file(file.clone(), memory.clone());
        let mut store = Self::assemble(catalog, memory, blocks, None);
        if let Some(root) = root {
            file.mark_stream_used(&root)?;
            store.read_root(&file.read_stream(&root)?)?;
        }
        let has_log = files.exists(&log_path).map_err(io)?;
        let log = match (has_log, is_read_only) {
            (true, _) => {
                let replay = |payload: &[u8]| store.replay(payload);
                let (log, end) = Log::open(files, &log_path, checkpoint, is_read_only, replay)?;
                // As far as the log can tell, the torn part was never acknowledged.
                let (LogEnd::Clean | LogEnd::Torn(_)) = end;
                (!is_read_only).then_some(log)
            }
            (false, true) => None,
            (false, false) => Some(Log::create(files, &log_path, checkpoint)?),
        };
        store.disk = Some(Disk { file, log, root: Mutex::new(root) });
        store.adopt_schemas();
        let store = Arc::new(store);
        let keeper = store.keeper();
        for sequence in store.sequences() {
            sequence.begin_noting(keeper.clone());
        }
        Ok(store)
    }

    /// Names in old formats may have dots, and refer to a schema that was never created.
    fn adopt_schemas(&self) {
        for (full, _) in self.catalog.entries() {
            let (schema, _) = split_name(full_name_of_key(&full));
            if !self.catalog.has_schema(&schema) {
                self.catalog.put_all([(schema_key(&schema), Slot::of_schema(&schema).entry)]);
            }
        }
    }

    fn assemble(catalog: Arc<Catalog>, memory: &BufferManager, blocks: Blocks, disk: Option<Disk>) -> Self {
        Self {
            catalog,
            memory: memory.clone(),
            blocks,
            disk,
            tables: Mutex::default(),
            turns: RwLock::default(),
            commits: RwLock::default(),
            checkpointing: Mutex::default(),
            maintenance: Maintenance::default(),
            checkpoint_bytes: AtomicU64::new(CHECKPOINT_BYTES),
            checkpoints: AtomicU64::new(0),
            postponed_to_bytes: AtomicU64::new(0),
            encoding: Mutex::default(),
        }
    }

    /// The paths of the database file and its log, which may not exist; none in memory.
    pub fn paths(&self) -> Vec<PathBuf> {
        let path = self.disk.as_ref().map(|disk| disk.file.path());
        path.into_iter().flat_map(|path| [path.to_owned(), log_path(path)]).collect()
    }

    /// True if nothing can be changed.
    pub fn is_read_only(&self) -> bool {
        self.disk.as_ref().is_some_and(|disk| disk.log.is_none())
    }

    /// The catalog that statements outside transactions see.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The encoding of new rows.
    pub fn encoding(&self) -> EncodingChoice {
        *self.encoding.lock()
    }

    /// Changes the encoding of rows stored from now on.
    pub fn set_encoding(&self, choice: EncodingChoice) {
        *self.encoding.lock() = choice;
    }

    /// Log size, in bytes, at which checkpoints are made.
    pub fn checkpoint_bytes(&self) -> u64 {
        self.checkpoint_bytes.load(Ordering::Relaxed)
    }

    /// Checkpoints made since the database was opened.
    pub fn checkpoints(&self) -> u64 {
        self.checkpoints.load(Ordering::Relaxed)
    }

    /// Changes the log size, in bytes, at which checkpoints are made; at least one.
    pub fn set_checkpoint_bytes(&self, bytes: u64) {
        self.checkpoint_bytes.store(bytes.max(1), Ordering::Relaxed);
    }

    /// The newest committed version of a table.
    pub fn table(&self, name: &str) -> Option<Arc<TableVersion>> {
        self.tables.lock().get(&key(name)).cloned()
    }

    /// All tables, as they are committed.
    pub fn tables(&self) -> Vec<Arc<TableVersion>> {
        self.tables.lock().values().cloned().collect()
    }

    /// The committed state.
    pub(crate) fn committed(&self) -> View {
        let tables = self.tables.lock();
        View { tables: tables.clone(), catalog: Arc::new(self.catalog.snapshot()) }
    }

    /// Begins loading rows for a table. The load's memory is charged to `memory`.
    pub(crate) fn load(&self, table: &TableVersion, memory: &BufferManager, workers: usize) -> Result<Arc<Load>> {
        self.check_writable()?;
        let fields: Vec<_> = table.main().columns.iter().map(|column| column.field.clone()).collect();
        let (choices, objects) = (self.encodings(table.rules(), &fields), table.objects().columns());
        Load::new(&fields, &choices, objects, self.blocks.clone(), memory, workers)
    }

    /// The encodings of a table's columns: as set by its rules, otherwise as set for all columns.
    fn encodings(&self, rules: &TableRules, fields: &[Field]) -> Vec<EncodingChoice> {
        let all = self.encoding();
        let of_rules = |field: &Field| {
            let choice = rules.encoding_of(field.name()).and_then(EncodingChoice::from_name);
            choice.filter(|&choice| choice != EncodingChoice::Auto)
        };
        fields.iter().map(|field| of_rules(field).unwrap_or(all)).collect()
    }

    pub(crate) fn memory(&self) -> &BufferManager {
        &self.memory
    }

    /// Fails if commits are impossible.
    pub(crate) fn check_writable(&self) -> Result<()> {
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

    fn log(&self) -> Option<&Log> {
        self.disk.as_ref().and_then(|disk| disk.log.as_ref())
    }

    /// A turn to attempt a commit alongside others.
    pub(crate) fn shared_turn(&self) -> Turn<'_> {
        Turn::Shared { _guard: self.turns.read() }
    }

    /// A turn to attempt a commit exclusively; waits for attempts in progress.
    pub(crate) fn turn_alone(&self) -> Turn<'_> {
        Turn::Alone { _guard: self.turns.write() }
    }

    /// Applies changes if all slots, and those of `watched` names, are still unchanged; returns when they are on disk.
    /// Returns false if something else was committed first.
    pub(crate) fn publish(self: &Arc<Self>, puts: &[Put], watched: &[(String, Slot)]) -> Result<bool> {
        let changes = if self.disk.is_some() { record::changes_of(puts)? } else { Vec::new() };
        if !changes.is_empty() {
            self.check_writable()?;
        }
        if let Some(file) = self.blocks.file().filter(|_| puts.iter().any(Put::has_new_blocks)) {
            file.sync()?;
        }
        let _commit = self.commits.read();
        let position = {
            let mut tables = self.tables.lock();
            let now = |key: &str| Slot { table: tables.get(key).cloned(), entry: self.catalog.get(key) };
            let is_unchanged = puts.iter().all(|put| now(&put.key).is(&put.before))
                && watched.iter().all(|(key, slot)| now(key).is(slot));
            if !is_unchanged {
                return Ok(false);
            }
            for put in puts {
                if let Some(CatalogEntry::Sequence(sequence)) = &put.after.entry {
                    sequence.begin_noting(self.keeper());
                }
            }
            let position = match self.log().filter(|_| !changes.is_empty()) {
                Some(log) => {
                    // Even a record whose write fails may be found on the disk.
                    puts.iter().filter(|put| put.has_new_blocks()).for_each(mark_saved);
                    Some(log.append(&record::to_bytes(&changes)?)?)
                }
                None => None,
            };
            for put in puts {
                put_table(&mut tables, &put.key, put.after.table.clone());
            }
            self.catalog.put_all(puts.iter().map(|put| (put.key.clone(), put.after.entry.clone())));
            position
        };
        if let (Some(log), Some(position)) = (self.log(), position) {
            log.sync_to(position)?;
        }
        Ok(true)
    }

    /// Makes or requests a checkpoint if the log is long or one of the changed tables has a large delta.
    pub(crate) fn checkpoint_if_due<'a>(
        self: &Arc<Self>,
        changed: impl Iterator<Item = &'a Arc<TableVersion>>,
    ) -> Result<()> {
        let log_bytes = self.log().map_or(0, Log::bytes);
        // A delta may be older than the log.
        let of_delta = |table: &Arc<TableVersion>| {
            let (rows, bytes) = (table.delta_rows() / DELTA_ROWS_MAX, table.delta().bytes() as u64);
            (rows as u64).max(bytes / DELTA_BYTES_MAX)
        };
        let times = (log_bytes / self.checkpoint_bytes()).max(changed.map(of_delta).max().unwrap_or(0));
        if times == 0 || log_bytes < self.postponed_to_bytes.load(Ordering::Relaxed) {
            return Ok(());
        }
        if !self.request_checkpoint() {
            return self.checkpoint();
        }
        if times >= WAITS_FROM {
            self.maintenance.wait();
        }
        Ok(())
    }

    /// Makes no checkpoint due before the log has grown.
    fn postpone_checkpoint(&self) {
        let log_bytes = self.log().map_or(0, Log::bytes);
        self.postponed_to_bytes.store(log_bytes + self.checkpoint_bytes(), Ordering::Relaxed);
    }

    /// Replays the changes of a log record.
    fn replay(&self, payload: &[u8]) -> Result<()> {
        let changes = record::from_bytes(payload, &self.blocks)?;
        let mut tables = self.tables.lock();
        for change in changes {
            let key = key(change.name());
            let before = Slot { table: tables.get(&key).cloned(), entry: self.catalog.get(&key) };
            let slot = change.applied(before, &self.memory)?;
            put_table(&mut tables, &key, slot.table);
            self.catalog.put_all([(key, slot.entry)]);
        }
        Ok(())
    }
}

/// Marks the blocks of a table that a log record is about to point to.
fn mark_saved(put: &Put) {
    if let Some(table) = &put.after.table {
        table.main().blocks().iter().for_each(|block| block.mark_saved());
    }
}

/// Creates a database file. Its log is created first: beside a database file, a log without a header means damage.
fn create_files(files: &dyn FileSystem, path: &Path, log_path: &Path) -> Result<DatabaseFile> {
    let io = |error: std::io::Error| Error::new(ErrorKind::Io, format!("can't open {}: {error}", log_path.display()));
    if files.exists(log_path).map_err(io)? && !Log::remove_unfinished(files, log_path)? {
        return DatabaseFile::create(files, path);
    }
    Log::create(files, log_path, CheckpointNumber::FIRST)?;
    DatabaseFile::create(files, path).inspect_err(|_| {
        let _ = files.remove(log_path);
    })
}

/// The key of a name: names are case-insensitive.
pub(crate) fn key(name: &str) -> String {
    name.to_lowercase()
}

/// The log beside a database file.
fn log_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".wal");
    name.into()
}
