//! Tests of what the scheduler promises to transforms and sinks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use godwit_pipeline::{
    ChunkEffect, Operator, OperatorMetrics, Sink, SinkVerdict, SinkWorker, Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::{Chunk, Vector};
use proptest::prelude::*;

use super::*;
use crate::operators::{LimitTransform, ValuesSource};
use crate::testing::{Collected, World, pipeline, rows_of, run};

/// How long the tasks wait for each other, so that they end at the same time.
const MEETING: Duration = Duration::from_millis(100);

/// Counts how often it is finalized; its tasks end together, if they can.
struct Meeting {
    arrived: Arc<AtomicUsize>,
    expected: usize,
    finalized: AtomicUsize,
    metrics: Arc<OperatorMetrics>,
}

impl Operator for Meeting {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Sink for Meeting {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(MeetingWorker { arrived: self.arrived.clone(), expected: self.expected }))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        self.finalized.fetch_add(1, SeqCst);
        Ok(())
    }
}

struct MeetingWorker {
    arrived: Arc<AtomicUsize>,
    expected: usize,
}

impl SinkWorker for MeetingWorker {
    fn sink(&mut self, _chunk: Chunk) -> Result<SinkVerdict> {
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        self.arrived.fetch_add(1, SeqCst);
        let begun = Instant::now();
        while self.arrived.load(SeqCst) < self.expected && begun.elapsed() < MEETING {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

/// Remembers the threads that worked for it.
struct Threads {
    seen: Mutex<Vec<std::thread::ThreadId>>,
    metrics: Arc<OperatorMetrics>,
}

impl Operator for Threads {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Sink for Threads {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        self.seen.lock().push(std::thread::current().id());
        Ok(Box::new(MeetingWorker { arrived: Arc::default(), expected: 0 }))
    }
}

/// The threads that worked for pipelines of one task each with these dependencies, and whether they had ended when the
/// call returned.
fn threads_of(depends_on: &[&[usize]]) -> (Vec<std::thread::ThreadId>, bool) {
    let query = World { memory_limit: 1 << 30, force_spill: false, chunk_rows: 100, workers: 2 }.query();
    let chunk = Chunk::new(vec![Vector::from_values(vec![1i64], None)], 1);
    let seen = Arc::new(Threads { seen: Mutex::default(), metrics: OperatorMetrics::new("Threads") });
    let pipelines = depends_on.iter().map(|depends_on| {
        let source = ValuesSource::new(vec![chunk.clone()], &query, "Values");
        pipeline(source, vec![], seen.clone(), depends_on)
    });
    let pipelines = pipelines.collect();
    let is_done = Arc::new(AtomicUsize::new(0));
    let done = is_done.clone();
    let pool = WorkerPool::new(2).unwrap();
    pool.run(query, pipelines, move |result| {
        result.unwrap();
        done.fetch_add(1, SeqCst);
    });
    let has_ended = is_done.load(SeqCst) == 1;
    while is_done.load(SeqCst) == 0 {
        std::thread::yield_now();
    }
    drop(pool);
    let threads = std::mem::take(&mut *seen.seen.lock());
    (threads, has_ended)
}

#[test]
fn small_queries_run_on_the_calling_thread() {
    let here = std::thread::current().id();
    assert_eq!(threads_of(&[&[]]), (vec![here], true));
    assert_eq!(threads_of(&[&[], &[0], &[1]]), (vec![here; 3], true));
    // Pipelines that can run at the same time go to the pool, as do those after them.
    let (threads, _) = threads_of(&[&[], &[], &[0, 1]]);
    assert!(threads.len() == 3 && !threads.contains(&here), "{threads:?}");
    let (threads, _) = threads_of(&[&[], &[0], &[0], &[1, 2]]);
    assert!(threads.len() == 4 && threads[0] == here && !threads[1..].contains(&here), "{threads:?}");
}

#[test]
fn a_sink_of_several_pipelines_is_finalized_once_even_if_they_end_together() {
    let chunk = Chunk::new(vec![Vector::from_values(vec![1i64], None)], 1);
    for round in 0..200 {
        // With less memory the pipelines would run in turn.
        let query = World { memory_limit: 1 << 30, force_spill: false, chunk_rows: 100, workers: 2 }.query();
        let sink = Arc::new(Meeting {
            arrived: Arc::default(),
            // A source of values has one task.
            expected: 2,
            finalized: AtomicUsize::new(0),
            metrics: OperatorMetrics::new("Meeting"),
        });
        let source = || ValuesSource::new(vec![chunk.clone()], &query, "Values");
        run(&query, vec![pipeline(source(), vec![], sink.clone(), &[]), pipeline(source(), vec![], sink.clone(), &[])])
            .unwrap();
        assert_eq!(sink.finalized.load(SeqCst), 1, "round {round}");
    }
}

/// The behaviour of a stage.
#[derive(Debug, Clone, Copy)]
enum Habit {
    /// It makes chunks of this many rows, and marks the last one if `tells_last`.
    Splits { rows: usize, tells_last: bool },
    /// It emits nothing before its input has ended.
    HoldsBack,
    /// It lets this many rows through.
    Limits(u64),
}

impl Habit {
    fn transform(self) -> Arc<dyn Transform> {
        match self {
            Habit::Limits(limit) => LimitTransform::new(0, Some(limit), "Limit"),
            _ => Arc::new(Stage { habit: self, metrics: OperatorMetrics::new("Stage") }),
        }
    }
}

fn habit() -> impl Strategy<Value = Habit> {
    prop_oneof![
        (1usize..20, any::<bool>()).prop_map(|(rows, tells_last)| Habit::Splits { rows, tells_last }),
        Just(Habit::HoldsBack),
        (0u64..300).prop_map(Habit::Limits),
    ]
}

struct Stage {
    habit: Habit,
    metrics: Arc<OperatorMetrics>,
}

impl Operator for Stage {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Transform for Stage {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        let (waiting, is_open, has_finished) = (VecDeque::new(), false, false);
        Ok(Box::new(StageWorker { habit: self.habit, waiting, is_open, has_finished }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }
}

/// Checks the order of calls.
struct StageWorker {
    habit: Habit,
    waiting: VecDeque<Chunk>,
    /// Its last verdict asked to be called again.
    is_open: bool,
    has_finished: bool,
}

impl StageWorker {
    fn answer(&mut self) -> TransformVerdict {
        let tells_last = matches!(self.habit, Habit::Splits { tells_last: true, .. });
        let verdict = match self.waiting.pop_front() {
            None => TransformVerdict::NeedInput,
            Some(chunk) if tells_last && self.waiting.is_empty() => TransformVerdict::LastChunk(chunk),
            Some(chunk) => TransformVerdict::Chunk(chunk),
        };
        self.is_open = matches!(verdict, TransformVerdict::Chunk(_));
        verdict
    }
}

impl TransformWorker for StageWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        assert!(
            !self.is_open && !self.has_finished,
            "a chunk while the one before is not dealt with, or after the end"
        );
        if let Habit::Splits { rows, .. } = self.habit {
            let starts = (0..chunk.len()).step_by(rows);
            self.waiting.extend(starts.map(|start| chunk.slice(start, rows.min(chunk.len() - start))));
            return Ok(self.answer());
        }
        self.waiting.push_back(chunk);
        Ok(TransformVerdict::NeedInput)
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        assert!(self.is_open, "asked again without having said so");
        Ok(self.answer())
    }

    fn finish(&mut self) -> Result<TransformVerdict> {
        assert!(!self.is_open && !self.has_finished, "the end while a chunk is not dealt with, or twice");
        self.has_finished = true;
        Ok(self.answer())
    }
}

proptest! {
    #[test]
    fn rows_go_through_all_stages_in_their_order(
        habits in prop::collection::vec(habit(), 0..5),
        rows in 0usize..300,
        chunk_rows in 1usize..50,
    ) {
        let query = World { memory_limit: 96 << 20, force_spill: false, chunk_rows, workers: 1 }.query();
        let values = Vector::from_values((0..rows as i64).collect(), None);
        let chunk = Chunk::new(vec![values], rows);
        let collected = Collected::new(&query);
        let source = ValuesSource::new(if rows == 0 { vec![] } else { vec![chunk.clone()] }, &query, "Values");
        let transforms = habits.iter().map(|habit| habit.transform()).collect();
        run(&query, vec![pipeline(source, transforms, collected.clone(), &[])]).unwrap();
        let limits = habits.iter().filter_map(|habit| if let Habit::Limits(limit) = habit { Some(*limit) } else { None });
        let expected = limits.min().map_or(rows, |limit| rows.min(limit as usize));
        prop_assert_eq!(collected.rows(), &rows_of(&chunk)[..expected]);
    }
}
