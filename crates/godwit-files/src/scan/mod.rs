//! Scans of Parquet tables.
//!
//! ```text
//! start:   bounds of row groups and pages, filters of joins ──▶ morsels            (plan.rs)
//! worker:  morsel ──▶ windows of a chunk's rows
//!            stage 1: decode its columns, filter ─▶ rows left                      (scan_filter)
//!            stage 2: decode its columns for these rows, filter ─▶ rows left
//!            …
//!            decode the other columns for the rows that are left ──▶ chunk
//! ```
//!
//! A window without rows left costs the columns of the first stages and nothing else: readers pass the rows of the other
//! columns when they are asked for later ones, and pages that nobody asks for are not even read.

mod arrow_column;
mod plan;
mod row_group;
#[cfg(test)]
mod tests;
mod worker;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use godwit_common::{Result, format_bytes};
use godwit_exec::metrics::OperatorMetrics;
use godwit_exec::pipeline::{ChunkEffect, Source, SourceWorker};
use godwit_exec::scan_filter::{self, Stage, StagePlan};
use godwit_exec::{QueryContext, ScanRequest};

use crate::config::WINDOW_KEPT_BYTES_MAX;
use crate::table::ParquetTable;
use plan::{Morsel, Pruning, ScanPlan};
use worker::ScanWorker;

/// One scan of a table in a query.
pub(crate) struct ParquetScan {
    table: Arc<ParquetTable>,
    request: ScanRequest,
    stages: Vec<StagePlan>,
    plan: OnceLock<ScanPlan>,
    next_morsel: AtomicUsize,
    counters: Counters,
    metrics: Arc<OperatorMetrics>,
}

/// What all workers did.
#[derive(Default)]
struct Counters {
    rows_out: AtomicU64,
    rows_filtered: AtomicU64,
    bytes_read: AtomicU64,
    /// Morsels of row groups whose dictionaries have no entry that passes.
    morsels_refuted: AtomicU64,
}

impl ParquetScan {
    pub(crate) fn new(table: Arc<ParquetTable>, request: ScanRequest, query: &Arc<QueryContext>) -> Result<Arc<Self>> {
        query.cancel.check()?;
        let ScanRequest { filters, columns, join_filters, .. } = &request;
        let stages = scan_filter::plan(table.row_type(), filters, columns, join_filters);
        let metrics = OperatorMetrics::new(request.name.clone());
        Ok(Arc::new(Self {
            table,
            request,
            stages,
            plan: OnceLock::new(),
            next_morsel: AtomicUsize::new(0),
            counters: Counters::default(),
            metrics,
        }))
    }

    fn plan(&self) -> &ScanPlan {
        self.plan.get().expect("a source is started before it is used")
    }

    /// Columns of the table that are read, those of filters first.
    fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        let filtered = self.stages.iter().flat_map(StagePlan::columns);
        for column in filtered.chain(self.request.columns.iter().copied()) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        columns
    }

    /// The next piece of work and its number, unless enough rows were found.
    fn next_morsel(&self) -> Option<(usize, &Morsel)> {
        let limit = self.request.limit.map_or(u64::MAX, |limit| limit as u64);
        if self.counters.rows_out.load(Ordering::Relaxed) >= limit {
            return None;
        }
        let index = self.next_morsel.fetch_add(1, Ordering::Relaxed);
        self.plan().morsels.get(index).map(|morsel| (index, morsel))
    }

    fn note_plan(&self, plan: &ScanPlan) {
        if plan.row_groups_pruned > 0 {
            self.metrics.note("row groups pruned", format!("{} of {}", plan.row_groups_pruned, plan.row_groups));
        }
        if plan.rows_pruned > 0 {
            self.metrics.note("rows pruned", format!("{} of {}", plan.rows_pruned, plan.rows));
        }
    }

    /// Notes what was done so far; called when a worker ends.
    fn note_work(&self) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        self.metrics.note("read", format_bytes(read(&self.counters.bytes_read)));
        if !self.stages.is_empty() {
            self.metrics.note("rows filtered", read(&self.counters.rows_filtered).to_string());
        }
        let refuted = read(&self.counters.morsels_refuted);
        if refuted > 0 {
            self.metrics.note("morsels without matching dictionary entries", refuted.to_string());
        }
    }
}

/// The scan as a source: workers need it shared.
struct ScanSource(Arc<ParquetScan>);

impl ParquetScan {
    /// What the scheduler drives.
    pub(crate) fn into_source(self: Arc<Self>) -> Arc<dyn Source> {
        Arc::new(ScanSource(self))
    }
}

impl Source for ScanSource {
    fn start(&self, query: &Arc<QueryContext>) -> Result<()> {
        let scan = &self.0;
        let ranges = scan
            .request
            .join_filters
            .iter()
            .filter_map(|filter| Some((scan.request.columns[filter.column], filter.range()?)));
        let pruning = Pruning { filters: &scan.request.filters, key_ranges: ranges.collect() };
        let plan = plan::plan(&scan.table, &pruning, &scan.columns(), query.settings.workers);
        query.rows_known.fetch_add(plan.rows, Ordering::Relaxed);
        query.rows_done.fetch_add(plan.rows_pruned, Ordering::Relaxed);
        scan.note_plan(&plan);
        assert!(scan.plan.set(plan).is_ok(), "a source is started once");
        Ok(())
    }

    fn effect(&self) -> ChunkEffect {
        if self.0.stages.is_empty() { ChunkEffect::Streams } else { ChunkEffect::Reduces }
    }

    fn parallelism(&self) -> usize {
        self.0.plan().morsels.len()
    }

    fn worker(&self, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let stages = self.0.stages.iter().filter_map(Stage::new).collect();
        Ok(Box::new(ScanWorker::new(self.0.clone(), query.clone(), stages)?))
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        let columns = self.0.columns();
        let column_bytes: u64 = columns.iter().map(|&column| self.0.table.reader_bytes(column)).sum();
        (column_bytes + WINDOW_KEPT_BYTES_MAX as u64) * workers as u64
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }
}
