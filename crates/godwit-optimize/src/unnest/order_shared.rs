//! Ordering of shared plans as the plan guarantees: each after those that it uses. Domains are added last, but older
//! shared plans may use them.

use std::collections::HashMap;

use godwit_plan::{Node, NodeId, Plan, SharedId, SharedPlan, Use};

use super::{replace_plans, subquery_plans};

/// Sorts the shared plans, and updates all uses.
pub(super) fn order_shared(plan: &mut Plan) {
    let ids: Vec<SharedId> = plan.shared_plans().map(|(id, _)| id).collect();
    let used: Vec<Vec<SharedId>> = ids.iter().map(|&id| uses(plan, plan.shared(id).root)).collect();
    if ids.iter().zip(&used).all(|(id, used)| used.iter().all(|other| other < id)) {
        return;
    }
    let order = used_first(&used);
    let places: HashMap<SharedId, SharedId> = order.iter().zip(&ids).map(|(&old, &new)| (ids[old], new)).collect();
    let mut sorted: Vec<SharedPlan> = order.iter().map(|&old| plan.shared(ids[old]).clone()).collect();
    for shared in &mut sorted {
        shared.root = renumbered(plan, shared.root, &places);
    }
    for (&id, shared) in ids.iter().zip(sorted) {
        *plan.shared_mut(id) = shared;
    }
    plan.root = plan.root.map(|root| renumbered(plan, root, &places));
}

/// Returns the shared plans that a subtree uses.
fn uses(plan: &Plan, root: NodeId) -> Vec<SharedId> {
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        let node = plan.node(id);
        if let Node::Use(shared) = node {
            found.push(shared.shared);
        }
        open.extend(node.inputs());
        node.for_each_expr(&mut |expr| open.extend(subquery_plans(expr)));
    }
    found
}

/// Returns positions in depth-first post-order: each after those that it uses.
fn used_first(used: &[Vec<SharedId>]) -> Vec<usize> {
    let mut order = Vec::new();
    let mut seen = vec![false; used.len()];
    let mut open: Vec<(usize, bool)> = (0..used.len()).rev().map(|index| (index, false)).collect();
    while let Some((index, is_done)) = open.pop() {
        if is_done {
            order.push(index);
        } else if !std::mem::replace(&mut seen[index], true) {
            open.push((index, true));
            open.extend(used[index].iter().map(|id| (id.index(), false)));
        }
    }
    order
}

fn renumbered(plan: &mut Plan, id: NodeId, places: &HashMap<SharedId, SharedId>) -> NodeId {
    let node = plan.node(id).clone();
    let mut plans = Vec::new();
    node.for_each_expr(&mut |expr| plans.extend(subquery_plans(expr)));
    let plans = plans.into_iter().map(|inner| (inner, renumbered(plan, inner, places))).collect();
    let node = node.map_exprs(&mut |expr| replace_plans(expr, &plans));
    let node = match node.map_inputs(&mut |input| renumbered(plan, input, places)) {
        Node::Use(shared) => Node::Use(Use { shared: places[&shared.shared], ..shared }),
        other => other,
    };
    plan.add(node)
}
