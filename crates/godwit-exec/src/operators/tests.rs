//! The small operators in pipelines of several workers.

use std::sync::Arc;

use godwit_expression::{Expression, Predicate};
use godwit_pipeline::Transform;
use godwit_vector::{Chunk, PhysicalType, Vector};
use proptest::prelude::*;

use super::*;
use crate::testing::{Chunks, Collected, Value, World, column_type, pipeline, rows_of, run};

fn world(workers: usize) -> World {
    World { memory_limit: 96 << 20, force_spill: false, chunk_rows: 100, workers }
}

fn numbers(rows: usize, chunk_rows: usize) -> Vec<Chunk> {
    let starts = (0..rows).step_by(chunk_rows);
    starts
        .map(|start| {
            let values: Vec<i64> = (start..rows.min(start + chunk_rows)).map(|i| i as i64).collect();
            let len = values.len();
            Chunk::new(vec![Vector::from_values(values, None)], len)
        })
        .collect()
}

proptest! {
    #[test]
    fn a_limit_lets_so_many_rows_through(
        offset in 0u64..300,
        limit in prop::option::of(0u64..300),
        rows in 0usize..400,
        chunk_rows in 1usize..50,
        workers in 1usize..4,
    ) {
        let query = world(workers).query();
        let collected = Collected::new(&query);
        let transform = LimitTransform::new(offset, limit, "Limit");
        let source = Chunks::new(numbers(rows, chunk_rows));
        run(&query, vec![pipeline(source, vec![transform], collected.clone(), &[])]).unwrap();
        let found = collected.rows();
        let expected = (rows as u64).saturating_sub(offset).min(limit.unwrap_or(u64::MAX));
        prop_assert_eq!(found.len() as u64, expected);
        if workers == 1 {
            let values: Vec<i128> = (offset as i128..offset as i128 + expected as i128).collect();
            prop_assert_eq!(found, values.iter().map(|&v| vec![Value::Integer(v)]).collect::<Vec<_>>());
        }
    }
}

#[test]
fn values_are_cut_into_chunks_and_come_in_order() {
    let query = world(2).query();
    let collected = Collected::new(&query);
    let source = ValuesSource::new(numbers(1000, 333), &query, "Values");
    run(&query, vec![pipeline(source, vec![], collected.clone(), &[])]).unwrap();
    let expected: Vec<_> = numbers(1000, 100).iter().flat_map(rows_of).collect();
    assert_eq!(collected.rows(), expected);
}

#[test]
fn filters_and_projections_pass_columns_on() {
    let query = world(2).query();
    let flags: Vec<u8> = (0..100).map(|i| (i % 3 == 0) as u8).collect();
    let number = column_type(PhysicalType::I64, false);
    let flag = column_type(PhysicalType::Bool, false);
    let mut chunk = numbers(100, 100).remove(0);
    chunk.push(Vector::from_bools(flags, None));
    let filter = FilterTransform::new(Predicate::new(vec![Expression::column(1, flag)]), "Filter");
    let seven = Expression::literal(&godwit_types::Value::Integer(7), &godwit_types::SqlType::BigInt).unwrap();
    let project = ProjectTransform::new(vec![seven, Expression::column(0, number)], "Project");
    let collected = Collected::new(&query);
    let transforms: Vec<Arc<dyn Transform>> = vec![filter, project];
    run(&query, vec![pipeline(Chunks::new(vec![chunk]), transforms, collected.clone(), &[])]).unwrap();
    let expected: Vec<_> = (0..100).step_by(3).map(|i| vec![Value::Integer(7), Value::Integer(i)]).collect();
    assert_eq!(collected.rows(), expected);
}
