//! Limits, aggregates, semi joins.

use godwit_plan::{Comparison, Expr, ExprKind, JoinKind, Subquery, SubqueryKind};
use godwit_reference::{TestFunctions, agree, evaluate};
use godwit_types::SqlType;

use super::{Build, after, assert_plan, equal, integer, plus};
use crate::{OptimizerSettings, Pass, optimize};

#[test]
fn a_limit_goes_below_projections_and_into_what_keeps_all_rows() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a", "b"]);
    let (u, c) = build.table("u", &["c"]);
    let join = build.join(JoinKind::Left, t, u, vec![equal(&a[0], &c[0])]);
    let (project, made) = build.project(join, &[&a[0]], &[("x", plus(&a[1], &integer(1)))]);
    let root = build.limit(project, 2);
    let mut plan = build.finish(root, &[&a[0], &made[1]]);
    assert_plan(
        &super::without_ids(&super::rewritten(&plan, &[Pass::Limits]).display()),
        "
        Project a, x := (b + 1)
          Limit count 2
            Join Left on (a = c)
              Limit count 2
                Scan t (a, b)
              Scan u (c)
        ",
    );
    plan.root = Some(root);
}

#[test]
fn a_sort_by_columns_that_pass_goes_below_the_projection() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a", "b"]);
    let (project, made) = build.project(t, &[&a[0]], &[("x", plus(&a[1], &integer(1)))]);
    let sorted = build.sort(project, &[&a[0], &a[0]]);
    let root = build.limit(sorted, 1);
    let plan = build.finish(root, &[&made[1]]);
    assert_plan(
        &after(&plan, &[Pass::Limits]),
        "
        Project a, x := (b + 1)
          Limit count 1
            Sort a
              Scan t (a, b)
        ",
    );
}

#[test]
fn orders_that_nobody_sees_go() {
    let sorts_after = |make: &dyn Fn(&mut Build, godwit_plan::NodeId, &Expr) -> (godwit_plan::NodeId, Expr)| {
        let mut build = Build::default();
        let (t, a) = build.table("t", &["a"]);
        let sorted = build.sort(t, &[&a[0]]);
        let (root, out) = make(&mut build, sorted, &a[0]);
        let plan = build.finish(root, &[&out]);
        after(&plan, &[Pass::Limits]).matches("Sort").count()
    };
    let aggregate = |name: &'static str| {
        move |build: &mut Build, input, a: &Expr| {
            let (root, out) = build.aggregate(input, &[], &[(name, vec![a.clone()])]);
            (root, out[0].clone())
        }
    };
    assert_eq!(sorts_after(&aggregate("sum")), 0);
    assert_eq!(sorts_after(&aggregate("list")), 1);
    assert_eq!(sorts_after(&|_, input, a| (input, a.clone())), 1);
    assert_eq!(sorts_after(&|build, input, a| (build.sort(input, &[a]), a.clone())), 1);
    let union = |build: &mut Build, input, a: &Expr| {
        let (u, c) = build.table("u", &["c"]);
        let (root, out) = build.union_all(vec![(input, vec![a.clone()]), (u, c)]);
        (root, out[0].clone())
    };
    assert_eq!(sorts_after(&union), 0);
}

#[test]
fn no_rows_are_nothing() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let root = build.limit(t, 0);
    let plan = build.finish(root, &[&a[0]]);
    assert_plan(&after(&plan, &[Pass::Limits]), "Values (a) 0 rows\n");
}

#[test]
fn aggregates_do_no_more_than_they_must() {
    let mut build = Build::default();
    let (t, a) = build.keyed_table("t", &["k", "b", "g"]);
    let calls = [("count", vec![a[0].clone()]), ("sum", vec![a[1].clone()]), ("sum", vec![a[1].clone()])];
    let (aggregate, made) = build.aggregate(t, &[&a[2]], &calls);
    let plan = build.finish(aggregate, &[&a[2], &made[0], &made[1], &made[2]]);
    assert_plan(
        &after(&plan, &[Pass::Aggregates]),
        "
        Project g, count, sum, sum := sum
          Aggregate by [g] count := count(*), sum := sum(b)
            Scan t (k, b, g)
        ",
    );
}

#[test]
fn groups_of_a_key_are_the_rows() {
    let mut build = Build::default();
    let (t, a) = build.keyed_table("t", &["k", "b"]);
    let (root, _) = build.aggregate(t, &[&a[1], &a[0]], &[]);
    let plan = build.finish(root, &[&a[0], &a[1]]);
    assert_plan(&after(&plan, &[Pass::Aggregates]), "Project b, k\n  Scan t (k, b)\n");
}

#[test]
fn a_join_that_only_looks_for_a_match_is_a_semi_join() {
    for (name, expected) in [("min", "Join Semi on (a = c)"), ("sum", "Join Inner on (a = c)")] {
        let mut build = Build::default();
        let (t, a) = build.table("t", &["a", "b"]);
        let (u, c) = build.table("u", &["c"]);
        let join = build.join(JoinKind::Inner, t, u, vec![equal(&a[0], &c[0])]);
        let (root, made) = build.aggregate(join, &[], &[(name, vec![a[1].clone()])]);
        let plan = build.finish(root, &[&made[0]]);
        let text = after(&plan, &[Pass::SemiJoins]);
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn an_outer_join_of_which_only_the_kept_rows_count_goes() {
    for kind in [JoinKind::Left, JoinKind::Right, JoinKind::Full] {
        let mut build = Build::default();
        let (t, a) = build.table("t", &["a", "b"]);
        let (u, c) = build.table("u", &["c"]);
        let (left, right) = if kind == JoinKind::Left { (t, u) } else { (u, t) };
        let join = build.join(kind.clone(), left, right, vec![equal(&a[0], &c[0])]);
        let (root, _) = build.aggregate(join, &[&a[1]], &[]);
        let plan = build.finish(root, &[&a[1]]);
        let text = after(&plan, &[Pass::SemiJoins]);
        assert_eq!(text.contains("Join"), kind == JoinKind::Full, "{text}");
    }
}

#[test]
fn a_join_is_a_semi_join_below_others_that_keep_its_rows() {
    for kind in ["mark", "left", "single"] {
        let mut build = Build::default();
        let (t, a) = build.table("t", &["a", "b"]);
        let (u, c) = build.table("u", &["c"]);
        let (v, d) = build.table("v", &["d"]);
        let join = build.join(JoinKind::Inner, t, u, vec![equal(&a[0], &c[0])]);
        let mark = build.plan.add_column("mark", SqlType::Boolean, true);
        let (kind, value) = match kind {
            "mark" => (JoinKind::Mark { mark, compare: vec![equal(&a[1], &d[0])] }, mark),
            "left" => (JoinKind::Left, d[0].as_column().unwrap()),
            _ => (JoinKind::Single, d[0].as_column().unwrap()),
        };
        let conditions = if value == mark { Vec::new() } else { vec![equal(&a[1], &d[0])] };
        let above = build.join(kind, join, v, conditions);
        let value = Expr::new(ExprKind::Column(value), build.plan.column(value).ty.clone(), true);
        let (root, _) = build.aggregate(above, &[&a[1], &value], &[]);
        let plan = build.finish(root, &[&a[1], &value]);
        let text = after(&plan, &[Pass::SemiJoins]);
        assert!(text.contains("Join Semi on (a = c)"), "{text}");
    }
}

#[test]
fn a_comparison_needs_the_least_and_the_greatest_value_only() {
    let cases = [
        (Comparison::NotEqual, "((b <> min) OR (b <> max))"),
        (Comparison::Less, "(b < max)"),
        (Comparison::GreaterOrEqual, "(b >= min)"),
    ];
    for kind in [JoinKind::Semi, JoinKind::Anti] {
        for (comparison, expected) in cases {
            let mut build = Build::default();
            let (t, a) = build.table("t", &["a", "b"]);
            let (u, c) = build.table("u", &["c", "d"]);
            let conditions = vec![equal(&c[0], &a[0]), Expr::compare(comparison, a[1].clone(), c[1].clone())];
            let root = build.join(kind.clone(), t, u, conditions);
            let plan = build.finish(root, &[&a[0], &a[1]]);
            let text = after(&plan, &[Pass::Extremes]);
            assert!(text.contains(expected) && text.contains("Aggregate by [c]"), "{text}");
        }
    }
}

#[test]
fn a_key_on_the_right_needs_no_aggregate() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a", "b"]);
    let (u, c) = build.keyed_table("u", &["k", "d"]);
    let conditions = vec![equal(&a[0], &c[0]), Expr::compare(Comparison::Less, a[1].clone(), c[1].clone())];
    let root = build.join(JoinKind::Semi, t, u, conditions);
    let plan = build.finish(root, &[&a[0]]);
    assert!(!after(&plan, &[Pass::Extremes]).contains("Aggregate"));
}

/// `EXISTS (… AND x <> …) AND NOT EXISTS (…)` over the same key, as in TPC-H's query 21.
#[test]
fn exists_with_another_value_aggregates_its_rows() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a", "b"]);
    let mut exists = |key: &str, value: &str| {
        let (u, c) = build.table("u", &[key, value]);
        let other = Expr::compare(Comparison::NotEqual, c[1].clone(), a[1].clone());
        let plan = build.filter(u, vec![equal(&c[0], &a[0]), other]);
        let subquery = Subquery { kind: SubqueryKind::Exists, plan, columns: vec![super::id_of(&c[0])] };
        Expr::new(ExprKind::Subquery(Box::new(subquery)), SqlType::Boolean, false)
    };
    let conditions = vec![exists("c", "d"), exists("e", "f").negated()];
    let root = build.filter(t, conditions);
    let plan = build.finish(root, &[&a[0], &a[1]]);
    let mut optimized = plan.clone();
    optimize(&mut optimized, &TestFunctions, &OptimizerSettings::default()).unwrap();
    agree(&evaluate(&plan, &[]), &evaluate(&optimized, &[])).unwrap();
    let text = super::without_ids(&optimized.display());
    assert!(text.contains("Aggregate by [c] min := min(d), max := max(d)"), "{text}");
    assert!(text.contains("Aggregate by [e] min := min(f), max := max(f)"), "{text}");
}
