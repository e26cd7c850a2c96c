//! A sort that one worker does on its own, in the midst of another operator's work: sink, merge passes and source of a
//! [`Sort`], in sequence.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_memory::BufferManager;
use godwit_pipeline::{QueryContext, QuerySettings, SinkVerdict, SinkWorker, SourceVerdict, SourceWorker};
use godwit_vector::Chunk;

use super::{Sort, SortSpec};

/// Takes rows.
pub(crate) struct SortAlone {
    query: Arc<QueryContext>,
    sort: Arc<Sort>,
    sink: Box<dyn SinkWorker>,
}

/// Gives the rows in order.
pub(crate) struct SortedChunks {
    query: Arc<QueryContext>,
    source: Box<dyn SourceWorker>,
}

impl SortAlone {
    /// A sort whose memory counts for the owner of `memory`, and whose share of it is that of one among `sharers`
    /// which hold rows at the same time.
    pub(crate) fn new(spec: SortSpec, query: &QueryContext, memory: &BufferManager, sharers: usize) -> Result<Self> {
        let settings = QuerySettings { workers: 1, ..query.settings.clone() };
        let query = QueryContext::new(memory.clone(), settings, query.cancel.clone());
        let sort = Sort::sharing(spec, &query, "Sort", sharers)?;
        let sink = sort.sink().worker(&query)?;
        Ok(Self { query, sort, sink })
    }

    /// Adds rows.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<()> {
        match self.sink.sink(chunk)? {
            SinkVerdict::NeedInput => Ok(()),
            _ => Err(Error::internal("a sort takes all rows")),
        }
    }

    /// All rows were added.
    pub(crate) fn finish(self) -> Result<SortedChunks> {
        let Self { query, sort, sink } = self;
        sink.combine()?;
        if let Some(merge) = sort.merge_source() {
            let mut merge = SortedChunks { source: merge.worker(&query)?, query: query.clone() };
            if merge.next()?.is_some() {
                return Err(Error::internal("a merge pass yields no rows"));
            }
        }
        let source = sort.source();
        source.start(&query)?;
        Ok(SortedChunks { source: source.worker(&query)?, query })
    }
}

impl SortedChunks {
    /// The next rows, not empty; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>> {
        loop {
            self.query.cancel.check()?;
            match self.source.next()? {
                SourceVerdict::Chunk(chunk) => return Ok(Some(chunk)),
                SourceVerdict::Worked => {}
                SourceVerdict::Blocked(_) => return Err(Error::internal("a sort of one worker waits for nobody")),
                SourceVerdict::Done => return Ok(None),
            }
        }
    }
}
