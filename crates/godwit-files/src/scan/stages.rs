//! The filters of a scan, in stages: each decodes the columns it needs for the rows that are left and removes more.
//!
//! Stages run in ascending order of what it costs to remove a row, decoding included, as measured by the worker while
//! it runs. Conjuncts over the same columns are one stage; those that can fail are the last one, so that no reordering
//! brings an error. Filters from joins may be skipped: one that keeps nearly everything is given up for a while.

use std::time::Duration;

use arrow_schema::Schema;
use datafusion_common::tree_node::{Transformed, TreeNode};
use datafusion_common::{Column, DFSchema};
use datafusion_expr::Expr;
use datafusion_expr::utils::split_conjunction;
use godwit_common::{Error, Result};
use godwit_exec::{KeyFilter, ScanFilter};
use godwit_expression::{CompileContext, Expression, Predicate, PredicateWorker};
use godwit_vector::{Chunk, ColumnType};

use crate::config::{FILTER_KEPT_MAX, FILTER_RETRY_MORSELS, FILTER_TRIAL_ROWS};
use crate::table::ParquetTable;

/// A stage, before any worker runs it.
pub(crate) enum StagePlan {
    /// Conjuncts over `columns` of the table, to which their column numbers refer.
    Predicate {
        /// Ascending.
        columns: Vec<usize>,
        /// Over a chunk of these columns.
        predicate: Predicate,
        /// True if no other stage may be moved behind it.
        can_fail: bool,
    },
    /// A filter from a join on a column of the table, if it arrives.
    Keys {
        /// Column of the table.
        column: usize,
        /// Where the filter will be.
        filter: ScanFilter,
    },
}

/// The conjuncts of filters, columns without the name of their table.
pub(crate) fn conjuncts(filters: &[Expr]) -> Result<Vec<Expr>> {
    filters
        .iter()
        .flat_map(split_conjunction)
        .map(|filter| {
            let unqualified = filter.clone().transform(|expr| {
                Ok(match expr {
                    Expr::Column(column) if column.relation.is_some() => {
                        Transformed::yes(Expr::Column(Column::new_unqualified(column.name)))
                    }
                    other => Transformed::no(other),
                })
            });
            unqualified.map(|unqualified| unqualified.data).map_err(|error| Error::internal(error.to_string()))
        })
        .collect()
}

/// Compiles conjuncts into stages, in an order to begin with.
pub(crate) fn compile(table: &ParquetTable, conjuncts: &[Expr]) -> Result<Vec<StagePlan>> {
    let internal = |error: datafusion_common::DataFusionError| Error::internal(error.to_string());
    let schema: &Schema = table.schema();
    let df_schema = DFSchema::try_from(schema.clone()).map_err(internal)?;
    let context = CompileContext::default();
    let mut groups: Vec<(Vec<usize>, Vec<Expression>, bool)> = Vec::new();
    for conjunct in conjuncts {
        let expression = Expression::compile(conjunct, &df_schema, table.row_type(), &context)?;
        let mut columns = expression.columns_used();
        columns.sort_unstable();
        columns.dedup();
        let can_fail = expression.can_fail();
        match groups.iter_mut().find(|group| group.2 == can_fail && (can_fail || group.0 == columns)) {
            Some((known, expressions, _)) => {
                known.extend(columns);
                known.sort_unstable();
                known.dedup();
                expressions.push(expression);
            }
            None => groups.push((columns, vec![expression], can_fail)),
        }
    }
    // Narrow columns first, until costs are measured.
    let width = |ty: &ColumnType| {
        if ty.physical == godwit_vector::PhysicalType::Nested { 64 } else { ty.physical.width_bytes() }
    };
    groups.sort_by_key(|(columns, _, can_fail)| {
        (*can_fail, columns.iter().map(|&column| width(&table.row_type()[column])).sum::<usize>())
    });
    let stages = groups.into_iter().map(|(columns, expressions, can_fail)| {
        let position = |column: usize| columns.binary_search(&column).expect("the columns are those of the conjuncts");
        let predicate = Predicate::new(expressions).remap_columns(&position);
        StagePlan::Predicate { columns, predicate, can_fail }
    });
    Ok(stages.collect())
}

/// A stage as one worker runs it.
pub(crate) struct Stage {
    /// Columns of the table that it needs.
    pub columns: Vec<usize>,
    work: Work,
    can_fail: bool,
    /// Since the start, halved now and then so that the present counts more.
    rows_in: u64,
    rows_out: u64,
    time: Duration,
    /// Morsels during which it is skipped.
    skipped_morsels: u32,
}

enum Work {
    Predicate(PredicateWorker),
    Keys(std::sync::Arc<KeyFilter>),
}

/// Measurements are halved beyond this many rows.
const MEMORY_ROWS: u64 = 1 << 20;

impl Stage {
    /// The stage of a worker; `None` for the filter of a join that has none to offer.
    pub(crate) fn new(plan: &StagePlan) -> Option<Self> {
        let (columns, work, can_fail) = match plan {
            StagePlan::Predicate { columns, predicate, can_fail } => {
                (columns.clone(), Work::Predicate(predicate.worker()), *can_fail)
            }
            StagePlan::Keys { column, filter } => (vec![*column], Work::Keys(filter.filter.get()?.clone()), false),
        };
        Some(Self { columns, work, can_fail, rows_in: 0, rows_out: 0, time: Duration::ZERO, skipped_morsels: 0 })
    }

    /// The rows of a chunk of the stage's columns that are kept, ascending; `None` if all are.
    pub(crate) fn rows(&mut self, chunk: &Chunk) -> Result<Option<Vec<u32>>> {
        match &mut self.work {
            Work::Predicate(predicate) => predicate.rows(chunk),
            Work::Keys(filter) => {
                let mut rows: Vec<u32> = (0..chunk.len() as u32).collect();
                filter.retain(&chunk.dense(0), &mut rows);
                Ok((rows.len() < chunk.len()).then_some(rows))
            }
        }
    }

    /// True if this is a filter of the query itself over one column, which can be evaluated on a dictionary.
    pub(crate) fn is_simple_predicate(&self) -> bool {
        matches!(self.work, Work::Predicate(_)) && self.columns.len() == 1 && !self.can_fail
    }

    /// True while it is given up.
    pub(crate) fn is_skipped(&self) -> bool {
        self.skipped_morsels > 0
    }

    /// Adds what a run cost, decoding included.
    pub(crate) fn measure(&mut self, rows_in: usize, rows_out: usize, time: Duration) {
        self.rows_in += rows_in as u64;
        self.rows_out += rows_out as u64;
        self.time += time;
        let is_useless = self.rows_out as f64 > FILTER_KEPT_MAX * self.rows_in as f64;
        let may_be_given_up = matches!(&self.work, Work::Keys(filter) if !filter.gets_better());
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
pub(crate) fn reorder(stages: &mut [Stage]) {
    stages.iter_mut().for_each(|stage| stage.skipped_morsels = stage.skipped_morsels.saturating_sub(1));
    if stages.iter().all(|stage| stage.rows_in > 0 || stage.can_fail || stage.is_skipped()) {
        stages.sort_by(|a, b| a.can_fail.cmp(&b.can_fail).then(a.rank().total_cmp(&b.rank())));
    }
}
