//! The filters of a scan, in stages: each decodes the columns that it needs for the remaining rows, and removes more of
//! them.
//!
//! Stages run in ascending order of the cost of removing a row, including decoding, as measured by the worker at run
//! time. Conjuncts over the same columns form one stage; those that can fail form the last one, so that reordering
//! can't cause an error. Filters from joins may be skipped: one that keeps nearly everything is suspended for a while.

use std::sync::Arc;
use std::time::Duration;

use godwit_common::Result;
use godwit_expression::{Expression, Predicate, PredicateWorker};
use godwit_vector::{Chunk, ColumnType, RowType};

use super::{Condition, Conjunct};
use crate::{KeyFilter, ScanFilter};

/// A filter from a join that keeps more than this share of the rows isn't worth its cost.
const FILTER_KEPT_MAX: f64 = 0.9;

/// Number of rows after which it is decided whether a join filter removes enough rows to be continued.
const FILTER_TRIAL_ROWS: u64 = 20_000;

/// Number of morsels after which a suspended join filter is tried again: data may be clustered.
const FILTER_RETRY_MORSELS: u32 = 16;

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
    /// Rows since the start, halved now and then so that recent ones weigh more.
    rows_in: u64,
    rows_out: u64,
    time: Duration,
    /// Number of morsels for which it is skipped.
    skipped_morsels: u32,
}

enum Work {
    Predicate(PredicateWorker),
    /// The filter, and its key if that isn't the column itself.
    Keys(Arc<KeyFilter>, Option<Expression>),
}

/// Measurements are halved beyond this many rows.
const MEMORY_ROWS: u64 = 1 << 20;

impl Stage {
    /// The stages of a worker.
    pub fn all(plans: &[StagePlan]) -> Vec<Self> {
        let numbered = |(number, plan)| Some(Self { number, ..Self::new(plan)? });
        plans.iter().enumerate().filter_map(numbered).collect()
    }

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
        let (rows_in, rows_out, time, skipped_morsels) = (0, 0, Duration::ZERO, 0);
        Some(Self { number: 0, columns, work, can_fail, rows_in, rows_out, time, skipped_morsels })
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

    /// Adds the cost of a run, including decoding.
    pub fn measure(&mut self, rows_in: usize, rows_out: usize, time: Duration) {
        self.rows_in += rows_in as u64;
        self.rows_out += rows_out as u64;
        self.time += time;
        let is_useless = self.rows_out as f64 > FILTER_KEPT_MAX * self.rows_in as f64;
        let may_be_given_up = matches!(&self.work, Work::Keys(filter, _) if !filter.gets_better());
        if may_be_given_up && self.rows_in >= FILTER_TRIAL_ROWS && is_useless {
            self.skipped_morsels = FILTER_RETRY_MORSELS;
            (self.rows_in, self.rows_out, self.time) = (0, 0, Duration::ZERO);
        } else if self.rows_in > MEMORY_ROWS {
            (self.rows_in, self.rows_out, self.time) = (self.rows_in / 2, self.rows_out / 2, self.time / 2);
        }
    }

    /// Nanoseconds per removed row.
    fn rank(&self) -> f64 {
        let removed = (self.rows_in - self.rows_out) as f64;
        self.time.as_nanos() as f64 / removed.max(1e-3 * self.rows_in as f64).max(1e-9)
    }
}

/// Puts stages into the best order known, at the start of a morsel.
pub fn reorder(stages: &mut [Stage]) {
    for stage in stages.iter_mut() {
        stage.skipped_morsels = stage.skipped_morsels.saturating_sub(1);
    }
    let is_known = |stage: &Stage| stage.rows_in > 0 || stage.can_fail || stage.is_skipped();
    if stages.iter().all(is_known) {
        stages.sort_by(|a, b| a.can_fail.cmp(&b.can_fail).then(a.rank().total_cmp(&b.rank())));
    }
}
