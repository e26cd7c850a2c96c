//! The rest source: emits build rows at the end, and runs the rounds over spilled rows, with all workers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use godwit_common::Result;
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Signal, Source, SourceVerdict, SourceWorker};
use godwit_rows::{ColumnBlock, InsertScratch, RowList, Rows};
use godwit_vector::{Chunk, Vector};
use parking_lot::Mutex;

use super::HashJoin;
use super::extremes::Matched;
use super::prober::{Pass, Prober};
use super::rounds::{PassKind, Rounds, Task};

pub(super) struct RestSource {
    join: Arc<HashJoin>,
    state: Arc<Mutex<State>>,
    /// Number of tasks in the first step: if there are few and nothing follows, few workers suffice.
    parallelism: AtomicUsize,
}

/// The tasks of the current step.
struct State {
    tasks: Vec<Task>,
    /// Number of tasks taken but not finished.
    running: usize,
    /// `None` while a worker prepares the next step.
    rounds: Option<Rounds>,
    is_finished: bool,
    /// Fires when there may be new tasks.
    news: Signal,
}

impl RestSource {
    pub(super) fn new(join: Arc<HashJoin>) -> Self {
        let state = State { tasks: Vec::new(), running: 0, rounds: None, is_finished: false, news: Signal::new() };
        Self { join, state: Arc::new(Mutex::new(state)), parallelism: AtomicUsize::new(1) }
    }
}

impl Operator for RestSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.join.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::sensitive("joins the partitions that are left, one by one")
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        self.join.pinned_bytes(workers)
    }
}

impl Source for RestSource {
    fn start(&self, _query: &Arc<QueryContext>) -> Result<()> {
        let mut rounds = Rounds::new(&self.join)?;
        let tasks = rounds.advance(&self.join)?;
        let workers = if rounds.has_more() { self.join.workers } else { tasks.len().clamp(1, self.join.workers) };
        self.parallelism.store(workers, Ordering::Relaxed);
        let mut state = self.state.lock();
        state.is_finished = tasks.is_empty();
        state.tasks = tasks;
        state.rounds = Some(rounds);
        Ok(())
    }

    fn parallelism(&self) -> usize {
        self.parallelism.load(Ordering::Relaxed)
    }

    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(RestWorker {
            tasks: Tasks { join: self.join.clone(), state: self.state.clone(), holds_one: false },
            prober: Prober::new(&self.join)?,
            matched: Matched::new(&self.join),
            scratch: InsertScratch::default(),
            task: None,
            probed: None,
            pending: None,
            join: self.join.clone(),
        }))
    }
}

/// A worker's access to the tasks.
struct Tasks {
    join: Arc<HashJoin>,
    state: Arc<Mutex<State>>,
    /// A task was taken and isn't finished.
    holds_one: bool,
}

enum Taken {
    Task(Task),
    Wait(Signal),
    Finished,
}

impl Tasks {
    /// Takes a task; prepares the next step if all tasks of the current one are finished.
    fn take(&mut self) -> Result<Taken> {
        loop {
            let mut state = self.state.lock();
            if state.is_finished {
                return Ok(Taken::Finished);
            }
            if let Some(task) = state.tasks.pop() {
                state.running += 1;
                self.holds_one = true;
                return Ok(Taken::Task(task));
            }
            if state.running > 0 {
                return Ok(Taken::Wait(state.news.clone()));
            }
            let Some(mut rounds) = state.rounds.take() else { return Ok(Taken::Wait(state.news.clone())) };
            drop(state);
            let tasks = rounds.advance(&self.join);
            let mut state = self.state.lock();
            state.rounds = Some(rounds);
            state.is_finished = !matches!(&tasks, Ok(tasks) if !tasks.is_empty());
            let news = std::mem::take(&mut state.news);
            let result = tasks.map(|tasks| state.tasks = tasks);
            drop(state);
            news.fire();
            result?;
        }
    }

    /// Marks the task that was taken as finished.
    fn finish(&mut self) {
        assert!(std::mem::take(&mut self.holds_one));
        let mut state = self.state.lock();
        state.running -= 1;
        if state.running == 0 && state.tasks.is_empty() {
            let news = std::mem::take(&mut state.news);
            drop(state);
            news.fire();
        }
    }
}

impl Drop for Tasks {
    /// A worker that ends in the middle of a task (an error, a limit reached) ends the source, so that no other worker
    /// waits for it.
    fn drop(&mut self) {
        if self.holds_one {
            let mut state = self.state.lock();
            state.is_finished = true;
            let news = std::mem::take(&mut state.news);
            drop(state);
            news.fire();
        }
    }
}

struct RestWorker {
    join: Arc<HashJoin>,
    tasks: Tasks,
    task: Option<Task>,
    prober: Prober,
    matched: Matched,
    scratch: InsertScratch,
    /// Spilled probe rows for the prober.
    probed: Option<ColumnBlock>,
    pending: Option<PendingRows>,
}

/// Build rows to emit.
struct PendingRows {
    rows: RowList,
    position: usize,
}

impl SourceWorker for RestWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        loop {
            if let Some(chunk) = self.prober.next()? {
                return Ok(SourceVerdict::Chunk(chunk));
            }
            if let Some(chunk) = self.next_build_rows() {
                return Ok(SourceVerdict::Chunk(chunk));
            }
            if self.probe_next()? {
                continue;
            }
            match &mut self.task {
                None => match self.tasks.take()? {
                    Taken::Task(task) => self.task = Some(task),
                    Taken::Wait(signal) => return Ok(SourceVerdict::Blocked(signal)),
                    Taken::Finished => return Ok(SourceVerdict::Done),
                },
                Some(task) => {
                    let Self { join, matched, scratch, probed, pending, .. } = self;
                    if !Self::step(task, join, matched, scratch, probed, pending)? {
                        self.task = None;
                        self.tasks.finish();
                        return Ok(SourceVerdict::Worked);
                    }
                }
            }
        }
    }
}

impl RestWorker {
    /// Performs one step of a task; returns false when it is finished.
    fn step(
        task: &mut Task,
        join: &HashJoin,
        matched: &mut Matched,
        scratch: &mut InsertScratch,
        probed: &mut Option<ColumnBlock>,
        pending: &mut Option<PendingRows>,
    ) -> Result<bool> {
        match task {
            Task::Insert(table) => {
                table.insert_next(join, scratch);
                Ok(false)
            }
            Task::Probe { rows, .. } => {
                *probed = rows.next_block(join.chunk_rows)?;
                Ok(probed.is_some())
            }
            Task::Unmatchable(scan) => {
                *pending = scan.next_block()?.map(|block| {
                    let mut rows = RowList::new(&join.plan.build_layout);
                    rows.append(block.rows());
                    PendingRows { rows, position: 0 }
                });
                Ok(pending.is_some())
            }
            Task::Scan { table, morsel, found } => {
                let Some(number) = morsel.take() else { return Ok(false) };
                let mut rows = RowList::new(&join.plan.build_layout);
                table.list_morsel(number, &mut rows);
                matched.retain(table, &mut rows, *found)?;
                *pending = Some(PendingRows { rows, position: 0 });
                Ok(true)
            }
        }
    }

    /// Hands the next spilled probe rows to the prober; returns false if there are none.
    fn probe_next(&mut self) -> Result<bool> {
        let (Some(rows), Some(Task::Probe { table, pass, .. })) = (self.probed.take(), &self.task) else {
            return Ok(false);
        };
        let chunk = self.join.spilled_chunk(rows.columns(), rows.len());
        let keys = self.prober.keys(&chunk)?;
        let pass = match pass {
            PassKind::Whole => Pass::Whole,
            PassKind::Part => Pass::Part(rows),
            PassKind::Last => Pass::Last(rows),
        };
        self.prober.begin(table, chunk, &keys, None, pass);
        Ok(true)
    }

    /// The next build rows that are emitted on their own.
    fn next_build_rows(&mut self) -> Option<Chunk> {
        let pending = self.pending.as_mut()?;
        let range = pending.position..pending.rows.len().min(pending.position + self.join.chunk_rows);
        if range.is_empty() {
            self.pending = None;
            return None;
        }
        pending.position = range.end;
        Some(self.join.build_rows_chunk(pending.rows.slice(range)))
    }
}

impl HashJoin {
    /// Build rows with NULLs for the probe side.
    fn build_rows_chunk(&self, rows: Rows<'_>) -> Chunk {
        let plan = &self.plan;
        let nulls =
            plan.output_type[..plan.probe_output.len()].iter().map(|column| Vector::null_of(column, rows.len()));
        let build = plan.build_output.iter().map(|&column| rows.gather(column));
        Chunk::new(nulls.chain(build).collect(), rows.len())
    }
}
