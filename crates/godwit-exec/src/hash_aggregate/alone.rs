//! An aggregation that one worker does on its own, in the midst of another operator's work: sink and source of a
//! [`HashAggregate`], in sequence.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_memory::BufferManager;
use godwit_pipeline::{QueryContext, QuerySettings, SinkVerdict, SinkWorker, SourceVerdict, SourceWorker};
use godwit_vector::Chunk;

use super::{HashAggregate, HashAggregateSpec};

/// Takes rows.
pub(crate) struct AggregateAlone {
    query: Arc<QueryContext>,
    operator: Arc<HashAggregate>,
    sink: Box<dyn SinkWorker>,
}

/// Gives the groups, in any order.
pub(crate) struct AggregatedChunks {
    query: Arc<QueryContext>,
    source: Box<dyn SourceWorker>,
}

impl AggregateAlone {
    /// An aggregation whose memory counts for the owner of `memory`.
    pub(crate) fn new(spec: HashAggregateSpec, query: &QueryContext, memory: &BufferManager) -> Result<Self> {
        let settings = QuerySettings { workers: 1, ..query.settings.clone() };
        let query = QueryContext::new(memory.clone(), settings, query.cancel.clone());
        let operator = HashAggregate::new(spec, &query, "Aggregate")?;
        let sink = operator.sink().worker(&query)?;
        Ok(Self { query, operator, sink })
    }

    /// Adds rows, one at least.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<()> {
        self.query.cancel.check()?;
        match self.sink.sink(chunk)? {
            SinkVerdict::NeedInput => Ok(()),
            _ => Err(Error::internal("an aggregation takes all rows")),
        }
    }

    /// All rows were added.
    pub(crate) fn finish(self) -> Result<AggregatedChunks> {
        let Self { query, operator, sink } = self;
        sink.combine()?;
        operator.sink().finalize(&query)?;
        let source = operator.source();
        source.start(&query)?;
        Ok(AggregatedChunks { source: source.worker(&query)?, query })
    }
}

impl AggregatedChunks {
    /// The next groups, one at least; `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Chunk>> {
        loop {
            self.query.cancel.check()?;
            match self.source.next()? {
                SourceVerdict::Chunk(chunk) => return Ok(Some(chunk)),
                SourceVerdict::Worked => {}
                SourceVerdict::Blocked(_) => {
                    return Err(Error::internal("an aggregation of one worker waits for nobody"));
                }
                SourceVerdict::Done => return Ok(None),
            }
        }
    }
}
