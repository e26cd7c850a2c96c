//! The cost of planning TPC-H's queries from their text.

use std::path::Path;
use std::time::Duration;

use crate::OptimizerSettings;
use crate::test_queries::{Planner, Times};

/// Returns the texts of all queries.
fn queries() -> impl Iterator<Item = (usize, String)> {
    // Read at run time, since a build may outlive a move of the checkout.
    let own = std::env::var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
    let folder = Path::new(&own).join("../../tests/tpch");
    (1..=22).map(move |number| {
        let path = folder.join(format!("q{number:02}.sql"));
        let sql = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (number, sql.trim_end().trim_end_matches(';').to_owned())
    })
}

/// Takes the shortest of several runs. With `--release -- --nocapture` it prints planning times.
#[test]
fn tpch_is_planned_in_time() {
    let planner = Planner::new();
    let runs = if cfg!(debug_assertions) { 2 } else { 200 };
    let mut totals = Vec::new();
    for (number, sql) in queries() {
        let run = || match planner.timed(&sql, &OptimizerSettings::default()) {
            Ok((_, times)) => times,
            Err(error) => panic!("query {number}: {}", error.locate(&sql)),
        };
        let total = |times: &Times| times.parse + times.bind + times.optimize;
        let best = (0..runs).map(|_| run()).min_by_key(total).expect("there are several");
        println!("{number:2} {:?} {best:?}", total(&best));
        totals.push(total(&best));
    }
    totals.sort_unstable();
    println!("median {:?}", totals[totals.len() / 2]);
    let limit = Duration::from_millis(if cfg!(debug_assertions) { 100 } else { 10 });
    assert!(totals[totals.len() / 2] < limit, "{totals:?}");
}
