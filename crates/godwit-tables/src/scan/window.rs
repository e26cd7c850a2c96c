//! A window under work: the rows that are left of it, and the columns that were decoded for them.
//!
//! ```text
//!   All ──filter on packed values──▶ Mask ──a column is decoded for the rows left──▶ Rows
//!    └───────filter on decoded columns: Rows                 Rows ──filter on packed values──▶ Rows, columns selected
//! ```
//!
//! Filters on packed values work on a bit per row: they combine by AND, and skip what is empty already. Columns are decoded
//! for a list of rows.

use std::ops::Range;
use std::sync::Arc;

use godwit_storage::table::{RowGroup, WINDOW_ROWS};
use godwit_vector::kernels::select::select_mask;
use godwit_vector::{Chunk, Vector};

use crate::deleted::Place;

/// A bit per row of a window; bits past its rows are clear.
pub(super) type Mask = [u64; WINDOW_ROWS / 64];

/// Up to [`WINDOW_ROWS`] rows of a row group.
pub(super) struct Window {
    pub group: Arc<RowGroup>,
    pub place: Place,
    pub rows: Range<usize>,
    /// The decoded columns, for the rows that are left.
    chunk: Chunk,
    /// Column of the table for each column of the chunk.
    decoded: Vec<usize>,
    left: Left,
}

/// The rows of a window that are left.
#[expect(clippy::large_enum_variant, reason = "on the stack, one per window; a box would be an allocation for each")]
enum Left {
    All,
    Mask(Mask),
    /// Positions in the window, ascending.
    Rows(Vec<u32>),
}

impl Window {
    pub(super) fn new(group: Arc<RowGroup>, place: Place, rows: Range<usize>) -> Self {
        let chunk = Chunk::new(Vec::new(), rows.len());
        Self { group, place, rows, chunk, decoded: Vec::new(), left: Left::All }
    }

    /// Number of rows left.
    pub(super) fn len(&self) -> usize {
        self.chunk.len()
    }

    pub(super) fn is_decoded(&self, column: usize) -> bool {
        self.decoded.contains(&column)
    }

    /// The rows left, a bit per row.
    pub(super) fn mask(&self) -> Mask {
        let mut mask = [0; WINDOW_ROWS / 64];
        match &self.left {
            Left::All => {
                let (words, rest) = (self.rows.len() / 64, self.rows.len() % 64);
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

    /// Makes a list of the rows left, unless all are.
    fn list(&mut self) {
        if let Left::Mask(mask) = &self.left {
            let mut rows = Vec::new();
            select_mask(mask, &mut rows);
            self.left = Left::Rows(rows);
        }
    }

    /// The rows of the window, and the positions in it of those that are left; `None` if all are.
    pub(super) fn rows_left(&mut self) -> (&Arc<RowGroup>, &Range<usize>, Option<&[u32]>) {
        self.list();
        let selected = match &self.left {
            Left::All => None,
            Left::Mask(_) => unreachable!("it was made a list"),
            Left::Rows(rows) => Some(&rows[..]),
        };
        (&self.group, &self.rows, selected)
    }

    /// Adds a column of the rows left.
    pub(super) fn push(&mut self, column: usize, values: Vector) {
        self.chunk.push(values);
        self.decoded.push(column);
    }

    /// Keeps the rows of a mask, all of which were left.
    pub(super) fn keep_mask(&mut self, mask: Mask) {
        let kept = mask.iter().map(|word| word.count_ones() as usize).sum();
        if kept == self.len() {
            return;
        }
        if self.decoded.is_empty() {
            self.chunk = Chunk::new(Vec::new(), kept);
            self.left = Left::Mask(mask);
            return;
        }
        let is_kept = |row: u32| mask[row as usize / 64] >> (row % 64) & 1 == 1;
        let positions = match self.rows_left() {
            (_, rows, None) => (0..rows.len() as u32).filter(|&row| is_kept(row)).collect(),
            (_, _, Some(left)) => (0..).zip(left).filter(|(_, row)| is_kept(**row)).map(|(at, _)| at).collect(),
        };
        self.keep(positions);
    }

    /// Keeps those of the rows left that are at `kept`, ascending.
    pub(super) fn keep(&mut self, kept: Vec<u32>) {
        self.chunk.select(&kept);
        self.left = Left::Rows(match self.rows_left() {
            (_, _, None) => kept,
            (_, _, Some(left)) => kept.iter().map(|&position| left[position as usize]).collect(),
        });
    }

    /// Decoded columns of the table, for the rows left.
    pub(super) fn project(&self, columns: &[usize]) -> Chunk {
        let position = |column: &usize| self.decoded.iter().position(|known| known == column).expect("it was decoded");
        self.chunk.project(&columns.iter().map(position).collect::<Vec<usize>>())
    }
}
