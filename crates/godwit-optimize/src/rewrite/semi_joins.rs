//! Joins that only check for a match become semi joins where the number of matches is irrelevant.
//!
//! ```text
//! Aggregate min(t.title)                       Aggregate min(t.title)
//! └─ Join mk.keyword_id = k.id                 └─ SemiJoin mk.keyword_id = k.id      each row of mk once
//!    ├─ Join t.id = mk.movie_id         ──▶       ├─ Join t.id = mk.movie_id
//!    └─ k                                         └─ k
//! ```
//!
//! Minima and maxima, groups without aggregates, aggregates of distinct values, the inputs of UNION and similar
//! operators, and the right sides of semi and anti joins don't depend on how often a row occurs. Below them, and down
//! through filters, projections and joins, a join with one side whose columns aren't needed above only has to keep the
//! rows of the other side that have a match. So a chain of joins no longer multiplies rows.
//!
//! Bound: a node is visited once for each of these operators that reaches it through such nodes only, which is once.

use godwit_common::Result;
use godwit_plan::{
    Aggregate, AggregateCall, ColumnSet, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Plan, Project,
};

use super::{Context, bottom_up, used_columns, with_inputs};
use crate::properties::effects::is_volatile;

/// Replaces joins by semi joins where that makes no difference.
pub(crate) fn use_semi_joins(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let check = context.check;
    bottom_up(plan, check, &mut |plan, id| match plan.node(id) {
        Node::Aggregate(aggregate) if is_of_sets(aggregate) => {
            let used = columns_used_by(plan, id);
            with_inputs(plan, id, &mut |plan, input| reduce(plan, context, input, &used))
        }
        Node::SetOperation(operation) if !operation.all => {
            let wanted = operation.inputs.iter().map(|(_, columns)| columns.iter().copied().collect());
            let mut wanted = wanted.collect::<Vec<ColumnSet>>().into_iter();
            with_inputs(plan, id, &mut |plan, input| reduce(plan, context, input, &wanted.next().unwrap_or_default()))
        }
        &Node::Join(Join { kind: JoinKind::Semi | JoinKind::Anti, left, .. }) => {
            let used = columns_used_by(plan, id);
            with_inputs(plan, id, &mut |plan, input| match input == left {
                true => Ok(input),
                false => reduce(plan, context, input, &used),
            })
        }
        _ => Ok(id),
    })
}

/// Returns the columns that the expressions of a node use.
fn columns_used_by(plan: &Plan, id: NodeId) -> ColumnSet {
    let mut exprs = Vec::new();
    plan.node(id).for_each_expr(&mut |expr| exprs.push(expr));
    used_columns(plan, exprs)
}

/// Returns true if the aggregates don't depend on how often a row occurs.
fn is_of_sets(aggregate: &Aggregate) -> bool {
    let of_set = |call: &AggregateCall| {
        (call.distinct || call.function.ignores_duplicates)
            && call.order_by.is_empty()
            && !call.function.depends_on_order
            && !call.exprs().any(Expr::is_volatile)
    };
    aggregate.aggregates.iter().all(|(_, call)| of_set(call))
}

/// Returns the same set of rows, restricted to the wanted columns. Other columns may be missing.
fn reduce(plan: &mut Plan, context: &mut Context<'_>, id: NodeId, wanted: &ColumnSet) -> Result<NodeId> {
    (context.check)()?;
    let mut volatile = false;
    plan.node(id).for_each_expr(&mut |expr| volatile |= is_volatile(plan, expr));
    let own = wanted.intersection(&context.properties.outputs(plan, id));
    if volatile || own.is_empty() {
        return Ok(id);
    }
    match plan.node(id).clone() {
        Node::Project(Project { input, mut columns }) => {
            columns.retain(|(column, _)| own.contains(*column));
            let used = used_columns(plan, columns.iter().map(|(_, expr)| expr));
            let input = reduce(plan, context, input, &used)?;
            Ok(plan.add(Node::Project(Project { input, columns })))
        }
        Node::Filter { conditions, .. } => {
            let used = used_columns(plan, &conditions).union(&own);
            with_inputs(plan, id, &mut |plan, input| reduce(plan, context, input, &used))
        }
        Node::Join(join) => reduce_join(plan, context, id, join, &own),
        _ => Ok(id),
    }
}

fn reduce_join(
    plan: &mut Plan,
    context: &mut Context<'_>,
    id: NodeId,
    join: Join,
    wanted: &ColumnSet,
) -> Result<NodeId> {
    let left_columns = context.properties.outputs(plan, join.left);
    let right_columns = context.properties.outputs(plan, join.right);
    let (serves_left, serves_right) = (!wanted.is_disjoint(&left_columns), !wanted.is_disjoint(&right_columns));
    let has_keys = join.conditions.iter().any(|condition| is_key(condition, &left_columns, &right_columns));
    let used = columns_used_by(plan, id).union(wanted);
    let (kind, is_swapped) = match join.kind {
        JoinKind::Left if !serves_right => return reduce(plan, context, join.left, wanted),
        JoinKind::Right if !serves_left => return reduce(plan, context, join.right, wanted),
        JoinKind::Inner if has_keys && !serves_right => (JoinKind::Semi, false),
        JoinKind::Inner if has_keys && !serves_left => (JoinKind::Semi, true),
        // Each row of the left side is examined by itself, however often it occurs.
        JoinKind::Inner
        | JoinKind::Semi
        | JoinKind::Anti
        | JoinKind::Left
        | JoinKind::Mark { .. }
        | JoinKind::Single => (join.kind.clone(), false),
        JoinKind::Right
        | JoinKind::RightSemi
        | JoinKind::RightAnti
        | JoinKind::Full
        | JoinKind::AsOf { .. }
        | JoinKind::Positional => return Ok(id),
    };
    let (left, right) = if is_swapped { (join.right, join.left) } else { (join.left, join.right) };
    let left = reduce(plan, context, left, &used)?;
    // The walk itself handles the right side of a join that was a semi join before. That of a single join may have too
    // many rows.
    let right = match join.kind {
        JoinKind::Inner | JoinKind::Left | JoinKind::Mark { .. } => reduce(plan, context, right, &used)?,
        _ => right,
    };
    Ok(plan.add(Node::Join(Join { kind, left, right, conditions: join.conditions })))
}

/// Returns true for an equality between the sides.
fn is_key(condition: &Expr, left: &ColumnSet, right: &ColumnSet) -> bool {
    let ExprKind::Compare(Comparison::Equal | Comparison::NotDistinct, a, b) = &condition.kind else { return false };
    let (a, b) = (a.columns(), b.columns());
    let sides =
        |a: &ColumnSet, b: &ColumnSet| !a.is_empty() && !b.is_empty() && a.is_subset(left) && b.is_subset(right);
    sides(&a, &b) || sides(&b, &a)
}
