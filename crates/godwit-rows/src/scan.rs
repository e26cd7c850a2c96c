//! Rows block by block, in bounded memory.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_vector::CHUNK_ROWS;

use crate::owner::Access;
use crate::page_walk::{PageOfRows, PageWalk};
use crate::pinned::heaps_of;
use crate::row_list::Pins;
use crate::row_ptr::RowPtr;
use crate::segment::RowPage;
use crate::{RowLayout, RowList, Rows};

/// Maximum bytes of heap pages that a block pins, unless the strings of a single part take more: 1 MiB. With rows of up
/// to 400 bytes of long strings, blocks are still full.
const BLOCK_HEAP_BYTES_MAX: usize = 1024 * 1024;

/// Up to [`CHUNK_ROWS`] rows of one page, pinned. Clones share the pins.
#[derive(Clone)]
pub struct RowBlock(Arc<RowList>);

impl RowBlock {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Never: blocks have at least one row.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rows.
    pub fn rows(&self) -> Rows<'_> {
        self.0.all()
    }
}

/// Reads rows block by block. Owns or shares the remaining pages; a page that isn't shared is destroyed when its last
/// block is dropped.
///
/// Without an extra area in the layout, scanned rows aren't written to, and pages that are on disk needn't be written
/// there again.
pub struct RowScan {
    layout: Arc<RowLayout>,
    pages: PageWalk<RowPage>,
    current: Option<Cursor>,
}

/// The position of a scan within a page.
struct Cursor {
    page: Arc<RowPage>,
    row: usize,
    part: usize,
}

impl RowScan {
    pub(crate) fn new(manager: &BufferManager, layout: &Arc<RowLayout>, pages: Vec<Arc<RowPage>>) -> Self {
        Self { layout: layout.clone(), pages: PageWalk::new(manager, pages), current: None }
    }

    /// Starts reading back the scan's first page in the background.
    pub fn read_ahead(&self) {
        self.pages.read_first_ahead();
    }

    /// The next rows; `None` at the end.
    pub fn next_block(&mut self) -> Result<Option<RowBlock>> {
        loop {
            if let Some(cursor) = &mut self.current
                && cursor.row < cursor.page.rows()
            {
                return cursor.next_block(self.pages.manager(), &self.layout).map(Some);
            }
            let Some(page) = self.pages.next() else {
                self.current = None;
                return Ok(None);
            };
            self.current = Some(Cursor { page, row: 0, part: 0 });
        }
    }
}

impl Cursor {
    fn next_block(&mut self, manager: &BufferManager, layout: &Arc<RowLayout>) -> Result<RowBlock> {
        let page = &*self.page;
        let pin =
            if layout.extra_bytes() == 0 { manager.pin_unchanged(page.page())? } else { manager.pin(page.page())? };
        let (rows, parts) = self.extent();
        let mut heaps = Vec::new();
        for part in &page.parts()[parts.clone()] {
            heaps.extend(part.pin_heap(manager, layout, page, &pin)?);
        }
        let pointers =
            rows.clone().map(|row| RowPtr::new(pin.as_ptr().wrapping_add(row * layout.row_bytes()))).collect();
        self.row = rows.end;
        // The last part may continue in the next block.
        self.part = if page.parts()[parts.end - 1].rows.end > rows.end { parts.end - 1 } else { parts.end };
        let pins = Pins::new(Arc::new(pin), heaps_of(heaps), Access::Shared);
        // SAFETY: these are rows of the page, which is pinned, and of the parts whose strings are.
        Ok(RowBlock(Arc::new(unsafe { RowList::from_parts(layout, pointers, pins) })))
    }

    /// The rows of the next block, and the parts that they belong to.
    fn extent(&self) -> (Range<usize>, Range<usize>) {
        let page = &*self.page;
        // Blocks of a page are equally large, so that none is tiny.
        let blocks = page.rows().div_ceil(CHUNK_ROWS);
        let end_max = page.rows().min(self.row + page.rows().div_ceil(blocks));
        let mut part = self.part;
        let mut heap_bytes = 0;
        let mut end = self.row;
        while end < end_max {
            let next = &page.parts()[part];
            heap_bytes += next.heap_bytes();
            if part > self.part && heap_bytes > BLOCK_HEAP_BYTES_MAX {
                break;
            }
            end = next.rows.end.min(end_max);
            part += 1;
        }
        (self.row..end, self.part..part)
    }
}
