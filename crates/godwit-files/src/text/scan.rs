//! Scans of text files: what [the driver](Scan) asks of them. A piece of the file is a morsel; the columns of some of its
//! records are decoded together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::DataType;
use godwit_common::{Error, MemoryTag, Result};
use godwit_memory::Reservation;
use godwit_pipeline::scan_filter::{Pruning, Stage};
use godwit_pipeline::{
    MorselReader, MorselRows, OperatorMetrics, Planned, QueryContext, Readable, Scan, ScanTask, WindowRows,
};
use godwit_vector::{Chunk, RowType, Vector};
use parking_lot::Mutex;

use super::columns::TextColumn;
use super::csv::Records;
use super::cutter::{Cutter, Piece};
use super::json::Objects;
use super::{Kind, TextTable};

/// Characters of a wrong value that an error shows.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// A file that is read.
pub(crate) struct TextPlan {
    cutter: Mutex<Cutter>,
    rows_rejected: AtomicU64,
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

    fn plan(&self, _task: &ScanTask, _pruning: &Pruning<'_>, _query: &QueryContext) -> Result<Planned<TextPlan>> {
        let plan = TextPlan { cutter: Mutex::new(self.cutter()?), rows_rejected: AtomicU64::new(0) };
        Ok(Planned { plan, morsels: usize::MAX, rows: 0, rows_pruned: 0, groups: 0, groups_pruned: 0 })
    }

    fn reader(scan: &Arc<Scan<Self>>, query: &Arc<QueryContext>) -> Result<TextReader> {
        let fields = scan.task.columns.iter().map(|_| TextColumn::default()).collect();
        let reservation = scan.task.memory(query).reserve(0, MemoryTag::Reader)?;
        let (rows_max, window) = (query.settings.chunk_rows, Chunk::new(Vec::new(), 0));
        Ok(TextReader { scan: scan.clone(), rows_max, fields, piece: None, window, reservation })
    }

    fn note(plan: &TextPlan, metrics: &OperatorMetrics) {
        let rejected = plan.rows_rejected.load(Ordering::Relaxed);
        if rejected > 0 {
            metrics.note("rows rejected", rejected.to_string());
        }
    }
}

/// Reads one piece after the other.
pub(crate) struct TextReader {
    scan: Arc<Scan<TextTable>>,
    rows_max: usize,
    /// By column that is read: fields under work.
    fields: Vec<TextColumn>,
    piece: Option<OpenPiece>,
    /// The columns that are read, of the records of the window.
    window: Chunk,
    /// For the piece.
    reservation: Reservation,
}

enum OpenPiece {
    Csv { records: Box<Records>, piece: Piece },
    Json(Box<Objects>),
}

impl MorselReader for TextReader {
    fn open(&mut self, _number: usize, _stages: &mut [Stage]) -> Result<Option<MorselRows>> {
        let Some(piece) = self.scan.plan().cutter.lock().next()? else { return Ok(None) };
        self.reservation.resize(piece.bytes.len())?;
        let (table, columns) = (&*self.scan.table, &self.scan.task.columns);
        self.piece = Some(match &table.kind {
            Kind::Csv { dialect, has_header, .. } => {
                let mut records = Records::new(dialect, piece.first_line);
                if *has_header && piece.is_first {
                    records.next(&piece.bytes);
                }
                OpenPiece::Csv { records: Box::new(records), piece }
            }
            Kind::Json => OpenPiece::Json(Box::new(Objects::new(table, columns, piece, self.rows_max)?)),
        });
        Ok(Some(MorselRows { rows: 0, is_refuted: false }))
    }

    fn next_window(&mut self) -> Result<Option<WindowRows>> {
        let (read, live) = match self.piece.as_mut().expect("a piece is open") {
            OpenPiece::Json(objects) => (objects.next(&self.scan.table)?, None),
            OpenPiece::Csv { .. } => self.next_records()?.unzip(),
        };
        Ok(read.map(|read| {
            self.window = read;
            WindowRows { rows: self.window.len(), live: live.flatten() }
        }))
    }

    fn read(&mut self, column: usize, selected: Option<&[u32]>) -> Result<Vector> {
        let position = self.scan.task.columns.iter().position(|&read| read == column).expect("it is read");
        let values = self.window.dense(position);
        Ok(match selected {
            Some(selected) => values.take(selected),
            None => values,
        })
    }
}

impl TextReader {
    /// The next records of a piece of CSV, and the positions of those without an error if some have one.
    fn next_records(&mut self) -> Result<Option<(Chunk, Option<Vec<u32>>)>> {
        let table = &*self.scan.table;
        let rejected = &self.scan.plan().rows_rejected;
        let (Some(OpenPiece::Csv { records, piece }), Kind::Csv { null, formats, .. }) = (&mut self.piece, &table.kind)
        else {
            unreachable!("the piece is one of CSV")
        };
        let columns = &self.scan.task.columns;
        let types: Vec<_> = columns.iter().map(|&column| table.schema.field(column).data_type()).collect();
        let is_text: Vec<bool> = types.iter().map(|ty| **ty == DataType::Utf8View).collect();
        let width = table.schema.fields().len();
        self.fields.iter_mut().for_each(|column| column.truncate(0));
        let mut lines: Vec<u64> = Vec::new();
        let mut is_end = false;
        let mut wrong_width = None;
        while lines.len() < self.rows_max {
            let line = records.line();
            let Some(fields) = records.next(&piece.bytes) else {
                is_end = true;
                break;
            };
            if fields.len() != width {
                if table.ignore_errors {
                    rejected.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                // Rows before it may have an error of their own, which is told first.
                let what = format!("{} fields, {width} expected", fields.len());
                let hint = "check the delimiter and the quote, or leave such rows out with IGNORE_ERRORS";
                wrong_width = Some(table.error_at(line, &what).with_hint(hint));
                break;
            }
            for ((column, &index), &is_text) in self.fields.iter_mut().zip(columns).zip(&is_text) {
                column.push(fields.get(index), null, is_text);
            }
            lines.push(line);
        }
        if lines.is_empty() && is_end {
            return Ok(None);
        }
        let mut vectors: Vec<Vector> = Vec::with_capacity(types.len());
        let mut wrong = vec![false; lines.len()];
        for ((column, ty), &index) in self.fields.iter().zip(&types).zip(columns) {
            let values = column.values(ty, formats)?;
            if let Some(&row) = values.wrong.first()
                && !table.ignore_errors
            {
                return Err(wrong_value(table, lines[row as usize], index, column.field(row as usize)));
            }
            values.wrong.iter().for_each(|&row| wrong[row as usize] = true);
            vectors.push(values.vector);
        }
        if let Some(error) = wrong_width {
            return Err(error);
        }
        let live = wrong.contains(&true).then(|| {
            let kept: Vec<u32> = (0..lines.len() as u32).filter(|&row| !wrong[row as usize]).collect();
            rejected.fetch_add((lines.len() - kept.len()) as u64, Ordering::Relaxed);
            kept
        });
        Ok(Some((Chunk::new(vectors, lines.len()), live)))
    }
}

fn wrong_value(table: &TextTable, line: u64, column: usize, field: &[u8]) -> Error {
    let field_type = table.schema.field(column);
    let text: String = String::from_utf8_lossy(field).chars().take(SHOWN_CHARACTERS_MAX).collect();
    let what = format!("column {}: '{text}' is not a value of type {}", field_type.name(), field_type.data_type());
    table.error_at(line, &what).with_hint("read it as text with ALL_VARCHAR, or leave such rows out with IGNORE_ERRORS")
}
