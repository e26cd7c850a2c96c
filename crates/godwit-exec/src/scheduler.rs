//! The worker pool, and the run of one query's pipelines on it.
//!
//! ```text
//!               all dependencies complete            last task done, last feeder of its sink: finalize
//! Waiting ────────────────────────────────▶ Running ─────────────────────────────────────────────────▶ Complete
//! ```
//! A pipeline runs as up to `workers` [`PipelineTask`]s. A worker thread takes a task, runs it for a quantum, and puts
//! it back, so that queries share the pool fairly; a blocked task is parked in its signal and costs nothing. The first
//! error (or caught panic) cancels the query; its other tasks end at their next chunk, and the run is over when the
//! last of them has ended, so that nothing of a failed query outlives its run.
//!
//! Before each quantum a worker's thread enters the pipeline's class of the last-level cache (place.rs). Pipelines with
//! work for only one task begin on the thread that launched them, in the class that it is in: most of them end within a
//! quantum, for which moving isn't worth it. The calling thread runs all pipelines of small queries itself.

mod place;
mod task;

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use godwit_common::{Error, Result};
use godwit_memory::running_pipelines_max;
use godwit_pipeline::{Pipeline, QueryContext, Sink};
use parking_lot::{Condvar, Mutex};

use place::{WorkerPlace, class_of};
use task::{PipelineTask, QUANTUM, Step};

/// A fixed set of worker threads, one pool per database. Dropping it waits for the threads.
pub struct WorkerPool {
    shared: Arc<PoolShared>,
    threads: Vec<JoinHandle<()>>,
}

/// State that threads and parked tasks share.
struct PoolShared {
    queue: Mutex<Queue>,
    available: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    shutdown: bool,
}

/// Work for a worker thread. There are at most `workers` tasks per running pipeline, so the number of running queries
/// bounds the queue.
enum Job {
    /// All dependencies are complete: start the source and create the tasks.
    Launch(Arc<QueryRun>, usize),
    /// Run a task for a quantum.
    Task(Box<PipelineTask>),
}

impl WorkerPool {
    /// Starts `workers` threads.
    pub fn new(workers: usize) -> Result<Self> {
        assert!(workers > 0);
        let shared = Arc::new(PoolShared { queue: Mutex::default(), available: Condvar::new() });
        let threads = (0..workers)
            .map(|index| {
                let shared = shared.clone();
                std::thread::Builder::new()
                    .name(format!("godwit-worker-{index}"))
                    .spawn(move || shared.work())
                    .map_err(|e| Error::io("starting a worker thread", &e))
            })
            .collect::<Result<_>>()?;
        Ok(Self { shared, threads })
    }

    /// Number of worker threads.
    pub fn workers(&self) -> usize {
        self.threads.len()
    }

    /// Starts a query. `on_done` is called once, by a worker or the calling thread, when the last task has ended and
    /// the pipelines have been dropped with everything they held.
    ///
    /// A query begins on the calling thread, as long as its pipelines have work for only one task each and can only run
    /// one at a time: waking a worker, and being woken by it, takes longer than a small query. Work that isn't done
    /// after a quantum, or has to wait, continues in the pool.
    pub fn run(
        &self,
        query: Arc<QueryContext>,
        pipelines: Vec<Pipeline>,
        on_done: impl FnOnce(Result<()>) + Send + 'static,
    ) {
        QueryRun::new(self.shared.clone(), query, pipelines, Box::new(on_done)).begin();
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        self.shared.queue.lock().shutdown = true;
        self.shared.available.notify_all();
        let current = std::thread::current().id();
        for thread in self.threads.drain(..) {
            // The last handle of a database may be dropped by one of its own workers; that one can't wait for itself.
            if thread.thread().id() != current {
                // A worker catches panics of tasks; if it died anyway, there is nothing left to wait for.
                let _ = thread.join();
            }
        }
    }
}

impl PoolShared {
    fn push(&self, job: Job) {
        self.queue.lock().jobs.push_back(job);
        self.available.notify_one();
    }

    fn work(self: &Arc<Self>) {
        let mut place = WorkerPlace::default();
        loop {
            let job = {
                let mut queue = self.queue.lock();
                loop {
                    if queue.shutdown {
                        return;
                    }
                    match queue.jobs.pop_front() {
                        Some(job) => break job,
                        None => self.available.wait(&mut queue),
                    }
                }
            };
            match job {
                Job::Launch(run, index) => run.query.clone().cancel.interrupting(|| run.launch(index)),
                Job::Task(task) => {
                    let query = task.query();
                    place.enter(&query, task.cache_class());
                    query.cancel.interrupting(|| self.step(task));
                }
            }
        }
    }

    fn step(self: &Arc<Self>, mut task: Box<PipelineTask>) {
        let step = catch_unwind(AssertUnwindSafe(|| task.run_quantum()))
            .unwrap_or_else(|panic| Err(Error::internal(panic_message(&*panic))));
        match step {
            Ok(Step::Yield) => self.push(Job::Task(task)),
            Ok(Step::Blocked(signal)) => {
                let shared = self.clone();
                signal.subscribe(move || shared.push(Job::Task(task)));
            }
            Ok(Step::Finished) => {
                let (run, index) = task.into_run();
                run.task_ended(index, Ok(()));
            }
            Err(error) => {
                let (run, index) = task.into_run();
                run.task_ended(index, Err(error));
            }
        }
    }
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
    format!("a worker panicked: {}", text.unwrap_or("no message"))
}

type OnDone = Box<dyn FnOnce(Result<()>) + Send>;

/// One query's pipelines and their progress.
struct QueryRun {
    pool: Arc<PoolShared>,
    query: Arc<QueryContext>,
    pipelines: Vec<Pipeline>,
    progress: Mutex<Progress>,
}

struct Progress {
    states: Vec<State>,
    /// Number of running pipelines.
    running: usize,
    /// The thread that began the query launches its pipelines.
    is_beginning: bool,
    error: Option<Error>,
    on_done: Option<OnDone>,
}

impl Progress {
    /// Called when a pipeline is about to be launched.
    fn begin(&mut self, index: usize) {
        self.states[index] = State::Running { tasks_left: 1 };
        self.running += 1;
    }
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Waiting,
    Running {
        tasks_left: usize,
    },
    /// All its tasks have ended; if it is the last one to feed its sink, the sink is being finalized.
    Fed,
    Complete,
}

impl QueryRun {
    fn new(pool: Arc<PoolShared>, query: Arc<QueryContext>, pipelines: Vec<Pipeline>, on_done: OnDone) -> Arc<Self> {
        pipelines.iter().for_each(|pipeline| pipeline.source.announce(&query));
        let states = vec![State::Waiting; pipelines.len()];
        let progress =
            Mutex::new(Progress { states, running: 0, is_beginning: true, error: None, on_done: Some(on_done) });
        Arc::new(Self { pool, query, pipelines, progress })
    }

    /// Queues pipelines whose dependencies are complete, as many as there is memory for. If nothing runs and nothing
    /// can, the run is over as soon as the caller drops it.
    fn launch_ready(self: &Arc<Self>) {
        let mut progress = self.progress.lock();
        if progress.is_beginning {
            return;
        }
        let running_max = running_pipelines_max(self.query.memory.memory_limit(), self.query.settings.workers);
        if progress.error.is_none() {
            for index in 0..self.pipelines.len() {
                if progress.running == running_max {
                    break;
                }
                if self.is_ready(index, &progress) {
                    progress.begin(index);
                    self.pool.push(Job::Launch(self.clone(), index));
                }
            }
        }
        let stuck = progress.running == 0 && progress.states.iter().any(|&state| state != State::Complete);
        if stuck {
            progress.error.get_or_insert_with(|| Error::internal("the pipelines of a query wait for each other"));
        }
    }

    /// True if a pipeline no longer waits for anything.
    fn is_ready(&self, index: usize, progress: &Progress) -> bool {
        let is_complete = |&other: &usize| progress.states[other] == State::Complete;
        progress.states[index] == State::Waiting && self.pipelines[index].depends_on.iter().all(is_complete)
    }

    /// Launches pipelines on this thread one by one, then leaves the rest to the pool.
    fn begin(self: Arc<Self>) {
        let until = Instant::now() + QUANTUM;
        while let Some(index) = self.only_ready() {
            self.clone().launch(index);
            if Instant::now() >= until {
                break;
            }
        }
        self.progress.lock().is_beginning = false;
        self.launch_ready();
    }

    /// Begins the only pipeline that can run; `None` if there are others, or one is already running.
    fn only_ready(&self) -> Option<usize> {
        let mut progress = self.progress.lock();
        if progress.running > 0 || progress.error.is_some() {
            return None;
        }
        let mut ready = (0..self.pipelines.len()).filter(|&index| self.is_ready(index, &progress));
        let index = ready.next().filter(|_| ready.next().is_none())?;
        progress.begin(index);
        Some(index)
    }

    /// Starts the source and creates the tasks. A single task begins here.
    fn launch(self: Arc<Self>, index: usize) {
        let pipeline = &self.pipelines[index];
        let started = catch_unwind(AssertUnwindSafe(|| {
            self.query.cancel.check()?;
            pipeline.source.start(&self.query)?;
            let tasks = pipeline.source.parallelism().clamp(1, self.query.settings.workers);
            Ok((tasks, class_of(pipeline, &self.query)))
        }))
        .unwrap_or_else(|panic| Err(Error::internal(panic_message(&*panic))));
        match started {
            Ok((tasks, class)) => {
                self.progress.lock().states[index] = State::Running { tasks_left: tasks };
                let made = PipelineTask::for_pipeline(&self, index, tasks, class).map(Box::new);
                match tasks {
                    1 => made.for_each(|task| self.pool.step(task)),
                    _ => made.for_each(|task| self.pool.push(Job::Task(task))),
                }
            }
            Err(error) => self.task_ended(index, Err(error)),
        }
    }

    /// Called by each task when it ends; the last one completes the pipeline.
    fn task_ended(self: Arc<Self>, index: usize, result: Result<()>) {
        if let Err(error) = result {
            self.fail(error);
        }
        let last = {
            let mut progress = self.progress.lock();
            let State::Running { tasks_left } = &mut progress.states[index] else {
                unreachable!("a task of a pipeline that isn't running")
            };
            *tasks_left -= 1;
            *tasks_left == 0
        };
        if last {
            self.complete(index);
        }
    }

    fn fail(&self, error: Error) {
        let mut progress = self.progress.lock();
        // Tasks that were stopped by the first error report "cancelled": the cause comes first and stays.
        progress.error.get_or_insert_with(|| self.query.cancel.cause_of(error));
        self.query.cancel.cancel();
    }

    fn complete(self: Arc<Self>, index: usize) {
        let last_feeder = {
            // Recording this end and checking the others is one atomic step: of several that end at the same time,
            // exactly one is last.
            let mut progress = self.progress.lock();
            progress.states[index] = State::Fed;
            let feeds_same = |other: usize| same_sink(&self.pipelines[other].sink, &self.pipelines[index].sink);
            progress.error.is_none()
                && (0..self.pipelines.len())
                    .filter(|&other| feeds_same(other))
                    .all(|other| matches!(progress.states[other], State::Fed | State::Complete))
        };
        if last_feeder {
            let finalized = catch_unwind(AssertUnwindSafe(|| self.pipelines[index].sink.finalize(&self.query)))
                .unwrap_or_else(|panic| Err(Error::internal(panic_message(&*panic))));
            if let Err(error) = finalized {
                self.fail(error);
            }
        }
        {
            let mut progress = self.progress.lock();
            progress.states[index] = State::Complete;
            progress.running -= 1;
        }
        self.launch_ready();
    }
}

impl Drop for QueryRun {
    /// The last task has ended: frees everything, then calls `on_done`.
    fn drop(&mut self) {
        self.pipelines.clear();
        let progress = self.progress.get_mut();
        let result = progress.error.take().map_or(Ok(()), Err);
        if let Some(on_done) = progress.on_done.take() {
            on_done(result);
        }
    }
}

fn same_sink(a: &Arc<dyn Sink>, b: &Arc<dyn Sink>) -> bool {
    std::ptr::eq(Arc::as_ptr(a).cast::<()>(), Arc::as_ptr(b).cast::<()>())
}

#[cfg(test)]
mod tests;
