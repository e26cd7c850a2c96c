//! Whether a subtree has at most one row: then it is a value without counting rows.

use godwit_plan::{ColumnId, ColumnSet, Comparison, Expr, ExprKind, JoinKind, Node, NodeId};
use godwit_types::Value;

use super::Unnester;

impl Unnester<'_> {
    pub(super) fn is_single_row(&mut self, id: NodeId) -> bool {
        self.is_single_row_of(id, &ColumnSet::new())
    }

    /// Returns true if the subtree has at most one row when these columns are each equal to one value that isn't NULL.
    fn is_single_row_of(&mut self, id: NodeId, bound: &ColumnSet) -> bool {
        match self.plan.node(id).clone() {
            Node::Values(values) => values.rows.len() <= 1,
            Node::Scan(scan) => scan.relation.keys().iter().any(|key| {
                let own = |&at: &usize| scan.columns.iter().any(|&(id, position)| position == at && bound.contains(id));
                key.iter().all(own)
            }),
            Node::Project(project) => {
                let renamed = project.columns.iter().filter(|(column, _)| bound.contains(*column));
                let below = renamed.filter_map(|(_, expr)| expr.as_column()).collect();
                self.is_single_row_of(project.input, &below)
            }
            Node::Filter { input, conditions } => {
                let outputs = self.plan.output_set(input);
                let fixed = conditions.iter().cloned().flat_map(Expr::into_conjuncts);
                let fixed = fixed.filter_map(|condition| self.fixed_column(&condition, &outputs));
                let fixed = fixed.collect::<ColumnSet>().union(bound);
                self.is_single_row_of(input, &fixed)
            }
            Node::Aggregate(aggregate) => {
                aggregate.sets.is_none() && aggregate.keys.iter().all(|&(column, _)| bound.contains(column))
            }
            Node::Limit(limit) => {
                let most = limit.count.as_ref().and_then(Expr::as_literal);
                let one = !limit.with_ties && !limit.percent && matches!(most, Some(Value::Integer(0 | 1)));
                one || self.is_single_row_of(limit.input, bound)
            }
            Node::Sort { input, .. } => self.is_single_row_of(input, bound),
            Node::Window(window) => self.is_single_row_of(window.input, bound),
            Node::Sample(sample) => self.is_single_row_of(sample.input, bound),
            Node::Join(join) => match join.kind {
                JoinKind::Semi | JoinKind::Anti | JoinKind::Mark { .. } | JoinKind::Single | JoinKind::AsOf { .. } => {
                    self.is_single_row_of(join.left, bound)
                }
                JoinKind::Inner | JoinKind::Left => {
                    self.is_single_row_of(join.left, bound) && self.is_single_row_of(join.right, bound)
                }
                JoinKind::RightSemi | JoinKind::RightAnti => self.is_single_row_of(join.right, bound),
                JoinKind::Right | JoinKind::Full | JoinKind::Positional => false,
            },
            Node::SetOperation(_) | Node::Unnest(_) | Node::Recursive(_) | Node::WorkingRows { .. } | Node::Use(_) => {
                false
            }
        }
    }

    /// Returns the column that a condition equates with an expression without these columns.
    fn fixed_column(&mut self, condition: &Expr, outputs: &ColumnSet) -> Option<ColumnId> {
        let ExprKind::Compare(Comparison::Equal, a, b) = &condition.kind else { return None };
        let is_fixed =
            |unnester: &mut Self, expr: &Expr| unnester.columns_of(expr).is_disjoint(outputs) && !expr.is_volatile();
        let own = |expr: &Expr| expr.as_column().filter(|&column| outputs.contains(column));
        match (own(a), own(b)) {
            (Some(column), None) if is_fixed(self, b) => Some(column),
            (None, Some(column)) if is_fixed(self, a) => Some(column),
            _ => None,
        }
    }
}
