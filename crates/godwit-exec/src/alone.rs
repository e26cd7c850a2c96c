//! An operator that a single worker runs in the middle of another operator's work: first its sink, then its sources.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_memory::BufferManager;
use godwit_pipeline::{
    QueryContext, QuerySettings, Sink, SinkVerdict, SinkWorker, Source, SourceVerdict, SourceWorker,
};
use godwit_vector::Chunk;

/// The query as that operator sees it: one worker, and memory charged to the owner of `memory`.
pub(crate) fn query_alone(query: &QueryContext, memory: &BufferManager) -> Arc<QueryContext> {
    let settings = QuerySettings { workers: 1, ..query.settings.clone() };
    QueryContext::new(memory.clone(), settings, query.cancel.clone())
}

/// Takes rows.
pub(crate) struct SinkAlone {
    query: Arc<QueryContext>,
    worker: Box<dyn SinkWorker>,
}

impl SinkAlone {
    /// A sink without rows.
    pub(crate) fn new(sink: Arc<dyn Sink>, query: Arc<QueryContext>) -> Result<Self> {
        Ok(Self { worker: sink.worker(&query)?, query })
    }

    /// Adds rows, at least one.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<()> {
        match self.worker.sink(chunk)? {
            SinkVerdict::NeedInput => Ok(()),
            SinkVerdict::Blocked(_) | SinkVerdict::Done => Err(Error::internal("this operator takes all rows")),
        }
    }

    /// Called once all rows are added. Returns the query, for the source.
    pub(crate) fn combine(self) -> Result<Arc<QueryContext>> {
        self.worker.combine()?;
        Ok(self.query)
    }
}

/// Produces rows.
pub(crate) struct SourceAlone {
    query: Arc<QueryContext>,
    worker: Box<dyn SourceWorker>,
}

impl SourceAlone {
    /// The rows of a source whose input is complete.
    pub(crate) fn new(source: Arc<dyn Source>, query: &Arc<QueryContext>) -> Result<Self> {
        source.start(query)?;
        Ok(Self { worker: source.worker(query)?, query: query.clone() })
    }

    /// The next rows, at least one; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>> {
        loop {
            self.query.cancel.check()?;
            match self.worker.next()? {
                SourceVerdict::Chunk(chunk) => return Ok(Some(chunk)),
                SourceVerdict::Worked => {}
                SourceVerdict::Blocked(_) => return Err(Error::internal("a single worker is blocked")),
                SourceVerdict::Done => return Ok(None),
            }
        }
    }
}
