//! Shapes of plans: no domain if the correlation is an equality.

use godwit_plan::{Arithmetic, Comparison, Expr, ExprKind, JoinKind};
use godwit_types::SqlType;

use super::query::{Query, compare, equal, exists, integer, quantified, scalar};

fn half(value: Expr) -> Expr {
    let half = Expr::literal(godwit_types::Value::Float(0.5), SqlType::Double);
    let value = value.cast_to(&SqlType::Double);
    let nullable = value.nullable;
    Expr::new(ExprKind::Arithmetic(Arithmetic::Multiply, Box::new(half), Box::new(value)), SqlType::Double, nullable)
}

fn assert_shape(text: &str, has: &[&str], has_not: &[&str]) {
    for part in has {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    for part in has_not.iter().chain(&["domain"]) {
        assert!(!text.contains(part), "{part} is in\n{text}");
    }
}

/// Q4: `EXISTS (SELECT * FROM lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)`.
#[test]
fn q4_is_a_semi_join() {
    let mut query = Query::default();
    let (orders, lineitem) = (query.table("orders", 2, &[]), query.table("lineitem", 3, &[]));
    let [key, commit, receipt] = lineitem.columns.as_slice() else { unreachable!("it has three columns") };
    let late = vec![equal(key, &orders.columns[0]), compare(Comparison::Less, commit, receipt)];
    let lines = query.filter(lineitem.node, late);
    let root = query.filter(orders.node, vec![exists(lines)]);
    let (text, _) = query.unnested(root, &orders.columns);
    assert_shape(&text, &["Join Semi on (lineitem.a#2 = orders.a#0)", "Filter (lineitem.b#3 < lineitem.c#4)"], &[]);
}

/// Q17: `l_quantity < (SELECT 0.5 * avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)`.
#[test]
fn q17_groups_by_the_key() {
    let mut query = Query::default();
    let (part, lines, others) = (query.table("part", 1, &[]), query.table("l", 2, &[]), query.table("l2", 2, &[]));
    let joined = query.join(JoinKind::Inner, part.node, lines.node, vec![equal(&part.columns[0], &lines.columns[0])]);
    let same = query.filter(others.node, vec![equal(&others.columns[0], &part.columns[0])]);
    let (average, value) = query.aggregate(same, &[], "avg", vec![others.columns[1].clone()]);
    let (average, value) = query.project(average, vec![half(value)]);
    let quantity = lines.columns[1].clone().cast_to(&SqlType::Double);
    let root = query.filter(joined, vec![Expr::compare(Comparison::Less, quantity, scalar(average, &value[0]))]);
    let (text, _) = query.unnested(root, &lines.columns);
    assert_shape(&text, &["Join Left on (l2.a#3 = part.a#0)", "Aggregate by [l2.a#3]"], &["any_value", "Use"]);
}

/// Q20: an IN over a scalar aggregate that is correlated by two keys.
#[test]
fn q20_nests_both() {
    let mut query = Query::default();
    let (supplier, partsupp, lines) = (query.table("s", 1, &[]), query.table("ps", 3, &[]), query.table("l", 3, &[]));
    let keys = [0, 1].map(|key| equal(&lines.columns[key], &partsupp.columns[key])).into();
    let shipped = query.filter(lines.node, keys);
    let (sum, value) = query.aggregate(shipped, &[], "sum", vec![lines.columns[2].clone()]);
    let (sum, value) = query.project(sum, vec![half(value)]);
    let available = partsupp.columns[2].clone().cast_to(&SqlType::Double);
    let enough = vec![Expr::compare(Comparison::Greater, available, scalar(sum, &value[0]))];
    let enough = query.filter(partsupp.node, enough);
    let left = vec![supplier.columns[0].clone()];
    let is_in = quantified(left, Comparison::Equal, false, enough, std::slice::from_ref(&partsupp.columns[1]));
    let root = query.filter(supplier.node, vec![is_in]);
    let (text, _) = query.unnested(root, &supplier.columns);
    assert_shape(&text, &["Join Semi on (s.a#0 = ps.b#2)", "Aggregate by [l.a#4, l.b#5]"], &["Mark", "Use"]);
}

/// Q21: EXISTS and NOT EXISTS with an equality and a `<>`.
#[test]
fn q21_is_a_semi_and_an_anti_join() {
    let mut query = Query::default();
    let [l1, l2, l3] = ["l1", "l2", "l3"].map(|name| query.table(name, 2, &[]));
    let other = |l: &super::query::Table| {
        let different = compare(Comparison::NotEqual, &l.columns[1], &l1.columns[1]);
        vec![equal(&l.columns[0], &l1.columns[0]), different]
    };
    let (second, third) = (other(&l2), other(&l3));
    let (second, third) = (query.filter(l2.node, second), query.filter(l3.node, third));
    let root = query.filter(l1.node, vec![exists(second), exists(third).negated()]);
    let (text, _) = query.unnested(root, &l1.columns);
    let semi = "Join Semi on (l2.a#2 = l1.a#0) AND (l2.b#3 <> l1.b#1)";
    assert_shape(&text, &[semi, "Join Anti on (l3.a#4 = l1.a#0) AND (l3.b#5 <> l1.b#1)"], &["Filter"]);
}

/// Q22: an uncorrelated scalar subquery stays, NOT EXISTS is an anti join.
#[test]
fn q22_keeps_its_constant() {
    let mut query = Query::default();
    let (customer, others, orders) = (query.table("c", 2, &[]), query.table("c2", 2, &[]), query.table("o", 1, &[]));
    let (average, value) = query.aggregate(others.node, &[], "avg", vec![others.columns[1].clone()]);
    let balance = customer.columns[1].clone().cast_to(&SqlType::Double);
    let above = Expr::compare(Comparison::Greater, balance, scalar(average, &value));
    let own = query.filter(orders.node, vec![equal(&orders.columns[0], &customer.columns[0])]);
    let root = query.filter(customer.node, vec![above, exists(own).negated()]);
    let (text, _) = query.unnested(root, &customer.columns);
    assert_shape(&text, &["Join Anti on (o.a#4 = c.a#0)", "(subquery n"], &["Mark", "Join Left"]);
}

/// Q2: the tables of the subquery stay joined with each other.
#[test]
fn q2_groups_a_join() {
    let mut query = Query::default();
    let (part, partsupp, supplier) = (query.table("p", 1, &[]), query.table("ps", 3, &[]), query.table("s", 1, &[]));
    let cross = query.join(JoinKind::Inner, partsupp.node, supplier.node, Vec::new());
    let keys = vec![
        equal(&part.columns[0], &partsupp.columns[0]),
        equal(&supplier.columns[0], &partsupp.columns[1]),
        equal(&supplier.columns[0], &integer(7)),
    ];
    let filtered = query.filter(cross, keys);
    let (least, value) = query.aggregate(filtered, &[], "min", vec![partsupp.columns[2].clone()]);
    let (root, output) = query.project(part.node, vec![scalar(least, &value)]);
    let (text, _) = query.unnested(root, &output);
    assert_shape(&text, &["Aggregate by [ps.a#1]", "Join Inner on (s.a#4 = ps.b#2)"], &["any_value"]);
}

/// `(SELECT b FROM u WHERE u.a = t.a ORDER BY b DESC LIMIT 1)` numbers the rows of each key.
#[test]
fn the_first_row_of_a_key_is_found_by_its_number() {
    let mut query = Query::default();
    let rows: &[super::query::Numbers<'_>] = &[&[Some(1), Some(2)], &[Some(1), Some(3)], &[None, Some(4)]];
    let (t, u) = (query.table("t", 2, rows), query.table("u", 2, rows));
    let own = query.filter(u.node, vec![equal(&u.columns[0], &t.columns[0])]);
    let first = query.first(own, &u.columns[1], 1, None);
    let (root, output) = query.project(t.node, vec![scalar(first, &u.columns[1])]);
    let (text, _) = query.unnested(root, &output);
    assert_shape(&text, &["row_number() OVER (PARTITION BY u.a#2", "Join Left on (u.a#2 = t.a#0)"], &["any_value"]);
}

/// Two tables connected only through the outer row would be a cross product: they are joined with the domain instead.
#[test]
fn tables_that_the_outer_row_connects_get_a_domain() {
    let mut query = Query::default();
    let (t, u, v) = (query.table("t", 2, &[]), query.table("u", 1, &[]), query.table("v", 1, &[]));
    let cross = query.join(JoinKind::Inner, u.node, v.node, Vec::new());
    let keys = vec![equal(&u.columns[0], &t.columns[0]), equal(&v.columns[0], &t.columns[1])];
    let pairs = query.filter(cross, keys);
    let root = query.filter(t.node, vec![exists(pairs)]);
    let (text, _) = query.unnested(root, &t.columns);
    assert!(text.contains("domain"), "{text}");
}

/// Two tables bound to the same outer value are joined with each other.
#[test]
fn tables_with_the_same_outer_key_are_joined() {
    let mut query = Query::default();
    let (t, u, v) = (query.table("t", 1, &[]), query.table("u", 1, &[]), query.table("v", 1, &[]));
    let left = query.filter(u.node, vec![equal(&u.columns[0], &t.columns[0])]);
    let right = query.filter(v.node, vec![equal(&v.columns[0], &t.columns[0])]);
    let both = query.join(JoinKind::Inner, left, right, Vec::new());
    let root = query.filter(t.node, vec![exists(both)]);
    let (text, _) = query.unnested(root, &t.columns);
    assert_shape(&text, &["Join Inner on (u.a#1 = v.a#2)", "Join Semi on (u.a#1 = t.a#0)"], &[]);
}

/// NOT IN: an anti join where nothing can be NULL, otherwise a mark join.
#[test]
fn not_in_is_an_anti_join_without_nulls() {
    for (rows, kind) in [(vec![vec![godwit_types::Value::Integer(1)]], "Join Anti"), (Vec::new(), "Join Mark")] {
        let mut query = Query::default();
        let nullable = rows.is_empty();
        let tables = ["t", "u"].map(|name| {
            let table = godwit_reference::MemoryTable::new(name, &[("a", SqlType::Integer)], rows.clone());
            let table = if nullable { table.with_nullable_columns() } else { table };
            query.scan(std::sync::Arc::new(table))
        });
        let [t, u] = tables;
        let is_in = quantified(t.columns.clone(), Comparison::Equal, false, u.node, &u.columns);
        let root = query.filter(t.node, vec![is_in.negated()]);
        let (text, _) = query.unnested(root, &t.columns);
        assert_shape(&text, &[kind], &[]);
    }
}
