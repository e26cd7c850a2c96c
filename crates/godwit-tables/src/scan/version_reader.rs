//! One worker's reader of morsels.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::scan_filter::Stage;
use godwit_pipeline::{ColumnCounts, MorselReader, MorselRows, QueryContext, Scan, WindowRows};
use godwit_storage::table::{StoredPart, WINDOW_ROWS};
use godwit_vector::{Bitmap, Vector};

use super::plan::Morsel;
use super::reader::{ColumnReader, GroupWindow};
use crate::deleted::{DELTA, Place, RowId};
use crate::delta::traced::note_read;
use crate::version::TableVersion;

/// Reads morsels in turn.
pub struct VersionReader {
    scan: Arc<Scan<TableVersion>>,
    memory: BufferManager,
    /// By column of the table, for those that are read. Row ids have none.
    columns: Vec<Option<ColumnReader>>,
    /// Number of the morsel.
    morsel: usize,
    /// Remaining rows of the morsel.
    left: Range<usize>,
    /// The window: rows of the row group, or of the delta's chunk.
    window: Range<usize>,
}

impl VersionReader {
    pub(super) fn new(scan: Arc<Scan<TableVersion>>, query: &QueryContext) -> Self {
        let (version, dictionaries) = (&scan.table, &scan.plan().dictionaries);
        let reader = |column| ColumnReader::new(version, column, dictionaries);
        let is_read = |column: &usize| scan.task.columns.contains(column);
        let columns = (0..version.row_type().len()).map(|column| Some(column).filter(is_read).map(reader)).collect();
        let memory = scan.task.memory(query);
        Self { scan, memory, columns, morsel: 0, left: 0..0, window: 0..0 }
    }

    /// The place of the window's rows, and the number of the first one.
    fn place(&self) -> (Place, usize) {
        match &self.scan.plan().morsels[self.morsel] {
            Morsel::Main(_, place, _) => (*place, self.window.start),
            Morsel::Delta(_, first) => (DELTA, first + self.window.start),
        }
    }
}

impl MorselReader for VersionReader {
    fn open(&mut self, number: usize, _stages: &mut [Stage]) -> Result<Option<MorselRows>> {
        let Some(morsel) = self.scan.plan().morsels.get(number) else { return Ok(None) };
        self.morsel = number;
        self.left = match morsel {
            Morsel::Main(_, _, rows) => rows.clone(),
            Morsel::Delta(chunk, _) => {
                let delta = self.scan.table.delta();
                let bytes = delta.bytes() / delta.rows().max(1) * chunk.len();
                self.scan.table.objects().delta().note_scan(chunk.len(), bytes as u64);
                0..chunk.len()
            }
        };
        Ok(Some(MorselRows { rows: self.left.len(), is_refuted: false }))
    }

    fn read_ahead(&self, number: usize) {
        let Some(Morsel::Main(group, _, rows)) = self.scan.plan().morsels.get(number) else { return };
        // A few rows don't need all parts.
        if rows.len() <= WINDOW_ROWS {
            return;
        }
        for (column, _) in self.columns.iter().enumerate().filter(|(_, reader)| reader.is_some()) {
            group.segments[column].parts_of(rows).iter().for_each(StoredPart::read_ahead);
        }
    }

    fn next_window(&mut self) -> Result<Option<WindowRows>> {
        if self.left.is_empty() {
            return Ok(None);
        }
        let end = self.left.end.min(self.left.start + WINDOW_ROWS);
        self.window = self.left.start..end;
        self.left.start = end;
        let (place, first) = self.place();
        let rows = self.window.len();
        let live = self.scan.table.deleted().of(place).and_then(|set| set.others(first, rows));
        Ok(Some(WindowRows { rows, live }))
    }

    fn read(&mut self, column: usize, selected: Option<&[u32]>) -> Result<Vector> {
        let (place, first) = self.place();
        let Some(reader) = self.columns.get_mut(column) else {
            return Ok(match selected {
                Some(selected) => row_ids(place, first, selected.iter().copied()),
                None => row_ids(place, first, 0..self.window.len() as u32),
            });
        };
        let reader = reader.as_mut().expect("it is one of the columns that are read");
        match &self.scan.plan().morsels[self.morsel] {
            Morsel::Main(group, _, rows) => {
                reader.read(&GroupWindow::new(&self.scan.table, group, &self.window, rows), selected, &self.memory)
            }
            Morsel::Delta(chunk, first) => {
                let object = self.scan.table.objects().delta();
                note_read(object, (chunk, *first), column, &self.window, selected);
                let kept = chunk.dense(column).slice(self.window.start, self.window.len());
                match selected {
                    Some(selected) => reader.read_delta(&kept.take(selected)),
                    None => reader.read_delta(&kept),
                }
            }
        }
    }

    fn is_packed(&self, stage: &Stage) -> bool {
        let plan = self.scan.plan();
        let &[column] = &stage.columns[..] else { return false };
        let Some(Some(reader)) = self.columns.get(column) else { return false };
        match &plan.morsels[self.morsel] {
            Morsel::Main(group, _, rows) => {
                let window = GroupWindow::new(&self.scan.table, group, &self.window, rows);
                plan.packed[stage.number].is_some() && reader.is_packed(&window)
            }
            Morsel::Delta(chunk, _) => {
                plan.delta[stage.number].is_some() && reader.is_coded(chunk.column(column).vector)
            }
        }
    }

    fn complete_counts(&mut self, column: usize, counts: &mut ColumnCounts) {
        // Row ids aren't read.
        if let Some(Some(reader)) = self.columns.get_mut(column) {
            counts.reads += reader.take_reads();
        }
    }

    fn retain(&mut self, stage: &Stage, mask: &mut [u64]) -> Result<()> {
        let plan = self.scan.plan();
        let column = stage.columns[0];
        match (&plan.morsels[self.morsel], &plan.packed[stage.number], &plan.delta[stage.number]) {
            (Morsel::Main(group, _, rows), Some(filter), _) => {
                let window = GroupWindow::new(&self.scan.table, group, &self.window, rows);
                let reader = self.columns[column].as_mut().expect("filters' columns are read");
                reader.retain(&window, filter, mask, &self.memory)?;
            }
            (Morsel::Delta(chunk, first), _, Some(passing)) => {
                note_read(self.scan.table.objects().delta(), (chunk, *first), column, &self.window, None);
                retain_codes(&chunk.dense(column).slice(self.window.start, self.window.len()), passing, mask);
            }
            _ => unreachable!("the filter is known to be decided on packed values"),
        }
        Ok(())
    }
}

/// Clears the bits of the rows whose codes don't pass; NULL doesn't.
fn retain_codes(codes: &Vector, passing: &Bitmap, mask: &mut [u64]) {
    let flat = codes.to_flat();
    for (row, &code) in flat.values::<u32>().iter().enumerate() {
        let passes = codes.is_valid(row) && passing.get(code as usize);
        mask[row / 64] &= !(u64::from(!passes) << (row % 64));
    }
}

/// The ids of rows of a place, which are counted from `first`.
fn row_ids(place: Place, first: usize, rows: impl Iterator<Item = u32>) -> Vector {
    let id = |row: u32| RowId { place, row: first as u32 + row }.to_i64();
    Vector::from_values(rows.map(id).collect::<Vec<i64>>(), None)
}
