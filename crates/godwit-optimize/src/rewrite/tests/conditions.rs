//! Where conditions are pushed to.

use godwit_plan::{Expr, JoinKind};
use godwit_reference::TestFunctions;
use godwit_types::SqlType;

use super::{Build, after, assert_plan, equal, integer, less, random};
use crate::Pass;

#[test]
fn conditions_reach_scans_through_joins_and_projections() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a", "b"]);
    let (u, c) = build.table("u", &["c", "d"]);
    let join = build.join(JoinKind::Inner, t, u, Vec::new());
    let (project, named) = build.project(join, &[&a[0], &c[0]], &[("x", super::plus(&a[1], &integer(1)))]);
    let conditions = vec![equal(&a[0], &c[0]), less(&named[2], &integer(3)), equal(&a[0], &integer(1))];
    let root = build.filter(project, conditions);
    let plan = build.finish(root, &[&a[0], &named[2]]);
    assert_plan(
        &after(&plan, &[Pass::PushFilters]),
        "
        Project a, c, x := (b + 1)
          Join Inner on (a = c)
            Scan t (a, b) where ((b + 1) < 3) AND (a = 1)
            Scan u (c, d) where (c = 1)
        ",
    );
}

#[test]
fn an_outer_join_is_an_inner_one_where_its_nulls_are_lost() {
    type Condition = fn(&[Expr], &[Expr]) -> Expr;
    let cases: [(JoinKind, Condition, &str); 6] = [
        (JoinKind::Left, |_, c| equal(&c[1], &integer(1)), "Inner"),
        (JoinKind::Left, |a, _| equal(&a[1], &integer(1)), "Left"),
        (JoinKind::Left, |_, c| c[1].clone().is_null(), "Left"),
        (JoinKind::Full, |a, _| equal(&a[1], &integer(1)), "Left"),
        (JoinKind::Full, |a, c| equal(&a[1], &c[1]), "Inner"),
        (JoinKind::Right, |a, _| less(&a[1], &integer(1)), "Inner"),
    ];
    for (kind, condition, expected) in cases {
        let mut build = Build::default();
        let (t, a) = build.table("t", &["a", "b"]);
        let (u, c) = build.table("u", &["c", "d"]);
        let join = build.join(kind.clone(), t, u, vec![equal(&a[0], &c[0])]);
        let root = build.filter(join, vec![condition(&a, &c)]);
        let plan = build.finish(root, &[&a[0], &c[0]]);
        let text = after(&plan, &[Pass::PushFilters]);
        assert!(text.contains(&format!("Join {expected} on")), "{kind:?}\n{text}");
    }
}

#[test]
fn a_join_further_up_loses_nulls_as_well() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a", "b"]);
    let (u, c) = build.table("u", &["c", "d"]);
    let (v, e) = build.table("v", &["e"]);
    let left = build.join(JoinKind::Left, t, u, vec![equal(&a[0], &c[0])]);
    let root = build.join(JoinKind::Inner, left, v, vec![equal(&c[1], &e[0])]);
    let plan = build.finish(root, &[&a[0], &e[0]]);
    assert!(after(&plan, &[Pass::PushFilters]).contains("Join Inner on (a = c)"));
}

#[test]
fn the_null_side_takes_conditions_of_the_join_only() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a", "b"]);
    let (u, c) = build.table("u", &["c", "d"]);
    let conditions = vec![equal(&a[0], &c[0]), less(&c[1], &integer(2)), less(&a[1], &integer(2))];
    let join = build.join(JoinKind::Left, t, u, conditions);
    let root = build.filter(join, vec![equal(&a[0], &integer(1)), c[1].clone().is_null()]);
    let plan = build.finish(root, &[&a[0], &c[0]]);
    assert_plan(
        &after(&plan, &[Pass::PushFilters]),
        "
        Filter (d IS NULL)
          Join Left on (a = c) AND (b < 2)
            Scan t (a, b) where (a = 1)
            Scan u (c, d) where (d < 2) AND (c = 1)
        ",
    );
}

#[test]
fn each_side_of_or_is_implied() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let (u, c) = build.table("u", &["c"]);
    let pair = |x: i128, y: i128| Expr::and([equal(&a[0], &integer(x)), equal(&c[0], &integer(y))]);
    let root = build.join(JoinKind::Inner, t, u, vec![Expr::or([pair(1, 2), pair(2, 1)])]);
    let plan = build.finish(root, &[&a[0], &c[0]]);
    assert_plan(
        &after(&plan, &[Pass::PushFilters]),
        "
        Join Inner on (((a = 1) AND (c = 2)) OR ((a = 2) AND (c = 1)))
          Scan t (a) where ((a = 1) OR (a = 2))
          Scan u (c) where ((c = 2) OR (c = 1))
        ",
    );
}

#[test]
fn only_conditions_on_keys_go_below_an_aggregate() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a", "b"]);
    let (groups, counts) = build.aggregate(t, &[&a[0]], &[("count", vec![])]);
    let root = build.filter(groups, vec![equal(&a[0], &integer(1)), less(&counts[0], &Expr::bigint(5))]);
    let plan = build.finish(root, &[&a[0], &counts[0]]);
    assert_plan(
        &after(&plan, &[Pass::PushFilters]),
        "
        Filter (count < 5)
          Aggregate by [a] count := count(*)
            Scan t (a, b) where (a = 1)
        ",
    );
}

#[test]
fn nothing_goes_below_an_aggregate_without_keys() {
    let mut build = Build::default();
    let (t, _) = build.table("t", &["a"]);
    let (all, counts) = build.aggregate(t, &[], &[("count", vec![])]);
    let later = Expr::compare(
        godwit_plan::Comparison::Greater,
        random(),
        Expr::literal(godwit_types::Value::Float(9.0), SqlType::Double),
    );
    let root = build.filter(all, vec![later]);
    let plan = build.finish(root, &[&counts[0]]);
    let text = after(&plan, &[Pass::PushFilters]);
    assert!(text.starts_with("Filter"), "{text}");
    let mut build = Build::default();
    let (t, _) = build.table("t", &["a"]);
    let never = build.filter(t, vec![Expr::boolean(false)]);
    let (root, counts) = build.aggregate(never, &[], &[("count", vec![])]);
    let plan = build.finish(root, &[&counts[0]]);
    assert_plan(
        &after(&plan, &[Pass::PushFilters, Pass::DropEmpty]),
        "
        Aggregate by [] count := count(*)
          Values (a) 0 rows
        ",
    );
}

#[test]
fn volatile_values_stop_what_depends_on_them() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let (project, made) = build.project(t, &[&a[0]], &[("r", random())]);
    let positive = less(&Expr::literal(godwit_types::Value::Float(-1.0), SqlType::Double), &made[1]);
    let root = build.filter(project, vec![positive, equal(&a[0], &integer(1))]);
    let plan = build.finish(root, &[&a[0]]);
    assert_plan(
        &after(&plan, &[Pass::PushFilters]),
        "
        Filter (-1.0 < r)
          Project a, r := random()
            Scan t (a) where (a = 1)
        ",
    );
}

#[test]
fn conditions_go_into_all_inputs_of_a_union_but_not_below_a_limit() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let (u, c) = build.table("u", &["c"]);
    let limited = build.limit(u, 2);
    let (union, out) = build.union_all(vec![(t, a), (limited, c)]);
    let root = build.filter(union, vec![equal(&out[0], &integer(1))]);
    let plan = build.finish(root, &[&out[0]]);
    assert_plan(
        &after(&plan, &[Pass::PushFilters]),
        "
        Union all (u0) of (a), (c)
          Scan t (a) where (a = 1)
          Filter (c = 1)
            Limit count 2
              Scan u (c)
        ",
    );
}

#[test]
fn a_mark_that_must_be_true_is_a_semi_join() {
    for (negated, expected) in [(false, "Join Semi"), (true, "Join Anti")] {
        let mut build = Build::default();
        let (t, a) = build.table("t", &["a"]);
        let (u, c) = build.table("u", &["c"]);
        let mark = build.plan.add_column("mark", SqlType::Boolean, false);
        let kind = JoinKind::Mark { mark, compare: Vec::new() };
        let join = build.join(kind, t, u, vec![equal(&a[0], &c[0])]);
        let mark = build.column(mark);
        let root = build.filter(join, vec![if negated { mark.negated() } else { mark }]);
        let plan = build.finish(root, &[&a[0]]);
        let text = after(&plan, &[Pass::PushFilters, Pass::Prune]);
        assert!(text.starts_with(expected), "{text}");
    }
}

#[test]
fn what_has_no_rows_goes() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let (u, c) = build.table("u", &["c"]);
    let never = build.filter(u, vec![Expr::null(SqlType::Boolean)]);
    let left = build.join(JoinKind::Left, t, never, vec![equal(&a[0], &c[0])]);
    let plan = build.finish(left, &[&a[0], &c[0]]);
    assert_plan(
        &after(&plan, &[Pass::PushFilters, Pass::DropEmpty]),
        "
        Project a, c := NULL
          Scan t (a)
        ",
    );
}

#[test]
fn strict_functions_lose_nulls() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let (u, c) = build.table("u", &["c"]);
    let join = build.join(JoinKind::Left, t, u, vec![equal(&a[0], &c[0])]);
    let absolute = TestFunctions.call("abs", vec![c[0].clone()]);
    let root = build.filter(join, vec![less(&absolute, &integer(5))]);
    let plan = build.finish(root, &[&a[0]]);
    assert!(after(&plan, &[Pass::PushFilters]).contains("Join Inner"));
}

/// The disjunction of what all uses require of a shared plan's column moves below the plan; a requirement of only one
/// use doesn't.
#[test]
fn shared_plans_have_rows_that_some_use_wants_only() {
    let build = |filtered_uses: usize| {
        let mut build = Build::default();
        let (t, a) = build.table("t", &["k", "v"]);
        let (grouped, _) = build.aggregate(t, &[&a[0], &a[1]], &[("sum", vec![a[1].clone()])]);
        let shared = build.share(grouped);
        let (first, x) = build.use_of(shared);
        let first = build.filter(first, vec![equal(&x[0], &integer(0)), equal(&x[1], &integer(1))]);
        let (mut second, y) = build.use_of(shared);
        if filtered_uses == 2 {
            second = build.filter(second, vec![equal(&y[0], &integer(1))]);
        }
        let root = build.join(JoinKind::Inner, first, second, vec![less(&x[0], &y[0])]);
        build.finish(root, &[&x[0], &x[1], &y[0]])
    };
    let text = after(&build(2), &[Pass::FilterShared]);
    assert!(text.contains("Scan t (k, v) where ((k = 0) OR (k = 1))"), "{text}");
    assert_eq!(text.matches("v = 1").count(), 1, "what one use asks stays above it: {text}");
    let text = after(&build(1), &[Pass::FilterShared]);
    assert!(text.lines().any(|line| line.trim_end().ends_with("Scan t (k, v)")), "{text}");
}
