//! All rows of some collections, pinned for random access.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::PinnedPage;
use godwit_vector::Heaps;

use crate::owner::Access;
use crate::page_walk::{PageOfRows, read_ahead};
use crate::row_list::Pins;
use crate::row_ptr::RowPtr;
use crate::segment::RowPage;
use crate::{RowCollection, RowLayout, RowList, RowOwner};

/// All rows of some collections of one layout, pinned for random access. Clones share the pins.
#[derive(Clone)]
pub struct PinnedRows(Arc<Inner>);

struct Inner {
    layout: Arc<RowLayout>,
    /// Number of the first row of each page, and the total number of rows at the end.
    starts: Vec<usize>,
    /// First byte of each page.
    bases: Vec<RowPtr>,
    pages: Vec<Arc<RowPage>>,
    pins: Pins,
}

impl PinnedRows {
    /// Pins all rows of these collections, which have this layout. If they are at rest, they can be used once they
    /// [have an owner](Self::own).
    pub fn of<'a>(layout: &Arc<RowLayout>, collections: impl IntoIterator<Item = &'a RowCollection>) -> Result<Self> {
        let (mut starts, mut bases, mut all_pages) = (Vec::new(), Vec::new(), Vec::new());
        let (mut pins, mut heaps): (Vec<PinnedPage>, Vec<PinnedPage>) = Default::default();
        let mut rows = 0;
        let mut access = None;
        for collection in collections {
            assert!(Arc::ptr_eq(layout, collection.layout()), "collections of one layout");
            assert!(!matches!(collection.access(), Access::Owned(_)), "rows in use by their owner");
            assert_eq!(*access.get_or_insert(collection.access()), collection.access(), "all are shared, or none");
            let (manager, pages) = (collection.manager(), collection.pages());
            for (index, page) in pages.iter().enumerate() {
                read_ahead(manager, &pages[index + 1..], index == 0);
                let pin = manager.pin(page.page())?;
                for part in page.parts() {
                    heaps.extend(part.pin_heap(manager, layout, page, &pin)?);
                }
                starts.push(rows);
                rows += page.rows();
                bases.push(RowPtr::new(pin.as_ptr()));
                pins.push(pin);
            }
            all_pages.extend_from_slice(pages);
        }
        starts.push(rows);
        let pins = Pins::new(Arc::new(pins), heaps_of(heaps), access.unwrap_or(Access::Shared));
        Ok(Self(Arc::new(Inner { layout: layout.clone(), starts, bases, pages: all_pages, pins })))
    }

    /// Gives an owner to the rows, which are those of `collections`.
    ///
    /// # Panics
    /// If they aren't at rest, or other rows are pinned: a bug in the caller.
    pub fn own(self, collections: Vec<RowCollection>) -> (Self, RowOwner) {
        let pages = collections.iter().flat_map(RowCollection::pages).map(Arc::as_ptr);
        let is_complete = pages.eq(self.0.pages.iter().map(Arc::as_ptr));
        let are_at_rest = collections.iter().all(|collection| collection.access() == Access::AtRest);
        assert!(is_complete && are_at_rest, "the owner gets all rows of collections at rest");
        let mut inner = Arc::into_inner(self.0).expect("rows are pinned by one before they have an owner");
        let owner = RowOwner::of_pinned();
        inner.pins.set_access(owner.access());
        (Self(Arc::new(inner)), owner)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        *self.0.starts.last().expect("there is an end")
    }

    /// Appends the rows with these numbers; rows are numbered in the order of appending, collection by collection.
    pub fn list(&self, range: Range<usize>, list: &mut RowList) {
        assert!(list.all().layout().reads(&self.0.layout), "rows of another layout");
        // SAFETY: the pages are pinned, with their strings, and the rows are of the layout of the list.
        let (rows, pins) = unsafe { list.parts_mut() };
        pins.add(&self.0.pins);
        self.pointers(range, rows);
    }

    /// Appends the addresses of rows, valid as long as these pins.
    pub(crate) fn pointers(&self, range: Range<usize>, pointers: &mut Vec<RowPtr>) {
        let Inner { layout, starts, bases, .. } = &*self.0;
        assert!(range.end <= self.rows(), "rows {range:?} of {}", self.rows());
        let row_bytes = layout.row_bytes();
        pointers.reserve(range.len());
        let mut at = range.start;
        let mut page = starts.partition_point(|&start| start <= at).saturating_sub(1);
        while at < range.end {
            let end = range.end.min(starts[page + 1]);
            let base = bases[page].as_ptr();
            pointers.extend((at..end).map(|row| RowPtr::new(base.wrapping_add((row - starts[page]) * row_bytes))));
            at = at.max(end);
            page += 1;
        }
    }

    /// The pages, each once.
    pub(crate) fn pages(&self) -> &[Arc<RowPage>] {
        &self.0.pages
    }

    /// The pins of the strings.
    pub(crate) fn strings(&self) -> Heaps {
        self.0.pins.strings()
    }

    /// The layout of the rows.
    pub fn layout(&self) -> &Arc<RowLayout> {
        &self.0.layout
    }
}

/// One keep-alive for all pins: cloned with every gathered column.
pub(crate) fn heaps_of(pins: Vec<PinnedPage>) -> Heaps {
    if pins.is_empty() { Heaps::none() } else { Heaps::one(Arc::new(pins)) }
}
