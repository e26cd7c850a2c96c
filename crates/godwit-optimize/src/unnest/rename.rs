//! Renaming of free columns.

use std::collections::HashMap;

use godwit_plan::{ColumnId, ColumnSet, Expr, ExprKind, NodeId};

use super::Unnester;

/// Substitutes for columns.
pub(super) struct Renaming {
    from: ColumnSet,
    to: HashMap<ColumnId, ColumnId>,
}

impl Renaming {
    pub(super) fn new(from: impl IntoIterator<Item = ColumnId>, to: impl IntoIterator<Item = ColumnId>) -> Self {
        let to: HashMap<ColumnId, ColumnId> = from.into_iter().zip(to).collect();
        Self { from: to.keys().copied().collect(), to }
    }
}

impl Unnester<'_> {
    /// Renames columns in an expression, including outer columns in its subqueries.
    pub(super) fn rename(&mut self, expr: Expr, names: &Renaming) -> Expr {
        expr.transform(&mut |mut part| {
            match &mut part.kind {
                ExprKind::Column(column) => {
                    if let Some(&to) = names.to.get(column) {
                        *column = to;
                    }
                }
                ExprKind::Subquery(subquery) => subquery.plan = self.rename_free(subquery.plan, names),
                _ => {}
            }
            part
        })
    }

    /// Makes a subtree take other columns from outside. The columns that it makes stay.
    pub(super) fn rename_free(&mut self, id: NodeId, names: &Renaming) -> NodeId {
        if self.free(id).is_disjoint(&names.from) {
            return id;
        }
        let node = self.plan.node(id).clone();
        let node = node.map_exprs(&mut |expr| self.rename(expr, names));
        let node = node.map_inputs(&mut |input| self.rename_free(input, names));
        self.plan.add(node)
    }
}
