//! The least and the greatest value recorded for a key, stored in the head of the key's chain in a join table.
//!
//! ```text
//! extra area of a row   | link 8 | least 8 | greatest 8 |
//! ```
//!
//! Both are stored as distances, from `i64::MAX` down to the least and from `i64::MIN` up to the greatest: words that
//! are 0 in a new row and only ever grow. The *found* bit of the head's link (links.rs) tells whether there was any
//! value.
//!
//! Heads are those returned by lookups after all rows were inserted. All workers record values concurrently; they are
//! read once there are no more.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use godwit_vector::{PhysicalType, Vector};

use crate::row_ptr::RowPtr;
use crate::{Extra, IntegerKey, RowLayout, Rows, match_integers};

/// Where rows store the least and the greatest value of their key.
#[derive(Clone)]
pub struct KeyExtremes {
    layout: Arc<RowLayout>,
    least: usize,
    greatest: usize,
}

/// One of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// The least value.
    Least,
    /// The greatest value.
    Greatest,
}

impl KeyExtremes {
    /// In the extra area of the layout's rows, after the link.
    pub fn new(layout: &Arc<RowLayout>) -> Self {
        assert_eq!(layout.extra(), Extra::LinkAndExtremes, "rows have room for extremes");
        let (least, greatest) = (layout.extra_offset() + 8, layout.extra_offset() + 16);
        Self { layout: layout.clone(), least, greatest }
    }

    /// True for integers that fit in a signed 64-bit integer.
    pub fn supports(physical: PhysicalType) -> bool {
        physical.is_integer() && !matches!(physical, PhysicalType::U64 | PhysicalType::I128)
    }

    /// Records a value for each of these heads: value `i` of a vector without NULLs for head `i`.
    ///
    /// # Panics
    /// If the values are of a type that isn't supported: a bug in the plan.
    pub fn include(&self, heads: Rows<'_>, values: &Vector) {
        assert!(Self::supports(values.physical()) && heads.len() == values.len());
        assert!(heads.layout().reads(&self.layout), "rows of another layout");
        match_integers!(&values.to_flat(), values => for (&head, value) in heads.pointers().iter().zip(values) {
            let distance = value.offset_from(i64::MIN);
            // SAFETY: the row is pinned, and has both words.
            unsafe {
                raise(head, self.greatest, distance);
                raise(head, self.least, !distance);
            }
        });
    }

    /// The least or greatest value of each of these heads, which all have one.
    pub fn gather(&self, heads: Rows<'_>, which: Extreme, physical: PhysicalType) -> Vector {
        assert!(heads.layout().reads(&self.layout), "rows of another layout");
        // SAFETY: the row is pinned, and has both words.
        let load = |head: &RowPtr, word| unsafe { head.atomic_u64(word) }.load(Ordering::Relaxed);
        let distance = |head: &RowPtr| match which {
            Extreme::Least => !load(head, self.least),
            Extreme::Greatest => load(head, self.greatest),
        };
        let values = heads.pointers().iter().map(|head| i64::MIN.wrapping_add_unsigned(distance(head)));
        match physical {
            PhysicalType::I8 => Vector::from_values(values.map(|value| value as i8).collect(), None),
            PhysicalType::I16 => Vector::from_values(values.map(|value| value as i16).collect(), None),
            PhysicalType::I32 => Vector::from_values(values.map(|value| value as i32).collect(), None),
            PhysicalType::I64 => Vector::from_values(values.collect(), None),
            PhysicalType::U8 => Vector::from_values(values.map(|value| value as u8).collect(), None),
            PhysicalType::U16 => Vector::from_values(values.map(|value| value as u16).collect(), None),
            PhysicalType::U32 => Vector::from_values(values.map(|value| value as u32).collect(), None),
            other => panic!("no extremes are kept of {other:?}"),
        }
    }
}

/// Raises the word at `offset` to `value` if it is lower. May be called concurrently; reading first keeps the cache
/// line shared when there is little new.
///
/// # Safety
/// As [`RowPtr::atomic_u64`].
#[inline(always)]
unsafe fn raise(row: RowPtr, offset: usize, value: u64) {
    // SAFETY: the caller's promise.
    let field = unsafe { row.atomic_u64(offset) };
    if field.load(Ordering::Relaxed) < value {
        field.fetch_max(value, Ordering::Relaxed);
    }
}
