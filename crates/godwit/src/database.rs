//! A database: one buffer pool, one worker pool, one catalog.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_catalog::{Catalog, Namespace, TEMPORARY};
use godwit_common::{Named, Result};
use godwit_exec::WorkerPool;
use godwit_files::FileResolver;
use godwit_io::Files;
use godwit_memory::{
    BufferConfig, BufferManager, MemoryStatistics, ObjectKind, ProcessMemory, check_memory_limit, default_memory_limit,
    minimum_memory_limit, resident_process_bytes,
};
use godwit_pipeline::COMPRESS_FROM_BYTES;
use godwit_sql::Planner;
use godwit_tables::adaptation::Adaptation;
use godwit_tables::{CheckReport, Store};
use parking_lot::{Mutex, RwLock};

use crate::cache::CacheControl;
use crate::config::{check_threads, default_threads};
use crate::objects::Objects;
use crate::queries::{QueryInfo, QueryRegistry};
use crate::tracing::Tracing;
use crate::transactions::NamedStore;
use crate::{Config, Connection, system_tables};

/// An open database. Cheap to clone; it closes when the last clone, connection and result are dropped.
#[derive(Clone)]
pub struct Database(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) memory: BufferManager,
    pub(crate) planner: Planner,
    /// Finds the files of the planner; connections have resolvers made from it.
    pub(crate) resolver: FileResolver,
    /// The database's name in SQL.
    pub(crate) name: Arc<str>,
    /// The database's own tables.
    pub(crate) store: Arc<Store>,
    /// The files that statements name by path.
    pub(crate) files: Arc<dyn Files>,
    pub(crate) objects: Objects,
    pub(crate) debug: crate::DebugOptions,
    pub(crate) queries: Arc<QueryRegistry>,
    pub(crate) query_limits: QueryLimits,
    connections: AtomicU64,
    /// Databases attached by statements.
    pub(crate) attached: RwLock<Vec<NamedStore>>,
    /// Replaced when the number of threads changes; running queries keep theirs.
    pool: RwLock<Arc<WorkerPool>>,
    limit: Mutex<MemoryLimit>,
    compressed_materialization: Mutex<CompressedMaterialization>,
    pub(crate) adaptation: Arc<Adaptation>,
    pub(crate) tracing: Tracing,
    pub(crate) cache: CacheControl,
}

/// When to compress rows that an operator keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum CompressedMaterialization {
    /// Where it is expected to pay off.
    #[default]
    True,
    False,
    /// Wherever it is possible: for tests and measurements.
    Always,
}

impl Named for CompressedMaterialization {
    const NAMES: &'static [(&'static str, Self)] =
        &[("true", Self::True), ("false", Self::False), ("always", Self::Always)];
}

/// The limit as shown to the user, and the part of it that the buffer pool doesn't get.
#[derive(Clone)]
pub(crate) struct MemoryLimit {
    pub bytes: u64,
    pub reason: String,
    /// Resident size of the process at startup, if the limit is for the whole process.
    pub idle_process_bytes: Option<u64>,
}

/// Limits below that of the database; zero means none. They apply to statements that start after a change.
#[derive(Default)]
pub(crate) struct QueryLimits {
    query_bytes: AtomicU64,
    connection_bytes: AtomicU64,
}

impl QueryLimits {
    pub(crate) fn of_query(&self) -> Option<u64> {
        Some(self.query_bytes.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
    }

    pub(crate) fn of_connection(&self) -> Option<u64> {
        Some(self.connection_bytes.load(Ordering::Relaxed)).filter(|&bytes| bytes > 0)
    }

    pub(crate) fn set_of_query(&self, bytes: Option<u64>) {
        self.query_bytes.store(bytes.unwrap_or(0), Ordering::Relaxed);
    }

    pub(crate) fn set_of_connection(&self, bytes: Option<u64>) {
        self.connection_bytes.store(bytes.unwrap_or(0), Ordering::Relaxed);
    }
}

impl Database {
    /// Opens a database: a file, which is created if it doesn't exist; `":memory:"`; or a folder of Parquet files, each
    /// of which becomes a table named after the file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_with(path, Config::default())
    }

    /// Opens a database within the given limits.
    pub fn open_with(path: impl AsRef<Path>, config: Config) -> Result<Self> {
        let threads = match config.threads {
            Some(threads) => check_threads(threads)?,
            None => default_threads(),
        };
        let limit = MemoryLimit::of(&config);
        check_memory_limit(limit.bytes, threads)?;
        let mut buffers = BufferConfig::new(config.debug.pool_bytes.unwrap_or_else(|| limit.pool_bytes()));
        if let Some(directory) = config.temp_directory {
            buffers.temp_directory = directory;
        }
        buffers.process = limit.idle_process_bytes.map(|base_bytes| ProcessMemory {
            base_bytes,
            pool_bytes_min: minimum_memory_limit(threads).saturating_sub(base_bytes),
        });
        buffers.max_temp_directory_bytes = config.max_temp_directory_bytes;
        buffers.force_spill = config.debug.force_spill;
        buffers.request_faults = config.debug.request_faults.clone();
        let memory = match &config.debug.spill_files {
            Some(files) => BufferManager::with_files(buffers, Arc::new(files.clone()))?,
            None => BufferManager::new(buffers)?,
        };
        let objects = Objects::default();
        let files = objects.files(config.debug.files.clone(), &memory);
        let resolver = FileResolver::new(files.clone(), memory.clone());
        let catalog = Arc::new(Catalog::new());
        let path = path.as_ref();
        let name = name_of(path);
        let own_memory = memory.for_object(&memory.root_object(ObjectKind::Database, &name));
        let store = match path == Path::new(":memory:") || path.is_dir() {
            true => Store::in_memory(catalog.clone(), &own_memory),
            false => Store::open(catalog.clone(), &own_memory, path, config.read_only)?,
        };
        let adaptation = Adaptation::new(&memory);
        adaptation.watch(&store);
        let pool = RwLock::new(Arc::new(WorkerPool::new(threads)?));
        let of_database = Arc::new(resolver.of_connection());
        let database = Self(Arc::new_cyclic(|shared| Shared {
            planner: Planner::new(Namespace::of(&name, catalog), of_database.clone())
                .with_table_functions(system_tables::functions(shared, &of_database)),
            resolver,
            name: name.into(),
            store,
            files,
            objects,
            memory,
            cache: CacheControl::new(&config.debug),
            debug: config.debug,
            queries: Arc::default(),
            query_limits: QueryLimits::default(),
            connections: AtomicU64::new(0),
            attached: RwLock::default(),
            pool,
            limit: Mutex::new(limit),
            compressed_materialization: Mutex::default(),
            adaptation,
            tracing: Tracing::default(),
        }));
        database.0.store.allow_maintenance();
        if path.is_dir() {
            database.attach_folder(path)?;
        }
        Ok(database)
    }

    /// Reads all tables of the database and reports damage.
    pub fn check(&self) -> CheckReport {
        self.0.store.check()
    }

    /// Returns the number of checkpoints since the database was opened, including those of databases in memory.
    pub fn checkpoints(&self) -> u64 {
        self.0.store.checkpoints()
    }

    /// Opens a connection; connections are independent and may run queries at the same time.
    pub fn connect(&self) -> Connection {
        let id = self.0.connections.fetch_add(1, Ordering::Relaxed) + 1;
        Connection::new(self.clone(), id)
    }

    /// Returns the contents of the buffer pool and its activity so far.
    pub fn memory_statistics(&self) -> MemoryStatistics {
        self.0.memory.statistics()
    }

    /// Returns the queries of all connections that run or wait for memory, oldest first.
    pub fn queries(&self) -> Vec<QueryInfo> {
        self.0.queries.snapshot()
    }

    fn attach_folder(&self, folder: &Path) -> Result<()> {
        godwit_files::tables_in(&*self.0.files, folder, &self.0.memory)?
            .into_iter()
            .try_for_each(|table| self.0.store.catalog().create_table(table, false))
    }
}

/// Returns a database's name in SQL: its file's name without the extension.
pub(crate) fn name_of(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().to_lowercase()).unwrap_or_default();
    match stem.as_str() {
        _ if path == Path::new(":memory:") => "memory".to_owned(),
        "" | TEMPORARY => "database".to_owned(),
        _ => stem,
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // No one is left to report an error to.
        _ = self.tracing.end();
        self.adaptation.stop();
        self.store.stop_maintenance();
    }
}

impl Shared {
    pub(crate) fn pool(&self) -> Arc<WorkerPool> {
        self.pool.read().clone()
    }

    pub(crate) fn set_threads(&self, threads: usize) -> Result<()> {
        check_threads(threads)?;
        check_memory_limit(self.limit.lock().bytes, threads)?;
        let pool = Arc::new(WorkerPool::new(threads)?);
        *self.pool.write() = pool;
        Ok(())
    }

    pub(crate) fn compressed_materialization(&self) -> CompressedMaterialization {
        *self.compressed_materialization.lock()
    }

    pub(crate) fn set_compressed_materialization(&self, when: CompressedMaterialization) {
        *self.compressed_materialization.lock() = when;
    }

    /// Returns the size, in bytes, from which rows are compressed; `None`: never.
    pub(crate) fn compress_from_bytes(&self) -> Option<u64> {
        match self.compressed_materialization() {
            CompressedMaterialization::True => Some(COMPRESS_FROM_BYTES),
            CompressedMaterialization::False => None,
            CompressedMaterialization::Always => Some(0),
        }
    }

    pub(crate) fn limit(&self) -> MemoryLimit {
        self.limit.lock().clone()
    }

    pub(crate) fn set_limit(&self, bytes: u64) -> Result<()> {
        check_memory_limit(bytes, self.pool().workers())?;
        let mut limit = self.limit.lock();
        let changed = MemoryLimit { bytes, reason: "set by the user".into(), ..limit.clone() };
        self.memory.set_memory_limit(changed.pool_bytes())?;
        *limit = changed;
        Ok(())
    }
}

impl MemoryLimit {
    fn of(config: &Config) -> Self {
        let (bytes, reason) = match config.memory_limit_bytes {
            Some(bytes) => (bytes, "set by the user".into()),
            None => default_memory_limit(),
        };
        let idle_process_bytes = if config.whole_process { resident_process_bytes() } else { None };
        Self { bytes, reason, idle_process_bytes }
    }

    fn pool_bytes(&self) -> u64 {
        self.bytes.saturating_sub(self.idle_process_bytes.unwrap_or(0))
    }
}
