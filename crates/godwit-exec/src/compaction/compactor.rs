//! The compactor: a transform that holds back small chunks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use godwit_common::Result;
use godwit_pipeline::{
    CacheUse, ChunkEffect, CompactionAccount, CompactionCounts, FlowCounts, Operator, OperatorMetrics, QueryContext,
    Transform, TransformVerdict, TransformWorker,
};
use godwit_vector::{Chunk, ChunkBuilder};
use parking_lot::Mutex;

use super::Compaction;
use super::config::{BINARY_ROWS, COPIED_BYTES_MAX, MODEL_ROUNDS, ROUND_CHUNKS, ROUNDS_BEFORE_LEARNING};
use super::deferral::{Deferral, Stopwatch};
use super::learner::{Arm, Learner, rounds_to_hold};
use super::model::{Costs, RowShape, Traffic};

/// The compactor behind one operator of a pipeline.
pub(super) struct Compactor {
    compaction: Compaction,
    traffic: Arc<Traffic>,
    /// Which of the pipeline's compactors this is.
    point: usize,
    keeps_order: bool,
    learner: Mutex<Learner>,
    totals: Mutex<Counts>,
    /// Metrics of the preceding operator, which show how its chunks were compacted.
    shown_at: Arc<OperatorMetrics>,
    account: CompactionAccount,
    /// Metrics of the compactor itself: what it emits and how long it takes.
    metrics: Arc<OperatorMetrics>,
}

/// Counts of what went through a compactor.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    arrived: FlowCounts,
    left: FlowCounts,
    rows_copied: u64,
}

impl Compactor {
    pub(super) fn new(
        compaction: Compaction,
        traffic: Arc<Traffic>,
        point: usize,
        keeps_order: bool,
        shown_at: Arc<OperatorMetrics>,
    ) -> Arc<Self> {
        let (learner, totals) = (Mutex::default(), Mutex::default());
        let account = shown_at.open_compaction();
        let metrics = OperatorMetrics::new("Compactor");
        Arc::new(Self { compaction, traffic, point, keeps_order, learner, totals, shown_at, account, metrics })
    }
}

impl Operator for Compactor {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::CHUNKS
    }

    fn is_reusable(&self) -> bool {
        true
    }
}

impl Transform for Compactor {
    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        let chunk_rows = query.settings.chunk_rows;
        let rule = match self.compaction {
            Compaction::Full => Rule::Full,
            Compaction::Binary => Rule::Fixed,
            Compaction::Dynamic => Rule::Modelled,
            Compaction::Learning | Compaction::Smart => Rule::Learned(Phase::Waits),
            Compaction::None | Compaction::Logical => unreachable!("these have no compactors"),
        };
        Ok(Box::new(CompactorWorker {
            shared: self,
            rule,
            threshold: if matches!(rule, Rule::Full) { chunk_rows } else { BINARY_ROWS.min(chunk_rows / 2) },
            chunk_rows,
            buffer: ChunkBuilder::new(chunk_rows),
            ready: VecDeque::new(),
            round: Round::default(),
            rounds: 0,
            deferral: Deferral::default(),
            pending: Counts::default(),
            copied: Copied::default(),
            is_profiled: query.settings.profile,
        }))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }
}

impl Compactor {
    /// Adds a worker's counts.
    fn add(&self, counts: Counts) {
        self.traffic.note(self.point, counts.arrived, counts.left);
        let mut totals = self.totals.lock();
        totals.arrived += counts.arrived;
        totals.left += counts.left;
        totals.rows_copied += counts.rows_copied;
    }

    /// Publishes the counts so far in the metrics of the preceding operator.
    fn show(&self, threshold: usize) {
        // The lock is held to the end, so that the newest counts are published last.
        let totals = self.totals.lock();
        let Counts { arrived, left, rows_copied } = *totals;
        let learner = self.learner.lock();
        let tried = learner.history().filter(|tried| tried.1 > 0).collect();
        let resets = learner.resets();
        let counts = CompactionCounts { arrived, left, rows_copied, threshold, tried, resets };
        self.shown_at.set_compaction(self.account, counts);
    }
}

/// Where the threshold comes from.
#[derive(Clone, Copy)]
enum Rule {
    /// Every chunk is buffered until a full chunk has been collected.
    Full,
    /// A constant threshold.
    Fixed,
    /// The cost model.
    Modelled,
    /// The cost model at first, then the learner.
    Learned(Phase),
}

/// What a learner does with a round.
#[derive(Clone, Copy)]
enum Phase {
    /// Nothing: the pipeline may be too short to learn anything.
    Waits,
    /// It measures how fast an arm is.
    Measures(Arm),
    /// It uses the best arm so far for this many rounds, without measuring them.
    Holds(u32),
}

/// Chunks handled with one threshold, until none of them is held back.
#[derive(Default)]
struct Round {
    chunks: u32,
    /// Rows handed on.
    rows: u64,
    /// Runs while the current chunk is being processed downstream.
    under_way: Option<Stopwatch>,
    /// Time spent copying, and in everything downstream.
    latency: Duration,
    was_interrupted: bool,
}

/// The shape of the rows that a worker copied.
#[derive(Default)]
struct Copied {
    columns: usize,
    rows: u64,
    string_bytes: u64,
}

impl Copied {
    fn shape(&self) -> RowShape {
        RowShape { columns: self.columns, string_bytes: self.string_bytes as f64 / self.rows.max(1) as f64 }
    }
}

/// A chunk that may go on.
struct Ready {
    chunk: Chunk,
    was_held_back: bool,
}

struct CompactorWorker {
    shared: Arc<Compactor>,
    rule: Rule,
    /// Chunks with more rows pass through.
    threshold: usize,
    chunk_rows: usize,
    buffer: ChunkBuilder,
    /// At most two: the rows held back, and a chunk that passes through.
    ready: VecDeque<Ready>,
    round: Round,
    rounds: u32,
    deferral: Deferral,
    /// Not yet added to the shared counts.
    pending: Counts,
    copied: Copied,
    is_profiled: bool,
}

impl TransformWorker for CompactorWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        self.pending.arrived.add_chunk(chunk.len());
        self.copied.columns = chunk.width();
        if matches!(self.rule, Rule::Full) {
            self.fill_up(&chunk);
            return Ok(self.answer());
        }
        if chunk.len() > self.chunk_rows / 2 {
            // Never worth a copy, or even reading the clock.
            return Ok(self.pass(chunk));
        }
        if matches!(self.rule, Rule::Learned(Phase::Measures(_))) {
            self.round.under_way = Some(Stopwatch::start(&self.deferral));
        }
        self.round.chunks += 1;
        if chunk.len() > self.threshold {
            self.round.rows += chunk.len() as u64;
            return Ok(self.pass(chunk));
        }
        self.hold_back(&chunk);
        Ok(self.answer())
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        self.deferral.settle();
        Ok(self.answer())
    }

    fn finish(&mut self) -> Result<TransformVerdict> {
        self.flush();
        Ok(self.answer())
    }
}

impl CompactorWorker {
    /// Emits what is ready, a chunk at a time.
    fn answer(&mut self) -> TransformVerdict {
        if let Some(ready) = self.ready.pop_front() {
            return self.hand_on(ready);
        }
        if let Some(stopwatch) = self.round.under_way.take() {
            let latency = stopwatch.elapsed(&self.deferral);
            self.round.latency += latency.unwrap_or_default();
            self.round.was_interrupted |= latency.is_none();
        }
        self.end_round_if_over();
        TransformVerdict::NeedInput
    }

    /// Emits a chunk; asks to be called again only if it measures what follows, or has more.
    fn hand_on(&mut self, Ready { chunk, was_held_back }: Ready) -> TransformVerdict {
        self.pending.left.add_chunk(chunk.len());
        let is_priced = was_held_back && matches!(self.rule, Rule::Learned(_));
        if is_priced {
            self.deferral.hand_on(chunk.len());
        }
        if is_priced || self.round.under_way.is_some() || !self.ready.is_empty() {
            return TransformVerdict::Chunk(chunk);
        }
        self.end_round_if_over();
        TransformVerdict::LastChunk(chunk)
    }

    fn pass(&mut self, chunk: Chunk) -> TransformVerdict {
        if self.shared.keeps_order {
            self.flush();
        }
        let passing = Ready { chunk, was_held_back: false };
        if self.ready.is_empty() {
            return self.hand_on(passing);
        }
        self.ready.push_back(passing);
        self.answer()
    }

    fn hold_back(&mut self, chunk: &Chunk) {
        if self.buffer.room() < chunk.len() {
            self.flush();
        }
        self.copy(chunk, 0, chunk.len());
        self.deferral.hold_back(chunk.len());
        if self.buffer.room() < self.threshold || self.buffer.copied_bytes() > COPIED_BYTES_MAX {
            self.flush();
        }
    }

    fn fill_up(&mut self, chunk: &Chunk) {
        let first = chunk.len().min(self.buffer.room());
        self.copy(chunk, 0, first);
        if self.buffer.room() == 0 || self.buffer.copied_bytes() > COPIED_BYTES_MAX {
            self.flush();
        }
        if first < chunk.len() {
            self.copy(chunk, first, chunk.len() - first);
        }
    }

    fn copy(&mut self, chunk: &Chunk, offset: usize, rows: usize) {
        self.pending.rows_copied += rows as u64;
        self.buffer.append(chunk, offset, rows);
    }

    fn flush(&mut self) {
        if !self.buffer.is_empty() {
            self.round.rows += self.buffer.len() as u64;
            self.copied.rows += self.buffer.len() as u64;
            self.copied.string_bytes += self.buffer.copied_bytes() as u64;
            self.ready.push_back(Ready { chunk: self.buffer.finish(), was_held_back: true });
        }
    }

    fn end_round_if_over(&mut self) {
        let rounds = if let Rule::Learned(Phase::Holds(rounds)) = self.rule { rounds } else { 1 };
        if self.round.chunks >= rounds * ROUND_CHUNKS && self.round.rows > 0 && self.buffer.is_empty() {
            self.end_round();
        }
    }

    /// Learns from the round, and sets the threshold of the next.
    fn end_round(&mut self) {
        let round = std::mem::take(&mut self.round);
        self.rounds = self.rounds.saturating_add(1);
        self.shared.add(std::mem::take(&mut self.pending));
        match &mut self.rule {
            Rule::Full | Rule::Fixed => {}
            Rule::Learned(phase) if self.rounds > ROUNDS_BEFORE_LEARNING => {
                let (mut learner, threshold_max) = (self.shared.learner.lock(), self.chunk_rows / 2);
                let mut rounds = 0;
                if let Phase::Measures(arm) = *phase
                    && !round.was_interrupted
                    && !round.latency.is_zero()
                {
                    let chunks = round.rows as f64 / self.chunk_rows as f64;
                    learner.reward(arm, round.latency.as_secs_f64() * 1e3 / chunks);
                    rounds = rounds_to_hold(round.latency / round.chunks);
                }
                let held = learner.hold(rounds, threshold_max);
                let arm = held.unwrap_or_else(|| learner.select(threshold_max));
                *phase = if held.is_some() { Phase::Holds(rounds) } else { Phase::Measures(arm) };
                self.threshold = arm.threshold();
            }
            Rule::Modelled | Rule::Learned(_) => {
                if self.rounds % MODEL_ROUNDS == 1 {
                    let (traffic, point, shape) = (&self.shared.traffic, self.shared.point, self.copied.shape());
                    self.threshold = traffic.threshold(point, Costs::measured(), shape, self.chunk_rows);
                }
            }
        }
    }
}

impl Drop for CompactorWorker {
    fn drop(&mut self) {
        self.shared.add(self.pending);
        if self.is_profiled {
            self.shared.show(self.threshold);
        }
    }
}
