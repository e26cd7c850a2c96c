//! The joins after the initial probe, step by step.
//!
//! ```text
//! Resident ─▶ (rows of the resident table without a match) ─▶ NextRound
//! NextRound ─▶ Insert ─▶ Probe ─▶ Scan (rows without a match) ─┬▶ NextRound        partitions that fit together
//!                ▲                                             ├▶ Insert           next chunk of a hot partition
//!                └─────────────────────────────────────────────┘└▶ Flagged ─▶ NextRound   after its last chunk
//! ```
//!
//! Each step is a list of tasks for all workers; the next step is prepared when the last task is finished. A partition
//! that doesn't fit is refined by more bits of the hash and replaced by its parts, or, if that wouldn't help (few
//! pages, few keys), joined in chunks. Every refinement uses up bits, and chunks have at least a page, so the rounds
//! end whatever the data.

use std::collections::VecDeque;
use std::sync::Arc;

use godwit_common::{ErrorKind, Result};
use godwit_memory::PAGE_BYTES;
use godwit_rows::{ColumnCollection, ColumnScan, PartitionedColumns, PartitionedRows, RowCollection, RowScan, radix};
use godwit_vector::kernels::hash::hash_vectors;
use godwit_vector::{Chunk, Flat, PhysicalType, Vector};

use super::config::{GRANT_BYTES_MIN, HOT_SAMPLE_PAGES, HOT_SHARE, PROBE_TASK_BYTES, RADIX_BITS};
use super::table::{JoinTable, Prepared, Spare, TableSize};
use super::{HashJoin, JoinKind, LeftOver};

/// A piece of work of the current step.
pub(super) enum Task {
    /// Insert a morsel of the table.
    Insert(Arc<JoinTable>),
    /// Join spilled probe rows with the table.
    Probe { table: Arc<JoinTable>, rows: ColumnScan, pass: PassKind },
    /// Emit the build rows of a morsel of the table that have had a match, or those that haven't. `morsel` is taken
    /// when it is done.
    Scan { table: Arc<JoinTable>, morsel: Option<usize>, found: bool },
    /// Emit build rows that can't have a match.
    Unmatchable(RowScan),
}

/// Which [`super::prober::Pass`] a task is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PassKind {
    Whole,
    Part,
    Last,
}

/// Build rows of a partition that is joined in rounds.
pub(super) struct LeftPartition {
    /// Its number among `2^RADIX_BITS`.
    pub partition: usize,
    pub rows: RowCollection,
    /// It has been in memory: some of the probe rows have been joined with it.
    pub was_probed: bool,
}

/// Both sides of a partition.
struct Pair {
    /// Number of the partition among `2^bits`.
    partition: usize,
    bits: u32,
    build: RowCollection,
    probe: Option<ColumnCollection>,
    /// Refining it has hardly helped.
    is_hot: bool,
    /// Build rows may have had a match already.
    was_probed: bool,
}

/// Partitions that are joined together, or a hot one that is joined in chunks.
struct Round {
    table: Arc<JoinTable>,
    probe: Vec<ColumnCollection>,
    /// Chunks of the build side that come after the current one; the last element is next.
    chunks: Vec<RowCollection>,
    is_chunked: bool,
}

enum Step {
    Resident,
    NextRound,
    Insert,
    Probe,
    Scan,
}

/// The state between steps; owned by the worker that prepares the next one.
pub(super) struct Rounds {
    pairs: VecDeque<Pair>,
    unmatchable: Option<RowCollection>,
    resident: Option<Arc<JoinTable>>,
    round: Option<Round>,
    step: Step,
    /// Number of rounds begun, counting each chunk.
    passes: u64,
}

impl Rounds {
    /// The rest of a join whose probe side has ended.
    pub(super) fn new(join: &HashJoin) -> Result<Self> {
        let ready = join.ready();
        let LeftOver { mut partitions, unmatchable } = ready.left_over.lock().take().expect("the rest starts once");
        let (resident, given_up) = ready.residencies.finish(join)?;
        partitions.extend(given_up);
        let mut probe: Vec<Option<ColumnCollection>> = match join.spilled_probe.lock().take() {
            Some(probe) => probe.into_partitions().into_iter().map(Some).collect(),
            None => Vec::new(),
        };
        let pairs = by_partition(partitions).into_iter().map(|LeftPartition { partition, rows, was_probed }| {
            let probe = probe.get_mut(partition).and_then(Option::take).filter(|rows| !rows.is_empty());
            Pair { partition, bits: RADIX_BITS, build: rows, probe, is_hot: false, was_probed }
        });
        Ok(Self {
            pairs: pairs.collect(),
            unmatchable: Some(unmatchable),
            resident,
            round: None,
            step: Step::Resident,
            passes: 0,
        })
    }

    /// True if rounds may follow.
    pub(super) fn has_more(&self) -> bool {
        !self.pairs.is_empty() || self.round.is_some()
    }

    /// The tasks of the next step; none if everything is done.
    pub(super) fn advance(&mut self, join: &HashJoin) -> Result<Vec<Task>> {
        loop {
            let tasks = match self.step {
                Step::Resident => {
                    self.step = Step::NextRound;
                    self.resident_tasks(join)
                }
                Step::NextRound => {
                    self.round = None;
                    if !self.next_round(join)? {
                        return Ok(Vec::new());
                    }
                    self.insert_tasks(join)
                }
                Step::Insert => {
                    // The first rows of the next round are read back while this one probes.
                    self.pairs.front().inspect(|next| next.build.read_ahead());
                    let round = self.round.as_mut().expect("a round is on");
                    round.table.finish(join);
                    self.step = Step::Probe;
                    round.probe_tasks()
                }
                Step::Probe => {
                    self.step = Step::Scan;
                    scan_tasks(join, &self.round.as_ref().expect("a round is on").table)
                }
                Step::Scan => self.after_scan(join)?,
            };
            if !tasks.is_empty() {
                return Ok(tasks);
            }
        }
    }

    fn resident_tasks(&mut self, join: &HashJoin) -> Vec<Task> {
        let mut tasks = self.resident.take().map_or(Vec::new(), |table| scan_tasks(join, &table));
        if let Some(rows) = self.unmatchable.take().filter(|rows| !rows.is_empty() && join.wants_unmatchable()) {
            tasks.extend(pieces(rows).map(|piece| Task::Unmatchable(piece.into_scan())));
        }
        tasks
    }

    fn insert_tasks(&mut self, join: &HashJoin) -> Vec<Task> {
        self.passes += 1;
        join.metrics.note("passes", self.passes.to_string());
        self.step = Step::Insert;
        let round = self.round.as_ref().expect("a round is on");
        round.probe.iter().take(1).for_each(|rows| rows.read_ahead());
        let table = &round.table;
        (0..table.morsels()).map(|_| Task::Insert(table.clone())).collect()
    }

    fn after_scan(&mut self, join: &HashJoin) -> Result<Vec<Task>> {
        let round = self.round.as_mut().expect("a round is on");
        if round.next_chunk(join)? {
            return Ok(self.insert_tasks(join));
        }
        self.step = Step::NextRound;
        let flagged = join.plan.extends_probe_rows() || join.plan.stops_at_first_match();
        Ok(if round.is_chunked && flagged { round.scan_probe(PassKind::Last) } else { Vec::new() })
    }

    /// Begins the next round; returns false if there is none.
    fn next_round(&mut self, join: &HashJoin) -> Result<bool> {
        join.report_size(join.needed_bytes(TableSize::of(self.pairs.iter().map(|pair| &pair.build))));
        let mut budget = join.claim.request();
        while let Some(mut first) = self.pairs.pop_front() {
            if first.is_void(join) {
                continue;
            }
            let mut size = TableSize::of([&first.build]);
            if join.needed_bytes(size) > budget {
                if !first.can_split()? {
                    self.round = Some(first.into_chunks(join, budget)?);
                    return Ok(true);
                }
                for part in first.split(join)?.into_iter().rev() {
                    self.pairs.push_front(part);
                }
                continue;
            }
            let mut taken = vec![first];
            while let Some(next) = self.pairs.front()
                && join.needed_bytes(size.with(&next.build)) <= budget
            {
                size = size.with(&next.build);
                taken.extend(self.pairs.pop_front());
            }
            let builds: Vec<&RowCollection> = taken.iter().map(|pair| &pair.build).collect();
            match Prepared::new(join, &builds, &join.ready().ranges, false) {
                Ok(prepared) => {
                    let (builds, probe): (_, Vec<_>) = taken.into_iter().map(|pair| (pair.build, pair.probe)).unzip();
                    let table = JoinTable::new(prepared, builds);
                    let probe = probe.into_iter().flatten().collect();
                    self.round = Some(Round { table, probe, chunks: Vec::new(), is_chunked: false });
                    return Ok(true);
                }
                // Others hold the expected memory: try with less.
                Err(error) if error.kind() == ErrorKind::Resource && budget > GRANT_BYTES_MIN => {
                    budget /= 2;
                    taken.into_iter().rev().for_each(|pair| self.pairs.push_front(pair));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }
}

/// Merges the entries of each partition into one, in order.
fn by_partition(mut left: Vec<LeftPartition>) -> Vec<LeftPartition> {
    left.sort_by_key(|left| left.partition);
    let mut merged: Vec<LeftPartition> = Vec::new();
    for part in left {
        match merged.last_mut().filter(|last| last.partition == part.partition) {
            Some(last) => {
                last.rows.absorb(part.rows);
                last.was_probed |= part.was_probed;
            }
            None => merged.push(part),
        }
    }
    merged
}

impl Pair {
    /// It can't contribute to the result.
    fn is_void(&self, join: &HashJoin) -> bool {
        let plan = &join.plan;
        let needs_build = plan.is_empty_without_build_rows();
        let needs_probe = match plan.build_rows_at_end() {
            Some(found) => found && !self.was_probed,
            None => true,
        };
        (self.build.is_empty() && (needs_build || self.probe.is_none())) || (self.probe.is_none() && needs_probe)
    }

    /// Refining it may help: its parts would have a page or more, and it doesn't seem to have few keys.
    fn can_split(&mut self) -> Result<bool> {
        let is_worth_it = self.build.bytes() >= (PAGE_BYTES << RADIX_BITS) as u64;
        if !is_worth_it || self.is_hot || self.bits + RADIX_BITS > radix::PARTITION_BITS_MAX {
            return Ok(false);
        }
        self.is_hot = self.seems_hot()?;
        Ok(!self.is_hot)
    }

    /// Whether most build rows would end up in one part after refining. Estimated from some pages, so that a large
    /// partition of a single key isn't copied for nothing.
    fn seems_hot(&self) -> Result<bool> {
        let bits = self.bits + RADIX_BITS;
        let mut counts = [0u64; 1 << RADIX_BITS];
        let mut hashes = Vec::new();
        self.build.sample(HOT_SAMPLE_PAGES, |rows| {
            rows.hashes(&mut hashes);
            hashes.iter().for_each(|&hash| counts[radix::partition_of(hash, bits) & ((1 << RADIX_BITS) - 1)] += 1);
        })?;
        let (most, all) = (counts.iter().max().copied().unwrap_or(0), counts.iter().sum::<u64>());
        Ok(most * HOT_SHARE.1 > all * HOT_SHARE.0)
    }

    fn split(self, join: &HashJoin) -> Result<Vec<Pair>> {
        let (memory, partition, bits) = (&join.memory, self.partition, self.bits);
        let rows = self.build.rows();
        let build = PartitionedRows::refine(memory, self.build, partition, bits, RADIX_BITS)?.into_partitions();
        let hash = |columns: &[Vector], rows: usize, hashes: &mut Vec<u64>| join.hash_spilled(columns, rows, hashes);
        let refine = |probe| PartitionedColumns::refine(memory, probe, partition, bits, RADIX_BITS, hash);
        let probe = self.probe.map(refine).transpose()?.map_or(Vec::new(), PartitionedColumns::into_partitions);
        let mut probe = probe.into_iter();
        let parts = build.into_iter().enumerate().map(|(part, build)| Pair {
            partition: (partition << RADIX_BITS) + part,
            bits: bits + RADIX_BITS,
            is_hot: build.rows() * HOT_SHARE.1 > rows * HOT_SHARE.0,
            was_probed: self.was_probed,
            build,
            probe: probe.next().filter(|rows| !rows.is_empty()),
        });
        Ok(parts.collect())
    }

    /// A round that takes the build rows in chunks of at most `budget`, or a page.
    fn into_chunks(self, join: &HashJoin, budget: u64) -> Result<Round> {
        let needed = join.needed_bytes(TableSize::of([&self.build]));
        let pieces = needed.div_ceil(budget.max(PAGE_BYTES as u64)) as usize;
        let mut chunks: Vec<RowCollection> =
            self.build.split(pieces).into_iter().filter(|rows| !rows.is_empty()).collect();
        chunks.reverse();
        let prepared = Prepared::new(join, &[], &join.ready().ranges, false)?;
        let table = JoinTable::new(prepared, Vec::new());
        let mut round = Round { table, probe: self.probe.into_iter().collect(), chunks, is_chunked: true };
        round.next_chunk(join)?;
        Ok(round)
    }
}

impl Round {
    /// Replaces the table with that of the next chunk; returns false if there is none.
    fn next_chunk(&mut self, join: &HashJoin) -> Result<bool> {
        let ranges = &join.ready().ranges;
        while let Some(chunk) = self.chunks.pop() {
            // First frees the rows of the previous chunk.
            self.table = JoinTable::new(Prepared::new(join, &[], ranges, false)?, Vec::new());
            match Prepared::new(join, &[&chunk], ranges, false) {
                Ok(prepared) => {
                    self.table = JoinTable::new(prepared, vec![chunk]);
                    return Ok(true);
                }
                Err(error) if error.kind() == ErrorKind::Resource => {
                    let halves: Vec<RowCollection> =
                        chunk.split(2).into_iter().filter(|rows| !rows.is_empty()).collect();
                    if halves.len() < 2 {
                        return Err(error);
                    }
                    self.chunks.extend(halves);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    fn probe_tasks(&mut self) -> Vec<Task> {
        if self.is_chunked {
            return self.scan_probe(PassKind::Part);
        }
        let table = &self.table;
        let task = |rows| Task::Probe { table: table.clone(), rows, pass: PassKind::Whole };
        self.probe.drain(..).flat_map(|rows| rows.into_scans(PROBE_TASK_BYTES)).map(task).collect()
    }

    fn scan_probe(&self, pass: PassKind) -> Vec<Task> {
        let task = |rows| Task::Probe { table: self.table.clone(), rows, pass };
        self.probe.iter().flat_map(|rows| rows.scans(PROBE_TASK_BYTES)).map(task).collect()
    }
}

fn pieces(rows: RowCollection) -> impl Iterator<Item = RowCollection> {
    let pieces = rows.bytes().div_ceil(PROBE_TASK_BYTES).max(1) as usize;
    rows.split(pieces).into_iter().filter(|piece| !piece.is_empty())
}

fn scan_tasks(join: &HashJoin, table: &Arc<JoinTable>) -> Vec<Task> {
    let Some(found) = join.plan.build_rows_at_end().filter(|_| !join.is_undecided()) else { return Vec::new() };
    (0..table.morsels()).map(|morsel| Task::Scan { table: table.clone(), morsel: Some(morsel), found }).collect()
}

impl HashJoin {
    /// Build rows with a NULL key are emitted, except by a NOT IN with something to compare with.
    fn wants_unmatchable(&self) -> bool {
        let has_rows = self.probe_has_rows.load(std::sync::atomic::Ordering::Relaxed);
        self.plan.build_rows_at_end() == Some(false)
            && !(self.plan.null_aware && self.plan.kind == JoinKind::BuildAnti && has_rows)
    }

    /// Bytes that a round over build rows of this size needs.
    fn needed_bytes(&self, size: TableSize) -> u64 {
        size.needed_bytes(&self.plan, self.ready().ranges[0], Spare::Little)
    }

    /// Spilled probe rows as a chunk of the probe side. Columns that weren't spilled aren't read, and have arbitrary
    /// content.
    pub(super) fn spilled_chunk(&self, columns: &[Vector], rows: usize) -> Chunk {
        let absent = Vector::constant(Flat::zeros(PhysicalType::Bool, 1), rows);
        let column = |column: usize| match self.plan.spill_columns.binary_search(&column) {
            Ok(position) => columns[position].clone(),
            Err(_) => absent.clone(),
        };
        Chunk::new((0..self.plan.probe_width).map(column).collect(), rows)
    }

    /// Recomputes the hashes of the keys of spilled probe rows, which aren't stored with them.
    fn hash_spilled(&self, columns: &[Vector], rows: usize, hashes: &mut Vec<u64>) -> Result<()> {
        let chunk = self.spilled_chunk(columns, rows);
        let keys = self.plan.probe_keys.iter().map(|key| key.evaluate(&chunk)).collect::<Result<Vec<Vector>>>()?;
        hash_vectors(&keys, rows, hashes);
        Ok(())
    }
}
