//! Scans of text files, for [the driver](Scan). A piece of the file is a morsel; the columns of some of its records are
//! decoded together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::DataType;
use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::scan_filter::{Pruning, Stage};
use godwit_pipeline::{
    ColumnCounts, MorselReader, MorselRows, OperatorMetrics, Planned, QueryContext, Readable, Scan, ScanTask,
    WindowRows,
};
use godwit_vector::sql::vector_of_values;
use godwit_vector::{Chunk, ColumnType, RowType, Vector};
use parking_lot::Mutex;

use super::TextTable;
use super::counts::TextCounts;
use super::cutter::{Cutter, Piece};
use super::json::Objects;
use super::options::Format;
use super::record_errors::{UNCLOSED, keep_errors, wrong_value, wrong_width};
use super::records::CsvRecords;
use super::rejects::ScanRejects;
use super::separators::Wanted;
use super::source::CsvShape;
use crate::hive::{FileColumn, shown_name, wanted_files};

/// Maximum number of rejected records of another width that are described on the way to one chunk of rows.
const REJECTS_PER_STEP_MAX: usize = 100_000;

/// Files to be read.
pub(crate) struct TextPlan {
    files: Mutex<OpenFiles>,
    counts: TextCounts,
    /// Length of the files to read, as stored; 0 for a stream.
    bytes: u64,
    /// The store for rejected rows, if they are kept.
    rejects: Option<Arc<ScanRejects>>,
}

/// The files of a scan, in sequence.
struct OpenFiles {
    /// The current file.
    cutter: Option<Cutter>,
    /// The numbers of those after it.
    rest: std::vec::IntoIter<usize>,
    memory: BufferManager,
}

impl OpenFiles {
    /// Returns the next piece of a file; `None` at the end of the last one.
    fn next(&mut self, table: &TextTable, mut used: Piece, stored: &Arc<AtomicU64>) -> Result<Option<Piece>> {
        while let Some(cutter) = &mut self.cutter {
            if let Some(piece) = cutter.next(std::mem::take(&mut used))? {
                return Ok(Some(piece));
            }
            self.open(table, stored)?;
        }
        Ok(None)
    }

    /// Opens the next file.
    fn open(&mut self, table: &TextTable, stored: &Arc<AtomicU64>) -> Result<()> {
        let open = |number| table.cutter(number, self.memory.reserve(0, MemoryTag::Reader)?, stored);
        self.cutter = self.rest.next().map(open).transpose()?;
        Ok(())
    }
}

impl Readable for TextTable {
    type Plan = TextPlan;
    type Reader = TextReader;

    fn scan_type(&self) -> &RowType {
        &self.row_type
    }

    fn column_name(&self, column: usize) -> &str {
        shown_name(self.schema.field(column).name())
    }

    fn plan(&self, task: &ScanTask, _pruning: &Pruning<'_>, query: &QueryContext) -> Result<Planned<TextPlan>> {
        let memory = task.memory(query).clone();
        let counts = TextCounts::default();
        let is_wanted = wanted_files(task, &self.file_columns, self.record_columns(), self.sources.len())?;
        let wanted: Vec<usize> = (0..self.sources.len()).filter(|&number| is_wanted[number]).collect();
        let bytes = wanted.iter().map(|&number| self.sources[number].bytes).sum();
        let mut files = OpenFiles { cutter: None, rest: wanted.into_iter(), memory };
        files.open(self, &counts.stored)?;
        let rejects = self.rejects.as_ref().map(|(store, tables)| store.begin(self, tables)).transpose()?;
        let parsed = task.columns.iter().filter(|&&column| column < self.record_columns()).count();
        if parsed < self.record_columns() {
            let skipped = self.record_columns() - parsed;
            task.metrics.note("columns not parsed", format!("{skipped} of {}", self.record_columns()));
        }
        let plan = TextPlan { files: Mutex::new(files), counts, bytes, rejects };
        Ok(Planned { plan, workers_max: usize::MAX, rows: 0, rows_pruned: 0, groups: 0, groups_pruned: 0 })
    }

    fn reader(scan: &Arc<Scan<Self>>, query: &Arc<QueryContext>) -> Result<TextReader> {
        let rows_max = query.settings.chunk_rows;
        let records = match scan.table.options.format {
            Format::Csv => Records::Csv(Box::default()),
            Format::Json => {
                let record_columns = scan.table.record_columns();
                let columns = scan.task.columns.iter().copied().filter(|&column| column < record_columns);
                Records::Json(Box::new(Objects::new(&scan.table, &columns.collect::<Vec<_>>(), rows_max)?))
            }
        };
        let reservation = scan.task.memory(query).reserve(0, MemoryTag::Reader)?;
        let parsed = vec![0; scan.task.columns.len()];
        let (scan, piece, window) = (scan.clone(), Piece::default(), ParsedRows::default());
        Ok(TextReader { scan, rows_max, piece, records, window, parsed, reservation })
    }

    fn note(plan: &TextPlan, metrics: &OperatorMetrics) {
        plan.counts.note(plan.bytes, metrics);
    }
}

/// Reads one piece after the other.
pub(crate) struct TextReader {
    scan: Arc<Scan<TextTable>>,
    rows_max: usize,
    piece: Piece,
    records: Records,
    window: ParsedRows,
    /// By column read: number of the piece's values that were parsed, whether or not their rows are needed.
    parsed: Vec<u64>,
    /// Memory of the piece.
    reservation: Reservation,
}

/// The records of a piece.
enum Records {
    Csv(Box<CsvRecords>),
    Json(Box<Objects>),
}

/// The columns read of some records: for CSV those that may have errors, for JSON all.
#[derive(Default)]
struct ParsedRows {
    rows: usize,
    columns: Vec<Option<Vector>>,
}

impl MorselReader for TextReader {
    fn open(&mut self, _number: usize, _stages: &mut [Stage]) -> Result<Option<MorselRows>> {
        let used = std::mem::take(&mut self.piece);
        let (table, plan) = (&*self.scan.table, self.scan.plan());
        let Some(piece) = plan.files.lock().next(table, used, &plan.counts.stored)? else { return Ok(None) };
        plan.counts.text.fetch_add(piece.bytes.len() as u64, Ordering::Relaxed);
        self.parsed.fill(0);
        piece.check()?;
        match &mut self.records {
            Records::Csv(records) => {
                let shape = table.shape(&piece);
                let header = shape.header.as_deref().filter(|_| piece.is_first);
                records.open(&piece, &shape.dialect, header, !table.options.allow_quoted_nulls)?;
                self.reservation.resize(piece.bytes.capacity() + records.allocated_bytes())?;
            }
            Records::Json(objects) => {
                objects.open();
                self.reservation.resize(piece.bytes.capacity() * objects.bytes_per_byte())?;
            }
        }
        self.piece = piece;
        Ok(Some(MorselRows { rows: 0, is_refuted: false }))
    }

    fn next_window(&mut self) -> Result<Option<WindowRows>> {
        let live = match &mut self.records {
            Records::Csv(_) => match self.next_records()? {
                Some(live) => live,
                None => return Ok(None),
            },
            Records::Json(objects) => {
                let chunk = objects.next(&self.piece)?;
                let (counts, rejected) = (&self.scan.plan().counts, objects.take_rejected());
                let rows = chunk.as_ref().map_or(0, Chunk::len);
                counts.rejected.fetch_add(rejected, Ordering::Relaxed);
                counts.records.fetch_add(rows as u64 + rejected, Ordering::Relaxed);
                let Some(chunk) = chunk else { return Ok(None) };
                self.parsed.iter_mut().for_each(|parsed| *parsed += rows as u64);
                let table = &*self.scan.table;
                let mut read = (0..chunk.width()).map(|column| chunk.dense(column));
                let columns = self.scan.task.columns.iter().map(|&column| match column < table.record_columns() {
                    true => Ok(Some(read.next().expect("all of them are read"))),
                    false => table.file_value(column, &self.piece, rows).map(Some),
                });
                self.window = ParsedRows { rows, columns: columns.collect::<Result<_>>()? };
                None
            }
        };
        Ok(Some(WindowRows { rows: self.window.rows, live }))
    }

    fn read(&mut self, column: usize, selected: Option<&[u32]>) -> Result<Vector> {
        let position = self.position(column);
        Ok(match (&self.window.columns[position], &self.records, selected) {
            (Some(values), _, Some(selected)) => values.take(selected),
            (Some(values), _, None) => values.clone(),
            (None, Records::Csv(records), selected) => {
                let table = &*self.scan.table;
                let shape = table.shape(&self.piece);
                let place = shape.columns[column].0.expect("columns that a file lacks are values");
                records.fields(&self.piece, place, &shape.dialect, table.nulls_of(column)).strings(selected)
            }
            (None, Records::Json(_), _) => unreachable!("all columns of JSON are values"),
        })
    }

    fn complete_counts(&mut self, column: usize, counts: &mut ColumnCounts) {
        counts.decoded = counts.decoded.max(self.parsed[self.position(column)]);
    }
}

impl TextReader {
    /// Returns the position of a column of the table among those read.
    fn position(&self, column: usize) -> usize {
        self.scan.task.columns.iter().position(|&read| read == column).expect("it is read")
    }

    /// Goes to the next records of a CSV piece; if some have an error, returns the positions of those without. `None`
    /// at the end of the piece.
    ///
    /// Values that may be wrong are read whether they are needed or not, so errors don't depend on the order of
    /// filters; texts are read on demand.
    fn next_records(&mut self) -> Result<Option<Option<Vec<u32>>>> {
        let Records::Csv(records) = &mut self.records else { unreachable!("it is a table of CSV") };
        let table = &*self.scan.table;
        let shape = table.shape(&self.piece);
        let (ignore_errors, null_padding) = (table.options.skips_errors(), table.options.null_padding);
        let (width, records_max) = (shape.width, self.rows_max);
        let plan = self.scan.plan();
        let rejects_max = if plan.rejects.is_some() { REJECTS_PER_STEP_MAX } else { 0 };
        let wanted = Wanted { records_max, width, ignore_errors, rejects_max, null_padding };
        let step = records.next(&self.piece, &shape.dialect, wanted);
        plan.counts.rejected.fetch_add(step.rejected, Ordering::Relaxed);
        plan.counts.records.fetch_add(records.len() as u64 + step.rejected, Ordering::Relaxed);
        let rows = records.len();
        if rows == 0 && step.wrong_width.is_none() && step.unclosed.is_none() {
            if let Some(rejects) = &plan.rejects {
                keep_errors(rejects, table, &self.piece, (records, &step.rejects, &[]));
            }
            return Ok(None);
        }
        self.window = ParsedRows { rows, columns: Vec::new() };
        let (mut wrong, mut wrong_fields): (Vec<u32>, Vec<(usize, usize)>) = Default::default();
        for (&index, parsed) in self.scan.task.columns.iter().zip(&mut self.parsed).filter(|_| rows > 0) {
            if index >= table.record_columns() {
                self.window.columns.push(Some(table.file_value(index, &self.piece, rows)?));
                continue;
            }
            let ty @ ColumnType { logical, physical, .. } = &table.row_type[index];
            let (Some(place), form) = (shape.columns[index].0, &shape.columns[index].1) else {
                self.window.columns.push(Some(Vector::null_of(ty, rows)));
                continue;
            };
            if *logical == DataType::Utf8View && form.ty.is_none() {
                self.window.columns.push(None);
                continue;
            }
            let fields = records.fields(&self.piece, place, &shape.dialect, table.nulls_of(index));
            let values = fields.values(logical, *physical, form)?;
            *parsed += rows as u64;
            if let Some(&row) = values.wrong.first()
                && !ignore_errors
            {
                let (line, field) = (records.lines(&self.piece)(row as usize), fields.get(row as usize));
                return Err(wrong_value(table, &self.piece, line, index, field.unwrap_or_default().trim_ascii()));
            }
            if plan.rejects.is_some() {
                wrong_fields.extend(values.wrong.iter().map(|&row| (row as usize, index)));
            }
            wrong.extend(values.wrong);
            self.window.columns.push(Some(values.vector));
        }
        if let Some(rejects) = &plan.rejects {
            keep_errors(rejects, table, &self.piece, (records, &step.rejects, &wrong_fields));
        }
        if let Some(line) = step.unclosed {
            let hint = "double the quotes within quotes; or name another quote, or none: QUOTE ''";
            return Err(self.piece.error_at(line, UNCLOSED).with_hint(hint));
        }
        if let Some((line, fields)) = step.wrong_width {
            // Earlier rows may have their own errors, which are reported first.
            let hint = if fields < width {
                "NULL_PADDING makes missing fields NULL, IGNORE_ERRORS leaves such rows out; or is the delimiter another?"
            } else {
                "check DELIM and QUOTE, or leave such rows out with IGNORE_ERRORS"
            };
            return Err(self.piece.error_at(line, &wrong_width(fields, width)).with_hint(hint));
        }
        if wrong.is_empty() {
            return Ok(Some(None));
        }
        let mut is_right = vec![true; rows];
        wrong.iter().for_each(|&row| is_right[row as usize] = false);
        let live: Vec<u32> = (0..rows as u32).filter(|&row| is_right[row as usize]).collect();
        plan.counts.rejected.fetch_add((rows - live.len()) as u64, Ordering::Relaxed);
        Ok(Some(Some(live)))
    }
}

impl TextTable {
    /// Returns the properties of a CSV piece's records.
    pub(super) fn shape(&self, piece: &Piece) -> &CsvShape {
        self.sources[piece.source].shape.as_ref().expect("it is a table of CSV")
    }

    /// Returns a column with one value per file, for rows of a piece.
    fn file_value(&self, column: usize, piece: &Piece, rows: usize) -> Result<Vector> {
        let FileColumn { ty, values, .. } = &self.file_columns[column - self.record_columns()];
        let value = &values[piece.source];
        if value.is_null() {
            return Ok(Vector::null(self.row_type[column].physical, rows));
        }
        Ok(Vector::constant(vector_of_values(std::slice::from_ref(value), ty)?.to_flat(), rows))
    }
}
