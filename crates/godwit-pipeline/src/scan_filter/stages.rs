//! The filters of a scan, in stages: each decodes the columns that it needs for the remaining rows, and removes more of
//! them.
//!
//! Stages run in ascending order of the cost of removing a row, including decoding, as measured by the worker at run
//! time. Conjuncts over the same columns form one stage; those that can fail form the last one, so that reordering
//! can't cause an error. Filters from joins may be skipped: one that keeps nearly everything is suspended for a while.
//!
//! What a stage costs hardly depends on how many rows earlier ones left to it: pages are decompressed, and runs decoded,
//! as a whole. So one that came late would look expensive, and would stay there. Hence now and then each stage
//! has a few windows in which it is the first ([`Stages`]).

use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_common::Result;
use godwit_expression::{Expression, Predicate, PredicateWorker};
use godwit_vector::{CHUNK_ROWS, Chunk, ColumnType, RowType};

use super::{Condition, Conjunct};
use crate::{KeyFilter, ScanFilter};

/// A filter from a join that keeps more than this share of the rows isn't worth its cost.
const FILTER_KEPT_MAX: f64 = 0.9;

/// Number of rows after which it is decided whether a join filter removes enough rows to be continued.
const FILTER_TRIAL_ROWS: u64 = 20_000;

/// Number of morsels after which a suspended join filter is tried again: data may be clustered.
const FILTER_RETRY_MORSELS: u32 = 16;

/// Windows in which each stage is the first during a trial: in the first of them it may have to open pages.
const TRIAL_WINDOWS: u32 = 2;

/// One morsel in this many has a trial, beginning with the second: a scan of a single morsel isn't worth it.
const TRIAL_MORSELS: u32 = 16;

/// A stage that would take longer than this for a window if each row took as long as those that it was given isn't tried,
/// and neither is one that never got a row: it is where it belongs.
const TRIAL_TIME_MAX: Duration = Duration::from_millis(10);

/// The plan of a stage, shared by the workers.
pub enum StagePlan {
    /// Conjuncts over `columns` of the table, to which their column numbers refer.
    Predicate {
        /// The columns, ascending.
        columns: Vec<usize>,
        /// The conjuncts, over a chunk of these columns.
        predicate: Predicate,
        /// The conjuncts of `predicate` as conditions over the columns of the table.
        conditions: Vec<Condition>,
        /// True if it has to remain the last stage.
        can_fail: bool,
    },
    /// A filter from a join on a column of the table, if there is going to be one.
    Keys {
        /// Column of the table.
        column: usize,
        /// The slot for the filter.
        filter: ScanFilter,
    },
}

impl StagePlan {
    /// The columns of the table that it needs.
    pub fn columns(&self) -> Vec<usize> {
        match self {
            StagePlan::Predicate { columns, .. } => columns.clone(),
            StagePlan::Keys { column, .. } => vec![*column],
        }
    }
}

/// Puts conjuncts over the columns of a table into stages, in an initial order.
fn grouped(row_type: &RowType, conjuncts: &[Conjunct]) -> Vec<StagePlan> {
    let mut groups: Vec<Group> = Vec::new();
    for Conjunct { expression, condition } in conjuncts {
        let columns = expression.columns_used();
        let can_fail = expression.can_fail();
        let same = |group: &&mut Group| group.can_fail == can_fail && (can_fail || group.columns == columns);
        match groups.iter_mut().find(same) {
            Some(group) => {
                group.columns.extend(columns);
                group.columns.sort_unstable();
                group.columns.dedup();
                group.expressions.push(expression.clone());
                group.conditions.push(condition.clone());
            }
            None => {
                let (expressions, conditions) = (vec![expression.clone()], vec![condition.clone()]);
                groups.push(Group { columns, expressions, conditions, can_fail });
            }
        }
    }
    // Narrow columns first, until costs are measured.
    let width = |ty: &ColumnType| {
        if ty.physical == godwit_vector::PhysicalType::Nested { 64 } else { ty.physical.width_bytes() }
    };
    groups.sort_by_key(|group| {
        (group.can_fail, group.columns.iter().map(|&column| width(&row_type[column])).sum::<usize>())
    });
    let stages = groups.into_iter().map(|Group { columns, expressions, conditions, can_fail }| {
        let position = |column: usize| columns.binary_search(&column).expect("the columns are those of the conjuncts");
        let predicate = Predicate::new(expressions).remap_columns(&position);
        StagePlan::Predicate { columns, predicate, conditions, can_fail }
    });
    stages.collect()
}

/// Conjuncts of one stage.
struct Group {
    columns: Vec<usize>,
    expressions: Vec<Expression>,
    conditions: Vec<Condition>,
    can_fail: bool,
}

/// All stages of a scan: its filters and, before those that can fail, the filters of joins.
pub fn plan(
    row_type: &RowType,
    conjuncts: &[Conjunct],
    columns: &[usize],
    join_filters: &[ScanFilter],
) -> Vec<StagePlan> {
    let mut stages = grouped(row_type, conjuncts);
    let movable =
        stages.iter().take_while(|stage| !matches!(stage, StagePlan::Predicate { can_fail: true, .. })).count();
    let keys = join_filters.iter();
    let keys = keys.map(|filter| StagePlan::Keys { column: columns[filter.column], filter: filter.clone() });
    stages.splice(movable..movable, keys);
    stages
}

/// A worker's state of a stage.
pub struct Stage {
    /// The number of the scan's stage, in the order of the plan.
    pub number: usize,
    /// Columns of the table that it needs.
    pub columns: Vec<usize>,
    work: Work,
    can_fail: bool,
    measured: Measured,
    /// Whether it has run in the current morsel.
    has_run: bool,
    /// Windows of the current trial in which it was the first.
    tried_windows: u32,
    /// Number of morsels for which it is skipped.
    skipped_morsels: u32,
}

enum Work {
    Predicate(PredicateWorker),
    /// The filter, and its key if that isn't the column itself.
    Keys(Arc<KeyFilter>, Option<Expression>),
}

/// Rows that came to a stage, and that it kept, and the time that it took.
#[derive(Debug, Clone, Copy, Default)]
struct Run {
    rows_in: u64,
    rows_out: u64,
    time: Duration,
}

impl Run {
    fn add(&mut self, run: Run) {
        self.rows_in += run.rows_in;
        self.rows_out += run.rows_out;
        self.time += run.time;
    }

    fn halve(&mut self) {
        *self = Self { rows_in: self.rows_in / 2, rows_out: self.rows_out / 2, time: self.time / 2 };
    }
}

/// What a stage has done since the start, halved now and then so that recent rows weigh more.
#[derive(Default)]
struct Measured {
    all: Run,
    /// In windows in which it was the first stage.
    first: Run,
    /// The time for the first window of each morsel, in which pages are opened.
    opening: Duration,
    /// Rows of these morsels.
    opened_rows: u64,
}

impl Measured {
    /// Nanoseconds per removed row, as far as known of the first stage.
    fn rank(&self) -> f64 {
        let run = if self.first.rows_in > 0 { self.first } else { self.all };
        let per_row = |time: Duration, rows: u64| time.as_nanos() as f64 / rows.max(1) as f64;
        let removed = (run.rows_in - run.rows_out) as f64 / run.rows_in.max(1) as f64;
        (per_row(run.time, run.rows_in) + per_row(self.opening, self.opened_rows)) / removed.max(1e-3)
    }

    fn halve(&mut self) {
        self.all.halve();
        self.first.halve();
        self.opening /= 2;
        self.opened_rows /= 2;
    }
}

/// Measurements are halved beyond this many rows.
const MEMORY_ROWS: u64 = 1 << 20;

impl Stage {
    /// One stage; `None` for a join filter that the join didn't provide.
    pub fn new(plan: &StagePlan) -> Option<Self> {
        let (columns, work, can_fail) = match plan {
            StagePlan::Predicate { columns, predicate, can_fail, .. } => {
                (columns.clone(), Work::Predicate(predicate.worker()), *can_fail)
            }
            StagePlan::Keys { column, filter } => {
                (vec![*column], Work::Keys(filter.filter.get()?.clone(), filter.key.clone()), false)
            }
        };
        let measured = Measured::default();
        let (has_run, tried_windows, skipped_morsels) = (false, 0, 0);
        Some(Self { number: 0, columns, work, can_fail, measured, has_run, tried_windows, skipped_morsels })
    }

    /// The rows of a chunk of the stage's columns that are kept, ascending; `None` if all are.
    pub fn rows(&mut self, chunk: &Chunk) -> Result<Option<Vec<u32>>> {
        match &mut self.work {
            Work::Predicate(predicate) => predicate.rows(chunk),
            Work::Keys(filter, key) => {
                let mut rows: Vec<u32> = (0..chunk.len() as u32).collect();
                let keys = match key {
                    Some(key) => key.evaluate(chunk)?,
                    None => chunk.dense(0),
                };
                filter.retain(&keys, &mut rows);
                Ok((rows.len() < chunk.len()).then_some(rows))
            }
        }
    }

    /// True if this is one of the query's own filters over a single column, which can be evaluated on a dictionary.
    pub fn is_simple_predicate(&self) -> bool {
        matches!(self.work, Work::Predicate(_)) && self.columns.len() == 1 && !self.can_fail
    }

    /// True while it is suspended.
    pub fn is_skipped(&self) -> bool {
        self.skipped_morsels > 0
    }

    /// Adds the cost of a window, including decoding.
    fn measure(&mut self, run: Run, is_first: bool, morsel_rows: usize) {
        let measured = &mut self.measured;
        if std::mem::replace(&mut self.has_run, true) || morsel_rows == 0 {
            measured.all.add(run);
            if is_first {
                measured.first.add(run);
            }
        } else {
            // The first window of a morsel.
            measured.all.add(Run { time: Duration::ZERO, ..run });
            measured.opening += run.time;
            measured.opened_rows += morsel_rows as u64;
        }
        let is_useless = measured.all.rows_out as f64 > FILTER_KEPT_MAX * measured.all.rows_in as f64;
        let may_be_given_up = matches!(&self.work, Work::Keys(filter, _) if !filter.gets_better());
        if may_be_given_up && measured.all.rows_in >= FILTER_TRIAL_ROWS && is_useless {
            self.skipped_morsels = FILTER_RETRY_MORSELS;
            *measured = Measured::default();
        } else if measured.all.rows_in > MEMORY_ROWS {
            measured.halve();
        }
    }

    fn can_be_tried(&self) -> bool {
        let Run { rows_in, time, .. } = self.measured.all;
        let of_window = time.as_secs_f64() * CHUNK_ROWS as f64 / rows_in as f64;
        self.is_movable() && rows_in > 0 && of_window <= TRIAL_TIME_MAX.as_secs_f64()
    }

    fn is_movable(&self) -> bool {
        !self.can_fail && !self.is_skipped()
    }
}

/// A worker's stages, in the order in which they run.
///
/// ```text
///   morsel 0: initial order ─► 1: trial, then by rank ─► 2 … 16: by rank ─► 17: trial …
///                                 each stage first for TRIAL_WINDOWS windows
/// ```
pub struct Stages {
    stages: Vec<Stage>,
    /// Morsels so far.
    morsels: u32,
    /// Rows of the current one; 0 if that isn't known.
    morsel_rows: usize,
    is_trial: bool,
}

impl Stages {
    /// The stages of a worker.
    pub fn new(plans: &[StagePlan]) -> Self {
        let numbered = |(number, plan)| Some(Stage { number, ..Stage::new(plan)? });
        let stages = plans.iter().enumerate().filter_map(numbered).collect();
        Self { stages, morsels: 0, morsel_rows: 0, is_trial: false }
    }

    /// The stages, for readers to try on what represents the rows of the next morsel; in the best order known.
    pub fn before_morsel(&mut self) -> &mut [Stage] {
        for stage in &mut self.stages {
            stage.skipped_morsels = stage.skipped_morsels.saturating_sub(1);
        }
        self.sort();
        &mut self.stages
    }

    /// Begins a morsel of this many rows, or of an unknown number of them (0).
    pub fn begin_morsel(&mut self, rows: usize) {
        self.morsel_rows = rows;
        self.is_trial = self.morsels % TRIAL_MORSELS == 1;
        self.morsels += 1;
        self.stages.iter_mut().for_each(|stage| (stage.has_run, stage.tried_windows) = (false, 0));
    }

    /// Runs `work` for a window with each stage in turn, which returns the rows before and after it, until no rows are
    /// left.
    pub fn run(&mut self, mut work: impl FnMut(&mut Stage) -> Result<(usize, usize)>) -> Result<()> {
        self.run_timed(|stage| {
            let start = Instant::now();
            let (rows_in, rows_out) = work(stage)?;
            Ok(Run { rows_in: rows_in as u64, rows_out: rows_out as u64, time: start.elapsed() })
        })
    }

    fn run_timed(&mut self, mut work: impl FnMut(&mut Stage) -> Result<Run>) -> Result<()> {
        self.choose_first();
        let mut is_first = true;
        for stage in self.stages.iter_mut().filter(|stage| !stage.is_skipped()) {
            let run = work(stage)?;
            stage.measure(run, is_first, self.morsel_rows);
            is_first = false;
            if run.rows_out == 0 {
                break;
            }
        }
        Ok(())
    }

    /// During a trial, moves a stage to the front that hasn't been there; at its end, sorts them.
    fn choose_first(&mut self) {
        if !self.is_trial {
            return;
        }
        let is_untried = |stage: &Stage| stage.can_be_tried() && stage.tried_windows < TRIAL_WINDOWS;
        match self.stages.iter().position(is_untried) {
            Some(at) => {
                self.stages[..=at].rotate_right(1);
                self.stages[0].tried_windows += 1;
            }
            None => {
                self.is_trial = false;
                self.sort();
            }
        }
    }

    /// Puts the stages into the best order known.
    fn sort(&mut self) {
        let is_known = |stage: &Stage| stage.measured.all.rows_in > 0 || !stage.is_movable();
        if self.stages.iter().all(is_known) {
            let rank = |stage: &Stage| stage.measured.rank();
            self.stages.sort_by(|a, b| a.can_fail.cmp(&b.can_fail).then(rank(a).total_cmp(&rank(b))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MORSEL_ROWS: usize = 100 * CHUNK_ROWS;

    fn stages(can_fail: [bool; 2]) -> Stages {
        let stage = |(number, can_fail)| Stage {
            number,
            columns: vec![number],
            work: Work::Predicate(Predicate::new(Vec::new()).worker()),
            can_fail,
            measured: Measured::default(),
            has_run: false,
            tried_windows: 0,
            skipped_morsels: 0,
        };
        let stages = can_fail.into_iter().enumerate().map(stage).collect();
        Stages { stages, morsels: 0, morsel_rows: 0, is_trial: false }
    }

    /// Scans morsels of a few windows. A stage keeps one row of `kept_one_in` and takes this long, whatever it is given;
    /// returns the stage that ran first in each window.
    fn scan(stages: &mut Stages, morsels: usize, kept_one_in: [usize; 2], micros: [u64; 2]) -> Vec<usize> {
        let mut first = Vec::new();
        for _ in 0..morsels {
            stages.before_morsel();
            stages.begin_morsel(MORSEL_ROWS);
            for _ in 0..8 {
                let mut rows = CHUNK_ROWS;
                let mut ran = Vec::new();
                let work = |stage: &mut Stage| {
                    ran.push(stage.number);
                    let rows_in = rows;
                    rows /= kept_one_in[stage.number];
                    let time = Duration::from_micros(micros[stage.number]);
                    Ok(Run { rows_in: rows_in as u64, rows_out: rows as u64, time })
                };
                stages.run_timed(work).unwrap();
                first.push(ran[0]);
            }
        }
        first
    }

    #[test]
    fn a_stage_that_comes_late_gets_its_chance() {
        let mut stages = stages([false, false]);
        // The second stage is better, but by itself is given 102 rows of 2,048, and removes few of them in its time.
        assert_eq!(scan(&mut stages, 1, [20, 100], [900, 100]), [0; 8]);
        let trial = scan(&mut stages, 1, [20, 100], [900, 100]);
        assert!(trial[..4].contains(&0) && trial[..4].contains(&1), "{trial:?}");
        assert_eq!(trial[4..], [1; 4]);
        assert_eq!(scan(&mut stages, 1, [20, 100], [900, 100]), [1; 8]);
    }

    #[test]
    fn what_can_fail_stays_last_and_what_is_slow_is_not_tried() {
        assert_eq!(scan(&mut stages([false, true]), 3, [2, 100], [500, 50]), [0; 24]);
        // 200 µs for two rows.
        assert_eq!(scan(&mut stages([false, false]), 3, [1_000, 2], [10, 200]), [0; 24]);
    }
}
