//! Join order: plans of TPC-H, the search against trying every tree, random trees against the reference, and time.

mod random;
mod samples;
mod search;
mod time;
mod tpch;
mod walk;

use godwit_common::Result;
use godwit_plan::{Join, Node, NodeId, Plan};

use super::{JoinOrder, order_joins};

fn go_on() -> Result<()> {
    Ok(())
}

/// Returns the plan with its joins in the cheapest order.
fn ordered(mut plan: Plan) -> Plan {
    order_joins(&mut plan, JoinOrder::Cost, None, &go_on).expect("nothing can fail");
    plan
}

fn nodes_below(plan: &Plan, node: NodeId) -> Vec<NodeId> {
    let mut all = Vec::new();
    let mut open = vec![node];
    while let Some(id) = open.pop() {
        all.push(id);
        open.extend(plan.node(id).inputs().into_iter().rev());
    }
    all
}

/// Returns all joins of a plan, from the top.
fn joins(plan: &Plan) -> Vec<Join> {
    let nodes = nodes_below(plan, plan.root.expect("the plan is whole"));
    let join = |id| match plan.node(id) {
        Node::Join(join) => Some(join.clone()),
        _ => None,
    };
    nodes.into_iter().filter_map(join).collect()
}

/// Returns the names of the tables below a node, sorted.
fn tables(plan: &Plan, node: NodeId) -> Vec<String> {
    let table = |id: NodeId| match plan.node(id) {
        Node::Scan(scan) => Some(scan.relation.name().to_owned()),
        _ => None,
    };
    let mut tables: Vec<String> = nodes_below(plan, node).into_iter().filter_map(table).collect();
    tables.sort();
    tables
}
