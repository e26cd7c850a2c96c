//! Writes columns to rows, column by column.

use godwit_vector::{Bitmap, Data, Flat, PhysicalType, StrView, Vector, match_flat};

use crate::RowLayout;
use crate::place::{Order, RowSource};
use crate::row_ptr::RowPtr;

/// Dense columns of one length, and one hash for each of their rows if the layout keeps hashes.
pub(crate) struct Columns<'a> {
    columns: &'a [Vector],
    hashes: Option<&'a [u64]>,
}

impl<'a> Columns<'a> {
    /// Checks once what the loops rely on: types, lengths, and that `order` stays in bounds.
    ///
    /// # Panics
    /// If the columns don't have the types of the layout: a bug in the plan.
    pub(crate) fn new(layout: &RowLayout, columns: &'a [Vector], hashes: Option<&'a [u64]>, order: Order<'_>) -> Self {
        let types = columns.iter().map(Vector::physical);
        assert!(types.eq(layout.columns().iter().copied()), "columns must have the types of the row layout");
        assert_eq!(layout.has_hash(), hashes.is_some(), "rows get hashes exactly if their layout keeps them");
        let positions = match order {
            Order::All { end, .. } => end,
            Order::Rows(rows) => rows.iter().max().map_or(0, |&row| row as usize + 1),
        };
        assert!(columns.iter().all(|column| positions <= column.len()), "a row lies outside the columns");
        assert!(hashes.is_none_or(|hashes| positions <= hashes.len()), "a row lies outside the hashes");
        Self { columns, hashes }
    }
}

impl RowSource for Columns<'_> {
    fn heap_bytes(&self, order: Order<'_>, bytes: &mut [u64]) {
        for column in self.columns.iter().filter(|column| column.physical() == PhysicalType::Str) {
            each_view(column, order, bytes.iter_mut(), |bytes, view| {
                *bytes += if view.is_inline() { 0 } else { view.len() as u64 };
            });
        }
    }

    unsafe fn write(&self, layout: &RowLayout, order: Order<'_>, rows: &[RowPtr], heap: &mut [RowPtr]) {
        assert_eq!(order.len(), rows.len());
        for (column, vector) in self.columns.iter().enumerate() {
            let offset = layout.column_offset(column);
            match vector.physical() {
                PhysicalType::Str => scatter_strings(vector, offset, order, rows, heap),
                physical => match physical.width_bytes() {
                    1 => scatter::<u8>(vector, offset, order, rows),
                    2 => scatter::<u16>(vector, offset, order, rows),
                    4 => scatter::<u32>(vector, offset, order, rows),
                    8 => scatter::<u64>(vector, offset, order, rows),
                    _ => scatter::<u128>(vector, offset, order, rows),
                },
            }
        }
        self.scatter_validity(layout, order, rows);
        if let Some(hashes) = self.hashes {
            let offset = layout.hash_offset();
            order.zip(rows.iter(), |row, position| {
                // SAFETY: the row was placed on a pinned page for us; positions were checked in `new`.
                unsafe { row.write(offset, *hashes.get_unchecked(position)) }
            });
        }
        let (extra, extra_bytes) = (layout.extra_offset(), layout.extra_bytes());
        for offset in (extra..extra + extra_bytes).step_by(8) {
            // SAFETY: the rows were placed on pinned pages for us, and the extra area lies inside them.
            rows.iter().for_each(|row| unsafe { row.write(offset, 0u64) });
        }
    }
}

impl Columns<'_> {
    /// Writes the validity bytes: a byte for eight columns at a time.
    fn scatter_validity(&self, layout: &RowLayout, order: Order<'_>, rows: &[RowPtr]) {
        for (group, columns) in self.columns.chunks(8).enumerate() {
            let offset = layout.validity_offset() + group;
            // SAFETY: the rows were placed on pinned pages for us, and the validity bytes lie inside them.
            rows.iter().for_each(|row| unsafe { row.write(offset, u8::MAX) });
            for (bit, column) in columns.iter().enumerate() {
                let Some(validity) = column.validity() else { continue };
                layout.note_nulls(group * 8 + bit);
                order.zip(rows.iter(), |row, position| {
                    let null = !validity.get(position) as u8;
                    // SAFETY: as above.
                    unsafe { row.write(offset, row.read::<u8>(offset) & !(null << bit)) }
                });
            }
        }
    }
}

/// The values of a fixed-width buffer as plain words of the same width.
pub(crate) fn words<T: Copy>(flat: &Flat) -> &[T] {
    fn cast<S, T>(values: &[S]) -> &[T] {
        assert!(size_of::<S>() == size_of::<T>() && align_of::<S>() == align_of::<T>());
        // SAFETY: both are plain numbers of the same size and alignment.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<T>(), values.len()) }
    }
    match_flat!(flat, values => cast(&values[..]), _s => panic!("strings are no words"), _n => panic!("nested"))
}

fn scatter<T: Copy + Default>(vector: &Vector, offset: usize, order: Order<'_>, rows: &[RowPtr]) {
    // SAFETY of all writes: the rows were placed on pinned pages for us, and the column lies inside them.
    match vector.data() {
        Data::Flat(flat) => {
            let values = words::<T>(flat);
            debug_assert_eq!(values.len(), vector.len());
            order.zip(rows.iter(), |row, position| {
                // SAFETY: see above; positions were checked in `new` against the length of the vector.
                unsafe { row.write(offset, *values.get_unchecked(position)) }
            });
        }
        Data::Constant(flat) => {
            let value = words::<T>(flat)[0];
            // SAFETY: see above.
            rows.iter().for_each(|row| unsafe { row.write(offset, value) });
        }
        // Without entries all rows are NULL, and any value will do.
        Data::Dictionary(_, dictionary) if dictionary.is_empty() => {
            // SAFETY: see above.
            rows.iter().for_each(|row| unsafe { row.write(offset, T::default()) });
        }
        Data::Dictionary(codes, dictionary) => {
            let values = words::<T>(dictionary.values());
            // SAFETY: see above.
            order.zip(rows.iter(), |row, position| unsafe { row.write(offset, values[codes[position] as usize]) });
        }
    }
}

/// Calls `each(item, view)` for the string of every row; the view of a NULL is the empty one.
#[inline(always)]
pub(crate) fn each_view<T>(
    vector: &Vector,
    order: Order<'_>,
    items: impl Iterator<Item = T>,
    mut each: impl FnMut(T, StrView),
) {
    #[inline(always)]
    fn checked<T>(
        validity: Option<&Bitmap>,
        order: Order<'_>,
        items: impl Iterator<Item = T>,
        view: impl Fn(usize) -> StrView,
        mut each: impl FnMut(T, StrView),
    ) {
        match validity {
            None => order.zip(items, |item, position| each(item, view(position))),
            Some(validity) => order.zip(items, |item, position| {
                each(item, if validity.get(position) { view(position) } else { StrView::default() });
            }),
        }
    }
    let validity = vector.validity().map(|validity| &**validity);
    match vector.data() {
        Data::Flat(flat) => {
            let views = flat.strings().views();
            checked(validity, order, items, |position| views[position], each);
        }
        Data::Constant(flat) => {
            let view = flat.strings().views()[0];
            checked(validity, order, items, |_| view, each);
        }
        Data::Dictionary(_, dictionary) if dictionary.is_empty() => {
            order.zip(items, |item, _| each(item, StrView::default()));
        }
        Data::Dictionary(codes, dictionary) => {
            let views = dictionary.values().strings().views();
            checked(validity, order, items, |position| views[codes[position] as usize], each);
        }
    }
}

fn scatter_strings(vector: &Vector, offset: usize, order: Order<'_>, rows: &[RowPtr], heap: &mut [RowPtr]) {
    if heap.is_empty() {
        // SAFETY: the rows were placed on pinned pages for us, and the column lies inside them.
        each_view(vector, order, rows.iter(), |row, view| unsafe { row.write(offset, view.bits()) });
        return;
    }
    each_view(vector, order, rows.iter().zip(heap), |(row, heap), view| {
        // SAFETY: as above; the vector keeps the strings alive, and room for all strings of a row was placed at `heap`.
        unsafe { write_string(*row, offset, view, heap) }
    });
}

/// Writes a view into a row; the bytes of a long string go to `heap`, which advances past them.
///
/// # Safety
/// The row is placed, `offset` is that of a string column, the string is alive, and `heap` has room for it.
#[inline(always)]
pub(crate) unsafe fn write_string(row: RowPtr, offset: usize, view: StrView, heap: &mut RowPtr) {
    if view.is_inline() {
        // SAFETY: the caller's promise.
        unsafe { row.write(offset, view.bits()) };
    } else {
        let target = heap.as_ptr();
        // SAFETY: the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(view.pointer(), target, view.len());
            row.write(offset, view.with_pointer(target).bits());
        }
        *heap = RowPtr::new(target.wrapping_add(view.len()));
    }
}
