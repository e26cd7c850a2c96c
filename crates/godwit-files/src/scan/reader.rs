//! One worker's reader of morsels.

use std::ops::Range;
use std::sync::Arc;

use arrow_schema::DataType;
use godwit_common::{Error, Result};
use godwit_memory::BufferManager;
use godwit_pipeline::scan_filter::Stage;
use godwit_pipeline::{ColumnCounts, MorselReader, MorselRows, QueryContext, Scan, Table, WindowRows};
use godwit_vector::{Bitmap, Chunk, PhysicalType, Vector};

use super::arrow_column::ArrowColumn;
use super::long_values::LongValues;
use super::plan::{Morsel, bytes_of, later_dictionaries};
use crate::column::ColumnReader;
use crate::config::REMOTE_MORSELS_AHEAD;
use crate::distinct::is_dictionary_encoded;
use crate::file::FileBytes;
use crate::fixed_bytes::uuids;
use crate::footer::Stored;
use crate::page::ReadWindow;
use crate::table::ParquetTable;

/// Maximum number of dictionary entries tested to skip a row group, per row: testing must cost much less than reading.
const TESTED_ENTRIES_PER_ROW_MAX: f64 = 0.05;

/// Reads columns of morsels, one at a time.
pub struct ParquetReader {
    scan: Arc<Scan<ParquetTable>>,
    query: Arc<QueryContext>,
    memory: BufferManager,
    /// The window through which all columns read the file.
    buffer: ReadWindow,
    /// By column of the table.
    columns: Vec<Column>,
    /// Number of the morsel.
    morsel: usize,
    /// Columns that shorten windows, with their positions in the table.
    long: Vec<(usize, LongValues)>,
    /// Remaining rows of the morsel.
    left: Range<usize>,
    /// The current window, in rows of the row group.
    window: Range<usize>,
}

/// The reader of a column, opened when the column is first needed in a morsel.
#[derive(Default)]
struct Column {
    native: Option<ColumnReader>,
    arrow: Option<ArrowColumn>,
    /// The morsel that it is open for.
    morsel: Option<usize>,
}

impl ParquetReader {
    pub(crate) fn new(scan: Arc<Scan<ParquetTable>>, query: Arc<QueryContext>) -> Result<Self> {
        let memory = scan.task.memory(&query);
        let buffer = ReadWindow::new(&memory)?;
        let columns = scan.table.row_type().iter().map(|_| Column::default()).collect();
        let (left, window) = (0..0, 0..0);
        Ok(Self { scan, query, memory, buffer, columns, morsel: 0, long: Vec::new(), left, window })
    }

    fn file_of(&self, morsel: &Morsel) -> &FileBytes {
        &self.scan.table.files()[morsel.file].file.bytes
    }

    /// Returns where the columns of some morsels of a row group are in their file.
    fn bytes_of(&self, morsels: &[Morsel]) -> Vec<Range<u64>> {
        bytes_of(&self.scan.table, morsels, &self.scan.task.columns)
    }

    /// Returns where a column's dictionaries are that may be read along with that of a morsel: if the reader comes to
    /// its row group, and the query won't end soon. Waiting for requests takes too long for what may not be needed.
    fn expected_dictionaries(&self, number: usize, column: usize) -> Vec<Range<u64>> {
        let morsels = &self.scan.plan().morsels;
        let is_same = |before: usize| Arc::ptr_eq(&morsels[before].state, &morsels[number].state);
        let has_limit = self.scan.task.request.limit.is_some();
        if has_limit || self.file_of(&morsels[number]).is_remote() || self.columns[column].morsel.is_some_and(is_same) {
            return Vec::new();
        }
        later_dictionaries(&self.scan.table, morsels, number, self.query.settings.workers, column)
    }

    /// Returns true if a filter is TRUE for no entry of its column's dictionary, so no row of the row group passes.
    fn is_refuted(&mut self, morsel: &Morsel, stages: &mut [Stage]) -> Result<bool> {
        if let Some(&refuted) = morsel.state.refuted.get() {
            return Ok(refuted);
        }
        let mut refuted = false;
        for stage in stages {
            refuted = refuted || self.stage_is_refuted(morsel, stage)?;
        }
        Ok(*morsel.state.refuted.get_or_init(|| refuted))
    }

    fn stage_is_refuted(&mut self, morsel: &Morsel, stage: &mut Stage) -> Result<bool> {
        if !stage.is_simple_predicate() {
            return Ok(false);
        }
        let column = stage.columns[0];
        let table = self.scan.table.clone();
        let file = &table.files()[morsel.file];
        let is_text = table.row_type()[column].physical == PhysicalType::Str;
        if !is_text || !is_dictionary_encoded(file, morsel.row_group, column) {
            return Ok(false);
        }
        self.open_column(column)?;
        let Some(reader) = &mut self.columns[column].native else { return Ok(false) };
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
        let rows = stage.rows(&Chunk::new(vec![vector], entries + nulls))?;
        Ok(rows.is_some_and(|rows| rows.is_empty()))
    }

    /// Returns where the pages of `row` end in long columns, if that takes reading headers: a longer window would hold
    /// two pages.
    fn page_ends(&mut self, row: usize) -> Result<impl Iterator<Item = usize> + use<>> {
        let unknown: Vec<usize> =
            self.long.iter().filter(|(_, long)| long.has_unknown_pages()).map(|(column, _)| *column).collect();
        let mut ends = Vec::with_capacity(unknown.len());
        for column in unknown {
            self.open_column(column)?;
            if let Column { arrow: None, native: Some(native), .. } = &mut self.columns[column] {
                ends.push(native.page_end(row)?);
            }
        }
        Ok(ends.into_iter())
    }

    /// Prepares the reader of a column for the morsel.
    fn open_column(&mut self, column: usize) -> Result<()> {
        if self.columns[column].morsel == Some(self.morsel) {
            return Ok(());
        }
        let dictionaries = self.expected_dictionaries(self.morsel, column);
        let reader = &mut self.columns[column];
        let table = &self.scan.table;
        let morsel = &self.scan.plan().morsels[self.morsel];
        let file = &table.files()[morsel.file];
        let file_column = file.column(column).expect("columns with a reader are in the file");
        match file.file.part(morsel.row_group, file_column, morsel.rows.clone())? {
            Some(part) => {
                let dictionary = morsel.state.dictionary(column);
                match &mut reader.native {
                    Some(native) => native.reopen(part, dictionary)?,
                    None => {
                        let range = table.range(column);
                        let native = ColumnReader::new(part, range, dictionary, &self.buffer, &self.memory)?;
                        reader.native = Some(native);
                    }
                }
                if let Some(native) = &mut reader.native {
                    native.expect_dictionaries(dictionaries);
                }
                reader.arrow = None;
            }
            // The Arrow reader would leave the months out.
            None if has_intervals(file.file.columns[file_column].field.data_type()) => {
                let name = file.file.columns[file_column].field.name();
                let message = format!("the column {name}: intervals within other values, or in an unusual encoding");
                return Err(Error::unsupported(message));
            }
            None => {
                let chunk_rows = self.query.settings.chunk_rows;
                let batch_rows = self.long.iter().map(|(_, long)| long.rows_max()).fold(chunk_rows, usize::min);
                let (rows, memory) = (morsel.rows.clone(), &self.memory);
                let arrow = ArrowColumn::open(&file.file, morsel.row_group, file_column, rows, batch_rows, memory)?;
                reader.arrow = Some(arrow);
            }
        }
        reader.morsel = Some(self.morsel);
        Ok(())
    }
}

fn has_intervals(data_type: &DataType) -> bool {
    match data_type {
        DataType::Interval(_) => true,
        DataType::List(field)
        | DataType::LargeList(field)
        | DataType::FixedSizeList(field, _)
        | DataType::Map(field, _) => has_intervals(field.data_type()),
        DataType::Struct(fields) => fields.iter().any(|field| has_intervals(field.data_type())),
        _ => false,
    }
}

impl MorselReader for ParquetReader {
    fn open(&mut self, number: usize, stages: &mut [Stage]) -> Result<Option<MorselRows>> {
        let scan = self.scan.clone();
        let Some(morsel) = scan.plan().morsels.get(number) else { return Ok(None) };
        self.morsel = number;
        let (file, chunk_rows) = (&scan.table.files()[morsel.file], self.query.settings.chunk_rows);
        let long = scan.task.columns.iter().filter_map(|&column| {
            let file_column = file.column(column)?;
            let long = LongValues::new(&file.file, morsel.row_group, file_column, &morsel.rows, chunk_rows)?;
            Some((column, long))
        });
        self.long = long.collect();
        let is_refuted = self.is_refuted(morsel, stages)?;
        self.left = if is_refuted { 0..0 } else { morsel.rows.clone() };
        Ok(Some(MorselRows { rows: morsel.rows.len(), is_refuted }))
    }

    fn read_ahead(&self, number: usize) {
        let plan = self.scan.plan();
        let Some(morsel) = plan.morsels.get(number) else { return };
        let file = self.file_of(morsel);
        let is_first = number == 0 || !Arc::ptr_eq(&plan.morsels[number - 1].state, &morsel.state);
        if !file.is_remote() {
            let mut ranges = self.bytes_of(std::slice::from_ref(morsel));
            if is_first {
                let columns = self.scan.task.columns.iter();
                ranges.extend(columns.flat_map(|&column| self.expected_dictionaries(number, column)));
            }
            file.advise_all(ranges);
        } else if is_first {
            // In few long requests: for a whole row group, when its first morsel comes near.
            file.advise_all(self.bytes_of(plan.row_group_of(number)));
        }
    }

    fn morsels_ahead(&self) -> usize {
        let workers = self.query.settings.workers;
        if self.scan.table.is_remote() { workers * REMOTE_MORSELS_AHEAD } else { workers }
    }

    fn next_window(&mut self) -> Result<Option<WindowRows>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let (start, chunk_rows) = (self.left.start, self.query.settings.chunk_rows);
        let end = self.long.iter().map(|(_, long)| long.window_end(start)).fold(start + chunk_rows, usize::min);
        let end = self.page_ends(start)?.fold(self.left.end.min(end), usize::min);
        self.window = self.left.start..end;
        self.left.start = end;
        Ok(Some(WindowRows { rows: self.window.len(), live: None }))
    }

    fn read(&mut self, column: usize, selected: Option<&[u32]>) -> Result<Vector> {
        let morsel = &self.scan.plan().morsels[self.morsel];
        let file = &self.scan.table.files()[morsel.file];
        let ty = &self.scan.table.row_type()[column];
        if let Some(made) = file.made((column, ty), morsel.row_group, &self.window, selected) {
            return Ok(made);
        }
        let file_column = file.column(column).expect("its values are in the file");
        let stored = file.file.columns[file_column].decoding.map(|decoding| decoding.stored);
        self.open_column(column)?;
        let reader = &mut self.columns[column];
        let (row, rows) = (self.window.start, self.window.len());
        match (&mut reader.arrow, &mut reader.native, stored) {
            (Some(arrow), _, Some(Stored::Uuid)) => Ok(uuids(&arrow.read(row, rows, selected)?)),
            (Some(arrow), ..) => arrow.read(row, rows, selected),
            (None, Some(native), _) => native.read(row, rows, selected),
            (None, None, _) => unreachable!("the reader was opened"),
        }
    }

    fn complete_counts(&mut self, column: usize, counts: &mut ColumnCounts) {
        let Column { native, arrow, .. } = &mut self.columns[column];
        counts.reads += native.as_mut().map(ColumnReader::take_reads).unwrap_or_default();
        if let Some(arrow) = arrow {
            let (reads, decoded) = arrow.take_counts();
            counts.reads += reads;
            counts.decoded = counts.decoded.max(decoded);
        }
    }

    fn close(&mut self) {
        let plan = self.scan.plan();
        let morsel = &plan.morsels[self.morsel];
        let file = self.file_of(morsel);
        if morsel.state.finish_morsel() && file.is_remote() {
            file.take_back(&self.bytes_of(plan.row_group_of(self.morsel)));
        }
    }
}
