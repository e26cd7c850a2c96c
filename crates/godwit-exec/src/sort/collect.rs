//! The sink: collects rows, prunes them for a top-N, and cuts them into sorted runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use godwit_common::Result;
use godwit_memory::PAGE_BYTES;
use godwit_rows::{RowCollection, RowPtr};
use godwit_vector::kernels::select::select_true;
use godwit_vector::{Chunk, Heaps, Vector};

use super::Shared;
use super::config::{RUN_BYTES_MIN, SCARCE_SHARE, TOP_SLACK_ROWS};
use super::entries::Entries;
use super::key::KeyWord;
use super::run::{InPlaceRun, Run, RunWriter};
use crate::QueryContext;
use crate::key_filter::range_of;
use crate::metrics::OperatorMetrics;
use crate::pipeline::{Sink, SinkVerdict, SinkWorker};

/// Where the rows go.
pub(super) struct SortSink<K>(pub(super) Arc<Shared<K>>);

impl<K: KeyWord> Sink for SortSink<K> {
    fn worker(&self, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(SortWorker {
            shared: self.0.clone(),
            rows: pinned_collection(&self.0),
            entries: Entries::new(&self.0)?,
            bound: None,
            keys: Vec::new(),
            pointers: Vec::new(),
        }))
    }

    fn finalize(&self, _query: &Arc<QueryContext>) -> Result<()> {
        let runs = self.0.runs.lock();
        let written = runs.iter().filter(|run| matches!(run, Run::Written(_))).count();
        let in_place = |run: &Run<K>| match run {
            Run::InPlace(run) => run.bytes,
            Run::Written(_) => 0,
        };
        self.0.room.keep(runs.iter().map(in_place).sum());
        self.0.metrics.note("runs", format!("{} in memory, {written} written", runs.len() - written));
        Ok(())
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        (RUN_BYTES_MIN + 2 * PAGE_BYTES as u64) * workers as u64
    }

    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }
}

fn pinned_collection<K>(shared: &Shared<K>) -> RowCollection {
    let mut rows = RowCollection::new(&shared.memory, &shared.layout, None);
    rows.keep_pinned(true);
    rows
}

/// Collects a run. Every entry points into `rows`, whose pages are all pinned.
struct SortWorker<K> {
    shared: Arc<Shared<K>>,
    rows: RowCollection,
    entries: Entries<K>,
    /// Key of the last row that belongs to the top N of what this worker has seen.
    bound: Option<K>,
    /// Scratch.
    keys: Vec<K>,
    pointers: Vec<RowPtr>,
}

impl<K: KeyWord> SinkWorker for SortWorker<K> {
    fn sink(&mut self, mut chunk: Chunk) -> Result<SinkVerdict> {
        let shared = self.shared.clone();
        let mut columns = shared.keys.evaluate(&chunk)?.dense_columns();
        shared.key_layout.encode(&columns, chunk.len(), &mut self.keys);
        if let Some(rows) = self.candidates() {
            self.keys = rows.iter().map(|&row| self.keys[row as usize]).collect();
            columns.iter_mut().for_each(|column| *column = column.take(&rows));
            chunk.select(&rows);
        }
        if chunk.is_empty() {
            return Ok(SinkVerdict::NeedInput);
        }
        columns.extend(shared.rest.evaluate(&chunk)?.dense_columns());
        self.append(&columns)?;
        if let Some(limit) = shared.top
            && self.entries.len() >= limit.saturating_add(limit.max(TOP_SLACK_ROWS))
        {
            self.keep_best(limit)?;
        }
        if self.is_full() {
            self.write_run()?;
        }
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(mut self: Box<Self>) -> Result<()> {
        if !self.shared.room.allows(self.bytes()) {
            // Others have asked for memory since the last chunk.
            self.write_run()?;
        }
        self.sort();
        if self.entries.len() > 0 {
            let bytes = self.bytes();
            let run = InPlaceRun { rows: Arc::new(self.rows.pin()?), entries: self.entries, bytes };
            self.shared.runs.lock().push(Run::InPlace(run));
        }
        Ok(())
    }
}

impl<K: KeyWord> SortWorker<K> {
    /// The rows of `keys` that may be among the top N; `None` if all may.
    fn candidates(&self) -> Option<Vec<u32>> {
        let shared = &*self.shared;
        shared.top?;
        let elsewhere = shared.bound.load(Ordering::Relaxed);
        let bound = self.bound.filter(|bound| bound.high() <= elsewhere);
        let is_candidate: Vec<u8> = match bound {
            // An equal key may still be a smaller row if it is open.
            Some(bound) if shared.key_layout.has_open_keys() && bound.is_odd() => {
                self.keys.iter().map(|key| (*key <= bound) as u8).collect()
            }
            Some(bound) => self.keys.iter().map(|key| (*key < bound) as u8).collect(),
            None if elsewhere == u64::MAX => return None,
            None => self.keys.iter().map(|key| (key.high() <= elsewhere) as u8).collect(),
        };
        let mut rows = Vec::new();
        select_true(&is_candidate, None, &mut rows);
        (rows.len() < self.keys.len()).then_some(rows)
    }

    /// Appends rows whose keys are in `keys`.
    fn append(&mut self, columns: &[Vector]) -> Result<()> {
        self.entries.reserve(self.keys.len())?;
        self.pointers.clear();
        self.rows.append(columns, None, None, Some(&mut self.pointers))?;
        self.entries.extend(&self.keys, &self.pointers);
        Ok(())
    }

    /// Throws away all but the first `limit` rows.
    fn keep_best(&mut self, limit: usize) -> Result<()> {
        let shared = self.shared.clone();
        if limit == 0 {
            self.entries.truncate(0);
            self.rows = pinned_collection(&shared);
            return Ok(());
        }
        let (_, last, _) = self.entries.as_mut_slice().select_nth_unstable_by(limit - 1, |a, b| shared.compare(a, b));
        let bound = last.key;
        if let Some(told) = &shared.told_bound
            && let Some(range) = range_of(&shared.layout.gather(&[last.row], 0, &Heaps::none()))
            && let Ok(value) = i64::try_from(range.min)
        {
            told.tighten(value);
        }
        self.bound = Some(bound);
        shared.bound.fetch_min(bound.high(), Ordering::Relaxed);
        self.entries.truncate(limit);

        let all = std::mem::replace(&mut self.rows, pinned_collection(&shared));
        let _pins = all.pin()?;
        let best = std::mem::replace(&mut self.entries, Entries::new(&shared)?);
        self.entries.reserve(best.len())?;
        for batch in best.as_slice().chunks(shared.chunk_rows) {
            let old: Vec<RowPtr> = batch.iter().map(|entry| entry.row).collect();
            self.pointers.clear();
            self.rows.append_rows(&old, Some(&mut self.pointers))?;
            self.keys.clear();
            self.keys.extend(batch.iter().map(|entry| entry.key));
            self.entries.extend(&self.keys, &self.pointers);
        }
        Ok(())
    }

    /// Is it time to write the rows out?
    fn is_full(&self) -> bool {
        let memory = &self.shared.memory;
        let bytes = self.bytes();
        let is_scarce = || memory.available_bytes() + memory.evictable_bytes() < memory.memory_limit() / SCARCE_SHARE;
        !self.shared.room.allows(bytes) || (bytes >= RUN_BYTES_MIN && is_scarce())
    }

    /// What it has pinned.
    fn bytes(&self) -> u64 {
        self.rows.bytes() + self.entries.bytes()
    }

    /// Sorts the entries; what is beyond the limit is dropped.
    fn sort(&mut self) {
        self.shared.sort(self.entries.as_mut_slice());
        if let Some(limit) = self.shared.limit {
            self.entries.truncate(limit);
        }
    }

    /// Writes the rows in order into pages that may leave memory, and starts a new run.
    fn write_run(&mut self) -> Result<()> {
        self.sort();
        let shared = &*self.shared;
        let entries = std::mem::replace(&mut self.entries, Entries::new(shared)?);
        let unsorted = std::mem::replace(&mut self.rows, pinned_collection(shared));
        let _pins = unsorted.pin()?;
        let mut written = RunWriter::new(shared)?;
        for batch in entries.as_slice().chunks(shared.chunk_rows) {
            self.pointers.clear();
            self.pointers.extend(batch.iter().map(|entry| entry.row));
            written.append(batch[0].key, &self.pointers)?;
        }
        let written = written.finish();
        shared.runs.lock().push(Run::Written(written));
        Ok(())
    }
}
