//! The kinds of joins.

use godwit_plan::{Comparison, Expr, Join, JoinKind, Node, NodeId, Plan};
use godwit_types::SqlType;

use super::{NULL, equal, error, less, list, result, table};

fn join(plan: &mut Plan, kind: JoinKind, left: NodeId, right: NodeId, conditions: Vec<Expr>) -> NodeId {
    plan.add(Node::Join(Join { kind, left, right, conditions }))
}

#[test]
fn kinds() {
    let mut plan = Plan::new();
    let (left, a) = list(&mut plan, &[Some(1), Some(2), NULL]);
    let (right, b) = list(&mut plan, &[Some(2), Some(2), NULL, Some(3)]);
    let on = vec![equal(&a, &b)];
    let cases = [
        (JoinKind::Inner, "2, 2 | 2, 2"),
        (JoinKind::Left, "1, NULL | 2, 2 | 2, 2 | NULL, NULL"),
        (JoinKind::Right, "2, 2 | 2, 2 | NULL, NULL | NULL, 3"),
        (JoinKind::Full, "1, NULL | 2, 2 | 2, 2 | NULL, NULL | NULL, NULL | NULL, 3"),
        (JoinKind::Semi, "2"),
        (JoinKind::Anti, "1 | NULL"),
        (JoinKind::RightSemi, "2 | 2"),
        (JoinKind::RightAnti, "NULL | 3"),
    ];
    for (kind, expected) in cases {
        let node = join(&mut plan, kind.clone(), left, right, on.clone());
        assert_eq!(result(&plan, node), expected, "{kind:?}");
    }
    let single = join(&mut plan, JoinKind::Single, left, right, on);
    assert_eq!(error(&plan, single), "more than one row returned by a subquery used as a value");
    let single = join(&mut plan, JoinKind::Single, left, right, vec![equal(&a, &b), less(&b, &a)]);
    assert_eq!(result(&plan, single), "1, NULL | 2, NULL | NULL, NULL");
    let side_by_side = join(&mut plan, JoinKind::Positional, left, right, Vec::new());
    assert_eq!(result(&plan, side_by_side), "1, 2 | 2, 2 | NULL, NULL | NULL, 3");
}

#[test]
fn marks_are_three_valued_by_what_they_compare() {
    let cases: [(&[[Option<i64>; 2]], &str); 4] = [
        (&[[Some(7), Some(1)], [Some(7), NULL]], "1, true | 2, NULL | NULL, NULL"),
        (&[[Some(7), Some(1)], [NULL, NULL], [Some(8), NULL]], "1, true | 2, false | NULL, NULL"),
        (&[[Some(8), Some(1)]], "1, false | 2, false | NULL, false"),
        (&[], "1, false | 2, false | NULL, false"),
    ];
    for (rows, expected) in cases {
        let mut plan = Plan::new();
        let (left, a) = list(&mut plan, &[Some(1), Some(2), NULL]);
        let (right, [key, b]) = table(&mut plan, rows);
        let mark = plan.add_column("mark", SqlType::Boolean, true);
        let kind = JoinKind::Mark { mark, compare: vec![equal(&a, &b)] };
        let node = join(&mut plan, kind, left, right, vec![equal(&key, &super::int(7))]);
        assert_eq!(result(&plan, node), expected, "{rows:?}");
    }
    let mut plan = Plan::new();
    let (left, a) = list(&mut plan, &[Some(1), NULL]);
    let (right, b) = list(&mut plan, &[Some(1), NULL]);
    let mark = plan.add_column("mark", SqlType::Boolean, false);
    let exists = join(&mut plan, JoinKind::Mark { mark, compare: Vec::new() }, left, right, vec![equal(&a, &b)]);
    assert_eq!(result(&plan, exists), "1, true | NULL, false");
}

#[test]
fn the_nearest_row() {
    let mut plan = Plan::new();
    let (left, a) = list(&mut plan, &[Some(0), Some(2), Some(5), NULL]);
    let (right, b) = list(&mut plan, &[Some(1), Some(2), Some(4), NULL]);
    let cases = [
        (Comparison::GreaterOrEqual, false, "2, 2 | 5, 4"),
        (Comparison::Greater, false, "2, 1 | 5, 4"),
        (Comparison::LessOrEqual, true, "0, 1 | 2, 2 | 5, NULL | NULL, NULL"),
        (Comparison::Less, true, "0, 1 | 2, 4 | 5, NULL | NULL, NULL"),
    ];
    for (comparison, outer, expected) in cases {
        let kind = JoinKind::AsOf { outer, comparison, left: Box::new(a.clone()), right: Box::new(b.clone()) };
        let node = join(&mut plan, kind, left, right, Vec::new());
        assert_eq!(result(&plan, node), expected, "{comparison:?}");
    }
}

#[test]
fn dependent_right_sides_see_the_left_row() {
    let mut plan = Plan::new();
    let (left, a) = list(&mut plan, &[Some(1), Some(2), Some(3)]);
    let (inner, b) = list(&mut plan, &[Some(1), Some(2)]);
    let smaller = plan.add(Node::Filter { input: inner, conditions: vec![less(&b, &a)] });
    for (kind, expected) in [
        (JoinKind::Inner, "2, 1 | 3, 1 | 3, 2"),
        (JoinKind::Left, "1, NULL | 2, 1 | 3, 1 | 3, 2"),
        (JoinKind::Semi, "2 | 3"),
        (JoinKind::Anti, "1"),
    ] {
        let node = join(&mut plan, kind.clone(), left, smaller, Vec::new());
        assert_eq!(result(&plan, node), expected, "{kind:?}");
    }
    let wrong = join(&mut plan, JoinKind::Full, left, smaller, Vec::new());
    assert!(error(&plan, wrong).contains("isn't bound"));
}
