//! Equal aggregations.

use godwit_plan::{Subquery, SubqueryKind};

use super::*;

/// `sum(price)` by item of a table's rows below a price, as a statement says it: with columns of its own.
fn revenue(build: &mut Build, table: &Arc<dyn godwit_plan::Relation>, most: i128) -> (NodeId, Vec<Expr>) {
    let (scan, columns) = build.scan_of(table);
    let filtered = build.filter(scan, vec![less(&columns[1], &integer(most))]);
    let (root, sums) = build.aggregate(filtered, &[&columns[0]], &[("sum", vec![columns[1].clone()])]);
    (root, [&columns[..1], &sums].concat())
}

fn sales() -> Arc<dyn godwit_plan::Relation> {
    let row = |at: i128| vec![Value::Integer(at % 5), Value::Integer(at)];
    Arc::new(MemoryTable::new("sales", &typed(&["item", "price"]), (0..40).map(row).collect()))
}

/// Items with their revenue, beside the greatest revenue of one.
fn beside_the_greatest(first: i128, second: i128, tables: [&Arc<dyn godwit_plan::Relation>; 2]) -> Plan {
    let mut build = Build::default();
    let (items, columns) = revenue(&mut build, tables[0], first);
    let (others, more) = revenue(&mut build, tables[1], second);
    let (greatest, max) = build.aggregate(others, &[], &[("max", vec![more[1].clone()])]);
    let root = build.join(JoinKind::Left, items, greatest, vec![less(&columns[1], &max[0])]);
    build.finish(root, &[&columns[0], &columns[1], &max[0]])
}

#[test]
fn equal_aggregations_are_computed_once() {
    let table = sales();
    assert_plan(
        &after(&beside_the_greatest(30, 30, [&table, &table]), &[Pass::CommonSubplans]),
        "
        shared 0 repeated aggregation:
          Aggregate by [item] sum := sum(price)
            Filter (price < 30)
              Scan sales (item, price)
        Join Left on (sum < max)
          Use shared 0 (item := , sum := )
          Aggregate by [] max := max(sum)
            Use shared 0 (item := , sum := )
        ",
    );
}

#[test]
fn what_differs_is_computed_by_itself() {
    let (table, other) = (sales(), sales());
    for plan in [beside_the_greatest(30, 31, [&table, &table]), beside_the_greatest(30, 30, [&table, &other])] {
        let text = after(&plan, &[Pass::CommonSubplans]);
        assert!(!text.contains("Use"), "{text}");
    }
    // Random values are drawn for each.
    let mut build = Build::default();
    let mut drawn = || {
        let (scan, columns) = build.scan_of(&table);
        let (drawn, values) = build.project(scan, &[&columns[0]], &[("x", random())]);
        let (root, _) = build.aggregate(drawn, &[&columns[0]], &[("sum", vec![values[1].clone()])]);
        (root, vec![columns[0].clone()])
    };
    let inputs = vec![drawn(), drawn()];
    let (root, columns) = build.union_all(inputs);
    let plan = build.finish(root, &[&columns[0]]);
    assert!(!rewritten(&plan, &[Pass::CommonSubplans]).display().contains("Use"));
}

/// A key of an aggregation keeps the id of a column that has no NULLs where it is read.
#[test]
fn nulls_of_outer_joins_are_known_above_uses() {
    let (t, u) = (sales(), sales());
    let mut build = Build::default();
    let mut joined = || {
        let ((left, a), (right, b)) = (build.scan_of(&t), build.scan_of(&u));
        let join = build.join(JoinKind::Left, left, right, vec![less(&plus(&a[1], &integer(38)), &b[1])]);
        let key = Expr { nullable: true, ..b[0].clone() };
        let (root, _) = build.aggregate(join, &[&key], &[]);
        (root, vec![b[0].clone()])
    };
    let inputs = vec![joined(), joined()];
    let (root, columns) = build.union_all(inputs.clone());
    let plan = build.finish(root, &[&columns[0]]);
    assert!(after(&plan, &[Pass::CommonSubplans]).contains("Use"));
    let shared = rewritten(&plan, &[Pass::CommonSubplans]);
    assert!(inputs.iter().all(|(_, columns)| shared.column(id_of(&columns[0])).nullable));
}

#[test]
fn subqueries_that_say_the_same_are_computed_once() {
    let table = sales();
    let mut build = Build::default();
    let (items, columns) = build.scan_of(&table);
    let mut greatest = || {
        let (revenues, more) = revenue(&mut build, &table, 30);
        let (plan, max) = build.aggregate(revenues, &[], &[("max", vec![more[1].clone()])]);
        let subquery = Subquery { kind: SubqueryKind::Scalar, plan, columns: vec![id_of(&max[0])] };
        Expr::new(ExprKind::Subquery(Box::new(subquery)), max[0].ty.clone(), true)
    };
    let (first, second) = (greatest(), greatest());
    let (root, made) = build.project(items, &[&columns[0]], &[("x", first), ("y", second)]);
    let plan = build.finish(root, &[&columns[0], &made[1], &made[2]]);
    let text = after(&plan, &[Pass::CommonSubplans]);
    assert_eq!((text.matches("Use").count(), text.matches("Scan sales").count()), (2, 2), "{text}");
}

/// A filter of the build side's keys passes through GROUP BY, but not into a shared plan.
#[test]
fn aggregations_of_which_joins_need_little_are_left_alone() {
    let shared = |needed: i128| {
        let row = |at: i128| vec![Value::Integer(at % 50), Value::Integer(at % 7)];
        let sales: Arc<dyn godwit_plan::Relation> =
            Arc::new(MemoryTable::new("sales", &typed(&["item", "price"]), (0..200).map(row).collect()));
        let mut build = Build::default();
        let mut joined = || {
            let rows = (0..needed).map(|at| vec![Value::Integer(at)]).collect();
            let (items, keys) = build.scan(MemoryTable::new("items", &typed(&["id"]), rows));
            let (revenues, columns) = revenue(&mut build, &sales, 5);
            let join = build.join(JoinKind::Inner, revenues, items, vec![equal(&columns[0], &keys[0])]);
            (join, vec![columns[0].clone()])
        };
        let inputs = vec![joined(), joined()];
        let (root, columns) = build.union_all(inputs);
        let plan = build.finish(root, &[&columns[0]]);
        after(&plan, &[Pass::CommonSubplans]).contains("Use")
    };
    assert_eq!([200, 50, 20, 1].map(shared), [true, true, false, false]);
}
