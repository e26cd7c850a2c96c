//! Texts are compared before the joins that repeat them.
//!
//! ```text
//! Aggregate sum(CASE WHEN d.day = 'Sunday' THEN s.price END), …
//! └─ Join s.date = d.date                      2,000,000 rows
//!    ├─ s
//!    └─ d                                      73,000 rows
//!                    ──▶   Aggregate sum(CASE WHEN c THEN s.price END), …
//!                          └─ Join s.date = d.date
//!                             ├─ s
//!                             └─ Project …, c := d.day = 'Sunday'
//!                                └─ d
//! ```
//!
//! Each row of the smaller side is compared once, and the join passes on a byte for each comparison where it passed on a
//! string. Only what can't fail moves, since rows that have no match are compared, too: comparisons with constants, and
//! patterns without an escape.
//!
//! Bound: one walk; in a node, each part is visited once, and at most [`MOVED_MAX`] different ones move.

use std::collections::HashMap;

use godwit_common::Result;
use godwit_plan::{ColumnId, ColumnSet, Expr, ExprKind, Join, Match, Node, NodeId, Plan};
use godwit_types::SqlType;

use super::common_expressions::with_names;
use super::{Context, bottom_up, extend, passes_on, with_inputs};
use crate::estimate::Estimates;

/// Joins must multiply the rows of the compared side by more than this, since comparisons below them are also made for
/// rows that have no match.
const REPEATED_MIN: f64 = 4.0;

/// Maximum number of comparisons of a node that move.
const MOVED_MAX: usize = 64;

/// Moves comparisons of texts in projections and aggregations below joins.
pub(crate) fn compare_early(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let check = context.check;
    let mut estimates = None;
    bottom_up(plan, check, &mut |plan, id| match plan.node(id) {
        Node::Project(_) | Node::Aggregate(_) => {
            let input = plan.node(id).inputs()[0];
            let compared = match plan.node(input) {
                Node::Join(_) | Node::Filter { .. } => comparisons(plan.node(id)),
                _ => Vec::new(),
            };
            if compared.is_empty() {
                return Ok(id);
            }
            let estimates = estimates.get_or_insert_with(|| Estimates::new(plan, None));
            move_down(plan, context, estimates, id, input, compared)
        }
        _ => Ok(id),
    })
}

/// Returns the comparisons of a text column with constants in a node's expressions, each once.
fn comparisons(node: &Node) -> Vec<Expr> {
    let mut found: Vec<Expr> = Vec::new();
    node.for_each_expr(&mut |expr| {
        expr.for_each(&mut |part| {
            if found.len() < MOVED_MAX && is_comparison(part) && !found.contains(part) {
                found.push(part.clone());
            }
        });
    });
    found
}

fn is_comparison(expr: &Expr) -> bool {
    let is_text = |expr: &Expr| expr.as_column().is_some() && expr.ty == SqlType::Varchar;
    let is_constant = |expr: &Expr| expr.as_literal().is_some();
    match &expr.kind {
        ExprKind::Compare(_, left, right) => is_text(left) && is_constant(right) || is_constant(left) && is_text(right),
        ExprKind::InList(input, list) => is_text(input) && list.iter().all(is_constant),
        ExprKind::Match { kind: Match::Like | Match::ILike, input, pattern, escape: None } => {
            is_text(input) && is_constant(pattern)
        }
        _ => false,
    }
}

/// Moves those comparisons of a node to where their columns come from that joins would repeat.
fn move_down(
    plan: &mut Plan,
    context: &mut Context<'_>,
    estimates: &Estimates,
    id: NodeId,
    input: NodeId,
    compared: Vec<Expr>,
) -> Result<NodeId> {
    let mut names: HashMap<Expr, ColumnId> = HashMap::new();
    let mut moved: HashMap<NodeId, Vec<(ColumnId, Expr)>> = HashMap::new();
    for expr in compared {
        if let Some(source) = source(plan, context, estimates, input, &expr.columns()) {
            let column = plan.add_column("compared", expr.ty.clone(), expr.nullable);
            names.insert(expr.clone(), column);
            moved.entry(source).or_default().push((column, expr));
        }
    }
    if moved.is_empty() {
        return Ok(id);
    }
    let below = place(plan, context, input, &mut moved)?;
    assert!(moved.is_empty(), "sources are below the joins");
    let node = plan.node(id).clone().map_exprs(&mut |expr| with_names(expr, &names));
    let node = node.map_inputs(&mut |_| below);
    Ok(plan.add(node))
}

/// Returns the side of a join below the node that has these columns as the node has them, in the fewest rows; `None`
/// unless joins multiply these.
fn source(
    plan: &Plan,
    context: &mut Context<'_>,
    estimates: &Estimates,
    input: NodeId,
    columns: &ColumnSet,
) -> Option<NodeId> {
    // Columns of LETs and lambdas belong to the expression.
    if !columns.is_subset(&context.properties.outputs(plan, input)) {
        return None;
    }
    let mut fewest: Option<(NodeId, f64)> = None;
    let mut id = input;
    loop {
        id = match plan.node(id) {
            // Whatever is right below a filter may be looking for its conditions.
            Node::Filter { input, .. } => *input,
            Node::Join(join) => match side_of(plan, context, join, columns) {
                Some(side) => {
                    let rows = estimates.rows(plan, side);
                    fewest = fewest.filter(|(_, least)| *least < rows).or(Some((side, rows)));
                    side
                }
                None => break,
            },
            _ => break,
        };
    }
    let (source, rows) = fewest?;
    (rows * REPEATED_MIN < estimates.rows(plan, input)).then_some(source)
}

/// Returns the input of a join that has the columns, unless the join may replace its values by NULL.
fn side_of(plan: &Plan, context: &mut Context<'_>, join: &Join, columns: &ColumnSet) -> Option<NodeId> {
    let (keeps_left, keeps_right) = passes_on(&join.kind);
    let mut has = |side: NodeId| columns.is_subset(&context.properties.outputs(plan, side));
    if keeps_left && has(join.left) {
        return Some(join.left);
    }
    (keeps_right && has(join.right)).then_some(join.right)
}

/// Adds columns to the nodes that they are for.
fn place(
    plan: &mut Plan,
    context: &mut Context<'_>,
    id: NodeId,
    moved: &mut HashMap<NodeId, Vec<(ColumnId, Expr)>>,
) -> Result<NodeId> {
    let own = moved.remove(&id);
    let below = match plan.node(id) {
        Node::Filter { .. } | Node::Join(_) if !moved.is_empty() => {
            with_inputs(plan, id, &mut |plan, input| place(plan, context, input, moved))?
        }
        _ => id,
    };
    Ok(match own {
        Some(columns) => extend(plan, context, below, columns),
        None => below,
    })
}
