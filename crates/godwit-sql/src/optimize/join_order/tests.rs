use std::collections::HashMap;
use std::sync::Arc;

use datafusion_common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion_common::{Column, DFSchema};
use datafusion_expr::{EmptyRelation, Expr, Join, JoinType, LogicalPlan};
use proptest::prelude::*;

use super::cost::{Cardinality, Estimate};
use super::enumerate::{JoinTree, best_tree};
use super::graph::{JoinGraph, KeyClass, Member, Relation, RelationSet, bits};
use crate::Estimates;
use crate::estimate::{ColumnEstimate, NodeEstimate};
use crate::test_tables::{tpch_planner, tpch_query};

/// All joins of a plan, from the top.
fn joins(plan: &LogicalPlan) -> Vec<Join> {
    let mut joins = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Join(join) = node {
            joins.push(join.clone());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    joins
}

/// Names of the tables below a node, sorted.
fn tables(plan: &LogicalPlan) -> Vec<String> {
    let mut tables = Vec::new();
    plan.apply(|node| {
        if let LogicalPlan::TableScan(scan) = node {
            tables.push(scan.table_name.to_string());
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    tables.sort();
    tables
}

fn planned(number: usize) -> LogicalPlan {
    tpch_planner().plan_query(&tpch_query(number)).unwrap_or_else(|error| panic!("Q{number}: {error}"))
}

#[test]
fn no_tpch_query_has_a_cross_product_and_the_smaller_side_builds() {
    for number in 1..=22 {
        let estimates = Estimates::new();
        for join in joins(&planned(number)) {
            assert!(!join.on.is_empty(), "Q{number}: {} joins without a key", LogicalPlan::Join(join).display());
            let (left, right) = (estimates.of(&join.left), estimates.of(&join.right));
            assert!(right.rows <= left.rows * 2.5, "Q{number}: {:?} builds on the larger side", join.join_type);
        }
    }
}

#[test]
fn lineitem_is_probed_and_never_built_whole() {
    for number in [3, 5, 7, 8, 9, 10, 17, 18, 19, 21] {
        for join in joins(&planned(number)) {
            let is_reduced = join.right.exists(|node| Ok(matches!(node, LogicalPlan::Aggregate(_)))).unwrap();
            let is_lineitem = tables(&join.right) == ["lineitem"] && !is_reduced;
            assert!(!is_lineitem, "Q{number} builds a hash table of lineitem");
        }
    }
}

#[test]
fn selective_dimensions_join_early() {
    // Q9: green parts reduce lineitem or partsupp before orders come in.
    let with_orders = joins(&planned(9)).into_iter().find(|join| {
        let direct = |plan: &LogicalPlan| tables(plan) == ["orders"];
        direct(&join.left) || direct(&join.right)
    });
    let join = with_orders.expect("orders are joined by themselves");
    let other = if tables(&join.left) == ["orders"] { &join.right } else { &join.left };
    assert!(tables(other).contains(&"part".to_owned()), "joined with {:?}", tables(other));

    // Q8: only lineitems of the wanted part meet the orders.
    let lowest = joins(&planned(8)).into_iter().find(|join| tables(&join.left) == ["lineitem"]).expect("it is probed");
    assert_eq!(tables(&lowest.right), ["part"]);
}

#[test]
fn semi_joins_of_few_keys_move_down_to_their_relation() {
    let semi =
        joins(&planned(18)).into_iter().find(|join| join.join_type == JoinType::LeftSemi).expect("IN is a semi join");
    assert_eq!(tables(&semi.left), ["orders"]);
}

#[test]
fn outer_and_semi_joins_build_on_their_smaller_side() {
    let join = joins(&planned(13)).remove(0);
    assert_eq!((join.join_type, tables(&join.right)), (JoinType::Right, vec!["customer".to_owned()]));
    let join = joins(&planned(4)).remove(0);
    assert_eq!((join.join_type, tables(&join.right)), (JoinType::RightSemi, vec!["orders".to_owned()]));
    let join = joins(&planned(22)).remove(0);
    assert_eq!((join.join_type, tables(&join.right)), (JoinType::RightAnti, vec!["customer".to_owned()]));
    // NOT IN asks for NULLs on its right side, which only the unmirrored join answers.
    let sql = "FROM region WHERE r_name NOT IN (SELECT nullif(l_comment, 'none') FROM lineitem)";
    let join = joins(&tpch_planner().plan_query(sql).unwrap()).remove(0);
    assert_eq!((join.join_type, join.null_aware), (JoinType::LeftAnti, true));
}

#[test]
fn dead_columns_are_dropped_between_joins() {
    let joins = joins(&planned(5));
    let top = &joins[0];
    // Above the lowest joins, keys that were used up are gone.
    for side in [&top.left, &top.right] {
        let columns: Vec<String> = side.schema().columns().iter().map(|column| column.name.clone()).collect();
        let is_wanted = |name: &String| {
            matches!(name.as_str(), "n_name" | "l_extendedprice" | "l_discount")
                || top.on.iter().any(|(left, right)| format!("{left} {right}").contains(name.as_str()))
        };
        assert!(columns.iter().all(is_wanted), "{columns:?}");
    }
}

#[test]
fn output_columns_keep_their_order() {
    let planner = tpch_planner();
    let plan = planner
        .plan_query(
            "SELECT * FROM region, nation, supplier WHERE r_regionkey = n_regionkey AND n_nationkey = s_nationkey",
        )
        .unwrap();
    let names: Vec<&String> = plan.schema().fields().iter().map(|field| field.name()).collect();
    assert_eq!((names[0].as_str(), names[3].as_str(), names[7].as_str()), ("r_regionkey", "n_nationkey", "s_suppkey"));
}

#[test]
fn equalities_are_transitive() {
    // part and lineitem have no predicate in common, but each has one with partsupp.
    let sql = "SELECT count(*) FROM part, partsupp, lineitem
        WHERE p_partkey = ps_partkey AND ps_partkey = l_partkey AND p_brand = 'Brand#12' AND p_container = 'SM BOX'";
    let plan = tpch_planner().plan_query(sql).unwrap();
    let has_direct = joins(&plan).iter().any(|join| {
        let sides = (tables(&join.left), tables(&join.right));
        sides == (vec!["lineitem".to_owned()], vec!["part".to_owned()])
            || sides == (vec!["partsupp".to_owned()], vec!["part".to_owned()])
    });
    assert!(has_direct, "{}", plan.display_indent());
}

#[test]
fn large_graphs_are_joined_greedily_without_cross_products() {
    let names: Vec<String> = (0..20).map(|at| format!("nation n{at}")).collect();
    let keys: Vec<String> = (1..20).map(|at| format!("n{}.n_nationkey = n{at}.n_regionkey", at - 1)).collect();
    let sql = format!("SELECT count(*) FROM {} WHERE {}", names.join(", "), keys.join(" AND "));
    let plan = tpch_planner().plan_query(&sql).unwrap();
    let joins = joins(&plan);
    assert_eq!(joins.len(), 19);
    assert!(joins.iter().all(|join| !join.on.is_empty()));
}

/// A graph of relations with these rows, and edges (a, b, domain).
fn graph_of(rows: &[f64], edges: &[(usize, usize, f64)]) -> JoinGraph {
    let column = |domain: f64| ColumnEstimate {
        domain,
        domain_known: true,
        base_rows: domain,
        null_fraction: 0.0,
        bounds: None,
        average_bytes: 8.0,
    };
    let relation = |rows: &f64| Relation {
        plan: Arc::new(LogicalPlan::EmptyRelation(EmptyRelation {
            produce_one_row: false,
            schema: Arc::new(DFSchema::empty()),
        })),
        estimate: Arc::new(NodeEstimate { rows: *rows, columns: vec![column(*rows)] }),
    };
    let member = |relation: usize, edge: usize, domain: f64| Member {
        relation,
        expr: Expr::Column(Column::new_unqualified(format!("r{relation}e{edge}"))),
        estimate: column(domain),
    };
    let class = |(at, (a, b, domain)): (usize, &(usize, usize, f64))| KeyClass {
        members: vec![member(*a, at, *domain), member(*b, at, *domain)],
        hub: None,
    };
    JoinGraph {
        relations: rows.iter().map(relation).collect(),
        classes: edges.iter().enumerate().map(class).collect(),
        predicates: Vec::new(),
        constants: Vec::new(),
    }
}

/// The cost of the cheapest tree without cross products, by trying all.
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
        let linked = graph.classes.iter().any(|class| {
            let within = |side: RelationSet| class.members.iter().any(|member| side & (1 << member.relation) != 0);
            within(left) && within(right)
        });
        if linked && let (Some(a), Some(b)) = (cheapest(left, graph, rows, known), cheapest(right, graph, rows, known))
        {
            // The mirrored split comes in another round of the loop.
            let joined = Estimate::of_join(&a, &b, rows.rows_of(set));
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
        JoinTree::Leaf(at) => (Estimate::of_relation(graph, *at), 1 << at),
        JoinTree::Join(probe, build) => {
            let ((a, a_set), (b, b_set)) = (cost_of(probe, graph, rows), cost_of(build, graph, rows));
            assert_eq!(a_set & b_set, 0);
            (Estimate::of_join(&a, &b, rows.rows_of(a_set | b_set)), a_set | b_set)
        }
    }
}

proptest! {
    /// Dynamic programming over connected subgraphs finds what trying every tree finds.
    #[test]
    fn the_best_tree_is_the_best_of_all(
        rows in prop::collection::vec(1.0_f64..1e6, 2..7),
        parents in prop::collection::vec(any::<prop::sample::Index>(), 6),
        more in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..3),
        domains in prop::collection::vec(1.0_f64..1e5, 9),
    ) {
        let mut edges: Vec<(usize, usize, f64)> =
            (1..rows.len()).map(|at| (parents[at - 1].index(at), at, domains[at - 1])).collect();
        for (at, (a, b)) in more.iter().enumerate() {
            let (a, b) = (a.index(rows.len()), b.index(rows.len()));
            if a != b {
                edges.push((a, b, domains[6 + at]));
            }
        }
        let graph = graph_of(&rows, &edges);
        let cardinality = Cardinality::new(&graph);
        let (found, set) = cost_of(&best_tree(&graph), &graph, &cardinality);
        prop_assert_eq!(bits(set).count(), rows.len());
        let all = (1 << rows.len()) - 1;
        let best = cheapest(all, &graph, &cardinality, &mut HashMap::new()).expect("the graph is connected");
        prop_assert!((found.cost - best.cost).abs() <= best.cost * 1e-9, "{} found, {} possible", found.cost, best.cost);
    }
}

#[test]
fn joins_that_only_filter_are_semi_joins_where_nobody_counts() {
    let kinds = |sql: &str| -> Vec<JoinType> {
        joins(&tpch_planner().plan_query(sql).unwrap()).iter().map(|join| join.join_type).collect()
    };
    let from = "FROM nation, region WHERE n_regionkey = r_regionkey AND r_name = 'ASIA'";
    assert_eq!(kinds(&format!("SELECT min(n_name), max(n_comment) {from}")), [JoinType::LeftSemi]);
    assert_eq!(kinds(&format!("SELECT DISTINCT n_name {from}")), [JoinType::LeftSemi]);
    assert_eq!(kinds(&format!("SELECT n_name, count(DISTINCT n_comment) {from} GROUP BY 1")), [JoinType::LeftSemi]);
    // Rows are counted, or both sides are shown.
    assert_eq!(kinds(&format!("SELECT min(n_name), count(*) {from}")), [JoinType::Inner]);
    assert_eq!(kinds(&format!("SELECT min(n_name), min(r_comment) {from}")), [JoinType::Inner]);
    assert_eq!(kinds(&format!("SELECT n_name {from}")), [JoinType::Inner]);
}
