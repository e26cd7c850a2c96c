//! Rows to columns.

use arrow_buffer::ScalarBuffer;
use godwit_vector::{Bitmap, Flat, Heaps, PhysicalType, StrColumn, StrView, Vector};

use crate::{RowLayout, RowPtr};

/// How many rows ahead memory is asked for when the rows lie apart: far enough to hide a miss of about 100 ns behind
/// rows that take some nanoseconds each, near enough that the lines are still in the L1 cache.
const PREFETCH_ROWS: usize = 24;

impl RowLayout {
    /// A column of rows as a flat vector. Long strings aren't copied: the vector keeps `heaps`, which came with the
    /// rows, alive.
    pub fn gather(&self, rows: &[RowPtr], column: usize, heaps: &Heaps) -> Vector {
        let offset = self.column_offset(column);
        let flat = match self.columns()[column] {
            PhysicalType::Bool => Flat::Bool(self.gather_values(rows, offset)),
            PhysicalType::I8 => Flat::I8(self.gather_values(rows, offset)),
            PhysicalType::I16 => Flat::I16(self.gather_values(rows, offset)),
            PhysicalType::I32 => Flat::I32(self.gather_values(rows, offset)),
            PhysicalType::I64 => Flat::I64(self.gather_values(rows, offset)),
            PhysicalType::I128 => Flat::I128(self.gather_values(rows, offset)),
            PhysicalType::U8 => Flat::U8(self.gather_values(rows, offset)),
            PhysicalType::U16 => Flat::U16(self.gather_values(rows, offset)),
            PhysicalType::U32 => Flat::U32(self.gather_values(rows, offset)),
            PhysicalType::U64 => Flat::U64(self.gather_values(rows, offset)),
            PhysicalType::F32 => Flat::F32(self.gather_values(rows, offset)),
            PhysicalType::F64 => Flat::F64(self.gather_values(rows, offset)),
            PhysicalType::Str => {
                let views = self.read_all::<StrView>(rows, offset);
                // SAFETY: the views of pinned rows point into the heap pages of their block or collection, which
                // `heaps` keeps pinned by the contract of row pointers.
                Flat::Str(unsafe { StrColumn::new(views, heaps.clone()) })
            }
            PhysicalType::Nested => unreachable!("a layout has no nested columns"),
        };
        Vector::flat(flat, self.gather_validity(rows, column))
    }

    fn gather_values<T: arrow_buffer::ArrowNativeType>(&self, rows: &[RowPtr], offset: usize) -> ScalarBuffer<T> {
        self.read_all(rows, offset).into()
    }

    fn gather_validity(&self, rows: &[RowPtr], column: usize) -> Option<Bitmap> {
        self.has_nulls(column).then(|| Bitmap::from_fn(rows.len(), |row| self.is_valid(rows[row], column)))
    }

    /// The field at `offset` of all rows.
    #[inline]
    fn read_all<T: Copy>(&self, rows: &[RowPtr], offset: usize) -> Vec<T> {
        // SAFETY of both reads: the rows are pinned by the contract of row pointers, and the field lies inside them.
        let mut values = Vec::with_capacity(rows.len());
        let ahead = if self.are_adjacent(rows) { &[] } else { rows.get(PREFETCH_ROWS..).unwrap_or(&[]) };
        values.extend(rows.iter().zip(ahead).map(|(row, later)| {
            later.prefetch(offset);
            // SAFETY: see above.
            unsafe { row.read::<T>(offset) }
        }));
        // SAFETY: see above.
        values.extend(rows[ahead.len()..].iter().map(|row| unsafe { row.read::<T>(offset) }));
        values
    }

    /// Do the rows seem to follow each other? Then the processor fetches ahead by itself.
    fn are_adjacent(&self, rows: &[RowPtr]) -> bool {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return true };
        last.address().wrapping_sub(first.address()) == ((rows.len() - 1) * self.row_bytes()) as u64
    }
}
