//! Added and removed columns, aliases, shared plans.

use godwit_plan::{Arithmetic, Expr, ExprKind, JoinKind};
use godwit_reference::MemoryTable;
use godwit_types::{SqlType, Value};

use super::{Build, after, assert_plan, equal, integer, less, plus, random, rewritten};
use crate::Pass;

#[test]
fn only_needed_columns_are_read() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a", "b", "unused"]);
    let filtered = build.filter(t, vec![less(&a[1], &integer(5))]);
    let (root, made) = build.project(filtered, &[&a[2]], &[("x", plus(&a[0], &integer(1)))]);
    let plan = build.finish(root, &[&made[1]]);
    assert_plan(
        &after(&plan, &[Pass::Prune]),
        "
        Project x := (a + 1)
          Filter (b < 5)
            Scan t (a, b)
        ",
    );
}

#[test]
fn an_outer_join_that_adds_nothing_goes() {
    let cases: [(bool, bool); 3] = [(true, true), (true, false), (false, true)];
    for (is_key, is_unneeded) in cases {
        let mut build = Build::default();
        let (t, a) = build.table("t", &["a"]);
        let (u, c) = match is_key {
            true => build.keyed_table("u", &["k", "d"]),
            false => build.table("u", &["k", "d"]),
        };
        let root = build.join(JoinKind::Left, t, u, vec![equal(&a[0], &c[0])]);
        let output = if is_unneeded { vec![&a[0]] } else { vec![&a[0], &c[1]] };
        let plan = build.finish(root, &output);
        let text = after(&plan, &[Pass::Prune]);
        assert_eq!(text.contains("Join"), !(is_key && is_unneeded), "{text}");
    }
}

#[test]
fn projections_are_merged_unless_something_is_computed_twice() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let (below, x) = build.project(t, &[], &[("x", plus(&a[0], &integer(1)))]);
    let (root, once) = build.project(below, &[], &[("y", plus(&x[0], &integer(2)))]);
    let plan = build.finish(root, &[&once[0]]);
    assert_plan(&after(&plan, &[Pass::Prune]), "Project y := ((a + 1) + 2)\n  Scan t (a)\n");
    for value in [plus(&a[0], &integer(1)), random()] {
        let mut build = Build::default();
        let (t, _) = build.table("t", &["a"]);
        let (below, x) = build.project(t, &[], &[("x", value)]);
        let (root, twice) = build.project(below, &[], &[("y", plus(&x[0], &x[0]))]);
        let plan = build.finish(root, &[&twice[0]]);
        assert!(
            super::without_ids(&rewritten(&plan, &[Pass::Prune]).display())
                .starts_with("Project y := (x + x)\n  Project x")
        );
    }
}

#[test]
fn names_of_columns_leave_joins_bare() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let (u, c) = build.table("u", &["c"]);
    let (named, x) = build.project(t, &[], &[("x", a[0].clone())]);
    let (again, y) = build.project(named, &[], &[("y", x[0].clone())]);
    let root = build.join(JoinKind::Inner, again, u, vec![equal(&y[0], &c[0])]);
    let plan = build.finish(root, &[&y[0], &c[0]]);
    assert_plan(
        &after(&plan, &[Pass::Rename, Pass::Prune]),
        "
        Project y := a, c
          Join Inner on (a = c)
            Scan t (a)
            Scan u (c)
        ",
    );
}

#[test]
fn what_is_cheap_is_copied_and_what_aggregates_is_not() {
    for aggregates in [false, true] {
        let mut build = Build::default();
        let (t, a) = build.table("t", &["a"]);
        let mut shared = build.filter(t, vec![less(&a[0], &integer(5))]);
        if aggregates {
            shared = build.aggregate(shared, &[&a[0]], &[]).0;
        }
        let shared = build.share(shared);
        let (left, x) = build.use_of(shared);
        let (right, y) = build.use_of(shared);
        let root = build.join(JoinKind::Inner, left, right, vec![equal(&x[0], &y[0])]);
        let plan = build.finish(root, &[&x[0], &y[0]]);
        let text = after(&plan, &[Pass::Share]);
        assert_eq!(text.matches("Scan t").count(), if aggregates { 1 } else { 2 }, "{text}");
        assert_eq!(text.contains("Use"), aggregates, "{text}");
    }
}

#[test]
fn volatile_plans_stay_shared() {
    let mut build = Build::default();
    let (t, _) = build.table("t", &["a"]);
    let (made, _) = build.project(t, &[], &[("r", random())]);
    let shared = build.share(made);
    let (root, x) = build.use_of(shared);
    let plan = build.finish(root, &[&x[0]]);
    assert!(after(&plan, &[Pass::Share]).contains("Use"));
}

fn times(a: &Expr, b: &Expr) -> Expr {
    let kind = ExprKind::Arithmetic(Arithmetic::Multiply, Box::new(a.clone()), Box::new(b.clone()));
    Expr::new(kind, a.ty.clone(), true)
}

#[test]
fn what_is_repeated_is_computed_once() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["p", "d", "t"]);
    let price = times(&a[0], &plus(&integer(1), &a[1]));
    let sums = [("sum", vec![price.clone()]), ("sum", vec![times(&price, &plus(&integer(1), &a[2]))])];
    let (root, sums) = build.aggregate(t, &[], &sums);
    let plan = build.finish(root, &[&sums[0], &sums[1]]);
    let text = after(&plan, &[Pass::CommonExpressions]);
    assert!(text.contains("common := (p * (1 + d))"), "{text}");
    assert_eq!(text.matches("(1 + d)").count(), 1, "{text}");
}

/// `sum(CASE WHEN w = 'x' THEN v END)` over a join of these numbers of rows `s (k, v)` and `d (j, w)` on `k = j`.
fn sum_of_some(kind: JoinKind, sales: i128, days: i128) -> godwit_plan::Plan {
    let mut build = Build::default();
    let (integer, text) = (SqlType::Integer, SqlType::Varchar);
    let row = |at: i128| vec![Value::Integer(at % days), Value::Integer(at)];
    let sold = MemoryTable::new("s", &[("k", integer.clone()), ("v", integer.clone())], (0..sales).map(row).collect());
    let row = |at: i128| vec![Value::Integer(at), Value::text(if at % 2 == 0 { "x" } else { "y" })];
    let dated = MemoryTable::new("d", &[("j", integer), ("w", text.clone())], (0..days).map(row).collect());
    let ((s, sold), (d, dated)) = (build.scan(sold), build.scan(dated));
    let join = build.join(kind, s, d, vec![equal(&sold[0], &dated[0])]);
    let is_wanted = equal(&dated[1], &Expr::literal(Value::text("x"), text));
    let case = ExprKind::Case { branches: vec![(is_wanted, sold[1].clone())], otherwise: None };
    let (root, sums) = build.aggregate(join, &[], &[("sum", vec![Expr::new(case, sold[1].ty.clone(), true)])]);
    build.finish(root, &[&sums[0]])
}

#[test]
fn texts_are_compared_before_a_join_that_repeats_them() {
    let text = after(&sum_of_some(JoinKind::Inner, 40, 4), &[Pass::CompareEarly]);
    assert!(text.contains("compared := (w = 'x')"), "{text}");
    assert!(text.contains("CASE WHEN compared THEN v END"), "{text}");
    // Not if each row is used once, nor if the join may replace the text by NULL.
    assert!(!after(&sum_of_some(JoinKind::Inner, 4, 4), &[Pass::CompareEarly]).contains("compared"));
    assert!(!after(&sum_of_some(JoinKind::Left, 40, 4), &[Pass::CompareEarly]).contains("compared"));
}

#[test]
fn texts_are_compared_at_several_places_of_a_path() {
    let mut build = Build::default();
    let (integer, text) = (SqlType::Integer, SqlType::Varchar);
    let texts = |at: i128| Value::text(if at % 2 == 0 { "x" } else { "y" });
    let table = |name: &str, columns: [&str; 2], rows: i128, is_number: bool| {
        let second = if is_number { integer.clone() } else { text.clone() };
        let columns = [(columns[0], integer.clone()), (columns[1], second)];
        let value = |at: i128| if is_number { Value::Integer(at) } else { texts(at) };
        MemoryTable::new(name, &columns, (0..rows).map(|at| vec![Value::Integer(at % 4), value(at)]).collect())
    };
    let (s, sold) = build.scan(table("s", ["k", "v"], 200, true));
    let (d, dated) = build.scan(table("d", ["j", "w"], 4, false));
    let (e, named) = build.scan(table("e", ["i", "u"], 3, false));
    // `u` may become NULL in the lower join, so it is compared above it, and `w` below.
    let lower = build.join(JoinKind::Left, d, e, vec![equal(&dated[0], &named[0])]);
    let upper = build.join(JoinKind::Inner, s, lower, vec![equal(&sold[0], &dated[0])]);
    let sum = |column: &Expr| {
        let is_wanted = equal(column, &Expr::literal(Value::text("x"), text.clone()));
        let case = ExprKind::Case { branches: vec![(is_wanted, sold[1].clone())], otherwise: None };
        ("sum", vec![Expr::new(case, sold[1].ty.clone(), true)])
    };
    let mut nullable = named[1].clone();
    nullable.nullable = true;
    let (root, sums) = build.aggregate(upper, &[], &[sum(&dated[1]), sum(&nullable)]);
    let shown = after(&build.finish(root, &[&sums[0], &sums[1]]), &[Pass::CompareEarly]);
    assert!(shown.contains("compared := (w = 'x')") && shown.contains("compared := (u = 'x')"), "{shown}");
}

#[test]
fn what_a_branch_computes_stays_there() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let risky = plus(&plus(&a[0], &integer(i128::from(i32::MAX))), &integer(1));
    let choice = |value: i128| {
        let branches = vec![(equal(&a[0], &integer(value)), risky.clone())];
        Expr::new(ExprKind::Case { branches, otherwise: None }, risky.ty.clone(), true)
    };
    let (root, made) = build.project(t, &[], &[("x", choice(-7)), ("y", choice(-8))]);
    let plan = build.finish(root, &[&made[0], &made[1]]);
    assert!(!after(&plan, &[Pass::CommonExpressions]).contains("common"));
}

#[test]
fn a_volatile_value_with_a_name_gets_a_column() {
    let mut build = Build::default();
    let (t, _) = build.table("t", &["a"]);
    let id = build.plan.add_column("v", random().ty, false);
    let name = build.column(id);
    let kind = ExprKind::Let { column: id, value: Box::new(random()), body: Box::new(equal(&name, &name)) };
    let (root, made) = build.project(t, &[], &[("x", Expr::new(kind, godwit_types::SqlType::Boolean, false))]);
    let plan = build.finish(root, &[&made[0]]);
    assert_plan(
        &after(&plan, &[Pass::CommonExpressions]),
        "Project x := (v = v)\n  Project v := random()\n    Scan t (a)\n",
    );
}
