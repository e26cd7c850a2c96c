//! Rows of a closed collection, read from any page onwards by several readers at once.

use std::ops::Range;
use std::sync::Arc;

use godwit_memory::BufferManager;

use crate::page_walk::PageOfRows;
use crate::segment::RowPage;
use crate::{RowLayout, RowScan};

/// The pages of a collection in order. Unpinned; a page is freed once it is released and no scan shares it any more.
pub struct RowPages {
    manager: BufferManager,
    layout: Arc<RowLayout>,
    /// `None` once released.
    pages: Vec<Option<Arc<RowPage>>>,
    /// First row of each page, and the number of rows.
    starts: Vec<u64>,
    released: usize,
}

impl RowPages {
    pub(crate) fn new(manager: &BufferManager, layout: &Arc<RowLayout>, pages: Vec<Arc<RowPage>>) -> Self {
        let mut starts = vec![0];
        starts.extend(pages.iter().scan(0, |end, page| {
            *end += page.rows() as u64;
            Some(*end)
        }));
        let pages = pages.into_iter().map(Some).collect();
        Self { manager: manager.clone(), layout: layout.clone(), pages, starts, released: 0 }
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.starts[self.pages.len()]
    }

    /// The page that holds a row, or the number of pages for the row after the last.
    pub fn page_of(&self, row: u64) -> usize {
        self.starts.partition_point(|&start| start <= row) - 1
    }

    /// The first row of a page.
    pub fn first_row(&self, page: usize) -> u64 {
        self.starts[page]
    }

    /// Reads some pages; they must not have been released.
    pub fn scan(&self, pages: Range<usize>) -> RowScan {
        let shared = self.pages[pages].iter().map(|page| page.clone().expect("a released page isn't read"));
        RowScan::new(&self.manager, &self.layout, shared.collect())
    }

    /// Releases the pages before `page`, which won't be scanned any more.
    pub fn release_before(&mut self, page: usize) {
        for index in self.released..page {
            self.pages[index] = None;
        }
        self.released = self.released.max(page);
    }
}
