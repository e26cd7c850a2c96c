//! Walks over pages of rows, reading ahead from the disk.

use std::sync::Arc;

use godwit_memory::{BufferManager, Page};

/// Number of pages that a reader requests ahead: 1 MiB (without the strings of row pages), which a disk delivers in a
/// millisecond or two. More would take memory from others while it waits to be used.
const READ_AHEAD_PAGES: usize = 4;

/// A page of rows, with everything that is read along with it.
pub(crate) trait PageOfRows {
    fn rows(&self) -> usize;

    /// The page, and others that its rows point to.
    fn all_pages(&self) -> impl Iterator<Item = &Page>;
}

/// Takes pages in order. Owns or shares the remaining ones.
pub(crate) struct PageWalk<P> {
    manager: BufferManager,
    pages: std::vec::IntoIter<Arc<P>>,
    is_begun: bool,
}

impl<P: PageOfRows> PageWalk<P> {
    pub(crate) fn new(manager: &BufferManager, pages: Vec<Arc<P>>) -> Self {
        Self { manager: manager.clone(), pages: pages.into_iter(), is_begun: false }
    }

    pub(crate) fn manager(&self) -> &BufferManager {
        &self.manager
    }

    /// Starts reading back the first page in the background.
    pub(crate) fn read_first_ahead(&self) {
        let pages = self.pages.as_slice();
        read_ahead(&self.manager, &pages[..pages.len().min(1)], true);
    }
}

impl<P: PageOfRows> Iterator for PageWalk<P> {
    type Item = Arc<P>;

    fn next(&mut self) -> Option<Arc<P>> {
        let page = self.pages.next()?;
        read_ahead(&self.manager, self.pages.as_slice(), !self.is_begun);
        self.is_begun = true;
        Some(page)
    }
}

/// Starts reading back the next pages while others are being processed. Called each time one of the `upcoming` pages is
/// taken: after the first call, each adds only one page.
pub(crate) fn read_ahead<P: PageOfRows>(manager: &BufferManager, upcoming: &[Arc<P>], is_first_time: bool) {
    let window = &upcoming[..upcoming.len().min(READ_AHEAD_PAGES)];
    if is_first_time {
        manager.read_ahead(window.iter().flat_map(|page| page.all_pages()));
    } else if let Some(newest) = window.get(READ_AHEAD_PAGES - 1) {
        manager.read_ahead(newest.all_pages());
    }
}
