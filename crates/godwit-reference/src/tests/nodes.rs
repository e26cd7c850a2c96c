//! Limits, set operations, unnesting, recursion, shared plans, and the limits of the evaluator itself.

use godwit_common::{ErrorKind, SqlState};
use godwit_plan::{
    Arithmetic, Expr, ExprKind, Limit, Node, NodeId, Plan, Project, Recursive, SetOperation, SetOperator, SharedPlan,
    Unnest, UnnestedList, Use,
};
use godwit_types::{SqlType, Value};

use super::{NULL, ascending, column, error, id, int, less, list, result, rows_of};
use crate::TestFunctions;

fn sorted(plan: &mut Plan, values: &[Option<i64>]) -> NodeId {
    let (input, a) = list(plan, values);
    plan.add(Node::Sort { input, keys: vec![ascending(&a)] })
}

#[test]
fn limits() {
    let double = |value: f64| Some(Expr::literal(Value::Float(value), SqlType::Double));
    let count = |count: i64| Some(Expr::bigint(count));
    let cases = [
        (count(2), None, false, false, "1 | 2"),
        (count(2), None, true, false, "1 | 2 | 2"),
        (count(1), count(1), false, false, "2"),
        (None, count(3), false, false, "3 | NULL"),
        (Some(Expr::null(SqlType::BigInt)), None, false, false, "1 | 2 | 2 | 3 | NULL"),
        (count(0), None, true, false, ""),
        (double(50.0), None, false, true, "1 | 2"),
        (double(40.0), None, true, true, "1 | 2 | 2"),
    ];
    for (count, offset, with_ties, percent, expected) in cases {
        let mut plan = Plan::new();
        let input = sorted(&mut plan, &[Some(2), NULL, Some(1), Some(3), Some(2)]);
        let node = plan.add(Node::Limit(Limit { input, offset, count, with_ties, percent }));
        assert_eq!(result(&plan, node), expected, "{}", plan.describe(plan.node(node)));
    }
    let mut plan = Plan::new();
    let input = sorted(&mut plan, &[]);
    let limit = Limit { input, offset: None, count: count(-1), with_ties: false, percent: false };
    let node = plan.add(Node::Limit(limit));
    assert_eq!(error(&plan, node), "LIMIT must not be negative");
}

#[test]
fn set_operations() {
    let (a, b) = ([Some(1), Some(1), NULL, NULL, Some(2)], [Some(1), NULL, Some(3)]);
    let cases = [
        (SetOperator::Union, true, "1 | 1 | NULL | NULL | 2 | 1 | NULL | 3"),
        (SetOperator::Union, false, "1 | NULL | 2 | 3"),
        (SetOperator::Intersect, true, "1 | NULL"),
        (SetOperator::Intersect, false, "1 | NULL"),
        (SetOperator::Except, true, "1 | NULL | 2"),
        (SetOperator::Except, false, "2"),
    ];
    for (operator, all, expected) in cases {
        let mut plan = Plan::new();
        let inputs = [a.as_slice(), b.as_slice()].map(|values| {
            let (node, value) = list(&mut plan, values);
            (node, vec![id(&value)])
        });
        let columns = vec![plan.add_column("u", SqlType::Integer, true)];
        let node = plan.add(Node::SetOperation(SetOperation { operator, all, columns, inputs: inputs.into() }));
        assert_eq!(result(&plan, node), expected, "{operator:?} all {all}");
    }
}

#[test]
fn unnested_lists_go_side_by_side() {
    let mut plan = Plan::new();
    let (input, a) = list(&mut plan, &[Some(1), Some(0), NULL]);
    let series = TestFunctions.call("generate_series", vec![int(1), a.clone()]);
    let pair = TestFunctions.call("list_value", vec![a.clone(), int(9)]);
    let empty_of_null = Expr::new(
        ExprKind::Case { branches: vec![(less(&int(0), &a), pair)], otherwise: None },
        SqlType::list_of(SqlType::Integer),
        true,
    );
    for (outer, expected) in [
        (false, "1, 1, 1, 1 | 1, NULL, 9, 2"),
        (true, "1, 1, 1, 1 | 1, NULL, 9, 2 | 0, NULL, NULL, NULL | NULL, NULL, NULL, NULL"),
    ] {
        let first = plan.add_column("x", SqlType::BigInt, true);
        let second = plan.add_column("y", SqlType::Integer, true);
        let ordinality = Some(plan.add_column("at", SqlType::BigInt, outer));
        let lists = vec![
            UnnestedList { column: first, list: series.clone() },
            UnnestedList { column: second, list: empty_of_null.clone() },
        ];
        let node = plan.add(Node::Unnest(Unnest { input, lists, ordinality, outer }));
        assert_eq!(result(&plan, node), expected);
    }
}

/// Makes a recursion whose rows start at `values` and grow by a step, as long as they are below a limit.
fn counting(plan: &mut Plan, values: &[Option<i64>], step: i64, limit: i64, all: bool) -> NodeId {
    let (base, first) = list(plan, values);
    let working = plan.add_column("working", SqlType::Integer, false);
    let columns = vec![plan.add_column("n", SqlType::Integer, true)];
    let read = plan.copy_column(columns[0]);
    let rows = plan.add(Node::WorkingRows { of: working, columns: vec![read] });
    let read = column(plan, read);
    let below = plan.add(Node::Filter { input: rows, conditions: vec![less(&read, &int(limit))] });
    let sum = ExprKind::Arithmetic(Arithmetic::Add, Box::new(read), Box::new(int(step)));
    let next = plan.add_column("next", SqlType::Integer, true);
    let projected = vec![(next, Expr::new(sum, SqlType::Integer, true))];
    let projected = plan.add(Node::Project(Project { input: below, columns: projected }));
    let (base, step) = ((base, vec![id(&first)]), (projected, vec![next]));
    plan.add(Node::Recursive(Recursive { working, columns, base, step, all }))
}

#[test]
fn recursion() {
    let mut plan = Plan::new();
    let all = counting(&mut plan, &[Some(1), Some(2)], 1, 3, true);
    assert_eq!(result(&plan, all), "1 | 2 | 2 | 3 | 3");
    let distinct = counting(&mut plan, &[Some(1), Some(2), Some(2)], 1, 3, false);
    assert_eq!(result(&plan, distinct), "1 | 2 | 3");
    let fixpoint = counting(&mut plan, &[Some(1)], 0, 3, false);
    assert_eq!(result(&plan, fixpoint), "1");
    let endless = counting(&mut plan, &[Some(1)], 0, 3, true);
    assert_eq!(rows_of(&plan, endless).expect_err("it has no end").kind(), ErrorKind::Resource);
}

#[test]
fn a_shared_plan_is_evaluated_once() {
    let mut plan = Plan::new();
    let (input, _) = list(&mut plan, &[Some(1)]);
    let value = plan.add_column("value", SqlType::Double, false);
    let columns = vec![(value, TestFunctions.call("random", Vec::new()))];
    let root = plan.add(Node::Project(Project { input, columns }));
    let shared = plan.add_shared(SharedPlan { name: "w".to_owned(), root, materialized: None });
    let inputs: Vec<_> = (0..2)
        .map(|_| {
            let own = plan.copy_column(value);
            (plan.add(Node::Use(Use { shared, columns: vec![(own, value)] })), vec![own])
        })
        .collect();
    let columns = vec![plan.copy_column(value)];
    let operator = SetOperator::Union;
    let distinct = plan.add(Node::SetOperation(SetOperation { operator, all: false, columns, inputs }));
    assert_eq!(rows_of(&plan, distinct).unwrap().len(), 1);
}

#[test]
fn too_many_rows_and_too_deep() {
    let mut plan = Plan::new();
    let many: Vec<Option<i64>> = (0..1_100).map(Some).collect();
    let ((left, _), (right, _)) = (list(&mut plan, &many), list(&mut plan, &many));
    let join = godwit_plan::Join { kind: godwit_plan::JoinKind::Inner, left, right, conditions: Vec::new() };
    let join = plan.add(Node::Join(join));
    assert_eq!(rows_of(&plan, join).expect_err("it is too much").kind(), ErrorKind::Resource);
    let (mut node, _) = list(&mut plan, &[Some(1)]);
    for _ in 0..1_000 {
        node = plan.add(Node::Filter { input: node, conditions: vec![Expr::boolean(true)] });
    }
    assert_eq!(result(&plan, node), "1");
    for _ in 0..2_000 {
        node = plan.add(Node::Filter { input: node, conditions: vec![Expr::boolean(true)] });
    }
    assert_eq!(rows_of(&plan, node).expect_err("it is too deep").code(), SqlState::STATEMENT_TOO_COMPLEX);
}
