//! Rows by number, in bounded memory.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::{BufferManager, PinnedPage};

use crate::owner::Access;
use crate::page_walk::PageOfRows;
use crate::pinned::heaps_of;
use crate::row_list::Pins;
use crate::row_ptr::RowPtr;
use crate::segment::RowPage;
use crate::{RowLayout, RowList};

/// The rows of a collection for access by number, in the order of appending. Only the pages of requested rows are
/// pinned, and only as long as they are in a list.
pub struct PagedRows {
    manager: BufferManager,
    layout: Arc<RowLayout>,
    /// Number of the first row of each page, and the total number of rows at the end.
    starts: Vec<usize>,
    pages: Vec<Arc<RowPage>>,
}

impl PagedRows {
    pub(crate) fn new(manager: &BufferManager, layout: &Arc<RowLayout>, pages: Vec<Arc<RowPage>>) -> Self {
        let mut starts = vec![0];
        let mut rows = 0;
        starts.extend(pages.iter().map(|page| {
            rows += page.rows();
            rows
        }));
        Self { manager: manager.clone(), layout: layout.clone(), starts, pages }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        *self.starts.last().expect("there is an end")
    }

    /// Pins the rows with these numbers.
    ///
    /// # Panics
    /// If a number is too large.
    pub fn pin(&self, numbers: impl IntoIterator<Item = usize>) -> Result<RowList> {
        let mut rows = Vec::new();
        let (mut pins, mut heaps) = (Vec::new(), Vec::new());
        let mut pinned: Vec<(usize, *mut u8)> = Vec::new();
        let row_bytes = self.layout.row_bytes();
        let (mut begin, mut end, mut base) = (0, 0, std::ptr::null_mut::<u8>());
        for number in numbers {
            if !(begin..end).contains(&number) {
                let page = self.starts.partition_point(|&start| start <= number) - 1;
                (begin, end) = (self.starts[page], self.starts[page + 1]);
                base = match pinned.iter().rev().find(|(known, _)| *known == page) {
                    Some(&(_, base)) => base,
                    None => {
                        let base = self.pin_page(page, &mut pins, &mut heaps)?;
                        pinned.push((page, base));
                        base
                    }
                };
            }
            rows.push(RowPtr::new(base.wrapping_add((number - begin) * row_bytes)));
        }
        let pins = Pins::new(Arc::new(pins), heaps_of(heaps), Access::Shared);
        // SAFETY: the pages of the rows are pinned, with all strings on them.
        Ok(unsafe { RowList::from_parts(&self.layout, rows, pins) })
    }

    /// Pins a page and the strings of its rows; returns the address of its first row.
    fn pin_page(&self, index: usize, pins: &mut Vec<PinnedPage>, heaps: &mut Vec<PinnedPage>) -> Result<*mut u8> {
        let page = &*self.pages[index];
        let is_read_only = self.layout.extra_bytes() == 0;
        let pin =
            if is_read_only { self.manager.pin_unchanged(page.page())? } else { self.manager.pin(page.page())? };
        for part in page.parts() {
            heaps.extend(part.pin_heap(&self.manager, &self.layout, page, &pin)?);
        }
        let base = pin.as_ptr();
        pins.push(pin);
        Ok(base)
    }
}
