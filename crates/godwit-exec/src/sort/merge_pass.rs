//! Merge passes: while there are more written runs than the last merge can have open, some of them are merged into one.
//!
//! Workers take groups of runs, the smallest first, so that few rows are rewritten. A worker that finds too few runs
//! while others are merging has nothing to do, and neither does any worker after it.

use std::cmp::Reverse;
use std::sync::Arc;

use godwit_common::Result;
use godwit_memory::PAGE_BYTES;
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Signal, Source, SourceVerdict, SourceWorker};
use parking_lot::Mutex;

use super::Shared;
use super::config::{BATCHES_PER_STEP, CURSOR_BYTES, FAN_IN_MAX, MERGE_SHARE};
use super::key::KeyWord;
use super::merge::{MergeInput, Merger};
use super::run::{Run, RunWriter, WrittenRun};

/// Runs all merges except the last.
pub(super) struct MergePassSource<K> {
    shared: Arc<Shared<K>>,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    /// Number of merges in progress; each yields one run.
    merging: usize,
    /// Number of finished merges.
    merged: usize,
    /// Fires when a merge is finished.
    changed: Signal,
}

impl<K: KeyWord> MergePassSource<K> {
    pub(super) fn new(shared: Arc<Shared<K>>) -> Self {
        Self { shared, progress: Mutex::default() }
    }
}

impl<K: KeyWord> Operator for MergePassSource<K> {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.shared.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::polluting("reads runs in order, and writes a longer one")
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        (2 * CURSOR_BYTES + 2 * PAGE_BYTES as u64) * workers as u64
    }
}

impl<K: KeyWord> Source for MergePassSource<K> {
    fn parallelism(&self) -> usize {
        let shared = &self.shared;
        let runs = shared.runs.lock().iter().filter(|run| matches!(run, Run::Written(_))).count();
        if runs > fan_in(shared) { shared.workers } else { 1 }
    }

    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(MergeWorker { source: self, merge: None }))
    }
}

/// Number of written runs that one merge can have open, if it is the only one of its sort.
pub(super) fn fan_in<K>(shared: &Shared<K>) -> usize {
    let affordable = shared.memory.memory_limit() / MERGE_SHARE / shared.sharers as u64 / CURSOR_BYTES;
    (affordable as usize).clamp(2, FAN_IN_MAX)
}

/// Work for a worker.
enum Task<K> {
    Merge(Vec<Run<K>>),
    Wait(Signal),
    Nothing,
}

impl<K: KeyWord> MergePassSource<K> {
    fn take_task(&self) -> Task<K> {
        let fan_in = fan_in(&self.shared);
        let mut progress = self.progress.lock();
        let mut runs = self.shared.runs.lock();
        let mut written: Vec<usize> = (0..runs.len()).filter(|&i| matches!(runs[i], Run::Written(_))).collect();
        let total = written.len() + progress.merging;
        if total <= fan_in {
            return Task::Nothing;
        }
        // Workers share the memory, and merging just the excess runs is enough.
        let group = (fan_in / self.shared.workers).max(2).min(total - fan_in + 1);
        if written.len() < group {
            return Task::Wait(progress.changed.clone());
        }
        written.sort_unstable_by_key(|&index| match &runs[index] {
            Run::Written(rows) => rows.rows(),
            Run::InPlace(_) => unreachable!("only written runs are merged"),
        });
        written.truncate(group);
        written.sort_unstable_by_key(|&index| Reverse(index));
        progress.merging += 1;
        Task::Merge(written.into_iter().map(|index| runs.swap_remove(index)).collect())
    }

    /// Called when a merge is over; it has produced a run unless it failed. Wakes those that wait for runs.
    fn finish(&self, run: Option<WrittenRun<K>>) {
        let mut progress = self.progress.lock();
        if let Some(run) = run {
            self.shared.runs.lock().push(Run::Written(run));
            progress.merged += 1;
            self.shared.metrics.note("merges before the last", progress.merged.to_string());
        }
        progress.merging -= 1;
        let changed = std::mem::take(&mut progress.changed);
        drop(progress);
        changed.fire();
    }
}

struct MergeWorker<K: KeyWord> {
    source: Arc<MergePassSource<K>>,
    merge: Option<Merge<K>>,
}

struct Merge<K: KeyWord> {
    input: Merger<K>,
    output: RunWriter<K>,
}

impl<K: KeyWord> SourceWorker for MergeWorker<K> {
    fn next(&mut self) -> Result<SourceVerdict> {
        let shared = &self.source.shared;
        let merge = match &mut self.merge {
            Some(merge) => merge,
            None => match self.source.take_task() {
                Task::Merge(runs) => {
                    let input = MergeInput { runs: Arc::new(runs), start: None, end: None };
                    let merge = Merger::new(shared, input)
                        .and_then(|input| Ok(Merge { input, output: RunWriter::new(shared)? }))
                        .inspect_err(|_| self.source.finish(None))?;
                    self.merge.insert(merge)
                }
                Task::Wait(signal) => return Ok(SourceVerdict::Blocked(signal)),
                Task::Nothing => return Ok(SourceVerdict::Done),
            },
        };
        for _ in 0..BATCHES_PER_STEP {
            let Some(batch) = merge.input.next(shared.chunk_rows)? else {
                let run = self.merge.take().map(|merge| merge.output.finish());
                self.source.finish(run);
                break;
            };
            merge.output.append(batch.first, batch.rows.all())?;
        }
        Ok(SourceVerdict::Worked)
    }
}

impl<K: KeyWord> Drop for MergeWorker<K> {
    /// A merge that failed or was cancelled must not leave others waiting for its run.
    fn drop(&mut self) {
        if self.merge.take().is_some() {
            self.source.finish(None);
        }
    }
}
