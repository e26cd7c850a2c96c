//! Gathers columns from rows.

use arrow_buffer::ScalarBuffer;
use godwit_vector::{Bitmap, Flat, PhysicalType, StrColumn, StrView, Vector};

use crate::Rows;

/// Prefetch distance, in rows, for scattered rows: far enough to hide a miss of about 100 ns behind rows that take some
/// nanoseconds each, near enough that the lines are still in the L1 cache.
const PREFETCH_ROWS: usize = 24;

impl Rows<'_> {
    /// A column of the rows as a flat vector. Long strings aren't copied, unless their owner may overwrite them: the
    /// vector keeps their pages pinned.
    pub fn gather(self, column: usize) -> Vector {
        self.check_readable();
        let offset = self.layout().column_offset(column);
        let flat = match self.layout().columns()[column] {
            PhysicalType::Bool => Flat::Bool(self.gather_values(offset)),
            PhysicalType::I8 => Flat::I8(self.gather_values(offset)),
            PhysicalType::I16 => Flat::I16(self.gather_values(offset)),
            PhysicalType::I32 => Flat::I32(self.gather_values(offset)),
            PhysicalType::I64 => Flat::I64(self.gather_values(offset)),
            PhysicalType::I128 => Flat::I128(self.gather_values(offset)),
            PhysicalType::U8 => Flat::U8(self.gather_values(offset)),
            PhysicalType::U16 => Flat::U16(self.gather_values(offset)),
            PhysicalType::U32 => Flat::U32(self.gather_values(offset)),
            PhysicalType::U64 => Flat::U64(self.gather_values(offset)),
            PhysicalType::F32 => Flat::F32(self.gather_values(offset)),
            PhysicalType::F64 => Flat::F64(self.gather_values(offset)),
            PhysicalType::Str => {
                let views = self.read_all::<StrView>(offset);
                // SAFETY: the views of pinned rows point into heap pages that the pins of their strings keep in place.
                let strings = unsafe { StrColumn::new(views, self.pins().strings()) };
                Flat::Str(if self.strings_may_change() { StrColumn::from_strings(strings.iter()) } else { strings })
            }
            PhysicalType::Nested => unreachable!("a layout has no nested columns"),
        };
        Vector::flat(flat, self.gather_validity(column))
    }

    fn gather_values<T: arrow_buffer::ArrowNativeType>(self, offset: usize) -> ScalarBuffer<T> {
        self.read_all(offset).into()
    }

    fn gather_validity(self, column: usize) -> Option<Bitmap> {
        let (layout, rows) = (self.layout(), self.pointers());
        if layout.has_nulls(column) {
            self.note_loads(layout.validity_bit(column).0);
        }
        // SAFETY: the rows are pinned.
        let is_valid = |row: usize| unsafe { layout.is_valid(rows[row], column) };
        layout.has_nulls(column).then(|| Bitmap::from_fn(rows.len(), is_valid))
    }

    /// The field at `offset` of all rows.
    #[inline]
    fn read_all<T: Copy>(self, offset: usize) -> Vec<T> {
        self.note_loads(offset);
        // SAFETY of both reads: the rows are pinned, and the field lies inside them.
        let rows = self.pointers();
        let mut values = Vec::with_capacity(rows.len());
        let ahead = if self.are_adjacent() { &[] } else { rows.get(PREFETCH_ROWS..).unwrap_or(&[]) };
        values.extend(rows.iter().zip(ahead).map(|(row, later)| {
            later.prefetch(offset);
            // SAFETY: see above.
            unsafe { row.read::<T>(offset) }
        }));
        // SAFETY: see above.
        values.extend(rows[ahead.len()..].iter().map(|row| unsafe { row.read::<T>(offset) }));
        values
    }

    /// Whether the rows seem to be adjacent in memory: then the processor prefetches by itself.
    fn are_adjacent(self) -> bool {
        let rows = self.pointers();
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return true };
        last.address().wrapping_sub(first.address()) == ((rows.len() - 1) * self.layout().row_bytes()) as u64
    }
}
