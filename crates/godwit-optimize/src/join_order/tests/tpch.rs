//! Expected plans for TPC-H's queries.

use std::sync::Arc;

use godwit_plan::{
    Aggregate, AggregateCall, AggregateFunction, Comparison, Expr, ExprKind, JoinKind, Node, NodeId, Plan,
};
use godwit_types::{SqlType, Value};

use super::{joins, nodes_below, ordered, tables};
use crate::estimate::Estimates;
use crate::test_tables::Query;

/// Returns rows with an additional column: a sum for each value of a key.
fn sums(query: &mut Query, input: NodeId, key: &str, summed: &str) -> (NodeId, Expr) {
    let ty = SqlType::decimal(38, 2);
    let sum = query.plan.add_column("sum", ty.clone(), true);
    let function = AggregateFunction {
        name: "sum".into(),
        of_empty: Value::Null,
        ignores_duplicates: false,
        depends_on_order: false,
        implementation: Arc::new(()),
    };
    let call = AggregateCall {
        function,
        args: vec![query.column(summed)],
        distinct: false,
        filter: None,
        order_by: Vec::new(),
        ignore_nulls: false,
        ty: ty.clone(),
        nullable: true,
        span: godwit_common::Span::NONE,
    };
    let keys = vec![(query.id(key), query.column(key))];
    let aggregate = Aggregate { input, keys, sets: None, grouping_id: None, aggregates: vec![(sum, call)] };
    (query.plan.add(Node::Aggregate(aggregate)), Expr::new(ExprKind::Column(sum), ty, true))
}

/// Plans the joins of a query, with the filters that are pushed down; subqueries are unnested.
fn query(number: usize) -> Plan {
    let mut query = Query::default();
    let q = &mut query;
    let (from, conditions, columns): (Vec<NodeId>, &str, &[&str]) = match number {
        3 => (
            vec![
                q.scan_where("customer", &["c_mktsegment = 'BUILDING'"]),
                q.scan_where("orders", &["o_orderdate < 9204"]),
                q.scan_where("lineitem", &["l_shipdate > 9204"]),
            ],
            "c_custkey = o_custkey AND l_orderkey = o_orderkey",
            &["l_orderkey", "l_extendedprice", "o_orderdate"],
        ),
        5 => (
            vec![
                q.scan("customer"),
                q.scan_where("orders", &["o_orderdate >= 8766", "o_orderdate < 9131"]),
                q.scan("lineitem"),
                q.scan("supplier"),
                q.scan("nation"),
                q.scan_where("region", &["r_name = 'ASIA'"]),
            ],
            "c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey \
             AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey",
            &["n_name", "l_extendedprice"],
        ),
        7 => (
            vec![
                q.scan("supplier"),
                q.scan_where("lineitem", &["l_shipdate >= 9131", "l_shipdate <= 9861"]),
                q.scan("orders"),
                q.scan("customer"),
                q.scan_where("nation n1", &["n1.n_name = 'FRANCE'"]),
                q.scan_where("nation n2", &["n2.n_name = 'GERMANY'"]),
            ],
            "s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey AND s_nationkey = n1.n_nationkey \
             AND c_nationkey = n2.n_nationkey",
            &["n1.n_name", "n2.n_name", "l_shipdate", "l_extendedprice"],
        ),
        8 => (
            vec![
                q.scan_where("part", &["p_type = 'ECONOMY ANODIZED STEEL'"]),
                q.scan("supplier"),
                q.scan("lineitem"),
                q.scan_where("orders", &["o_orderdate >= 9131", "o_orderdate <= 9861"]),
                q.scan("customer"),
                q.scan("nation n1"),
                q.scan("nation n2"),
                q.scan_where("region", &["r_name = 'AMERICA'"]),
            ],
            "p_partkey = l_partkey AND s_suppkey = l_suppkey AND l_orderkey = o_orderkey AND o_custkey = c_custkey \
             AND c_nationkey = n1.n_nationkey AND n1.n_regionkey = r_regionkey AND s_nationkey = n2.n_nationkey",
            &["n2.n_name", "o_orderdate", "l_extendedprice"],
        ),
        9 => (
            vec![
                q.scan_where("part", &["p_name LIKE '%green%'"]),
                q.scan("supplier"),
                q.scan("lineitem"),
                q.scan("partsupp"),
                q.scan("orders"),
                q.scan("nation"),
            ],
            "s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey \
             AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey",
            &["n_name", "o_orderdate", "l_extendedprice", "ps_supplycost"],
        ),
        10 => (
            vec![
                q.scan("customer"),
                q.scan_where("orders", &["o_orderdate >= 8674", "o_orderdate < 8766"]),
                q.scan_where("lineitem", &["l_returnflag = 'R'"]),
                q.scan("nation"),
            ],
            "c_custkey = o_custkey AND l_orderkey = o_orderkey AND c_nationkey = n_nationkey",
            &["c_custkey", "c_name", "n_name", "l_extendedprice"],
        ),
        _ => return subquery(query, number),
    };
    let root = q.filtered_product(&from, conditions);
    query.select(root, columns)
}

fn subquery(mut query: Query, number: usize) -> Plan {
    let q = &mut query;
    let (root, columns): (NodeId, &[&str]) = match number {
        4 => {
            let orders = q.scan_where("orders", &["o_orderdate >= 8582", "o_orderdate < 8674"]);
            let lineitem = q.scan_where("lineitem", &["l_commitdate < l_receiptdate"]);
            (q.join(JoinKind::Semi, orders, lineitem, "o_orderkey = l_orderkey"), &["o_orderkey"])
        }
        13 => {
            let (customer, orders) = (q.scan("customer"), q.scan("orders"));
            (q.join(JoinKind::Left, customer, orders, "c_custkey = o_custkey"), &["c_custkey", "o_orderkey"])
        }
        18 => {
            let from = [q.scan("customer"), q.scan("orders"), q.scan("lineitem")];
            let inner = q.scan("lineitem i");
            let (groups, sum) = sums(q, inner, "i.l_orderkey", "i.l_quantity");
            let limit = Expr::literal(Value::Integer(30_000), sum.ty.clone());
            let conditions = vec![Expr::compare(Comparison::Greater, sum, limit)];
            let large = q.plan.add(Node::Filter { input: groups, conditions });
            let all = q.filtered_product(&from, "c_custkey = o_custkey AND o_orderkey = l_orderkey");
            let root = q.join(JoinKind::Semi, all, large, "o_orderkey = i.l_orderkey");
            (root, &["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "l_quantity"])
        }
        21 => {
            let from = [
                q.scan("supplier"),
                q.scan_where("lineitem l1", &["l1.l_receiptdate > l1.l_commitdate"]),
                q.scan_where("orders", &["o_orderstatus = 'F'"]),
                q.scan_where("nation", &["n_name = 'SAUDI ARABIA'"]),
            ];
            let others = q.scan("lineitem l2");
            let late = q.scan_where("lineitem l3", &["l3.l_receiptdate > l3.l_commitdate"]);
            let all = q.filtered_product(
                &from,
                "s_suppkey = l1.l_suppkey AND o_orderkey = l1.l_orderkey AND s_nationkey = n_nationkey",
            );
            let of_same_order =
                |other: &str| format!("{other}.l_orderkey = l1.l_orderkey AND {other}.l_suppkey <> l1.l_suppkey");
            let some = q.join(JoinKind::Semi, all, others, &of_same_order("l2"));
            (q.join(JoinKind::Anti, some, late, &of_same_order("l3")), &["s_name"])
        }
        22 => {
            let (customer, orders) = (q.scan_where("customer", &["c_acctbal > 0"]), q.scan("orders"));
            (q.join(JoinKind::Anti, customer, orders, "c_custkey = o_custkey"), &["c_acctbal"])
        }
        other => panic!("no query {other}"),
    };
    query.select(root, columns)
}

const QUERIES: [usize; 11] = [3, 4, 5, 7, 8, 9, 10, 13, 18, 21, 22];

#[test]
fn no_query_has_a_cross_product_and_the_smaller_side_builds() {
    for number in QUERIES {
        let plan = ordered(query(number));
        let estimates = Estimates::new(&plan, None);
        for join in joins(&plan) {
            assert!(!join.conditions.is_empty(), "Q{number} joins without a key:\n{}", plan.display());
            let (left, right) = (estimates.rows(&plan, join.left), estimates.rows(&plan, join.right));
            assert!(right <= left * 2.5, "Q{number}: {:?} builds on the larger side:\n{}", join.kind, plan.display());
        }
    }
}

#[test]
fn lineitem_is_probed_and_never_built_whole() {
    for number in [3, 5, 7, 8, 9, 10, 18] {
        let plan = ordered(query(number));
        for join in joins(&plan) {
            let is_reduced =
                nodes_below(&plan, join.right).iter().any(|&id| matches!(plan.node(id), Node::Aggregate(_)));
            let is_lineitem = tables(&plan, join.right) == ["lineitem"] && !is_reduced;
            assert!(!is_lineitem, "Q{number} builds a hash table of lineitem:\n{}", plan.display());
        }
    }
}

#[test]
fn selective_dimensions_join_early() {
    // Q9: green parts reduce lineitem or partsupp before orders are joined.
    let plan = ordered(query(9));
    let is_orders = |node: NodeId| tables(&plan, node) == ["orders"];
    let join = joins(&plan).into_iter().find(|join| is_orders(join.left) || is_orders(join.right));
    let join = join.expect("orders are joined by themselves");
    let other = tables(&plan, if is_orders(join.left) { join.right } else { join.left });
    assert!(other.contains(&"part".to_owned()), "joined with {other:?}");

    // Q8: only lineitems of the selected part are joined with the orders.
    let plan = ordered(query(8));
    let lowest = joins(&plan).into_iter().find(|join| tables(&plan, join.left) == ["lineitem"]).expect("it is probed");
    assert_eq!(tables(&plan, lowest.right), ["part"]);
}

#[test]
fn semi_joins_of_few_keys_move_down_to_their_relation() {
    let plan = ordered(query(18));
    let semi = joins(&plan).into_iter().find(|join| matches!(join.kind, JoinKind::Semi | JoinKind::RightSemi));
    let semi = semi.expect("IN is a semi join");
    assert_eq!((&semi.kind, tables(&plan, semi.left)), (&JoinKind::Semi, vec!["orders".to_owned()]));
}

#[test]
fn semi_and_anti_joins_of_many_rows_stay_above_what_filters_more() {
    let plan = ordered(query(21));
    for join in joins(&plan) {
        if matches!(join.kind, JoinKind::Semi | JoinKind::RightSemi | JoinKind::Anti | JoinKind::RightAnti) {
            let kept = if matches!(join.kind, JoinKind::Semi | JoinKind::Anti) { join.left } else { join.right };
            assert!(tables(&plan, kept).contains(&"nation".to_owned()), "{}", plan.display());
        }
    }
}

#[test]
fn outer_and_semi_joins_build_on_their_smaller_side() {
    let top = |number: usize| {
        let plan = ordered(query(number));
        let join = joins(&plan).remove(0);
        (join.kind, tables(&plan, join.right).join(" "))
    };
    assert_eq!(top(13), (JoinKind::Right, "customer".to_owned()));
    assert_eq!(top(4), (JoinKind::RightSemi, "orders".to_owned()));
    assert_eq!(top(22), (JoinKind::RightAnti, "customer".to_owned()));
}

#[test]
fn equalities_are_transitive() {
    // part and lineitem have no predicate in common, but each has one with partsupp.
    let mut query = Query::default();
    let from = [
        query.scan_where("part", &["p_brand = 'Brand#12'", "p_container = 'SM BOX'"]),
        query.scan("partsupp"),
        query.scan("lineitem"),
    ];
    let root = query.filtered_product(&from, "p_partkey = ps_partkey AND ps_partkey = l_partkey");
    let plan = ordered(query.select(root, &["l_quantity"]));
    let has_direct = joins(&plan).iter().any(|join| {
        let sides = (tables(&plan, join.left).join(" "), tables(&plan, join.right).join(" "));
        ["lineitem", "partsupp"].contains(&sides.0.as_str()) && sides.1 == "part"
    });
    assert!(has_direct, "{}", plan.display());
}

#[test]
fn the_result_keeps_its_columns() {
    for number in QUERIES {
        let before = query(number);
        let after = ordered(before.clone());
        let outputs = |plan: &Plan| plan.root.map(|root| plan.outputs(root));
        assert_eq!(outputs(&after), outputs(&before), "Q{number}");
    }
}

#[test]
fn outer_joins_leave_a_cross_product_for_last() {
    // n × c, and a LEFT JOIN whose condition uses only c.
    let mut query = Query::default();
    let (a, c, d) = (query.scan("nation a"), query.scan("customer c"), query.scan("orders d"));
    let product = query.join(JoinKind::Inner, a, c, "");
    let root = query.join(JoinKind::Left, product, d, "c.c_custkey = d.o_custkey");
    let plan = ordered(query.select(root, &["a.n_name", "c.c_name", "d.o_orderkey"]));
    let kinds: Vec<JoinKind> = joins(&plan).into_iter().map(|join| join.kind).collect();
    assert_eq!(kinds, [JoinKind::Inner, JoinKind::Right], "{}", plan.display());
}

#[test]
fn inner_joins_pass_outer_ones_where_they_filter() {
    // Only orders of one customer are selected, and customers are joined after the outer join.
    let mut query = Query::default();
    let (orders, lineitem) = (query.scan("orders"), query.scan("lineitem"));
    let customer = query.scan_where("customer", &["c_custkey = 7"]);
    let outer = query.join(JoinKind::Left, orders, lineitem, "o_orderkey = l_orderkey");
    let root = query.join(JoinKind::Inner, outer, customer, "o_custkey = c_custkey");
    let plan = ordered(query.select(root, &["c_name", "l_quantity"]));
    let top = joins(&plan).remove(0);
    assert_eq!((&top.kind, tables(&plan, top.right).len()), (&JoinKind::Right, 2), "{}", plan.display());
}
