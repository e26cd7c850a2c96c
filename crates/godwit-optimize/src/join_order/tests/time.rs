//! Time limits for ordering the largest graphs of each kind.

use std::time::{Duration, Instant};

use godwit_plan::{JoinKind, NodeId, Plan};

use super::{joins, ordered};
use crate::test_tables::Query;

/// `FROM r0, r1, … WHERE …`, with the pairs of relations that have an equality.
fn graph(relations: usize, edges: impl Iterator<Item = (usize, usize)>) -> Plan {
    let mut query = Query::default();
    let column = |at: usize| format!("c{at}");
    let names: Vec<String> = (0..relations.min(20)).map(column).collect();
    let columns: Vec<(&str, i128)> = names.iter().map(|name| (name.as_str(), 1_000)).collect();
    let scans: Vec<NodeId> = (0..relations)
        .map(|at| query.scan_of_integers(&format!("r{at}"), 1_000 + 77 * at as u64 % 10_000, &columns))
        .collect();
    // Each pair has its own columns as far as there are enough: classes of many members would be cliques.
    let equal = |(a, b): (usize, usize)| format!("r{a}.c{} = r{b}.c{}", b % names.len(), a % names.len());
    let conditions: Vec<String> = edges.map(equal).collect();
    let root = query.filtered_product(&scans, &conditions.join(" AND "));
    query.select(root, &["r0.c0"])
}

/// Debug builds are some ten times slower than release builds.
fn assert_within(limit: Duration, name: &str, plan: Plan) {
    let limit = if cfg!(debug_assertions) { limit * 20 } else { limit };
    let expected = joins(&plan).len();
    let start = Instant::now();
    let plan = ordered(plan);
    let took = start.elapsed();
    assert_eq!(joins(&plan).len(), expected, "{name}");
    assert!(took < limit, "{name} took {took:?}");
}

fn on_a_large_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(64 << 20).spawn(test).expect("a thread starts");
    thread.join().expect("the test passes");
}

#[test]
fn twelve_relations_are_searched_exactly_in_time() {
    let limit = Duration::from_millis(100);
    assert_within(Duration::from_millis(5), "chain", graph(12, (1..12).map(|at| (at - 1, at))));
    assert_within(limit, "star", graph(12, (1..12).map(|at| (0, at))));
    assert_within(limit, "clique", graph(12, (1..12).flat_map(|a| (0..a).map(move |b| (b, a)))));
}

#[test]
fn larger_graphs_are_searched_along_lines_in_time() {
    for relations in [20, 64] {
        let limit = Duration::from_millis(if relations == 20 { 50 } else { 1_000 });
        let plan = graph(relations, (1..relations).map(|at| (at - 1, at)));
        assert!(joins(&ordered(plan.clone())).iter().all(|join| !join.conditions.is_empty()));
        assert_within(limit, "chain", plan);
        assert_within(limit, "star", graph(relations, (1..relations).map(|at| (0, at))));
        assert_within(limit, "nothing but products", graph(relations, std::iter::empty()));
    }
}

#[test]
fn a_thousand_joins_stay_as_they_are_in_time() {
    on_a_large_stack(|| {
        let limit = Duration::from_millis(100);
        assert_within(limit, "products", graph(1_000, std::iter::empty()));
        assert_within(limit, "chain", graph(1_000, (1..1_000).map(|at| (at - 1, at))));
        let mut query = Query::default();
        let mut root = query.scan_of_integers("r0", 1_000, &[("a", 1_000)]);
        for at in 1..1_000 {
            let next = query.scan_of_integers(&format!("r{at}"), 1_000, &[("a", 1_000)]);
            root = query.join(JoinKind::Left, root, next, &format!("r{}.a = r{at}.a", at - 1));
        }
        assert_within(limit, "outer joins", query.select(root, &["r0.a"]));
    });
}
