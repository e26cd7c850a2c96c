//! The links of build rows: chains of rows with equal keys, and whether a row has had a match.
//!
//! ```text
//! link of a row  | found 1 | 0 | address of the next row 48 |       the first word of the row's extra area
//! ```
//!
//! A link is an address, and so is an entry of a table. What makes it safe to follow them is ownership: a table takes
//! the links of all rows on the pages that it pins, sets those of the rows that are inserted to other such rows, and
//! gives them back when the pins are no longer held. [`Chains`] come out of a table only, after all rows were inserted.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::chain_insert::{ADDRESS_MASK, FOUND};
use crate::owner::Access;
use crate::row_list::Pins;
use crate::row_ptr::RowPtr;
use crate::{PinnedRows, RowLayout, RowList, Rows};

#[inline(always)]
pub(crate) fn address(row: RowPtr) -> u64 {
    debug_assert!(row.address() & !ADDRESS_MASK == 0);
    row.address()
}

#[inline(always)]
pub(crate) fn row_at(entry: u64) -> RowPtr {
    RowPtr::new((entry & ADDRESS_MASK) as *mut u8)
}

/// The link of a row.
///
/// # Safety
/// The row is pinned as long as the link is borrowed, in a layout whose extra area begins at `offset` with a link.
#[inline(always)]
pub(crate) unsafe fn link_of<'a>(row: RowPtr, offset: usize) -> &'a AtomicU64 {
    // SAFETY: the caller's promise; links are accessed by this function only.
    unsafe { row.atomic_u64(offset) }
}

/// Where the link is in the rows of a layout.
fn link_offset(layout: &RowLayout) -> usize {
    assert!(layout.extra().is_atomic(), "rows have room for a link");
    layout.extra_offset()
}

/// Pinned rows whose links belong to one table, and to the chains that come out of it.
struct Linked(PinnedRows);

impl Drop for Linked {
    fn drop(&mut self) {
        self.0.pages().iter().for_each(|page| page.give_links_back());
    }
}

/// The rows of a table.
pub(crate) struct LinkedRows {
    linked: Arc<Linked>,
    /// The pins, shared with the chains.
    pins: Pins,
    pub(crate) link_offset: usize,
    /// Number of rows whose insertion has begun, and of those that are inserted. Once the latter is that of all rows,
    /// none is being inserted.
    begun: AtomicUsize,
    inserted: AtomicUsize,
    has_duplicates: AtomicBool,
}

impl LinkedRows {
    /// # Panics
    /// If another table or its chains hold some of the rows: a bug in the caller.
    pub(crate) fn new(rows: &PinnedRows) -> Self {
        // Rows with links are shared.
        let link_offset = link_offset(rows.layout());
        let pages = rows.pages();
        let taken = pages.iter().take_while(|page| page.take_links()).count();
        if taken < pages.len() {
            pages[..taken].iter().for_each(|page| page.give_links_back());
            panic!("rows are in one table at a time");
        }
        let linked = Arc::new(Linked(rows.clone()));
        Self {
            pins: Pins::new(linked.clone(), rows.strings(), Access::Shared),
            link_offset,
            linked,
            begun: AtomicUsize::new(0),
            inserted: AtomicUsize::new(0),
            has_duplicates: AtomicBool::new(false),
        }
    }

    pub(crate) fn layout(&self) -> &Arc<RowLayout> {
        self.linked.0.layout()
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.linked.0.rows()
    }

    /// Lists rows to be inserted.
    ///
    /// # Panics
    /// If more rows are inserted than there are: a bug in the caller.
    pub(crate) fn list(&self, range: Range<usize>, list: &mut Vec<RowPtr>) {
        let begun = self.begun.fetch_add(range.len(), Ordering::Relaxed) + range.len();
        assert!(begun <= self.rows(), "rows are inserted once");
        list.clear();
        self.linked.0.pointers(range, list);
    }

    /// Rows from [`list`](Self::list).
    pub(crate) fn of_list<'a>(&'a self, list: &'a [RowPtr]) -> Rows<'a> {
        // SAFETY: they are rows of the pinned pages.
        unsafe { Rows::new(self.layout(), list, &self.pins) }
    }

    /// Records that this many more rows are inserted; if `duplicates`, some have equal keys.
    pub(crate) fn note_inserted(&self, rows: usize, duplicates: bool) {
        if duplicates {
            self.has_duplicates.store(true, Ordering::Relaxed);
        }
        self.inserted.fetch_add(rows, Ordering::Release);
    }

    /// True if some key has several rows.
    pub(crate) fn has_duplicates(&self) -> bool {
        self.has_duplicates.load(Ordering::Relaxed)
    }

    /// Clears `chains` for the rows of a lookup, which needs all links to be set.
    ///
    /// # Panics
    /// Before all rows are inserted: a bug in the caller.
    pub(crate) fn begin<'a>(&self, chains: &'a mut Chains) -> (&'a mut Vec<u32>, &'a mut Vec<RowPtr>) {
        assert!(self.inserted.load(Ordering::Acquire) >= self.rows(), "rows are looked up when all are inserted");
        assert!(chains.rows.all().layout().reads(self.layout()), "rows of another layout");
        chains.clear();
        // SAFETY: the tables add only rows that were inserted into them, which the pins keep in place.
        let (rows, pins) = unsafe { chains.rows.parts_mut() };
        pins.add(&self.pins);
        (&mut chains.tags, rows)
    }
}

/// Rows that a table has found, each in a chain of rows with equal keys, and a tag for each: the number that it was
/// looked up for.
pub struct Chains {
    /// The number that each row was looked up for.
    pub tags: Vec<u32>,
    rows: RowList,
}

impl Chains {
    /// No rows.
    pub fn new(layout: &Arc<RowLayout>) -> Self {
        Self { tags: Vec::new(), rows: RowList::new(layout) }
    }

    /// The rows.
    #[inline]
    pub fn rows(&self) -> Rows<'_> {
        self.rows.all()
    }

    /// Removes the rows and releases their pins.
    pub fn clear(&mut self) {
        self.tags.clear();
        self.rows.clear();
    }

    /// Keeps the rows whose tags pass.
    pub fn retain(&mut self, keep: impl Fn(u32) -> bool) {
        self.retain_places(|tag, _| keep(tag));
    }

    /// Keeps the rows that have had a match, or the others.
    pub fn retain_found(&mut self, found: bool) {
        let offset = link_offset(self.rows.all().layout());
        self.rows.all().note_loads(offset);
        // SAFETY: the rows are pinned and have links.
        self.retain_places(|_, row| (unsafe { link_of(row, offset) }.load(Ordering::Relaxed) & FOUND != 0) == found);
    }

    fn retain_places(&mut self, keep: impl Fn(u32, RowPtr) -> bool) {
        let Self { tags, rows } = self;
        // SAFETY: rows are only left out.
        let (rows, _) = unsafe { rows.parts_mut() };
        assert_eq!(rows.len(), tags.len());
        let mut kept = 0;
        for i in 0..rows.len() {
            let (tag, row) = (tags[i], rows[i]);
            tags[kept] = tag;
            rows[kept] = row;
            kept += keep(tag, row) as usize;
        }
        tags.truncate(kept);
        rows.truncate(kept);
    }

    /// Prefetches the memory that [`Self::advance`] reads.
    pub fn prefetch(&self) {
        let offset = link_offset(self.rows.all().layout());
        self.rows.all().pointers().iter().for_each(|row| row.prefetch(offset));
    }

    /// Replaces each row with the next one in its chain, and drops those at the end of theirs. The new rows are
    /// prefetched: each is a cache miss, and all misses of the next step are in flight before the first one is awaited.
    pub fn advance(&mut self) {
        let Self { tags, rows } = self;
        let offset = link_offset(rows.all().layout());
        rows.all().note_loads(offset);
        // SAFETY: the rows were inserted into the table that they come from, so that their links lead to other rows of
        // that table, or are null; null ones are overwritten or cut off at the end.
        let (rows, _) = unsafe { rows.parts_mut() };
        assert_eq!(rows.len(), tags.len());
        let mut kept = 0;
        for i in 0..rows.len() {
            // SAFETY: the row is pinned and has a link.
            let link = unsafe { link_of(rows[i], offset) }.load(Ordering::Relaxed) & ADDRESS_MASK;
            tags[kept] = tags[i];
            rows[kept] = row_at(link);
            rows[kept].prefetch(offset);
            kept += (link != 0) as usize;
        }
        rows.truncate(kept);
        tags.truncate(kept);
    }
}

impl Rows<'_> {
    /// Records that these rows have had a match. May be called concurrently.
    pub fn mark_found(self) {
        let offset = link_offset(self.layout());
        self.note_loads(offset);
        for &row in self.pointers() {
            // SAFETY: the row is pinned and has a link.
            let link = unsafe { link_of(row, offset) };
            // Reading first keeps the line shared when a row has many matches.
            if link.load(Ordering::Relaxed) & FOUND == 0 {
                link.fetch_or(FOUND, Ordering::Relaxed);
            }
        }
    }
}

impl RowList {
    /// Keeps the rows that have had a match, or the others.
    pub fn retain_found(&mut self, found: bool) {
        let offset = link_offset(self.all().layout());
        self.all().note_loads(offset);
        // SAFETY: rows are only left out; each is pinned and has a link.
        let (rows, _) = unsafe { self.parts_mut() };
        // SAFETY: as above.
        rows.retain(|&row| (unsafe { link_of(row, offset) }.load(Ordering::Relaxed) & FOUND != 0) == found);
    }
}
