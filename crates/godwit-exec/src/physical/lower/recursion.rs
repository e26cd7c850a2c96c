//! Recursion with UNION, where new rows are joined with earlier ones: the first rows are deduplicated up front, so that
//! they needn't be compared with each other as they arrive.

use godwit_plan::{Aggregate, ColumnId, Comparison, Expr, Join, JoinKind, Node, NodeId, Plan, Recursive};

use super::Lowering;

/// Whether the first rows may contain duplicates that have to be dropped.
pub(super) fn may_repeat(plan: &Plan, recursive: &Recursive) -> bool {
    let (base, columns) = &recursive.base;
    let is_distinct = match plan.node(*base) {
        Node::Aggregate(aggregate) => {
            aggregate.sets.is_none() && aggregate.keys.iter().all(|(key, _)| columns.contains(key))
        }
        Node::Values(values) => values.rows.len() <= 1,
        _ => false,
    };
    !recursive.all && !is_distinct
}

/// Adds a plan for the distinct rows of `rows` that didn't exist before. Also returns the id by which
/// [`Node::WorkingRows`] refers to those that did.
pub(in super::super) fn unseen_rows(
    plan: &mut Plan,
    rows: &(NodeId, Vec<ColumnId>),
) -> ((NodeId, Vec<ColumnId>), ColumnId) {
    let mut lowering = Lowering { plan: std::mem::take(plan) };
    let made = lowering.unseen_rows(rows);
    *plan = lowering.plan;
    made
}

impl Lowering {
    pub(super) fn distinct_base(&mut self, node: &Node) -> NodeId {
        let Node::Recursive(recursive) = node else { unreachable!("the rewrite of another node") };
        let (base, columns) = &recursive.base;
        let base = self.distinct_of(*base, columns);
        // These rows aren't checked for duplicates again.
        self.plan.add(Node::Recursive(Recursive { base: (base, columns.clone()), ..recursive.clone() }))
    }

    fn unseen_rows(&mut self, (rows, columns): &(NodeId, Vec<ColumnId>)) -> ((NodeId, Vec<ColumnId>), ColumnId) {
        let of = self.plan.copy_column(columns[0]);
        let known: Vec<ColumnId> = columns.iter().map(|&column| self.plan.copy_column(column)).collect();
        let new = self.distinct_of(*rows, columns);
        let nullable = |column: Expr| Expr { nullable: true, ..column };
        let equal = |(&known, &new): (&ColumnId, &ColumnId)| {
            Expr::compare(Comparison::NotDistinct, nullable(self.column(known)), nullable(self.column(new)))
        };
        let conditions = known.iter().zip(columns).map(equal).collect();
        let left = self.plan.add(Node::WorkingRows { of, columns: known });
        // New rows are usually fewer than all others: they are the build side.
        let join = self.add(Node::Join(Join { kind: JoinKind::RightAnti, left, right: new, conditions }));
        ((join, columns.clone()), of)
    }

    /// Each row once, reduced to some of its columns.
    fn distinct_of(&mut self, input: NodeId, columns: &[ColumnId]) -> NodeId {
        let keys = self.columns(input).into_iter().filter(|(column, _)| columns.contains(column)).collect();
        self.add(Node::Aggregate(Aggregate { input, keys, sets: None, grouping_id: None, aggregates: Vec::new() }))
    }
}
