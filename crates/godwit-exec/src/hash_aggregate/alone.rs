//! An aggregation that a single worker runs in the middle of another operator's work.

use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::BufferManager;
use godwit_pipeline::QueryContext;
use godwit_vector::Chunk;

use super::{HashAggregate, HashAggregateSpec};
use crate::alone::{SinkAlone, SourceAlone, query_alone};

/// Takes rows.
pub(crate) struct AggregateAlone {
    operator: Arc<HashAggregate>,
    sink: SinkAlone,
}

impl AggregateAlone {
    /// An aggregation whose memory is charged to the owner of `memory`.
    pub(crate) fn new(spec: HashAggregateSpec, query: &QueryContext, memory: &BufferManager) -> Result<Self> {
        let query = query_alone(query, memory);
        let operator = HashAggregate::new(spec, &query, "Aggregate")?;
        Ok(Self { sink: SinkAlone::new(operator.sink(), query)?, operator })
    }

    /// Adds rows, at least one.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<()> {
        self.sink.push(chunk)
    }

    /// Called once all rows are added. The groups come in any order.
    pub(crate) fn finish(self) -> Result<SourceAlone> {
        let query = self.sink.combine()?;
        self.operator.sink().finalize(&query)?;
        SourceAlone::new(self.operator.source(), &query)
    }
}
