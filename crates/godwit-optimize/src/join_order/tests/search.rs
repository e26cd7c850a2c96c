//! Dynamic programming compared with exhaustive search.

use std::collections::HashMap;
use std::rc::Rc;

use godwit_plan::{Expr, Node, Plan, Values};
use godwit_types::SqlType;
use proptest::prelude::*;

use super::go_on;
use crate::estimate::{ColumnEstimate, Domain, Estimates};
use crate::join_order::conflict::{Operation, Rule};
use crate::join_order::cost::{Cardinality, Estimate};
use crate::join_order::enumerate::{JoinTree, best_tree};
use crate::join_order::graph::{JoinGraph, KeyClass, Member, Operator, Relation, RelationSet, Step, bits, one};

/// Builds a graph of relations with these rows, and edges (a, b, domain).
fn graph_of(rows: &[f64], edges: &[(usize, usize, f64)]) -> JoinGraph {
    let mut plan = Plan::new();
    let node = plan.add(Node::Values(Values { columns: Vec::new(), rows: Vec::new() }));
    plan.root = Some(node);
    let estimates = Estimates::new(&plan, None);
    let relation = |rows: &f64| {
        let mut estimate = estimates.of(&plan, node).as_ref().clone();
        estimate.rows = *rows;
        Relation { node, estimate: Rc::new(estimate), joined_by: None }
    };
    let member = |relation: usize, edge: usize, domain: f64| {
        let mut estimate = ColumnEstimate::unknown(&SqlType::BigInt, domain);
        estimate.domain = Domain::Known(domain);
        Member { relation, expr: Expr::bigint(edge as i64), estimate: Rc::new(estimate) }
    };
    let class = |(at, (a, b, domain)): (usize, &(usize, usize, f64))| {
        KeyClass::new(vec![member(*a, at, *domain), member(*b, at, *domain)], None)
    };
    let mut graph = JoinGraph {
        relations: rows.iter().map(relation).collect(),
        classes: edges.iter().enumerate().map(class).collect(),
        neighbors: vec![0; rows.len()],
        components: vec![(1 << rows.len()) - 1],
        ..JoinGraph::default()
    };
    edges.iter().for_each(|(a, b, _)| graph.link(one(*a), one(*b)));
    graph
}

fn joined(graph: &JoinGraph, step: Step, a: &Estimate, b: &Estimate, rows: f64) -> Estimate {
    match step {
        Step::Inner => Estimate::of_join(a, b, rows, true),
        Step::Operator { at, is_swapped } => {
            let (left, right) = if is_swapped { (b, a) } else { (a, b) };
            Estimate::of_operator(graph.operators[at].operation, left, right, rows)
        }
    }
}

/// Returns the cost of the cheapest tree without cross products, found by trying all.
fn cheapest(
    set: RelationSet,
    graph: &JoinGraph,
    rows: &Cardinality<'_>,
    known: &mut HashMap<RelationSet, Option<Estimate>>,
) -> Option<Estimate> {
    if set.count_ones() == 1 {
        return Some(Estimate::of_relation(graph, set.trailing_zeros() as usize));
    }
    if let Some(estimate) = known.get(&set) {
        return *estimate;
    }
    let mut best: Option<Estimate> = None;
    let mut left = (set - 1) & set;
    while left != 0 {
        let right = set & !left;
        if let Some(step) = graph.step(left, right)
            && let (Some(a), Some(b)) = (cheapest(left, graph, rows, known), cheapest(right, graph, rows, known))
        {
            let joined = joined(graph, step, &a, &b, rows.rows_of(set));
            if best.is_none_or(|best| joined.cost < best.cost) {
                best = Some(joined);
            }
        }
        left = (left - 1) & set;
    }
    known.insert(set, best);
    best
}

fn cost_of(tree: &JoinTree, graph: &JoinGraph, rows: &Cardinality<'_>) -> (Estimate, RelationSet) {
    match tree {
        JoinTree::Leaf(at) => (Estimate::of_relation(graph, *at), one(*at)),
        JoinTree::Join(a, b) => {
            let ((a, a_set), (b, b_set)) = (cost_of(a, graph, rows), cost_of(b, graph, rows));
            assert_eq!(a_set & b_set, 0);
            let step = graph.step(a_set, b_set).expect("the tree is made of possible joins");
            (joined(graph, step, &a, &b, rows.rows_of(a_set | b_set)), a_set | b_set)
        }
    }
}

proptest! {
    /// Dynamic programming over connected subgraphs finds the same cost as exhaustive search.
    #[test]
    fn the_best_tree_is_the_best_of_all(
        rows in prop::collection::vec(1.0_f64..1e6, 2..7),
        parents in prop::collection::vec(any::<prop::sample::Index>(), 6),
        more in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..3),
        domains in prop::collection::vec(1.0_f64..1e5, 9),
        kinds in prop::collection::vec(0..6_usize, 6),
    ) {
        // The edges form a tree: inner joins, and outer and semi joins of a relation that is the last of its branch.
        let parent = |at: usize| parents[at - 1].index(at);
        let is_leaf = |at: usize| (at + 1..rows.len()).all(|child| parent(child) != at);
        let operation = |at: usize| match kinds[at - 1] {
            0 => Some((Operation::Left, 2.0)),
            1 => Some((Operation::Semi, 0.3)),
            _ => None,
        };
        let operators: Vec<(usize, (Operation, f64))> =
            (1..rows.len()).filter(|&at| is_leaf(at)).filter_map(|at| Some((at, operation(at)?))).collect();
        let is_right = |at: usize| operators.iter().any(|(right, _)| *right == at);
        let mut edges: Vec<(usize, usize, f64)> =
            (1..rows.len()).filter(|&at| !is_right(at)).map(|at| (parent(at), at, domains[at - 1])).collect();
        for (at, (a, b)) in more.iter().enumerate() {
            let (a, b) = (a.index(rows.len()), b.index(rows.len()));
            if a != b && !is_right(a) && !is_right(b) {
                edges.push((a, b, domains[6 + at]));
            }
        }
        let mut graph = graph_of(&rows, &edges);
        for (at, (right, (operation, factor))) in operators.into_iter().enumerate() {
            // A rule that many of the trees break: the operator waits for the first relation.
            let rules = vec![Rule { if_any: one(right), then_all: one(0) }];
            let left = one(parent(right));
            graph.relations[right].joined_by = Some(at);
            graph.link(left, one(right));
            graph.operators.push(Operator { operation, conditions: Vec::new(), left, right: one(right), rules, factor });
        }
        let cardinality = Cardinality::new(&graph);
        let tree = best_tree(&graph, &go_on).expect("nothing can fail").expect("the graph is connected");
        let (found, set) = cost_of(&tree, &graph, &cardinality);
        prop_assert_eq!(bits(set).count(), rows.len());
        let all = (1 << rows.len()) - 1;
        let best = cheapest(all, &graph, &cardinality, &mut HashMap::new()).expect("the graph is connected");
        prop_assert!((found.cost - best.cost).abs() <= best.cost * 1e-9, "{} found, {} possible", found.cost, best.cost);
    }
}
