//! Estimates of plans over TPC-H's tables, whose true cardinalities are known.

use godwit_plan::{
    Aggregate, ColumnId, Expr, ExprKind, JoinKind, Limit, Node, NodeId, SetOperation, SetOperator, SharedPlan, Use,
};
use godwit_types::{SqlType, Value};

use super::Estimates;
use crate::test_tables::Query;

/// Estimates the rows of the node that `make` adds to a new query.
fn rows(make: impl Fn(&mut Query) -> NodeId) -> f64 {
    let mut query = Query::default();
    let node = make(&mut query);
    query.plan.root = Some(node);
    Estimates::new(&query.plan, None).rows(&query.plan, node)
}

fn assert_near(estimate: f64, truth: f64) {
    assert!(estimate > truth / 1.5 && estimate < truth * 1.5, "{estimate} rows estimated, {truth} true");
}

#[test]
fn filters_on_one_column_cut_its_interval() {
    let filtered = |table: &str, conditions: &[&str]| rows(|query| query.scan_where(table, conditions));
    assert_near(filtered("lineitem", &["l_shipdate >= 8766", "l_shipdate < 9131"]), 867_000.0);
    assert_near(filtered("lineitem", &["l_quantity < 2400"]), 2_817_000.0);
    assert_near(filtered("part", &["p_size >= 1", "p_size <= 50"]), 200_000.0);
    assert_near(filtered("customer", &["c_mktsegment = 'BUILDING'"]), 30_000.0);
    assert_near(filtered("part", &["p_brand <> 'Brand#45'"]), 192_000.0);
    assert_eq!(filtered("part", &["p_size = 51"]).round(), 1.0);
    assert_eq!(filtered("part", &["p_partkey = 5"]).round(), 1.0);
}

/// Builds `column IN (…)` with these strings or numbers.
fn in_list(query: &Query, column: &str, values: &[Value]) -> Expr {
    let column = query.column(column);
    let values = values.iter().map(|value| Expr::literal(value.clone(), column.ty.clone())).collect();
    Expr::new(ExprKind::InList(Box::new(column), values), SqlType::Boolean, false)
}

fn filter(query: &mut Query, input: NodeId, conditions: Vec<Expr>) -> NodeId {
    query.plan.add(Node::Filter { input, conditions })
}

#[test]
fn lists_and_disjunctions_narrow_what_all_parts_narrow() {
    let sizes = rows(|query| {
        let part = query.scan("part");
        let list = in_list(query, "p_size", &[Value::Integer(1), Value::Integer(2), Value::Integer(3)]);
        filter(query, part, vec![list])
    });
    assert_near(sizes, 12_000.0);
    let names = rows(|query| {
        let nation = query.scan("nation");
        let either = Expr::or(query.conditions("n_name = 'FRANCE' AND n_name = 'GERMANY'"));
        filter(query, nation, vec![either])
    });
    assert_near(names, 2.0);
    // Both names are among two already, so half of the four combinations pass.
    let pairs = rows(|query| {
        let (a, b) = (query.scan("nation a"), query.scan("nation b"));
        let both = query.join(JoinKind::Inner, a, b, "");
        let names = [Value::text("X"), Value::text("Y")];
        let lists = ["a.n_name", "b.n_name"].map(|column| in_list(query, column, &names));
        let both_ways = ["a.n_name = 'X' AND b.n_name = 'Y'", "a.n_name = 'Y' AND b.n_name = 'X'"];
        let either = Expr::or(both_ways.map(|text| Expr::and(query.conditions(text))));
        let [first, second] = lists;
        filter(query, both, vec![first, second, either])
    });
    assert_near(pairs, 2.0);
}

#[test]
fn joins_of_keys_keep_the_rows_of_the_referring_table() {
    let joined = |tables: &[(&str, &[&str])], conditions: &[&str]| {
        rows(|query| {
            let scans: Vec<NodeId> = tables.iter().map(|(table, filters)| query.scan_where(table, filters)).collect();
            let mut joined = scans[0];
            for (scan, conditions) in scans[1..].iter().zip(conditions) {
                joined = query.join(JoinKind::Inner, joined, *scan, conditions);
            }
            joined
        })
    };
    assert_near(joined(&[("lineitem", &[]), ("orders", &[])], &["l_orderkey = o_orderkey"]), 6_000_000.0);
    let keys = "l_partkey = ps_partkey AND l_suppkey = ps_suppkey";
    assert_near(joined(&[("lineitem", &[]), ("partsupp", &[])], &[keys]), 6_000_000.0);
    let brand: &[&str] = &["p_brand = 'Brand#12'"];
    assert_near(joined(&[("lineitem", &[]), ("part", brand)], &["l_partkey = p_partkey"]), 240_000.0);
    assert_near(
        joined(
            &[("supplier", &[]), ("nation", &[]), ("region", &["r_name = 'ASIA'"])],
            &["s_nationkey = n_nationkey", "n_regionkey = r_regionkey"],
        ),
        2_000.0,
    );
}

#[test]
fn semi_and_anti_joins_share_the_rows() {
    let of_brand = |kind: JoinKind| {
        rows(|query| {
            let (partsupp, part) = (query.scan("partsupp"), query.scan_where("part", &["p_brand = 'Brand#12'"]));
            query.join(kind.clone(), partsupp, part, "ps_partkey = p_partkey")
        })
    };
    assert_near(of_brand(JoinKind::Semi), 32_000.0);
    assert_near(of_brand(JoinKind::Anti), 768_000.0);
    let mirrored = rows(|query| {
        let (partsupp, part) = (query.scan("partsupp"), query.scan_where("part", &["p_brand = 'Brand#12'"]));
        query.join(JoinKind::RightSemi, part, partsupp, "ps_partkey = p_partkey")
    });
    assert_eq!(mirrored, of_brand(JoinKind::Semi));
    let early = rows(|query| {
        let (orders, lineitem) = (query.scan_where("orders", &["o_orderdate < 8067"]), query.scan("lineitem"));
        query.join(JoinKind::Semi, orders, lineitem, "o_orderkey = l_orderkey")
    });
    assert_near(early, 19_000.0);
}

fn group(query: &mut Query, input: NodeId, keys: &[&str]) -> NodeId {
    let keys = keys.iter().map(|key| (query.id(key), query.column(key))).collect();
    let aggregate = Aggregate { input, keys, sets: None, grouping_id: None, aggregates: Vec::new() };
    query.plan.add(Node::Aggregate(aggregate))
}

#[test]
fn groups_are_bounded_by_domains_and_rows() {
    let grouped = |keys: &[&str]| {
        rows(|query| {
            let lineitem = query.scan("lineitem");
            group(query, lineitem, keys)
        })
    };
    assert_near(grouped(&["l_suppkey"]), 10_000.0);
    assert_eq!(grouped(&[]), 1.0);
    assert!(grouped(&["l_orderkey", "l_comment"]) <= 6_001_215.0);
    let limited = rows(|query| {
        let input = query.scan("orders");
        let count = Some(Expr::bigint(7));
        query.plan.add(Node::Limit(Limit { input, offset: None, count, with_ties: false, percent: false }))
    });
    assert_eq!(limited, 7.0);
}

#[test]
fn columns_of_a_table_have_no_more_combinations_than_it_has_rows() {
    let grouped = |left: &str, right: &str, condition: &str, keys: &[&str]| {
        rows(|query| {
            let (left, right) = (query.scan(left), query.scan(right));
            let joined = query.join(JoinKind::Inner, left, right, condition);
            group(query, joined, keys)
        })
    };
    assert_near(grouped("customer", "nation", "c_nationkey = n_nationkey", &["n_nationkey", "n_name"]), 25.0);
    let of_two = grouped("nation a", "nation b", "a.n_regionkey = b.n_regionkey", &["a.n_name", "b.n_name"]);
    assert!(of_two > 50.0, "{of_two} groups of two nations each");
}

#[test]
fn set_operations_and_uses_bring_their_estimates_along() {
    let united = |operator: SetOperator, all: bool| {
        rows(|query| {
            let inputs = [query.scan("nation a"), query.scan("nation b")];
            let keys: [ColumnId; 2] = [query.id("a.n_regionkey"), query.id("b.n_regionkey")];
            let column = query.plan.copy_column(keys[0]);
            let inputs = inputs.into_iter().zip(keys).map(|(input, key)| (input, vec![key])).collect();
            query.plan.add(Node::SetOperation(SetOperation { operator, all, columns: vec![column], inputs }))
        })
    };
    assert_eq!(united(SetOperator::Union, true), 50.0);
    assert_near(united(SetOperator::Union, false), 5.0);
    assert_near(united(SetOperator::Intersect, false), 5.0);
    assert!(united(SetOperator::Except, true) < 25.0);

    let mut query = Query::default();
    let root = query.scan_where("part", &["p_brand = 'Brand#12'"]);
    let (own, used) = (query.id("p_partkey"), query.id("p_size"));
    let shared = query.plan.add_shared(SharedPlan { name: "p".to_owned(), root, materialized: None });
    let columns = [used, own].map(|column| (query.plan.copy_column(column), column));
    let node = query.plan.add(Node::Use(Use { shared, columns: columns.to_vec() }));
    query.plan.root = Some(node);
    let estimates = Estimates::new(&query.plan, None);
    assert_near(estimates.rows(&query.plan, node), 8_000.0);
    let estimate = estimates.of(&query.plan, node);
    assert_eq!(estimate.column(columns[0].0).map(|column| column.domain()), Some(50.0));
}

#[test]
fn columns_that_only_a_scan_uses_have_no_width_above_it() {
    let mut query = Query::default();
    let scan = query.scan_where("part", &["p_name LIKE '%green%'"]);
    let plan = query.select(scan, &["p_partkey"]);
    assert_eq!(Estimates::new(&plan, None).of(&plan, scan).row_bytes(), 8.0);
}

#[test]
fn a_chain_of_a_thousand_joins_is_estimated_without_recursion() {
    let mut query = Query::default();
    let mut joined = query.scan_of_integers("r0", 1_000, &[("a", 1_000)]);
    for at in 1..1_000 {
        let next = query.scan_of_integers(&format!("r{at}"), 1_000, &[("a", 1_000)]);
        joined = query.join(JoinKind::Inner, joined, next, &format!("r{}.a = r{at}.a", at - 1));
    }
    query.plan.root = Some(joined);
    assert_near(Estimates::new(&query.plan, None).rows(&query.plan, joined), 1_000.0);
}
