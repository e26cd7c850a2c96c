//! Wide and deep statements are planned in time. The limits are for a busy machine and an unoptimized build; a pass
//! that compares all parts with all others takes minutes.

use std::fmt::Write;
use std::time::{Duration, Instant};

use crate::OptimizerSettings;
use crate::test_queries::Planner;

/// Time limit for parsing, binding and optimizing together.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 20 } else { 6 });

/// Plans statements on the stack that deep plans require.
fn assert_planned(statements: Vec<(&'static str, String)>) {
    let run = move || {
        let mut slow = Vec::new();
        for (name, sql) in statements {
            let start = Instant::now();
            let planned = Planner::new().timed(&sql, &OptimizerSettings::default());
            let (_, times) = planned.unwrap_or_else(|error| panic!("{name}: {error}"));
            println!("{name}: {times:?}");
            if start.elapsed() > LIMIT {
                slow.push(format!("{name}: {times:?}"));
            }
        }
        assert!(slow.is_empty(), "{slow:#?}");
    };
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(run).expect("a thread starts");
    thread.join().expect("all are planned in time");
}

/// Joins the parts of a statement, each made from its number.
fn list(count: usize, separator: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(separator)
}

#[test]
fn wide_conditions() {
    let mut statements = Vec::new();
    let mut add = |name, sql| statements.push((name, sql));
    let where_ = |condition: &str| format!("SELECT count(*) FROM orders WHERE {condition}");
    let alternatives = list(10_000, " OR ", |at| format!("o_orderkey = {}", at * 2));
    add("OR of equalities", where_(&alternatives));
    let alternatives = list(10_000, " OR ", |at| format!("o_orderkey + {at} = o_custkey"));
    add("OR of others", where_(&alternatives));
    let alternatives = list(10_000, " OR ", |at| format!("(o_orderkey = {at} AND o_custkey = {at})"));
    add("OR of ANDs", where_(&alternatives));
    add("AND of others", where_(&list(10_000, " AND ", |at| format!("o_orderkey + {at} <> o_custkey"))));
    add("AND of one value", where_(&list(10_000, " AND ", |at| format!("o_orderkey <> {at}"))));
    add("IN", where_(&format!("o_orderkey IN ({})", list(100_000, ", ", |at| at.to_string()))));
    add("NOT IN of text", where_(&format!("o_clerk NOT IN ({})", list(100_000, ", ", |at| format!("'{at}'")))));
    assert_planned(statements);
}

#[test]
fn wide_selections() {
    let mut statements = Vec::new();
    let mut add = |name, sql| statements.push((name, sql));
    let of_orders = |items: &str| format!("SELECT {items} FROM orders");
    add("columns", of_orders(&list(10_000, ", ", |at| format!("o_orderkey + {at} AS c{at}"))));
    add("constants", of_orders(&list(10_000, ", ", |at| at.to_string())));
    add("sum", of_orders(&list(900, " + ", |_| "o_orderkey".to_owned())));
    add("aggregates", of_orders(&list(1_000, ", ", |at| format!("sum(o_orderkey + {at})"))));
    let windows = list(1_000, ", ", |at| format!("sum(o_orderkey) OVER (ORDER BY o_custkey + {at})"));
    add("windows", of_orders(&windows));
    let branches = list(10_000, " ", |at| format!("WHEN o_orderkey + {at} = o_custkey THEN {at}"));
    add("CASE", of_orders(&format!("CASE {branches} END")));
    let branches = list(10_000, " ", |at| format!("WHEN {at} THEN {}", at + 1));
    add("CASE of one value", of_orders(&format!("CASE o_orderkey WHEN 7 THEN 8 {branches} END")));
    let keys = list(1_000, ", ", |at| format!("o_orderkey + {at}"));
    add("keys", of_orders("count(*)") + &format!(" GROUP BY {keys} ORDER BY {keys}"));
    let items = list(10_000, ", ", |at| format!("{at} AS c{at}"));
    let used = list(10_000, ", ", |at| format!("c{at} + 1"));
    add("columns of a subquery", format!("SELECT {used} FROM (SELECT {items}, random() AS r) AS q"));
    assert_planned(statements);
}

#[test]
fn many_rows_and_inputs() {
    let mut statements = Vec::new();
    let mut add = |name, sql| statements.push((name, sql));
    add("VALUES", format!("VALUES {}", list(100_000, ", ", |at| format!("({at}, 'text {at}')"))));
    let selects = |operation: &str| list(10_000, operation, |at| format!("SELECT o_orderkey + {at} FROM orders"));
    add("UNION ALL", selects(" UNION ALL "));
    add("UNION", list(10_000, " UNION ", |at| format!("SELECT {at}")));
    add("cross joins", format!("SELECT count(*) FROM {}", list(1_000, ", ", |at| format!("nation t{at}"))));
    let joins = list(999, " ", |at| format!("JOIN nation t{} ON t{}.n_nationkey = t{at}.n_regionkey", at + 1, at + 1));
    add("joins", format!("SELECT count(*) FROM nation t0 {joins}"));
    let joins = list(300, " ", |at| format!("JOIN nation t{} USING (n_nationkey)", at + 1));
    add("joins by USING", format!("SELECT count(*) FROM nation t0 {joins}"));
    let joins =
        list(300, " ", |at| format!("LEFT JOIN nation t{} ON t{}.n_nationkey = t0.n_regionkey", at + 1, at + 1));
    add("outer joins", format!("SELECT * FROM nation t0 {joins}"));
    let subqueries =
        list(300, ", ", |at| format!("(SELECT max(o_totalprice) FROM orders WHERE o_custkey = c_custkey + {at})"));
    add("subqueries", format!("SELECT {subqueries} FROM customer"));
    let exists = list(300, " AND ", |at| {
        format!("EXISTS (SELECT 1 FROM orders WHERE o_custkey = c_custkey AND o_orderkey = {at})")
    });
    add("EXISTS", format!("SELECT count(*) FROM customer WHERE {exists}"));
    assert_planned(statements);
}

#[test]
fn chains() {
    let mut statements = Vec::new();
    let mut add = |name, sql| statements.push((name, sql));
    let mut chain = "WITH c0 AS (SELECT n_nationkey AS a FROM nation)".to_owned();
    for at in 1..10_000 {
        write!(chain, ", c{at} AS (SELECT a FROM c{})", at - 1).expect("text takes all");
    }
    add("WITH", format!("{chain} SELECT count(*) FROM c9999"));
    let mut chain = "WITH c0 AS (SELECT n_nationkey AS a FROM nation)".to_owned();
    for at in 1..1_000 {
        write!(chain, ", c{at} AS (SELECT x.a + y.a AS a FROM c{0} x, c{0} y)", at - 1).expect("text takes all");
    }
    add("WITH, each used twice", format!("{chain} SELECT count(*) FROM c999"));
    add("views", "SELECT count(*) FROM v40".to_owned());
    let nested = (0..200).fold("nation".to_owned(), |inner, at| format!("(SELECT * FROM {inner}) q{at}"));
    add("tables in each other", format!("SELECT * FROM {nested}"));
    let aliases = list(300, ", ", |at| match at {
        0 => "o_orderkey AS c0".to_owned(),
        _ => format!("c{} + 1 AS c{at}", at - 1),
    });
    add("aliases of aliases", format!("SELECT {aliases} FROM orders"));
    assert_planned(statements);
}
