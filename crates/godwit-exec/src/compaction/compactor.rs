//! The compactor: a transform that holds back small chunks.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_common::Result;
use godwit_vector::{Chunk, ChunkBuilder};
use parking_lot::Mutex;

use super::Compaction;
use super::config::{BINARY_ROWS, COPIED_BYTES_MAX, LATENCY_MAX, MODEL_ROUNDS, ROUND_CHUNKS, ROUNDS_BEFORE_LEARNING};
use super::learner::{Arm, Learner};
use super::model::{Costs, Traffic};
use crate::QueryContext;
use crate::metrics::OperatorMetrics;
use crate::pipeline::{ChunkEffect, Transform, TransformVerdict, TransformWorker};

/// The compactor behind one operator of a pipeline.
pub(super) struct Compactor {
    shared: Arc<Shared>,
    /// Of the compactor itself: what it emits and how long it takes.
    metrics: Arc<OperatorMetrics>,
}

/// What the workers have in common.
struct Shared {
    compaction: Compaction,
    traffic: Arc<Traffic>,
    /// Which of the pipeline's compactors this is.
    point: usize,
    keeps_order: bool,
    learner: Mutex<Learner>,
    totals: Mutex<Counts>,
    /// Of the operator before, which shows what became of its chunks.
    shown_at: Arc<OperatorMetrics>,
}

/// What passed a compactor.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    rows_in: u64,
    chunks_in: u64,
    rows_out: u64,
    chunks_out: u64,
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
        let shared = Shared { compaction, traffic, point, keeps_order, learner, totals, shown_at };
        Arc::new(Self { shared: Arc::new(shared), metrics: OperatorMetrics::new("Compactor") })
    }
}

impl Transform for Compactor {
    fn worker(&self, query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        let chunk_rows = query.settings.chunk_rows;
        let rule = match self.shared.compaction {
            Compaction::Full => Rule::Full,
            Compaction::Binary => Rule::Fixed,
            Compaction::Dynamic => Rule::Modelled,
            Compaction::Learning | Compaction::Smart => Rule::Learned(None),
            Compaction::None | Compaction::Logical => unreachable!("these have no compactors"),
        };
        Ok(Box::new(CompactorWorker {
            shared: self.shared.clone(),
            rule,
            threshold: if matches!(rule, Rule::Full) { chunk_rows } else { BINARY_ROWS.min(chunk_rows / 2) },
            chunk_rows,
            buffer: ChunkBuilder::new(chunk_rows),
            ready: VecDeque::new(),
            round: Round::default(),
            rounds: 0,
            pending: Counts::default(),
            columns: 0,
        }))
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }
}

impl Shared {
    /// Takes over a worker's counts.
    fn add(&self, counts: Counts) {
        self.traffic.note(self.point, (counts.rows_in, counts.chunks_in), (counts.rows_out, counts.chunks_out));
        let mut totals = self.totals.lock();
        totals.rows_in += counts.rows_in;
        totals.chunks_in += counts.chunks_in;
        totals.rows_out += counts.rows_out;
        totals.chunks_out += counts.chunks_out;
        totals.rows_copied += counts.rows_copied;
    }

    /// Shows what was done so far at the operator before.
    fn show(&self, threshold: usize) {
        let totals = *self.totals.lock();
        let mean = |rows: u64, chunks: u64| rows as f64 / chunks.max(1) as f64;
        let text = format!(
            "{} chunks of {:.0} rows to {} of {:.0}, {} rows copied, threshold {threshold}",
            totals.chunks_in,
            mean(totals.rows_in, totals.chunks_in),
            totals.chunks_out,
            mean(totals.rows_out, totals.chunks_out),
            totals.rows_copied,
        );
        self.shown_at.note("compaction", text);
        let learner = self.learner.lock();
        let tried: Vec<String> =
            learner.history().filter(|tried| tried.1 > 0).map(|(threshold, n)| format!("{threshold}: {n}")).collect();
        if !tried.is_empty() {
            self.shown_at.note("thresholds tried", format!("{} ({} resets)", tried.join(", "), learner.resets()));
        }
    }
}

/// Where the threshold comes from.
#[derive(Clone, Copy)]
enum Rule {
    /// Everything is collected until a chunk is full to the last row.
    Full,
    /// It stays what it is.
    Fixed,
    /// The cost model.
    Modelled,
    /// The cost model at first, then the learner: the arm that is being tried.
    Learned(Option<Arm>),
}

/// Some chunks under one threshold, until nothing of them is held back.
#[derive(Default)]
struct Round {
    chunks: u32,
    /// Rows handed on.
    rows: u64,
    /// When the chunk that is under way arrived.
    begun: Option<Instant>,
    /// Of copying, and of all that follows.
    latency: Duration,
    was_interrupted: bool,
}

struct CompactorWorker {
    shared: Arc<Shared>,
    rule: Rule,
    /// Chunks with more rows pass.
    threshold: usize,
    chunk_rows: usize,
    buffer: ChunkBuilder,
    /// At most two: what was held back, and a chunk that passes.
    ready: VecDeque<Chunk>,
    round: Round,
    rounds: u32,
    /// Not yet added to the shared counts.
    pending: Counts,
    /// Width of the chunks.
    columns: usize,
}

impl TransformWorker for CompactorWorker {
    fn push(&mut self, chunk: Chunk) -> Result<()> {
        self.pending.rows_in += chunk.len() as u64;
        self.pending.chunks_in += 1;
        self.columns = chunk.width();
        if matches!(self.rule, Rule::Full) {
            self.fill_up(&chunk);
        } else if chunk.len() > self.chunk_rows / 2 {
            // Never worth a copy, nor a look at the clock.
            self.pass(chunk);
        } else {
            if matches!(self.rule, Rule::Learned(_)) {
                self.round.begun = Some(Instant::now());
            }
            self.round.chunks += 1;
            if chunk.len() > self.threshold {
                self.round.rows += chunk.len() as u64;
                self.pass(chunk);
            } else {
                self.hold_back(&chunk);
            }
        }
        Ok(())
    }

    fn pull(&mut self) -> Result<TransformVerdict> {
        if let Some(chunk) = self.ready.pop_front() {
            self.pending.rows_out += chunk.len() as u64;
            self.pending.chunks_out += 1;
            return Ok(TransformVerdict::Chunk(chunk));
        }
        // All that follows is done with what it got.
        if let Some(begun) = self.round.begun.take() {
            let latency = begun.elapsed();
            self.round.latency += latency;
            self.round.was_interrupted |= latency > LATENCY_MAX;
        }
        if self.round.chunks >= ROUND_CHUNKS && self.round.rows > 0 && self.buffer.is_empty() {
            self.end_round();
        }
        Ok(TransformVerdict::NeedInput)
    }

    fn finish(&mut self) -> Result<()> {
        self.flush();
        Ok(())
    }
}

impl CompactorWorker {
    fn pass(&mut self, chunk: Chunk) {
        if self.shared.keeps_order {
            self.flush();
        }
        self.ready.push_back(chunk);
    }

    fn hold_back(&mut self, chunk: &Chunk) {
        if self.buffer.room() < chunk.len() {
            self.flush();
        }
        self.copy(chunk, 0, chunk.len());
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
            self.ready.push_back(self.buffer.finish());
        }
    }

    /// Learns from the round, and sets the threshold of the next.
    fn end_round(&mut self) {
        let round = std::mem::take(&mut self.round);
        self.rounds = self.rounds.saturating_add(1);
        self.shared.add(std::mem::take(&mut self.pending));
        match &mut self.rule {
            Rule::Full | Rule::Fixed => {}
            Rule::Learned(arm) if self.rounds > ROUNDS_BEFORE_LEARNING => {
                let mut learner = self.shared.learner.lock();
                if let Some(arm) = arm.take()
                    && !round.was_interrupted
                {
                    let chunks = round.rows as f64 / self.chunk_rows as f64;
                    learner.reward(arm, round.latency.as_secs_f64() * 1e3 / chunks);
                }
                let next = learner.select();
                self.threshold = next.threshold().min(self.chunk_rows / 2);
                *arm = Some(next);
            }
            Rule::Modelled | Rule::Learned(_) => {
                if self.rounds % MODEL_ROUNDS == 1 {
                    let columns = self.columns;
                    self.threshold =
                        self.shared.traffic.threshold(self.shared.point, Costs::measured(), columns, self.chunk_rows);
                }
            }
        }
    }
}

impl Drop for CompactorWorker {
    fn drop(&mut self) {
        self.shared.add(self.pending);
        self.shared.show(self.threshold);
    }
}
