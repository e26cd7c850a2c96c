//! A page of rows, with metadata that ties it to the pages of their strings.
//!
//! Row pages and heap pages don't fill up at the same pace, so a row page is divided into *parts*: ranges of rows whose
//! long strings are all on one heap page. A part remembers the address that the pointers in its rows were made for. To
//! pin a part, its heap page is pinned first and, under the part's lock, the pointers are adjusted if the page has
//! moved. That can only happen while the part isn't pinned elsewhere, because a pinned page stays in place; so no
//! reader sees pointers change.

use std::iter;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use godwit_common::Result;
use godwit_memory::{BufferManager, PAGE_BYTES, Page, PinnedPage};
use godwit_vector::StrView;
use parking_lot::Mutex;

use crate::RowLayout;
use crate::page_walk::PageOfRows;
use crate::row_ptr::RowPtr;

/// Rows of one page whose long strings lie on one heap page (or that have none).
pub(crate) struct Part {
    pub(crate) rows: Range<usize>,
    heap: Option<Page>,
    /// The address of the heap page that the pointers in the rows are made for.
    heap_address: Mutex<usize>,
}

/// A page of rows. Dropping it drops the rows.
pub(crate) struct RowPage {
    page: Page,
    rows: usize,
    parts: Vec<Part>,
    /// Size of the heap pages that were begun while this page was being filled, so that a collection counts each only
    /// once.
    heap_bytes: usize,
    /// The rows are linked by a join table.
    is_linked: AtomicBool,
}

impl RowPage {
    pub(crate) fn new(page: Page) -> Self {
        Self { page, rows: 0, parts: Vec::new(), heap_bytes: 0, is_linked: AtomicBool::new(false) }
    }

    pub(crate) fn page(&self) -> &Page {
        &self.page
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// Memory of the page and of the heap pages that are counted with it.
    pub(crate) fn bytes(&self) -> u64 {
        (PAGE_BYTES + self.heap_bytes) as u64
    }

    /// Takes the links of the rows for one table; false if they are taken.
    pub(crate) fn take_links(&self) -> bool {
        !self.is_linked.swap(true, Ordering::Acquire)
    }

    pub(crate) fn give_links_back(&self) {
        self.is_linked.store(false, Ordering::Release);
    }

    pub(crate) fn add_heap_bytes(&mut self, bytes: usize) {
        self.heap_bytes += bytes;
    }

    /// Adds rows. `heap` is where their long strings lie, if they have any; `same_heap` means that the last part
    /// already uses that page.
    pub(crate) fn extend(&mut self, rows: usize, heap: Option<&PinnedPage>, same_heap: bool) {
        let begin = self.rows;
        let fits = |part: &Part| heap.is_none() || same_heap || part.heap.is_none();
        if !self.parts.last().is_some_and(fits) {
            self.parts.push(Part { rows: begin..begin, heap: None, heap_address: Mutex::new(0) });
        }
        let part = self.parts.last_mut().expect("there is a part");
        if let (Some(pin), None) = (heap, &part.heap) {
            part.heap = Some(pin.page().clone());
            *part.heap_address.get_mut() = pin.as_ptr() as usize;
        }
        self.rows += rows;
        part.rows.end = self.rows;
    }
}

impl PageOfRows for RowPage {
    fn rows(&self) -> usize {
        self.rows
    }

    /// The page and the heap pages of its strings.
    fn all_pages(&self) -> impl Iterator<Item = &Page> {
        iter::once(&self.page).chain(self.parts.iter().filter_map(|part| part.heap.as_ref()))
    }
}

impl Part {
    /// Size of the heap page; 0 if there is none.
    pub(crate) fn heap_bytes(&self) -> usize {
        self.heap.as_ref().map_or(0, Page::bytes)
    }

    /// Pins the heap page, and makes the pointers in the rows point into it. `rows_pin` is a pin of `page`.
    pub(crate) fn pin_heap(
        &self,
        manager: &BufferManager,
        layout: &RowLayout,
        page: &RowPage,
        rows_pin: &PinnedPage,
    ) -> Result<Option<PinnedPage>> {
        let Some(heap) = &self.heap else { return Ok(None) };
        // Strings never change, whatever happens to the rows.
        let pin = manager.pin_unchanged(heap)?;
        let address = pin.as_ptr() as usize;
        let mut known = self.heap_address.lock();
        if *known != address {
            // The row page may be pinned with the promise not to change it; this pin revokes that promise.
            let _changed = manager.pin(&page.page)?;
            self.move_pointers(layout, rows_pin, address.wrapping_sub(*known));
            *known = address;
        }
        Ok(Some(pin))
    }

    fn move_pointers(&self, layout: &RowLayout, rows_pin: &PinnedPage, distance: usize) {
        for &column in layout.strings() {
            let offset = layout.column_offset(column);
            for row in self.rows.clone() {
                let row = RowPtr::new(rows_pin.as_ptr().wrapping_add(row * layout.row_bytes()));
                // SAFETY: the page is pinned and holds the rows of this part; nobody else reads or writes their views
                // as long as the lock is held, as the module's documentation explains.
                unsafe {
                    let view = StrView::from_bits(row.read::<u128>(offset));
                    if !view.is_inline() {
                        row.write(offset, view.with_pointer(view.pointer().wrapping_add(distance)).bits());
                    }
                }
            }
        }
    }
}
