//! Recursion: rounds of pipelines, each over the rows of the round before, until one has none.
//!
//! ```text
//! base ─▶ rows of round 0 ─┬─▶ out
//!                          └─▶ pipelines of the step ─▶ rows of round 1 ─┬─▶ out
//!                                                                        └─▶ …
//! ```
//!
//! What the step is planned to is of use once, so that it is planned anew for each round. Its pipelines run on a pool of the
//! recursion's own, while the task that asked for them is parked. With UNION rows that were there before are dropped
//! ([`NewRows`]).

use std::collections::HashSet;
use std::sync::Arc;

use datafusion_common::ScalarValue;
use godwit_common::{MemoryTag, Result};
use godwit_expression::{Expression, OrderedKey, ordered_value};
use godwit_memory::{BufferManager, Reservation};
use godwit_vector::Chunk;
use parking_lot::Mutex;

use crate::metrics::OperatorMetrics;
use crate::pipeline::{
    ChunkEffect, Pipeline, Signal, Source, SourceVerdict, SourceWorker, Transform, TransformVerdict, TransformWorker,
};
use crate::shared_rows::SharedRows;
use crate::{CancelToken, QueryContext, WorkerPool};

/// Plans a round over the rows of the one before: its pipelines, and where they leave their rows.
pub(crate) type PlanRound = dyn Fn(&Arc<SharedRows>) -> Result<(Vec<Pipeline>, Arc<SharedRows>)> + Send + Sync;

/// The rows of all rounds.
pub(crate) struct RecursionSource {
    /// Complete before this starts.
    first: Arc<SharedRows>,
    columns: Vec<usize>,
    plan_round: Arc<PlanRound>,
    /// What rounds run as.
    query: Arc<QueryContext>,
    metrics: Arc<OperatorMetrics>,
}

impl RecursionSource {
    /// The columns `columns` of the rows of the first round, and of those that `plan_round` makes of them for `query`.
    pub(crate) fn new(
        first: Arc<SharedRows>,
        columns: Vec<usize>,
        plan_round: Arc<PlanRound>,
        query: Arc<QueryContext>,
    ) -> Arc<Self> {
        Arc::new(Self { first, columns, plan_round, query, metrics: OperatorMetrics::new("Recursion") })
    }
}

/// The query that rounds run as: it ends with the query around it, which doesn't end with it.
pub(crate) fn query_of_rounds(query: &QueryContext) -> Arc<QueryContext> {
    let cancel = CancelToken::default();
    let rounds = cancel.clone();
    query.cancel.on_cancel(move || rounds.cancel());
    QueryContext::new(query.memory.clone(), query.settings.clone(), cancel)
}

impl Source for RecursionSource {
    fn parallelism(&self) -> usize {
        1
    }

    fn worker(&self, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let pool = WorkerPool::new(query.settings.workers)?;
        let mut rounds = Rounds {
            columns: self.columns.clone(),
            plan_round: self.plan_round.clone(),
            query: self.query.clone(),
            rows: self.first.clone(),
            reader: None,
            running: None,
            pool,
        };
        rounds.read()?;
        Ok(Box::new(rounds))
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

struct Rounds {
    columns: Vec<usize>,
    plan_round: Arc<PlanRound>,
    query: Arc<QueryContext>,
    /// Of the last round that is complete.
    rows: Arc<SharedRows>,
    /// Reads these rows, until they are out.
    reader: Option<Box<dyn SourceWorker>>,
    running: Option<Running>,
    pool: WorkerPool,
}

/// A round that runs: where its rows will be, and how it ended.
struct Running {
    rows: Arc<SharedRows>,
    end: Arc<Mutex<Option<Result<()>>>>,
    signal: Signal,
}

impl Rounds {
    /// Starts to read the rows of a round that is complete.
    fn read(&mut self) -> Result<()> {
        let source = self.rows.reader(self.columns.clone());
        source.start(&self.query)?;
        self.reader = Some(source.worker(&self.query)?);
        Ok(())
    }

    fn start_round(&mut self) -> Result<Signal> {
        let (pipelines, rows) = (self.plan_round)(&self.rows)?;
        let (end, signal) = (Arc::<Mutex<Option<Result<()>>>>::default(), Signal::new());
        let (end_there, signal_there) = (end.clone(), signal.clone());
        self.pool.run(self.query.clone(), pipelines, move |result| {
            *end_there.lock() = Some(result);
            signal_there.fire();
        });
        self.running = Some(Running { rows, end, signal: signal.clone() });
        Ok(signal)
    }
}

impl SourceWorker for Rounds {
    fn next(&mut self) -> Result<SourceVerdict> {
        if let Some(reader) = &mut self.reader {
            return Ok(match reader.next()? {
                SourceVerdict::Done => {
                    self.reader = None;
                    SourceVerdict::Worked
                }
                other => other,
            });
        }
        match self.running.take() {
            Some(round) => {
                let end = round.end.lock().take();
                match end {
                    Some(end) => end?,
                    None => {
                        let signal = round.signal.clone();
                        self.running = Some(round);
                        return Ok(SourceVerdict::Blocked(signal));
                    }
                }
                self.rows = round.rows;
                self.read()?;
                Ok(SourceVerdict::Worked)
            }
            None if self.rows.is_empty() => Ok(SourceVerdict::Done),
            None => self.start_round().map(SourceVerdict::Blocked),
        }
    }
}

/// Rows that were there, as strings of the same order.
pub(crate) struct SeenRows {
    seen: Mutex<(HashSet<Box<[u8]>>, Reservation)>,
}

/// What a row in the set takes besides its bytes, about.
const ENTRY_BYTES: usize = 48;

impl SeenRows {
    pub(crate) fn new(memory: &BufferManager) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { seen: Mutex::new((HashSet::new(), memory.reserve(0, MemoryTag::HashTable)?)) }))
    }
}

/// Lets each row through once in all rounds. What it remembers is in memory; there must be room for it.
pub(crate) struct NewRows {
    /// A string for each row; equal ones for equal rows.
    key: Expression,
    seen: Arc<SeenRows>,
    metrics: Arc<OperatorMetrics>,
}

impl NewRows {
    /// For rows that are equal where these keys are, none of which is nested.
    pub(crate) fn new(keys: Vec<Expression>, seen: Arc<SeenRows>) -> Result<Arc<Self>> {
        let key = |expression| OrderedKey { expression, descending: false, nulls_first: false, required: false };
        let nothing = Expression::literal(&ScalarValue::Boolean(None))?;
        let key = ordered_value(&keys.into_iter().map(key).collect::<Vec<_>>(), &nothing, false);
        Ok(Arc::new(Self { key, seen, metrics: OperatorMetrics::new("New rows") }))
    }
}

impl Transform for NewRows {
    fn worker(&self, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(NewRowsWorker { key: self.key.clone(), seen: self.seen.clone() }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Reduces
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

struct NewRowsWorker {
    key: Expression,
    seen: Arc<SeenRows>,
}

impl TransformWorker for NewRowsWorker {
    fn push(&mut self, mut chunk: Chunk) -> Result<TransformVerdict> {
        let keys = self.key.evaluate(&chunk)?.to_flat();
        let strings = keys.strings();
        let (seen, reservation) = &mut *self.seen.seen.lock();
        let mut new = Vec::new();
        let mut bytes = 0;
        for row in 0..chunk.len() {
            let key = strings.get(row);
            if !seen.contains(key) {
                seen.insert(key.into());
                bytes += key.len() + ENTRY_BYTES;
                new.push(row as u32);
            }
        }
        reservation.resize(reservation.bytes() + bytes)?;
        if new.is_empty() {
            return Ok(TransformVerdict::NeedInput);
        }
        if new.len() < chunk.len() {
            chunk.select(&new);
        }
        Ok(TransformVerdict::LastChunk(chunk))
    }
}
