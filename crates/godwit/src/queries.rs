//! The queries of a database that run or wait for admission, for inspection.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use godwit_memory::{ObjectKind, OwnerCounters};
use godwit_pipeline::{OperatorMetrics, QueryContext};
use parking_lot::Mutex;

/// The state of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryState {
    /// Waiting for its required memory.
    Waiting,
    /// Running, or paused until its result is read.
    Running,
}

impl QueryState {
    /// Returns "waiting" or "running".
    pub fn name(self) -> &'static str {
        match self {
            QueryState::Waiting => "waiting",
            QueryState::Running => "running",
        }
    }
}

/// A query at a point in time.
#[derive(Debug, Clone)]
pub struct QueryInfo {
    /// Number of the query within the database, from 1.
    pub id: u64,
    /// Number of the connection that runs it, from 1.
    pub connection: u64,
    /// The statement's text.
    pub sql: String,
    /// Waiting or running.
    pub state: QueryState,
    /// Bytes in memory, including pages and reservations.
    pub memory_bytes: u64,
    /// Maximum of `memory_bytes` so far.
    pub peak_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
    /// Fraction of the scans' input that has been consumed, 0 to 1.
    pub progress: f64,
    /// Time since the statement was issued.
    pub elapsed: Duration,
}

/// All queries that haven't ended. One registry per database.
#[derive(Default)]
pub struct QueryRegistry {
    entries: Mutex<BTreeMap<u64, Arc<Entry>>>,
    last_id: AtomicU64,
}

struct Entry {
    connection: u64,
    sql: String,
    started: Instant,
    is_running: AtomicBool,
    query: Arc<QueryContext>,
    owner: Arc<OwnerCounters>,
    /// Set once the query is planned.
    operators: OnceLock<Vec<Arc<OperatorMetrics>>>,
}

/// Holder of memory, for [`QueryRegistry::holders`].
pub(crate) struct Holder {
    pub query: u64,
    /// The operator; `None`: the whole query.
    pub operator: Option<String>,
    pub memory: Arc<OwnerCounters>,
}

impl QueryRegistry {
    /// Returns all queries, each followed by its operators.
    pub(crate) fn holders(&self) -> Vec<Holder> {
        let mut holders = Vec::new();
        for (&query, entry) in self.entries.lock().iter() {
            holders.push(Holder { query, operator: None, memory: entry.owner.clone() });
            let operators = entry.operators.get().into_iter().flatten();
            holders.extend(operators.map(|operator| Holder {
                query,
                operator: Some(operator.name().to_owned()),
                memory: operator.memory().clone(),
            }));
        }
        holders
    }

    /// Returns the current queries, oldest first.
    pub fn snapshot(&self) -> Vec<QueryInfo> {
        self.entries.lock().iter().map(|(&id, entry)| entry.info(id)).collect()
    }

    /// Returns true if a query of this connection hasn't ended.
    pub(crate) fn is_busy(&self, connection: u64) -> bool {
        self.entries.lock().values().any(|entry| entry.connection == connection)
    }

    /// Adds a waiting query; it is listed until the returned value is dropped.
    pub(crate) fn enter(
        self: &Arc<Self>,
        connection: u64,
        sql: &str,
        query: Arc<QueryContext>,
        owner: Arc<OwnerCounters>,
    ) -> RegisteredQuery {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        owner.identify(ObjectKind::Query, format!("query {id}"));
        let (started, is_running, operators) = (Instant::now(), AtomicBool::new(false), OnceLock::new());
        let entry = Arc::new(Entry { connection, sql: sql.to_owned(), started, is_running, query, owner, operators });
        self.entries.lock().insert(id, entry.clone());
        RegisteredQuery { registry: self.clone(), entry, id }
    }
}

impl Entry {
    fn info(&self, id: u64) -> QueryInfo {
        QueryInfo {
            id,
            connection: self.connection,
            sql: self.sql.clone(),
            state: if self.is_running.load(Ordering::Relaxed) { QueryState::Running } else { QueryState::Waiting },
            memory_bytes: self.owner.reserved_bytes(),
            peak_bytes: self.owner.peak_bytes(),
            spilled_bytes: self.owner.spilled_bytes(),
            progress: self.query.progress(),
            elapsed: self.started.elapsed(),
        }
    }
}

/// A query's place in the registry.
pub(crate) struct RegisteredQuery {
    registry: Arc<QueryRegistry>,
    entry: Arc<Entry>,
    id: u64,
}

impl RegisteredQuery {
    /// Records that the query was planned. Called once.
    pub(crate) fn set_operators(&self, operators: Vec<Arc<OperatorMetrics>>) {
        let is_first = self.entry.operators.set(operators).is_ok();
        assert!(is_first, "a query is planned once");
    }

    /// Returns the name of the query in errors.
    pub(crate) fn name(&self) -> String {
        format!("query {}", self.id)
    }

    /// Records that the query was admitted.
    pub(crate) fn run(&self) {
        self.entry.is_running.store(true, Ordering::Relaxed);
    }
}

impl Drop for RegisteredQuery {
    fn drop(&mut self) {
        self.registry.entries.lock().remove(&self.id);
    }
}
