//! Scans of the database's own tables.
//!
//! ```text
//! start:   bounds of row groups, filters of joins ──▶ morsels       filters ──▶ ranges of integers, sets of codes (packed.rs)
//! worker:  morsel ──▶ windows of 2,048 rows                                                             (worker.rs)
//!            stage 1: on packed values: a bit per row left; or decode its columns, filter                 (window.rs)
//!            stage 2: the same for the rows that are left
//!            decode the other columns for the rows that are left ──▶ chunk
//! ```
//!
//! Windows begin with the rows that aren't deleted. The column behind those of the table is the row id.
//! Text columns with codes come out as dictionary vectors: of the dictionary of all values of the version if the plan asked
//! for it, else each part's with its own. Filters over one text column are evaluated once per value, in the delta, too.

mod packed;
mod plan;
mod reader;
pub(crate) mod sample;
mod window;
mod worker;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use godwit_common::Result;
use godwit_exec::metrics::OperatorMetrics;
use godwit_exec::pipeline::{ChunkEffect, Source, SourceWorker};
use godwit_exec::scan_filter::{self, Stage, StagePlan};
use godwit_exec::{QueryContext, ScanRequest};
use godwit_vector::Bitmap;

use crate::version::TableVersion;
use packed::PackedFilter;
use plan::{Morsel, ScanPlan};
use reader::Dictionaries;
use worker::{ScanWorker, WorkerStage};

/// One scan of a version of a table in a query.
pub(crate) struct TableScan {
    version: Arc<TableVersion>,
    request: ScanRequest,
    stages: Vec<StagePlan>,
    started: OnceLock<Started>,
    next_morsel: AtomicUsize,
    rows_out: AtomicU64,
    rows_filtered: AtomicU64,
    metrics: Arc<OperatorMetrics>,
}

/// What is known when the scan has started.
struct Started {
    plan: ScanPlan,
    dictionaries: Dictionaries,
    /// By stage: how it is evaluated on packed values, if it can be.
    packed: Vec<Option<Arc<PackedFilter>>>,
    /// By stage: which codes of the delta's dictionary pass, if that tells which rows do.
    delta: Vec<Option<Arc<Bitmap>>>,
}

impl TableScan {
    pub(crate) fn source(
        version: Arc<TableVersion>,
        request: ScanRequest,
        query: &Arc<QueryContext>,
    ) -> Result<Arc<dyn Source>> {
        query.cancel.check()?;
        let row_type = version.scan_type();
        let stages = scan_filter::plan(row_type, &request.filters, &request.columns, &request.join_filters);
        let metrics = OperatorMetrics::new(request.name.clone());
        Ok(Arc::new(ScanSource(Arc::new(Self {
            version,
            request,
            stages,
            started: OnceLock::new(),
            next_morsel: AtomicUsize::new(0),
            rows_out: AtomicU64::new(0),
            rows_filtered: AtomicU64::new(0),
            metrics,
        }))))
    }

    fn started(&self) -> &Started {
        self.started.get().expect("a source is started before it is used")
    }

    /// Columns of the table that are read.
    fn columns(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.stages.iter().flat_map(StagePlan::columns).collect();
        columns.extend(&self.request.columns);
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// The next piece of work, unless enough rows were found.
    fn next_morsel(&self) -> Option<&Morsel> {
        let limit = self.request.limit.map_or(u64::MAX, |limit| limit as u64);
        if self.rows_out.load(Ordering::Relaxed) >= limit {
            return None;
        }
        self.started().plan.morsels.get(self.next_morsel.fetch_add(1, Ordering::Relaxed))
    }

    /// Notes what was done so far; called when a worker ends.
    fn note_work(&self) {
        if !self.stages.is_empty() {
            self.metrics.note("rows filtered", self.rows_filtered.load(Ordering::Relaxed).to_string());
        }
        let packed = self.started().packed.iter().flatten().count();
        if packed > 0 {
            self.metrics.note("filters on packed values", format!("{packed} of {}", self.stages.len()));
        }
    }
}

/// The scan as a source: workers need it shared.
struct ScanSource(Arc<TableScan>);

impl Source for ScanSource {
    fn start(&self, query: &Arc<QueryContext>) -> Result<()> {
        let scan = &self.0;
        let memory = query.memory.scoped(scan.metrics.memory().clone());
        let main = scan.version.main();
        let dictionaries = Dictionaries::load(&scan.version, &scan.columns())?;
        let ranges = scan
            .request
            .join_filters
            .iter()
            .filter_map(|filter| Some((scan.request.columns[filter.column], filter.range()?)));
        let plan = plan::plan(&scan.version, &scan.request.filters, &ranges.collect::<Vec<_>>(), &dictionaries);
        query.rows_known.fetch_add(plan.rows, Ordering::Relaxed);
        query.rows_done.fetch_add(plan.rows_pruned, Ordering::Relaxed);
        if plan.groups_pruned > 0 {
            scan.metrics.note("row groups pruned", format!("{} of {}", plan.groups_pruned, main.groups.len()));
        }
        let rows_left = plan.rows - plan.rows_pruned;
        let packed = scan
            .stages
            .iter()
            .map(|stage| PackedFilter::of(stage, scan.version.scan_type(), &dictionaries, rows_left, &memory));
        let packed = packed.map(|filter| Ok(filter?.map(Arc::new))).collect::<Result<_>>()?;
        let (row_type, delta_rows) = (scan.version.scan_type(), scan.version.delta_rows());
        let delta = scan.stages.iter().map(|stage| {
            let codes = packed::delta_codes(stage, row_type, &dictionaries, delta_rows, &memory)?;
            Ok(codes.map(Arc::new))
        });
        let delta = delta.collect::<Result<_>>()?;
        let is_first = scan.started.set(Started { plan, dictionaries, packed, delta }).is_ok();
        assert!(is_first, "a source is started once");
        Ok(())
    }

    fn effect(&self) -> ChunkEffect {
        if self.0.stages.is_empty() { ChunkEffect::Streams } else { ChunkEffect::Reduces }
    }

    fn parallelism(&self) -> usize {
        self.0.started().plan.morsels.len()
    }

    fn worker(&self, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let Started { packed, delta, .. } = self.0.started();
        let stages = self.0.stages.iter().zip(packed).zip(delta);
        let stages = stages.filter_map(|((plan, packed), delta)| {
            let stage = Stage::new(plan)?;
            Some(WorkerStage { stage, packed: packed.clone(), delta: delta.clone() })
        });
        Ok(Box::new(ScanWorker::new(self.0.clone(), query.clone(), stages.collect())))
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }
}
