//! Expressions that a node computes several times are computed once below it.
//!
//! ```text
//! Aggregate sum(p * (1 - d)), sum(p * (1 - d) * (1 + t))
//! └─ Scan
//!                    ──▶   Aggregate sum(c), sum(c * (1 + t))
//!                          └─ Project p, d, t, c := p * (1 - d)
//!                             └─ Scan
//! ```
//!
//! Only expressions that are evaluated for every row anyway are moved: not those that occur only in branches of CASE,
//! after the first operand of AND, OR or COALESCE, or in lambdas. Volatile values that have a name in an expression
//! (LET) get a column, so that they are certain to be computed once. Two volatile values are never merged.
//!
//! Bound: one walk; in a node, each part is visited once, and repeated parts are compared with each other. Nodes of
//! more than [`PARTS_MAX`] parts are skipped.

use std::collections::HashMap;

use godwit_common::Result;
use godwit_plan::{ColumnId, Expr, ExprKind, Node, NodeId, Plan, Project};

use super::{Context, bottom_up, extend_columns, used_columns};
use crate::properties::effects::weight;

/// Minimum number of operations of a part: anything smaller is computed as fast as it is read.
const OPERATIONS_MIN: usize = 2;

/// Maximum number of parts of a node that is examined.
const PARTS_MAX: usize = 5_000;

/// Moves repeated expressions into projections.
pub(crate) fn share_expressions(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let check = context.check;
    bottom_up(plan, check, &mut |plan, id| {
        Ok(match plan.node(id) {
            Node::Project(_) | Node::Aggregate(_) => share_in_node(plan, context, id),
            _ => id,
        })
    })
}

fn share_in_node(plan: &mut Plan, context: &mut Context<'_>, id: NodeId) -> NodeId {
    let mut moved: Vec<(ColumnId, Expr)> = Vec::new();
    let id = lift_volatile(plan, id, &mut moved);
    let known = context.properties.inputs(plan, id);
    let repeated = repeated_parts(plan.node(id)).into_iter().filter(|part| part.columns().is_subset(&known));
    let mut names: HashMap<Expr, ColumnId> = HashMap::new();
    for part in repeated {
        let column = plan.add_column("common", part.ty.clone(), part.nullable);
        names.insert(part.clone(), column);
        moved.push((column, part));
    }
    if moved.is_empty() {
        return id;
    }
    let node = plan.node(id).clone().map_exprs(&mut |expr| with_names(expr, &names));
    let mut exprs = Vec::new();
    node.for_each_expr(&mut |expr| exprs.push(expr));
    let input = node.inputs()[0];
    let used = used_columns(plan, exprs).intersection(&context.properties.outputs(plan, input));
    let below = extend_columns(plan, context, input, used.iter().collect(), moved);
    let node = node.map_inputs(&mut |_| below);
    plan.add(node)
}

/// Gives volatile values of LETs columns, where they are evaluated anyway.
fn lift_volatile(plan: &mut Plan, id: NodeId, moved: &mut Vec<(ColumnId, Expr)>) -> NodeId {
    let Node::Project(Project { input, columns }) = plan.node(id).clone() else { return id };
    let is_lifted = |expr: &Expr| matches!(&expr.kind, ExprKind::Let { value, .. } if value.is_volatile());
    if !columns.iter().any(|(_, expr)| is_lifted(expr)) {
        return id;
    }
    let lifted = |(own, mut expr): (ColumnId, Expr)| {
        while is_lifted(&expr) {
            let ExprKind::Let { column, value, body } = expr.kind else { break };
            moved.push((column, *value));
            expr = *body;
        }
        (own, expr)
    };
    let columns = columns.into_iter().map(lifted).collect();
    plan.add(Node::Project(Project { input, columns }))
}

/// Returns the largest parts that are evaluated twice or more for every row.
fn repeated_parts(node: &Node) -> Vec<Expr> {
    let mut counts: HashMap<&Expr, usize> = HashMap::new();
    let mut parts = 0;
    let mut open: Vec<&Expr> = match node {
        Node::Project(project) => project.columns.iter().map(|(_, expr)| expr).collect(),
        Node::Aggregate(aggregate) => {
            let keys = aggregate.keys.iter().map(|(_, key)| key);
            let calls = aggregate.aggregates.iter().filter(|(_, call)| call.filter.is_none());
            keys.chain(calls.flat_map(|(_, call)| &call.args)).collect()
        }
        _ => Vec::new(),
    };
    while let Some(expr) = open.pop() {
        parts += 1;
        if parts > PARTS_MAX {
            return Vec::new();
        }
        if is_movable(expr) {
            let count = counts.entry(expr).or_default();
            *count += 1;
            // The parts of a repeated part are already counted: they repeat only inside it.
            if *count > 1 {
                continue;
            }
        }
        open.extend(evaluated_parts(expr));
    }
    let mut repeated: Vec<&Expr> = counts.into_iter().filter(|(_, count)| *count > 1).map(|(expr, _)| expr).collect();
    repeated.sort_by_cached_key(|expr| (std::cmp::Reverse(weight(expr)), expr.to_string()));
    let mut kept: Vec<Expr> = Vec::new();
    for expr in repeated {
        if !kept.iter().any(|larger| larger.any(|part| part == expr)) {
            kept.push(expr.clone());
        }
    }
    kept
}

/// Returns the parts that are evaluated whenever the expression is.
fn evaluated_parts(expr: &Expr) -> Vec<&Expr> {
    match &expr.kind {
        ExprKind::And(all) | ExprKind::Or(all) | ExprKind::Coalesce(all) => all.iter().take(1).collect(),
        ExprKind::Case { branches, .. } => branches.iter().take(1).map(|(condition, _)| condition).collect(),
        ExprKind::Lambda(..) | ExprKind::Subquery(_) | ExprKind::Let { .. } | ExprKind::Try(_) => Vec::new(),
        _ => expr.children(),
    }
}

fn is_movable(expr: &Expr) -> bool {
    let is_bound =
        |part: &Expr| matches!(part.kind, ExprKind::Let { .. } | ExprKind::Lambda(..) | ExprKind::Subquery(_));
    weight(expr) >= OPERATIONS_MIN && !expr.columns().is_empty() && !expr.is_volatile() && !expr.any(is_bound)
}

/// Replaces the parts of an expression that have names.
pub(super) fn with_names(expr: Expr, names: &HashMap<Expr, ColumnId>) -> Expr {
    if let Some(&name) = names.get(&expr) {
        return Expr { kind: ExprKind::Column(name), ..expr };
    }
    expr.map_children(&mut |part| with_names(part, names))
}
