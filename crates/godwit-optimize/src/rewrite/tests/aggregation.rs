//! Aggregation before joins.

use godwit_plan::{AggregateCall, Join};

use super::*;
use crate::rewrite::aggregate_early::{Worth, aggregate_early};

/// `sales (item, day, price)` joined with `items (id, brand)`, and the columns of both.
fn sold_items(build: &mut Build, kind: JoinKind, items: i128) -> (NodeId, Vec<Expr>) {
    let row = |at: i128| vec![Value::Integer(at % 5), Value::Integer(at % 3), Value::Integer(at)];
    let sales = MemoryTable::new("sales", &typed(&["item", "day", "price"]), (0..40).map(row).collect());
    let row = |at: i128| vec![Value::Integer(at % 4), Value::Integer(at % 2)];
    let items = MemoryTable::new("items", &typed(&["id", "brand"]), (0..items).map(row).collect());
    let ((s, mut columns), (i, more)) = (build.scan(sales), build.scan(items));
    let join = build.join(kind, s, i, vec![equal(&columns[0], &more[0])]);
    columns.extend(more);
    (join, columns)
}

/// The plan after the pass; checks that it has the same rows as before.
fn early(plan: &Plan, worth: Worth) -> String {
    let mut rewritten = plan.clone();
    let settings = OptimizerSettings::default();
    aggregate_early(&mut rewritten, &mut Context::new(&TestFunctions, &settings), worth).unwrap();
    if let Err(difference) = agree(&evaluate(plan, &[]), &evaluate(&rewritten, &[])) {
        panic!("{difference}\nbefore:\n{}\nafter:\n{}", plan.display(), rewritten.display());
    }
    without_ids(&rewritten.display())
}

/// Aggregates of sold items by brand.
fn by_brand(kind: JoinKind, calls: impl Fn(&[Expr]) -> Vec<(&'static str, Vec<Expr>)>) -> Plan {
    let mut build = Build::default();
    let (join, columns) = sold_items(&mut build, kind, 6);
    let (root, values) = build.aggregate(join, &[&columns[4]], &calls(&columns));
    let output: Vec<&Expr> = [&columns[4]].into_iter().chain(&values).collect();
    build.finish(root, &output)
}

fn chosen(condition: Expr, value: Expr, otherwise: Option<Expr>) -> Expr {
    let ty = value.ty.clone();
    Expr::new(ExprKind::Case { branches: vec![(condition, value)], otherwise: otherwise.map(Box::new) }, ty, true)
}

#[test]
fn rows_are_aggregated_before_a_join() {
    let calls = |c: &[Expr]| {
        vec![("sum", vec![c[2].clone()]), ("count", vec![]), ("max", vec![c[1].clone()]), ("avg", vec![c[2].clone()])]
    };
    let text = early(&by_brand(JoinKind::Inner, calls), Worth::ALWAYS);
    assert_plan(
        &text,
        "
        Project brand, sum := sum, count := coalesce(sum, 0), max := max, \
            avg := CASE WHEN (CAST(sum AS DOUBLE) IS NULL) THEN NULL \
            ELSE (CAST(sum AS DOUBLE) / CAST(coalesce(sum, 0) AS DOUBLE)) END
          Aggregate by [brand] sum := sum(sum of rows), sum := sum(count of rows), max := max(max of rows)
            Join Inner on (item = id)
              Aggregate by [item] sum of rows := sum(price), count of rows := count(*), max of rows := max(day)
                Scan sales (item, day, price)
              Scan items (id, brand)
        ",
    );
}

#[test]
fn values_that_the_other_side_chooses_are_aggregated_before_it_does() {
    let calls = |c: &[Expr]| {
        let is = |brand: i128| equal(&c[4], &integer(brand));
        vec![
            ("sum", vec![chosen(is(0), c[2].clone(), None)]),
            ("sum", vec![chosen(is(1), c[2].clone(), Some(integer(0)))]),
            ("sum", vec![chosen(is(1), integer(1), Some(integer(0)))]),
            ("count", vec![chosen(is(1), integer(7), None)]),
            ("avg", vec![chosen(is(1), c[2].clone(), None)]),
            ("min", vec![chosen(is(1), c[2].clone(), Some(integer(9)))]),
        ]
    };
    let text = early(&by_brand(JoinKind::Inner, calls), Worth::ALWAYS);
    assert_eq!(text.matches("sum of rows := sum(price)").count(), 1, "{text}");
    assert!(text.contains("Aggregate by [item] "), "{text}");
}

#[test]
fn each_kind_of_join_that_passes_a_side_on_has_the_same_rows() {
    for kind in [JoinKind::Inner, JoinKind::Left, JoinKind::Semi, JoinKind::Anti] {
        let mut build = Build::default();
        let (join, columns) = sold_items(&mut build, kind.clone(), 6);
        let calls = [("sum", vec![columns[2].clone()]), ("count", vec![])];
        let (root, values) = build.aggregate(join, &[&columns[1]], &calls);
        let plan = build.finish(root, &[&columns[1], &values[0], &values[1]]);
        assert!(early(&plan, Worth::ALWAYS).contains("of rows"), "{kind:?}");
    }
}

#[test]
fn what_has_no_two_steps_stays() {
    type Calls = fn(&[Expr]) -> Vec<(&'static str, Vec<Expr>)>;
    let cases: [(&str, Calls); 4] = [
        ("values of both sides", |c| vec![("sum", vec![plus(&c[2], &c[4])])]),
        ("sums that may overflow", |c| vec![("sum", vec![plus(&c[2], &c[1])])]),
        ("a constant that isn't 0 or 1", |c| vec![("sum", vec![chosen(equal(&c[4], &c[4]), integer(2), None)])]),
        ("volatile values", |_| vec![("sum", vec![random()])]),
    ];
    for (name, calls) in cases {
        let text = early(&by_brand(JoinKind::Inner, calls), Worth::ALWAYS);
        assert!(!text.contains("of rows"), "{name}: {text}");
    }
    let mut build = Build::default();
    let (join, columns) = sold_items(&mut build, JoinKind::Inner, 6);
    let (root, values) = build.aggregate(join, &[], &[("sum", vec![columns[2].clone()])]);
    let text = early(&build.finish(root, &[&values[0]]), Worth::ALWAYS);
    assert!(!text.contains("of rows"), "no groups: {text}");

    let mut build = Build::default();
    let (join, mut columns) = sold_items(&mut build, JoinKind::Full, 6);
    columns.iter_mut().for_each(|column| column.nullable = true);
    let (root, values) = build.aggregate(join, &[&columns[4]], &[("sum", vec![columns[2].clone()])]);
    let text = early(&build.finish(root, &[&values[0]]), Worth::ALWAYS);
    assert!(!text.contains("of rows"), "NULLs in place of values: {text}");

    let mut build = Build::default();
    let (join, columns) = sold_items(&mut build, JoinKind::Inner, 6);
    let (root, values) = build.aggregate(join, &[&columns[4]], &[("count", vec![columns[2].clone()])]);
    let mut plan = build.finish(root, &[&values[0]]);
    let Node::Aggregate(mut aggregate) = plan.node(root).clone() else { unreachable!() };
    let (_, call) = &mut aggregate.aggregates[0];
    *call = AggregateCall { distinct: true, ..call.clone() };
    plan.root = Some(plan.add(Node::Aggregate(aggregate)));
    assert!(!early(&plan, Worth::ALWAYS).contains("of rows"), "distinct values");
}

#[test]
fn a_filter_stays_with_a_value_that_the_other_side_chooses() {
    let mut build = Build::default();
    let (join, columns) = sold_items(&mut build, JoinKind::Inner, 6);
    let is_new = equal(&columns[4], &integer(1));
    let calls = [
        ("max", vec![chosen(is_new.clone(), integer(5_000), Some(columns[2].clone()))]),
        ("sum", vec![chosen(is_new.clone(), columns[2].clone(), Some(integer(0)))]),
        ("sum", vec![chosen(is_new.clone(), integer(1), None)]),
        ("avg", vec![chosen(is_new, columns[2].clone(), Some(integer(0)))]),
        ("count", vec![columns[2].clone()]),
        ("avg", vec![columns[2].clone()]),
    ];
    let (root, values) = build.aggregate(join, &[&columns[4]], &calls);
    let filter = equal(&columns[2], &integer(7));
    let output: Vec<&Expr> = [&columns[4]].into_iter().chain(&values).collect();
    let mut plan = build.finish(root, &output);
    let Node::Aggregate(mut aggregate) = plan.node(root).clone() else { unreachable!() };
    aggregate.aggregates.iter_mut().for_each(|(_, call)| call.filter = Some(filter.clone()));
    plan.root = Some(plan.add(Node::Aggregate(aggregate)));
    let text = early(&plan, Worth::ALWAYS);
    assert!(text.contains("Aggregate by [item, price]"), "{text}");
}

#[test]
fn rows_whose_keys_differ_though_they_are_equal_stay_apart() {
    let mut build = Build::default();
    let row = |at: i128| vec![Value::Float(if at % 2 == 0 { 0.0 } else { -0.0 }), Value::Integer(at)];
    let columns = [("f", SqlType::Double), ("v", SqlType::Integer)];
    let (s, left) = build.scan(MemoryTable::new("s", &columns, (0..40).map(row).collect()));
    let row = |at: i128| vec![Value::Float(at as f64)];
    let (d, right) = build.scan(MemoryTable::new("d", &[("j", SqlType::Double)], (0..4).map(row).collect()));
    let join = build.join(JoinKind::Inner, s, d, vec![equal(&left[0], &right[0])]);
    let (root, values) = build.aggregate(join, &[&right[0]], &[("sum", vec![left[1].clone()])]);
    let plan = build.finish(root, &[&values[0]]);
    assert!(!early(&plan, Worth::ALWAYS).contains("of rows"));
}

#[test]
fn it_must_be_worth_it() {
    let plan = by_brand(JoinKind::Inner, |c| vec![("sum", vec![c[2].clone()])]);
    assert!(early(&plan, Worth { rows_min: 30.0, ..Worth::ALWAYS }).contains("of rows"));
    assert!(!early(&plan, Worth { rows_min: 41.0, ..Worth::ALWAYS }).contains("of rows"));
    assert!(!early(&plan, Worth { rows_per_group_min: 9.0, ..Worth::ALWAYS }).contains("of rows"));
    assert!(!early(&plan, Worth { gain_min: 1.0, ..Worth::ALWAYS }).contains("of rows"));
    assert!(!early(&plan, Worth::default()).contains("of rows"));
}

#[test]
fn the_side_that_becomes_small_is_the_build_side() {
    let mut build = Build::default();
    let (join, columns) = sold_items(&mut build, JoinKind::Inner, 30);
    let (root, values) = build.aggregate(join, &[&columns[4]], &[("sum", vec![columns[2].clone()])]);
    let plan = build.finish(root, &[&values[0]]);
    let Node::Join(Join { left, right, .. }) = plan.node(join) else { unreachable!() };
    assert!(left < right);
    let text = early(&plan, Worth::ALWAYS);
    let (items, sales) = (text.find("Scan items").unwrap(), text.find("Scan sales").unwrap());
    assert!(items < sales, "{text}");
}
