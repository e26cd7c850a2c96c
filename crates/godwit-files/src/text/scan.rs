//! Scans of text files, for [the driver](Scan). A piece of the file is a morsel; the columns of some of its records are
//! decoded together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::DataType;
use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::{BufferManager, Reservation};
use godwit_pipeline::scan_filter::{Pruning, Stage};
use godwit_pipeline::{
    ColumnCounts, MorselReader, MorselRows, OperatorMetrics, Planned, QueryContext, Readable, Scan, ScanTask,
    WindowRows,
};
use godwit_vector::sql::{type_of_field, vector_of_values};
use godwit_vector::{Chunk, ColumnType, RowType, Vector};
use parking_lot::Mutex;

use super::TextTable;
use super::counts::TextCounts;
use super::cutter::{Cutter, Piece};
use super::json::Objects;
use super::options::{Format, TextOptions};
use super::records::{CsvRecords, RejectedRecord};
use super::rejects::{LINE_BYTES_MAX, Reject, RejectKind, ScanRejects};
use super::separators::Wanted;
use super::source::CsvShape;
use crate::hive::FileColumn;

/// Characters of a wrong value shown in an error.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// Maximum number of rejected records of another width that are described on the way to one chunk of rows.
const REJECTS_PER_STEP_MAX: usize = 100_000;

/// Error of a record that doesn't end.
const UNCLOSED: &str = "a quote that begins in this record isn't closed";

/// Files to be read.
pub(crate) struct TextPlan {
    files: Mutex<OpenFiles>,
    counts: TextCounts,
    /// Length of the files, as stored; 0 for a stream.
    bytes: u64,
    /// The store for rejected rows, if they are kept.
    rejects: Option<Arc<ScanRejects>>,
}

/// The files of a table, in sequence.
struct OpenFiles {
    /// The current file, and its number.
    cutter: Cutter,
    number: usize,
    memory: BufferManager,
}

impl OpenFiles {
    /// Returns the next piece of a file; `None` at the end of the last one.
    fn next(&mut self, table: &TextTable, mut used: Piece, stored: &Arc<AtomicU64>) -> Result<Option<Piece>> {
        loop {
            let piece = self.cutter.next(std::mem::take(&mut used))?;
            if piece.is_some() || self.number + 1 == table.sources.len() {
                return Ok(piece);
            }
            self.number += 1;
            self.cutter = table.cutter(self.number, self.memory.reserve(0, MemoryTag::Reader)?, stored)?;
        }
    }
}

impl Readable for TextTable {
    type Plan = TextPlan;
    type Reader = TextReader;

    fn scan_type(&self) -> &RowType {
        &self.row_type
    }

    fn column_name(&self, column: usize) -> &str {
        self.schema.field(column).name()
    }

    fn plan(&self, task: &ScanTask, _pruning: &Pruning<'_>, query: &QueryContext) -> Result<Planned<TextPlan>> {
        let memory = task.memory(query).clone();
        let counts = TextCounts::default();
        let cutter = self.cutter(0, memory.reserve(0, MemoryTag::Reader)?, &counts.stored)?;
        let files = Mutex::new(OpenFiles { cutter, number: 0, memory });
        let rejects = self.options.store_rejects.then(|| self.rejects.begin(self)).transpose()?;
        let parsed = task.columns.iter().filter(|&&column| column < self.record_columns()).count();
        if parsed < self.record_columns() {
            let skipped = self.record_columns() - parsed;
            task.metrics.note("columns not parsed", format!("{skipped} of {}", self.record_columns()));
        }
        let bytes = self.sources.iter().map(|source| source.bytes).sum();
        let plan = TextPlan { files, counts, bytes, rejects };
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
        let TextOptions { ignore_errors, null_padding, .. } = table.options;
        let (width, records_max) = (shape.width, self.rows_max);
        let plan = self.scan.plan();
        let rejects_max = if plan.rejects.is_some() { REJECTS_PER_STEP_MAX } else { 0 };
        let wanted = Wanted { records_max, width, ignore_errors, rejects_max, null_padding };
        let step = records.next(&self.piece, &shape.dialect, wanted);
        plan.counts.rejected.fetch_add(step.rejected, Ordering::Relaxed);
        plan.counts.records.fetch_add(records.len() as u64 + step.rejected, Ordering::Relaxed);
        if let Some(rejects) = &plan.rejects {
            rejects.extend(self.piece.source, &step.rejects, |record| wrong_record(record, &self.piece, width));
        }
        let rows = records.len();
        if rows == 0 && step.wrong_width.is_none() && step.unclosed.is_none() {
            return Ok(None);
        }
        self.window = ParsedRows { rows, columns: Vec::new() };
        let mut wrong: Vec<u32> = Vec::new();
        for (&index, parsed) in self.scan.task.columns.iter().zip(&mut self.parsed).filter(|_| rows > 0) {
            if index >= table.record_columns() {
                self.window.columns.push(Some(table.file_value(index, &self.piece, rows)?));
                continue;
            }
            let ColumnType { logical, physical, .. } = &table.row_type[index];
            let (Some(place), form) = (shape.columns[index].0, &shape.columns[index].1) else {
                self.window.columns.push(Some(Vector::null(*physical, rows)));
                continue;
            };
            if *logical == DataType::Utf8View {
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
            if let Some(rejects) = &plan.rejects {
                let mut line = records.lines(&self.piece);
                rejects.extend(self.piece.source, values.wrong.iter().map(|&row| row as usize), |row| {
                    let field = fields.get(row).unwrap_or_default().trim_ascii();
                    Reject {
                        line: line(row),
                        column: Some((index, table.schema.field(index).name().clone())),
                        kind: RejectKind::Cast,
                        text: shown(records.text(&self.piece, row)),
                        message: not_a_value(table, &self.piece, index, field),
                    }
                });
            }
            wrong.extend(values.wrong);
            self.window.columns.push(Some(values.vector));
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

/// Describes the error of a record of another width.
fn wrong_width(fields: usize, expected: usize) -> String {
    format!("{fields} fields, {expected} expected")
}

/// Describes a record that was rejected before its values were read.
fn wrong_record(record: &RejectedRecord, piece: &Piece, width: usize) -> Reject {
    let (kind, message) = match record.fields < width {
        _ if record.is_unclosed => (RejectKind::UnquotedValue, UNCLOSED.to_owned()),
        true => (RejectKind::MissingColumns, wrong_width(record.fields, width)),
        false => (RejectKind::TooManyColumns, wrong_width(record.fields, width)),
    };
    let text = shown(&piece.bytes[record.range.clone()]);
    Reject { line: record.line, column: None, kind, text, message }
}

/// Returns a record without the end of its line, or its beginning.
fn shown(record: &[u8]) -> String {
    let text = record.trim_ascii_end();
    String::from_utf8_lossy(&text[..text.len().min(LINE_BYTES_MAX)]).into_owned()
}

/// Describes the error of a field of a column.
fn not_a_value(table: &TextTable, piece: &Piece, column: usize, field: &[u8]) -> String {
    let field_type = table.schema.field(column);
    let text: String = String::from_utf8_lossy(field).chars().take(SHOWN_CHARACTERS_MAX).collect();
    let (name, data_type) = (field_type.name(), field_type.data_type());
    let ty = type_of_field(field_type).map_or_else(|_| data_type.to_string(), |ty| ty.to_string());
    let form = table.shape(piece).columns[column].1.day.map(|day| format!(", written as {}", day.template()));
    format!("column {name}: '{text}' is not a value of type {ty}{}", form.unwrap_or_default())
}

fn wrong_value(table: &TextTable, piece: &Piece, line: u64, column: usize, field: &[u8]) -> Error {
    let more = match table.schema.field(column).data_type() {
        DataType::Date32 => "DATEFORMAT names the form of dates",
        DataType::Timestamp(..) => "TIMESTAMPFORMAT names the form of timestamps",
        _ => "SAMPLE_SIZE -1 looks at all rows first, NULLSTR names texts that are NULL",
    };
    piece
        .error_at(line, &not_a_value(table, piece, column, field))
        .with_hint(format!("{more}; TYPES or ALL_VARCHAR read it as text, IGNORE_ERRORS leaves such rows out"))
}

impl TextTable {
    /// Returns the properties of a CSV piece's records.
    fn shape(&self, piece: &Piece) -> &CsvShape {
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
