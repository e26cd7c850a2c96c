//! From a join tree back to a plan: each predicate goes to the lowest join that has all its relations.

use godwit_plan::{Comparison, Expr, Join, JoinKind, Node, NodeId, Plan};

use super::build_side;
use super::conflict::Operation;
use super::enumerate::JoinTree;
use super::graph::{JoinGraph, RelationSet, Step, one};
use crate::estimate::Estimates;

/// Builds the plan of a join tree.
pub(super) fn rebuild(plan: &mut Plan, estimates: &Estimates, graph: &JoinGraph, tree: &JoinTree) -> NodeId {
    let (root, _) = rebuild_set(plan, estimates, graph, tree);
    if graph.constants.is_empty() {
        return root;
    }
    plan.add(Node::Filter { input: root, conditions: graph.constants.clone() })
}

fn rebuild_set(plan: &mut Plan, estimates: &Estimates, graph: &JoinGraph, tree: &JoinTree) -> (NodeId, RelationSet) {
    let (a, b) = match tree {
        JoinTree::Leaf(relation) => return (graph.relations[*relation].node, one(*relation)),
        JoinTree::Join(a, b) => (rebuild_set(plan, estimates, graph, a), rebuild_set(plan, estimates, graph, b)),
    };
    let ((left, left_set), (right, right_set)) = (a, b);
    let conjuncts = new_conjuncts(graph, left_set, right_set);
    let node = match graph.step(left_set, right_set).expect("the tree is made of possible joins") {
        Step::Inner => plan.add(Node::Join(Join { kind: JoinKind::Inner, left, right, conditions: conjuncts })),
        Step::Operator { at, .. } => {
            let operator = &graph.operators[at];
            let kind = match operator.operation {
                Operation::Left => JoinKind::Left,
                Operation::Full => JoinKind::Full,
                Operation::Semi => JoinKind::Semi,
                Operation::Anti => JoinKind::Anti,
            };
            let join = Join { kind, left, right, conditions: operator.conditions.clone() };
            let node = build_side::add(plan, estimates, join);
            match conjuncts.is_empty() {
                true => node,
                false => plan.add(Node::Filter { input: node, conditions: conjuncts }),
            }
        }
    };
    (node, left_set | right_set)
}

/// Returns the conjuncts that can be evaluated once two sets are joined.
fn new_conjuncts(graph: &JoinGraph, left_set: RelationSet, right_set: RelationSet) -> Vec<Expr> {
    let mut conjuncts = Vec::new();
    for class in &graph.classes {
        let of = |set: RelationSet| class.members.iter().find(|member| set & one(member.relation) != 0);
        if let (Some(left), Some(right)) = (of(left_set), of(right_set)) {
            conjuncts.push(Expr::compare(Comparison::Equal, left.expr.clone(), right.expr.clone()));
        }
    }
    for predicate in &graph.predicates {
        let is_in = |set: RelationSet| predicate.relations & !set == 0;
        if is_in(left_set | right_set) && !is_in(left_set) && !is_in(right_set) {
            conjuncts.push(predicate.expr.clone());
        }
    }
    conjuncts
}
