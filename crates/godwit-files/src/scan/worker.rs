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
use godwit_vector::{Bitmap, Chunk, PhysicalType, Vector};

use super::ParquetScan;
use super::arrow_column::ArrowColumn;
use super::plan::Morsel;
use crate::column::ColumnReader;
use crate::distinct::is_dictionary_encoded;
use crate::page::{PageReader, ReadWindow};

/// Entries of dictionaries that are tested to skip a row group, at most, per row of it: testing must cost much less than
/// reading.
const TESTED_ENTRIES_PER_ROW_MAX: f64 = 0.05;

/// Works on one morsel after the other.
pub(crate) struct ScanWorker {
    scan: Arc<ParquetScan>,
    query: Arc<QueryContext>,
    memory: BufferManager,
    /// All columns read the file through it.
    window: ReadWindow,
    stages: Vec<Stage>,
    /// Columns of the table that are read.
    columns: Vec<usize>,
    /// Readers by column of the table.
    readers: Vec<Reader>,
    current: Option<Current>,
    counted_bytes: u64,
}

/// The morsel under work.
struct Current {
    index: usize,
    /// Rows that are left of it.
    rows: Range<usize>,
}

/// How a column is read; opened when it is first needed in a morsel.
#[derive(Default)]
struct Reader {
    native: Option<ColumnReader>,
    arrow: Option<ArrowColumn>,
    /// The morsel that it is open for.
    morsel: Option<usize>,
}

impl ScanWorker {
    pub(crate) fn new(scan: Arc<ParquetScan>, query: Arc<QueryContext>, stages: Vec<Stage>) -> Result<Self> {
        let memory = query.memory.scoped(scan.metrics.memory().clone());
        let window = ReadWindow::new(&memory)?;
        let columns = scan.columns();
        let readers = scan.table.row_type().iter().map(|_| Reader::default()).collect();
        Ok(Self { scan, query, memory, window, stages, columns, readers, current: None, counted_bytes: 0 })
    }

    /// Takes the next morsel; `false` if there is none.
    fn open_morsel(&mut self) -> Result<bool> {
        self.query.cancel.check()?;
        let scan = self.scan.clone();
        let Some((index, morsel)) = scan.next_morsel() else {
            return Ok(false);
        };
        self.read_ahead(index);
        reorder(&mut self.stages);
        let mut rows = morsel.rows.clone();
        self.current = Some(Current { index, rows: rows.clone() });
        if self.is_refuted(index, morsel)? {
            scan.counters.morsels_refuted.fetch_add(1, Ordering::Relaxed);
            scan.counters.rows_filtered.fetch_add(rows.len() as u64, Ordering::Relaxed);
            rows.start = rows.end;
            self.current = Some(Current { index, rows });
        }
        Ok(true)
    }

    /// Has the kernel read what the workers need after what they have now.
    fn read_ahead(&self, index: usize) {
        let ahead = index + self.query.settings.workers;
        let Some(morsel) = self.scan.plan().morsels.get(ahead) else { return };
        let file = &self.scan.table.files()[morsel.file];
        for &column in &self.columns {
            if let Ok(chunk) = file.file.chunk(morsel.row_group, file.column(column)) {
                PageReader::read_ahead(&file.file.bytes, &chunk, morsel.rows.clone());
            }
        }
    }

    /// True if a filter is TRUE for no entry of the dictionary of its column: no row of the row group passes.
    fn is_refuted(&mut self, index: usize, morsel: &Morsel) -> Result<bool> {
        if let Some(&refuted) = morsel.state.refuted.get() {
            return Ok(refuted);
        }
        let mut refuted = false;
        for stage in 0..self.stages.len() {
            refuted = refuted || self.stage_is_refuted(index, morsel, stage)?;
        }
        Ok(*morsel.state.refuted.get_or_init(|| refuted))
    }

    fn stage_is_refuted(&mut self, index: usize, morsel: &Morsel, stage: usize) -> Result<bool> {
        if !self.stages[stage].is_simple_predicate() {
            return Ok(false);
        }
        let column = self.stages[stage].columns[0];
        let table = self.scan.table.clone();
        let file = &table.files()[morsel.file];
        let is_text = table.row_type()[column].physical == PhysicalType::Str;
        if !is_text || !is_dictionary_encoded(file, morsel.row_group, column) {
            return Ok(false);
        }
        self.open_reader(index, column)?;
        let Some(reader) = &mut self.readers[column].native else { return Ok(false) };
        let Some(dictionary) = reader.load_dictionary()? else { return Ok(false) };
        let entries = dictionary.entries.len();
        let rows = file.file.row_group_rows[morsel.row_group];
        if entries == 0 || entries as f64 > TESTED_ENTRIES_PER_ROW_MAX * rows as f64 {
            return Ok(false);
        }
        // All entries, and NULL if the column may hold it.
        let nulls = table.row_type()[column].nullable as usize;
        let codes: Vec<u32> = (0..entries as u32).chain(std::iter::repeat_n(0, nulls)).collect();
        let validity = Bitmap::from_fn(entries + nulls, |row| row < entries);
        let vector = Vector::dictionary(codes.into(), dictionary.entries.clone(), Some(validity));
        let rows = self.stages[stage].rows(&Chunk::new(vec![vector], entries + nulls))?;
        Ok(rows.is_some_and(|rows| rows.is_empty()))
    }

    /// Makes the reader of a column ready for a morsel.
    fn open_reader(&mut self, index: usize, column: usize) -> Result<()> {
        if self.readers[column].morsel == Some(index) {
            return Ok(());
        }
        let table = self.scan.table.clone();
        let morsel = &self.scan.plan().morsels[index];
        let file = &table.files()[morsel.file];
        let file_column = file.column(column);
        let reader = &mut self.readers[column];
        match file.file.decoding(morsel.row_group, file_column) {
            Some(decoding) => {
                let chunk = file.file.chunk(morsel.row_group, file_column)?;
                let (bytes, dictionary) = (file.file.bytes.clone(), morsel.state.dictionary(column));
                match &mut reader.native {
                    Some(native) => native.reopen(bytes, chunk, decoding, dictionary)?,
                    None => {
                        let range = table.range(column);
                        let (window, memory) = (&self.window, &self.memory);
                        let native = ColumnReader::new(bytes, chunk, decoding, range, dictionary, window, memory)?;
                        reader.native = Some(native);
                    }
                }
                reader.arrow = None;
            }
            None => {
                let (rows, batch_rows) = (morsel.rows.clone(), self.query.settings.chunk_rows);
                let arrow =
                    ArrowColumn::open(&file.file, morsel.row_group, file_column, rows, batch_rows, &self.memory)?;
                reader.arrow = Some(arrow);
            }
        }
        reader.morsel = Some(index);
        Ok(())
    }

    fn read(&mut self, index: usize, column: usize, window: &Range<usize>, selected: Option<&[u32]>) -> Result<Vector> {
        self.open_reader(index, column)?;
        let reader = &mut self.readers[column];
        match (&mut reader.arrow, &mut reader.native) {
            (Some(arrow), _) => arrow.read(window.start, window.len(), selected),
            (None, Some(native)) => native.read(window.start, window.len(), selected),
            (None, None) => unreachable!("the reader was opened"),
        }
    }

    /// The rows of a window that pass all filters; `None` if none does.
    fn read_window(&mut self, index: usize, window: Range<usize>) -> Result<Option<Chunk>> {
        let mut chunk = Chunk::new(Vec::new(), window.len());
        // Column of the table for each column of the chunk.
        let mut decoded: Vec<usize> = Vec::with_capacity(self.columns.len());
        let mut selected: Option<Vec<u32>> = None;
        let mut stages = std::mem::take(&mut self.stages);
        for stage in stages.iter_mut().filter(|stage| !stage.is_skipped()) {
            let start = Instant::now();
            for &column in &stage.columns {
                if !decoded.contains(&column) {
                    chunk.push(self.read(index, column, &window, selected.as_deref())?);
                    decoded.push(column);
                }
            }
            let positions = positions(&stage.columns, &decoded);
            let rows_in = chunk.len();
            let kept = stage.rows(&chunk.project(&positions))?;
            stage.measure(rows_in, kept.as_ref().map_or(rows_in, Vec::len), start.elapsed());
            if let Some(kept) = kept {
                chunk.select(&kept);
                selected = Some(match selected {
                    None => kept,
                    Some(before) => kept.iter().map(|&row| before[row as usize]).collect(),
                });
                if chunk.is_empty() {
                    break;
                }
            }
        }
        self.stages = stages;
        let filtered = window.len() - chunk.len();
        if filtered > 0 {
            self.scan.counters.rows_filtered.fetch_add(filtered as u64, Ordering::Relaxed);
        }
        if chunk.is_empty() {
            return Ok(None);
        }
        let scan = self.scan.clone();
        for &column in &scan.request.columns {
            if !decoded.contains(&column) {
                chunk.push(self.read(index, column, &window, selected.as_deref())?);
                decoded.push(column);
            }
        }
        Ok(Some(chunk.project(&positions(&scan.request.columns, &decoded))))
    }

    fn finish_morsel(&mut self) {
        let Some(current) = self.current.take() else { return };
        let morsel = &self.scan.plan().morsels[current.index];
        morsel.state.finish_morsel();
        self.query.rows_done.fetch_add(morsel.rows.len() as u64, Ordering::Relaxed);
        let bytes = self.readers.iter().filter_map(|reader| reader.native.as_ref()).map(ColumnReader::bytes_read).sum();
        let new = bytes - std::mem::replace(&mut self.counted_bytes, bytes);
        self.scan.counters.bytes_read.fetch_add(new, Ordering::Relaxed);
    }
}

/// Where the columns are among those decoded.
fn positions(columns: &[usize], decoded: &[usize]) -> Vec<usize> {
    let position = |column: &usize| decoded.iter().position(|known| known == column).expect("it was decoded");
    columns.iter().map(position).collect()
}

impl SourceWorker for ScanWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let chunk_rows = self.query.settings.chunk_rows;
        loop {
            let Some(current) = &mut self.current else {
                if self.open_morsel()? {
                    continue;
                }
                self.scan.note_work();
                return Ok(SourceVerdict::Done);
            };
            if current.rows.is_empty() {
                self.finish_morsel();
                return Ok(SourceVerdict::Worked);
            }
            let index = current.index;
            let end = current.rows.end.min(current.rows.start + chunk_rows);
            let window = current.rows.start..end;
            current.rows.start = end;
            if let Some(chunk) = self.read_window(index, window)? {
                self.scan.counters.rows_out.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                return Ok(SourceVerdict::Chunk(chunk));
            }
        }
    }
}
