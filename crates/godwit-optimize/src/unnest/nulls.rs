//! Nullability of a column in a node. Its own entry only describes the node that makes it: outer joins above may add
//! NULLs.

use godwit_plan::{ColumnId, JoinKind, Node, NodeId};

use super::Unnester;

impl Unnester<'_> {
    /// Walks down to the node that makes the column, to find out whether it may be NULL.
    pub(super) fn may_be_null(&self, mut id: NodeId, column: ColumnId) -> bool {
        loop {
            let passes = |columns: &[(ColumnId, godwit_plan::Expr)]| {
                columns.iter().any(|(id, expr)| *id == column && expr.as_column() == Some(column))
            };
            match self.plan.node(id) {
                Node::Filter { input, .. } | Node::Sort { input, .. } => id = *input,
                Node::Limit(limit) => id = limit.input,
                Node::Sample(sample) => id = sample.input,
                Node::Window(window) if window.calls.iter().all(|&(made, _)| made != column) => id = window.input,
                Node::Project(project) if passes(&project.columns) => id = project.input,
                Node::Aggregate(aggregate) if aggregate.sets.is_none() && passes(&aggregate.keys) => {
                    id = aggregate.input;
                }
                Node::Unnest(unnest) => {
                    let is_made = unnest.lists.iter().any(|list| list.column == column);
                    if is_made || (unnest.ordinality == Some(column) && unnest.outer) {
                        return true;
                    }
                    if unnest.ordinality == Some(column) {
                        return false;
                    }
                    id = unnest.input;
                }
                Node::Join(join) => {
                    if let JoinKind::Mark { mark, compare } = &join.kind
                        && *mark == column
                    {
                        return compare.iter().any(|conjunct| conjunct.nullable);
                    }
                    let on_right = self.plan.output_set(join.right).contains(column);
                    if fills_up(&join.kind, on_right) {
                        return true;
                    }
                    id = if on_right { join.right } else { join.left };
                }
                _ => return self.plan.column(column).nullable,
            }
        }
    }

    /// Returns true if a node adds NULLs to columns that are declared without.
    pub(super) fn is_filled_up(&self, id: NodeId) -> bool {
        let columns = self.plan.outputs(id);
        columns.into_iter().any(|column| !self.plan.column(column).nullable && self.may_be_null(id, column))
    }
}

/// Returns true if the join adds NULLs to the columns of this side.
fn fills_up(kind: &JoinKind, right: bool) -> bool {
    match kind {
        JoinKind::Full | JoinKind::Positional => true,
        JoinKind::Left | JoinKind::Single | JoinKind::AsOf { outer: true, .. } => right,
        JoinKind::Right => !right,
        _ => false,
    }
}
