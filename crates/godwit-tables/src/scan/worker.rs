//! One worker of a scan.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use godwit_common::Result;
use godwit_exec::QueryContext;
use godwit_exec::pipeline::{SourceVerdict, SourceWorker};
use godwit_exec::scan_filter::{Stage, reorder};
use godwit_memory::BufferManager;
use godwit_storage::table::{RowGroup, WINDOW_ROWS};
use godwit_vector::{Bitmap, Chunk, Vector};

use super::TableScan;
use super::packed::PackedFilter;
use super::plan::Morsel;
use super::reader::ColumnReader;
use super::window::Window;
use crate::deleted::{DELTA, Place, RowId};

/// A stage, and how it is evaluated on packed values and on codes of the delta, if it can be.
pub(super) struct WorkerStage {
    pub stage: Stage,
    pub packed: Option<Arc<PackedFilter>>,
    pub delta: Option<Arc<Bitmap>>,
}

impl AsRef<Stage> for WorkerStage {
    fn as_ref(&self) -> &Stage {
        &self.stage
    }
}

impl AsMut<Stage> for WorkerStage {
    fn as_mut(&mut self) -> &mut Stage {
        &mut self.stage
    }
}

/// Works on one morsel after the other.
pub(super) struct ScanWorker {
    scan: Arc<TableScan>,
    query: Arc<QueryContext>,
    memory: BufferManager,
    stages: Vec<WorkerStage>,
    /// By column of the table, for those that are read.
    readers: Vec<Option<ColumnReader>>,
    current: Option<Current>,
    /// Rows that are found and not handed out: windows may be larger than chunks.
    pending: Option<Chunk>,
}

/// The morsel under work.
struct Current {
    work: Work,
    morsel_rows: usize,
}

enum Work {
    Main { group: Arc<RowGroup>, place: Place, rows: Range<usize> },
    Delta(Option<Chunk>),
}

impl ScanWorker {
    pub(super) fn new(scan: Arc<TableScan>, query: Arc<QueryContext>, stages: Vec<WorkerStage>) -> Self {
        let memory = query.memory.scoped(scan.metrics.memory().clone());
        let mut readers: Vec<Option<ColumnReader>> = scan.version.row_type().iter().map(|_| None).collect();
        for column in scan.columns().into_iter().filter(|&column| column < readers.len()).collect::<Vec<_>>() {
            readers[column] = Some(ColumnReader::new(&scan.version, column, &scan.started().dictionaries));
        }
        Self { scan, query, memory, stages, readers, current: None, pending: None }
    }

    fn open_morsel(&mut self) -> Result<bool> {
        self.query.cancel.check()?;
        let Some(morsel) = self.scan.next_morsel() else { return Ok(false) };
        reorder(&mut self.stages);
        let work = match morsel {
            Morsel::Main(group, place, rows) => Work::Main { group: group.clone(), place: *place, rows: rows.clone() },
            Morsel::Delta(chunk, first) => Work::Delta(self.live_delta(chunk, *first)),
        };
        self.current = Some(Current { work, morsel_rows: morsel.rows() });
        Ok(true)
    }

    /// The rows of a chunk of the delta that aren't deleted, with their row ids if those are wanted.
    fn live_delta(&self, chunk: &Chunk, first: usize) -> Option<Chunk> {
        let version = &self.scan.version;
        let mut chunk = chunk.clone();
        if self.scan.columns().contains(&version.row_type().len()) {
            chunk.push(row_ids(DELTA, first, 0..chunk.len() as u32));
        }
        if let Some(live) = version.deleted().of(DELTA).and_then(|set| set.others(first, chunk.len())) {
            chunk.select(&live);
        }
        (!chunk.is_empty()).then_some(chunk)
    }

    /// The rows of a window that pass all filters; `None` if none does.
    fn read_window(&mut self, group: Arc<RowGroup>, place: Place, rows: Range<usize>) -> Result<Option<Chunk>> {
        let live = self.scan.version.deleted().of(place).and_then(|set| set.others(rows.start, rows.len()));
        let mut window = Window::new(group, place, rows);
        if let Some(live) = live {
            window.keep(live);
            if window.len() == 0 {
                return Ok(None);
            }
        }
        let mut stages = std::mem::take(&mut self.stages);
        let filtered = self.filter(&mut window, &mut stages);
        self.stages = stages;
        filtered?;
        if window.len() == 0 {
            return Ok(None);
        }
        let scan = self.scan.clone();
        for &column in &scan.request.columns {
            self.decode(&mut window, column)?;
        }
        Ok(Some(window.project(&scan.request.columns)))
    }

    fn filter(&mut self, window: &mut Window, stages: &mut [WorkerStage]) -> Result<()> {
        for WorkerStage { stage, packed, .. } in stages {
            if stage.is_skipped() {
                continue;
            }
            let start = Instant::now();
            let rows_in = window.len();
            let is_done = packed.as_ref().map_or(Ok(false), |packed| self.filter_packed(window, stage, packed))?;
            if !is_done {
                for &column in &stage.columns {
                    self.decode(window, column)?;
                }
                if let Some(kept) = stage.rows(&window.project(&stage.columns))? {
                    window.keep(kept);
                }
            }
            stage.measure(rows_in, window.len(), start.elapsed());
            if window.len() == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Keeps the rows of the window that pass a filter on packed values; `false` if it has none for them.
    fn filter_packed(&mut self, window: &mut Window, stage: &Stage, packed: &PackedFilter) -> Result<bool> {
        let column = stage.columns[0];
        // Row ids have no reader.
        let Some(reader) = self.readers.get_mut(column).and_then(Option::as_mut) else { return Ok(false) };
        if window.is_decoded(column) || !reader.is_packed(&window.group, &window.rows) {
            return Ok(false);
        }
        let mut mask = window.mask();
        let words = window.rows.len().div_ceil(64);
        reader.retain(&window.group, &window.rows, packed, &mut mask[..words], &self.memory)?;
        window.keep_mask(mask);
        Ok(true)
    }

    fn decode(&mut self, window: &mut Window, column: usize) -> Result<()> {
        if !window.is_decoded(column) && column == self.readers.len() {
            let (place, first) = (window.place, window.rows.start);
            let ids = match window.rows_left() {
                (_, _, Some(left)) => row_ids(place, first, left.iter().copied()),
                (_, rows, None) => row_ids(place, first, 0..rows.len() as u32),
            };
            window.push(column, ids);
        }
        if !window.is_decoded(column) {
            let reader = self.readers[column].as_mut().expect("requested columns are read");
            let (group, rows, selected) = window.rows_left();
            let values = reader.read(group, rows, selected, &self.memory)?;
            window.push(column, values);
        }
        Ok(())
    }

    /// The rows of a chunk of the delta that pass all filters.
    fn read_delta(&mut self, mut chunk: Chunk) -> Result<Option<Chunk>> {
        for WorkerStage { stage, delta, .. } in &mut self.stages {
            if stage.is_skipped() {
                continue;
            }
            let kept = match delta.as_ref().filter(|_| is_coded(&self.readers, &chunk, stage.columns[0])) {
                Some(passing) => Some(passing_rows(&chunk.dense(stage.columns[0]), passing)),
                None => stage.rows(&delta_values(&self.readers, &chunk, &stage.columns)?)?,
            };
            if let Some(kept) = kept {
                chunk.select(&kept);
                if chunk.is_empty() {
                    return Ok(None);
                }
            }
        }
        delta_values(&self.readers, &chunk, &self.scan.request.columns).map(Some)
    }

    /// Works on the morsel; true if it is finished.
    fn work(&mut self) -> Result<bool> {
        let Some(current) = &mut self.current else { return Ok(true) };
        let (found, rows_in) = match &mut current.work {
            Work::Main { rows, .. } if rows.start == rows.end => return Ok(true),
            Work::Main { group, place, rows } => {
                let end = rows.end.min(rows.start + WINDOW_ROWS);
                let window = rows.start..end;
                rows.start = end;
                let (group, place, rows_in) = (group.clone(), *place, window.len());
                (self.read_window(group, place, window)?, rows_in)
            }
            Work::Delta(chunk) => {
                let Some(chunk) = chunk.take() else { return Ok(true) };
                let rows_in = chunk.len();
                (self.read_delta(chunk)?, rows_in)
            }
        };
        let rows_out = found.as_ref().map_or(0, Chunk::len);
        self.scan.rows_filtered.fetch_add((rows_in - rows_out) as u64, Ordering::Relaxed);
        self.scan.rows_out.fetch_add(rows_out as u64, Ordering::Relaxed);
        self.pending = found;
        Ok(false)
    }

    /// The next rows of those that were found.
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

/// The reader of a column. Row ids have none.
fn reader_of(readers: &[Option<ColumnReader>], column: usize) -> Option<&ColumnReader> {
    readers.get(column).and_then(Option::as_ref)
}

/// True if a column of a chunk of the delta is kept as codes.
fn is_coded(readers: &[Option<ColumnReader>], chunk: &Chunk, column: usize) -> bool {
    reader_of(readers, column).is_some_and(|reader| reader.is_coded(chunk.column(column).vector))
}

/// Columns of a chunk of the delta, codes as strings and bytes as nested values.
fn delta_values(readers: &[Option<ColumnReader>], chunk: &Chunk, columns: &[usize]) -> Result<Chunk> {
    let is_as_kept = |&column: &usize| {
        reader_of(readers, column).is_none_or(|reader| reader.is_as_kept(chunk.column(column).vector))
    };
    if columns.iter().all(is_as_kept) {
        return Ok(chunk.project(columns));
    }
    let value = |&column: &usize| match reader_of(readers, column) {
        Some(reader) => reader.read_delta(&chunk.dense(column)),
        None => Ok(chunk.dense(column)),
    };
    Ok(Chunk::new(columns.iter().map(value).collect::<Result<_>>()?, chunk.len()))
}

/// The rows whose codes pass; NULL doesn't.
fn passing_rows(codes: &Vector, passing: &Bitmap) -> Vec<u32> {
    let flat = codes.to_flat();
    let passes = |&(row, code): &(usize, &u32)| codes.is_valid(row) && passing.get(*code as usize);
    flat.values::<u32>().iter().enumerate().filter(passes).map(|(row, _)| row as u32).collect()
}

/// The ids of rows of a place, which are counted from `first`.
fn row_ids(place: Place, first: usize, rows: impl Iterator<Item = u32>) -> Vector {
    let id = |row: u32| RowId { place, row: first as u32 + row }.to_i64();
    Vector::from_values(rows.map(id).collect::<Vec<i64>>(), None)
}

impl SourceWorker for ScanWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        loop {
            if let Some(chunk) = self.next_pending() {
                return Ok(SourceVerdict::Chunk(chunk));
            }
            if self.current.is_none() && !self.open_morsel()? {
                self.scan.note_work();
                return Ok(SourceVerdict::Done);
            }
            if self.work()? {
                let Some(current) = self.current.take() else { continue };
                self.query.rows_done.fetch_add(current.morsel_rows as u64, Ordering::Relaxed);
                return Ok(SourceVerdict::Worked);
            }
        }
    }
}
