//! Random plans, optimized and not: the engine returns the same rows as the reference evaluator.

use godwit_common::ErrorKind;
use godwit_optimize::{OptimizerSettings, optimize};
use godwit_reference::{TestFunctions, agree, evaluate, random_plan, seeds};

use super::super::lower::lower;
use super::engine::engine_rows;
use super::{compressing, worlds};

/// How many random plans are compared.
const SEEDS: u64 = 600;

/// Plans are optimized first, since the engine doesn't support dependent joins.
#[test]
fn random_plans() {
    let (mut compared, mut unsupported) = (0, 0);
    let mut failures = Vec::new();
    for seed in seeds(SEEDS) {
        let plan = random_plan(seed);
        let expected = evaluate(&plan, &[]);
        if matches!(&expected, Err(error) if error.kind() == ErrorKind::Resource) {
            continue;
        }
        let mut optimized = plan.clone();
        match optimize(&mut optimized, &TestFunctions, &OptimizerSettings::default()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                unsupported += 1;
                continue;
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
        let world = worlds()[seed as usize % 3];
        let query = if seed % 2 == 0 { world.query() } else { compressing(world) };
        let actual = engine_rows(&optimized, &query);
        if matches!(&actual, Err(error) if error.kind() == ErrorKind::Unsupported) {
            unsupported += 1;
            continue;
        }
        compared += 1;
        if let Err(difference) = agree(&expected, &actual) {
            let lowered = lower(&optimized).display();
            failures.push(format!("seed {seed} {world:?}: {difference}\n{}\n{lowered}", plan.display()));
        }
    }
    for failure in &failures {
        println!("{}", failure.lines().take(2).collect::<Vec<_>>().join(" | "));
    }
    assert!(failures.is_empty(), "{} plans: {}", failures.len(), failures[..failures.len().min(3)].join("\n\n"));
    assert!(compared > 4 * unsupported, "{unsupported} of {compared} plans have no operators");
}
