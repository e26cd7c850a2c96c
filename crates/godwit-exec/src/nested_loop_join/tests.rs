//! Tests the nested-loop join against two loops over vectors of values.

use godwit_common::ErrorKind;
use godwit_vector::Chunk;
use proptest::prelude::*;

use super::*;
use crate::testing::{
    Chunks, Collected, Random, Row, Value, World, column_type, is_less, pipeline, random_vector, rows_of, run,
};

const KINDS: [JoinKind; 10] = [
    JoinKind::Inner,
    JoinKind::Left,
    JoinKind::Right,
    JoinKind::Full,
    JoinKind::ProbeSemi,
    JoinKind::ProbeAnti,
    JoinKind::BuildSemi,
    JoinKind::BuildAnti,
    JoinKind::Mark,
    JoinKind::Single,
];

/// Columns of both sides: a small integer and a string.
fn side_type() -> RowType {
    vec![column_type(PhysicalType::I8, true), column_type(PhysicalType::Str, true)]
}

/// The condition `p0 < b0`, or none.
fn predicate(compare: bool) -> Option<Predicate> {
    let input: RowType = side_type().into_iter().chain(side_type()).collect();
    compare.then(|| is_less(0, 2, &input))
}

fn matches(compare: bool, probe: &Row, build: &Row) -> bool {
    match (&probe[0], &build[0]) {
        _ if !compare => true,
        (Value::Integer(p), Value::Integer(b)) => p < b,
        _ => false,
    }
}

/// The expected result, in any order; `None` if a scalar subquery has several rows.
fn naive(kind: JoinKind, compare: bool, probe: &[Row], build: &[Row]) -> Option<Vec<Row>> {
    use JoinKind::*;
    let null = vec![Value::Null; 2];
    let concat = |p: &Row, b: &Row| -> Row { p.iter().chain(b).cloned().collect() };
    let mut output = Vec::new();
    for p in probe {
        let found: Vec<&Row> = build.iter().filter(|b| matches(compare, p, b)).collect();
        if kind == Single && found.len() > 1 {
            return None;
        }
        match kind {
            Inner | Right => output.extend(found.iter().map(|b| concat(p, b))),
            Left | Full | Single => {
                output.extend(found.iter().map(|b| concat(p, b)));
                output.extend(found.is_empty().then(|| concat(p, &null)));
            }
            ProbeSemi => output.extend((!found.is_empty()).then(|| p.clone())),
            ProbeAnti => output.extend(found.is_empty().then(|| p.clone())),
            Mark => output.push(concat(p, &vec![Value::Integer(!found.is_empty() as i128)])),
            BuildSemi | BuildAnti => {}
        }
    }
    for b in build {
        let found = probe.iter().any(|p| matches(compare, p, b));
        match kind {
            Right | Full if !found => output.push(concat(&null, b)),
            BuildSemi if found => output.push(b.clone()),
            BuildAnti if !found => output.push(b.clone()),
            _ => {}
        }
    }
    Some(output)
}

/// Joins, and compares with the two loops. Returns the query.
fn check(kind: JoinKind, compare: bool, probe: Vec<Chunk>, build: Vec<Chunk>, world: World) -> Arc<QueryContext> {
    let query = world.query();
    let rows = |chunks: &[Chunk]| -> Vec<Row> { chunks.iter().flat_map(rows_of).collect() };
    let expected = naive(kind, compare, &rows(&probe), &rows(&build));
    let probe_output = if matches!(kind, JoinKind::BuildSemi | JoinKind::BuildAnti) { vec![] } else { vec![0, 1] };
    let build_output = match kind {
        JoinKind::ProbeSemi | JoinKind::ProbeAnti | JoinKind::Mark => vec![],
        _ => vec![0, 1],
    };
    let spec = NestedLoopJoinSpec {
        kind,
        probe_type: side_type(),
        build_type: side_type(),
        predicate: predicate(compare),
        probe_output,
        build_output,
    };
    let join = NestedLoopJoin::new(spec, &query, "Join").unwrap();
    let collected = Collected::new(&query);
    let mut pipelines = vec![
        pipeline(Chunks::new(build), vec![], join.build_sink(), &[]),
        pipeline(Chunks::new(probe), vec![join.probe()], collected.clone(), &[0]),
    ];
    if let Some(rest) = join.rest() {
        pipelines.push(pipeline(rest, vec![], collected.clone(), &[1]));
    }
    match (run(&query, pipelines), expected) {
        (Ok(()), Some(mut expected)) => {
            let mut found = collected.rows();
            found.sort();
            expected.sort();
            assert_eq!(found, expected);
            assert!(found.iter().all(|row| row.len() == join.output_type().len()));
        }
        (Err(error), None) => assert_eq!(error.kind(), ErrorKind::User),
        (result, expected) => panic!("{result:?} where {expected:?} was expected"),
    }
    drop(join);
    query.memory.wait_for_io();
    assert_eq!(query.memory.used_bytes(), 0, "a finished join holds no memory");
    query
}

fn chunks(random: &mut Random, rows: usize, chunk_rows: usize) -> Vec<Chunk> {
    let mut chunks = Vec::new();
    let mut left = rows;
    while left > 0 {
        let len = (1 + random.below(chunk_rows as u64) as usize).min(left);
        left -= len;
        let columns = side_type().iter().map(|ty| random_vector(random, ty, len, 1000)).collect();
        let mut chunk = Chunk::new(columns, len);
        chunk.select(&(0..len as u32).rev().collect::<Vec<_>>());
        chunks.push(chunk);
    }
    chunks
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn joins_like_two_loops(
        kind in prop::sample::select(KINDS.to_vec()),
        compare: bool,
        seed: u64,
        probe_rows in 0usize..80,
        build_rows in prop_oneof![0usize..3, 0usize..80],
        chunk_rows in prop::sample::select(vec![1usize, 7, 64]),
        workers in 1usize..3,
        force_spill: bool,
    ) {
        let mut random = Random(seed);
        let probe = chunks(&mut random, probe_rows, chunk_rows);
        let build = chunks(&mut random, build_rows, chunk_rows);
        check(kind, compare, probe, build, World { memory_limit: 96 << 20, force_spill, chunk_rows, workers });
    }
}

#[test]
fn a_large_build_side_is_read_back_from_disk() {
    let mut random = Random(5);
    let build = chunks(&mut random, 120_000, 2048);
    // Kinds that emit build columns: the others keep only what the predicate reads.
    for kind in [JoinKind::Full, JoinKind::Left, JoinKind::BuildSemi] {
        let probe = chunks(&mut random, 6, 3);
        let world = World { memory_limit: 3 << 20, force_spill: false, chunk_rows: 2048, workers: 2 };
        let query = check(kind, true, probe, build.clone(), world);
        assert!(query.memory.statistics().spilled_bytes_total > 0);
        assert!(query.memory.statistics().peak_bytes <= 3 << 20);
    }
}

#[test]
fn a_cross_product_without_columns_counts() {
    let world = World { memory_limit: 96 << 20, force_spill: false, chunk_rows: 100, workers: 1 };
    let query = world.query();
    let spec = NestedLoopJoinSpec {
        kind: JoinKind::Inner,
        probe_type: vec![],
        build_type: vec![],
        predicate: None,
        probe_output: vec![],
        build_output: vec![],
    };
    let join = NestedLoopJoin::new(spec, &query, "Join").unwrap();
    let collected = Collected::new(&query);
    let source = |rows: usize| Chunks::new(vec![Chunk::new(vec![], rows)]);
    let pipelines = vec![
        pipeline(source(30), vec![], join.build_sink(), &[]),
        pipeline(source(70), vec![join.probe()], collected.clone(), &[0]),
    ];
    run(&query, pipelines).unwrap();
    assert_eq!(collected.rows().len(), 30 * 70);
}
