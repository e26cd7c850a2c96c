//! Marks of comparisons that may be NULL.

use std::collections::HashMap;

use godwit_plan::{ColumnId, Expr, ExprKind, Join, JoinKind, Limit, Node, NodeId, Plan, SharedId, SharedPlan, Use};
use godwit_types::SqlType;

use super::Lowering;

impl Lowering {
    pub(super) fn mark(&mut self, node: &Node) -> NodeId {
        let Node::Join(Join { kind: JoinKind::Mark { mark, compare }, left, right, conditions }) = node else {
            unreachable!("the rewrite of another node")
        };
        // Where the conjunction is NULL, conjuncts that are never NULL are TRUE.
        let (nullable, certain): (Vec<Expr>, Vec<Expr>) =
            compare.iter().cloned().partition(|condition| condition.nullable);
        let true_for = conditions.iter().chain(compare).cloned().collect();
        let null_for = conditions.iter().cloned().chain(certain).chain([Expr::and(nullable).is_null()]).collect();
        let columns = self.columns(*left);
        let sides = self.twice(*right);
        let (rows, is_true) = self.marked(*left, &sides[0], true_for);
        let (rows, is_null) = self.marked(rows, &sides[1], null_for);
        let branches =
            vec![(self.column(is_true), Expr::boolean(true)), (self.column(is_null), Expr::null(SqlType::Boolean))];
        let kind = ExprKind::Case { branches, otherwise: Some(Box::new(Expr::boolean(false))) };
        let value = Expr::new(kind, SqlType::Boolean, true);
        self.project(rows, columns.into_iter().chain([(*mark, value)]).collect())
    }

    /// The left rows, marked by whether they have a match.
    fn marked(
        &mut self,
        left: NodeId,
        (right, renamed): &(NodeId, HashMap<ColumnId, ColumnId>),
        conditions: Vec<Expr>,
    ) -> (NodeId, ColumnId) {
        let mark = self.plan.add_column("mark", SqlType::Boolean, false);
        let conditions = conditions.into_iter().map(|condition| condition.rename(renamed));
        // Conditions on the right side alone are evaluated once per right row, not once per pair.
        let probe = self.plan.output_set(left);
        let is_of_pairs = |condition: &Expr| condition.is_volatile() || !condition.columns().is_disjoint(&probe);
        let (of_pairs, of_right): (Vec<Expr>, Vec<Expr>) = conditions.partition(is_of_pairs);
        let mut right = *right;
        if !of_right.is_empty() {
            right = self.filter(right, of_right);
        }
        if of_pairs.is_empty() {
            // All rows of the left side have the same mark.
            let count = Some(Expr::bigint(1));
            right =
                self.add(Node::Limit(Limit { input: right, offset: None, count, with_ties: false, percent: false }));
        }
        let kind = JoinKind::Mark { mark, compare: Vec::new() };
        (self.add(Node::Join(Join { kind, left, right, conditions: of_pairs })), mark)
    }

    /// The same rows under two sets of fresh columns. They are computed once, unless they differ in each round of a
    /// recursion.
    fn twice(&mut self, node: NodeId) -> [(NodeId, HashMap<ColumnId, ColumnId>); 2] {
        if self.reads_working_rows(node) {
            return [(node, HashMap::new()), self.plan.copy_subtree(node)];
        }
        let name = "mark".to_owned();
        let shared = self.plan.add_shared(SharedPlan { name, root: node, materialized: Some(true) });
        [(), ()].map(|()| self.use_of(shared))
    }

    /// The rows of a shared plan, and the mapping from its columns to those of the use.
    pub(super) fn use_of(&mut self, shared: SharedId) -> (NodeId, HashMap<ColumnId, ColumnId>) {
        let root = self.plan.shared(shared).root;
        let nullable = self.plan.nullable_columns(root);
        let fresh = |plan: &mut Plan, column| {
            let fresh = plan.copy_column(column);
            if nullable.contains(column) {
                plan.make_nullable(fresh);
            }
            (fresh, column)
        };
        let outputs = self.plan.outputs(root);
        let columns: Vec<_> = outputs.into_iter().map(|column| fresh(&mut self.plan, column)).collect();
        let renamed = columns.iter().map(|&(fresh, column)| (column, fresh)).collect();
        (self.plan.add(Node::Use(Use { shared, columns })), renamed)
    }

    /// Whether its rows differ in each round of a recursion.
    pub(super) fn reads_working_rows(&self, node: NodeId) -> bool {
        let mut open = vec![node];
        while let Some(id) = open.pop() {
            let node = self.plan.node(id);
            if matches!(node, Node::WorkingRows { .. }) {
                return true;
            }
            open.extend(node.inputs());
        }
        false
    }
}
