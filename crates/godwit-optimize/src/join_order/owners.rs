//! The relation that each column belongs to.

use godwit_plan::{ColumnId, Expr, NodeId, Plan};

use super::graph::{RelationSet, one};
use crate::estimate::Estimates;

/// The relation of each column.
pub(super) struct Owners {
    /// By the column's index.
    relations: Vec<Option<usize>>,
}

impl Owners {
    pub(super) fn new(plan: &Plan, leaves: &[NodeId], estimates: &Estimates) -> Self {
        let mut relations = vec![None; plan.column_count()];
        for (at, leaf) in leaves.iter().enumerate() {
            estimates.of(plan, *leaf).columns().for_each(|(column, _)| relations[column.index()] = Some(at));
        }
        Self { relations }
    }

    pub(super) fn of_column(&self, column: ColumnId) -> RelationSet {
        self.relations[column.index()].map_or(0, one)
    }

    /// Returns the relations whose columns an expression uses.
    pub(super) fn of_expr(&self, expr: &Expr) -> RelationSet {
        match expr.as_column() {
            Some(column) => self.of_column(column),
            None => expr.columns().iter().fold(0, |set, column| set | self.of_column(column)),
        }
    }

    pub(super) fn of_all(&self, exprs: &[Expr]) -> RelationSet {
        exprs.iter().fold(0, |set, expr| set | self.of_expr(expr))
    }
}
