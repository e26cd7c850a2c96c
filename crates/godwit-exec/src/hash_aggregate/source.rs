//! Phase two as a source: distinct sets first, then the partitions of the groups, each a morsel, level by level.
//!
//! ```text
//! Distinct ──(no morsel left, all workers have handed over what they fed)──▶ Groups of level 0 ──(the same)──▶ Groups
//!                                                                of level 1 ──▶ … ──▶ Groups of the last level ──▶ Done
//! ```
//!
//! While there are distinct sets left, a worker deduplicates a morsel of one and feeds it to its own groups, as it did
//! with the input. While it emits groups of a level that isn't the last, it adds them to groups of the next level
//! (grouping_sets.rs). A worker that finds no more morsels hands its groups over; the last one to do so opens the
//! partitions of the groups that were fed, and wakes the others. If a worker ends before that because no more rows are
//! needed, the others end, too.

use std::collections::VecDeque;
use std::sync::Arc;

use godwit_common::Result;
use godwit_expression::value_of_ordered;
use godwit_memory::Reservation;
use godwit_pipeline::{QueryContext, Signal, SourceVerdict, SourceWorker};
use godwit_rows::RowList;
use godwit_vector::{CHUNK_ROWS, Chunk};
use parking_lot::Mutex;

use super::HashAggregate;
use super::collected::SortedValues;
use super::finish::StateReader;
use super::groups::LocalGroups;
use super::partition::{Aggregated, FinishedGroups, GroupMorsel, PartitionAggregator, key_columns};
use super::plan::Output;
use super::sink::Feeder;

/// State shared by the source's workers.
#[derive(Default)]
pub(super) struct SharedPhase(Mutex<Phase>);

#[derive(Default)]
struct Phase {
    /// Morsels of distinct sets: the set, and some of its partitions.
    distinct: VecDeque<(usize, GroupMorsel)>,
    /// Number of workers that hold or create groups which others wait for.
    feeding: usize,
    /// Fires when the next groups are opened, or when it is clear that they never will be.
    opened: Signal,
    /// A worker that held groups has ended early.
    is_abandoned: bool,
    /// The groups of a level; `None` before the first ones are opened.
    groups: Option<VecDeque<GroupMorsel>>,
    level: usize,
}

/// The next step of a worker.
enum Step {
    Distinct(usize, GroupMorsel),
    HandOver,
    Wait(Signal),
    /// Groups, and their level.
    Groups(GroupMorsel, usize),
    Done,
}

impl Phase {
    /// Opens the next groups. A level has none if nothing was fed to it.
    fn open(&mut self, operator: &HashAggregate) {
        for level in self.groups.as_ref().map_or(0, |_| self.level + 1)..operator.levels() {
            self.groups = Some(operator.open_groups(level).into());
            self.level = level;
            if self.morsels() > 0 {
                break;
            }
        }
    }

    /// True if the last groups are open.
    fn is_last(&self, operator: &HashAggregate) -> bool {
        self.groups.is_some() && self.level + 1 == operator.levels()
    }

    /// Number of open morsels.
    fn morsels(&self) -> usize {
        self.groups.as_ref().map_or(self.distinct.len(), VecDeque::len)
    }
}

impl SharedPhase {
    /// Called once, when the input is complete.
    pub(super) fn start(&self, operator: &HashAggregate) {
        let mut phase = self.0.lock();
        for (index, set) in operator.distinct().iter().enumerate() {
            phase.distinct.extend(set.take_morsels(Vec::new()).into_iter().map(|morsel| (index, morsel)));
        }
        if phase.distinct.is_empty() {
            phase.open(operator);
        }
    }

    pub(super) fn morsels(&self) -> usize {
        self.0.lock().morsels()
    }

    /// The next step of a worker; if it `feeds`, it holds groups to be handed over. A morsel before the last groups
    /// makes it feed.
    fn next_step(&self, operator: &HashAggregate, feeds: bool) -> Step {
        let phase = &mut *self.0.lock();
        let step = match &mut phase.groups {
            None => phase.distinct.pop_front().map(|(set, morsel)| Step::Distinct(set, morsel)),
            Some(groups) => groups.pop_front().map(|morsel| {
                groups.front().inspect(|next| next.read_ahead());
                Step::Groups(morsel, phase.level)
            }),
        };
        match step {
            _ if phase.is_abandoned => Step::Done,
            step if phase.is_last(operator) => step.unwrap_or(Step::Done),
            Some(step) => {
                phase.feeding += !feeds as usize;
                step
            }
            None if feeds => Step::HandOver,
            None => Step::Wait(phase.opened.clone()),
        }
    }

    /// Called when a worker has handed over the groups it fed.
    fn handed_over(&self, operator: &HashAggregate) {
        let mut phase = self.0.lock();
        phase.feeding -= 1;
        // A worker that split a morsel may have left pieces of it for the others.
        if phase.feeding == 0 && phase.morsels() == 0 {
            phase.open(operator);
            let opened = std::mem::take(&mut phase.opened);
            drop(phase);
            opened.fire();
        }
    }

    /// Called when a worker that others wait for has ended early: the groups it held are lost.
    fn abandon(&self) {
        let mut phase = self.0.lock();
        phase.is_abandoned = true;
        let opened = phase.opened.clone();
        drop(phase);
        opened.fire();
    }

    fn put_distinct(&self, set: usize, morsels: Vec<GroupMorsel>) {
        self.0.lock().distinct.extend(morsels.into_iter().map(|morsel| (set, morsel)));
    }

    fn put_groups(&self, morsels: Vec<GroupMorsel>) {
        // At the front: their pages were just written to.
        let mut phase = self.0.lock();
        let groups = phase.groups.as_mut().expect("groups are opened before they are split");
        morsels.into_iter().rev().for_each(|morsel| groups.push_front(morsel));
    }
}

/// One worker of the source.
pub(super) struct AggregateSourceWorker {
    operator: Arc<HashAggregate>,
    query: Arc<QueryContext>,
    aggregator: PartitionAggregator,
    distinct_aggregators: Vec<PartitionAggregator>,
    /// Others wait for the groups that this worker holds.
    feeds: bool,
    feeder: Option<Feeder>,
    /// Groups of the level after the one that is emitted.
    coarser: Option<(usize, LocalGroups)>,
    emitting: Option<Emission>,
}

/// Groups that are being emitted.
struct Emission {
    groups: FinishedGroups,
    /// The values of each collected set.
    collected: Vec<SortedValues>,
    next: usize,
    rows: RowList,
    /// Reservations for the results in the last chunk that were made from collected values.
    results: Vec<Reservation>,
}

impl AggregateSourceWorker {
    pub(super) fn new(operator: &Arc<HashAggregate>, query: &Arc<QueryContext>) -> Self {
        Self {
            aggregator: PartitionAggregator::new(&operator.groups().grouping),
            distinct_aggregators: operator
                .distinct()
                .iter()
                .map(|set| PartitionAggregator::new(&set.grouping))
                .collect(),
            feeds: false,
            feeder: None,
            coarser: None,
            emitting: None,
            operator: operator.clone(),
            query: query.clone(),
        }
    }

    /// Deduplicates a morsel of a distinct set and feeds it to the groups of this worker.
    fn feed_distinct(&mut self, set: usize, morsel: GroupMorsel) -> Result<()> {
        let groups = match self.distinct_aggregators[set].aggregate(morsel)? {
            Aggregated::Split(morsels) => {
                self.operator.phase().put_distinct(set, morsels);
                return Ok(());
            }
            Aggregated::Groups(groups) => groups,
        };
        let feeder = self.feeder.as_mut().expect("made before the first morsel");
        let grouping = &self.operator.distinct()[set].grouping;
        let keys = self.operator.groups().grouping.keys();
        let mut rows = groups.new_list();
        for begin in (0..groups.len()).step_by(CHUNK_ROWS) {
            let end = groups.len().min(begin + CHUNK_ROWS);
            groups.rows(begin, end, &mut rows);
            let columns = key_columns(grouping, groups.owner.read(rows.all()));
            feeder.feed_distinct(set, &columns[..keys], &columns[keys..], end - begin)?;
        }
        Ok(())
    }

    /// Aggregates a morsel of the groups of a level.
    fn aggregate(&mut self, morsel: GroupMorsel, level: usize) -> Result<()> {
        if self.coarser.is_none() && self.feeds {
            self.coarser = Some((level + 1, LocalGroups::new(&self.operator.groups().grouping)?));
        }
        let groups = match self.aggregator.aggregate(morsel)? {
            Aggregated::Split(morsels) => {
                self.operator.phase().put_groups(morsels);
                return Ok(());
            }
            Aggregated::Groups(groups) => groups,
        };
        let mut groups = groups;
        let collected = self.operator.sort_collected(&self.query, &mut self.aggregator, &mut groups)?;
        let rows = groups.new_list();
        self.emitting = Some(Emission { groups, collected, next: 0, rows, results: Vec::new() });
        Ok(())
    }

    /// Hands over the groups that this worker fed to the shared ones.
    fn hand_over(&mut self) -> Result<()> {
        if let Some((level, coarser)) = self.coarser.take() {
            self.operator.groups_of_level(level).combine(coarser);
        }
        self.feeder.take().map_or(Ok(()), Feeder::combine)
    }

    /// The next chunk of finished groups.
    fn emit(&mut self) -> Result<Option<Chunk>> {
        let Some(Emission { groups, collected, next, rows, results }) = &mut self.emitting else { return Ok(None) };
        results.clear();
        let begin = *next;
        let end = groups.len().min(begin + self.query.settings.chunk_rows);
        if begin == end {
            self.emitting = None;
            return Ok(None);
        }
        let end = begin + self.operator.groups_at_once(collected, begin..end);
        *next = end;
        groups.rows(begin, end, rows);
        let plan = self.operator.plan();
        let grouping = &self.operator.groups().grouping;
        let mut columns = key_columns(grouping, groups.owner.read(rows.all()));
        if let Some((_, coarser)) = &mut self.coarser {
            self.operator.roll_up(&columns, &groups.owner, rows, coarser)?;
        }
        let rows = groups.owner.read(rows.all());
        let states = StateReader { layout: &plan.layout, rows };
        for (output, ty) in &plan.outputs {
            columns.push(match output {
                Output::Ordered(column) => {
                    let column = grouping.keys() + column;
                    value_of_ordered(&rows.gather(column), ty.physical)?
                }
                Output::Payload(column) => rows.gather(grouping.keys() + column),
                Output::Collected(set) => {
                    let memory = self.operator.memory();
                    let (vector, memory) = collected[*set].results(memory, &plan.collected[*set], begin..end, ty)?;
                    results.push(memory);
                    vector
                }
                _ => states.vector(output, ty)?,
            });
        }
        Ok(Some(Chunk::new(columns, end - begin)))
    }
}

impl SourceWorker for AggregateSourceWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        if let Some(chunk) = self.emit()? {
            return Ok(SourceVerdict::Chunk(chunk));
        }
        self.query.cancel.check()?;
        match self.operator.phase().next_step(&self.operator, self.feeds) {
            Step::Distinct(set, morsel) => {
                self.feeds = true;
                if self.feeder.is_none() {
                    self.feeder = Some(Feeder::new(&self.operator)?);
                }
                self.feed_distinct(set, morsel)?;
            }
            Step::HandOver => {
                self.hand_over()?;
                self.feeds = false;
                self.operator.phase().handed_over(&self.operator);
            }
            Step::Wait(signal) => return Ok(SourceVerdict::Blocked(signal)),
            Step::Groups(morsel, level) => {
                self.feeds = level + 1 < self.operator.levels();
                self.aggregate(morsel, level)?;
            }
            Step::Done => return Ok(SourceVerdict::Done),
        }
        Ok(SourceVerdict::Worked)
    }
}

impl Drop for AggregateSourceWorker {
    fn drop(&mut self) {
        if self.feeds {
            self.operator.phase().abandon();
        }
    }
}
