//! Scans of Arrow files, for [the driver](Scan). A batch is a morsel.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::scan_filter::{Pruning, Stage};
use godwit_pipeline::{
    ColumnCounts, ColumnReads, MorselReader, MorselRows, Planned, QueryContext, Readable, Scan, ScanTask, Table,
    WindowRows, pick_sample, sampled_values,
};
use godwit_vector::{RowType, Vector};
use parquet::schema::types::ColumnPath;

use super::column::{ArrayReader, ColumnValues, buffers_between};
use super::dictionary::Dictionaries;
use super::message::{Batch, Content, Message};
use super::table::ArrowTable;
use crate::config::SAMPLED_BYTES_MAX;

/// The batches of a scan.
pub(crate) struct ArrowPlan {
    morsels: Vec<Morsel>,
    dictionaries: Dictionaries,
}

/// A batch of a file.
#[derive(Clone, Copy)]
struct Morsel {
    file: usize,
    batch: usize,
}

impl ArrowTable {
    fn morsels(&self) -> Vec<Morsel> {
        let files = self.files.iter().enumerate();
        files.flat_map(|(file, known)| (0..known.file.batches.len()).map(move |batch| Morsel { file, batch })).collect()
    }

    fn rows_of(&self, morsel: Morsel) -> usize {
        self.files[morsel.file].file.batches[morsel.batch].rows
    }
}

impl Readable for ArrowTable {
    type Plan = ArrowPlan;
    type Reader = ArrowReader;

    fn scan_type(&self) -> &RowType {
        self.row_type()
    }

    fn column_name(&self, column: usize) -> &str {
        self.schema().field(column).name()
    }

    fn plan(&self, _task: &ScanTask, _pruning: &Pruning<'_>, _query: &QueryContext) -> Result<Planned<ArrowPlan>> {
        let (morsels, rows) = (self.morsels(), self.rows());
        let number = morsels.len();
        let plan = ArrowPlan { morsels, dictionaries: Dictionaries::default() };
        Ok(Planned { plan, workers_max: number, rows, rows_pruned: 0, groups: number, groups_pruned: 0 })
    }

    fn reader(scan: &Arc<Scan<Self>>, query: &Arc<QueryContext>) -> Result<ArrowReader> {
        let columns = scan.table.row_type().iter().map(|_| None).collect();
        let memory = scan.task.memory(query);
        let held = memory.reserve(0, MemoryTag::Reader)?;
        let (left, window) = (0..0, 0..0);
        let (scan, chunk_rows) = (scan.clone(), query.settings.chunk_rows);
        Ok(ArrowReader { scan, chunk_rows, memory, morsel: 0, batch: None, columns, left, window, held })
    }

    /// The size of the largest batch, assuming columns of equal size.
    fn reader_bytes(&self, columns: &[usize]) -> u64 {
        let largest = self.files.iter().flat_map(|file| &file.file.batches).map(|batch| batch.body_bytes).max();
        largest.unwrap_or(0) / self.row_type().len().max(1) as u64 * columns.len() as u64
    }
}

/// Reads one batch after the other.
pub(crate) struct ArrowReader {
    scan: Arc<Scan<ArrowTable>>,
    chunk_rows: usize,
    memory: BufferManager,
    /// Number of the morsel.
    morsel: usize,
    /// Its header, once a column is needed.
    batch: Option<OpenBatch>,
    /// By column of the table, once needed: its values, and the bytes read for them.
    columns: Vec<Option<(ColumnValues, u64)>>,
    /// Remaining rows of the batch.
    left: Range<usize>,
    window: Range<usize>,
    /// Memory of the columns.
    held: Reservation,
}

/// The header of a batch, decoded.
struct OpenBatch {
    batch: Batch,
    body: Range<u64>,
    _memory: Reservation,
}

impl OpenBatch {
    fn new(table: &ArrowTable, morsel: Morsel, memory: &BufferManager) -> Result<Self> {
        let file = &table.files[morsel.file].file;
        let place = file.batches[morsel.batch];
        match Message::read(&file.bytes, place.offset, memory)? {
            Some(Message { content: Content::Rows(batch), body, memory, .. }) if batch.rows == place.rows => {
                Ok(Self { batch, body, _memory: memory })
            }
            _ => Err(file.wrong(place.offset, "its header", Error::corrupt("the file was changed while it was read"))),
        }
    }

    /// Tells the kernel which bytes will be read.
    fn advise(&self, table: &ArrowTable, morsel: Morsel, columns: &[usize]) {
        let file = &table.files[morsel.file];
        for &column in columns {
            let buffers = buffers_between(&self.batch, file.file.extent(file.columns[column])).unwrap_or_default();
            let start = buffers.iter().map(|range| range.start).min().unwrap_or(0);
            let end = buffers.iter().map(|range| range.end).max().unwrap_or(0);
            file.file.bytes.advise(self.body.start + start, end - start);
        }
    }

    /// Returns the values of a column of the table, and the bytes read for them.
    fn column(
        &self,
        table: &ArrowTable,
        morsel: Morsel,
        column: usize,
        dictionaries: &Dictionaries,
        (memory, held): (&BufferManager, &mut Reservation),
    ) -> Result<(ColumnValues, u64)> {
        let known = &table.files[morsel.file];
        let (file, column) = (&known.file, known.columns[column]);
        let field = &file.columns[column].decoded;
        let place = file.batches[morsel.batch];
        let entries = |id| dictionaries.get((morsel.file, file), id, morsel.batch, memory);
        let mut read = || {
            let batch = (&self.batch, self.body.clone());
            let mut reader = ArrayReader::new(&file.bytes, batch, file.extent(column).0, &entries, held)?;
            Ok((reader.column(field)?, reader.bytes_read))
        };
        read().map_err(|error| file.wrong(place.offset, &format!("column {}", field.name()), error))
    }
}

impl MorselReader for ArrowReader {
    fn open(&mut self, number: usize, _stages: &mut [Stage]) -> Result<Option<MorselRows>> {
        let Some(&morsel) = self.scan.plan().morsels.get(number) else { return Ok(None) };
        let rows = self.scan.table.rows_of(morsel);
        self.morsel = number;
        self.left = 0..rows;
        Ok(Some(MorselRows { rows, is_refuted: false }))
    }

    fn next_window(&mut self) -> Result<Option<WindowRows>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let end = self.left.end.min(self.left.start + self.chunk_rows);
        self.window = self.left.start..end;
        self.left.start = end;
        Ok(Some(WindowRows { rows: self.window.len(), live: None }))
    }

    fn read(&mut self, column: usize, selected: Option<&[u32]>) -> Result<Vector> {
        if self.columns[column].is_none() {
            self.read_column(column)?;
        }
        let (values, _) = self.columns[column].as_ref().expect("it was read");
        values.vector(self.window.clone(), selected)
    }

    fn complete_counts(&mut self, column: usize, counts: &mut ColumnCounts) {
        if let Some((_, bytes)) = self.columns[column] {
            counts.reads += ColumnReads { bytes, pages: 1, pages_cached: 0 };
        }
    }

    fn close(&mut self) {
        self.columns.iter_mut().filter_map(Option::take).for_each(|(values, _)| values.tell_trace_of_end());
        self.batch = None;
        self.held.resize(0).expect("giving memory back succeeds");
    }
}

impl ArrowReader {
    fn read_column(&mut self, column: usize) -> Result<()> {
        let (table, plan) = (&*self.scan.table, self.scan.plan());
        let morsel = plan.morsels[self.morsel];
        let batch = match self.batch.take() {
            Some(batch) => batch,
            None => {
                let batch = OpenBatch::new(table, morsel, &self.memory)?;
                batch.advise(table, morsel, &self.scan.task.columns);
                batch
            }
        };
        let memory = (&self.memory, &mut self.held);
        let (values, bytes) = batch.column(table, morsel, column, &plan.dictionaries, memory)?;
        let known = &table.files[morsel.file];
        let (file, name) = (&known.file, known.file.columns[known.columns[column]].decoded.name());
        let place = file.batches[morsel.batch];
        let object = file.bytes.column_object(&ColumnPath::from(name.as_str()), &self.memory);
        object.note_scan(place.rows, bytes);
        values.tell_trace(&object, place.offset);
        self.columns[column] = Some((values, bytes));
        self.batch = Some(batch);
        Ok(())
    }
}

/// Returns rows of a table for trying filters during planning; `None` if too much would have to be read.
pub(super) fn sample(table: &ArrowTable, column: usize, memory: &BufferManager) -> Result<Option<Vector>> {
    let morsels = table.morsels();
    let rows: Vec<usize> = morsels.iter().map(|&morsel| table.rows_of(morsel)).collect();
    let dictionaries = Dictionaries::default();
    let mut pieces = Vec::new();
    let mut left = SAMPLED_BYTES_MAX;
    for picked in pick_sample(&rows).chunk_by(|a, b| a.part == b.part) {
        let morsel = morsels[picked[0].part];
        let batch = OpenBatch::new(table, morsel, memory)?;
        let file = &table.files[morsel.file];
        let buffers = buffers_between(&batch.batch, file.file.extent(file.columns[column]))?;
        match left.checked_sub(buffers.iter().map(|range| range.end - range.start).sum()) {
            Some(rest) => left = rest,
            None => return Ok(None),
        }
        let mut held = memory.reserve(0, MemoryTag::Reader)?;
        let (values, _) = batch.column(table, morsel, column, &dictionaries, (memory, &mut held))?;
        for sampled in picked {
            let values = values.vector(sampled.rows.clone(), Some(&sampled.positions()))?;
            let Some(values) = sampled_values(&[values]) else { return Ok(None) };
            pieces.push(values);
        }
    }
    Ok(sampled_values(&pieces))
}
