//! Several expressions over one chunk.

use godwit_common::{ErrorKind, Result};
use godwit_vector::{Chunk, RowType, Vector};

use crate::Expression;
use crate::batch::Batch;

/// Computes the columns of a new chunk from those of another. Plain columns are passed on as they are, selections
/// included; others are computed densely, gathering each input column at most once.
#[derive(Clone)]
pub struct Projection {
    expressions: Vec<Expression>,
    /// Input columns that are passed on, in the order of their outputs.
    passed: Vec<usize>,
    /// The positions of the outputs among the passed columns, then the computed ones; `None` if already in that order.
    order: Option<Vec<usize>>,
}

impl Projection {
    /// Creates a projection to these expressions.
    pub fn new(expressions: Vec<Expression>) -> Self {
        let passed: Vec<usize> = expressions.iter().filter_map(Expression::column_index).collect();
        let (mut next_passed, mut next_computed) = (0, passed.len());
        let order: Vec<usize> = expressions
            .iter()
            .map(|expression| {
                let next = if expression.column_index().is_some() { &mut next_passed } else { &mut next_computed };
                *next += 1;
                *next - 1
            })
            .collect();
        let in_order = order.is_sorted();
        Self { expressions, passed, order: (!in_order).then_some(order) }
    }

    /// The expressions.
    pub fn expressions(&self) -> &[Expression] {
        &self.expressions
    }

    /// The types of the output columns.
    pub fn output(&self) -> RowType {
        self.expressions.iter().map(|expression| expression.output().clone()).collect()
    }

    /// The columns that some expression reads, ascending.
    pub fn columns_used(&self) -> Vec<usize> {
        let mut columns: Vec<usize> = self.expressions.iter().flat_map(Expression::columns_used).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Returns the output columns for all rows of `chunk`.
    pub fn evaluate(&self, chunk: &Chunk) -> Result<Chunk> {
        self.evaluate_with(chunk, Expression::evaluate_in_parts)
    }

    /// Like [`evaluate`](Self::evaluate), but fails with [`ErrorKind::Resource`] if the caller should take fewer rows.
    pub fn evaluate_together(&self, chunk: &Chunk) -> Result<Chunk> {
        self.evaluate_with(chunk, Expression::evaluate_batch)
    }

    /// Calls `then` with the output columns for all rows of `chunk`; if these are too heavy together, several times with
    /// some of them, in order.
    pub fn evaluate_each(&self, chunk: &Chunk, then: &mut impl FnMut(Chunk) -> Result<()>) -> Result<()> {
        let computed = match self.evaluate_together(chunk) {
            Err(error) if error.kind() == ErrorKind::Resource && chunk.len() > 1 => {
                let (first, rows) = (chunk.len() / 2, chunk.len());
                self.evaluate_each(&chunk.slice(0, first), then)?;
                return self.evaluate_each(&chunk.slice(first, rows - first), then);
            }
            computed => computed?,
        };
        then(computed)
    }

    fn evaluate_with(
        &self,
        chunk: &Chunk,
        evaluate: impl Fn(&Expression, &Batch<'_>) -> Result<Vector>,
    ) -> Result<Chunk> {
        let mut output = chunk.project(&self.passed);
        let batch = Batch::of_chunk(chunk);
        for expression in self.expressions.iter().filter(|expression| expression.column_index().is_none()) {
            output.push(evaluate(expression, &batch)?);
        }
        Ok(match &self.order {
            Some(order) => output.project(order),
            None => output,
        })
    }
}
