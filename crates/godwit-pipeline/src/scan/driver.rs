//! The driver of scans: everything that they have in common, whatever they read. Each kind of table provides a
//! [`MorselReader`].
//!
//! ```text
//! start:   bounds, filters of joins ──▶ morsels                                         (Readable::plan)
//! worker:  morsel ──▶ windows of a chunk's rows, without those that are deleted         (MorselReader)
//!            stage 1: on packed values: a bit per row left; or read its columns, filter (window.rs)
//!            stage 2: the same for the rows that are left
//!            …
//!            read the other columns for the rows that are left ──▶ chunk
//! ```
//!
//! A window with no rows left costs only the columns of the first stages. Stages are reordered by their measured costs,
//! within a morsel, too.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use godwit_common::{Result, format_bytes};
use godwit_memory::BufferManager;
use godwit_vector::{Chunk, RowType, Vector};
use parking_lot::Mutex;

use super::ScanRequest;
use super::columns::{ColumnCounts, ScannedColumn};
use super::window::ScanWindow;
use crate::scan_filter::{self, Pruning, Stage, StagePlan, Stages};
use crate::{CacheUse, ChunkEffect, Operator, OperatorMetrics, QueryContext, Source, SourceVerdict, SourceWorker};

/// A kind of table that the driver scans.
pub trait Readable: Send + Sync + Sized + 'static {
    /// The morsels of a scan, and the state shared by its readers.
    type Plan: Send + Sync;
    /// A worker's reader.
    type Reader: MorselReader;

    /// Types of the columns that a scan may name.
    fn scan_type(&self) -> &RowType;

    /// The name of one of them.
    fn column_name(&self, column: usize) -> &str;

    /// Decides which rows are read. Called once, when the filters of joins are available.
    fn plan(&self, task: &ScanTask, pruning: &Pruning<'_>, query: &QueryContext) -> Result<Planned<Self::Plan>>;

    /// Announces what a scan will read first, long before it does, in case that is remote.
    fn announce(&self, _task: &ScanTask, _query: &QueryContext) {}

    /// Creates a worker's reader.
    fn reader(scan: &Arc<Scan<Self>>, query: &Arc<QueryContext>) -> Result<Self::Reader>;

    /// Maximum number of bytes that a reader of these columns pins.
    fn reader_bytes(&self, _columns: &[usize]) -> u64 {
        0
    }

    /// Bytes of the dictionaries in which operators after the scan look up its strings.
    fn dictionary_bytes(_plan: &Self::Plan) -> u64 {
        0
    }

    /// Adds further notes to the metrics; called when a worker ends.
    fn note(_plan: &Self::Plan, _metrics: &OperatorMetrics) {}
}

/// What to read, and how to filter it.
pub struct ScanTask {
    /// The request.
    pub request: ScanRequest,
    /// The filters, in their initial order.
    pub stages: Vec<StagePlan>,
    /// Columns of the table to read, those of filters first.
    pub columns: Vec<usize>,
    /// Counters of the scan.
    pub metrics: Arc<OperatorMetrics>,
}

impl ScanTask {
    /// The memory of a query, with the scan as the owner of allocations.
    pub fn memory(&self, query: &QueryContext) -> BufferManager {
        query.memory.scoped(self.metrics.memory().clone())
    }
}

/// A planned scan.
pub struct Planned<P> {
    /// The morsels, numbered from 0.
    pub plan: P,
    /// Maximum number of workers that can be busy at once: as many as there are morsels, or fewer if workers hold a lot
    /// of memory.
    pub workers_max: usize,
    /// Rows of the table, as far as known.
    pub rows: u64,
    /// How many of them bounds refute.
    pub rows_pruned: u64,
    /// Number of row groups in the table.
    pub groups: usize,
    /// How many of them bounds refute as a whole.
    pub groups_pruned: usize,
}

/// One worker's access to the rows of a table: one morsel at a time, and one window of it at a time.
pub trait MorselReader: Send {
    /// Moves to the morsel with this number, if there is one. Filters may be tried on data that represents all its
    /// rows.
    fn open(&mut self, number: usize, stages: &mut [Stage]) -> Result<Option<MorselRows>>;

    /// Asks the system to read ahead what the morsel with this number needs, if there is one: some worker will open it
    /// soon. Called once for each morsel.
    fn read_ahead(&self, _number: usize) {}

    /// How many morsels lie between the one being opened and the one being read ahead; at least as many as there are
    /// workers.
    fn morsels_ahead(&self) -> usize {
        0
    }

    /// Moves to the next window of the morsel; `None` at its end.
    fn next_window(&mut self) -> Result<Option<WindowRows>>;

    /// The values of a column in the rows of the window, or in those at the `selected` positions, which are ascending.
    fn read(&mut self, column: usize, selected: Option<&[u32]>) -> Result<Vector>;

    /// True if a filter can be decided on packed values of the window.
    fn is_packed(&self, _stage: &Stage) -> bool {
        false
    }

    /// Clears the bits of the window's rows that don't pass a filter for which [`MorselReader::is_packed`] is true.
    fn retain(&mut self, _stage: &Stage, _mask: &mut [u64]) -> Result<()> {
        unreachable!("no filter is decided on packed values")
    }

    /// Completes the counts of a column in the morsel: adds its reads, and the values that were decoded although no
    /// one asked for them.
    fn complete_counts(&mut self, _column: usize, _counts: &mut ColumnCounts) {}

    /// Called when the morsel is done.
    fn close(&mut self) {}
}

/// An open morsel.
pub struct MorselRows {
    /// The number of its rows, if it is known.
    pub rows: usize,
    /// True if it was found, without reading the rows, that none passes: there will be no windows.
    pub is_refuted: bool,
}

/// The rows of a window.
pub struct WindowRows {
    /// Number of rows, at most [`godwit_vector::CHUNK_ROWS`].
    pub rows: usize,
    /// Positions of the visible ones, ascending; `None`: all.
    pub live: Option<Vec<u32>>,
}

/// One scan of a table in a query.
pub struct Scan<T: Readable> {
    /// The table to read.
    pub table: Arc<T>,
    /// How to read it.
    pub task: ScanTask,
    planned: OnceLock<Planned<T::Plan>>,
    next_morsel: AtomicUsize,
    rows_out: AtomicU64,
    rows_filtered: AtomicU64,
    morsels_refuted: AtomicU64,
    done: Mutex<ScanCounts>,
}

/// Statistics of the workers, added up whenever they finish a morsel.
struct ScanCounts {
    /// Number of rows visited, whether or not any of their values were read.
    rows: u64,
    /// By column of the table.
    columns: Vec<ColumnCounts>,
}

impl ScanCounts {
    fn new(columns: usize) -> Self {
        Self { rows: 0, columns: vec![ColumnCounts::default(); columns] }
    }

    /// Adds these to `all`, and resets them.
    fn move_to(&mut self, all: &mut Self) {
        all.rows += std::mem::take(&mut self.rows);
        let columns = all.columns.iter_mut().zip(&mut self.columns);
        columns.for_each(|(all, counts)| *all += std::mem::take(counts));
    }
}

impl<T: Readable> Scan<T> {
    /// A scan that begins when the scheduler starts it.
    pub fn new(table: Arc<T>, request: ScanRequest, query: &QueryContext) -> Result<Arc<Self>> {
        query.cancel.check()?;
        let ScanRequest { filters, columns: requested, join_filters, .. } = &request;
        let stages = scan_filter::plan(table.scan_type(), filters, requested, join_filters);
        let mut columns = Vec::new();
        for column in stages.iter().flat_map(StagePlan::columns).chain(requested.iter().copied()) {
            if !columns.contains(&column) {
                columns.push(column);
            }
        }
        let metrics = OperatorMetrics::new(request.name.clone());
        Ok(Arc::new(Self {
            done: Mutex::new(ScanCounts::new(table.scan_type().len())),
            table,
            task: ScanTask { request, stages, columns, metrics },
            planned: OnceLock::new(),
            next_morsel: AtomicUsize::new(0),
            rows_out: AtomicU64::new(0),
            rows_filtered: AtomicU64::new(0),
            morsels_refuted: AtomicU64::new(0),
        }))
    }

    /// The plan made at the start.
    pub fn plan(&self) -> &T::Plan {
        &self.planned().plan
    }

    fn planned(&self) -> &Planned<T::Plan> {
        self.planned.get().expect("a source is started before it is used")
    }

    /// True if enough rows have been found.
    fn has_enough(&self) -> bool {
        self.task.request.limit.is_some_and(|limit| self.rows_out.load(Ordering::Relaxed) >= limit as u64)
    }

    fn note_plan(&self, planned: &Planned<T::Plan>) {
        let note = |name: &str, some: u64, all: u64| {
            if some > 0 {
                self.task.metrics.note(name, format!("{some} of {all}"));
            }
        };
        note("row groups pruned", planned.groups_pruned as u64, planned.groups as u64);
        note("rows pruned", planned.rows_pruned, planned.rows);
    }

    /// Publishes the statistics so far; called when a worker ends.
    fn note_work(&self, is_profiled: bool) {
        let metrics = &self.task.metrics;
        T::note(self.plan(), metrics);
        let bytes = self.done.lock().columns.iter().map(|counts| counts.reads.bytes).sum();
        if bytes > 0 {
            metrics.note("read", format_bytes(bytes));
        }
        if !self.task.stages.is_empty() {
            metrics.note("rows filtered", self.rows_filtered.load(Ordering::Relaxed).to_string());
        }
        let refuted = self.morsels_refuted.load(Ordering::Relaxed);
        if refuted > 0 {
            metrics.note("morsels without matching dictionary entries", refuted.to_string());
        }
        if is_profiled {
            metrics.set_columns(self.columns_so_far());
        }
    }

    /// The statistics of the columns so far.
    fn columns_so_far(&self) -> Vec<ScannedColumn> {
        let done = self.done.lock();
        let rows = done.rows + self.planned().rows_pruned;
        let columns = self.task.columns.iter();
        let scanned = columns.map(|&column| ScannedColumn {
            name: self.table.column_name(column).to_owned(),
            counts: done.columns[column],
            rows,
        });
        scanned.collect()
    }
}

impl<T: Readable> Operator for Scan<T> {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.task.metrics
    }

    fn cache_use(&self) -> CacheUse {
        let filters = self.task.request.join_filters.iter().filter_map(|filter| filter.filter.get());
        let filter_bytes: u64 = filters.map(|filter| filter.set_bytes()).sum();
        match T::dictionary_bytes(self.plan()) {
            0 if filter_bytes == 0 => CacheUse::polluting("reads each value once"),
            0 => CacheUse::depends(filter_bytes, "looks up keys in filters of joins"),
            bytes => CacheUse::table(bytes + filter_bytes, "has texts looked up in dictionaries"),
        }
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        self.table.reader_bytes(&self.task.columns) * workers as u64
    }
}

impl<T: Readable> Source for Scan<T> {
    fn start(&self, query: &Arc<QueryContext>) -> Result<()> {
        let planned = self.table.plan(&self.task, &self.task.request.pruning(), query)?;
        query.rows_known.fetch_add(planned.rows, Ordering::Relaxed);
        query.rows_done.fetch_add(planned.rows_pruned, Ordering::Relaxed);
        self.note_plan(&planned);
        assert!(self.planned.set(planned).is_ok(), "a source is started once");
        Ok(())
    }

    fn announce(&self, query: &QueryContext) {
        self.table.announce(&self.task, query);
    }

    fn effect(&self) -> ChunkEffect {
        if self.task.stages.is_empty() { ChunkEffect::Streams } else { ChunkEffect::Reduces }
    }

    fn parallelism(&self) -> usize {
        self.planned().workers_max
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let (reader, stages) = (T::reader(&self, query)?, Stages::new(&self.task.stages));
        let counts = ScanCounts::new(self.table.scan_type().len());
        let (query, morsel_rows, pending) = (query.clone(), None, None);
        Ok(Box::new(ScanWorker { scan: self, query, reader, stages, counts, morsel_rows, pending }))
    }
}

/// Processes one morsel after another.
struct ScanWorker<T: Readable> {
    scan: Arc<Scan<T>>,
    query: Arc<QueryContext>,
    reader: T::Reader,
    stages: Stages,
    /// Statistics of the current morsel.
    counts: ScanCounts,
    /// Rows of the current morsel.
    morsel_rows: Option<usize>,
    /// Rows that have been found but not emitted yet: windows may be larger than chunks.
    pending: Option<Chunk>,
}

impl<T: Readable> ScanWorker<T> {
    /// Moves to the next morsel; returns `false` if there is none, or if enough rows have been found.
    fn open_morsel(&mut self) -> Result<bool> {
        self.query.cancel.check()?;
        if self.scan.has_enough() {
            return Ok(false);
        }
        let number = self.scan.next_morsel.fetch_add(1, Ordering::Relaxed);
        self.read_ahead(number);
        let Some(morsel) = self.reader.open(number, self.stages.before_morsel())? else { return Ok(false) };
        if morsel.is_refuted {
            self.scan.morsels_refuted.fetch_add(1, Ordering::Relaxed);
            self.counts.rows += morsel.rows as u64;
            self.scan.rows_filtered.fetch_add(morsel.rows as u64, Ordering::Relaxed);
        } else {
            self.stages.begin_morsel(morsel.rows);
        }
        self.morsel_rows = Some(morsel.rows);
        Ok(true)
    }

    /// Triggers reading ahead when a morsel is about to be opened.
    fn read_ahead(&self, number: usize) {
        let workers = self.query.settings.workers;
        // A scan with a limit may never get beyond the first morsels.
        let is_short = self.scan.task.request.limit.is_some();
        let ahead = if is_short { workers } else { self.reader.morsels_ahead().max(workers) };
        // There are no earlier morsels that could have requested the first ones.
        if number < workers {
            self.reader.read_ahead(number);
        }
        if number == 0 {
            (workers..ahead).for_each(|next| self.reader.read_ahead(next));
        }
        self.reader.read_ahead(number + ahead);
    }

    /// Finds rows in the next window; returns `false` at the end of the morsel.
    fn work(&mut self) -> Result<bool> {
        if self.scan.has_enough() {
            return Ok(false);
        }
        let Some(WindowRows { rows, live }) = self.reader.next_window()? else { return Ok(false) };
        let mut window = ScanWindow::new(rows, live);
        let rows_in = window.len();
        self.counts.rows += rows_in as u64;
        self.filter(&mut window)?;
        let rows_out = window.len();
        self.scan.rows_filtered.fetch_add((rows_in - rows_out) as u64, Ordering::Relaxed);
        if rows_out > 0 {
            let requested = &self.scan.task.request.columns;
            window.read(requested, &mut self.reader, &mut self.counts.columns)?;
            self.scan.rows_out.fetch_add(rows_out as u64, Ordering::Relaxed);
            self.pending = Some(window.project(requested));
        }
        Ok(true)
    }

    /// Keeps the rows of a window that pass all filters.
    fn filter(&mut self, window: &mut ScanWindow) -> Result<()> {
        let Self { stages, reader, counts: ScanCounts { columns: counts, .. }, .. } = self;
        if window.len() == 0 {
            return Ok(());
        }
        stages.run(|stage| {
            let rows_in = window.len();
            if !window.retain_packed(stage, reader, counts)? {
                window.read(&stage.columns, reader, counts)?;
                if let Some(kept) = stage.rows(&window.project(&stage.columns))? {
                    window.keep(kept);
                }
            }
            Ok((rows_in, window.len()))
        })
    }

    /// Called when the morsel is done.
    fn close_morsel(&mut self) {
        let rows = self.morsel_rows.take().expect("a morsel is open");
        self.count_morsel();
        self.reader.close();
        self.query.rows_done.fetch_add(rows as u64, Ordering::Relaxed);
    }

    /// Adds the counts of the morsel to those of the scan.
    fn count_morsel(&mut self) {
        for &column in &self.scan.task.columns {
            self.reader.complete_counts(column, &mut self.counts.columns[column]);
        }
        self.counts.move_to(&mut self.scan.done.lock());
    }

    /// The next of the pending rows.
    fn next_pending(&mut self) -> Option<Chunk> {
        let chunk = self.pending.take()?;
        let most = self.query.settings.chunk_rows;
        if chunk.len() <= most {
            return Some(chunk);
        }
        self.pending = Some(chunk.slice(most, chunk.len() - most));
        Some(chunk.slice(0, most))
    }
}

impl<T: Readable> SourceWorker for ScanWorker<T> {
    fn next(&mut self) -> Result<SourceVerdict> {
        loop {
            if let Some(chunk) = self.next_pending() {
                return Ok(SourceVerdict::Chunk(chunk));
            }
            if self.morsel_rows.is_none() && !self.open_morsel()? {
                return Ok(SourceVerdict::Done);
            }
            if !self.work()? {
                self.close_morsel();
                return Ok(SourceVerdict::Worked);
            }
        }
    }
}

impl<T: Readable> Drop for ScanWorker<T> {
    /// Reports what the worker did. It may end within a morsel, when an operator after the scan has enough rows.
    fn drop(&mut self) {
        if self.morsel_rows.is_some() {
            self.count_morsel();
        }
        self.scan.note_work(self.query.settings.profile);
    }
}
