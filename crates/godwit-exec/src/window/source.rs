//! The source: morsels of whole partitions, sorted and computed by one worker each.
//!
//! ```text
//! morsel ─▶ fits: sort in place ────────────────────────┐
//!        ├▶ else, several partitions: split by the hash  ├─▶ evaluation ─▶ chunks
//!        └▶ else, one large partition: sort externally ──┘
//! ```

use std::collections::VecDeque;
use std::sync::Arc;

use godwit_common::{ErrorKind, MemoryTag, Result};
use godwit_memory::PAGE_BYTES;
use godwit_pipeline::{Operator, OperatorMetrics, QueryContext, Signal, Source, SourceVerdict, SourceWorker};
use godwit_rows::{PartitionedRows, RowCollection, radix};

use super::Window;
use super::config::*;
use super::evaluation::Evaluation;
use super::marks::Marks;
use super::ordered::Ordered;
use super::sort_rows::sort_externally;

/// Rows of whole partitions.
struct Morsel {
    rows: RowCollection,
    /// Number and bits of the hash partition, if it may be split further.
    partition: Option<(usize, u32)>,
}

/// The remaining work.
#[derive(Default)]
pub(super) struct Work {
    morsels: VecDeque<Morsel>,
    /// Workers that may add morsels.
    splitting: usize,
    /// Fires when one of them has added some.
    changed: Signal,
    splits: usize,
    external_sorts: usize,
}

enum Task {
    Morsel(Box<Morsel>),
    Wait(Signal),
    Nothing,
}

pub(super) struct WindowSource(pub(super) Arc<Window>);

impl Operator for WindowSource {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.0.metrics
    }

    fn pinned_bytes(&self, workers: usize) -> u64 {
        // A partition that is sorted externally: a run, its merge, and the pages that results are made from.
        32 * (PAGE_BYTES * workers) as u64
    }
}

impl Source for WindowSource {
    fn start(&self, _query: &Arc<QueryContext>) -> Result<()> {
        let window = &self.0;
        let Some(rows) = window.hashed.lock().take() else { return Ok(()) };
        let mut work = window.work.lock();
        let bits = rows.radix_bits();
        for (index, rows) in rows.into_partitions().into_iter().enumerate().filter(|(_, rows)| !rows.is_empty()) {
            match work.morsels.back_mut() {
                Some(last) if last.rows.rows() + rows.rows() <= MORSEL_ROWS_MIN => {
                    last.rows.absorb(rows);
                    last.partition = None;
                }
                _ => work.morsels.push_back(Morsel { rows, partition: Some((index, bits)) }),
            }
        }
        Ok(())
    }

    fn parallelism(&self) -> usize {
        let morsels = self.0.work.lock().morsels.iter().map(|morsel| self.0.pieces(&morsel.rows)).sum::<usize>();
        morsels.clamp(1, self.0.workers)
    }

    fn worker(self: Arc<Self>, query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(WindowWorker { window: self.0.clone(), query: query.clone(), evaluation: None }))
    }
}

impl Window {
    /// Bytes needed to hold rows in place.
    fn bytes_needed(&self, rows: &RowCollection) -> u64 {
        rows.bytes() + rows.rows() * self.keys.bytes_per_row() as u64
    }

    fn in_place_budget(&self) -> u64 {
        (self.memory.memory_limit() as f64 * IN_PLACE_SHARE) as u64 / self.workers as u64
    }

    /// How many morsels rows may become.
    fn pieces(&self, rows: &RowCollection) -> usize {
        (self.bytes_needed(rows) / self.in_place_budget().max(1)) as usize + 1
    }

    fn take_task(&self) -> Task {
        let mut work = self.work.lock();
        match work.morsels.pop_front() {
            Some(morsel) => {
                work.splitting += 1;
                Task::Morsel(Box::new(morsel))
            }
            None if work.splitting > 0 => Task::Wait(work.changed.clone()),
            None => Task::Nothing,
        }
    }

    /// Called when a morsel that was taken won't be split, or was split into these pieces.
    fn settle(&self, pieces: Vec<Morsel>) {
        let mut work = self.work.lock();
        work.splitting -= 1;
        if !pieces.is_empty() {
            work.splits += 1;
            self.metrics.note("partitions split", work.splits.to_string());
        }
        // At the front: their pages were just written to.
        pieces.into_iter().rev().for_each(|piece| work.morsels.push_front(piece));
        let changed = std::mem::take(&mut work.changed);
        drop(work);
        changed.fire();
    }

    /// Rows in order; `None` if the morsel was split.
    fn sort(&self, morsel: Morsel, query: &Arc<QueryContext>) -> Result<Option<Ordered>> {
        if self.bytes_needed(&morsel.rows) <= self.in_place_budget() {
            match self.keys.sort_in_place(&self.plan, &self.memory, &morsel.rows) {
                Err(error) if error.kind() == ErrorKind::Resource => {}
                sorted => {
                    self.settle(Vec::new());
                    return sorted.map(Some);
                }
            }
        }
        match morsel.partition {
            Some((index, bits)) if bits + REPARTITION_BITS <= radix::PARTITION_BITS_MAX => {
                let pieces = self.split(morsel.rows, index, bits);
                let (pieces, result) =
                    pieces.map_or_else(|error| (Vec::new(), Err(error)), |pieces| (pieces, Ok(None)));
                self.settle(pieces);
                result
            }
            _ => {
                self.settle(Vec::new());
                {
                    let mut work = self.work.lock();
                    work.external_sorts += 1;
                    self.metrics.note("partitions sorted externally", work.external_sorts.to_string());
                }
                sort_externally(&self.plan, query, &self.memory, morsel.rows).map(Some)
            }
        }
    }

    fn split(&self, rows: RowCollection, index: usize, bits: u32) -> Result<Vec<Morsel>> {
        let total = rows.rows();
        let finer = PartitionedRows::refine(&self.memory, rows, index, bits, REPARTITION_BITS)?;
        let pieces = finer.into_partitions().into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
        let pieces = pieces.map(|(offset, rows)| {
            let is_hot = rows.rows() as f64 > total as f64 * HOT_SHARE;
            let partition = (!is_hot).then_some(((index << REPARTITION_BITS) + offset, bits + REPARTITION_BITS));
            Morsel { rows, partition }
        });
        Ok(pieces.collect())
    }

    /// The rows of the only partition, if there is just one.
    fn take_only_partition(&self) -> Result<Option<Ordered>> {
        if let Some(ordered) = self.ordered.lock().take() {
            return Ok(Some(ordered));
        }
        let Some(rows) = self.unordered.lock().take() else { return Ok(None) };
        let len = rows.rows() as usize;
        let reservation = self.memory.reserve(2 * Marks::bytes_for(len), MemoryTag::Sort)?;
        let marks = (Marks::first_of(len), Marks::first_of(len));
        Ok(Some(Ordered::paged(rows.into_paged(), marks, reservation)))
    }
}

struct WindowWorker {
    window: Arc<Window>,
    query: Arc<QueryContext>,
    evaluation: Option<Evaluation>,
}

impl SourceWorker for WindowWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let window = &*self.window;
        if let Some(evaluation) = &mut self.evaluation {
            if let Some(chunk) = evaluation.next(&window.plan, self.query.settings.chunk_rows)? {
                return Ok(SourceVerdict::Chunk(chunk));
            }
            self.evaluation = None;
        }
        let ordered = match window.take_only_partition()? {
            Some(ordered) => Some(ordered),
            None => match window.take_task() {
                Task::Morsel(morsel) => window.sort(*morsel, &self.query)?,
                Task::Wait(signal) => return Ok(SourceVerdict::Blocked(signal)),
                Task::Nothing => return Ok(SourceVerdict::Done),
            },
        };
        if let Some(ordered) = ordered {
            self.evaluation = Some(Evaluation::new(&window.plan, ordered, &window.memory, &self.query)?);
        }
        Ok(SourceVerdict::Worked)
    }
}
