//! One worker's share of a pipeline: pulls chunks from the source and drives them through the transforms to the sink.
//!
//! The position in the pipeline is an explicit number, not a call stack, so that a task can stop anywhere (quantum over,
//! blocked) and go on later, on another thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use godwit_common::Result;
use godwit_vector::Chunk;

use super::QueryRun;
use crate::metrics::FlowCounts;
use crate::pipeline::{
    Pipeline, Signal, SinkVerdict, SinkWorker, SourceVerdict, SourceWorker, TransformVerdict, TransformWorker,
};

/// How long a task runs before other queries get their turn. Long against a chunk (some 10 µs), short for people.
const QUANTUM: Duration = Duration::from_millis(10);

/// Steps between two looks at the clock, where no new chunk begins meanwhile: a step with a chunk of a few rows takes little more
/// than the look.
const STEPS_PER_LOOK: u32 = 8;

/// What a task says after a quantum.
pub(super) enum Step {
    Yield,
    Blocked(Signal),
    Finished,
}

/// A task of a pipeline; lives until its part of the input is consumed.
pub(super) struct PipelineTask {
    run: Arc<QueryRun>,
    index: usize,
    /// Set when no row is wanted any more (a limit was reached); shared by the tasks of the pipeline.
    stop: Arc<AtomicBool>,
    /// Made in the first quantum, so that worker state is made in parallel.
    workers: Option<Workers>,
}

struct Workers {
    source: Box<dyn SourceWorker>,
    stages: Vec<Box<dyn TransformWorker>>,
    sink: Box<dyn SinkWorker>,
    position: Position,
    /// Stages before this one have been told that their input ended.
    finished_below: usize,
    counters: Vec<Counter>,
    profile: bool,
}

/// Who is asked next.
#[derive(Clone, Copy)]
enum Position {
    Source,
    /// A stage that may have output.
    Stage(usize),
    /// A stage whose input has ended.
    Finish(usize),
    Combine,
}

/// Output and time of one operator in this task, added to its metrics at the end.
#[derive(Clone, Copy, Default)]
struct Counter {
    output: FlowCounts,
    time: Duration,
}

impl PipelineTask {
    pub(super) fn for_pipeline(run: &Arc<QueryRun>, index: usize, tasks: usize) -> impl Iterator<Item = Self> {
        let stop = Arc::new(AtomicBool::new(false));
        (0..tasks).map(move |_| Self { run: run.clone(), index, stop: stop.clone(), workers: None })
    }

    /// Ends the task: worker objects go first, so that nothing of it is left when the run hears of it.
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
            if let Position::Combine = workers.position {
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
        let stages = pipeline.transforms.iter().map(|t| t.worker(query)).collect::<Result<Vec<_>>>()?;
        Ok(Self {
            source: pipeline.source.worker(query)?,
            sink: pipeline.sink.worker(query)?,
            position: Position::Source,
            finished_below: 0,
            counters: vec![Counter::default(); stages.len() + 2],
            stages,
            profile: query.settings.profile,
        })
    }

    /// True if all that was begun is done.
    fn is_at_source(&self) -> bool {
        matches!(self.position, Position::Source)
    }

    /// Asks whoever is next, once. Returns the signal to wait for, if any.
    fn step(&mut self, stop: &AtomicBool) -> Result<Option<Signal>> {
        match self.position {
            Position::Source if stop.load(Ordering::Relaxed) => self.position = self.finish_at(0),
            Position::Source => match self.timed(0, |w| w.source.next())? {
                SourceVerdict::Chunk(chunk) => return self.hand_on(0, chunk, stop),
                SourceVerdict::Worked => {}
                SourceVerdict::Blocked(signal) => return Ok(Some(signal)),
                SourceVerdict::Done => self.position = self.finish_at(0),
            },
            Position::Stage(level) => match self.timed(level + 1, |w| w.stages[level].pull())? {
                TransformVerdict::Chunk(chunk) => return self.hand_on(level + 1, chunk, stop),
                TransformVerdict::NeedInput => self.position = self.upstream_of(level),
                TransformVerdict::Done => {
                    stop.store(true, Ordering::Relaxed);
                    self.finished_below = level + 1;
                    self.position = self.finish_at(level + 1);
                }
            },
            Position::Finish(level) => {
                self.timed(level + 1, |w| w.stages[level].finish())?;
                self.finished_below = level + 1;
                self.position = Position::Stage(level);
            }
            Position::Combine => unreachable!("combining is the caller's step"),
        }
        Ok(None)
    }

    /// Gives the output of operator `operator` (0 is the source, then the stages) to the next one.
    fn hand_on(&mut self, operator: usize, chunk: Chunk, stop: &AtomicBool) -> Result<Option<Signal>> {
        debug_assert!(!chunk.is_empty(), "operators don't emit empty chunks");
        self.counters[operator].output.add_chunk(chunk.len());
        if operator < self.stages.len() {
            self.timed(operator + 1, |w| w.stages[operator].push(chunk))?;
            self.position = Position::Stage(operator);
            return Ok(None);
        }
        self.position = if operator == 0 { Position::Source } else { Position::Stage(operator - 1) };
        match self.timed(operator + 1, |w| w.sink.sink(chunk))? {
            SinkVerdict::NeedInput => Ok(None),
            SinkVerdict::Blocked(signal) => Ok(Some(signal)),
            SinkVerdict::Done => {
                stop.store(true, Ordering::Relaxed);
                self.position = Position::Combine;
                Ok(None)
            }
        }
    }

    /// Who is asked after stage `level` had nothing more to give.
    fn upstream_of(&self, level: usize) -> Position {
        if level < self.finished_below {
            self.finish_at(level + 1)
        } else if level == 0 {
            Position::Source
        } else {
            Position::Stage(level - 1)
        }
    }

    fn finish_at(&self, level: usize) -> Position {
        if level < self.stages.len() { Position::Finish(level) } else { Position::Combine }
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

    /// Ends this task's part: the sink takes what it gathered, the operators get their counts.
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
        // What goes into a transform came out of the operator before it.
        for (transform, before) in pipeline.transforms.iter().zip(&counters) {
            transform.metrics().add_input(before.output);
        }
        Ok(())
    }
}
