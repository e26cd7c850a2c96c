//! Placement of rows: decides which pages they go on before any byte is written.

use std::ops::Range;

use godwit_common::Result;
use godwit_memory::{PAGE_BYTES, PinnedPage};

use crate::RowLayout;
use crate::collection::RowCollection;
use crate::row_ptr::RowPtr;

/// Rows are written when this many bytes of full pages are waiting, because the pages stay pinned until then: 4 MiB,
/// many pages of ordinary rows, and few enough that a chunk of long strings doesn't exhaust memory.
const WAITING_BYTES_MAX: usize = 16 * PAGE_BYTES;

/// Rows are written column by column in blocks of this size, so that they stay in the L1 cache (32 to 48 KiB) from the
/// first column to the last.
const WRITE_BYTES: usize = 16 * 1024;

/// Addresses for rows that are about to be written. Kept between appends, so that nothing is allocated.
#[derive(Default)]
pub(crate) struct Placed {
    /// Where each row goes.
    pub(crate) rows: Vec<RowPtr>,
    /// Where the next string of each row goes; empty if no row has a long string.
    pub(crate) heap: Vec<RowPtr>,
    /// Pages that are full, or will be once the rows are written.
    waiting: Vec<PinnedPage>,
    waiting_bytes: usize,
}

impl Placed {
    /// Removes the rows, which have been written, and unpins the pages that they filled.
    pub(crate) fn clear(&mut self) {
        self.rows.clear();
        self.heap.clear();
        self.waiting.clear();
        self.waiting_bytes = 0;
    }

    /// Whether the rows should be written before more are placed.
    pub(crate) fn is_full(&self) -> bool {
        self.waiting_bytes >= WAITING_BYTES_MAX
    }

    pub(crate) fn wait(&mut self, pin: PinnedPage) {
        self.waiting_bytes += pin.len();
        self.waiting.push(pin);
    }
}

/// The rows of a source, in order: all of a range, or a list. Loops are compiled separately for each.
#[derive(Clone, Copy)]
pub(crate) enum Order<'a> {
    All { begin: usize, end: usize },
    Rows(&'a [u32]),
}

impl Order<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Order::All { begin, end } => end - begin,
            Order::Rows(rows) => rows.len(),
        }
    }

    /// The rows at `range` of this order.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        match *self {
            Order::All { begin, .. } => Order::All { begin: begin + range.start, end: begin + range.end },
            Order::Rows(rows) => Order::Rows(&rows[range]),
        }
    }

    /// Calls `each(item, position)` for every row, pairing rows with items in order.
    #[inline(always)]
    pub(crate) fn zip<T>(self, items: impl Iterator<Item = T>, mut each: impl FnMut(T, usize)) {
        match self {
            Order::All { begin, end } => items.zip(begin..end).for_each(|(item, position)| each(item, position)),
            Order::Rows(rows) => items.zip(rows).for_each(|(item, &position)| each(item, position as usize)),
        }
    }
}

/// The source that rows are built from.
pub(crate) trait RowSource {
    /// Adds to `bytes`, initially zeros, the sizes of the long strings of each row.
    fn heap_bytes(&self, order: Order<'_>, bytes: &mut [u64]);

    /// Writes the rows of `order` to `rows`, and their long strings to the addresses in `heap` (empty if there are
    /// none); leaves the ends of the strings there.
    ///
    /// # Safety
    /// The rows, of this layout, and the room for their strings are on pinned pages, and were placed for this write
    /// alone.
    unsafe fn write(&self, layout: &RowLayout, order: Order<'_>, rows: &[RowPtr], heap: &mut [RowPtr]);
}

/// Buffers of [`append_to`].
#[derive(Default)]
pub(crate) struct AppendScratch {
    placed: Placed,
    heap_bytes: Vec<u64>,
}

/// Appends rows to several collections of one layout: those of `order` up to `ends[0]` to the first, those from there
/// up to `ends[1]` to the second, and so on. Calls `written(begin, rows)` with the addresses of the rows of `order`
/// starting at `begin`, in that order.
///
/// If it fails, the rows before the one that found no room are appended.
pub(crate) fn append_to(
    targets: &mut [RowCollection],
    ends: &[usize],
    source: &impl RowSource,
    order: Order<'_>,
    scratch: &mut AppendScratch,
    mut written: impl FnMut(usize, &[RowPtr]),
) -> Result<()> {
    let layout = targets[0].layout().clone();
    let AppendScratch { placed, heap_bytes } = scratch;
    heap_bytes.clear();
    if !layout.strings().is_empty() {
        heap_bytes.resize(order.len(), 0);
        source.heap_bytes(order, heap_bytes);
        if heap_bytes.iter().all(|&bytes| bytes == 0) {
            heap_bytes.clear();
        }
    }
    let mut begin = 0;
    let block_rows = (WRITE_BYTES / layout.row_bytes()).max(16);
    let mut flush = |begin: usize, placed: &mut Placed| {
        let (mut at, mut heap) = (begin, &mut placed.heap[..]);
        for rows in placed.rows.chunks(block_rows) {
            let block;
            (block, heap) = heap.split_at_mut(rows.len().min(heap.len()));
            // SAFETY: the collections placed them since the last flush; their pages are open, held, or wait to be
            // unpinned.
            unsafe { source.write(&layout, order.slice(at..at + rows.len()), rows, block) };
            at += rows.len();
        }
        written(begin, &placed.rows);
        placed.clear();
    };
    let mut at = 0;
    for (target, &end) in targets.iter_mut().zip(ends) {
        while at < end {
            let bytes = if heap_bytes.is_empty() { &[][..] } else { &heap_bytes[at..end] };
            let result = target.place(end - at, bytes, placed);
            at = begin + placed.rows.len();
            if result.is_err() || placed.is_full() {
                flush(begin, placed);
                begin = at;
            }
            result?;
        }
    }
    flush(begin, placed);
    Ok(())
}
