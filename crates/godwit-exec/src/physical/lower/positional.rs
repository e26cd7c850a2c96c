//! POSITIONAL joins: the rows of both sides are numbered, and rows with equal numbers are joined.

use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, SortKey, Window};
use godwit_types::SqlType;

use super::{Lowering, numbering};

impl Lowering {
    pub(super) fn positional(&mut self, node: &Node) -> NodeId {
        let Node::Join(Join { left, right, .. }) = node else { unreachable!("the rewrite of another node") };
        let columns = self.columns_of_both(*left, *right);
        let (left, left_number) = self.numbered_in_order(*left);
        let (right, right_number) = self.numbered_in_order(*right);
        let numbers = [left_number, right_number].map(|number| Expr { nullable: true, ..self.column(number) });
        let equal = Expr::compare(Comparison::Equal, numbers[0].clone(), numbers[1].clone());
        let input = self.add(Node::Join(Join { kind: JoinKind::Full, left, right, conditions: vec![equal] }));
        let number = Expr::new(ExprKind::Coalesce(numbers.to_vec()), SqlType::BigInt, false);
        let keys = vec![SortKey { expr: number, descending: false, nulls_first: false }];
        let sorted = self.add(Node::Sort { input, keys });
        self.project(sorted, columns)
    }

    /// The columns of two nodes; the full join makes all of them nullable.
    pub(super) fn columns_of_both(&self, left: NodeId, right: NodeId) -> Vec<(ColumnId, Expr)> {
        let both = self.plan.outputs(left).into_iter().chain(self.plan.outputs(right));
        both.map(|id| (id, Expr { nullable: true, ..self.column(id) })).collect()
    }

    /// The rows with their numbers in order of arrival.
    pub(super) fn numbered_in_order(&mut self, input: NodeId) -> (NodeId, ColumnId) {
        let number = self.plan.add_column("number", SqlType::BigInt, false);
        let calls = vec![(number, numbering("row_number", Vec::new(), Vec::new()))];
        (self.add(Node::Window(Window { input, calls })), number)
    }
}
