//! Sorted runs, and cuts through all of them.
//!
//! ```text
//! run 0  ────────────┬──────────────┬────────      in place: a sorted list of entries
//! run 1  ──────┬───────────────┬─────────────      written: pages, and samples (key, row) every some hundred rows
//! run 2  ─────────┬─────────┬────────────────
//!              range 0 │  range 1  │  range 2       merged at the same time by different workers
//! ```
//!
//! A [`Cut`] divides the rows of all runs into those before and those after it in the sort order. Rows with equal keys
//! are divided by run and position, so that ranges are of equal size whatever the data, unless the keys are open: then
//! only the rows themselves could tell the order, and they stay together.

use godwit_common::{MemoryTag, Result};
use godwit_memory::Reservation;
use godwit_rows::{RowCollection, RowPages, RowScan, Rows};
use parking_lot::Mutex;

use super::Shared;
use super::config::SAMPLE_ROWS;
use super::entries::Entries;
use super::key::KeyWord;

/// Sorted rows.
pub(super) enum Run<K> {
    /// Pinned rows in any order, and entries that are sorted.
    InPlace(InPlaceRun<K>),
    /// Rows in order, in pages that may be on disk.
    Written(WrittenRun<K>),
}

pub(super) struct InPlaceRun<K> {
    pub(super) entries: Entries<K>,
    /// Bytes that the entries take, including the pages of their rows.
    pub(super) bytes: u64,
}

pub(super) struct WrittenRun<K> {
    rows: u64,
    pages: Mutex<RowPages>,
    /// Keys of some rows, including the first, ascending by row.
    samples: Vec<Sample<K>>,
    _samples_memory: Reservation,
}

/// The key of a row of a run.
#[derive(Clone, Copy)]
pub(super) struct Sample<K> {
    pub(super) key: K,
    pub(super) row: u64,
}

/// Writes a run, batch by batch.
pub(super) struct RunWriter<K> {
    rows: RowCollection,
    samples: Vec<Sample<K>>,
    memory: Reservation,
}

impl<K: KeyWord> RunWriter<K> {
    pub(super) fn new(shared: &Shared<K>) -> Result<Self> {
        let rows = RowCollection::new(&shared.memory, &shared.layout, None);
        Ok(Self { rows, samples: Vec::new(), memory: shared.memory.reserve(0, MemoryTag::Sort)? })
    }

    /// Appends consecutive rows in the sort order; `first` is the key of the first one.
    pub(super) fn append(&mut self, first: K, rows: Rows<'_>) -> Result<()> {
        if self.samples.len() == self.samples.capacity() {
            let capacity = (self.samples.capacity() * 2).max(64);
            self.memory.resize(capacity * size_of::<Sample<K>>())?;
            self.samples.reserve_exact(capacity - self.samples.len());
        }
        self.samples.push(Sample { key: first, row: self.rows.rows() });
        self.rows.append_rows(rows, None)
    }

    /// The run; its pages are unpinned.
    pub(super) fn finish(self) -> WrittenRun<K> {
        let Self { rows, samples, memory } = self;
        WrittenRun { rows: rows.rows(), pages: Mutex::new(rows.into_pages()), samples, _samples_memory: memory }
    }
}

impl<K: KeyWord> WrittenRun<K> {
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// A scan that begins at or before the first row after `cut`, and the row that it begins with.
    pub(super) fn scan_from(&self, index: usize, cut: Option<&Cut<K>>) -> (RowScan, u64) {
        let pages = self.pages.lock();
        let page = pages.page_of(self.sample_before(index, cut));
        (pages.scan(page..pages.page_of(self.rows)), pages.first_row(page))
    }

    /// The rows before `cut` won't be read again.
    pub(super) fn release_before(&self, index: usize, cut: &Cut<K>) {
        self.release_rows_before(self.sample_before(index, Some(cut)));
    }

    /// The rows before `row` won't be read again.
    pub(super) fn release_rows_before(&self, row: u64) {
        let mut pages = self.pages.lock();
        let page = pages.page_of(row);
        pages.release_before(page);
    }

    /// The last sampled row that is before `cut`; the first row if there is none.
    fn sample_before(&self, index: usize, cut: Option<&Cut<K>>) -> u64 {
        let Some(cut) = cut else { return 0 };
        let behind = self.samples.partition_point(|sample| cut.is_behind(index, sample.key, sample.row));
        self.samples[..behind].last().map_or(0, |sample| sample.row)
    }
}

/// A position in the order of all rows.
#[derive(Clone, Copy)]
pub(super) struct Cut<K> {
    sample: Sample<K>,
    run: usize,
    /// Rows with the key of the sample are all after the cut.
    is_open: bool,
}

impl<K: KeyWord> Cut<K> {
    /// Whether the cut is after a row, given its run, key and position.
    #[inline]
    pub(super) fn is_behind(&self, run: usize, key: K, row: u64) -> bool {
        match key.cmp(&self.sample.key) {
            std::cmp::Ordering::Less => true,
            std::cmp::Ordering::Greater => false,
            std::cmp::Ordering::Equal => !self.is_open && (run, row) < (self.run, self.sample.row),
        }
    }
}

/// Cuts that divide the first `rows_max` rows of all runs into ranges of about `range_rows` rows; one more range
/// follows the last cut.
pub(super) fn cuts<K: KeyWord>(shared: &Shared<K>, runs: &[Run<K>], range_rows: u64, rows_max: u64) -> Vec<Cut<K>> {
    // Samples, each with the number of rows up to the next one of its run.
    let mut samples: Vec<(Sample<K>, usize, u64)> = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        match run {
            Run::InPlace(run) => {
                let entries = &run.entries;
                samples.extend((0..entries.len()).step_by(SAMPLE_ROWS).map(|row| {
                    let rows = SAMPLE_ROWS.min(entries.len() - row);
                    (Sample { key: entries.key(row), row: row as u64 }, index, rows as u64)
                }));
            }
            Run::Written(run) => {
                let ends = run.samples.iter().skip(1).map(|next| next.row).chain([run.rows]);
                samples.extend(run.samples.iter().zip(ends).map(|(&sample, end)| (sample, index, end - sample.row)));
            }
        }
    }
    samples.sort_unstable_by_key(|(sample, run, _)| (sample.key, *run, sample.row));
    let mut cuts: Vec<Cut<K>> = Vec::new();
    let (mut rows, mut total) = (0, 0);
    for (sample, run, weight) in samples {
        if rows >= range_rows {
            let is_open = shared.key_layout.has_open_keys() && sample.key.is_odd();
            let is_new = !is_open || cuts.last().is_none_or(|last| last.sample.key != sample.key);
            if is_new {
                cuts.push(Cut { sample, run, is_open });
                rows = 0;
            }
            if total >= rows_max {
                break;
            }
        }
        rows += weight;
        total += weight;
    }
    cuts
}
