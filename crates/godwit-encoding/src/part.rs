//! A part: a header and a body, with the three ways of reading it.

use std::ops::Range;

use godwit_common::Result;
use godwit_trace::{Loads, VECTOR_BYTES};
use godwit_vector::{Bitmap, Lists, SharedBytes, ValueRange, Vector};

use crate::BLOCK_ROWS;
use crate::header::{PartContent, PartHeader, corrupt};
use crate::packing::SINGLE_ROWS_MAX;
use crate::scheme::Body;

/// The result of [`encode`](crate::encode).
#[derive(Debug, Clone)]
pub struct EncodedPart {
    /// The header, for the table's metadata.
    pub header: PartHeader,
    /// The body, for a page; `header.body_bytes` long.
    pub body: Vec<u8>,
    /// Number of runs of equal values, not counting NULLs: an upper bound on the number of distinct values. For
    /// strings, the number of values.
    pub runs: u32,
}

/// A part to read from. Bodies in pages should begin at a multiple of 8 bytes; others have to be copied to be read.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    pub(crate) header: &'a PartHeader,
    body: &'a [u8],
    /// The body, if strings may point into it.
    shared: Option<&'a SharedBytes>,
}

/// The dictionary codes for which a predicate holds, one bit per code.
pub type CodeFilter = Bitmap;

impl EncodedPart {
    /// The part, to read from.
    pub fn part(&self) -> Part<'_> {
        Part { header: &self.header, body: &self.body, shared: None }
    }

    /// The part with its values marked as codes of a dictionary, or as values.
    pub fn with_content(mut self, content: PartContent) -> Self {
        self.header.content = content;
        self
    }
}

impl<'a> Part<'a> {
    /// A part of a header and its body. Fails if the body isn't as long as the header says.
    pub fn new(header: &'a PartHeader, body: &'a [u8]) -> Result<Self> {
        if body.len() != header.body_bytes as usize {
            return Err(corrupt("its length is not that of its header"));
        }
        Ok(Self { header, body, shared: None })
    }

    /// [`new`](Self::new), except that strings stored as they are aren't copied, but keep the body alive.
    pub fn shared(header: &'a PartHeader, body: &'a SharedBytes) -> Result<Self> {
        Ok(Self { shared: Some(body), ..Self::new(header, body)? })
    }

    pub(crate) fn bitmap(&self) -> &'a [u8] {
        &self.body[..self.header.bitmap_bytes()]
    }

    fn values(&self) -> Body<'a> {
        let bytes = &self.body[self.header.bitmap_bytes()..];
        Body { physical: self.header.physical, rows: self.rows(), bytes, shared: self.shared }
    }

    fn rows(&self) -> usize {
        self.header.rows as usize
    }

    /// The values of `rows`, which start at a multiple of [`BLOCK_ROWS`].
    pub fn decode(&self, rows: Range<usize>) -> Result<Vector> {
        assert!(rows.start.is_multiple_of(BLOCK_ROWS) && rows.end <= self.rows(), "whole blocks of the part");
        if let Some(vector) = self.uniform(rows.len())? {
            return Ok(vector);
        }
        godwit_trace::loads(|loads| self.note_run(loads, &rows));
        let flat = self.header.encoding.scheme().decode(self.values(), rows.clone())?;
        Ok(Vector::flat(flat, self.validity(&rows)))
    }

    /// The values of single rows: `rows` are ascending and relative to `start`.
    pub fn take(&self, start: usize, rows: &[u32]) -> Result<Vector> {
        self.check_taken(start, rows);
        if let Some(vector) = self.uniform(rows.len())? {
            return Ok(vector);
        }
        godwit_trace::loads(|loads| self.note_taken(loads, start, rows));
        let flat = self.header.encoding.scheme().take(self.values(), start, rows)?;
        Ok(Vector::flat(flat, self.validity_of(start, rows)))
    }

    /// [`decode`](Self::decode) as lengths and items; `None` if the values aren't stored as lists.
    pub fn decode_lists(&self, rows: Range<usize>) -> Result<Option<Lists>> {
        assert!(rows.start.is_multiple_of(BLOCK_ROWS) && rows.end <= self.rows(), "whole blocks of the part");
        let Some(lists) = self.header.encoding.scheme().lists(self.values(), rows.clone())? else { return Ok(None) };
        godwit_trace::loads(|loads| self.note_run(loads, &rows));
        Ok(Some(Lists { validity: self.validity(&rows), ..lists }))
    }

    /// [`take`](Self::take) as lengths and items; `None` if the values aren't stored as lists.
    pub fn take_lists(&self, start: usize, rows: &[u32]) -> Result<Option<Lists>> {
        self.check_taken(start, rows);
        let Some(lists) = self.header.encoding.scheme().take_lists(self.values(), start, rows)? else {
            return Ok(None);
        };
        godwit_trace::loads(|loads| self.note_taken(loads, start, rows));
        Ok(Some(Lists { validity: self.validity_of(start, rows), ..lists }))
    }

    fn check_taken(&self, start: usize, rows: &[u32]) {
        debug_assert!(rows.is_sorted(), "rows are taken in ascending order");
        assert!(rows.last().is_none_or(|&row| start + (row as usize) < self.rows()), "rows of the part");
    }

    fn validity_of(&self, start: usize, rows: &[u32]) -> Option<Bitmap> {
        (self.header.nulls > 0).then(|| Bitmap::from_fn(rows.len(), |i| self.is_valid(start + rows[i] as usize)))
    }

    /// `rows` rows, if all rows of the part are the same.
    fn uniform(&self, rows: usize) -> Result<Option<Vector>> {
        if self.header.has_bitmap() {
            return Ok(None);
        }
        self.header.encoding.scheme().uniform(self.values(), rows)
    }

    /// Clears the bits of `mask` of those of `rows` whose integer isn't in `wanted`; NULL never is. Bit `i` is row
    /// `rows.start + i`, and bits past `rows` are clear. `rows` start at a multiple of [`BLOCK_ROWS`].
    pub fn retain_range(&self, rows: Range<usize>, wanted: ValueRange, mask: &mut [u64]) -> Result<()> {
        assert_eq!(mask.len(), rows.len().div_ceil(64), "a bit per row");
        godwit_trace::loads(|loads| self.note_run(loads, &rows));
        self.header.encoding.scheme().retain_range(self.values(), rows.clone(), wanted, mask)?;
        self.clear_nulls(&rows, mask);
        Ok(())
    }

    /// [`retain_range`](Self::retain_range) for rows whose dictionary code has its bit set.
    pub fn retain_codes(&self, rows: Range<usize>, wanted: &CodeFilter, mask: &mut [u64]) -> Result<()> {
        assert_eq!(mask.len(), rows.len().div_ceil(64), "a bit per row");
        godwit_trace::loads(|loads| self.note_run(loads, &rows));
        self.header.encoding.scheme().retain_codes(self.values(), rows.clone(), wanted, mask)?;
        self.clear_nulls(&rows, mask);
        Ok(())
    }

    /// The approximate address of a row's value.
    fn byte_of(&self, row: usize) -> *const u8 {
        let values = self.values().bytes;
        values.as_ptr().wrapping_add(values.len() * row / self.rows().max(1))
    }

    /// Tells a memory trace about the loads for reading rows in order.
    fn note_run(&self, loads: &mut Loads, rows: &Range<usize>) {
        let (first, end) = (self.byte_of(rows.start), self.byte_of(rows.end));
        loads.run(first, end as usize - first as usize, VECTOR_BYTES);
    }

    /// Tells a memory trace about the loads for reading single rows: whole blocks if there are many, otherwise two
    /// words each.
    fn note_taken(&self, loads: &mut Loads, start: usize, rows: &[u32]) {
        let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else { return };
        let span = start + first as usize..start + last as usize + 1;
        if rows.len() * BLOCK_ROWS > SINGLE_ROWS_MAX * span.len() {
            return self.note_run(loads, &span);
        }
        loads.each(2 * rows.len(), |load| self.byte_of(start + rows[load / 2] as usize));
    }

    fn clear_nulls(&self, rows: &Range<usize>, mask: &mut [u64]) {
        if self.header.has_bitmap() {
            mask.iter_mut().enumerate().for_each(|(index, word)| *word &= self.word(rows.start / 64 + index));
        }
    }
}
