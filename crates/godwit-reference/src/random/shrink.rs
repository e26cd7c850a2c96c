//! Smaller plans, for finding out why a test failed.

use godwit_plan::{ColumnSet, Expr, ExprKind, Node, NodeId, Plan, SharedId};

use crate::validate::validate;

/// A replacement of a node.
#[derive(Clone)]
enum Change {
    /// By one of its inputs.
    ByInput(NodeId, NodeId),
    /// By another node.
    ByNode(NodeId, Box<Node>),
}

/// Returns plans that differ in one part: a node is replaced by one of its inputs, a condition, an aggregate or a row
/// is left out, a subquery becomes NULL. Try each, keep the first that fails as before, and start again with it.
pub fn shrink(plan: &Plan) -> impl Iterator<Item = Plan> {
    let changes: Vec<Change> = reachable(plan).into_iter().flat_map(|id| changes_of(plan, id)).collect();
    let (plan, whole) = (plan.clone(), plan.clone());
    let columns = if plan.output.len() > 1 { plan.output.len() } else { 0 };
    let fewer_columns = (0..columns).map(move |index| {
        let mut plan = whole.clone();
        plan.output.remove(index);
        plan
    });
    let changed = changes.into_iter().filter_map(move |change| {
        let mut plan = plan.clone();
        let root = plan.root?;
        plan.root = Some(changed(&mut plan, root, &change));
        let shared: Vec<(SharedId, NodeId)> = plan.shared_plans().map(|(id, shared)| (id, shared.root)).collect();
        for (id, root) in shared {
            plan.shared_mut(id).root = changed(&mut plan, root, &change);
        }
        let made = plan.output_set(plan.root?);
        plan.output.retain(|output| made.contains(output.column));
        (!plan.output.is_empty() && validate(&plan).is_ok()).then_some(plan)
    });
    changed.chain(fewer_columns)
}

/// Returns the nodes that the result depends on, from the top.
fn reachable(plan: &Plan) -> Vec<NodeId> {
    let mut open: Vec<NodeId> =
        plan.root.into_iter().chain(plan.shared_plans().map(|(_, shared)| shared.root)).collect();
    let mut found = Vec::new();
    while let Some(id) = open.pop() {
        if found.contains(&id) {
            continue;
        }
        found.push(id);
        let node = plan.node(id);
        open.extend(node.inputs());
        node.for_each_expr(&mut |expr| expr.for_each(&mut |part| open.extend(subplan(part))));
    }
    found
}

fn subplan(expr: &Expr) -> Option<NodeId> {
    match &expr.kind {
        ExprKind::Subquery(subquery) => Some(subquery.plan),
        _ => None,
    }
}

fn changes_of(plan: &Plan, id: NodeId) -> Vec<Change> {
    let node = plan.node(id);
    // Nodes above a sort may depend on it.
    let inputs = if matches!(node, Node::Sort { .. }) { Vec::new() } else { node.inputs() };
    let mut changes: Vec<Change> = inputs.into_iter().map(|input| Change::ByInput(id, input)).collect();
    let mut by = |node: Node| changes.push(Change::ByNode(id, Box::new(node)));
    match node {
        Node::Filter { input, conditions } => {
            for conditions in one_less(conditions) {
                by(Node::Filter { input: *input, conditions });
            }
        }
        Node::Join(join) => {
            for conditions in one_less(&join.conditions) {
                by(Node::Join(godwit_plan::Join { conditions, ..join.clone() }));
            }
        }
        Node::Aggregate(aggregate) => {
            for aggregates in one_less(&aggregate.aggregates) {
                by(Node::Aggregate(godwit_plan::Aggregate { aggregates, ..aggregate.clone() }));
            }
        }
        Node::Project(project) => {
            for columns in one_less(&project.columns) {
                by(Node::Project(godwit_plan::Project { columns, ..project.clone() }));
            }
        }
        Node::Window(window) => {
            for calls in one_less(&window.calls) {
                by(Node::Window(godwit_plan::Window { calls, ..window.clone() }));
            }
        }
        Node::Values(values) => {
            for rows in one_less(&values.rows) {
                by(Node::Values(godwit_plan::Values { rows, ..values.clone() }));
            }
        }
        _ => {}
    }
    let mut subqueries = ColumnSet::new();
    node.for_each_expr(&mut |expr| {
        expr.for_each(&mut |part| {
            if let ExprKind::Subquery(subquery) = &part.kind {
                subqueries.extend(subquery.columns.iter().copied());
            }
        });
    });
    if !subqueries.is_empty() {
        by(node.clone().map_exprs(&mut |expr| expr.transform(&mut without_subquery)));
    }
    changes
}

/// Replaces a subquery by NULL, or by FALSE where NULL isn't possible.
fn without_subquery(expr: Expr) -> Expr {
    match &expr.kind {
        ExprKind::Subquery(_) if expr.nullable => Expr::null(expr.ty),
        ExprKind::Subquery(_) => Expr::boolean(false),
        _ => expr,
    }
}

/// Returns copies of the list, each without one of its elements.
fn one_less<T: Clone>(list: &[T]) -> Vec<Vec<T>> {
    (0..list.len())
        .map(|left_out| {
            let kept = list.iter().enumerate().filter(|&(index, _)| index != left_out);
            kept.map(|(_, element)| element.clone()).collect()
        })
        .collect()
}

/// Copies the tree below a node, applying the change.
fn changed(plan: &mut Plan, id: NodeId, change: &Change) -> NodeId {
    let node = match change {
        Change::ByInput(at, input) if *at == id => return *input,
        Change::ByNode(at, node) if *at == id => return plan.add(Node::clone(node)),
        _ => plan.node(id).clone(),
    };
    let node = node.map_inputs(&mut |input| changed(plan, input, change));
    let node = node.map_exprs(&mut |expr| {
        expr.transform(&mut |mut part| {
            if let ExprKind::Subquery(subquery) = &mut part.kind {
                subquery.plan = changed(plan, subquery.plan, change);
            }
            part
        })
    });
    plan.add(node)
}
