//! A sort that a single worker runs in the middle of another operator's work: sink, merge passes and source of a
//! [`Sort`], in sequence.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_memory::BufferManager;
use godwit_pipeline::QueryContext;
use godwit_vector::Chunk;

use super::{Sort, SortSpec};
use crate::alone::{SinkAlone, SourceAlone, query_alone};

/// Takes rows.
pub(crate) struct SortAlone {
    sort: Arc<Sort>,
    sink: SinkAlone,
}

impl SortAlone {
    /// A sort whose memory is charged to the owner of `memory`; its share is that of one of `sharers` sorts that hold
    /// rows at the same time.
    pub(crate) fn new(spec: SortSpec, query: &QueryContext, memory: &BufferManager, sharers: usize) -> Result<Self> {
        let query = query_alone(query, memory);
        let sort = Sort::sharing(spec, &query, "Sort", sharers)?;
        Ok(Self { sink: SinkAlone::new(sort.sink(), query)?, sort })
    }

    /// Adds rows.
    pub(crate) fn push(&mut self, chunk: Chunk) -> Result<()> {
        self.sink.push(chunk)
    }

    /// Called once all rows are added. The source returns them in order.
    pub(crate) fn finish(self) -> Result<SourceAlone> {
        let query = self.sink.combine()?;
        if let Some(merge) = self.sort.merge_source()
            && SourceAlone::new(merge, &query)?.next()?.is_some()
        {
            return Err(Error::internal("a merge pass yields no rows"));
        }
        SourceAlone::new(self.sort.source(), &query)
    }
}
