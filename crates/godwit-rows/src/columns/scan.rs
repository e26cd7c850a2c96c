//! Reads rows by column, block by block, in bounded memory.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::{BufferManager, PinnedPage};
use godwit_vector::Vector;

use super::ColumnLayout;
use super::page::ColumnPage;
use crate::page_walk::{PageOfRows, PageWalk};

/// Reads rows block by block. Owns or shares the remaining pages; a page that isn't shared is destroyed when its last
/// block is dropped.
pub struct ColumnScan {
    layout: Arc<ColumnLayout>,
    pages: PageWalk<ColumnPage>,
    current: Option<Cursor>,
}

/// The position of a scan within a page.
struct Cursor {
    page: Arc<ColumnPage>,
    row: usize,
    string_bytes: usize,
}

/// Some rows of one page, which stays pinned.
pub struct ColumnBlock {
    manager: BufferManager,
    layout: Arc<ColumnLayout>,
    columns: Vec<Vector>,
    page: Arc<ColumnPage>,
    rows: Range<usize>,
    pin: PinnedPage,
}

impl ColumnScan {
    pub(super) fn new(manager: &BufferManager, layout: &Arc<ColumnLayout>, pages: Vec<Arc<ColumnPage>>) -> Self {
        Self { layout: layout.clone(), pages: PageWalk::new(manager, pages), current: None }
    }

    /// The next rows, at most `rows_max`; `None` at the end.
    pub fn next_block(&mut self, rows_max: usize) -> Result<Option<ColumnBlock>> {
        loop {
            if let Some(cursor) = &mut self.current
                && cursor.row < cursor.page.rows()
            {
                return cursor.next_block(self.pages.manager(), &self.layout, rows_max).map(Some);
            }
            let Some(page) = self.pages.next() else {
                self.current = None;
                return Ok(None);
            };
            self.current = Some(Cursor { page, row: 0, string_bytes: 0 });
        }
    }
}

impl Cursor {
    fn next_block(
        &mut self,
        manager: &BufferManager,
        layout: &Arc<ColumnLayout>,
        rows_max: usize,
    ) -> Result<ColumnBlock> {
        let pin = manager.pin_unchanged(self.page.page())?;
        // Blocks of a page are equally large, so that none is tiny.
        let all = self.page.rows();
        let rows = self.row..all.min(self.row + all.div_ceil(all.div_ceil(rows_max)));
        let columns = self.page.read(layout, &pin, rows.clone(), &mut self.string_bytes);
        self.row = rows.end;
        let (manager, layout, page) = (manager.clone(), layout.clone(), self.page.clone());
        Ok(ColumnBlock { manager, layout, columns, page, rows, pin })
    }
}

impl ColumnBlock {
    /// The columns of the layout.
    pub fn columns(&self) -> &[Vector] {
        &self.columns
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Never: blocks have rows.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The flags of the rows; they must not be changed meanwhile. The layout was made with flags.
    pub fn flags(&self) -> &[u8] {
        self.page.flags(&self.layout, &self.pin, self.rows.clone())
    }

    /// Changes the flags of the rows; they must not be read elsewhere meanwhile. The layout was made with flags.
    pub fn set_flags(&self, flags: &[u8]) -> Result<()> {
        let pin = self.manager.pin(self.page.page())?;
        self.page.set_flags(&self.layout, &pin, self.rows.clone(), flags);
        Ok(())
    }
}
