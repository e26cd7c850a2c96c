//! Rows that are computed once and read several times: the result of a subplan that occurs several times in a query.
//!
//! ```text
//! subplan ─▶ sink: rows in spillable pages ─┬─▶ reader 1 ─▶ …        readers take the columns they need, page by page
//!                                           └─▶ reader 2 ─▶ …        the last reader takes the pages with it
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use godwit_common::Result;
use godwit_memory::{BufferManager, PAGE_BYTES};
use godwit_pipeline::{
    CacheUse, Operator, OperatorMetrics, QueryContext, Sink, SinkVerdict, SinkWorker, Source, SourceVerdict,
    SourceWorker,
};
use godwit_rows::{RowBlock, RowCollection, RowLayout, RowLayoutOptions, RowPages, RowScan};
use godwit_vector::{Chunk, PhysicalType};
use parking_lot::Mutex;

/// The rows of one subplan in one query. Pipelines, in this order: into it, as a sink; then from each source that
/// [`SharedRows::reader`] returned, at any time after the first, possibly concurrently.
pub(crate) struct SharedRows {
    layout: Arc<RowLayout>,
    memory: BufferManager,
    chunk_rows: usize,
    /// Rows of the workers that have combined.
    collected: Mutex<RowCollection>,
    /// The complete pages, for readers that haven't started.
    pages: Mutex<Option<Arc<RowPages>>>,
    readers_to_start: AtomicUsize,
    /// The pages stay after their readers are done: there may be more readers.
    is_kept: bool,
    metrics: Arc<OperatorMetrics>,
}

impl SharedRows {
    /// For rows with these columns, at least one, none of them nested. `EXPLAIN` shows them as `name`.
    pub(crate) fn new(columns: &[PhysicalType], query: &QueryContext, name: String) -> Result<Arc<Self>> {
        Self::make(RowLayout::new(columns, RowLayoutOptions::default())?, query, name, false)
    }

    /// The same, but readers may be created at any time. The pages are freed with the last reference.
    pub(crate) fn kept(columns: &[PhysicalType], query: &QueryContext, name: String) -> Result<Arc<Self>> {
        Self::make(RowLayout::new(columns, RowLayoutOptions::default())?, query, name, true)
    }

    /// An empty instance that can take the place of this one.
    pub(crate) fn alike(&self, query: &QueryContext, name: String) -> Result<Arc<Self>> {
        Self::make(self.layout.clone(), query, name, self.is_kept)
    }

    fn make(layout: Arc<RowLayout>, query: &QueryContext, name: String, is_kept: bool) -> Result<Arc<Self>> {
        let metrics = OperatorMetrics::new(name);
        let memory = query.memory.scoped(metrics.memory().clone());
        let collected = Mutex::new(RowCollection::new(&memory, &layout, None));
        let chunk_rows = query.settings.chunk_rows;
        let (pages, readers_to_start) = (Mutex::default(), AtomicUsize::new(0));
        Ok(Arc::new(Self { layout, memory, chunk_rows, collected, pages, readers_to_start, is_kept, metrics }))
    }

    /// Whether there are no rows. Called when they are complete.
    pub(crate) fn is_empty(&self) -> bool {
        self.pages.lock().as_ref().is_none_or(|pages| pages.rows() == 0)
    }

    /// Appends rows. Readers that start after the next [`Self::complete`] see them.
    pub(crate) fn append(&self, chunk: &Chunk) -> Result<()> {
        // No new reader may begin on pages that are about to be written.
        *self.pages.lock() = None;
        self.collected.lock().append(&chunk.dense_columns(), None, None, None)
    }

    /// Makes appended rows visible to readers.
    pub(crate) fn complete(&self) {
        *self.pages.lock() = Some(Arc::new(self.collected.lock().pages_so_far()));
    }

    /// Takes over the rows of another instance, leaving it empty.
    pub(crate) fn take_rows_of(&self, other: &SharedRows) {
        assert!(Arc::ptr_eq(&self.layout, &other.layout), "rows of one layout");
        *self.pages.lock() = other.pages.lock().take();
    }

    /// Drops the rows.
    pub(crate) fn clear(&self) {
        *self.pages.lock() = None;
    }

    /// A reader of all rows, with the columns listed. Readers are created before the first one starts.
    pub(crate) fn reader(self: &Arc<Self>, columns: Vec<usize>) -> Arc<dyn Source> {
        let earlier = self.readers_to_start.fetch_add(1, Ordering::Relaxed);
        let metrics = match earlier {
            0 => self.metrics.clone(),
            _ => OperatorMetrics::new(format!("{} again", self.metrics.name())),
        };
        Arc::new(Reader { rows: self.clone(), columns, unread: Mutex::default(), metrics })
    }

    /// The pages; the last reader gets the only reference.
    fn take_pages(&self) -> Arc<RowPages> {
        let mut pages = self.pages.lock();
        let is_last = !self.is_kept && self.readers_to_start.fetch_sub(1, Ordering::Relaxed) == 1;
        let taken = if is_last { pages.take() } else { pages.clone() };
        taken.expect("the rows are complete before a reader starts")
    }
}

impl Operator for SharedRows {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::APPENDS
    }

    fn is_reusable(&self) -> bool {
        self.is_kept
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        // A row page and a heap page being filled.
        2 * (PAGE_BYTES * workers) as u64
    }
}

impl Sink for SharedRows {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        let rows = RowCollection::new(&self.memory, &self.layout, None);
        Ok(Box::new(SharedRowsWorker { shared: self, rows }))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        let empty = RowCollection::new(&self.memory, &self.layout, None);
        let rows = std::mem::replace(&mut *self.collected.lock(), empty);
        *self.pages.lock() = Some(Arc::new(rows.into_pages()));
        Ok(())
    }
}

struct SharedRowsWorker {
    shared: Arc<SharedRows>,
    rows: RowCollection,
}

impl SinkWorker for SharedRowsWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        self.rows.append(&chunk.dense_columns(), None, None, None)?;
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        self.shared.collected.lock().absorb(self.rows);
        Ok(())
    }
}

/// One use of the rows.
struct Reader {
    rows: Arc<SharedRows>,
    columns: Vec<usize>,
    /// Set from the start until all pages have been handed out.
    unread: Mutex<Option<Unread>>,
    metrics: Arc<OperatorMetrics>,
}

struct Unread {
    pages: Arc<RowPages>,
    /// The first page that no worker has taken.
    next: usize,
}

impl Unread {
    fn pages_left(&self) -> usize {
        self.pages.page_of(self.pages.rows()) - self.next
    }
}

impl Reader {
    /// A page that no worker has taken yet.
    fn take_page(&self) -> Option<RowScan> {
        let mut unread = self.unread.lock();
        let next = unread.as_mut().filter(|unread| unread.pages_left() > 0);
        let Some(next) = next else {
            *unread = None;
            return None;
        };
        next.next += 1;
        Some(next.pages.scan(next.next - 1..next.next))
    }
}

impl Operator for Reader {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::READS
    }

    fn is_reusable(&self) -> bool {
        self.rows.is_kept
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        // A row page and a heap page.
        2 * (PAGE_BYTES * workers) as u64
    }
}

impl Source for Reader {
    fn start(&self, _query: &Arc<QueryContext>) -> Result<()> {
        *self.unread.lock() = Some(Unread { pages: self.rows.take_pages(), next: 0 });
        Ok(())
    }

    fn parallelism(&self) -> usize {
        self.unread.lock().as_ref().map_or(1, |unread| unread.pages_left().max(1))
    }

    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(ReaderWorker { reader: self, page: None, block: None }))
    }
}

struct ReaderWorker {
    reader: Arc<Reader>,
    page: Option<RowScan>,
    /// A block of the page, and how many of its rows have been emitted.
    block: Option<(RowBlock, usize)>,
}

impl SourceWorker for ReaderWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let reader = &*self.reader;
        if let Some((block, done)) = &mut self.block {
            let rows = block.rows().slice(*done..block.len().min(*done + reader.rows.chunk_rows));
            let chunk = Chunk::new(reader.columns.iter().map(|&column| rows.gather(column)).collect(), rows.len());
            *done += rows.len();
            if *done == block.len() {
                self.block = None;
            }
            return Ok(SourceVerdict::Chunk(chunk));
        }
        if let Some(page) = &mut self.page {
            self.block = page.next_block()?.map(|block| (block, 0));
            if self.block.is_none() {
                self.page = None;
            }
            return Ok(SourceVerdict::Worked);
        }
        self.page = reader.take_page();
        Ok(if self.page.is_some() { SourceVerdict::Worked } else { SourceVerdict::Done })
    }
}
