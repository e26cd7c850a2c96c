//! Scans of text files.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::{Error, MemoryTag, Result};
use godwit_exec::metrics::OperatorMetrics;
use godwit_exec::pipeline::{Source, SourceVerdict, SourceWorker};
use godwit_exec::{QueryContext, ScanRequest};
use godwit_memory::Reservation;
use godwit_vector::{Chunk, Vector};
use parking_lot::Mutex;

use super::columns::TextColumn;
use super::csv::Records;
use super::cutter::{Cutter, JsonScanner, Piece, RecordEnds};
use super::json::Objects;
use super::{Kind, TextTable};

/// Characters of a wrong value that an error shows.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// One scan of a file in a query.
pub(super) struct TextScan {
    table: Arc<TextTable>,
    request: ScanRequest,
    cutter: Mutex<Option<Cutter>>,
    rows_out: AtomicU64,
    rows_rejected: AtomicU64,
    metrics: Arc<OperatorMetrics>,
}

impl TextScan {
    pub(super) fn source(table: Arc<TextTable>, request: ScanRequest) -> Result<Arc<dyn Source>> {
        let metrics = OperatorMetrics::new(request.name.clone());
        let scan = Self {
            table,
            request,
            cutter: Mutex::new(None),
            rows_out: AtomicU64::new(0),
            rows_rejected: AtomicU64::new(0),
            metrics,
        };
        Ok(Arc::new(TextSource(Arc::new(scan))))
    }

    /// The next piece of the file, unless enough rows were found.
    fn next_piece(&self) -> Result<Option<Piece>> {
        let limit = self.request.limit.map_or(u64::MAX, |limit| limit as u64);
        if self.rows_out.load(Ordering::Relaxed) >= limit {
            return Ok(None);
        }
        self.cutter.lock().as_mut().expect("a source is started before it is used").next()
    }
}

/// The scan as a source: workers need it shared.
struct TextSource(Arc<TextScan>);

impl Source for TextSource {
    fn start(&self, _query: &Arc<QueryContext>) -> Result<()> {
        let table = &self.0.table;
        let ends = match &table.kind {
            Kind::Csv { dialect, .. } => RecordEnds::Csv(*dialect),
            Kind::Json => RecordEnds::Json(JsonScanner::default()),
        };
        *self.0.cutter.lock() = Some(Cutter::open(&table.path, table.is_gzip, ends)?);
        Ok(())
    }

    fn parallelism(&self) -> usize {
        usize::MAX
    }

    fn worker(&self, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let memory = query.memory.scoped(self.0.metrics.memory().clone());
        let columns = self.0.request.columns.iter().map(|_| TextColumn::default()).collect();
        let reservation = memory.reserve(0, MemoryTag::Reader)?;
        Ok(Box::new(TextWorker { scan: self.0.clone(), query: query.clone(), columns, work: None, reservation }))
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }
}

/// Reads one piece after the other.
struct TextWorker {
    scan: Arc<TextScan>,
    query: Arc<QueryContext>,
    /// By requested column: fields under work.
    columns: Vec<TextColumn>,
    work: Option<Work>,
    /// For the piece.
    reservation: Reservation,
}

enum Work {
    Csv { records: Box<Records>, piece: Piece },
    Json(Box<Objects>),
}

impl TextWorker {
    fn open(&self, piece: Piece) -> Result<Work> {
        let table = &self.scan.table;
        match &table.kind {
            Kind::Csv { dialect, has_header, .. } => {
                let mut records = Records::new(dialect, piece.first_line);
                if *has_header && piece.is_first {
                    records.next(&piece.bytes);
                }
                Ok(Work::Csv { records: Box::new(records), piece })
            }
            Kind::Json => {
                let rows_max = self.query.settings.chunk_rows;
                Ok(Work::Json(Box::new(Objects::new(table, &self.scan.request.columns, piece, rows_max)?)))
            }
        }
    }

    /// The next rows of the piece; `None` at its end.
    fn rows(&mut self) -> Result<Option<Chunk>> {
        let table = &self.scan.table;
        let (records, piece) = match self.work.as_mut().expect("a piece is open") {
            Work::Json(objects) => return objects.next(table),
            Work::Csv { records, piece } => (records, piece),
        };
        let Kind::Csv { null, formats, .. } = &table.kind else { unreachable!("the piece is one of CSV") };
        let requested = &self.scan.request.columns;
        let types: Vec<_> = requested.iter().map(|&column| table.schema.field(column).data_type()).collect();
        let is_text: Vec<bool> = types.iter().map(|ty| **ty == arrow_schema::DataType::Utf8View).collect();
        let width = table.schema.fields().len();
        self.columns.iter_mut().for_each(|column| column.truncate(0));
        let mut lines: Vec<u64> = Vec::new();
        let mut is_end = false;
        let mut wrong_width = None;
        while lines.len() < self.query.settings.chunk_rows {
            let line = records.line();
            let Some(fields) = records.next(&piece.bytes) else {
                is_end = true;
                break;
            };
            if fields.len() != width {
                if table.ignore_errors {
                    self.scan.rows_rejected.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                // Rows before it may have an error of their own, which is told first.
                let what = format!("{} fields, {width} expected", fields.len());
                let hint = "check the delimiter and the quote, or leave such rows out with IGNORE_ERRORS";
                wrong_width = Some(table.error_at(line, &what).with_hint(hint));
                break;
            }
            for ((column, &index), &is_text) in self.columns.iter_mut().zip(requested).zip(&is_text) {
                column.push(fields.get(index), null, is_text);
            }
            lines.push(line);
        }
        if lines.is_empty() && is_end {
            return Ok(None);
        }
        let mut vectors: Vec<Vector> = Vec::with_capacity(types.len());
        let mut rejected = vec![false; lines.len()];
        for ((column, ty), &index) in self.columns.iter().zip(&types).zip(requested) {
            let values = column.values(ty, formats)?;
            if let Some(&row) = values.wrong.first()
                && !table.ignore_errors
            {
                return Err(wrong_value(table, lines[row as usize], index, column.field(row as usize)));
            }
            values.wrong.iter().for_each(|&row| rejected[row as usize] = true);
            vectors.push(values.vector);
        }
        if let Some(error) = wrong_width {
            return Err(error);
        }
        let mut chunk = Chunk::new(vectors, lines.len());
        if rejected.contains(&true) {
            let kept: Vec<u32> = (0..lines.len() as u32).filter(|&row| !rejected[row as usize]).collect();
            self.scan.rows_rejected.fetch_add((lines.len() - kept.len()) as u64, Ordering::Relaxed);
            chunk.select(&kept);
        }
        Ok(Some(chunk))
    }
}

fn wrong_value(table: &TextTable, line: u64, column: usize, field: &[u8]) -> Error {
    let field_type = table.schema.field(column);
    let text: String = String::from_utf8_lossy(field).chars().take(SHOWN_CHARACTERS_MAX).collect();
    let what = format!("column {}: '{text}' is not a value of type {}", field_type.name(), field_type.data_type());
    table.error_at(line, &what).with_hint("read it as text with ALL_VARCHAR, or leave such rows out with IGNORE_ERRORS")
}

impl SourceWorker for TextWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        loop {
            self.query.cancel.check()?;
            if self.work.is_none() {
                let Some(piece) = self.scan.next_piece()? else {
                    let rejected = self.scan.rows_rejected.load(Ordering::Relaxed);
                    if rejected > 0 {
                        self.scan.metrics.note("rows rejected", rejected.to_string());
                    }
                    return Ok(SourceVerdict::Done);
                };
                self.reservation.resize(piece.bytes.len())?;
                self.work = Some(self.open(piece)?);
            }
            match self.rows()? {
                None => self.work = None,
                Some(chunk) if chunk.is_empty() => {}
                Some(chunk) => {
                    self.scan.rows_out.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                    return Ok(SourceVerdict::Chunk(chunk));
                }
            }
        }
    }
}
