//! Groups whose values are larger than memory.

use godwit_common::ErrorKind;
use godwit_vector::{Chunk, Flat, PhysicalType};

use super::tests::*;
use super::*;
use crate::testing::{COLLISIONS, Random, World, column_type};

/// Aggregates that keep all values, some of them those of a distinct set.
fn collecting() -> Vec<Call> {
    use AggregateKind::*;
    let ordered = |kind| plain(kind, TEXT);
    vec![
        plain(AggregateKind::median(), FLOAT),
        Call(quantile(0.25, true), Some(INT), true, false),
        plain(quantile(0.9, false), TEXT),
        plain(Mode, INT),
        ordered(FirstValue { ignore_nulls: false }),
        ordered(LastValue { ignore_nulls: true }),
        Call(Count, Some(DECIMAL), false, true),
        Call(Sum, Some(DECIMAL), true, true),
    ]
}

/// All values in one group, then groups one of which has half of all rows, with a fraction of the memory that they
/// take.
#[test]
fn one_group_larger_than_memory() {
    let _no_collisions = COLLISIONS.read();
    for (seed, key_types) in [(21, Vec::new()), (22, vec![column_type(PhysicalType::I64, false)])] {
        let mut chunks = chunks_of(&mut Random(seed), &key_types, 300_000, 2048, 40);
        if !key_types.is_empty() {
            for chunk in chunks.iter_mut().step_by(2) {
                let mut columns = chunk.dense_columns();
                columns[0] = Vector::constant(Flat::I64(vec![42].into()), chunk.len());
                *chunk = Chunk::new(columns, chunk.len());
            }
        }
        let world = World { memory_limit: 24 * MIB, workers: 2, ..ROOMY };
        let (query, _) = check(&Case { key_types, calls: collecting(), grouping_sets: None }, chunks, world);
        query.memory.wait_for_io();
        let statistics = query.memory.statistics();
        assert!(statistics.spilled_bytes_total > 20 * MIB, "{} bytes spilled", statistics.spilled_bytes_total);
        assert!(statistics.peak_bytes <= 24 * MIB, "{} bytes in use", statistics.peak_bytes);
        assert_eq!((statistics.used_bytes, statistics.temp_file_bytes), (0, 0), "all is freed");
    }
}

/// Strings that together take more than memory, group by group.
#[test]
fn long_results_come_in_small_chunks() {
    let _no_collisions = COLLISIONS.read();
    let key_types = vec![column_type(PhysicalType::I64, false)];
    let calls = vec![plain(AggregateKind::StringAgg(", ".into()), TEXT)];
    let chunks = chunks_of(&mut Random(23), &key_types, 1_000_000, 2048, 5000);
    let world = World { memory_limit: 16 * MIB, workers: 2, ..ROOMY };
    let (query, _) = check(&Case { key_types, calls, grouping_sets: None }, chunks, world);
    let statistics = query.memory.statistics();
    assert!(statistics.spilled_bytes_total > 10 * MIB, "{} bytes spilled", statistics.spilled_bytes_total);
}

/// A single string larger than memory fails with an error that says so.
#[test]
fn a_result_larger_than_memory_is_an_error() {
    let _no_collisions = COLLISIONS.read();
    let calls = vec![plain(AggregateKind::StringAgg("; ".into()), TEXT)];
    let chunks = chunks_of(&mut Random(24), &Vec::new(), 900_000, 2048, 1);
    let case = Case { key_types: Vec::new(), calls, grouping_sets: None };
    let world = World { memory_limit: 12 * MIB, workers: 2, ..ROOMY };
    let error = aggregate(&case, chunks, world).err().expect("the string has no room");
    assert_eq!(error.kind(), ErrorKind::Resource, "{error}");
    assert!(error.to_string().contains("string_agg"), "{error}");
}
