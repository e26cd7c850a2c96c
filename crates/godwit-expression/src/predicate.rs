//! Filters: conjunctions whose conjuncts are ordered by their cost and selectivity, measured while they run.
//!
//! A conjunct that takes `c` nanoseconds per row and keeps a share `s` of the rows has the rank c / (1 - s): the price
//! of removing a row. Evaluating in ascending rank is optimal for independent conjuncts. Conjuncts that can fail stay
//! after all that can't: no reordering causes an error that the query didn't have.

use std::sync::Arc;
use std::time::Instant;

use godwit_common::Result;
use godwit_scalar::Work;
use godwit_vector::kernels::select::{select_bits, select_true};
use godwit_vector::{Chunk, ColumnType, Data, Vector};

use crate::Expression;
use crate::batch::Batch;
use crate::compare::fuse_ranges;
use crate::expression::Operation;
use crate::literal::constant_of;

/// Weight of the newest chunk in the moving averages of cost and selectivity.
const NEWEST_WEIGHT: f64 = 0.125;
/// The order is reconsidered after this many chunks.
const REORDER_CHUNKS: u32 = 16;
/// Chunks with fewer rows aren't measured: the cost of reading the clock would dominate.
const MEASURED_ROWS_MIN: usize = 64;

/// A conjunction of boolean expressions. Immutable; each worker filters with its own [`PredicateWorker`].
#[derive(Clone)]
pub struct Predicate(Arc<[Expression]>);

impl Predicate {
    /// Creates the conjunction of boolean expressions; TRUE if there are none.
    pub fn new(conjuncts: Vec<Expression>) -> Self {
        let mut flat = Vec::new();
        conjuncts.iter().for_each(|conjunct| split(conjunct, &mut flat));
        // Stable: conjuncts that can fail keep their order, after those that can't.
        flat.sort_by_key(Expression::can_fail);
        Self(flat.into())
    }

    /// Creates the conjunction of compiled expressions: bounds of one column are fused.
    pub(crate) fn of_compiled(conjuncts: &[Expression], work: &Arc<dyn Work>) -> Self {
        let mut flat = Vec::new();
        conjuncts.iter().for_each(|conjunct| split(conjunct, &mut flat));
        Self::new(fuse_ranges(flat).into_iter().map(|conjunct| conjunct.per_entry(Some(work))).collect())
    }

    /// The conjuncts in their initial order.
    pub fn conjuncts(&self) -> &[Expression] {
        &self.0
    }

    /// True if it keeps every row.
    pub fn is_always_true(&self) -> bool {
        self.0.is_empty()
    }

    /// The columns that it reads, ascending.
    pub fn columns_used(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.0.iter().flat_map(Expression::columns_used).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Returns the same predicate over a chunk in which column `i` has become column `remap(i)`.
    pub fn remap_columns(&self, remap: &dyn Fn(usize) -> usize) -> Predicate {
        Predicate(self.0.iter().map(|conjunct| conjunct.remap_columns(remap)).collect())
    }

    /// Returns the same predicate with `column(i, type)` in place of column `i`, of the same type.
    pub fn with_columns(&self, column: &dyn Fn(usize, &ColumnType) -> Expression) -> Predicate {
        Predicate(self.0.iter().map(|conjunct| conjunct.with_columns(column)).collect())
    }

    /// Creates the state of one worker.
    pub fn worker(&self) -> PredicateWorker {
        let conjuncts = self.0.iter().map(|expression| Conjunct::new(expression.clone())).collect();
        PredicateWorker { conjuncts, chunks: 0, rows: Vec::new() }
    }
}

/// Splits at ANDs and drops conjuncts that are TRUE.
fn split(expression: &Expression, conjuncts: &mut Vec<Expression>) {
    match expression.operation() {
        Operation::And => expression.arguments().iter().for_each(|argument| split(argument, conjuncts)),
        Operation::Literal(literal) if !literal.is_null && literal.value.bools()[0] != 0 => {}
        _ => conjuncts.push(expression.clone()),
    }
}

/// A conjunct and its measurements.
struct Conjunct {
    expression: Expression,
    nanoseconds_per_row: f64,
    /// Share of the rows reaching it that it keeps.
    selectivity: f64,
    measured: bool,
}

impl Conjunct {
    fn new(expression: Expression) -> Self {
        Self { expression, nanoseconds_per_row: 0.0, selectivity: 0.5, measured: false }
    }

    fn rank(&self) -> f64 {
        self.nanoseconds_per_row / (1.0 - self.selectivity).max(1e-3)
    }

    fn measure(&mut self, nanoseconds: f64, rows_in: usize, rows_out: usize) {
        let (cost, kept) = (nanoseconds / rows_in as f64, rows_out as f64 / rows_in as f64);
        let weight = if self.measured { NEWEST_WEIGHT } else { 1.0 };
        self.nanoseconds_per_row += weight * (cost - self.nanoseconds_per_row);
        self.selectivity += weight * (kept - self.selectivity);
        self.measured = true;
    }
}

/// Filters the chunks of one worker and learns the best order of the conjuncts meanwhile.
pub struct PredicateWorker {
    conjuncts: Vec<Conjunct>,
    chunks: u32,
    /// Scratch.
    rows: Vec<u32>,
}

impl PredicateWorker {
    /// Keeps the rows of `chunk` for which the predicate is TRUE.
    pub fn select(&mut self, chunk: &mut Chunk) -> Result<()> {
        if let Some(rows) = self.rows(chunk)? {
            chunk.select(&rows);
        }
        Ok(())
    }

    /// Returns the rows of `chunk` for which the predicate is TRUE, ascending; `None` if it is for all.
    pub fn rows(&mut self, chunk: &Chunk) -> Result<Option<Vec<u32>>> {
        self.reorder();
        let batch = Batch::of_chunk(chunk);
        let mut selected: Option<Vec<u32>> = None;
        for conjunct in &mut self.conjuncts {
            let rows_in = selected.as_ref().map_or(chunk.len(), Vec::len);
            if rows_in == 0 {
                break;
            }
            let start = Instant::now();
            let all = match &selected {
                None => true_rows(&conjunct.expression.evaluate_in_parts(&batch)?, &mut self.rows),
                Some(rows) => true_rows(&conjunct.expression.evaluate_in_parts(&batch.select(rows))?, &mut self.rows),
            };
            let rows_out = if all { rows_in } else { self.rows.len() };
            if rows_in >= MEASURED_ROWS_MIN {
                conjunct.measure(start.elapsed().as_nanos() as f64, rows_in, rows_out);
            }
            match &mut selected {
                _ if all => {}
                None => selected = Some(std::mem::take(&mut self.rows)),
                Some(rows) => {
                    for (position, kept) in self.rows.iter_mut().enumerate() {
                        debug_assert!(*kept as usize >= position);
                        *kept = rows[*kept as usize];
                    }
                    std::mem::swap(rows, &mut self.rows);
                }
            }
        }
        Ok(selected)
    }

    /// Sorts the conjuncts that can't fail by rank, every [`REORDER_CHUNKS`] chunks.
    fn reorder(&mut self) {
        self.chunks += 1;
        if !self.chunks.is_multiple_of(REORDER_CHUNKS) {
            return;
        }
        let movable = self.conjuncts.iter().take_while(|conjunct| !conjunct.expression.can_fail()).count();
        self.conjuncts[..movable].sort_by(|a, b| a.rank().total_cmp(&b.rank()));
    }
}

/// Puts the rows where `condition` is TRUE into `rows`; returns true instead if it is TRUE everywhere.
pub(crate) fn true_rows(condition: &Vector, rows: &mut Vec<u32>) -> bool {
    rows.clear();
    match condition.data() {
        Data::Constant(value) if value.bools()[0] == 0 => return condition.is_empty(),
        Data::Constant(_) => match condition.validity() {
            None => return true,
            Some(_) if constant_of(condition).is_some() => return false,
            Some(validity) => select_bits(validity, true, rows),
        },
        Data::Flat(values) => select_true(values.bools(), condition.validity().map(|v| &**v), rows),
        Data::Dictionary(..) => {
            select_true(condition.to_flat().bools(), condition.validity().map(|v| &**v), rows);
        }
    }
    rows.len() == condition.len()
}
