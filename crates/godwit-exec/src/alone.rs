//! An operator that one worker runs on its own, in the midst of another operator's work: its sink, then its sources, in
//! sequence.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_memory::BufferManager;
use godwit_pipeline::{
    QueryContext, QuerySettings, Sink, SinkVerdict, SinkWorker, Source, SourceVerdict, SourceWorker,
};
use godwit_vector::Chunk;

/// The query as such an operator sees it: one worker, and memory that counts for the owner of `memory`.
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

    /// Adds rows, one at least.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<()> {
        match self.worker.sink(chunk)? {
            SinkVerdict::NeedInput => Ok(()),
            SinkVerdict::Blocked(_) | SinkVerdict::Done => Err(Error::internal("this operator takes all rows")),
        }
    }

    /// All rows were added. Returns the query, for what comes next.
    pub(crate) fn combine(self) -> Result<Arc<QueryContext>> {
        self.worker.combine()?;
        Ok(self.query)
    }
}

/// Gives rows.
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

    /// The next rows, one at least; `None` at the end.
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
