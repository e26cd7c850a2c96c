//! Recursion: rounds of pipelines, each over the rows of the previous round, until one yields none.
//!
//! ```text
//! base ─▶ rows of round 0 ─┬─▶ out
//!                          └─▶ pipelines of the step ─▶ rows of round 1 ─┬─▶ out
//!                                                                        └─▶ …
//! ```
//!
//! All rounds read and write the same two [`SharedRows`], so that pipelines whose runs leave no state behind can be
//! reused for the next round. They run on the recursion's own worker pool, while the task that asked for them is
//! parked.
//!
//! With UNION, rows that existed before are dropped ([`SeenRows`]).

mod seen;

use std::sync::Arc;

use godwit_common::Result;
use godwit_pipeline::{
    CancelToken, Operator, OperatorMetrics, Pipeline, QueryContext, Signal, Source, SourceVerdict, SourceWorker,
};
use parking_lot::Mutex;

use crate::WorkerPool;
use crate::shared_rows::SharedRows;

pub(crate) use seen::{NewRows, RoundKind, SeenRows};

/// Plans a round over [`RoundRows::working`] whose rows end in [`RoundRows::made`].
pub(crate) type PlanRound = dyn Fn(Comparison) -> Result<Vec<Pipeline>> + Send + Sync;

/// How a round finds new rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// All rows are new, or [`NewRows`] decides.
    AsTheyCome,
    /// A join with all earlier rows finds them.
    ByJoin,
}

/// The rows that the rounds of a recursion read and produce.
#[derive(Clone)]
pub(crate) struct RoundRows {
    /// The rows of the last complete round.
    pub working: Arc<SharedRows>,
    /// The rows of the current round.
    pub made: Arc<SharedRows>,
    /// All rows so far, with UNION.
    pub seen: Option<Arc<SeenRows>>,
}

impl RoundRows {
    fn comparison(&self) -> Comparison {
        match &self.seen {
            Some(seen) if !seen.has_set() => Comparison::ByJoin,
            _ => Comparison::AsTheyCome,
        }
    }
}

/// Emits the rows of all rounds.
pub(crate) struct RecursionSource {
    /// The first round is complete before this starts.
    rows: RoundRows,
    /// Number of their columns, and those that are emitted.
    width: usize,
    columns: Vec<usize>,
    plan_round: Arc<PlanRound>,
    /// The query context in which rounds run.
    query: Arc<QueryContext>,
    metrics: Arc<OperatorMetrics>,
}

impl RecursionSource {
    /// Emits the columns `columns` of the rows of the first round, and of the further rounds that `plan_round` plans
    /// for `query`.
    pub(crate) fn new(
        rows: RoundRows,
        width: usize,
        columns: Vec<usize>,
        plan_round: Arc<PlanRound>,
        query: Arc<QueryContext>,
    ) -> Arc<Self> {
        Arc::new(Self { rows, width, columns, plan_round, query, metrics: OperatorMetrics::new("Recursion") })
    }
}

/// The query context in which rounds run: it ends with the enclosing query, but not vice versa.
pub(crate) fn query_of_rounds(query: &QueryContext) -> Arc<QueryContext> {
    let cancel = CancelToken::default();
    let rounds = cancel.clone();
    query.cancel.on_cancel(move || rounds.cancel());
    QueryContext::new(query.memory.clone(), query.settings.clone(), cancel)
}

impl Operator for RecursionSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Source for RecursionSource {
    fn parallelism(&self) -> usize {
        1
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let pool = WorkerPool::new(query.settings.workers)?;
        let read = match self.rows.seen {
            Some(_) => (0..self.width).collect(),
            None => self.columns.clone(),
        };
        let mut rounds = Rounds {
            reader: self.rows.working.reader(read),
            columns: self.columns.clone(),
            rows: self.rows.clone(),
            plan_round: self.plan_round.clone(),
            query: self.query.clone(),
            reading: None,
            running: None,
            pool,
        };
        rounds.read()?;
        Ok(Box::new(rounds))
    }
}

struct Rounds {
    rows: RoundRows,
    /// Reads the last complete round: with UNION all columns, because they are remembered, otherwise those that are
    /// emitted.
    reader: Arc<dyn Source>,
    columns: Vec<usize>,
    plan_round: Arc<PlanRound>,
    query: Arc<QueryContext>,
    /// The rows being read, until they have been emitted.
    reading: Option<Box<dyn SourceWorker>>,
    running: Option<Running>,
    pool: WorkerPool,
}

/// A running round, and its outcome.
struct Running {
    comparison: Comparison,
    end: Arc<Mutex<Option<Result<()>>>>,
    signal: Signal,
}

impl Rounds {
    /// Starts reading the rows of a complete round.
    fn read(&mut self) -> Result<()> {
        self.reader.start(&self.query)?;
        self.reading = Some(self.reader.clone().worker(&self.query)?);
        Ok(())
    }

    /// The next rows of the complete round, if there are more.
    fn next_rows(&mut self, reading: &mut dyn SourceWorker) -> Result<SourceVerdict> {
        Ok(match (reading.next()?, &self.rows.seen) {
            (SourceVerdict::Chunk(chunk), Some(seen)) => {
                seen.rows().append(&chunk)?;
                SourceVerdict::Chunk(chunk.project(&self.columns))
            }
            (verdict, _) => verdict,
        })
    }

    fn start_round(&mut self) -> Result<SourceVerdict> {
        let comparison = self.rows.comparison();
        if let (Some(seen), Comparison::ByJoin) = (&self.rows.seen, comparison) {
            seen.rows().complete();
        }
        let pipelines = (self.plan_round)(comparison)?;
        let (end, signal) = (Arc::<Mutex<Option<Result<()>>>>::default(), Signal::new());
        let (end_there, signal_there) = (end.clone(), signal.clone());
        self.pool.run(self.query.clone(), pipelines, move |result| {
            *end_there.lock() = Some(result);
            signal_there.fire();
        });
        self.running = Some(Running { comparison, end, signal });
        self.end_round()
    }

    /// Checks whether the running round has ended. A small one ends while being started.
    fn end_round(&mut self) -> Result<SourceVerdict> {
        let running = self.running.as_ref().expect("a round runs");
        let Some(end) = running.end.lock().take() else { return Ok(SourceVerdict::Blocked(running.signal.clone())) };
        let was_compared = running.comparison == self.rows.comparison();
        self.running = None;
        end?;
        if was_compared {
            self.rows.working.take_rows_of(&self.rows.made);
            self.read()?;
        } else {
            // The set of rows has become too large meanwhile: the round is restarted.
            self.rows.made.clear();
        }
        Ok(SourceVerdict::Worked)
    }
}

impl SourceWorker for Rounds {
    fn next(&mut self) -> Result<SourceVerdict> {
        if let Some(mut reading) = self.reading.take() {
            return Ok(match self.next_rows(&mut *reading)? {
                SourceVerdict::Done => SourceVerdict::Worked,
                other => {
                    self.reading = Some(reading);
                    other
                }
            });
        }
        if self.running.is_some() {
            return self.end_round();
        }
        match self.rows.working.is_empty() {
            true => Ok(SourceVerdict::Done),
            false => self.start_round(),
        }
    }
}
