//! EXISTS with equal keys and one comparison needs only the least and the greatest value of each key.
//!
//! ```text
//! SemiJoin l.k = r.k AND r.x <> l.x            SemiJoin l.k = r.k AND (least <> l.x OR greatest <> l.x)
//! ├─ l                                  ──▶    ├─ l
//! └─ r                                         └─ Aggregate by r.k: least := min(r.x), greatest := max(r.x)
//! ```
//!
//! If any value is greater than `l.x`, the greatest is; if any value differs, the least or the greatest does. NULLs
//! never compare as TRUE, and `min` and `max` skip them; if all values are NULL, so are both extremes, and the
//! comparison isn't TRUE. So each key occurs once, however many rows have it. Floats are skipped, since extremes treat
//! NaN differently; so are joins whose left side is the build side (`RightSemi`, `RightAnti`): there the executor keeps
//! the extremes with the build rows, which costs less than a group for each key.
//!
//! Bound: one walk.

use godwit_common::Result;
use godwit_plan::{
    Aggregate, AggregateCall, ColumnId, ColumnSet, Comparison, Expr, ExprKind, Join, JoinKind, Node, NodeId, Plan,
};
use godwit_types::SqlType;

use super::{Context, aggregate_call, bottom_up, column, used_columns};
use crate::properties::effects::is_volatile;

/// Aggregates the right sides of semi and anti joins.
pub(crate) fn use_extremes(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let check = context.check;
    bottom_up(plan, check, &mut |plan, id| {
        Ok(match plan.node(id) {
            Node::Join(join) if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) => {
                let join = join.clone();
                rewrite(plan, context, join).unwrap_or(id)
            }
            _ => id,
        })
    })
}

/// The conditions of a join: equal keys, and one comparison of a value of each side.
struct Parts {
    /// (comparison, expression of the left side, of the right side).
    keys: Vec<(Comparison, Expr, Expr)>,
    /// Comparison of the value: `left comparison right`.
    comparison: Comparison,
    left: Expr,
    right: Expr,
}

fn rewrite(plan: &mut Plan, context: &mut Context<'_>, join: Join) -> Option<NodeId> {
    let parts = split(plan, context, &join)?;
    let key_columns: ColumnSet = parts.keys.iter().filter_map(|(_, _, key)| key.as_column()).collect();
    if context.properties.is_unique(plan, join.right, &key_columns) {
        return None;
    }
    let mut keys: Vec<(ColumnId, Expr)> = Vec::with_capacity(parts.keys.len());
    let mut conditions: Vec<Expr> = Vec::with_capacity(parts.keys.len() + 1);
    for (comparison, left, key) in parts.keys {
        let known = keys.iter().find(|(_, other)| *other == key).map(|&(id, _)| id);
        let id = known.unwrap_or_else(|| key_column(plan, &key));
        conditions.push(Expr::compare(comparison, left, column(plan, id, key.nullable)));
        if known.is_none() {
            keys.push((id, key));
        }
    }
    let mut aggregates = Vec::new();
    let mut extreme = |plan: &mut Plan, name: &str| -> Option<Expr> {
        let call = extreme_call(context, name, &parts.right)?;
        let id = plan.add_column(name, call.ty.clone(), true);
        aggregates.push((id, call));
        Some(column(plan, id, true))
    };
    let tests: Vec<Expr> = match parts.comparison {
        Comparison::Less | Comparison::LessOrEqual => vec![extreme(plan, "max")?],
        Comparison::Greater | Comparison::GreaterOrEqual => vec![extreme(plan, "min")?],
        _ => vec![extreme(plan, "min")?, extreme(plan, "max")?],
    };
    let test = Expr::or(tests.into_iter().map(|value| Expr::compare(parts.comparison, parts.left.clone(), value)));
    conditions.push(test);
    let right = Aggregate { input: join.right, keys, sets: None, grouping_id: None, aggregates };
    let right = plan.add(Node::Aggregate(right));
    Some(plan.add(Node::Join(Join { right, conditions, ..join })))
}

/// Returns a column with the key's value; a key that is a column keeps its id.
fn key_column(plan: &mut Plan, key: &Expr) -> ColumnId {
    match key.as_column() {
        Some(column) => column,
        None => plan.add_column("key", key.ty.clone(), key.nullable),
    }
}

fn extreme_call(context: &Context<'_>, name: &str, value: &Expr) -> Option<AggregateCall> {
    let call = aggregate_call(context.functions, name, vec![value.clone()])?;
    let keeps_type = matches!(&call.args[..], [arg] if arg.ty == value.ty) && call.ty == value.ty;
    keeps_type.then(|| AggregateCall { nullable: true, span: value.span, ..call })
}

fn split(plan: &Plan, context: &mut Context<'_>, join: &Join) -> Option<Parts> {
    let left_columns = context.properties.outputs(plan, join.left);
    let right_columns = context.properties.outputs(plan, join.right);
    let mut keys = Vec::new();
    let mut others = Vec::new();
    for condition in &join.conditions {
        let ExprKind::Compare(comparison, a, b) = &condition.kind else { return None };
        let sides = |a: &Expr, b: &Expr| {
            let (a, b) = (used_columns(plan, [a]), used_columns(plan, [b]));
            !b.is_empty() && a.is_subset(&left_columns) && b.is_subset(&right_columns)
        };
        let (comparison, left, right) = match () {
            () if condition.has_subquery() || is_volatile(plan, condition) => return None,
            () if sides(a, b) => (*comparison, a, b),
            () if sides(b, a) => (comparison.swapped(), b, a),
            () => return None,
        };
        let is_key = matches!(comparison, Comparison::Equal | Comparison::NotDistinct);
        let target = if is_key { &mut keys } else { &mut others };
        target.push((comparison, (**left).clone(), (**right).clone()));
    }
    let [(comparison, left, right)] = <[_; 1]>::try_from(others).ok()?;
    let allowed = comparison != Comparison::Distinct && !keys.is_empty() && has_extremes(&right.ty);
    allowed.then_some(Parts { keys, comparison, left, right })
}

/// Returns true for types whose extremes follow their order without exceptions.
fn has_extremes(ty: &SqlType) -> bool {
    ty.is_integer() || ty.is_decimal() || ty.is_datetime() || *ty == SqlType::Varchar
}
