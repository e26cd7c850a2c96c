//! The layout of a row's fields.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use godwit_common::{Error, Result};
use godwit_memory::PAGE_BYTES;
use godwit_vector::PhysicalType;

use crate::Rows;
use crate::row_ptr::RowPtr;

/// Optional fields of rows besides their columns.
#[derive(Debug, Clone, Copy, Default)]
pub struct RowLayoutOptions {
    /// Keep the 8-byte hash of each row: needed for partitioning.
    pub hash: bool,
    /// What rows have room for.
    pub extra: Extra,
}

/// What the extra area of rows is for: words that are zero at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Extra {
    /// There is none.
    #[default]
    None,
    /// The link of a row in a join table.
    Link,
    /// A link, and [the extremes of a key](crate::KeyExtremes).
    LinkAndExtremes,
    /// Aggregate states of this size, a multiple of 8.
    States(usize),
}

impl Extra {
    fn bytes(self) -> usize {
        match self {
            Extra::None => 0,
            Extra::Link => 8,
            Extra::LinkAndExtremes => 24,
            Extra::States(bytes) => bytes,
        }
    }

    /// Whether it is accessed by several threads at once: then always by atomic operations.
    pub(crate) fn is_atomic(self) -> bool {
        matches!(self, Extra::Link | Extra::LinkAndExtremes)
    }

    /// Whether it is for states.
    pub(crate) fn is_for_states(self) -> bool {
        matches!(self, Extra::States(_))
    }
}

/// The layout of the rows of one operator.
///
/// ```text
/// | columns, widest first | validity: a bit per column, 1 = not NULL | pad | hash 8 | extra, aligned to 8 |
/// ```
///
/// With the widest columns first, no padding is needed between columns. The length of a row is a multiple of its widest
/// alignment (at most 8). The view of a NULL string is all zero; other NULL values are arbitrary.
#[derive(Debug)]
pub struct RowLayout {
    columns: Vec<PhysicalType>,
    offsets: Vec<usize>,
    strings: Vec<usize>,
    validity_offset: usize,
    hash_offset: Option<usize>,
    extra_offset: usize,
    extra: Extra,
    row_bytes: usize,
    /// Whether a NULL has ever been appended to a column: if not, readers skip the validity bits. Set before the rows
    /// become visible to other threads; never reset.
    nulls: Vec<AtomicBool>,
    /// The layout that this one is the nullable form of.
    strict: Option<Arc<RowLayout>>,
}

impl RowLayout {
    /// Computes the layout. Nested columns have none, and a row must fit into a page.
    pub fn new(columns: &[PhysicalType], options: RowLayoutOptions) -> Result<Arc<RowLayout>> {
        if columns.contains(&PhysicalType::Nested) {
            return Err(Error::unsupported("nested values in a sort, join or aggregation")
                .with_hint("select their fields, or cast them to text"));
        }
        let mut by_width: Vec<usize> = (0..columns.len()).collect();
        by_width.sort_by_key(|&column| std::cmp::Reverse(columns[column].width_bytes()));
        let mut offsets = vec![0; columns.len()];
        let mut end = 0;
        for &column in &by_width {
            offsets[column] = end;
            end += columns[column].width_bytes();
        }
        let validity_offset = end;
        end += columns.len().div_ceil(8);
        let has_words = options.hash || options.extra.bytes() > 0;
        let widest = by_width.first().map_or(1, |&column| columns[column].width_bytes());
        let alignment = if has_words { 8 } else { widest.min(8) };
        end = end.next_multiple_of(alignment);
        let hash_offset = options.hash.then_some(end);
        let extra_offset = end + if options.hash { 8 } else { 0 };
        assert!(options.extra.bytes().is_multiple_of(8), "the extra area consists of words");
        let row_bytes = (extra_offset + options.extra.bytes()).max(1);
        if row_bytes > PAGE_BYTES {
            return Err(Error::unsupported(format!(
                "rows of {row_bytes} bytes in a sort, join or aggregation ({} columns); the most is {PAGE_BYTES}",
                columns.len()
            ))
            .with_hint("select fewer columns"));
        }
        Ok(Arc::new(RowLayout {
            strings: (0..columns.len()).filter(|&column| columns[column] == PhysicalType::Str).collect(),
            nulls: columns.iter().map(|_| AtomicBool::new(false)).collect(),
            columns: columns.to_vec(),
            offsets,
            validity_offset,
            hash_offset,
            extra_offset,
            extra: options.extra,
            row_bytes,
            strict: None,
        }))
    }

    /// The layout for rows of `layout` and for others in which any value may be NULL, so that `layout` can still tell
    /// which columns have no NULLs.
    pub fn nullable(layout: &Arc<RowLayout>) -> Arc<RowLayout> {
        Arc::new(RowLayout {
            columns: layout.columns.clone(),
            offsets: layout.offsets.clone(),
            strings: layout.strings.clone(),
            nulls: layout.columns.iter().map(|_| AtomicBool::new(true)).collect(),
            strict: Some(layout.clone()),
            ..**layout
        })
    }

    /// The layout of rows that consist only of an extra area.
    pub(crate) fn of_extra(extra: Extra) -> Arc<RowLayout> {
        Arc::new(RowLayout {
            columns: Vec::new(),
            offsets: Vec::new(),
            strings: Vec::new(),
            validity_offset: 0,
            hash_offset: None,
            extra_offset: 0,
            extra,
            row_bytes: extra.bytes(),
            nulls: Vec::new(),
            strict: None,
        })
    }

    /// Whether the rows of `other` are also rows of this layout.
    #[inline]
    pub(crate) fn reads(self: &Arc<Self>, other: &Arc<RowLayout>) -> bool {
        Arc::ptr_eq(self, other) || self.strict.as_ref().is_some_and(|strict| Arc::ptr_eq(strict, other))
    }

    /// The types of the columns.
    pub fn columns(&self) -> &[PhysicalType] {
        &self.columns
    }

    /// Size of a row without its long strings in the heap.
    pub fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Number of rows in a full page.
    pub fn rows_per_page(&self) -> usize {
        PAGE_BYTES / self.row_bytes
    }

    /// Offset of the value of a column.
    #[inline]
    pub fn column_offset(&self, column: usize) -> usize {
        self.offsets[column]
    }

    /// Whether rows store their hash.
    pub fn has_hash(&self) -> bool {
        self.hash_offset.is_some()
    }

    /// Offset of the hash.
    ///
    /// # Panics
    /// If the layout has none.
    #[inline]
    pub fn hash_offset(&self) -> usize {
        self.hash_offset.expect("the layout was made with hashes")
    }

    /// Offset of the extra area; a multiple of 8.
    #[inline]
    pub fn extra_offset(&self) -> usize {
        self.extra_offset
    }

    /// What the extra area is for.
    #[inline]
    pub fn extra(&self) -> Extra {
        self.extra
    }

    /// Size of the extra area; a multiple of 8.
    #[inline]
    pub fn extra_bytes(&self) -> usize {
        self.extra.bytes()
    }

    /// Whether a NULL has ever been appended to this column. False means that no row of this layout has one.
    #[inline]
    pub fn has_nulls(&self, column: usize) -> bool {
        self.nulls[column].load(Ordering::Relaxed)
    }

    /// Whether the value of a column isn't NULL.
    ///
    /// # Safety
    /// The row is a pinned one of this layout.
    #[inline]
    pub(crate) unsafe fn is_valid(&self, row: RowPtr, column: usize) -> bool {
        let (offset, bit) = self.validity_bit(column);
        // SAFETY: the caller's promise; the offset lies inside the row.
        unsafe { row.read::<u8>(offset) >> bit & 1 == 1 }
    }

    /// Indices of the string columns.
    pub(crate) fn strings(&self) -> &[usize] {
        &self.strings
    }

    pub(crate) fn validity_offset(&self) -> usize {
        self.validity_offset
    }

    /// Byte offset and bit number of the flag that is set if a column isn't NULL.
    #[inline(always)]
    pub(crate) fn validity_bit(&self, column: usize) -> (usize, u32) {
        (self.validity_offset + column / 8, (column % 8) as u32)
    }

    pub(crate) fn note_nulls(&self, column: usize) {
        if !self.has_nulls(column) {
            self.nulls[column].store(true, Ordering::Relaxed);
        }
    }
}

impl Rows<'_> {
    /// The hashes of the rows; replaces the content of `hashes`.
    pub fn hashes(self, hashes: &mut Vec<u64>) {
        let offset = self.layout().hash_offset();
        self.note_loads(offset);
        hashes.clear();
        // SAFETY: the rows are pinned, and the offset lies inside them.
        hashes.extend(self.pointers().iter().map(|row| unsafe { row.read::<u64>(offset) }));
    }
}
