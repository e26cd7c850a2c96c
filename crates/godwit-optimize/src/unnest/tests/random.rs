//! Random plans mean the same after unnesting.

use godwit_common::ErrorKind;
use godwit_reference::{TestFunctions, agree, evaluate, random_plan, validate};

use crate::OptimizerSettings;
use crate::unnest::check::nested;
use crate::unnest::unnest;

/// Seeds that are tried; `UNNEST_SEEDS` sets another number.
const SEEDS: u64 = 2_000;

#[test]
fn random_plans_keep_their_rows() {
    let seeds = std::env::var("UNNEST_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(SEEDS);
    let (mut compared, mut unsupported) = (0, 0);
    for seed in 0..seeds {
        let before = random_plan(seed);
        let mut after = before.clone();
        match unnest(&mut after, &TestFunctions, &OptimizerSettings::default()) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                unsupported += 1;
                continue;
            }
            Err(error) => panic!("seed {seed}: {error}\n{}", before.display()),
        }
        let fail = |what: String| panic!("seed {seed}: {what}\n{}\nbecomes\n{}", before.display(), after.display());
        if let Err(error) = validate(&after) {
            fail(error.to_string());
        }
        if let Some(what) = nested(&after) {
            fail(what);
        }
        let (expected, found) = (evaluate(&before, &[]), evaluate(&after, &[]));
        if let Err(difference) = agree(&expected, &found) {
            fail(difference);
        }
        compared += u64::from(expected.is_ok() && found.is_ok());
    }
    println!("{compared} of {seeds} compared, {unsupported} unsupported");
    assert!(compared > seeds * 9 / 10, "only {compared} of {seeds} plans have a result");
    assert!(unsupported <= seeds / 100, "{unsupported} of {seeds} plans aren't supported");
}
