//! Deep and wide plans: passes are bounded.

use std::time::{Duration, Instant};

use godwit_plan::{JoinKind, Plan};
use godwit_reference::TestFunctions;

use super::{Build, equal, integer, less, plus};
use crate::{OptimizerSettings, Pass, Passes, optimize};

/// Runs on the stack that deep plans require.
fn with_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(run).unwrap();
    thread.join().unwrap();
}

fn assert_fast(mut plan: Plan) -> Plan {
    let start = Instant::now();
    // The order of joins is tested separately.
    let settings = OptimizerSettings { disabled: Passes::NONE.with(Pass::OrderJoins), ..OptimizerSettings::default() };
    optimize(&mut plan, &TestFunctions, &settings).unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    plan
}

#[test]
fn a_thousand_projections_and_filters() {
    with_stack(|| {
        let mut build = Build::default();
        let (mut node, mut columns) = build.table("t", &["a"]);
        for _ in 0..1_000 {
            node = build.filter(node, vec![less(&columns[0], &integer(1_000_000))]);
            (node, columns) = build.project(node, &[], &[("x", plus(&columns[0], &integer(1)))]);
        }
        let plan = build.finish(node, &[&columns[0]]);
        assert_fast(plan);
    });
}

#[test]
fn a_thousand_joins_of_equal_columns() {
    with_stack(|| {
        let mut build = Build::default();
        let (mut node, first) = build.table("t", &["a"]);
        let mut last = first[0].clone();
        for _ in 0..1_000 {
            let (right, columns) = build.table("t", &["b"]);
            node = build.join(JoinKind::Inner, node, right, vec![equal(&last, &columns[0])]);
            last = columns[0].clone();
        }
        node = build.filter(node, vec![equal(&last, &integer(1))]);
        let plan = build.finish(node, &[&first[0]]);
        let text = assert_fast(plan).display();
        assert_eq!(text.matches("= 1)").count(), 1_001);
    });
}

#[test]
fn views_of_views_do_not_explode() {
    let mut build = Build::default();
    let (mut root, _) = build.table("t", &["a"]);
    for _ in 0..40 {
        let shared = build.share(root);
        let (left, x) = build.use_of(shared);
        let (right, y) = build.use_of(shared);
        let join = build.join(JoinKind::Inner, left, right, vec![equal(&x[0], &y[0])]);
        root = build.project(join, &[&x[0]], &[]).0;
    }
    let output = build.plan.outputs(root);
    let output = build.column(output[0]);
    let plan = assert_fast(build.finish(root, &[&output]));
    assert!(plan.display().lines().count() < 2_000);
}

#[test]
fn cancellation_is_heard() {
    let mut build = Build::default();
    let (t, a) = build.table("t", &["a"]);
    let mut plan = build.finish(t, &[&a[0]]);
    let check = || Err(godwit_common::Error::cancelled());
    let settings = OptimizerSettings { check: &check, ..OptimizerSettings::default() };
    assert!(optimize(&mut plan, &TestFunctions, &settings).is_err());
}
