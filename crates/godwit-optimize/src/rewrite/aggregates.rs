//! Simplification of aggregates and windows.
//!
//! - DISTINCT is dropped where it makes no difference: `max(DISTINCT a)`, and arguments that no two rows share.
//! - `count(a)` is `count(*)` if `a` can't be NULL.
//! - Keys that are constants or duplicates of others don't group; identical aggregates are computed once.
//! - Groups of one row each, without aggregates, are just the rows.
//!
//! Whatever is removed is restored in a projection above, under its id.
//!
//! Bound: one walk.

use std::collections::HashMap;

use godwit_common::Result;
use godwit_plan::{
    Aggregate, AggregateCall, AggregateFunction, ColumnId, ColumnSet, Expr, ExprKind, FunctionRegistry, Node, NodeId,
    Plan, Project, WindowCall,
};

use super::{Context, bottom_up, column};
use crate::properties::may_be_null;

/// Simplifies aggregates and windows.
pub(crate) fn simplify_aggregates(plan: &mut Plan, context: &mut Context<'_>) -> Result<()> {
    let check = context.check;
    bottom_up(plan, check, &mut |plan, id| {
        Ok(match plan.node(id) {
            Node::Aggregate(aggregate) => {
                let aggregate = aggregate.clone();
                simplify(plan, context, aggregate)
            }
            Node::Window(window) => {
                let mut window = window.clone();
                let same = take_repeated(&mut window.calls, |call: &WindowCall| call.exprs().any(Expr::is_volatile));
                if same.is_empty() {
                    return Ok(id);
                }
                let id = plan.add(Node::Window(window));
                with_copies(plan, context, id, same)
            }
            _ => id,
        })
    })
}

/// Columns that are copies of others, or constants.
type Copies = Vec<(ColumnId, Copied)>;

enum Copied {
    Of(ColumnId),
    Constant(Expr),
}

fn simplify(plan: &mut Plan, context: &mut Context<'_>, mut aggregate: Aggregate) -> NodeId {
    let mut copies = Copies::new();
    if aggregate.sets.is_none() {
        copies.append(&mut take_needless_keys(&mut aggregate));
    }
    if let Some(id) = without_grouping(plan, context, &aggregate) {
        return with_copies(plan, context, id, copies);
    }
    let input = aggregate.input;
    let nullable = context.properties.nullable_behind_conditions(plan, input);
    let known = context.properties.outputs(plan, input);
    let of_column = |column| known.contains(column).then(|| nullable.contains(column));
    let keys = context.properties.keys(plan, input);
    for (_, call) in &mut aggregate.aggregates {
        let arguments: ColumnSet = call.args.iter().filter_map(Expr::as_column).collect();
        let is_unique = keys.iter().any(|key| key.is_subset(&arguments));
        simplify_call(call, context.functions, is_unique, &of_column);
    }
    copies.append(&mut take_repeated(&mut aggregate.aggregates, |call| call.exprs().any(Expr::is_volatile)));
    let id = plan.add(Node::Aggregate(aggregate));
    with_copies(plan, context, id, copies)
}

fn simplify_call(
    call: &mut AggregateCall,
    functions: &dyn FunctionRegistry,
    is_unique: bool,
    of_column: &dyn Fn(ColumnId) -> Option<bool>,
) {
    if call.distinct && (call.function.ignores_duplicates || is_unique) {
        call.distinct = false;
    }
    if !call.function.depends_on_order && !is_within_group(&call.function) {
        call.order_by.clear();
    }
    let is_count = &*call.function.name == "count" && !call.distinct && call.args.len() == 1;
    if is_count && !may_be_null(&call.args[0], of_column) && !call.args[0].is_volatile() {
        let rows = functions.aggregate("count", &[], &[]).ok().filter(|found| found.ty == call.ty);
        if let Some(rows) = rows {
            call.function = rows.function;
            call.args.clear();
            call.ignore_nulls = false;
        }
    }
}

/// Returns true for functions whose ORDER BY is an argument, even if they claim that the order of rows matters. Only
/// these three are known to work without it.
fn is_within_group(function: &AggregateFunction) -> bool {
    !matches!(&*function.name, "count" | "sum" | "min" | "max" | "avg")
}

/// Removes keys that are constants or equal to another key. One key stays: without any, empty input would make a group.
fn take_needless_keys(aggregate: &mut Aggregate) -> Copies {
    let mut copies = Copies::new();
    let mut seen: HashMap<Expr, ColumnId> = HashMap::new();
    let mut kept = Vec::with_capacity(aggregate.keys.len());
    let mut constants = Vec::new();
    for (id, key) in std::mem::take(&mut aggregate.keys) {
        match seen.get(&key) {
            _ if matches!(key.kind, ExprKind::Literal(_) | ExprKind::Parameter(_)) => constants.push((id, key)),
            Some(&same) if !key.is_volatile() => copies.push((id, Copied::Of(same))),
            _ => {
                seen.insert(key.clone(), id);
                kept.push((id, key));
            }
        }
    }
    if kept.is_empty() && !constants.is_empty() {
        kept.push(constants.remove(0));
    }
    copies.extend(constants.into_iter().map(|(id, key)| (id, Copied::Constant(key))));
    aggregate.keys = kept;
    copies
}

/// Returns the rows themselves, if each is a group and nothing is aggregated.
fn without_grouping(plan: &mut Plan, context: &mut Context<'_>, aggregate: &Aggregate) -> Option<NodeId> {
    let groups_only = aggregate.aggregates.is_empty() && aggregate.sets.is_none() && !aggregate.keys.is_empty();
    let columns: ColumnSet = aggregate.keys.iter().filter_map(|(_, key)| key.as_column()).collect();
    if !groups_only || !context.properties.is_unique(plan, aggregate.input, &columns) {
        return None;
    }
    Some(plan.add(Node::Project(Project { input: aggregate.input, columns: aggregate.keys.clone() })))
}

/// Removes repeated calls.
fn take_repeated<C: Clone + Eq + std::hash::Hash>(
    calls: &mut Vec<(ColumnId, C)>,
    is_volatile: impl Fn(&C) -> bool,
) -> Copies {
    let mut seen: HashMap<C, ColumnId> = HashMap::new();
    let mut copies = Copies::new();
    calls.retain(|(id, call)| match seen.get(call) {
        Some(&same) if !is_volatile(call) => {
            copies.push((*id, Copied::Of(same)));
            false
        }
        _ => {
            seen.insert(call.clone(), *id);
            true
        }
    });
    copies
}

/// Adds a projection of all columns of a node, and the copies.
fn with_copies(plan: &mut Plan, context: &mut Context<'_>, id: NodeId, copies: Copies) -> NodeId {
    if copies.is_empty() {
        return id;
    }
    let nullable = context.properties.nullable(plan, id);
    let further: Vec<(ColumnId, Expr)> = copies
        .into_iter()
        .map(|(own, copied)| match copied {
            Copied::Of(source) => (own, column(plan, source, nullable.contains(source))),
            Copied::Constant(constant) => (own, constant),
        })
        .collect();
    super::extend(plan, context, id, further)
}
