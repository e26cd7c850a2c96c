//! One worker's share of a pipeline: pulls chunks from the source and drives them through the transforms to the sink.
//!
//! A task's position in the pipeline is data, not a call stack, so that it can stop between any two chunks (quantum
//! over, blocked) and continue later, on another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use godwit_cache::CacheClass;
use godwit_common::Result;
use godwit_pipeline::{
    FlowCounts, Pipeline, QueryContext, Signal, SinkVerdict, SinkWorker, SourceVerdict, SourceWorker, TransformVerdict,
    TransformWorker,
};
use godwit_vector::Chunk;

use super::QueryRun;

/// How long a task runs before other queries get their turn. Long compared with a chunk (some 10 µs), short for people.
pub(super) const QUANTUM: Duration = Duration::from_millis(10);

/// Steps between two readings of the clock, if no new chunk begins in between: a step with a chunk of a few rows may
/// take hardly longer than reading the clock.
const STEPS_PER_LOOK: u32 = 4;

/// The outcome of a quantum.
pub(super) enum Step {
    Yield,
    Blocked(Signal),
    Finished,
}

/// A task of a pipeline; lives until its part of the input is consumed.
pub(super) struct PipelineTask {
    run: Arc<QueryRun>,
    index: usize,
    /// Class of the last-level cache for the thread that works on it.
    cache_class: CacheClass,
    /// Set when no more rows are needed (a limit was reached); shared by the tasks of the pipeline.
    stop: Arc<AtomicBool>,
    /// Created in the first quantum, so that worker states are created in parallel.
    workers: Option<Workers>,
}

struct Workers {
    source: Box<dyn SourceWorker>,
    stages: Vec<Box<dyn TransformWorker>>,
    sink: Box<dyn SinkWorker>,
    /// Stages that may have more output from their current input, in pipeline order; the last one is asked first.
    open: Vec<usize>,
    /// Where to get the next chunk when no stage is open.
    input: Input,
    counters: Vec<Counter>,
    profile: bool,
}

/// Where chunks come from when no stage is open.
#[derive(Clone, Copy)]
enum Input {
    Source,
    /// This stage and later ones, for the rows that they hold back: the input of this stage has ended. After the last
    /// stage, nothing is left.
    HeldBackFrom(usize),
}

/// Output and time of one operator in this task, added to its metrics at the end.
#[derive(Clone, Copy, Default)]
struct Counter {
    output: FlowCounts,
    time: Duration,
}

impl PipelineTask {
    pub(super) fn for_pipeline(
        run: &Arc<QueryRun>,
        index: usize,
        tasks: usize,
        cache_class: CacheClass,
    ) -> impl Iterator<Item = Self> {
        let stop = Arc::new(AtomicBool::new(false));
        (0..tasks).map(move |_| Self { run: run.clone(), index, cache_class, stop: stop.clone(), workers: None })
    }

    /// The class of its pipeline.
    pub(super) fn cache_class(&self) -> CacheClass {
        self.cache_class
    }

    /// The query that it is a task of.
    pub(super) fn query(&self) -> Arc<QueryContext> {
        self.run.query.clone()
    }

    /// Ends the task: worker objects are dropped first, so that nothing of the task is left when the run is notified.
    pub(super) fn into_run(self) -> (Arc<QueryRun>, usize) {
        let PipelineTask { run, index, workers, .. } = self;
        drop(workers);
        (run, index)
    }

    pub(super) fn run_quantum(&mut self) -> Result<Step> {
        let run = self.run.clone();
        let pipeline = &run.pipelines[self.index];
        let mut workers = match self.workers.take() {
            Some(workers) => workers,
            None => Workers::new(&run, pipeline)?,
        };
        let deadline = Instant::now() + QUANTUM;
        let mut steps = 0u32;
        loop {
            run.query.cancel.check()?;
            if workers.are_done() {
                workers.combine(pipeline)?;
                return Ok(Step::Finished);
            }
            let blocked = workers.step(&self.stop)?;
            steps = steps.wrapping_add(1);
            let looks = workers.is_at_source() || steps.is_multiple_of(STEPS_PER_LOOK);
            if blocked.is_some() || (looks && Instant::now() >= deadline) {
                self.workers = Some(workers);
                return Ok(blocked.map_or(Step::Yield, Step::Blocked));
            }
        }
    }
}

impl Workers {
    fn new(run: &Arc<QueryRun>, pipeline: &Pipeline) -> Result<Self> {
        let query = &run.query;
        let stages = pipeline.transforms.iter().map(|t| t.clone().worker(query)).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            source: pipeline.source.clone().worker(query)?,
            sink: pipeline.sink.clone().worker(query)?,
            open: Vec::with_capacity(stages.len()),
            input: Input::Source,
            counters: vec![Counter::default(); stages.len() + 2],
            stages,
            profile: query.settings.profile,
        })
    }

    /// True if no stage is open.
    fn is_at_source(&self) -> bool {
        self.open.is_empty() && matches!(self.input, Input::Source)
    }

    /// True if only combining is left.
    fn are_done(&self) -> bool {
        self.open.is_empty() && matches!(self.input, Input::HeldBackFrom(level) if level == self.stages.len())
    }

    /// Asks the next stage in turn for a chunk, and sends it down the pipeline. Returns the signal to wait for, if any.
    fn step(&mut self, stop: &AtomicBool) -> Result<Option<Signal>> {
        let (level, verdict) = match (self.open.pop(), self.input) {
            (Some(level), _) => (level, self.timed(level + 1, |w| w.stages[level].pull())?),
            (None, Input::Source) => return self.ask_source(stop),
            (None, Input::HeldBackFrom(level)) => {
                self.input = Input::HeldBackFrom(level + 1);
                (level, self.timed(level + 1, |w| w.stages[level].finish())?)
            }
        };
        match self.chunk_of(level, verdict, stop) {
            Some(chunk) => self.hand_on(level + 1, chunk, stop),
            None => Ok(None),
        }
    }

    fn ask_source(&mut self, stop: &AtomicBool) -> Result<Option<Signal>> {
        if stop.load(Ordering::Relaxed) {
            self.input = Input::HeldBackFrom(0);
            return Ok(None);
        }
        match self.timed(0, |w| w.source.next())? {
            SourceVerdict::Chunk(chunk) => return self.hand_on(0, chunk, stop),
            SourceVerdict::Worked => {}
            SourceVerdict::Blocked(signal) => return Ok(Some(signal)),
            SourceVerdict::Done => self.input = Input::HeldBackFrom(0),
        }
        Ok(None)
    }

    /// Passes the output of operator `operator` (0 is the source, then the stages) to the next one, that one's output
    /// to the one after it, and so on to the sink.
    fn hand_on(&mut self, mut operator: usize, mut chunk: Chunk, stop: &AtomicBool) -> Result<Option<Signal>> {
        loop {
            debug_assert!(!chunk.is_empty(), "operators don't emit empty chunks");
            self.counters[operator].output.add_chunk(chunk.len());
            if operator == self.stages.len() {
                break;
            }
            let verdict = self.timed(operator + 1, |w| w.stages[operator].push(chunk))?;
            let Some(output) = self.chunk_of(operator, verdict, stop) else { return Ok(None) };
            (operator, chunk) = (operator + 1, output);
        }
        match self.timed(operator + 1, |w| w.sink.sink(chunk))? {
            SinkVerdict::NeedInput => Ok(None),
            SinkVerdict::Blocked(signal) => Ok(Some(signal)),
            SinkVerdict::Done => {
                self.end_input(operator, stop);
                Ok(None)
            }
        }
    }

    /// The chunk that stage `level` emits; records whether to ask it again.
    fn chunk_of(&mut self, level: usize, verdict: TransformVerdict, stop: &AtomicBool) -> Option<Chunk> {
        match verdict {
            TransformVerdict::Chunk(chunk) => {
                self.open.push(level);
                Some(chunk)
            }
            TransformVerdict::LastChunk(chunk) => Some(chunk),
            TransformVerdict::NeedInput => None,
            TransformVerdict::Done => {
                self.end_input(level + 1, stop);
                None
            }
        }
    }

    /// No more input is needed from before stage `level`.
    fn end_input(&mut self, level: usize, stop: &AtomicBool) {
        stop.store(true, Ordering::Relaxed);
        self.open.clear();
        self.input = Input::HeldBackFrom(level);
    }

    fn timed<T>(&mut self, operator: usize, work: impl FnOnce(&mut Self) -> T) -> T {
        if !self.profile {
            return work(self);
        }
        let start = Instant::now();
        let result = work(self);
        self.counters[operator].time += start.elapsed();
        result
    }

    /// Ends this task's part: combines the sink worker's state, and adds the counts to the operators' metrics.
    fn combine(self, pipeline: &Pipeline) -> Result<()> {
        let Workers { source, stages, sink, mut counters, .. } = self;
        drop((source, stages));
        let start = Instant::now();
        sink.combine()?;
        let metrics = std::iter::once(pipeline.source.metrics())
            .chain(pipeline.transforms.iter().map(|transform| transform.metrics()))
            .chain(std::iter::once(pipeline.sink.metrics()));
        counters[pipeline.transforms.len() + 1].time += start.elapsed();
        for (metrics, counter) in metrics.zip(&counters) {
            metrics.add_output(counter.output);
            metrics.add_time(counter.time);
        }
        // The input of a transform is the output of the operator before it.
        for (transform, before) in pipeline.transforms.iter().zip(&counters) {
            transform.metrics().add_input(before.output);
        }
        Ok(())
    }
}
