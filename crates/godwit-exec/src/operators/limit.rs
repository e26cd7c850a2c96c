//! LIMIT and OFFSET.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use godwit_common::{Error, Result, SqlState};
use godwit_expression::Expression;
use godwit_pipeline::{
    CacheUse, ChunkEffect, Operator, OperatorMetrics, QueryContext, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::{Chunk, PhysicalType};

/// Skips some rows and lets some through, counted over all workers: which ones is arbitrary unless the input is ordered
/// and has one worker. Stops the pipeline when the limit is reached.
pub struct LimitTransform {
    offset: RowNumber,
    limit: RowNumber,
    /// Positions of the rows that are let through, known when the first worker is made.
    wanted: OnceLock<Range<u64>>,
    /// Position of the next row among all that arrived.
    position: AtomicU64,
    metrics: Arc<OperatorMetrics>,
}

/// A number of rows.
pub enum RowNumber {
    /// Known at planning time; `None` without the clause.
    Known(Option<u64>),
    /// A BIGINT expression without columns, and the clause that it is in. NULL counts as no clause.
    Computed(Expression, &'static str),
}

impl RowNumber {
    /// The number, once everything that it depends on has run.
    pub fn value(&self) -> Result<Option<u64>> {
        match self {
            Self::Known(number) => Ok(*number),
            Self::Computed(number, clause) => {
                let number = number.with_physical(PhysicalType::I64).evaluate(&Chunk::new(Vec::new(), 1))?;
                if !number.is_valid(0) {
                    return Ok(None);
                }
                u64::try_from(number.to_flat().values::<i64>()[0]).map(Some).map_err(|_| {
                    Error::user(format!("{clause} must not be negative")).with_code(SqlState::INVALID_PARAMETER_VALUE)
                })
            }
        }
    }
}

impl LimitTransform {
    /// A limit that `EXPLAIN` shows as `name`. Without `limit`, only the offset is skipped.
    pub fn new(offset: u64, limit: Option<u64>, name: impl Into<String>) -> Arc<Self> {
        Self::of_numbers(RowNumber::Known(Some(offset)), RowNumber::Known(limit), name)
    }

    /// The same, with numbers that may be known only at run time.
    pub fn of_numbers(offset: RowNumber, limit: RowNumber, name: impl Into<String>) -> Arc<Self> {
        let (wanted, position) = (OnceLock::new(), AtomicU64::new(0));
        Arc::new(Self { offset, limit, wanted, position, metrics: OperatorMetrics::new(name) })
    }

    fn wanted(&self) -> Result<Range<u64>> {
        if let Some(wanted) = self.wanted.get() {
            return Ok(wanted.clone());
        }
        let offset = self.offset.value()?.unwrap_or(0);
        let end = self.limit.value()?.map_or(u64::MAX, |limit| offset.saturating_add(limit));
        // Another worker may have been faster.
        Ok(self.wanted.get_or_init(|| offset..end).clone())
    }
}

impl Operator for LimitTransform {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::CHUNKS
    }
}

impl Transform for LimitTransform {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(LimitWorker { wanted: self.wanted()?, limit: self }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Limits
    }
}

struct LimitWorker {
    wanted: Range<u64>,
    limit: Arc<LimitTransform>,
}

impl TransformWorker for LimitWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        let first = self.limit.position.fetch_add(chunk.len() as u64, Ordering::Relaxed);
        let last = first + chunk.len() as u64;
        let (from, to) = (first.max(self.wanted.start), last.min(self.wanted.end));
        if from < to {
            return Ok(TransformVerdict::Chunk(chunk.slice((from - first) as usize, (to - from) as usize)));
        }
        self.pull()
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        let is_reached = self.limit.position.load(Ordering::Relaxed) >= self.wanted.end;
        Ok(if is_reached { TransformVerdict::Done } else { TransformVerdict::NeedInput })
    }
}
