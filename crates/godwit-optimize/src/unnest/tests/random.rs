//! Random plans have the same results after unnesting.

use godwit_common::ErrorKind;
use godwit_reference::{TestFunctions, agree, evaluate, random_plan, seeds, validate};

use crate::unnest::check::nested;
use crate::unnest::unnest;

/// Number of seeds to try.
const SEEDS: u64 = 2_000;

#[test]
fn random_plans_keep_their_rows() {
    let (mut compared, mut unsupported) = (0, 0);
    for seed in seeds(SEEDS) {
        let before = random_plan(seed);
        let mut after = before.clone();
        match unnest(&mut after, &TestFunctions) {
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
    let tried = seeds(SEEDS).end;
    println!("{compared} of {tried} compared, {unsupported} unsupported");
    assert!(compared > tried * 9 / 10, "only {compared} of {tried} plans have a result");
    assert!(unsupported <= tried / 100, "{unsupported} of {tried} plans aren't supported");
}
