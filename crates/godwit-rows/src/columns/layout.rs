//! The layout of a column page's areas.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_memory::PAGE_BYTES;
use godwit_vector::PhysicalType;

use super::CAPACITY_STEP;

/// Bytes of a string's length in its area.
const LENGTH_BYTES: usize = size_of::<u32>();

/// The columns of the rows of a collection.
#[derive(Debug)]
pub struct ColumnLayout {
    columns: Vec<PhysicalType>,
    strings: Vec<usize>,
    /// Bytes of a row's values before each column; at the end, those of all columns.
    offsets: Vec<usize>,
    has_flags: bool,
}

/// The areas of a page of some capacity.
#[derive(Debug, Clone, Copy)]
pub(super) struct Areas {
    pub capacity: usize,
    /// Where the strings begin.
    pub strings: usize,
    /// Size of the page.
    pub bytes: usize,
}

impl ColumnLayout {
    /// A layout of columns of these types. With `flags`, there is a byte per row, initially zero, that can be changed.
    /// Nested columns have no layout.
    pub fn new(columns: &[PhysicalType], flags: bool) -> Result<Arc<Self>> {
        if columns.contains(&PhysicalType::Nested) {
            return Err(Error::unsupported("nested values in a join that is larger than memory")
                .with_hint("select their fields, or cast them to text"));
        }
        let mut offsets = vec![0];
        offsets.extend(columns.iter().scan(0, |end, &physical| {
            *end += width_of(physical);
            Some(*end)
        }));
        let strings = (0..columns.len()).filter(|&column| columns[column] == PhysicalType::Str).collect();
        Ok(Arc::new(Self { columns: columns.to_vec(), strings, offsets, has_flags: flags }))
    }

    /// The types of the columns.
    pub fn columns(&self) -> &[PhysicalType] {
        &self.columns
    }

    /// Approximate bytes of a row without its strings.
    pub fn row_bytes(&self) -> usize {
        self.row_bits().div_ceil(8)
    }

    /// Indices of the string columns.
    pub(super) fn strings(&self) -> &[usize] {
        &self.strings
    }

    pub(super) fn has_flags(&self) -> bool {
        self.has_flags
    }

    fn values_bytes(&self) -> usize {
        self.offsets[self.columns.len()]
    }

    fn row_bits(&self) -> usize {
        8 * self.values_bytes() + self.columns.len() + 8 * usize::from(self.has_flags)
    }

    /// The areas of a page for rows whose strings take `string_bytes` on average, with room for a first row of
    /// `first_string_bytes`.
    pub(super) fn areas(&self, string_bytes: u64, first_string_bytes: u64) -> Areas {
        let row_bits = self.row_bits().max(1) as u64;
        let page_bits = 8 * PAGE_BYTES as u64;
        let by_average = page_bits / row_bits.saturating_add(string_bytes.saturating_mul(8));
        let by_first = page_bits.saturating_sub(first_string_bytes.saturating_mul(8)) / row_bits;
        let capacity = (by_average.min(by_first) as usize / CAPACITY_STEP).max(1) * CAPACITY_STEP;
        let strings = capacity / 8 * self.row_bits();
        Areas { capacity, strings, bytes: (strings + first_string_bytes as usize).max(PAGE_BYTES) }
    }

    /// The values of a column.
    pub(super) fn values(&self, column: usize, capacity: usize) -> Range<usize> {
        capacity * self.offsets[column]..capacity * self.offsets[column + 1]
    }

    /// The validity bits of a column.
    pub(super) fn validity(&self, column: usize, capacity: usize) -> Range<usize> {
        let first = capacity * self.values_bytes();
        first + column * capacity / 8..first + (column + 1) * capacity / 8
    }

    /// The flags, if there are any.
    pub(super) fn flags(&self, capacity: usize) -> Range<usize> {
        let first = capacity * self.values_bytes() + self.columns.len() * capacity / 8;
        first..first + if self.has_flags { capacity } else { 0 }
    }
}

fn width_of(physical: PhysicalType) -> usize {
    if physical == PhysicalType::Str { LENGTH_BYTES } else { physical.width_bytes() }
}
