//! Checks that plans have no nested queries, for tests.

use godwit_plan::{ExprKind, Node, NodeId, Plan, SubqueryKind};

/// Checks that no join is dependent, that all subqueries in expressions are scalar and uncorrelated, and that shared
/// plans come before those that use them.
///
/// # Panics
/// If the plan doesn't meet these conditions.
pub fn assert_unnested(plan: &Plan) {
    if let Some(what) = nested(plan) {
        panic!("{what}\n{}", plan.display());
    }
}

/// Describes what is still nested.
pub fn nested(plan: &Plan) -> Option<String> {
    let mut shared = plan.shared_plans().map(|(id, shared)| (shared.root, Some(id.index())));
    shared.find_map(|(root, own)| nested_in(plan, root, own)).or_else(|| nested_in(plan, plan.root?, None))
}

fn nested_in(plan: &Plan, root: NodeId, shared: Option<usize>) -> Option<String> {
    if !plan.free_columns(root).is_empty() {
        return Some(format!("{root} has free columns"));
    }
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        let node = plan.node(id);
        match (node, shared) {
            (Node::Join(join), _) if !plan.free_columns(join.right).is_disjoint(&plan.output_set(join.left)) => {
                return Some(format!("the join {id} is dependent"));
            }
            (Node::Use(used), Some(own)) if used.shared.index() >= own => {
                return Some(format!("{} comes behind its use", used.shared));
            }
            _ => {}
        }
        open.extend(node.inputs());
        let mut found = None;
        node.for_each_expr(&mut |expr| {
            expr.for_each(&mut |part| {
                if let ExprKind::Subquery(subquery) = &part.kind {
                    if subquery.kind != SubqueryKind::Scalar || !plan.free_columns(subquery.plan).is_empty() {
                        found = Some(format!("{id} {} has a subquery", plan.describe(node)));
                    }
                    open.push(subquery.plan);
                }
            });
        });
        if found.is_some() {
            return found;
        }
    }
    None
}
