//! The source of sorted rows: ranges merged by all workers, emitted by one.
//!
//! ```text
//!            emitted   emitting      ahead of it: one range per worker and one more
//! ranges  |  0   1  |     2     |     3     |     4     |     5      6   …
//!                     slot: chunks   chunks      chunks
//!                       ▲ emitter      ▲ helper             each worker takes the next range when it is done with one
//! ```
//!
//! A worker that merges a range puts the finished chunks, with output columns gathered, into the range's slot. The
//! *emitter*, the first worker, takes them out in order; while there are none, it merges, too. A range whose slot is
//! full waits until the emitter reaches it, which bounds buffering even if one range is huge.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use godwit_common::{MemoryTag, Result};
use godwit_memory::{PAGE_BYTES, Reservation};
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Signal, Source, SourceVerdict, SourceWorker};
use godwit_vector::Chunk;
use parking_lot::{Mutex, MutexGuard};

use super::Shared;
use super::config::{CURSOR_BYTES, RANGE_ROWS_MAX, RANGE_ROWS_MIN, RANGES_AHEAD, WAITING_SHARE};
use super::key::KeyWord;
use super::merge::{MergeInput, Merger};
use super::merge_pass::fan_in;
use super::run::{Cut, Run, cuts};

/// Merges the remaining runs and emits the rows.
pub(super) struct SortedSource<K> {
    shared: Arc<Shared<K>>,
    /// Created at the start and dropped with the emitter, so that the runs don't outlive their use.
    state: SharedState<K>,
    has_emitter: AtomicBool,
}

type SharedState<K> = Arc<Mutex<Option<Arc<State<K>>>>>;

/// The ranges, and the progress on them.
struct State<K> {
    shared: Arc<Shared<K>>,
    runs: Arc<Vec<Run<K>>>,
    /// The cuts between the ranges.
    cuts: Vec<Cut<K>>,
    workers: usize,
    /// Number of chunks at which a slot is full.
    slot_chunks_max: usize,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// The range that is being emitted.
    emitting: usize,
    /// The ranges that have been taken, starting with that one.
    slots: VecDeque<Slot>,
    /// No more rows are needed.
    closed: bool,
    /// Fires when a chunk or an end arrives.
    filled: Signal,
    /// Fires when a slot is no longer full, or the next range is emitted.
    drained: Signal,
}

/// The output of a range that the emitter hasn't taken yet.
#[derive(Default)]
struct Slot {
    chunks: VecDeque<(Chunk, Reservation)>,
    end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Complete,
    /// Its worker failed or was stopped: the query fails.
    Broken,
}

impl<K: KeyWord> SortedSource<K> {
    pub(super) fn new(shared: Arc<Shared<K>>) -> Self {
        Self { shared, state: SharedState::default(), has_emitter: AtomicBool::new(false) }
    }
}

impl<K: KeyWord> Operator for SortedSource<K> {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.shared.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::sensitive("merges runs whose rows lie in no order")
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        // Two open runs for each worker, and the range that each has merged ahead.
        (2 * CURSOR_BYTES + 4 * PAGE_BYTES as u64) * (workers + RANGES_AHEAD) as u64
    }
}

impl<K: KeyWord> Source for SortedSource<K> {
    fn start(&self, _query: &Arc<QueryContext>) -> Result<()> {
        let shared = &self.shared;
        let runs = std::mem::take(&mut *shared.runs.lock());
        let written = runs.iter().filter(|run| matches!(run, Run::Written(_))).count();
        let workers = shared.workers.min(fan_in(shared) / written.max(1)).max(1);
        let window = (workers + 1 + RANGES_AHEAD) as u64;
        let affordable = shared.memory.memory_limit() / WAITING_SHARE / window / shared.layout.row_bytes() as u64;
        let range_rows = (affordable as usize).clamp(RANGE_ROWS_MIN, RANGE_ROWS_MAX);
        let rows_max = shared.limit.map_or(u64::MAX, |limit| limit as u64);
        let cuts = if workers > 1 { cuts(shared, &runs, range_rows as u64, rows_max) } else { Vec::new() };
        shared.metrics.note("ranges merged in parallel", (cuts.len() + 1).to_string());
        *self.state.lock() = Some(Arc::new(State {
            shared: shared.clone(),
            runs: Arc::new(runs),
            workers: workers.min(cuts.len() + 1),
            cuts,
            slot_chunks_max: (2 * range_rows).div_ceil(shared.chunk_rows),
            progress: Mutex::default(),
        }));
        Ok(())
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn parallelism(&self) -> usize {
        self.state.lock().as_ref().map_or(1, |state| state.workers)
    }

    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        let Some(state) = self.state.lock().clone() else { return Ok(Box::new(LateWorker)) };
        let is_emitter = !self.has_emitter.swap(true, Ordering::Relaxed);
        let emitter = is_emitter
            .then(|| Emitter { rows_left: self.shared.limit.unwrap_or(usize::MAX), source: self.state.clone() });
        Ok(Box::new(SortedWorker { state, emitter, merge: None }))
    }
}

impl<K: KeyWord> State<K> {
    /// Takes the next range, if it isn't too far ahead.
    fn take_range(&self, progress: &mut Progress) -> Option<usize> {
        let range = progress.emitting + progress.slots.len();
        let is_near = progress.slots.len() <= self.workers + RANGES_AHEAD;
        (range <= self.cuts.len() && is_near).then(|| {
            progress.slots.push_back(Slot::default());
            range
        })
    }

    fn merger(&self, range: usize) -> Result<Merger<K>> {
        let start = range.checked_sub(1).map(|before| self.cuts[before]);
        let end = self.cuts.get(range).copied();
        Merger::new(&self.shared, MergeInput { runs: self.runs.clone(), start, end })
    }

    /// The next rows of a range, in their final form.
    fn next_chunk(&self, merger: &mut Merger<K>) -> Result<Option<(Chunk, Reservation)>> {
        let shared = &*self.shared;
        let Some(batch) = merger.next(shared.chunk_rows)? else { return Ok(None) };
        let memory = shared.memory.reserve(batch.rows.len() * shared.layout.row_bytes(), MemoryTag::Sort)?;
        let columns = shared.output.iter().map(|&column| batch.rows.all().gather(column)).collect();
        Ok(Some((Chunk::new(columns, batch.rows.len()), memory)))
    }

    /// Called when the emitter is done with a range.
    fn advance(&self, progress: &mut Progress) {
        progress.slots.pop_front();
        if let Some(cut) = self.cuts.get(progress.emitting) {
            for (index, run) in self.runs.iter().enumerate() {
                if let Run::Written(run) = run {
                    run.release_before(index, cut);
                }
            }
        }
        progress.emitting += 1;
    }
}

impl Progress {
    fn slot(&mut self, range: usize) -> &mut Slot {
        &mut self.slots[range - self.emitting]
    }

    /// Makes the emitter wait, unless something has arrived since it last looked.
    fn until_filled(&self) -> SourceVerdict {
        match self.slots.front() {
            Some(slot) if !slot.chunks.is_empty() || slot.end.is_some() => SourceVerdict::Worked,
            _ => SourceVerdict::Blocked(self.filled.clone()),
        }
    }
}

/// A worker that starts after everything has been emitted.
struct LateWorker;

impl SourceWorker for LateWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        Ok(SourceVerdict::Done)
    }
}

/// State of the emitter only.
struct Emitter<K> {
    /// Rows that may still be emitted.
    rows_left: usize,
    /// The source's reference to the state.
    source: SharedState<K>,
}

struct SortedWorker<K: KeyWord> {
    state: Arc<State<K>>,
    emitter: Option<Emitter<K>>,
    /// The range that this worker merges.
    merge: Option<(usize, Merger<K>)>,
}

impl<K: KeyWord> SourceWorker for SortedWorker<K> {
    fn next(&mut self) -> Result<SourceVerdict> {
        if let Some(verdict) = self.emit() {
            return Ok(verdict);
        }
        let state = self.state.clone();
        let mut progress = state.progress.lock();
        if progress.closed {
            return Ok(SourceVerdict::Done);
        }
        let range = match &self.merge {
            Some((range, _)) => *range,
            None => match state.take_range(&mut progress) {
                Some(range) => {
                    drop(progress);
                    return self.open(range);
                }
                None if self.emitter.is_some() => return Ok(progress.until_filled()),
                None if progress.emitting + progress.slots.len() > state.cuts.len() => {
                    return Ok(SourceVerdict::Done);
                }
                None => return Ok(SourceVerdict::Blocked(progress.drained.clone())),
            },
        };
        let is_full = progress.slot(range).chunks.len() >= state.slot_chunks_max;
        if is_full {
            return Ok(match self.emitter {
                Some(_) => progress.until_filled(),
                None => SourceVerdict::Blocked(progress.drained.clone()),
            });
        }
        drop(progress);
        self.merge_more(range)
    }
}

impl<K: KeyWord> SortedWorker<K> {
    /// The emitter's verdict if it needn't merge: a chunk, or the end.
    fn emit(&mut self) -> Option<SourceVerdict> {
        let emitter = self.emitter.as_mut()?;
        let rows_left = emitter.rows_left;
        let mut progress = self.state.progress.lock();
        while rows_left > 0 && progress.emitting <= self.state.cuts.len() {
            let slot = progress.slots.front_mut()?;
            if let Some((chunk, _)) = slot.chunks.pop_front() {
                let is_half_empty = slot.chunks.len() == self.state.slot_chunks_max / 2;
                let drained = is_half_empty.then(|| std::mem::take(&mut progress.drained));
                drop(progress);
                drained.iter().for_each(Signal::fire);
                let chunk = if chunk.len() > rows_left { chunk.slice(0, rows_left) } else { chunk };
                emitter.rows_left -= chunk.len();
                return Some(SourceVerdict::Chunk(chunk));
            }
            match slot.end? {
                // The error that broke it ends this task, too.
                End::Broken => return Some(SourceVerdict::Worked),
                End::Complete => self.state.advance(&mut progress),
            }
            let drained = std::mem::take(&mut progress.drained);
            MutexGuard::unlocked(&mut progress, || drained.fire());
        }
        Some(SourceVerdict::Done)
    }

    fn open(&mut self, range: usize) -> Result<SourceVerdict> {
        match self.state.merger(range) {
            Ok(merger) => self.merge = Some((range, merger)),
            Err(error) => {
                self.end(range, End::Broken);
                return Err(error);
            }
        }
        Ok(SourceVerdict::Worked)
    }

    fn merge_more(&mut self, range: usize) -> Result<SourceVerdict> {
        let (_, merger) = self.merge.as_mut().expect("a range is open");
        match self.state.next_chunk(merger)? {
            Some(chunk) => {
                let mut progress = self.state.progress.lock();
                if progress.closed {
                    return Ok(SourceVerdict::Done);
                }
                progress.slot(range).chunks.push_back(chunk);
                let is_awaited = range == progress.emitting;
                let filled = is_awaited.then(|| std::mem::take(&mut progress.filled));
                drop(progress);
                filled.iter().for_each(Signal::fire);
            }
            None => {
                self.merge = None;
                self.end(range, End::Complete);
            }
        }
        Ok(SourceVerdict::Worked)
    }

    fn end(&self, range: usize, end: End) {
        let mut progress = self.state.progress.lock();
        if !progress.closed {
            progress.slot(range).end = Some(end);
        }
        let filled = std::mem::take(&mut progress.filled);
        drop(progress);
        filled.fire();
    }
}

impl<K: KeyWord> Drop for SortedWorker<K> {
    /// No other worker may wait for one that is gone.
    fn drop(&mut self) {
        if let Some((range, _)) = self.merge.take() {
            self.end(range, End::Broken);
        }
        if let Some(emitter) = &self.emitter {
            *emitter.source.lock() = None;
            let mut progress = self.state.progress.lock();
            progress.closed = true;
            progress.slots.clear();
            let drained = std::mem::take(&mut progress.drained);
            drop(progress);
            drained.fire();
        }
    }
}
