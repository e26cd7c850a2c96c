//! Passes change no rows: random plans have the same result before and after each pass, and after all passes but one,
//! for each choice of that one.

mod keys;
mod large;
mod tpch;
mod volatile;

use godwit_plan::{ExprKind, Node, Plan, SetOperation, SetOperator};
use godwit_reference::{TestFunctions, agree, evaluate, random_plan, seeds, shrink};

use crate::passes::run;
use crate::rewrite::Context;
use crate::rewrite::aggregate_early::{Worth, aggregate_early};
use crate::{OptimizerSettings, Pass, Passes, optimize};

/// Returns true if it has no subqueries in expressions and no dependent joins.
fn is_flat(plan: &Plan) -> bool {
    let mut open: Vec<_> =
        plan.used_shared_plans().into_iter().map(|(_, shared)| shared.root).chain(plan.root).collect();
    while let Some(id) = open.pop() {
        let node = plan.node(id);
        let mut has_subquery = false;
        node.for_each_expr(&mut |expr| has_subquery |= expr.any(|part| matches!(part.kind, ExprKind::Subquery(_))));
        let is_dependent =
            matches!(node, Node::Join(join) if !plan.free_columns(join.right).is_disjoint(&plan.output_set(join.left)));
        if has_subquery || is_dependent {
            return false;
        }
        open.extend(node.inputs());
    }
    true
}

/// Returns the difference that a rewrite makes to the result of a plan, if any.
fn fault(plan: &Plan, rewrite: &dyn Fn(&mut Plan) -> godwit_common::Result<()>) -> Option<String> {
    let mut rewritten = plan.clone();
    if let Err(error) = rewrite(&mut rewritten) {
        let is_bug = error.kind() == godwit_common::ErrorKind::Internal;
        return is_bug.then(|| error.to_string());
    }
    let (expected, actual) = (evaluate(plan, &[]), evaluate(&rewritten, &[]));
    // An error of the plan itself isn't the rewrite's fault.
    if expected.as_ref().is_err_and(|error| error.kind() == godwit_common::ErrorKind::Internal) {
        return None;
    }
    let difference = agree(&expected, &actual).err()?;
    Some(format!("{difference}\nbefore:\n{}\nafter:\n{}", plan.display(), rewritten.display()))
}

/// Asserts that a rewrite doesn't change the result; otherwise shows the smallest plan found for which it does.
fn assert_sound(name: &str, seed: u64, plan: Plan, rewrite: &dyn Fn(&mut Plan) -> godwit_common::Result<()>) {
    let Some(mut found) = fault(&plan, rewrite) else { return };
    let mut smallest = plan;
    loop {
        let smaller = shrink(&smallest).find_map(|plan| fault(&plan, rewrite).map(|text| (plan, text)));
        let Some((plan, text)) = smaller else { break };
        (smallest, found) = (plan, text);
    }
    panic!("{name}, plan {seed}: {found}");
}

fn one_pass(pass: Pass, plan: &mut Plan) -> godwit_common::Result<()> {
    let settings = OptimizerSettings::default();
    run(pass, plan, &mut Context::new(&TestFunctions, &settings), &settings)
}

/// Generates a plan as most passes see it: without subqueries and dependent joins.
fn flat_plan(seed: u64) -> Option<Plan> {
    let mut plan = random_plan(seed);
    crate::unnest::unnest(&mut plan, &TestFunctions).ok()?;
    is_flat(&plan).then_some(plan)
}

#[test]
fn each_pass_keeps_the_rows() {
    for seed in seeds(400) {
        for pass in [Pass::Simplify, Pass::Share] {
            assert_sound(pass.name(), seed, random_plan(seed), &|plan| one_pass(pass, plan));
        }
        let Some(plan) = flat_plan(seed) else { continue };
        for pass in Pass::ALL {
            assert_sound(pass.name(), seed, plan.clone(), &|plan| one_pass(pass, plan));
        }
    }
}

#[test]
fn all_passes_keep_the_rows_and_so_do_all_but_one() {
    for seed in seeds(400) {
        let left_out = Pass::ALL[seed as usize % Pass::ALL.len()];
        for disabled in [Passes::NONE, Passes::NONE.with(left_out)] {
            let settings = OptimizerSettings { disabled, ..OptimizerSettings::default() };
            assert_sound("all", seed, random_plan(seed), &|plan| optimize(plan, &TestFunctions, &settings));
        }
    }
}

/// Estimates of tables with a few rows would hardly ever call for it.
#[test]
fn aggregating_early_wherever_possible_keeps_the_rows() {
    let mut changed = 0;
    for seed in seeds(2_000) {
        let Some(plan) = flat_plan(seed) else { continue };
        let rewrite = |plan: &mut Plan| {
            let settings = OptimizerSettings::default();
            aggregate_early(plan, &mut Context::new(&TestFunctions, &settings), Worth::ALWAYS)
        };
        let mut rewritten = plan.clone();
        changed += usize::from(rewrite(&mut rewritten).is_ok() && rewritten.display().contains("of rows"));
        assert_sound("aggregate_early", seed, plan, &rewrite);
    }
    assert!(changed >= 20, "{changed} plans changed");
}

/// Returns the plan's rows twice: the root with all of its columns, and a copy of it.
fn twice(mut plan: Plan) -> Option<Plan> {
    let root = plan.root?;
    let (copy, renamed) = plan.copy_subtree(root);
    let (nullable, own) = (plan.nullable_columns(root), plan.outputs(root));
    let columns: Vec<_> = own.iter().map(|&column| plan.copy_column(column)).collect();
    for (&column, _) in columns.iter().zip(&own).filter(|(_, own)| nullable.contains(**own)) {
        plan.make_nullable(column);
    }
    let copied = own.iter().map(|column| renamed[column]).collect();
    for output in &mut plan.output {
        output.column = columns[own.iter().position(|&column| column == output.column)?];
    }
    let inputs = vec![(root, own), (copy, copied)];
    let both = SetOperation { operator: SetOperator::Union, all: true, columns, inputs };
    plan.root = Some(plan.add(Node::SetOperation(both)));
    Some(plan)
}

/// Random plans hardly ever compute anything twice.
#[test]
fn equal_aggregations_of_random_plans_are_shared() {
    let mut changed = 0;
    for seed in seeds(1_000) {
        let Some(plan) = flat_plan(seed).and_then(twice) else { continue };
        let mut rewritten = plan.clone();
        one_pass(Pass::CommonSubplans, &mut rewritten).unwrap();
        changed += usize::from(rewritten.display().contains("repeated aggregation"));
        assert_sound("common_subplans", seed, plan, &|plan| one_pass(Pass::CommonSubplans, plan));
    }
    assert!(changed >= 50, "{changed} plans changed");
}

#[test]
fn passes_have_names() {
    for pass in Pass::ALL {
        assert_eq!(Pass::from_name(pass.name()), Some(pass));
        assert!(Passes::all().contains(pass) && !Passes::NONE.contains(pass));
    }
    assert_eq!(Pass::from_name("nothing"), None);
}
