//! State that `SET` changes for one connection only.

use std::collections::BTreeMap;
use std::time::Duration;

use godwit_catalog::SchemaName;
use godwit_pipeline::{Compaction, JOIN_LOAD_FACTOR, QuerySettings};
use godwit_sql::{JoinOrder, SessionValues};
use godwit_vector::CHUNK_ROWS;
use parking_lot::Mutex;

use crate::database::Shared;

/// A connection's own settings.
#[derive(Debug, Clone)]
pub(crate) struct OwnSettings {
    pub chunk_rows: usize,
    pub compaction: Compaction,
    pub join_filters: bool,
    pub join_load_factor: f64,
    pub join_order: JoinOrder,
    /// How long a statement may take.
    pub statement_timeout: Option<Duration>,
    /// Schemas in which unqualified names are looked up; empty: main.
    pub path: Vec<SchemaName>,
    /// Constants of its plans.
    pub values: SessionValues,
    /// Settings of DuckDB without effect here, which can be read again.
    pub foreign: BTreeMap<String, String>,
}

impl OwnSettings {
    /// Returns the initial settings of a connection.
    pub(crate) fn of(shared: &Shared) -> Self {
        Self {
            chunk_rows: shared.debug.chunk_rows.unwrap_or(CHUNK_ROWS),
            compaction: Compaction::default(),
            join_filters: true,
            join_load_factor: JOIN_LOAD_FACTOR,
            join_order: JoinOrder::default(),
            statement_timeout: None,
            path: Vec::new(),
            values: SessionValues::default(),
            foreign: BTreeMap::new(),
        }
    }
}

/// The settings visible to a connection's statements, which may change them.
pub(crate) struct Session<'a> {
    pub shared: &'a Shared,
    pub own: &'a Mutex<OwnSettings>,
}

impl Session<'_> {
    pub(crate) fn own(&self) -> OwnSettings {
        self.own.lock().clone()
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut OwnSettings)) {
        change(&mut self.own.lock());
    }

    /// Returns the settings for a query to run with.
    pub(crate) fn query_settings(&self, workers: usize, profile: bool) -> QuerySettings {
        let OwnSettings { chunk_rows, compaction, join_filters, join_load_factor, .. } = self.own();
        let compress_from_bytes = self.shared.compress_from_bytes();
        QuerySettings {
            chunk_rows,
            workers,
            profile,
            compress_from_bytes,
            compaction,
            join_filters,
            join_load_factor,
            cache: self.shared.cache.for_query(),
        }
    }
}
