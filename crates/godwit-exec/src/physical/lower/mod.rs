//! Rewrites nodes that have no operator of their own in terms of others.
//!
//! ```text
//! UNION                       UNION ALL, Aggregate                                           set_operations.rs
//! UNION ALL of constants      Values
//! INTERSECT, EXCEPT           semi and anti joins with NULL = NULL; with ALL, of numbered rows
//! Mark of a comparison that   TRUE by a mark of its pairs, NULL by a mark of those for       mark.rs
//!   may be NULL                 which it is NULL, else FALSE
//! LIMIT in percent, or        Filter over row numbers and ranks, sorted again                limit.rs
//!   with ties
//! ASOF join                   a window over the rows of both sides, and a join by numbers    as_of.rs
//! POSITIONAL join             a full join of numbered rows                                   positional.rs
//! keys of intervals and       keys that are compared as they lie in rows                     order_keys.rs
//!   labels of ENUMs
//! recursion with UNION        the same over distinct first rows                              recursion.rs
//! ```
//!
//! The result has the original columns. Rewrites don't depend on how rows are computed, so each is tested by evaluating
//! both sides.

mod as_of;
mod limit;
mod mark;
mod order_keys;
mod positional;
mod recursion;
mod set_operations;

use std::borrow::Cow;
use std::sync::Arc;

use godwit_plan::{
    Aggregate, Arithmetic, ColumnId, Expr, ExprKind, JoinKind, Node, NodeId, Plan, Project, SetOperator, SortKey,
    WindowCall, WindowFunction, WindowTarget,
};
use godwit_types::SqlType;

use super::join_conditions::is_null_aware;

pub(super) use order_keys::key_of;
pub(super) use recursion::unseen_rows;

/// The plan with all nodes that have no operator rewritten; the plan itself if there are none.
pub(super) fn lower(plan: &Plan) -> Cow<'_, Plan> {
    let Some(root) = plan.root.filter(|&root| is_to_be_lowered(plan, root)) else { return Cow::Borrowed(plan) };
    let mut lowering = Lowering { plan: plan.clone() };
    for (id, shared) in plan.used_shared_plans() {
        lowering.plan.shared_mut(id).root = lowering.node(shared.root);
    }
    lowering.plan.root = Some(lowering.node(root));
    Cow::Owned(lowering.plan)
}

/// Whether there is anything to rewrite.
fn is_to_be_lowered(plan: &Plan, root: NodeId) -> bool {
    let mut open: Vec<NodeId> = plan.used_shared_plans().iter().map(|(_, shared)| shared.root).chain([root]).collect();
    while let Some(id) = open.pop() {
        let node = plan.node(id);
        if rewrite_of(plan, node).is_some() {
            return true;
        }
        open.extend(node.inputs());
        node.for_each_expr(&mut |expr| {
            expr.for_each(&mut |part| {
                if let ExprKind::Subquery(subquery) = &part.kind {
                    open.push(subquery.plan);
                }
            });
        });
    }
    false
}

type Rewrite = fn(&mut Lowering, &Node) -> NodeId;

/// The rewrite for this node, if it needs one.
fn rewrite_of(plan: &Plan, node: &Node) -> Option<Rewrite> {
    let rewrite: Option<Rewrite> = match node {
        Node::SetOperation(operation) if operation.operator != SetOperator::Union => Some(Lowering::common_rows),
        Node::SetOperation(operation) if !operation.all => Some(Lowering::union),
        Node::SetOperation(operation) if set_operations::has_lists(plan, operation) => Some(Lowering::union_all),
        Node::Join(join) => match &join.kind {
            JoinKind::Mark { compare, .. } if compare.iter().any(|condition| condition.nullable) => {
                let (probe, build) = (plan.output_set(join.left), plan.output_set(join.right));
                (!is_null_aware(&join.conditions, compare, &probe, &build)).then_some(Lowering::mark as Rewrite)
            }
            JoinKind::AsOf { .. } => Some(Lowering::as_of),
            JoinKind::Positional => Some(Lowering::positional),
            _ => None,
        },
        Node::Recursive(recursive) if recursion::may_repeat(plan, recursive) => Some(Lowering::distinct_base),
        Node::Limit(limit) if limit.with_ties || limit.percent => Some(Lowering::limit),
        Node::Aggregate(aggregate) if aggregate.sets.is_some() && aggregate.grouping_id.is_none() => {
            Some(Lowering::numbered_sets)
        }
        _ => None,
    };
    rewrite.or_else(|| order_keys::rewrite_of(node))
}

/// A plan whose nodes are being rewritten.
struct Lowering {
    plan: Plan,
}

impl Lowering {
    /// Lowers a node with everything below it.
    fn node(&mut self, id: NodeId) -> NodeId {
        let node = self.plan.node(id).clone();
        let mut is_changed = false;
        let mut lower = |lowering: &mut Self, below: NodeId| {
            let lowered = lowering.node(below);
            is_changed |= lowered != below;
            lowered
        };
        let node = node.map_inputs(&mut |input| lower(self, input));
        let node = node.map_exprs(&mut |expr| {
            if !expr.has_subquery() {
                return expr;
            }
            expr.transform(&mut |mut part| {
                if let ExprKind::Subquery(subquery) = &mut part.kind {
                    subquery.plan = lower(self, subquery.plan);
                }
                part
            })
        });
        if is_changed || rewrite_of(&self.plan, &node).is_some() { self.add(node) } else { id }
    }

    /// Adds a node, or its rewrite.
    fn add(&mut self, node: Node) -> NodeId {
        match rewrite_of(&self.plan, &node) {
            Some(rewrite) => rewrite(self, &node),
            None => self.plan.add(node),
        }
    }

    /// A column of a node, as an expression.
    fn column(&self, column: ColumnId) -> Expr {
        let info = self.plan.column(column);
        Expr::new(ExprKind::Column(column), info.ty.clone(), info.nullable)
    }

    /// The columns of a node, as expressions.
    fn columns(&self, node: NodeId) -> Vec<(ColumnId, Expr)> {
        let nullable = self.plan.nullable_columns(node);
        let column = |id| (id, Expr { nullable: nullable.contains(id), ..self.column(id) });
        self.plan.outputs(node).into_iter().map(column).collect()
    }

    /// Each row once.
    fn distinct(&mut self, input: NodeId) -> NodeId {
        let keys = self.columns(input);
        self.add(Node::Aggregate(Aggregate { input, keys, sets: None, grouping_id: None, aggregates: Vec::new() }))
    }

    fn project(&mut self, input: NodeId, columns: Vec<(ColumnId, Expr)>) -> NodeId {
        self.plan.add(Node::Project(Project { input, columns }))
    }

    fn filter(&mut self, input: NodeId, conditions: Vec<Expr>) -> NodeId {
        self.plan.add(Node::Filter { input, conditions })
    }

    fn numbered_sets(&mut self, node: &Node) -> NodeId {
        let Node::Aggregate(aggregate) = node else { unreachable!("the rewrite of another node") };
        let number = self.plan.add_column("grouping", SqlType::BigInt, false);
        self.add(Node::Aggregate(Aggregate { grouping_id: Some(number), ..aggregate.clone() }))
    }
}

/// Arithmetic on numbers of one type.
fn arithmetic(op: Arithmetic, left: Expr, right: Expr) -> Expr {
    let (ty, nullable) = (left.ty.clone(), left.nullable || right.nullable);
    Expr::new(ExprKind::Arithmetic(op, Box::new(left), Box::new(right)), ty, nullable)
}

/// `name() OVER (PARTITION BY … ORDER BY …)`: a number of each row.
pub(super) fn numbering(name: &str, partition_by: Vec<Expr>, order_by: Vec<SortKey>) -> WindowCall {
    let function = WindowFunction { name: name.into(), uses_frame: false, implementation: Arc::new(()) };
    WindowCall::over(WindowTarget::Window(function), SqlType::BigInt, partition_by, order_by)
}
