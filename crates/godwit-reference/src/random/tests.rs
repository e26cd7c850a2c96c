//! Random plans are valid: they satisfy the invariants of plans, and have results.

use super::*;
use crate::agree::agree;
use crate::evaluator::evaluate;
use crate::validate::validate;
use godwit_common::ErrorKind;

const SEEDS: u64 = 1_500;

#[test]
fn random_plans_are_right_and_have_rows() {
    let (mut errors, mut empty) = (0, 0);
    for seed in 0..SEEDS {
        let plan = random_plan(seed);
        if let Err(error) = validate(&plan) {
            panic!("seed {seed}: {error}\n{}", plan.display());
        }
        match evaluate(&plan, &[]) {
            Ok(rows) => empty += u64::from(rows.is_empty()),
            Err(error) => {
                assert_ne!(error.kind(), ErrorKind::Internal, "seed {seed}: {error}\n{}", plan.display());
                errors += 1;
            }
        }
    }
    assert!(errors < SEEDS / 8, "{errors} of {SEEDS} plans fail");
    assert!(empty < SEEDS * 2 / 5, "{empty} of {SEEDS} plans have no rows");
}

#[test]
fn a_seed_has_one_plan_with_one_result() {
    for seed in 0..SEEDS {
        let (plan, other) = (random_plan(seed), plan_over(seed, MemoryTable::reversed));
        assert_eq!(plan.display(), other.display());
        if let Err(difference) = agree(&evaluate(&plan, &[]), &evaluate(&other, &[])) {
            panic!("seed {seed}: the result depends on the order of rows: {difference}\n{}", plan.display());
        }
    }
}

#[test]
fn shrunk_plans_are_plans() {
    for seed in 0..60 {
        let plan = random_plan(seed);
        for smaller in shrink(&plan).take(40) {
            if let Err(error) = evaluate(&smaller, &[]) {
                assert_ne!(error.kind(), ErrorKind::Internal, "seed {seed}: {error}\n{}", smaller.display());
            }
        }
    }
}

#[test]
fn every_kind_of_node_and_join_comes_up() {
    let plans: String = (0..SEEDS).map(|seed| random_plan(seed).display()).collect();
    let nodes =
        ["Values", "Scan", "Project", "Filter", "Aggregate", "Window", "Sort", "Limit", "Union", "Intersect", "Except"];
    let others = [
        "Unnest",
        "Recursive",
        "WorkingRows",
        "Use",
        "EXISTS",
        "= ANY",
        "= ALL",
        "LET",
        "sets [",
        "with ties",
        "percent",
    ];
    let joins = [
        "Inner",
        "Left",
        "Right",
        "Full",
        "Semi",
        "Anti",
        "RightSemi",
        "RightAnti",
        "Single",
        "Mark",
        "AsOf",
        "Positional",
    ];
    let joins = joins.map(|kind| format!("Join {kind}"));
    for wanted in nodes.into_iter().chain(others).chain(joins.iter().map(String::as_str)) {
        assert!(plans.contains(wanted), "no plan has {wanted}");
    }
}
