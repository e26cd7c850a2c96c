//! The order of rows in pages by some of their columns.

use std::cmp::Ordering;
use std::sync::Arc;

use godwit_vector::kernels::compare::is_distinct;
use godwit_vector::{PhysicalType, StrView, Vector};

use crate::row_ptr::{RowPtr, prefetch};
use crate::{RowLayout, Rows};

/// One column of an order.
#[derive(Debug, Clone, Copy)]
pub struct RowOrderKey {
    /// Index of the column.
    pub column: usize,
    /// Largest first.
    pub descending: bool,
    /// NULLs before all values, whatever the direction.
    pub nulls_first: bool,
}

/// Compares pinned rows of one layout, one pair at a time: for the few that normalized keys can't tell apart.
///
/// NaN is above all other floats, −0 equals 0, and strings are ordered by bytes.
#[derive(Debug)]
pub struct RowOrder {
    layout: Arc<RowLayout>,
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    column: usize,
    physical: PhysicalType,
    offset: usize,
    /// Byte offset and bit number of the flag that is set if the value isn't NULL.
    validity: (usize, u32),
    descending: bool,
    nulls_first: bool,
}

impl RowOrder {
    /// The order of rows of `layout` by `keys`, most significant first.
    pub fn new(layout: &Arc<RowLayout>, keys: Vec<RowOrderKey>) -> Self {
        assert!(!layout.extra().is_for_states(), "rows that may have an owner aren't ordered");
        let keys = keys.into_iter().map(|key| Key {
            column: key.column,
            physical: layout.columns()[key.column],
            offset: layout.column_offset(key.column),
            validity: layout.validity_bit(key.column),
            descending: key.descending,
            nulls_first: key.nulls_first,
        });
        Self { layout: layout.clone(), keys: keys.collect() }
    }

    /// Whether the largest value of a key comes first.
    pub fn is_descending(&self, key: usize) -> bool {
        self.keys[key].descending
    }

    /// The order of the rows at these positions.
    pub fn compare_rows(&self, a: Rows<'_>, a_position: usize, b: Rows<'_>, b_position: usize) -> Ordering {
        self.check(a.layout());
        self.check(b.layout());
        // SAFETY: both rows are pinned, and of the layout of the order.
        unsafe { self.compare(a.pointers()[a_position], b.pointers()[b_position]) }
    }

    /// Tells a memory trace that each of these rows, which hold the values of `columns`, was compared with the one before it.
    pub fn note_neighbours(&self, rows: Rows<'_>, columns: &[Vector]) {
        self.check(rows.layout());
        godwit_trace::loads(|loads| {
            let pointers = rows.pointers();
            let mut equal: Vec<usize> = (1..rows.len()).collect();
            for key in &self.keys {
                for offset in [key.validity.0, key.offset] {
                    let row = |load: usize| pointers[equal[load / 2] - load % 2];
                    loads.each(2 * equal.len(), |load| row(load).as_ptr().wrapping_add(offset));
                }
                if equal.is_empty() {
                    break;
                }
                // Not by the rows: comparing them again would double the loads that are told.
                let values = &columns[key.column];
                let pairs = rows.len() - 1;
                let same = is_distinct(&values.slice(0, pairs), &values.slice(1, pairs), true).to_flat();
                equal.retain(|&at| same.bools()[at - 1] == 1);
            }
        });
    }

    /// # Panics
    /// If rows of this layout have another order: a bug in the plan.
    #[inline(always)]
    pub(crate) fn check(&self, layout: &Arc<RowLayout>) {
        assert!(Arc::ptr_eq(&self.layout, layout), "rows of another layout");
    }

    /// Passes the string of a key to `read`, for a row that isn't NULL there.
    ///
    /// # Safety
    /// The row is a pinned one of the layout, and so is its string.
    #[inline(always)]
    pub(crate) unsafe fn read_string<R>(&self, key: usize, row: RowPtr, read: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: the caller's promise; views are inline or point to their strings, and that of a NULL is empty.
        let view = unsafe { self.view(key, row) };
        // SAFETY: as above.
        read(unsafe { view.as_bytes() })
    }

    /// Prefetches the memory that [`Self::read_string`] reads first.
    #[inline(always)]
    pub(crate) fn prefetch_view(&self, key: usize, row: RowPtr) {
        row.prefetch(self.keys[key].offset);
    }

    /// Prefetches the memory that [`Self::read_string`] reads next; reads what [`Self::prefetch_view`] has prefetched.
    ///
    /// # Safety
    /// The row is a pinned one of the layout.
    #[inline(always)]
    pub(crate) unsafe fn prefetch_string(&self, key: usize, row: RowPtr) {
        // SAFETY: the caller's promise.
        let view = unsafe { self.view(key, row) };
        if !view.is_inline() {
            prefetch(view.pointer());
        }
    }

    /// # Safety
    /// The row is a pinned one of the layout.
    #[inline(always)]
    unsafe fn view(&self, key: usize, row: RowPtr) -> StrView {
        let key = &self.keys[key];
        assert_eq!(key.physical, PhysicalType::Str, "only strings have views");
        // SAFETY: the caller's promise; the row has a view at this offset.
        unsafe { StrView::from_bits(row.read::<u128>(key.offset)) }
    }

    /// The order of two rows.
    ///
    /// # Safety
    /// Both are pinned ones of the layout, and so are their strings.
    pub(crate) unsafe fn compare(&self, a: RowPtr, b: RowPtr) -> Ordering {
        // SAFETY: the caller's promise.
        self.keys.iter().map(|key| unsafe { key.compare(a, b) }).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl Key {
    /// # Safety
    /// Both rows are pinned ones of the layout, and so are their strings: for the other functions, too.
    unsafe fn compare(&self, a: RowPtr, b: RowPtr) -> Ordering {
        // SAFETY: the caller's promise.
        match unsafe { (self.is_valid(a), self.is_valid(b)) } {
            // SAFETY: see above.
            (true, true) if self.descending => unsafe { self.compare_values(b, a) },
            // SAFETY: see above.
            (true, true) => unsafe { self.compare_values(a, b) },
            (false, false) => Ordering::Equal,
            (a_is_valid, _) => {
                if a_is_valid == self.nulls_first {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
        }
    }

    /// # Safety
    /// See [`Self::compare`].
    unsafe fn is_valid(&self, row: RowPtr) -> bool {
        let (offset, bit) = self.validity;
        // SAFETY: the caller's promise; the offset lies inside the row.
        unsafe { row.read::<u8>(offset) >> bit & 1 == 1 }
    }

    /// # Safety
    /// See [`Self::compare`].
    unsafe fn compare_values(&self, a: RowPtr, b: RowPtr) -> Ordering {
        macro_rules! values {
            ($t:ty) => {
                // SAFETY: the caller's promise; the rows hold a value of this type there.
                unsafe { (a.read::<$t>(self.offset), b.read::<$t>(self.offset)) }
            };
        }
        macro_rules! integers {
            ($t:ty) => {{
                let (a, b) = values!($t);
                a.cmp(&b)
            }};
        }
        macro_rules! floats {
            ($t:ty) => {{
                let (a, b) = values!($t);
                a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
            }};
        }
        match self.physical {
            PhysicalType::Bool | PhysicalType::U8 => integers!(u8),
            PhysicalType::I8 => integers!(i8),
            PhysicalType::I16 => integers!(i16),
            PhysicalType::I32 => integers!(i32),
            PhysicalType::I64 => integers!(i64),
            PhysicalType::I128 => integers!(i128),
            PhysicalType::U16 => integers!(u16),
            PhysicalType::U32 => integers!(u32),
            PhysicalType::U64 => integers!(u64),
            PhysicalType::F32 => floats!(f32),
            PhysicalType::F64 => floats!(f64),
            PhysicalType::Str => {
                let (a, b) = values!(u128);
                // SAFETY: the caller's promise.
                unsafe { StrView::from_bits(a).compare(&StrView::from_bits(b)) }
            }
            PhysicalType::Nested => unreachable!("a layout has no nested columns"),
        }
    }
}
