//! Open pipelines: the planner's view of rows in flight.

use std::sync::Arc;

use godwit_common::{Error, Result};
use godwit_expression::{Expression, Layout};
use godwit_pipeline::Transform;
use godwit_plan::{ColumnId, ColumnSet};
use godwit_vector::{PhysicalType, RowType};

use super::pipelines::Branch;
use crate::explain::ExplainNode;
use crate::operators::{InOrderSource, ProjectTransform};

/// The rows of a plan node, delivered by one or several open pipelines.
pub(super) struct Stream {
    /// The columns that are present: those that the parent needs, and possibly others.
    pub columns: Vec<ColumnId>,
    /// Their types.
    pub row_type: RowType,
    /// At least one.
    pub branches: Vec<Branch>,
    pub explain: ExplainNode,
}

impl Stream {
    /// The rows of one pipeline.
    pub fn new(columns: Vec<ColumnId>, row_type: RowType, branch: Branch, explain: ExplainNode) -> Self {
        assert_eq!(columns.len(), row_type.len());
        Self { columns, row_type, branches: vec![branch], explain }
    }

    /// The position of a column in the chunks.
    pub fn position(&self, column: ColumnId) -> Result<usize> {
        let found = self.columns.iter().position(|&other| other == column);
        found.ok_or_else(|| Error::internal(format!("column {column} isn't there where it is used")))
    }

    /// The positions of a list of columns, in its order.
    pub fn positions_of(&self, columns: &[ColumnId]) -> Result<Vec<usize>> {
        columns.iter().map(|&column| self.position(column)).collect()
    }

    /// The positions of the columns of a set that are present, in the order of the chunks.
    pub fn positions(&self, columns: &ColumnSet) -> Vec<usize> {
        (0..self.columns.len()).filter(|&at| columns.contains(self.columns[at])).collect()
    }

    /// The layout by which expressions find the columns.
    pub fn layout(&self) -> Layout<'_> {
        Layout { columns: &self.columns, types: &self.row_type }
    }

    /// The column at a position, as an expression.
    pub fn column(&self, position: usize) -> Expression {
        Expression::column(position, self.row_type[position].clone())
    }

    /// Adds a streaming operator to every branch.
    pub fn transform<T: Transform + 'static>(&mut self, transform: Arc<T>) {
        self.explain_above(ExplainNode::of_transform(&transform));
        for branch in &mut self.branches {
            branch.transforms.push(transform.clone());
        }
    }

    /// Replaces the columns; a projection that changes nothing costs nothing.
    pub fn project(&mut self, columns: Vec<ColumnId>, expressions: Vec<Expression>) {
        assert_eq!(columns.len(), expressions.len());
        let row_type: RowType = expressions.iter().map(|expression| expression.output().clone()).collect();
        let is_unchanged = expressions.len() == self.row_type.len()
            && expressions.iter().enumerate().all(|(at, expression)| expression.column_index() == Some(at));
        if !is_unchanged {
            self.transform(ProjectTransform::new(expressions, "Project"));
        }
        (self.columns, self.row_type) = (columns, row_type);
    }

    /// Computes those of some values that may be long texts in a projection, so that they are columns from here on: it
    /// computes rows that are too heavy together a few at a time, which what probes a table can't. The new columns have
    /// no id: nothing may be compiled against the stream any more.
    pub fn compute_long_values<'e>(&mut self, values: impl Iterator<Item = &'e mut Expression>) {
        let own = self.row_type.len();
        let mut columns: Vec<Expression> = (0..own).map(|at| self.column(at)).collect();
        let is_long = |value: &Expression| matches!(value.output().physical, PhysicalType::Str | PhysicalType::Nested);
        for value in values.filter(|value| is_long(value) && value.column_index().is_none()) {
            let column = Expression::column(columns.len(), value.output().clone());
            columns.push(std::mem::replace(value, column));
        }
        if columns.len() > own {
            self.row_type = columns.iter().map(|column| column.output().clone()).collect();
            self.transform(ProjectTransform::new(columns, "Project"));
        }
    }

    /// Makes the rows arrive in the order of their sources, branch after branch.
    pub fn in_order(&mut self) {
        for (at, branch) in self.branches.iter_mut().enumerate() {
            branch.source = InOrderSource::new(branch.source.clone());
            branch.follows.extend(at.checked_sub(1));
        }
    }

    /// Records that every branch probes the table that this pipeline builds.
    pub fn note_table(&mut self, table: usize) {
        self.branches.iter_mut().for_each(|branch| branch.tables.push(table));
    }

    /// Puts an operator above the tree that `EXPLAIN` shows.
    pub fn explain_above(&mut self, above: ExplainNode) {
        let below = std::mem::replace(&mut self.explain, above);
        self.explain.children.insert(0, below);
    }

    /// Makes every branch wait for closed pipelines.
    pub fn wait_for(&mut self, pipelines: impl IntoIterator<Item = usize> + Clone) {
        for branch in &mut self.branches {
            branch.depends_on.extend(pipelines.clone());
        }
    }
}
