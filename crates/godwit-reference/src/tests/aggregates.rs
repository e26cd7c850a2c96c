//! Groups, grouping sets, and the inputs of aggregates.

use godwit_plan::{Aggregate, AggregateCall, Expr, Node, NodeId, Plan};
use godwit_types::{SqlType, Value};

use super::{NULL, descending, error, id, int, less, list, result, table};
use crate::TestFunctions;

fn aggregate(
    plan: &mut Plan,
    input: NodeId,
    keys: &[&Expr],
    sets: Option<Vec<Vec<usize>>>,
    calls: Vec<AggregateCall>,
) -> NodeId {
    let has_sets = sets.is_some();
    let keys = keys.iter().map(|&key| {
        let id = if has_sets { plan.copy_column(id(key)) } else { id(key) };
        (id, key.clone())
    });
    let keys = keys.collect();
    let grouping_id = has_sets.then(|| plan.add_column("grouping", SqlType::BigInt, false));
    let aggregates = calls.into_iter().map(|call| (plan.add_column("agg", call.ty.clone(), call.nullable), call));
    let aggregates = aggregates.collect();
    plan.add(Node::Aggregate(Aggregate { input, keys, sets, grouping_id, aggregates }))
}

fn calls(of: &Expr, names: &[&str]) -> Vec<AggregateCall> {
    names.iter().map(|name| TestFunctions.aggregate_call(name, vec![of.clone()])).collect()
}

#[test]
fn functions_without_rows_with_nulls_and_with_values() {
    let names = ["count", "sum", "avg", "min", "max", "any_value", "first", "list", "median", "stddev"];
    let cases: [(&[Option<i64>], &str); 3] = [
        (&[], "0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL"),
        (&[NULL, NULL], "0, NULL, NULL, NULL, NULL, NULL, NULL, [NULL, NULL], NULL, NULL"),
        (&[NULL, Some(3), Some(1)], "2, 4, 2.0, 1, 3, 3, NULL, [NULL, 3, 1], 2.0, 1.4142135623730951"),
    ];
    for (values, expected) in cases {
        let mut plan = Plan::new();
        let (input, a) = list(&mut plan, values);
        let node = aggregate(&mut plan, input, &[], None, calls(&a, &names));
        assert_eq!(result(&plan, node), expected);
    }
}

#[test]
fn groups_take_nulls_for_equal() {
    let mut plan = Plan::new();
    let (input, [a, b]) = table(&mut plan, &[[Some(1), Some(5)], [NULL, Some(6)], [Some(1), NULL], [NULL, Some(7)]]);
    let mut all = calls(&b, &["sum"]);
    all.push(TestFunctions.aggregate_call("count", Vec::new()));
    let node = aggregate(&mut plan, input, &[&a], None, all);
    assert_eq!(result(&plan, node), "1, 5, 2 | NULL, 13, 2");
    let (empty, [c]) = table::<1>(&mut plan, &[]);
    let node = aggregate(&mut plan, empty, &[&c], None, calls(&c, &["count"]));
    assert_eq!(result(&plan, node), "");
}

#[test]
fn grouping_sets() {
    let mut plan = Plan::new();
    let (input, [a, b]) = table(&mut plan, &[[Some(1), Some(5)], [Some(1), Some(6)], [NULL, Some(6)]]);
    let sets = Some(vec![vec![0, 1], vec![0], vec![], vec![]]);
    let node = aggregate(&mut plan, input, &[&a, &b], sets.clone(), calls(&b, &["count"]));
    let expected = "1, 5, 0, 1 | 1, 6, 0, 1 | NULL, 6, 0, 1 | 1, NULL, 1, 2 | NULL, NULL, 1, 1 \
                    | NULL, NULL, 3, 3 | NULL, NULL, 3, 3";
    assert_eq!(result(&plan, node), expected);
    let (empty, [c, d]) = table::<2>(&mut plan, &[]);
    let node = aggregate(&mut plan, empty, &[&c, &d], sets, calls(&d, &["count", "sum"]));
    assert_eq!(result(&plan, node), "NULL, NULL, 3, 0, NULL | NULL, NULL, 3, 0, NULL");
}

#[test]
fn distinct_filter_and_order() {
    let mut plan = Plan::new();
    let (input, a) = list(&mut plan, &[Some(2), Some(2), Some(1), NULL, Some(3)]);
    let list = TestFunctions.aggregate_call("list", vec![a.clone()]);
    let all = vec![
        AggregateCall { distinct: true, order_by: vec![descending(&a)], ..list.clone() },
        AggregateCall { filter: Some(less(&a, &int(3))), ..list.clone() },
        AggregateCall { ignore_nulls: true, ..list.clone() },
        AggregateCall { filter: Some(less(&a, &int(0))), ..list },
        AggregateCall { distinct: true, ..TestFunctions.aggregate_call("sum", vec![a.clone()]) },
        AggregateCall { filter: Some(less(&a, &int(0))), ..TestFunctions.aggregate_call("count", vec![]) },
    ];
    let node = aggregate(&mut plan, input, &[], None, all);
    assert_eq!(result(&plan, node), "[3, 2, 1, NULL], [2, 2, 1], [2, 2, 1, 3], NULL, 6, 0");
}

#[test]
fn a_sum_fails_only_if_it_does_not_fit() {
    let mut plan = Plan::new();
    let (input, a) = list(&mut plan, &[Some(1), Some(-1), Some(1)]);
    let largest = Expr::literal(Value::Integer(i128::MAX), SqlType::HugeInt);
    let factors = (Box::new(a.clone().cast_to(&SqlType::HugeInt)), Box::new(largest));
    let kind = godwit_plan::ExprKind::Arithmetic(godwit_plan::Arithmetic::Multiply, factors.0, factors.1);
    let scaled = Expr::new(kind, SqlType::HugeInt, true);
    let fits = aggregate(&mut plan, input, &[], None, calls(&scaled, &["sum"]));
    assert_eq!(result(&plan, fits), i128::MAX.to_string());
    let positive = AggregateCall { filter: Some(less(&int(0), &a)), ..calls(&scaled, &["sum"]).remove(0) };
    let beyond = aggregate(&mut plan, input, &[], None, vec![positive]);
    assert!(error(&plan, beyond).contains("overflow"));
}
