//! Keys, NULLs, equal columns.

use std::sync::Arc;

use godwit_plan::{ColumnSet, Comparison, Expr, Join, JoinKind, Node, NodeId, Plan, Scan};
use godwit_reference::MemoryTable;
use godwit_types::{SqlType, Value};

use super::{Equivalences, Properties, Ranges, rejects_nulls};

/// Adds a table of (key, value).
fn table(plan: &mut Plan, name: &str) -> (NodeId, [Expr; 2]) {
    let rows = vec![vec![Value::Integer(1), Value::Null], vec![Value::Integer(2), Value::Integer(7)]];
    let table = MemoryTable::new(name, &[("k", SqlType::Integer), ("v", SqlType::Integer)], rows).with_key(&[0]);
    let ids = [plan.add_column("k", SqlType::Integer, false), plan.add_column("v", SqlType::Integer, true)];
    let columns = vec![(ids[0], 0), (ids[1], 1)];
    let scan = Scan { relation: Arc::new(table), columns, filters: Vec::new(), rows_enough: None };
    let exprs = ids.map(|id| crate::rewrite::column(plan, id, plan.column(id).nullable));
    (plan.add(Node::Scan(scan)), exprs)
}

fn equal(a: &Expr, b: &Expr) -> Expr {
    Expr::compare(Comparison::Equal, a.clone(), b.clone())
}

fn constant(value: i128) -> Expr {
    Expr::literal(Value::Integer(value), SqlType::Integer)
}

fn set<'e>(exprs: impl IntoIterator<Item = &'e Expr>) -> ColumnSet {
    exprs.into_iter().filter_map(Expr::as_column).collect()
}

#[test]
fn keys_of_joins() {
    let cases = [
        // At most one match on the right: the left key is a key of the pairs.
        (JoinKind::Inner, 1, 0, vec![vec![0]]),
        (JoinKind::Left, 1, 0, vec![vec![0]]),
        (JoinKind::Semi, 1, 1, vec![vec![0]]),
        (JoinKind::Inner, 0, 0, vec![vec![0], vec![2]]),
        (JoinKind::Inner, 1, 1, vec![vec![0, 2]]),
        (JoinKind::Left, 1, 1, vec![vec![0, 2]]),
        (JoinKind::Right, 0, 1, vec![vec![2]]),
        (JoinKind::Full, 0, 0, vec![]),
    ];
    for (kind, left_at, right_at, expected) in cases {
        let mut plan = Plan::new();
        let (left, a) = table(&mut plan, "t");
        let (right, b) = table(&mut plan, "u");
        let conditions = vec![equal(&a[left_at], &b[right_at])];
        let join = plan.add(Node::Join(Join { kind: kind.clone(), left, right, conditions }));
        let keys = Properties::default().keys(&plan, join);
        let found: Vec<Vec<usize>> =
            keys.iter().map(|key| key.iter().map(godwit_plan::ColumnId::index).collect()).collect();
        assert_eq!(found, expected, "{kind:?} {left_at} {right_at}");
    }
}

#[test]
fn a_key_that_is_a_constant_leaves_one_row() {
    let mut plan = Plan::new();
    let (input, a) = table(&mut plan, "t");
    let filter = plan.add(Node::Filter { input, conditions: vec![equal(&a[0], &constant(1))] });
    let mut properties = Properties::default();
    assert!(properties.is_unique(&plan, filter, &ColumnSet::new()));
    assert!(!properties.is_unique(&plan, input, &ColumnSet::new()));
}

#[test]
fn conditions_that_no_null_passes() {
    let mut plan = Plan::new();
    let (_, [_, v]) = table(&mut plan, "t");
    let (_, [_, w]) = table(&mut plan, "u");
    let both = set([&v, &w]);
    let is_null = v.clone().is_null();
    let cases = [
        (equal(&v, &constant(1)), true),
        (equal(&v, &w), true),
        (Expr::compare(Comparison::NotDistinct, v.clone(), w.clone()), false),
        (Expr::compare(Comparison::NotDistinct, v.clone(), constant(1)), true),
        (Expr::compare(Comparison::Distinct, v.clone(), w.clone()), true),
        (Expr::compare(Comparison::Distinct, v.clone(), constant(1)), false),
        (is_null.clone(), false),
        (is_null.clone().negated(), true),
        (Expr::or([equal(&v, &constant(1)), equal(&w, &constant(1))]), true),
        (Expr::or([equal(&v, &constant(1)), is_null.clone()]), false),
        (Expr::and([equal(&v, &constant(1)), is_null.clone()]), true),
        (equal(&v, &constant(1)).negated(), true),
        (equal(&v, &constant(1)).is_null(), false),
        (equal(&v, &constant(1)).is_null().negated(), true),
        (Expr::boolean(true), false),
        (Expr::null(SqlType::Boolean), true),
    ];
    for (condition, expected) in cases {
        assert_eq!(rejects_nulls(&condition, &both), expected, "{condition}");
    }
}

#[test]
fn nulls_come_with_outer_joins_and_go_with_conditions() {
    let mut plan = Plan::new();
    let (left, a) = table(&mut plan, "t");
    let (right, b) = table(&mut plan, "u");
    let conditions = vec![equal(&a[0], &b[0])];
    let join = plan.add(Node::Join(Join { kind: JoinKind::Left, left, right, conditions }));
    let filter = plan.add(Node::Filter { input: join, conditions: vec![equal(&a[1], &b[1])] });
    let mut properties = Properties::default();
    assert_eq!(*properties.nullable(&plan, join), set([&a[1], &b[0], &b[1]]));
    assert_eq!(*properties.nullable(&plan, filter), set([&a[1], &b[0], &b[1]]));
    assert_eq!(*properties.nullable_behind_conditions(&plan, filter), set([&b[0]]));
}

#[test]
fn classes_of_equal_columns() {
    let mut plan = Plan::new();
    let (_, a) = table(&mut plan, "t");
    let (_, b) = table(&mut plan, "u");
    let conditions = [equal(&a[0], &b[0]), equal(&b[0], &b[1]), equal(&b[1], &constant(3))];
    let equivalences = Equivalences::of(&conditions);
    let class: ColumnSet = equivalences.equal_to(a[0].as_column().unwrap()).into_iter().collect();
    assert_eq!(class, set([&a[0], &b[0], &b[1]]));
    assert_eq!(equivalences.constant_columns(), class);
    assert_eq!(equivalences.equal_to(a[1].as_column().unwrap()), [a[1].as_column().unwrap()]);
    let null_safe = [Expr::compare(Comparison::NotDistinct, a[1].clone(), b[1].clone())];
    assert_eq!(Equivalences::of(&null_safe).equal_to(a[1].as_column().unwrap()).len(), 1);
}

#[test]
fn ranges_are_those_of_tables() {
    let mut plan = Plan::new();
    let (scan, a) = table(&mut plan, "t");
    let mut ranges = Ranges::default();
    ranges.add(&plan, scan);
    let range = ranges.get(a[0].as_column().unwrap()).unwrap();
    assert_eq!((range.min, range.max), (1, 2));
}
