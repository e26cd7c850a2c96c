//! The build side: rows in pages, read in blocks of columns.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use godwit_common::{MemoryTag, Result};
use godwit_memory::{PAGE_BYTES, Reservation};
use godwit_pipeline::{Operator, OperatorMetrics, QueryContext, Sink, SinkVerdict, SinkWorker};
use godwit_rows::{RowBlock, RowCollection, RowScan};
use godwit_vector::{Chunk, Vector};

use super::Shared;

/// Maximum size of build sides that are turned into columns once instead of once per probe chunk. Above this, the
/// repeated conversion takes less than a thousandth of the time for comparing the rows.
const CACHED_ROWS_MAX: u64 = 16 << 10;

/// The complete build side.
pub(super) struct Build {
    rows: RowCollection,
    /// All blocks, if there are few rows, and the memory they take.
    cached: Option<(Vec<BuildBlock>, Reservation)>,
    /// A bit per row: whether it has had a match. Empty if that doesn't matter.
    matched: Vec<AtomicU64>,
    _matched_memory: Reservation,
}

/// Some rows of the build side.
#[derive(Clone)]
pub(super) struct BuildBlock {
    /// The kept columns.
    pub(super) chunk: Chunk,
    /// Number of the first row.
    pub(super) first_row: u64,
}

/// A position in the build side, before some block.
pub(super) enum BlockScan {
    Cached { next: usize },
    Paged { scan: RowScan, next_row: u64 },
}

impl BlockScan {
    pub(super) fn next(&mut self, build: &Build) -> Result<Option<BuildBlock>> {
        match self {
            BlockScan::Cached { next } => {
                let (blocks, _) = build.cached.as_ref().expect("the scan was made for cached blocks");
                *next += 1;
                Ok(blocks.get(*next - 1).cloned())
            }
            BlockScan::Paged { scan, next_row } => Ok(scan.next_block()?.map(|block| {
                let first_row = *next_row;
                *next_row += block.len() as u64;
                BuildBlock { chunk: columns_of(&block), first_row }
            })),
        }
    }
}

fn columns_of(block: &RowBlock) -> Chunk {
    let rows = block.rows();
    let columns = 0..rows.layout().columns().len();
    Chunk::new(columns.map(|column| rows.gather(column)).collect(), rows.len())
}

impl Build {
    fn new(shared: &Shared, mut rows: RowCollection) -> Result<Self> {
        rows.close();
        let words = if shared.marks_build() { rows.rows().div_ceil(64) as usize } else { 0 };
        let mut build = Self {
            _matched_memory: shared.memory.reserve(words * 8, MemoryTag::HashTable)?,
            matched: (0..words).map(|_| AtomicU64::new(0)).collect(),
            rows,
            cached: None,
        };
        if build.rows.rows() <= CACHED_ROWS_MAX {
            let bytes = build.rows.rows() as usize * shared.layout.row_bytes();
            let reservation = shared.memory.reserve(bytes, MemoryTag::Other)?;
            let mut scan = build.scan();
            let mut blocks = Vec::new();
            while let Some(block) = scan.next(&build)? {
                blocks.push(block);
            }
            build.cached = Some((blocks, reservation));
        }
        Ok(build)
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows.rows()
    }

    /// All rows, always in the same order.
    pub(super) fn scan(&self) -> BlockScan {
        match &self.cached {
            Some(_) => BlockScan::Cached { next: 0 },
            None => BlockScan::Paged { scan: self.rows.scan(), next_row: 0 },
        }
    }

    /// Records that a row has a match.
    pub(super) fn mark(&self, row: u64) {
        let (word, bit) = (&self.matched[row as usize / 64], 1 << (row % 64));
        // Most rows are marked already: reading first keeps the cache line shared.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    pub(super) fn is_marked(&self, row: u64) -> bool {
        self.matched[row as usize / 64].load(Ordering::Relaxed) >> (row % 64) & 1 == 1
    }
}

/// Takes the build side's rows.
pub(super) struct BuildSink(pub(super) Arc<Shared>);

impl Operator for BuildSink {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics[0]
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        2 * (PAGE_BYTES * workers) as u64
    }
}

impl Sink for BuildSink {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        let rows = RowCollection::new(&self.0.memory, &self.0.layout, None);
        Ok(Box::new(BuildWorker { shared: self.0.clone(), rows, positions: Vec::new() }))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        let empty = RowCollection::new(&self.0.memory, &self.0.layout, None);
        let rows = std::mem::replace(&mut *self.0.collected.lock(), empty);
        let build = Build::new(&self.0, rows)?;
        assert!(self.0.build.set(build).is_ok(), "a sink is finalized once");
        Ok(())
    }
}

struct BuildWorker {
    shared: Arc<Shared>,
    rows: RowCollection,
    /// 0, 1, 2, …: tells the collection the number of rows when they have no columns.
    positions: Vec<u32>,
}

impl SinkWorker for BuildWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        let columns: Vec<Vector> = self.shared.kept.iter().map(|&column| chunk.dense(column)).collect();
        if columns.is_empty() {
            self.positions.extend(self.positions.len() as u32..chunk.len() as u32);
            self.rows.append(&columns, Some(&self.positions[..chunk.len()]), None, None)?;
        } else {
            self.rows.append(&columns, None, None, None)?;
        }
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        self.shared.collected.lock().absorb(self.rows);
        Ok(())
    }
}
