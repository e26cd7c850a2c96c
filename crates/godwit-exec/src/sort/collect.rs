//! The sink: collects rows, prunes them for a top-N, and cuts them into sorted runs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use godwit_common::Result;
use godwit_memory::PAGE_BYTES;
use godwit_pipeline::key_filter::range_of;
use godwit_pipeline::{CacheUse, Operator, OperatorMetrics, QueryContext, Sink, SinkVerdict, SinkWorker};
use godwit_rows::{RowCollection, RowList};
use godwit_vector::kernels::select::select_true;
use godwit_vector::{Chunk, Vector};

use super::Shared;
use super::config::{RUN_BYTES_MIN, SCARCE_SHARE, TOP_SLACK_ROWS};
use super::entries::Entries;
use super::key::KeyWord;
use super::run::{InPlaceRun, Run, RunWriter};

/// Takes the rows.
pub(super) struct SortSink<K>(pub(super) Arc<Shared<K>>);

impl<K: KeyWord> Operator for SortSink<K> {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }

    fn cache_use(&self) -> CacheUse {
        CacheUse::sensitive("sorts entries, and reads rows in their order")
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        (RUN_BYTES_MIN + 2 * PAGE_BYTES as u64) * workers as u64
    }
}

impl<K: KeyWord> Sink for SortSink<K> {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(SortWorker {
            shared: self.0.clone(),
            rows: pinned_collection(&self.0),
            entries: Entries::new(&self.0)?,
            bound: None,
            keys: Vec::new(),
            appended: RowList::new(&self.0.layout),
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
}

fn pinned_collection<K>(shared: &Shared<K>) -> RowCollection {
    let mut rows = RowCollection::new(&shared.memory, &shared.layout, None);
    rows.keep_pinned();
    rows
}

/// Collects a run. The entries are those of `rows`, whose pages are all pinned.
struct SortWorker<K> {
    shared: Arc<Shared<K>>,
    rows: RowCollection,
    entries: Entries<K>,
    /// Key of the last row that belongs to the top N of what this worker has seen.
    bound: Option<K>,
    /// Scratch.
    keys: Vec<K>,
    appended: RowList,
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
        if !self.entries.is_empty() {
            let bytes = self.bytes();
            let run = InPlaceRun { entries: self.entries, bytes };
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
            // A row with an equal key may still come first if the key is open.
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
        self.appended.clear();
        self.rows.append(columns, None, None, Some(&mut self.appended))?;
        self.entries.extend(&self.keys, self.appended.all());
        self.appended.clear();
        Ok(())
    }

    /// Throws away all but the first `limit` rows.
    fn keep_best(&mut self, limit: usize) -> Result<()> {
        let shared = self.shared.clone();
        if limit == 0 {
            self.entries.clear();
            self.rows = pinned_collection(&shared);
            return Ok(());
        }
        self.entries.select(limit, &shared.order, |key| shared.is_open(key));
        let bound = self.entries.key(limit - 1);
        let mut rows = RowList::new(&shared.layout);
        rows.append_keyed(&self.entries, limit - 1..limit);
        if let Some(told) = &shared.told_bound
            && let Some(range) = range_of(&rows.all().gather(0))
            && let Ok(value) = i64::try_from(range.min)
        {
            told.tighten(value);
        }
        self.bound = Some(bound);
        shared.bound.fetch_min(bound.high(), Ordering::Relaxed);
        self.entries.truncate(limit);

        self.rows = pinned_collection(&shared);
        let best = std::mem::replace(&mut self.entries, Entries::new(&shared)?);
        self.entries.reserve(best.len())?;
        for begin in (0..best.len()).step_by(shared.chunk_rows) {
            let batch = begin..best.len().min(begin + shared.chunk_rows);
            rows.clear();
            rows.append_keyed(&best, batch.clone());
            self.appended.clear();
            self.rows.append_rows(rows.all(), Some(&mut self.appended))?;
            self.keys.clear();
            self.keys.extend(batch.map(|position| best.key(position)));
            self.entries.extend(&self.keys, self.appended.all());
        }
        self.appended.clear();
        Ok(())
    }

    /// Whether it is time to write the rows out.
    fn is_full(&self) -> bool {
        let memory = &self.shared.memory;
        let bytes = self.bytes();
        let is_scarce = || memory.available_bytes() + memory.evictable_bytes() < memory.memory_limit() / SCARCE_SHARE;
        !self.shared.room.allows(bytes) || (bytes >= RUN_BYTES_MIN && is_scarce())
    }

    /// Number of bytes that it has pinned.
    fn bytes(&self) -> u64 {
        self.rows.bytes() + self.entries.bytes()
    }

    /// Sorts the entries; drops those beyond the limit.
    fn sort(&mut self) {
        self.shared.sort(&mut self.entries);
        if let Some(limit) = self.shared.limit {
            self.entries.truncate(limit);
        }
    }

    /// Writes the rows in order to pages that may be evicted, and starts a new run.
    fn write_run(&mut self) -> Result<()> {
        self.sort();
        let shared = &*self.shared;
        let entries = std::mem::replace(&mut self.entries, Entries::new(shared)?);
        self.rows = pinned_collection(shared);
        let mut written = RunWriter::new(shared)?;
        let mut batch = RowList::new(&shared.layout);
        for begin in (0..entries.len()).step_by(shared.chunk_rows) {
            batch.clear();
            batch.append_keyed(&entries, begin..entries.len().min(begin + shared.chunk_rows));
            written.append(entries.key(begin), batch.all())?;
        }
        let written = written.finish();
        shared.runs.lock().push(Run::Written(written));
        Ok(())
    }
}
