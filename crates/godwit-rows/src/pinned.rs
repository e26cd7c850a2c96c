//! All rows of a collection, pinned for random access.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::{BufferManager, PinnedPage};
use godwit_vector::Heaps;

use crate::page_walk::{PageOfRows, read_ahead};
use crate::segment::RowPage;
use crate::{RowLayout, RowPtr};

/// All rows of a collection, pinned for random access. Clones share the pins.
#[derive(Clone)]
pub struct PinnedRows(Arc<Inner>);

struct Inner {
    /// Number of the first row of each page, and the number of all rows at the end.
    starts: Vec<usize>,
    pages: Vec<PinnedPage>,
    row_bytes: usize,
    heaps: Heaps,
}

impl PinnedRows {
    pub(crate) fn new(manager: &BufferManager, layout: &RowLayout, pages: &[Arc<RowPage>]) -> Result<Self> {
        let mut starts = Vec::with_capacity(pages.len() + 1);
        let mut pins = Vec::with_capacity(pages.len());
        let mut heaps: Vec<PinnedPage> = Vec::new();
        let mut rows = 0;
        for (index, page) in pages.iter().enumerate() {
            read_ahead(manager, &pages[index + 1..], index == 0);
            let pin = manager.pin(page.page())?;
            for part in page.parts() {
                heaps.extend(part.pin_heap(manager, layout, page, &pin)?);
            }
            starts.push(rows);
            rows += page.rows();
            pins.push(pin);
        }
        starts.push(rows);
        Ok(Self(Arc::new(Inner { starts, pages: pins, row_bytes: layout.row_bytes(), heaps: heaps_of(heaps) })))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        *self.0.starts.last().expect("there is an end")
    }

    /// Appends the addresses of the rows with these numbers, which count in the order of appending.
    pub fn pointers(&self, range: Range<usize>, pointers: &mut Vec<RowPtr>) {
        let Inner { starts, pages, row_bytes, .. } = &*self.0;
        assert!(range.end <= self.rows(), "rows {range:?} of {}", self.rows());
        pointers.reserve(range.len());
        let mut at = range.start;
        let mut page = starts.partition_point(|&start| start <= at).saturating_sub(1);
        while at < range.end {
            let end = range.end.min(starts[page + 1]);
            let base = pages[page].as_ptr();
            pointers.extend((at..end).map(|row| RowPtr::new(base.wrapping_add((row - starts[page]) * row_bytes))));
            at = at.max(end);
            page += 1;
        }
    }

    /// Keeps the long strings of all rows alive.
    pub fn heaps(&self) -> &Heaps {
        &self.0.heaps
    }
}

/// One keep-alive for all pins: cloned with every gathered column.
pub(crate) fn heaps_of(pins: Vec<PinnedPage>) -> Heaps {
    if pins.is_empty() { Heaps::none() } else { Heaps::one(Arc::new(pins)) }
}
