//! Window functions: ranks, shifts, frames with ties, NULLs and exclusions.

use godwit_plan::{
    Arithmetic, Expr, ExprKind, Frame, FrameBound, FrameExclusion, FrameUnits, Node, NodeId, Plan, SortKey, Window,
    WindowCall,
};
use godwit_types::{SqlType, Value};

use super::{NULL, ascending, descending, error, int, list, result, rows_of, table};
use crate::TestFunctions;

/// Adds the values of calls after the columns of the input.
fn window(plan: &mut Plan, input: NodeId, calls: Vec<WindowCall>) -> NodeId {
    let calls = calls.into_iter().map(|call| (plan.add_column("w", call.ty.clone(), call.nullable), call));
    let calls = calls.collect();
    plan.add(Node::Window(Window { input, calls }))
}

fn distance(rows: i64) -> Box<Expr> {
    Box::new(Expr::bigint(rows))
}

/// Returns the lists of a column's values in a frame, for rows ordered by it.
fn frames(values: &[Option<i64>], order: fn(&Expr) -> SortKey, frame: Frame) -> String {
    let mut plan = Plan::new();
    let (input, a) = list(&mut plan, values);
    let call = TestFunctions.window_call("list", vec![a.clone()], Vec::new(), vec![order(&a)]);
    let node = window(&mut plan, input, vec![WindowCall { frame, ..call }]);
    let lists = rows_of(&plan, node).unwrap_or_else(|error| panic!("{error}"));
    let show = |value: &Value| match value {
        Value::List(values) => {
            let values = values.iter().map(|value| match value {
                Value::Integer(value) => value.to_string(),
                _ => "-".to_owned(),
            });
            values.collect::<String>()
        }
        _ => "none".to_owned(),
    };
    lists.iter().map(|row| show(&row[1])).collect::<Vec<_>>().join(" ")
}

#[test]
fn ranks() {
    let mut plan = Plan::new();
    let (input, [g, a]) = table(
        &mut plan,
        &[[Some(1), Some(5)], [Some(2), Some(9)], [Some(1), Some(5)], [Some(1), Some(7)], [Some(1), NULL]],
    );
    let names = ["row_number", "rank", "dense_rank", "percent_rank", "cume_dist"];
    let mut calls: Vec<WindowCall> = names
        .iter()
        .map(|name| TestFunctions.window_call(name, vec![], vec![g.clone()], vec![ascending(&a)]))
        .collect();
    calls.push(TestFunctions.window_call("ntile", vec![int(3)], vec![g.clone()], vec![ascending(&a)]));
    let node = window(&mut plan, input, calls);
    let expected = "1, 5, 1, 1, 1, 0.0, 0.5, 1 | 2, 9, 1, 1, 1, 0.0, 1.0, 1 | 1, 5, 2, 1, 1, 0.0, 0.5, 1 \
                    | 1, 7, 3, 3, 2, 0.6666666666666666, 0.75, 2 | 1, NULL, 4, 4, 3, 1.0, 1.0, 3";
    assert_eq!(result(&plan, node), expected);
}

#[test]
fn shifts() {
    let mut plan = Plan::new();
    let (input, [at, a]) = table(&mut plan, &[[Some(1), Some(10)], [Some(2), NULL], [Some(3), Some(30)]]);
    let call = |name: &str, args: Vec<Expr>| TestFunctions.window_call(name, args, vec![], vec![ascending(&at)]);
    let mut ignoring = call("lag", vec![a.clone()]);
    ignoring.ignore_nulls = true;
    let calls = vec![call("lag", vec![a.clone()]), call("lead", vec![a.clone(), int(2), int(0)]), ignoring];
    let node = window(&mut plan, input, calls);
    assert_eq!(result(&plan, node), "1, 10, NULL, 30, NULL | 2, NULL, 10, 0, 10 | 3, 30, NULL, 0, 10");
}

#[test]
fn default_frames() {
    let mut plan = Plan::new();
    let (input, a) = list(&mut plan, &[Some(1), Some(2), Some(2), Some(3)]);
    let over = |order_by: Vec<SortKey>| TestFunctions.window_call("sum", vec![a.clone()], vec![], order_by);
    let last = TestFunctions.window_call("last_value", vec![a.clone()], vec![], vec![ascending(&a)]);
    let node = window(&mut plan, input, vec![over(vec![ascending(&a)]), over(vec![]), last]);
    assert_eq!(result(&plan, node), "1, 1, 8, 1 | 2, 5, 8, 2 | 2, 5, 8, 2 | 3, 8, 8, 3");
}

#[test]
fn units() {
    let values = [Some(1), Some(2), Some(2), Some(4), NULL];
    let around = |units| Frame {
        units,
        start: FrameBound::Preceding(distance(1)),
        end: FrameBound::Following(distance(1)),
        exclude: FrameExclusion::NoOthers,
    };
    assert_eq!(frames(&values, ascending, around(FrameUnits::Rows)), "12 122 224 24- 4-");
    assert_eq!(frames(&values, ascending, around(FrameUnits::Groups)), "122 1224 1224 224- 4-");
    assert_eq!(frames(&values, ascending, around(FrameUnits::Range)), "122 122 122 4 -");
    assert_eq!(frames(&values, descending, around(FrameUnits::Range)), "221 221 221 4 -");
    let rest = Frame { end: FrameBound::UnboundedFollowing, ..around(FrameUnits::Range) };
    assert_eq!(frames(&values, ascending, rest), "1224- 1224- 1224- 4- -");
    let until = Frame { start: FrameBound::UnboundedPreceding, ..around(FrameUnits::Range) };
    assert_eq!(frames(&values, ascending, until), "122 122 122 1224 1224-");
    let nothing = Frame { start: FrameBound::Following(distance(2)), ..around(FrameUnits::Rows) };
    assert_eq!(frames(&values, ascending, nothing), "none none none none none");
}

#[test]
fn ranges_reach_beyond_the_type() {
    let max = i64::from(i32::MAX);
    let ahead = Frame {
        units: FrameUnits::Range,
        start: FrameBound::Following(Box::new(int(1))),
        end: FrameBound::Following(Box::new(int(5))),
        exclude: FrameExclusion::NoOthers,
    };
    assert_eq!(frames(&[Some(max - 1), Some(max)], ascending, ahead.clone()), "2147483647 none");
    let wide = Frame { start: FrameBound::CurrentRow, end: FrameBound::Following(Box::new(int(max))), ..ahead };
    assert_eq!(frames(&[Some(1), Some(2)], ascending, wide), "12 2");
}

#[test]
fn exclusions() {
    let values = [Some(1), Some(2), Some(2), Some(3)];
    let all = |exclude| Frame {
        units: FrameUnits::Rows,
        start: FrameBound::UnboundedPreceding,
        end: FrameBound::UnboundedFollowing,
        exclude,
    };
    assert_eq!(frames(&values, ascending, all(FrameExclusion::CurrentRow)), "223 123 123 122");
    assert_eq!(frames(&values, ascending, all(FrameExclusion::Group)), "223 13 13 122");
    assert_eq!(frames(&values, ascending, all(FrameExclusion::Ties)), "1223 123 123 1223");
}

#[test]
fn distances_may_depend_on_the_row() {
    let mut plan = Plan::new();
    let (input, a) = list(&mut plan, &[Some(1), Some(2), Some(0), Some(-1)]);
    let frame = |units, distance: &Expr| Frame {
        units,
        start: FrameBound::Preceding(Box::new(distance.clone())),
        end: FrameBound::CurrentRow,
        exclude: FrameExclusion::NoOthers,
    };
    let call = TestFunctions.window_call("count", vec![], vec![], vec![ascending(&a)]);
    let square = ExprKind::Arithmetic(Arithmetic::Multiply, Box::new(a.clone()), Box::new(a.clone()));
    let square = Expr::new(square, SqlType::Integer, true);
    let rows = WindowCall { frame: frame(FrameUnits::Rows, &square.clone().cast_to(&SqlType::BigInt)), ..call.clone() };
    let range = WindowCall { frame: frame(FrameUnits::Range, &square), ..call.clone() };
    let node = window(&mut plan, input, vec![rows, range]);
    assert_eq!(result(&plan, node), "1, 2, 2 | 2, 4, 4 | 0, 1, 1 | -1, 1, 1");

    let node = window(&mut plan, input, vec![WindowCall { frame: frame(FrameUnits::Range, &a), ..call }]);
    assert_eq!(error(&plan, node), "the distance of a frame's bound must not be NULL or negative");
}

#[test]
fn aggregates_over_frames_take_filters_distinct_and_orders() {
    let mut plan = Plan::new();
    let (input, a) = list(&mut plan, &[Some(1), Some(2), Some(2), NULL]);
    let call = |name: &str| TestFunctions.window_call(name, vec![a.clone()], vec![], vec![]);
    let calls = vec![
        WindowCall { distinct: true, ..call("sum") },
        WindowCall { filter: Some(super::less(&a, &int(2))), ..call("count") },
        WindowCall { argument_order: vec![descending(&a)], ..call("first_value") },
        TestFunctions.window_call("nth_value", vec![a.clone(), int(2)], vec![], vec![ascending(&a)]),
    ];
    let node = window(&mut plan, input, calls);
    assert_eq!(result(&plan, node), "1, 3, 1, 2, NULL | 2, 3, 1, 2, 2 | 2, 3, 1, 2, 2 | NULL, 3, 1, 2, 2");
    assert_eq!(plan.column(plan.outputs(node)[1]).ty, SqlType::BigInt);
}
