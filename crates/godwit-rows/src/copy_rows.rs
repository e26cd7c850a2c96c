//! Copies rows to rows of the same layout: for sorted runs, and for partitions that are refined.

use std::sync::atomic::Ordering;

use godwit_vector::StrView;

use crate::place::{Order, RowSource};
use crate::row_ptr::RowPtr;
use crate::scatter::write_string;
use crate::{RowLayout, Rows};

/// Rows are copied with everything they hold: columns, hash, extra area.
pub(crate) struct Copied<'a>(Rows<'a>);

impl<'a> Copied<'a> {
    pub(crate) fn new(rows: Rows<'a>) -> Self {
        rows.check_readable();
        Self(rows)
    }

    /// Calls `each(item, row, view)` for a string column.
    #[inline(always)]
    fn each_view<T>(
        &self,
        column: usize,
        order: Order<'_>,
        items: impl Iterator<Item = T>,
        mut each: impl FnMut(T, StrView),
    ) {
        let (offset, rows) = (self.0.layout().column_offset(column), self.0.pointers());
        order.zip(items, |item, position| {
            // SAFETY: the rows are pinned, and the column holds a view.
            each(item, StrView::from_bits(unsafe { rows[position].read::<u128>(offset) }));
        });
    }
}

impl RowSource for Copied<'_> {
    fn heap_bytes(&self, order: Order<'_>, bytes: &mut [u64]) {
        for &column in self.0.layout().strings() {
            self.each_view(column, order, bytes.iter_mut(), |bytes, view| {
                *bytes += if view.is_inline() { 0 } else { view.len() as u64 };
            });
        }
    }

    unsafe fn write(&self, layout: &RowLayout, order: Order<'_>, rows: &[RowPtr], heap: &mut [RowPtr]) {
        assert_eq!(order.len(), rows.len());
        let sources = self.0.pointers();
        // Links and extremes may change meanwhile.
        let atomic = if layout.extra().is_atomic() { layout.extra_offset() } else { layout.row_bytes() };
        order.zip(rows.iter(), |row, position| {
            let source = sources[position];
            // SAFETY: both rows are pinned, of the same layout, and readable; the target was placed for us alone.
            unsafe { std::ptr::copy_nonoverlapping(source.as_ptr(), row.as_ptr(), atomic) };
            for word in (atomic..layout.row_bytes()).step_by(8) {
                // SAFETY: as above; the words of such an extra area are accessed atomically.
                unsafe { row.write(word, source.atomic_u64(word).load(Ordering::Relaxed)) };
            }
        });
        if heap.is_empty() {
            return;
        }
        for &column in layout.strings() {
            let offset = layout.column_offset(column);
            self.each_view(column, order, rows.iter().zip(heap.iter_mut()), |(row, heap), view| {
                // SAFETY: the row was placed for us with room for its strings at `heap`; the source's strings are
                // pinned with its rows.
                unsafe { write_string(*row, offset, view, heap) }
            });
        }
    }
}
