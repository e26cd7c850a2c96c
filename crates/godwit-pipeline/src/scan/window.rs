//! A window being processed: its remaining rows, and the columns read for them.
//!
//! ```text
//!   All ──filter on packed values──▶ Mask ──a column is read for the rows left──▶ Rows
//!    └───────filter on columns: Rows                    Rows ──filter on packed values──▶ Rows, columns selected
//! ```
//!
//! Filters on packed values work on one bit per row: they combine by AND, and skip blocks without set bits. Columns are
//! read for a list of rows.

use godwit_common::Result;
use godwit_vector::kernels::select::select_mask;
use godwit_vector::{CHUNK_ROWS, Chunk};

use super::columns::ColumnCounts;
use super::driver::MorselReader;
use crate::scan_filter::Stage;

/// A bit per row of a window; bits past its rows are clear.
type Mask = [u64; CHUNK_ROWS / 64];

/// Some rows of a morsel.
pub(super) struct ScanWindow {
    /// Number of rows, including those already removed.
    rows: usize,
    /// The columns that have been read, for the remaining rows.
    chunk: Chunk,
    /// Column of the table for each column of the chunk.
    columns: Vec<usize>,
    left: Left,
}

/// The remaining rows of a window.
#[expect(clippy::large_enum_variant, reason = "on the stack, one per window; a box would be an allocation for each")]
enum Left {
    All,
    Mask(Mask),
    /// Positions in the window, ascending.
    Rows(Vec<u32>),
}

impl ScanWindow {
    /// A window of `rows` rows, of which only `live` exist if given.
    pub(super) fn new(rows: usize, live: Option<Vec<u32>>) -> Self {
        let chunk = Chunk::new(Vec::new(), live.as_ref().map_or(rows, Vec::len));
        Self { rows, chunk, columns: Vec::new(), left: live.map_or(Left::All, Left::Rows) }
    }

    /// Number of remaining rows.
    pub(super) fn len(&self) -> usize {
        self.chunk.len()
    }

    /// Reads columns for the remaining rows, unless they have already been read. `counts` are by column.
    pub(super) fn read(
        &mut self,
        columns: &[usize],
        reader: &mut impl MorselReader,
        counts: &mut [ColumnCounts],
    ) -> Result<()> {
        for &column in columns {
            if !self.columns.contains(&column) {
                let values = reader.read(column, self.selected())?;
                counts[column].decoded += values.len() as u64;
                self.chunk.push(values);
                self.columns.push(column);
            }
        }
        Ok(())
    }

    /// Keeps the rows that pass a filter on packed values; returns `false` if there are no packed values for it.
    pub(super) fn retain_packed(
        &mut self,
        stage: &Stage,
        reader: &mut impl MorselReader,
        counts: &mut [ColumnCounts],
    ) -> Result<bool> {
        if stage.columns.iter().any(|column| self.columns.contains(column)) || !reader.is_packed(stage) {
            return Ok(false);
        }
        let mut mask = self.mask();
        reader.retain(stage, &mut mask[..self.rows.div_ceil(64)])?;
        stage.columns.iter().for_each(|&column| counts[column].packed += self.len() as u64);
        self.keep_mask(mask);
        Ok(true)
    }

    /// The remaining rows, one bit per row.
    fn mask(&self) -> Mask {
        let mut mask = [0; CHUNK_ROWS / 64];
        match &self.left {
            Left::All => {
                let (words, rest) = (self.rows / 64, self.rows % 64);
                mask[..words].fill(u64::MAX);
                if rest > 0 {
                    mask[words] = (1 << rest) - 1;
                }
            }
            Left::Mask(known) => mask = *known,
            Left::Rows(rows) => rows.iter().for_each(|&row| mask[row as usize / 64] |= 1 << (row % 64)),
        }
        mask
    }

    /// Positions of the remaining rows; `None` if none has been removed.
    fn selected(&mut self) -> Option<&[u32]> {
        if let Left::Mask(mask) = &self.left {
            let mut rows = Vec::new();
            select_mask(mask, &mut rows);
            self.left = Left::Rows(rows);
        }
        match &self.left {
            Left::All => None,
            Left::Mask(_) => unreachable!("it was made a list"),
            Left::Rows(rows) => Some(rows),
        }
    }

    /// Keeps the rows of a mask, all of which are among the remaining ones.
    fn keep_mask(&mut self, mask: Mask) {
        let kept = mask.iter().map(|word| word.count_ones() as usize).sum();
        if kept == self.len() {
            return;
        }
        if self.columns.is_empty() {
            self.chunk = Chunk::new(Vec::new(), kept);
            self.left = Left::Mask(mask);
            return;
        }
        let is_kept = |row: u32| mask[row as usize / 64] >> (row % 64) & 1 == 1;
        let rows = self.rows as u32;
        let positions = match self.selected() {
            None => (0..rows).filter(|&row| is_kept(row)).collect(),
            Some(left) => (0..).zip(left).filter(|(_, row)| is_kept(**row)).map(|(at, _)| at).collect(),
        };
        self.keep(positions);
    }

    /// Keeps those of the remaining rows that are at the positions `kept`, which are ascending.
    pub(super) fn keep(&mut self, kept: Vec<u32>) {
        self.chunk.select(&kept);
        self.left = Left::Rows(match self.selected() {
            None => kept,
            Some(left) => kept.iter().map(|&position| left[position as usize]).collect(),
        });
    }

    /// Columns of the table that have been read, for the remaining rows.
    pub(super) fn project(&self, columns: &[usize]) -> Chunk {
        let position = |column: &usize| self.columns.iter().position(|known| known == column).expect("it was read");
        self.chunk.project(&columns.iter().map(position).collect::<Vec<usize>>())
    }
}
