//! The rewriting passes, and how they walk a plan.
//!
//! A plan is several trees: the main one, one for each shared plan that is used, and one for each subquery in an
//! expression. All passes process all of them. Nodes never change: a pass makes new ones where something changes and
//! leaves the rest alone, so that what is known about a node by its id ([`Properties`]) stays valid.
//!
//! Passes that need nothing from above use [`bottom_up`], which doesn't recurse. Those that carry something down
//! (conditions, needed columns, limits) recurse once for each level of the plan.

pub(crate) mod aggregate_early;
pub(crate) mod aggregates;
pub(crate) mod common_expressions;
pub(crate) mod common_subplans;
pub(crate) mod compare_early;
pub(crate) mod empty;
pub(crate) mod extremes;
pub(crate) mod filter_shared;
pub(crate) mod fold;
pub(crate) mod limits;
pub(crate) mod prune;
pub(crate) mod push_filters;
pub(crate) mod rename;
pub(crate) mod semi_joins;
pub(crate) mod share;
pub(crate) mod simplify;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use godwit_common::Result;
use godwit_plan::{
    AggregateCall, ArgumentType, ColumnId, ColumnSet, Expr, ExprKind, FunctionRegistry, JoinKind, Node, NodeId, Plan,
    Project, SharedId, Subquery, Values,
};

use crate::OptimizerSettings;
use crate::properties::Properties;

/// Context of the passes besides the plan.
pub(crate) struct Context<'a> {
    /// The functions, for calls that a rewrite adds and for constant folding.
    pub(crate) functions: &'a dyn FunctionRegistry,
    /// Fails when the statement is cancelled.
    pub(crate) check: &'a dyn Fn() -> Result<()>,
    /// Properties of nodes.
    pub(crate) properties: Properties,
    /// Whether to rely on bounds proven by statistics.
    pub(crate) trust_ranges: bool,
}

impl<'a> Context<'a> {
    pub(crate) fn new(functions: &'a dyn FunctionRegistry, settings: &OptimizerSettings<'a>) -> Self {
        let properties = Properties::default();
        Self { functions, check: settings.check, properties, trust_ranges: settings.trust_ranges }
    }
}

/// Returns the shared plans that the result depends on, each after those that it uses.
pub(crate) fn used_shared_plans(plan: &Plan) -> Vec<SharedId> {
    plan.used_shared_plans().into_iter().map(|(shared, _)| shared).collect()
}

/// Replaces the roots of all trees but those of subqueries: of the shared plans that are used, and of the main one.
pub(crate) fn for_each_root(
    plan: &mut Plan,
    rewrite: &mut dyn FnMut(&mut Plan, NodeId) -> Result<NodeId>,
) -> Result<()> {
    for shared in used_shared_plans(plan) {
        let root = rewrite(plan, plan.shared(shared).root)?;
        plan.shared_mut(shared).root = root;
    }
    if let Some(root) = plan.root {
        plan.root = Some(rewrite(plan, root)?);
    }
    Ok(())
}

/// Rewrites all trees, each node after everything below it, including the subqueries in its expressions. `rewrite`
/// takes a node whose inputs have been rewritten, and returns its replacement.
pub(crate) fn bottom_up(
    plan: &mut Plan,
    check: &dyn Fn() -> Result<()>,
    rewrite: &mut dyn FnMut(&mut Plan, NodeId) -> Result<NodeId>,
) -> Result<()> {
    for_each_root(plan, &mut |plan, root| {
        let mut done: HashMap<NodeId, NodeId> = HashMap::new();
        let mut open = vec![(root, false)];
        while let Some((id, is_ready)) = open.pop() {
            if !is_ready {
                open.push((id, true));
                open.extend(plan.node(id).inputs().into_iter().map(|input| (input, false)));
                open.extend(subquery_plans(plan.node(id)).into_iter().map(|subquery| (subquery, false)));
                continue;
            }
            check()?;
            let same = with_below(plan, id, &mut |_, below| Ok(done[&below]))?;
            done.insert(id, rewrite(plan, same)?);
        }
        Ok(done[&root])
    })
}

/// Returns the plans of the subqueries in a node's expressions.
pub(crate) fn subquery_plans(node: &Node) -> Vec<NodeId> {
    let mut plans = Vec::new();
    for_each_subquery(node, &mut |subquery| plans.push(subquery.plan));
    plans
}

/// Calls `visit` for each subquery in a node's expressions.
pub(crate) fn for_each_subquery(node: &Node, visit: &mut dyn FnMut(&Subquery)) {
    node.for_each_expr(&mut |expr| {
        expr.for_each(&mut |part| {
            if let ExprKind::Subquery(subquery) = &part.kind {
                visit(subquery);
            }
        });
    });
}

/// Returns the node over other inputs and subqueries, or the node itself if nothing changes.
pub(crate) fn with_below(
    plan: &mut Plan,
    id: NodeId,
    below: &mut dyn FnMut(&mut Plan, NodeId) -> Result<NodeId>,
) -> Result<NodeId> {
    let inputs = plan.node(id).inputs();
    let subqueries = subquery_plans(plan.node(id));
    let mut changed = HashMap::new();
    for old in inputs.into_iter().chain(subqueries) {
        let new = below(plan, old)?;
        if new != old {
            changed.insert(old, new);
        }
    }
    Ok(replace_below(plan, id, &changed))
}

/// Returns the node over other inputs, or the node itself if nothing changes. `below` is called for each input, in
/// order.
pub(crate) fn with_inputs(
    plan: &mut Plan,
    id: NodeId,
    below: &mut dyn FnMut(&mut Plan, NodeId) -> Result<NodeId>,
) -> Result<NodeId> {
    let mut changed = HashMap::new();
    for old in plan.node(id).inputs() {
        let new = below(plan, old)?;
        if new != old {
            changed.insert(old, new);
        }
    }
    Ok(replace_below(plan, id, &changed))
}

/// Returns the node with some inputs and subqueries replaced.
pub(crate) fn replace_below(plan: &mut Plan, id: NodeId, changed: &HashMap<NodeId, NodeId>) -> NodeId {
    if changed.is_empty() {
        return id;
    }
    let new_of = |old: NodeId| changed.get(&old).copied().unwrap_or(old);
    let node = plan.node(id).clone().map_inputs(&mut |input| new_of(input));
    let node = match subquery_plans(&node).is_empty() {
        true => node,
        false => node.map_exprs(&mut |expr| with_subqueries(expr, &new_of)),
    };
    plan.add(node)
}

/// Rewrites the plans of subqueries in a node's expressions.
pub(crate) fn map_subqueries(
    plan: &mut Plan,
    id: NodeId,
    rewrite: &mut dyn FnMut(&mut Plan, &Subquery) -> Result<NodeId>,
) -> Result<NodeId> {
    let mut subqueries = Vec::new();
    for_each_subquery(plan.node(id), &mut |subquery| subqueries.push(subquery.clone()));
    let mut changed = HashMap::new();
    for subquery in subqueries {
        let new = rewrite(plan, &subquery)?;
        if new != subquery.plan {
            changed.insert(subquery.plan, new);
        }
    }
    Ok(replace_below(plan, id, &changed))
}

fn with_subqueries(expr: Expr, new_of: &dyn Fn(NodeId) -> NodeId) -> Expr {
    if !expr.has_subquery() {
        return expr;
    }
    expr.transform(&mut |mut part| {
        if let ExprKind::Subquery(subquery) = &mut part.kind {
            subquery.plan = new_of(subquery.plan);
        }
        part
    })
}

/// Returns a column as an expression.
pub(crate) fn column(plan: &Plan, id: ColumnId, nullable: bool) -> Expr {
    Expr::new(ExprKind::Column(id), plan.column(id).ty.clone(), nullable)
}

/// Returns a call of an aggregate function, with its arguments cast as it takes them; `None` if none takes them.
pub(crate) fn aggregate_call(functions: &dyn FunctionRegistry, name: &str, args: Vec<Expr>) -> Option<AggregateCall> {
    fn of(arg: &Expr) -> ArgumentType<'_> {
        ArgumentType { ty: &arg.ty, value: None, nullable: arg.nullable, lambda_parameters: None }
    }
    let arguments: Vec<ArgumentType<'_>> = args.iter().map(of).collect();
    let found = functions.aggregate(name, &arguments, &[]).ok()?;
    Some(AggregateCall::of(found, args))
}

/// Returns the columns that expressions use, including those that their subqueries take from outside.
pub(crate) fn used_columns<'e>(plan: &Plan, exprs: impl IntoIterator<Item = &'e Expr>) -> ColumnSet {
    let mut used = ColumnSet::new();
    for expr in exprs {
        used.union_with(&expr.columns());
        expr.for_each(&mut |part| {
            if let ExprKind::Subquery(subquery) = &part.kind {
                used.union_with(&plan.free_columns(subquery.plan));
            }
        });
    }
    used
}

/// Returns for each side of a join, left and right, whether its rows are passed on as they are: some of them, or some
/// several times, but none with NULLs in place of its values.
pub(crate) fn passes_on(kind: &JoinKind) -> (bool, bool) {
    match kind {
        JoinKind::Inner => (true, true),
        JoinKind::Left | JoinKind::Semi | JoinKind::Anti | JoinKind::Mark { .. } | JoinKind::Single => (true, false),
        JoinKind::Right | JoinKind::RightSemi | JoinKind::RightAnti => (false, true),
        JoinKind::Full | JoinKind::AsOf { .. } | JoinKind::Positional => (false, false),
    }
}

/// Returns the rows for which all conditions are TRUE: the input itself if there are no conditions.
pub(crate) fn filter(plan: &mut Plan, input: NodeId, conditions: Vec<Expr>) -> NodeId {
    if conditions.is_empty() { input } else { plan.add(Node::Filter { input, conditions }) }
}

/// Returns a node with these columns and no rows.
pub(crate) fn no_rows(plan: &mut Plan, columns: Vec<ColumnId>) -> NodeId {
    plan.add(Node::Values(Values { columns, rows: Vec::new() }))
}

/// Projects all columns of the input, and further ones.
pub(crate) fn extend(
    plan: &mut Plan,
    context: &mut Context<'_>,
    input: NodeId,
    further: Vec<(ColumnId, Expr)>,
) -> NodeId {
    let columns = plan.outputs(input);
    extend_columns(plan, context, input, columns, further)
}

/// Projects some columns of the input, and further ones.
pub(crate) fn extend_columns(
    plan: &mut Plan,
    context: &mut Context<'_>,
    input: NodeId,
    columns: Vec<ColumnId>,
    further: Vec<(ColumnId, Expr)>,
) -> NodeId {
    let nullable = context.properties.nullable(plan, input);
    let passed = columns.into_iter().map(|id| (id, column(plan, id, nullable.contains(id))));
    let columns = passed.chain(further).collect();
    plan.add(Node::Project(Project { input, columns }))
}
