//! Tests that the model reproduces the thesis's figures, on a coarser sample than the example's; and tests of its
//! parts.

use super::operator::Worker;
use super::{Load, Machine, Operator, Outcome, Pattern, Sharing, run};
use crate::simulator::SetSampling;
use crate::{CacheClass, CacheSizes, CacheUsage, WayMask};

/// Enough to tell a fall by half from none.
fn machine() -> Machine {
    Machine { sampling: SetSampling { one_in: 64 }, ..Machine::of_the_thesis() }
}

const ACCESSES: f64 = 24e6;
const ALL: u32 = 20;
/// 5.5 MiB.
const TENTH: u32 = 2;

fn alone(operator: &Operator, ways: u32) -> Outcome {
    run(&machine(), &[Load { operator: operator.clone(), mask: WayMask::all(ways) }], ACCESSES)[0]
}

/// Throughput in some ways, relative to all.
fn confined(operator: &Operator, ways: u32) -> f64 {
    alone(operator, ways).rows_per_ns / alone(operator, ALL).rows_per_ns
}

/// The effect of confining `companion` to a tenth of the ways on the throughput of `operator` and on its own.
fn gains(operator: &Operator, companion: &Operator) -> [f64; 2] {
    let beside = |ways| {
        let loads = [(operator, ALL), (companion, ways)];
        let loads = loads.map(|(operator, ways)| Load { operator: operator.clone(), mask: WayMask::all(ways) });
        run(&machine(), &loads, ACCESSES)
    };
    let (whole, parted) = (beside(ALL), beside(TENTH));
    [0, 1].map(|index| parted[index].rows_per_ns / whole[index].rows_per_ns)
}

#[test]
fn scans_need_no_cache() {
    let scan = Operator::column_scan();
    assert!(confined(&scan, TENTH) > 0.97);
    assert!(alone(&scan, ALL).hit_ratio < 0.08);
}

#[test]
fn groupings_need_what_their_structures_have() {
    for (values, groups, at_most) in [
        (1_000_000, 100_000, 0.5),
        (10_000_000, 100, 0.5),
        (10_000_000, 1_000, 0.5),
        (10_000_000, 10_000, 0.5),
        (10_000_000, 100_000, 0.55),
    ] {
        let fallen = confined(&Operator::grouping(values, groups), TENTH);
        assert!(fallen < at_most, "{values} values, {groups} groups: {fallen}");
    }
    // A structure that far exceeds the cache suffers less.
    let large = confined(&Operator::grouping(100_000_000, 1_000_000), TENTH);
    assert!((0.9..1.0).contains(&large), "{large}");
}

#[test]
fn bit_vectors_need_cache_if_they_are_comparable_to_it() {
    let caches = CacheSizes { last_level_bytes: 55 << 20, core_bytes: 256 << 10, ..CacheSizes::ASSUMED };
    for (keys, low, high) in
        [(1_000_000, 0.95, 1.05), (10_000_000, 0.95, 1.05), (100_000_000, 0.5, 0.75), (1_000_000_000, 0.8, 0.95)]
    {
        let join = Operator::foreign_key_join(keys);
        let fallen = confined(&join, TENTH);
        assert!((low..high).contains(&fallen), "{keys} keys: {fallen}");
        // The class is the one that the model would choose, and gives what is needed.
        let comparable = caches.class_of(CacheUsage::Depends { bytes: keys / 8 }) == CacheClass::Comparable;
        assert_eq!(comparable, fallen < 0.8, "{keys} keys");
        if comparable {
            assert!(confined(&join, 12) > 0.97, "60 % are enough");
        }
    }
}

#[test]
fn confining_a_scan_helps_who_needs_the_cache() {
    let scan = Operator::column_scan();
    let gain = |values, groups| gains(&Operator::grouping(values, groups), &scan);
    let (small, fits, exceeds) = (gain(1_000_000, 1_000), gain(1_000_000, 100_000), gain(1_000_000, 1_000_000));
    assert!(fits[0] > 1.08 && fits[0] > small[0] && fits[0] > exceeds[0], "{small:?} {fits:?} {exceeds:?}");
    let (dictionary, neither) = (gain(10_000_000, 1_000), gain(100_000_000, 1_000));
    assert!(dictionary[0] > 1.2 && dictionary[0] > neither[0], "{dictionary:?} {neither:?}");
    // Nobody loses, and the scan gains from the memory bandwidth that is saved.
    for gains in [small, fits, exceeds, dictionary, neither] {
        assert!(gains.iter().all(|&gain| gain > 0.98), "{gains:?}");
    }
    assert!(dictionary[1] > 1.02, "{dictionary:?}");
}

#[test]
fn a_join_that_needs_the_cache_must_not_be_confined_to_a_tenth() {
    let [aggregation, join] = gains(&Operator::grouping(10_000_000, 1_000), &Operator::foreign_key_join(100_000_000));
    assert!(aggregation > 1.03 && join < 0.85, "{aggregation} {join}");
}

#[test]
fn memory_delivers_no_more_than_it_can() {
    let scan = Load { operator: Operator::column_scan(), mask: WayMask::all(ALL) };
    let bytes = |outcomes: &[Outcome]| outcomes.iter().map(|o| o.rows_per_ns * o.memory_bytes_per_row).sum::<f64>();
    let one = run(&machine(), std::slice::from_ref(&scan), 1e6);
    assert!((bytes(&one) - 64.0).abs() < 0.1 && one[0].stretch > 1.0, "a scan takes all: {one:?}");
    let two = run(&machine(), &[scan.clone(), scan], 1e6);
    assert!((bytes(&two) - 64.0).abs() < 0.1 && two[0].stretch > one[0].stretch);
    let join = alone(&Operator::foreign_key_join(1_000_000), ALL);
    assert!(bytes(&[join]) < 64.0 && join.stretch == 1.0);
}

#[test]
fn addresses() {
    let visits = |operator: &Operator, worker: usize, rows: u64| {
        let mut visits = Vec::new();
        let mut worker = Worker::new(operator, 1, worker);
        // In two steps that don't end at lines.
        worker.run(rows / 3, 64, |pattern, address| visits.push((pattern, address)));
        worker.run(rows - rows / 3, 64, |pattern, address| visits.push((pattern, address)));
        visits
    };
    let scan = Operator::column_scan();
    let lines: Vec<u64> = visits(&scan, 3, 10_000).into_iter().map(|(_, address)| address).collect();
    assert_eq!(lines.len(), (10_000 * 20_usize).div_ceil(8 * 64));
    assert!(lines.windows(2).all(|pair| pair[1] == pair[0] + 64), "each line once, in order");
    assert_ne!(lines[0], visits(&scan, 4, 100)[0].1, "each worker has its part");

    let grouping = Operator::grouping(1_000, 100);
    let range = |worker, pattern| {
        let found = visits(&grouping, worker, 30_000);
        let places = || found.iter().filter(|visit| visit.0 == pattern).map(|visit| visit.1);
        assert!(pattern < 2 || places().count() == 30_000);
        places().min().unwrap()..places().max().unwrap() + 1
    };
    assert_eq!(range(0, 2), range(1, 2), "one dictionary");
    assert_eq!(range(0, 2).end - range(0, 2).start, 4_000);
    assert_eq!(range(0, 3).end - range(0, 3).start, 1_400);
    assert!(range(0, 3).end <= range(1, 3).start, "a hash table each");
}

#[test]
fn operators_have_the_sizes_of_the_thesis() {
    assert_eq!(Operator::column_scan().patterns, [Pattern::Sequential { bits_per_row: 20 }]);
    assert_eq!(
        Operator::grouping(10_000_000, 100).patterns[..3],
        [
            Pattern::Sequential { bits_per_row: 24 },
            Pattern::Sequential { bits_per_row: 7 },
            Pattern::Random { bytes: 40_000_000, sharing: Sharing::Shared },
        ]
    );
    let bit_vector = Pattern::Random { bytes: 12_500_000, sharing: Sharing::Shared };
    assert_eq!(Operator::foreign_key_join(100_000_000).patterns[1], bit_vector);
}
