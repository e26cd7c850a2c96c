//! Random plans, optimized and not: the engine returns the same rows as the reference evaluator.

use godwit_common::{Error, ErrorKind};
use godwit_optimize::{OptimizerSettings, optimize};
use godwit_plan::Plan;
use godwit_reference::{TestFunctions, agree, evaluate, random_plan, seeds, shrink};

use super::super::lower::lower;
use super::engine::engine_rows;
use super::{compressing, worlds};

/// How many random plans are compared.
const SEEDS: u64 = 600;

/// What became of a plan.
enum Outcome {
    Same,
    /// The reference gives up, or there are no operators for it.
    NotCompared {
        is_unsupported: bool,
    },
    /// In which way the rows differ, and the optimized plan.
    Different(String, Plan),
}

/// Runs a plan in the world of its seed. Plans are optimized first, since the engine doesn't support dependent joins.
fn outcome(plan: &Plan, seed: u64) -> Outcome {
    let expected = evaluate(plan, &[]);
    let has_kind = |error: &Error, kind| error.kind() == kind;
    if expected.as_ref().is_err_and(|error| has_kind(error, ErrorKind::Resource)) {
        return Outcome::NotCompared { is_unsupported: false };
    }
    let mut optimized = plan.clone();
    match optimize(&mut optimized, &TestFunctions, &OptimizerSettings::default()) {
        Ok(()) => {}
        Err(error) if has_kind(&error, ErrorKind::Unsupported) => return Outcome::NotCompared { is_unsupported: true },
        Err(error) => return Outcome::Different(error.to_string(), optimized),
    }
    let world = worlds()[seed as usize % 3];
    let query = if seed.is_multiple_of(2) { world.query() } else { compressing(world) };
    let actual = engine_rows(&optimized, &query);
    if actual.as_ref().is_err_and(|error| has_kind(error, ErrorKind::Unsupported)) {
        return Outcome::NotCompared { is_unsupported: true };
    }
    match agree(&expected, &actual) {
        Ok(()) => Outcome::Same,
        Err(difference) => Outcome::Different(format!("seed {seed} {world:?}: {difference}"), optimized),
    }
}

/// Describes the smallest plan that still differs.
fn smallest(mut plan: Plan, seed: u64, mut difference: String, mut optimized: Plan) -> String {
    let different = |plan: Plan| match outcome(&plan, seed) {
        Outcome::Different(difference, optimized) => Some((plan, difference, optimized)),
        Outcome::Same | Outcome::NotCompared { .. } => None,
    };
    loop {
        let smaller = shrink(&plan).find_map(different);
        let Some(found) = smaller else { break };
        (plan, difference, optimized) = found;
    }
    format!("{difference}\n{}\n{}", plan.display(), lower(&optimized).display())
}

#[test]
fn random_plans() {
    let (mut compared, mut unsupported) = (0, 0);
    let mut failures = Vec::new();
    for seed in seeds(SEEDS) {
        let plan = random_plan(seed);
        match outcome(&plan, seed) {
            Outcome::Same => compared += 1,
            Outcome::NotCompared { is_unsupported } => unsupported += u64::from(is_unsupported),
            Outcome::Different(difference, optimized) => {
                failures.push(smallest(plan, seed, difference, optimized));
            }
        }
    }
    for failure in &failures {
        println!("{}", failure.lines().take(2).collect::<Vec<_>>().join(" | "));
    }
    assert!(failures.is_empty(), "{} plans: {}", failures.len(), failures[..failures.len().min(3)].join("\n\n"));
    assert!(compared > 4 * unsupported, "{unsupported} of {compared} plans have no operators");
}
