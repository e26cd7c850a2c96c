//! Rows of one layout in spillable pages.

use std::ops::Range;
use std::sync::Arc;

use godwit_common::{MemoryTag, Result};
use godwit_memory::{BufferManager, PAGE_BYTES, PinnedPage};
use godwit_vector::Vector;

use crate::copy_rows::Copied;
use crate::held_pages::{HeldPages, as_heap};
use crate::owner::Access;
use crate::page_walk::{PageOfRows, read_ahead};
use crate::place::{AppendScratch, Order, Placed, append_to};
use crate::row_ptr::RowPtr;
use crate::scatter::Columns;
use crate::segment::RowPage;
use crate::{PagedRows, PinnedRows, RowLayout, RowList, RowPages, RowScan, Rows};

/// Rows of one layout in spillable pages.
///
/// The page that is being filled, and the heap page with it, stay pinned until [`close`](Self::close), a scan that
/// consumes the collection, or until the collection is absorbed by another. Pages that are full can be evicted, unless
/// [`keep_pinned`](Self::keep_pinned) is on.
///
/// Its rows are shared, unless it is a partition of rows that [have an owner](PartitionedRows::owned_by).
pub struct RowCollection {
    manager: BufferManager,
    layout: Arc<RowLayout>,
    partition: Option<u32>,
    access: Access,
    pages: Vec<Arc<RowPage>>,
    rows: u64,
    bytes: u64,
    open: Option<OpenPage>,
    heap: Option<OpenHeap>,
    /// The pins of full pages, if they are kept.
    held: Option<Arc<HeldPages>>,
    scratch: AppendScratch,
}

/// The row page that is being filled.
struct OpenPage {
    /// Its index in `pages`.
    index: usize,
    pin: PinnedPage,
}

/// The heap page that is being filled.
struct OpenHeap {
    pin: PinnedPage,
    used_bytes: usize,
    /// Whether the last part of the open row page uses it.
    in_last_part: bool,
}

impl RowCollection {
    /// An empty collection. Pages of high partitions are evicted before those of low ones.
    pub fn new(manager: &BufferManager, layout: &Arc<RowLayout>, partition: Option<u32>) -> Self {
        Self {
            manager: manager.clone(),
            layout: layout.clone(),
            partition,
            access: Access::Shared,
            pages: Vec::new(),
            rows: 0,
            bytes: 0,
            open: None,
            heap: None,
            held: None,
            scratch: AppendScratch::default(),
        }
    }

    /// The layout of the rows.
    pub fn layout(&self) -> &Arc<RowLayout> {
        &self.layout
    }

    /// Number of rows.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// True if there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Who may use the rows.
    pub(crate) fn access(&self) -> Access {
        self.access
    }

    pub(crate) fn set_access(&mut self, access: Access) {
        self.access = access;
    }

    /// Memory of the rows when all their pages are loaded.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Appends the rows at the positions `rows` (all rows if `None`) of dense `columns`, in that order. `hashes` has
    /// one hash for each row of `columns`. The new rows are added to `appended`.
    ///
    /// If memory runs out, some of the rows may have been appended; the collection stays valid.
    ///
    /// # Panics
    /// If types or lengths don't agree, hashes are missing or unexpected, or rows are requested that aren't [kept
    /// pinned](Self::keep_pinned): bugs in the plan.
    pub fn append(
        &mut self,
        columns: &[Vector],
        rows: Option<&[u32]>,
        hashes: Option<&[u64]>,
        appended: Option<&mut RowList>,
    ) -> Result<()> {
        let order = match rows {
            Some(rows) => Order::Rows(rows),
            None => {
                let len = columns.first().map(Vector::len).or(hashes.map(<[u64]>::len));
                Order::All { begin: 0, end: len.expect("rows without columns and hashes are given by position") }
            }
        };
        let layout = self.layout.clone();
        let source = Columns::new(&layout, columns, hashes, order);
        self.append_source(&source, order, appended)
    }

    /// Appends copies of rows of the same layout, with their hashes and extra areas.
    pub fn append_rows(&mut self, rows: Rows<'_>, appended: Option<&mut RowList>) -> Result<()> {
        assert!(Arc::ptr_eq(&self.layout, rows.layout()), "rows of one layout");
        self.append_source(&Copied::new(rows), Order::All { begin: 0, end: rows.len() }, appended)
    }

    fn append_source(
        &mut self,
        source: &impl crate::place::RowSource,
        order: Order<'_>,
        mut appended: Option<&mut RowList>,
    ) -> Result<()> {
        let mut scratch = std::mem::take(&mut self.scratch);
        let layout = self.layout.clone();
        let mut rows = appended.as_mut().map(|list| {
            let held = self.held.as_ref().expect("rows are kept pinned for those who want to know them");
            assert!(Arc::ptr_eq(list.all().layout(), &layout), "a list of rows of this layout");
            // SAFETY: the added rows are written, and their pages are held, or will be before they are released.
            let (rows, pins) = unsafe { list.parts_mut() };
            pins.add_common(&as_heap(held), self.access);
            rows
        });
        let result =
            append_to(std::slice::from_mut(self), &[order.len()], source, order, &mut scratch, |_, written| {
                if let Some(rows) = &mut rows {
                    rows.extend_from_slice(written);
                }
            });
        self.scratch = scratch;
        result
    }

    /// From now on, keeps full pages pinned until [`release_pins`](Self::release_pins), for callers that request the
    /// rows that they append.
    pub fn keep_pinned(&mut self) {
        self.hold(Arc::default());
    }

    /// Unpins the full pages, except those with rows in lists. Pages that are being filled stay pinned.
    pub fn release_pins(&mut self) {
        release(std::slice::from_mut(self));
    }

    /// Unpins all pages, except those with rows in lists; rows appended later begin a new page.
    pub fn close(&mut self) {
        self.hold_open_pages();
        self.open = None;
        self.heap = None;
        if let Some(held) = &mut self.held {
            *held = Arc::default();
        }
    }

    /// Keeps pins in `held` from now on.
    pub(crate) fn hold(&mut self, held: Arc<HeldPages>) {
        self.hold_open_pages();
        self.held = Some(held);
    }

    /// From now on, the holder of the pins of full pages also holds those of the pages being filled.
    fn hold_open_pages(&self) {
        let open = self.open.iter().map(|open| &open.pin).chain(self.heap.iter().map(|heap| &heap.pin));
        if let Some(held) = &self.held {
            open.for_each(|pin| held.push(pin.clone()));
        }
    }

    /// Takes over the rows of another collection of the same layout. Its pages are unpinned.
    pub fn absorb(&mut self, mut other: RowCollection) {
        assert!(Arc::ptr_eq(&self.layout, &other.layout), "collections of one layout");
        assert_eq!(self.access, other.access, "collections of one owner, or of none");
        other.close();
        self.rows += other.rows;
        self.bytes += other.bytes;
        self.pages.append(&mut other.pages);
    }

    /// Distributes the rows over `pieces` collections of about the same number of pages, in order, without copying.
    pub fn split(mut self, pieces: usize) -> Vec<RowCollection> {
        assert!(pieces > 0);
        self.close();
        let mut pages = std::mem::take(&mut self.pages).into_iter();
        (0..pieces)
            .map(|piece| {
                let mut collection = RowCollection::new(&self.manager, &self.layout, self.partition);
                collection.access = self.access;
                let share = pages.len().div_ceil(pieces - piece);
                collection.pages.extend(pages.by_ref().take(share));
                collection.rows = collection.pages.iter().map(|page| page.rows() as u64).sum();
                collection.bytes = collection.pages.iter().map(|page| page.bytes()).sum();
                collection
            })
            .collect()
    }

    /// Pins all pages, for random access to the rows. They may be written from then on, so they count as changed.
    pub fn pin(&self) -> Result<PinnedRows> {
        PinnedRows::of(&self.layout, [self])
    }

    pub(crate) fn manager(&self) -> &BufferManager {
        &self.manager
    }

    pub(crate) fn pages(&self) -> &[Arc<RowPage>] {
        &self.pages
    }

    /// The rows, for access by number.
    pub fn into_paged(self) -> PagedRows {
        PagedRows::new(&self.manager.clone(), &self.layout.clone(), self.into_shared())
    }

    /// The pages of rows that nobody can change any more.
    fn into_shared(mut self) -> Vec<Arc<RowPage>> {
        assert!(!matches!(self.access, Access::Owned(_)), "rows are handed over before others read them");
        self.close();
        std::mem::take(&mut self.pages)
    }

    /// The rows block by block, in the order of appending. Rows appended later aren't seen.
    pub fn scan(&self) -> RowScan {
        self.scan_pages(0..self.pages.len())
    }

    /// [`scan`](Self::scan) for one of `parts` workers that together see all rows: each scans different pages.
    pub fn scan_part(&self, part: usize, parts: usize) -> RowScan {
        assert!(part < parts);
        let border = |part: usize| self.pages.len() * part / parts;
        self.scan_pages(border(part)..border(part + 1))
    }

    fn scan_pages(&self, range: Range<usize>) -> RowScan {
        RowScan::new(&self.manager, &self.layout, self.shared_pages()[range].to_vec())
    }

    /// The pages, for readers that leave them in the collection.
    fn shared_pages(&self) -> &[Arc<RowPage>] {
        assert_eq!(self.access, Access::Shared, "rows may change as long as they are in the collection");
        &self.pages
    }

    /// Starts reading back the first pages while others are being processed: they will be scanned or pinned next.
    pub fn read_ahead(&self) {
        read_ahead(&self.manager, &self.pages, true);
    }

    /// Passes on the rows of up to `pages` pages, spread over the collection.
    pub fn sample(&self, pages: usize, mut each: impl FnMut(Rows<'_>)) -> Result<()> {
        let pages = pages.min(self.pages.len());
        for number in 0..pages {
            let page = number * self.pages.len() / pages;
            let mut scan = self.scan_pages(page..page + 1);
            while let Some(block) = scan.next_block()? {
                each(block.rows());
            }
        }
        Ok(())
    }

    /// The rows block by block; pages are freed once their rows have been read.
    pub fn into_scan(self) -> RowScan {
        RowScan::new(&self.manager.clone(), &self.layout.clone(), self.into_shared())
    }

    /// The pages so far, to be scanned by several readers. Rows appended later aren't seen.
    pub fn pages_so_far(&self) -> RowPages {
        RowPages::new(&self.manager, &self.layout, self.shared_pages().to_vec())
    }

    /// The pages, to be scanned by several readers, each starting at any page.
    pub fn into_pages(self) -> RowPages {
        RowPages::new(&self.manager.clone(), &self.layout.clone(), self.into_shared())
    }

    /// Finds room for up to `rows` more rows; `heap_bytes` has the total size of each row's long strings, or is empty
    /// if no row has any. Stops early when enough rows are [placed](Placed::is_full); otherwise places all, or fails.
    pub(crate) fn place(&mut self, rows: usize, heap_bytes: &[u64], placed: &mut Placed) -> Result<()> {
        let row_bytes = self.layout.row_bytes();
        let mut done = 0;
        while done < rows && !placed.is_full() {
            let (index, used) = self.open_page(placed)?;
            let open = self.open.as_ref().expect("just opened");
            let first = open.pin.as_ptr().wrapping_add(used * row_bytes);
            let mut run = (rows - done).min(self.layout.rows_per_page() - used);
            if heap_bytes.is_empty() {
                self.page_mut(index).extend(run, None, false);
            } else if heap_bytes[done..done + run].iter().all(|&bytes| bytes == 0) {
                placed.heap.extend(std::iter::repeat_n(RowPtr::null(), run));
                self.page_mut(index).extend(run, None, false);
            } else {
                run = self.place_strings(index, &heap_bytes[done..done + run], placed)?;
            }
            placed.rows.extend((0..run).map(|row| RowPtr::new(first.wrapping_add(row * row_bytes))));
            self.rows += run as u64;
            done += run;
        }
        Ok(())
    }

    /// The page to fill and its number of rows; there is room for one more. A page that a scan or a pin knows isn't
    /// filled further.
    fn open_page(&mut self, placed: &mut Placed) -> Result<(usize, usize)> {
        if let Some(open) = &self.open {
            let used = self.pages[open.index].rows();
            if used < self.layout.rows_per_page() && Arc::get_mut(&mut self.pages[open.index]).is_some() {
                return Ok((open.index, used));
            }
        }
        let pin = self.manager.allocate_page(MemoryTag::RowPage, self.partition)?;
        if let Some(full) = self.open.take() {
            self.retire(full.pin, placed);
        }
        if let Some(heap) = &mut self.heap {
            heap.in_last_part = false;
        }
        let page = RowPage::new(pin.page().clone());
        self.bytes += page.bytes();
        self.pages.push(Arc::new(page));
        self.open = Some(OpenPage { index: self.pages.len() - 1, pin });
        Ok((self.pages.len() - 1, 0))
    }

    fn page_mut(&mut self, index: usize) -> &mut RowPage {
        Arc::get_mut(&mut self.pages[index]).expect("the open page isn't shared")
    }

    /// Places as many rows of the open page, at least one, as have room for their strings on one heap page.
    fn place_strings(&mut self, index: usize, heap_bytes: &[u64], placed: &mut Placed) -> Result<usize> {
        let first = heap_bytes[0] as usize;
        if first > PAGE_BYTES {
            let mut pin = self.manager.allocate_large(first, MemoryTag::HeapPage)?;
            self.note_heap(index, &mut pin);
            self.page_mut(index).extend(1, Some(&pin), false);
            placed.heap.push(RowPtr::new(pin.as_ptr()));
            if let Some(heap) = &mut self.heap {
                heap.in_last_part = false;
            }
            self.retire(pin, placed);
            return Ok(1);
        }
        if self.heap.as_ref().is_none_or(|heap| heap.used_bytes + first > PAGE_BYTES) {
            let mut pin = self.manager.allocate_page(MemoryTag::HeapPage, self.partition)?;
            self.note_heap(index, &mut pin);
            if let Some(full) = self.heap.replace(OpenHeap { pin, used_bytes: 0, in_last_part: false }) {
                self.retire(full.pin, placed);
            }
        }
        let heap = self.heap.as_mut().expect("just opened");
        let before = heap.used_bytes;
        let mut run = 0;
        for &bytes in heap_bytes {
            if heap.used_bytes as u64 + bytes > PAGE_BYTES as u64 {
                break;
            }
            placed.heap.push(RowPtr::new(heap.pin.as_ptr().wrapping_add(heap.used_bytes)));
            heap.used_bytes += bytes as usize;
            run += 1;
        }
        let page = Arc::get_mut(&mut self.pages[index]).expect("the open page isn't shared");
        if heap.used_bytes == before {
            page.extend(run, None, false);
        } else {
            page.extend(run, Some(&heap.pin), heap.in_last_part);
            heap.in_last_part = true;
        }
        Ok(run)
    }

    fn note_heap(&mut self, index: usize, pin: &mut PinnedPage) {
        self.page_mut(index).add_heap_bytes(pin.len());
        self.bytes += pin.len() as u64;
        if let Some(partition) = self.partition {
            pin.page().set_partition(partition);
        }
    }

    /// A full page stays pinned at least until its rows are written.
    fn retire(&mut self, pin: PinnedPage, placed: &mut Placed) {
        match &self.held {
            Some(held) => held.push(pin),
            None => placed.wait(pin),
        }
    }
}

impl Drop for RowCollection {
    fn drop(&mut self) {
        self.hold_open_pages();
    }
}

/// Unpins the full pages of collections that hold them together, except those with rows in lists. Returns the holder of
/// pins from now on.
pub(crate) fn release(collections: &mut [RowCollection]) -> Option<Arc<HeldPages>> {
    let held = collections.first()?.held.clone()?;
    // Lists get their reference from appends, or from each other: so no other thread can be about to take the first
    // one.
    if Arc::strong_count(&held) == collections.len() + 1 {
        held.clear();
        return Some(held);
    }
    let next: Arc<HeldPages> = Arc::default();
    collections.iter_mut().for_each(|collection| collection.hold(next.clone()));
    Some(next)
}
