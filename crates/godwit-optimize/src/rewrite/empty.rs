//! Subtrees without rows.
//!
//! A condition that is never TRUE gives a [`Values`](Node::Values) without rows. The consequences propagate upwards: a
//! join with an empty input is empty, an outer join adds NULLs, a union drops the input. An aggregate without keys
//! still has a row.
//!
//! Bound: one walk.

use godwit_common::Result;
use godwit_plan::{Aggregate, ColumnId, Expr, Join, JoinKind, Node, NodeId, Plan, Project, SetOperation, SetOperator};

use super::{Context, bottom_up, column, extend, no_rows};

/// Removes subtrees without rows.
pub(crate) fn drop_empty(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let check = context.check;
    bottom_up(plan, check, &mut |plan, id| Ok(reduce(plan, context, id)))
}

/// Returns true if a node is known to have no rows.
fn is_empty(plan: &Plan, id: NodeId) -> bool {
    matches!(plan.node(id), Node::Values(values) if values.rows.is_empty())
}

fn reduce(plan: &mut Plan, context: &mut Context<'_>, id: NodeId) -> NodeId {
    let nothing = match plan.node(id) {
        Node::Project(Project { input, .. }) | Node::Filter { input, .. } | Node::Sort { input, .. } => {
            is_empty(plan, *input)
        }
        Node::Window(window) => is_empty(plan, window.input),
        Node::Limit(limit) => is_empty(plan, limit.input),
        Node::Unnest(unnest) => is_empty(plan, unnest.input),
        Node::Sample(sample) => is_empty(plan, sample.input),
        Node::Aggregate(Aggregate { input, keys, sets: None, .. }) => !keys.is_empty() && is_empty(plan, *input),
        Node::Join(join) if is_empty(plan, join.left) || is_empty(plan, join.right) => {
            let join = join.clone();
            return reduce_join(plan, context, id, &join);
        }
        Node::SetOperation(operation) if operation.inputs.iter().any(|(input, _)| is_empty(plan, *input)) => {
            let operation = operation.clone();
            return reduce_set_operation(plan, id, operation);
        }
        _ => false,
    };
    if nothing { nothing_in_place_of(plan, id) } else { id }
}

fn nothing_in_place_of(plan: &mut Plan, id: NodeId) -> NodeId {
    let columns = plan.outputs(id);
    no_rows(plan, columns)
}

fn reduce_join(plan: &mut Plan, context: &mut Context<'_>, id: NodeId, join: &Join) -> NodeId {
    let (left, right) = (is_empty(plan, join.left), is_empty(plan, join.right));
    let nothing = match join.kind {
        JoinKind::Inner | JoinKind::Semi | JoinKind::RightSemi => true,
        JoinKind::Left | JoinKind::Single | JoinKind::Anti | JoinKind::Mark { .. } => left,
        JoinKind::AsOf { outer, .. } => left || !outer,
        JoinKind::Right | JoinKind::RightAnti => right,
        JoinKind::Full | JoinKind::Positional => left && right,
    };
    if nothing {
        return nothing_in_place_of(plan, id);
    }
    match join.kind {
        JoinKind::Anti => join.left,
        JoinKind::RightAnti => join.right,
        JoinKind::Mark { mark, .. } => extend(plan, context, join.left, vec![(mark, Expr::boolean(false))]),
        _ => {
            let (kept, missing) = if left { (join.right, join.left) } else { (join.left, join.right) };
            let missing = plan.outputs(missing);
            missing.iter().for_each(|&column| plan.make_nullable(column));
            let null = |column: ColumnId| (column, Expr::null(plan.column(column).ty.clone()));
            let nulls = missing.into_iter().map(null).collect();
            extend(plan, context, kept, nulls)
        }
    }
}

fn reduce_set_operation(plan: &mut Plan, id: NodeId, operation: SetOperation) -> NodeId {
    let nothing = |(input, _): &(NodeId, Vec<ColumnId>)| is_empty(plan, *input);
    match operation.operator {
        SetOperator::Intersect if operation.inputs.iter().any(nothing) => nothing_in_place_of(plan, id),
        SetOperator::Except if nothing(&operation.inputs[0]) => nothing_in_place_of(plan, id),
        SetOperator::Except if operation.all && nothing(&operation.inputs[1]) => only(plan, &operation, 0),
        SetOperator::Union if operation.inputs.iter().any(nothing) => {
            let inputs: Vec<_> = operation.inputs.iter().filter(|input| !nothing(input)).cloned().collect();
            match inputs.len() {
                0 => nothing_in_place_of(plan, id),
                1 if operation.all => only(plan, &SetOperation { inputs, ..operation }, 0),
                // DISTINCT expects the two inputs of a union, even if one of them has no rows.
                1 => id,
                _ => plan.add(Node::SetOperation(SetOperation { inputs, ..operation })),
            }
        }
        _ => id,
    }
}

/// Returns the rows of one input as the rows of the whole operation.
fn only(plan: &mut Plan, operation: &SetOperation, at: usize) -> NodeId {
    let (input, sources) = &operation.inputs[at];
    let nullable = plan.nullable_columns(*input);
    let columns = operation.columns.iter().zip(sources);
    let columns = columns.map(|(&own, &source)| (own, column(plan, source, nullable.contains(source)))).collect();
    plan.add(Node::Project(Project { input: *input, columns }))
}
