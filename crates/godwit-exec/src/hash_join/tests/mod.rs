//! Tests joins against a naive one, in memory and on disk.

mod naive;

use std::sync::Arc;

use arrow_schema::DataType;
use godwit_common::Result;
use godwit_expression::{Expression, Predicate};
use godwit_pipeline::Pipeline;
use godwit_vector::kernels::hash::force_hash_collisions;
use godwit_vector::{Chunk, ColumnType, PhysicalType, RowType, Vector};
use proptest::prelude::*;

use std::sync::atomic::AtomicUsize;

use super::*;
use crate::operators::NothingSink;
use crate::testing::{
    COLLISIONS, Chunks, Collected, ForEachChunk, Random, Row, World, column_type, is_less, pipeline, random_vector, run,
};
use naive::{NaiveJoin, sorted};

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

/// The distribution of keys of type `I64`; others are random and extreme, with many duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Small numbers in a dense range, which the plan knows.
    Dense,
    /// The same number of keys, spread over all integers.
    Sparse,
    /// Like those of other types.
    Random,
    /// Seven of eight are 0, the others sparse.
    Frequent,
}

/// A join of two random tables: key columns, a number, a text.
#[derive(Debug, Clone)]
struct Case {
    kind: JoinKind,
    key_types: Vec<PhysicalType>,
    nullable: bool,
    /// Approximate number of distinct keys on the build side; the probe side has others too.
    distinct: u64,
    build_rows: usize,
    probe_rows: usize,
    residual: bool,
    /// The residual may be decided by least and greatest numbers.
    extremes: bool,
    nulls_equal: bool,
    null_aware: bool,
    keys: Keys,
    seed: u64,
    grant_bytes: u64,
    world: World,
}

impl Case {
    fn plain(kind: JoinKind, build_rows: usize, probe_rows: usize) -> Self {
        Case {
            kind,
            key_types: vec![PhysicalType::I64],
            nullable: false,
            distinct: build_rows.max(1) as u64,
            build_rows,
            probe_rows,
            residual: false,
            extremes: true,
            nulls_equal: false,
            null_aware: false,
            keys: Keys::Dense,
            seed: 7,
            grant_bytes: u64::MAX,
            world: World { memory_limit: 256 << 20, force_spill: false, chunk_rows: 2048, workers: 2 },
        }
    }

    fn row_type(&self) -> RowType {
        let keys = self.key_types.iter().map(|&physical| column_type(physical, self.nullable));
        keys.chain([column_type(PhysicalType::I64, false), column_type(PhysicalType::Str, true)]).collect()
    }

    /// Chunks of one side. The number of a row is its position; residuals compare it.
    fn chunks(&self, random: &mut Random, rows: usize, distinct: u64) -> Vec<Chunk> {
        let row_type = self.row_type();
        let mut chunks = Vec::new();
        let mut begin = 0;
        while begin < rows {
            let len = (1 + random.below(self.world.chunk_rows as u64) as usize).min(rows - begin);
            let mut columns = Vec::new();
            for ty in &row_type[..self.key_types.len()] {
                columns.push(self.key(random, ty, len, distinct));
            }
            columns.push(Vector::from_values((begin..begin + len).map(|row| (row % 1000) as i64).collect(), None));
            columns.push(random_vector(random, &row_type[row_type.len() - 1], len, 1000));
            let mut chunk = Chunk::new(columns, len);
            if random.below(3) == 0 {
                let kept: Vec<u32> = (0..len as u32).rev().filter(|row| row % 4 != 1).collect();
                if !kept.is_empty() {
                    chunk.select(&kept);
                }
            }
            chunks.push(chunk);
            begin += len;
        }
        chunks
    }

    fn key(&self, random: &mut Random, ty: &ColumnType, rows: usize, distinct: u64) -> Vector {
        if self.keys == Keys::Random || ty.physical != PhysicalType::I64 {
            return random_vector(random, ty, rows, distinct);
        }
        let validity = ty.nullable.then(|| godwit_vector::Bitmap::from_fn(rows, |_| random.below(5) != 0));
        let spread =
            |key: i64| if self.keys == Keys::Dense { key } else { key.wrapping_mul(0x9E37_79B9_7F4A_7C15u64 as i64) };
        let mut value = || match self.keys == Keys::Frequent && random.below(8) != 0 {
            true => 0,
            false => spread(random.below(distinct) as i64 - 3),
        };
        let values: Vec<i64> = (0..rows).map(|_| value()).collect();
        Vector::from_values(values, validity)
    }

    fn key_expressions(&self, distinct: u64) -> Vec<Expression> {
        let row_type = self.row_type();
        let key = |column: usize| {
            let mut ty = row_type[column].clone();
            if self.keys == Keys::Dense && ty.physical == PhysicalType::I64 {
                ty.range = Some(ValueRange { min: -3, max: distinct as i128 });
            }
            Expression::column(column, ty)
        };
        (0..self.key_types.len()).map(key).collect()
    }

    /// Number of the probe row < number of the build row.
    fn residual(&self) -> Option<Predicate> {
        let (row_type, number) = (self.row_type(), self.key_types.len());
        let input: RowType = row_type.iter().chain(&row_type).cloned().collect();
        self.residual.then(|| is_less(number, row_type.len() + number, &input))
    }

    fn decides_by_extremes(&self) -> bool {
        self.extremes && self.residual && matches!(self.kind, JoinKind::BuildSemi | JoinKind::BuildAnti)
    }

    fn is_valid(&self) -> bool {
        use JoinKind::*;
        let null_aware = matches!(self.kind, ProbeAnti | BuildAnti | Mark) && self.key_types.len() == 1;
        !self.null_aware || (null_aware && !self.residual && !self.nulls_equal)
    }

    fn spec(&self) -> HashJoinSpec {
        let width = self.row_type().len();
        let (probe, build) = match self.kind {
            JoinKind::ProbeSemi | JoinKind::ProbeAnti | JoinKind::Mark => (vec![width - 1, 0, width - 2], vec![]),
            JoinKind::BuildSemi | JoinKind::BuildAnti => (vec![], vec![width - 1, width - 2, 0]),
            _ => (vec![width - 2, width - 1], vec![0, width - 1, width - 2]),
        };
        HashJoinSpec {
            kind: self.kind,
            probe_keys: self.key_expressions(2 * self.distinct),
            build_keys: self.key_expressions(self.distinct),
            probe_type: self.row_type(),
            build_type: self.row_type(),
            residual: self.residual(),
            extremes: self.decides_by_extremes().then_some(self.key_types.len()),
            nulls_equal: self.nulls_equal,
            null_aware: self.null_aware,
            probe_output: probe,
            build_output: build,
            estimated_build_rows: Some(self.build_rows as u64),
            filter_slots: Vec::new(),
        }
    }

    fn run(&self) -> (Arc<HashJoin>, Vec<Row>, Result<Vec<Row>>) {
        self.run_beside(None)
    }

    /// Runs it alongside another owner that asks for memory after this many chunks of the probe side.
    fn run_beside(&self, asked_after: Option<usize>) -> (Arc<HashJoin>, Vec<Row>, Result<Vec<Row>>) {
        let mut random = Random(self.seed);
        let build = self.chunks(&mut random, self.build_rows, self.distinct);
        let probe = self.chunks(&mut random, self.probe_rows, 2 * self.distinct);
        let naive = NaiveJoin::of(self, &build, &probe);
        let query = self.world.query();
        let join = HashJoin::new(self.spec(), &query, "join".into()).unwrap();
        join.metrics.memory().set_grant_limit_bytes(Some(self.grant_bytes));
        let output = Collected::new(&query);
        let mut pipelines = vec![
            pipeline(Chunks::new(build), vec![], join.build_sink(), &[]),
            pipeline(join.table_source(), vec![], NothingSink::new("table"), &[0]),
            pipeline(Chunks::new(probe), vec![join.probe()], output.clone(), &[1]),
        ];
        if let Some(after) = asked_after {
            pipelines[2].transforms.insert(0, asker(&query.memory, after));
        }
        if let Some(rest) = join.rest() {
            pipelines.push(Pipeline { source: rest, transforms: vec![], sink: output.clone(), depends_on: vec![2] });
        }
        let result = run(&query, pipelines).map(|()| sorted(output.rows()));
        (join, naive.rows(), result)
    }

    /// Checks that the real join agrees with the naive one.
    fn check(&self) -> Arc<HashJoin> {
        self.check_result(self.run())
    }

    fn check_result(&self, (join, expected, result): (Arc<HashJoin>, Vec<Row>, Result<Vec<Row>>)) -> Arc<HashJoin> {
        match result {
            Ok(rows) => {
                assert!(self.kind != JoinKind::Single || !expected.is_empty() || self.probe_rows == 0, "{self:?}");
                assert_eq!(rows.len(), expected.len(), "{self:?}");
                assert!(rows == expected, "{self:?}");
            }
            Err(error) => {
                assert!(self.kind == JoinKind::Single && expected.is_empty(), "{error} {self:?}");
                assert!(error.message().contains("more than one row"));
            }
        }
        join
    }
}

fn note(join: &HashJoin, name: &str) -> String {
    join.metrics.notes().into_iter().find(|(known, _)| known == name).map_or(String::new(), |(_, value)| value)
}

fn cases() -> impl Strategy<Value = Case> {
    let key_types = prop_oneof![
        4 => Just(vec![PhysicalType::I64]),
        1 => Just(vec![PhysicalType::I32]),
        1 => Just(vec![PhysicalType::U64]),
        1 => Just(vec![PhysicalType::I128]),
        1 => Just(vec![PhysicalType::F64]),
        2 => Just(vec![PhysicalType::Str]),
        1 => Just(vec![PhysicalType::Bool]),
        2 => Just(vec![PhysicalType::I64, PhysicalType::Str]),
        1 => Just(vec![PhysicalType::U8, PhysicalType::F32, PhysicalType::I16]),
    ];
    let shape = (prop::sample::select(KINDS.to_vec()), key_types, any::<bool>(), 0usize..400, 0usize..400);
    let keys = prop::sample::select(vec![Keys::Dense, Keys::Sparse, Keys::Random]);
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), keys, any::<u64>());
    let distinct = prop_oneof![Just(1u64), Just(10), Just(300), Just(100_000)];
    let grant = prop_oneof![3 => Just(u64::MAX), 2 => Just(0u64), 2 => Just(3u64 << 20)];
    let world = (prop_oneof![Just(1usize), Just(3), Just(100), Just(2048)], any::<bool>(), 1usize..4);
    (shape, flags, distinct, grant, world).prop_map(|(shape, flags, distinct, grant_bytes, world)| {
        let (kind, key_types, nullable, build_rows, probe_rows) = shape;
        let (residual, extremes, nulls_equal, null_aware, keys, seed) = flags;
        let (chunk_rows, force_spill, workers) = world;
        let world = World { memory_limit: 256 << 20, force_spill, chunk_rows, workers };
        let mut case = Case {
            kind,
            key_types,
            nullable,
            distinct,
            build_rows,
            probe_rows,
            residual,
            extremes,
            nulls_equal,
            null_aware,
            keys,
            seed,
            grant_bytes,
            world,
        };
        case.null_aware &= case.is_valid();
        case
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]
    #[test]
    fn agrees_with_a_naive_join(case in cases()) {
        let _no_collisions = COLLISIONS.read();
        case.check();
    }
}

#[test]
fn agrees_when_all_hashes_collide() {
    let _collisions = COLLISIONS.write();
    force_hash_collisions(true);
    for kind in KINDS {
        for grant_bytes in [u64::MAX, 0] {
            let key_types = vec![PhysicalType::I64, PhysicalType::Str];
            let plain = Case::plain(kind, 150, 200);
            Case { key_types, nullable: true, distinct: 20, grant_bytes, ..plain.clone() }.check();
            Case { key_types: vec![PhysicalType::Str], distinct: 100, residual: true, grant_bytes, ..plain }.check();
        }
    }
    force_hash_collisions(false);
}

#[test]
fn the_table_fits_the_keys() {
    let _no_collisions = COLLISIONS.read();
    let inner = Case::plain(JoinKind::Inner, 5000, 5000);
    assert!(note(&inner.check(), "table").starts_with("direct array"));
    let sparse = Case { keys: Keys::Sparse, ..inner.clone() };
    assert!(note(&sparse.check(), "table").starts_with("hash table"));
    let semi = Case { kind: JoinKind::ProbeSemi, ..inner.clone() };
    let join = semi.check();
    assert!(note(&join, "table").starts_with("bit vector") && join.rest().is_none());
    let with_residual = Case { residual: true, ..semi };
    assert!(note(&with_residual.check(), "table").starts_with("direct array"));
}

/// Every kind, with some partitions resident, with none, with several pages per partition, and with one hot key whose
/// partition has to be joined in chunks.
#[test]
fn agrees_on_disk() {
    let _no_collisions = COLLISIONS.read();
    for kind in KINDS {
        for (residual, extremes) in [(false, false), (true, false), (true, true)] {
            let single = kind == JoinKind::Single;
            let world = World { memory_limit: 64 << 20, force_spill: true, chunk_rows: 2048, workers: 2 };
            let plain = Case { world, residual, extremes, nullable: true, ..Case::plain(kind, 40_000, 30_000) };
            let distinct = if single { 1 << 40 } else { 60_000 };
            for grant_bytes in [5 << 20, 200 << 10, 0] {
                let join = Case { distinct, keys: Keys::Sparse, grant_bytes, ..plain.clone() }.check();
                assert!(join.metrics.memory().spilled_bytes() > 1 << 20, "{kind:?}");
                assert_eq!(note(&join, "resident partitions") == "0 of 16", grant_bytes < 1 << 20);
            }
            let hot = Case { distinct: 1, keys: Keys::Sparse, probe_rows: 8, grant_bytes: 200 << 10, ..plain };
            let join = hot.check();
            let passes: u64 = note(&join, "passes").parse().unwrap_or(0);
            assert!(passes > 3 || single, "{kind:?}: {passes} passes");
        }
    }
}

/// Passes chunks on, and claims all memory after `after` of them, as another query would.
fn asker(memory: &BufferManager, after: usize) -> Arc<ForEachChunk> {
    let (seen, claim) = (AtomicUsize::new(0), memory.claim());
    ForEachChunk::new(move || {
        if seen.fetch_add(1, Ordering::Relaxed) == after {
            claim.report(16 << 20, 1 << 20, 1e6);
            claim.request();
        }
    })
}

/// While the probe side streams, partitions are given up when others ask for memory, whether all build rows were
/// resident or some; the remaining probe rows are joined with them later, and no match is lost or found twice.
#[test]
fn gives_up_partitions_while_it_probes() {
    let _no_collisions = COLLISIONS.read();
    for (number, kind) in [JoinKind::Inner, JoinKind::Left].into_iter().enumerate() {
        let (workers, residual) = (1 + number % 3, number % 2 == 1);
        let distinct = if kind == JoinKind::Single { 1 << 40 } else { 250_000 };
        // A third of it can be granted: enough for all build rows, but not beside another claim.
        let world = World { memory_limit: 48 << 20, force_spill: workers == 2, chunk_rows: 2048, workers };
        let plain = Case { world, residual, nullable: true, ..Case::plain(kind, 200_000, 60_000) };
        for grant_bytes in [u64::MAX, 11 << 20] {
            let case = Case { distinct, keys: Keys::Sparse, grant_bytes, ..plain.clone() };
            let join = case.check_result(case.run_beside(Some(10)));
            let (resident, given_up) = (note(&join, "resident partitions"), note(&join, "partitions given up"));
            let given_up = given_up.parse::<u64>().unwrap_or(0);
            // With two workers, one may see its last chunk before the other has let go of the table.
            let least = u64::from(workers == 1);
            assert!((least..=16).contains(&given_up), "{kind:?}, {workers} workers: {given_up}, now {resident}");
            assert!(note(&join, "passes").parse::<u64>().is_ok_and(|passes| passes > 0), "{kind:?}");
        }
    }
}

/// A frequent key keeps only its own partition out of memory, which is joined in chunks without being refined first.
#[test]
fn a_frequent_key_is_no_burden_for_the_others() {
    let _no_collisions = COLLISIONS.read();
    let world = World { memory_limit: 64 << 20, force_spill: false, chunk_rows: 2048, workers: 2 };
    let plain = Case::plain(JoinKind::ProbeSemi, 300_000, 8);
    let case = Case { world, keys: Keys::Frequent, grant_bytes: 8 << 20, distinct: 1 << 40, residual: true, ..plain };
    let join = case.check();
    assert_eq!(note(&join, "resident partitions"), "15 of 16");
    let passes: u64 = note(&join, "passes").parse().unwrap();
    assert!((2..8).contains(&passes), "{passes} passes");
}

/// Partitions far above the grant are refined until they fit.
#[test]
fn refines_partitions_that_are_too_large() {
    let _no_collisions = COLLISIONS.read();
    let world = World { memory_limit: 64 << 20, force_spill: false, chunk_rows: 2048, workers: 2 };
    let plain = Case::plain(JoinKind::Inner, 1_300_000, 100_000);
    let join = Case { world, keys: Keys::Sparse, grant_bytes: 3 << 20, distinct: 2_000_000, ..plain }.check();
    assert!(join.metrics.memory().spilled_bytes() > 30 << 20);
    let passes: u64 = note(&join, "passes").parse().unwrap();
    assert!(passes > 30, "{passes} passes");
    assert!(join.metrics.memory().peak_bytes() <= 64 << 20);
}

#[test]
fn an_empty_build_side_ends_the_probe() {
    let _no_collisions = COLLISIONS.read();
    for kind in KINDS {
        Case::plain(kind, 0, 5000).check();
        Case::plain(kind, 5000, 0).check();
        Case { null_aware: true, nullable: true, ..Case::plain(JoinKind::Mark, 0, 100) }.check();
        Case { null_aware: true, nullable: true, ..Case::plain(JoinKind::BuildAnti, 100, 0) }.check();
    }
}

#[test]
fn scans_get_filters_of_the_keys() {
    let _no_collisions = COLLISIONS.read();
    let expected = [
        (u64::MAX, Keys::Dense, 1000, true),
        (u64::MAX, Keys::Sparse, 1000, false),
        (0, Keys::Dense, 1000, false),
        (0, Keys::Dense, 10_000_000, true),
        (0, Keys::Sparse, 5_000_000, false),
    ];
    for (grant_bytes, keys, estimated_rows, is_exact) in expected {
        let key_types = vec![PhysicalType::I64, PhysicalType::Str];
        let case = Case { grant_bytes, keys, key_types, ..Case::plain(JoinKind::Inner, 1000, 10) };
        let mut random = Random(case.seed);
        let build = case.chunks(&mut random, case.build_rows, case.distinct);
        let query = case.world.query();
        let slots: Vec<Arc<OnceLock<Arc<KeyFilter>>>> = vec![Arc::default(), Arc::default()];
        let spec =
            HashJoinSpec { filter_slots: slots.clone(), estimated_build_rows: Some(estimated_rows), ..case.spec() };
        let join = HashJoin::new(spec, &query, "join".into()).unwrap();
        join.metrics.memory().set_grant_limit_bytes(Some(grant_bytes));
        let pipelines = vec![
            pipeline(Chunks::new(build.clone()), vec![], join.build_sink(), &[]),
            pipeline(join.table_source(), vec![], NothingSink::new("table"), &[0]),
        ];
        run(&query, pipelines).unwrap();
        for (key, slot) in slots.iter().enumerate() {
            let filter = slot.get().expect("filled");
            for chunk in &build {
                let mut rows: Vec<u32> = (0..chunk.len() as u32).collect();
                filter.retain(&chunk.dense(key), &mut rows);
                assert_eq!(rows.len(), chunk.len());
            }
        }
        let filter = slots[0].get().unwrap();
        assert_eq!(filter.is_exact(), is_exact);
        let mut rows = vec![0, 1];
        filter.retain(&Vector::from_values(vec![i64::MIN / 3, -4], None), &mut rows);
        assert!(!rows.contains(&1) || keys == Keys::Sparse && estimated_rows == 1000);
    }
}

#[test]
fn a_single_join_refuses_a_second_match() {
    let _no_collisions = COLLISIONS.read();
    let case = Case { distinct: 2, ..Case::plain(JoinKind::Single, 10, 10) };
    let (_, _, result) = case.run();
    assert_eq!(result.unwrap_err().message(), "a scalar subquery returned more than one row");
}

#[test]
fn not_in_over_two_columns_is_refused() {
    let key_types = vec![PhysicalType::I64; 2];
    let case = Case { null_aware: true, key_types, ..Case::plain(JoinKind::ProbeAnti, 1, 1) };
    let error = HashJoin::new(case.spec(), &case.world.query(), String::new()).err().unwrap();
    assert_eq!(error.kind(), godwit_common::ErrorKind::Unsupported);
    assert_eq!(case.row_type()[0].logical, DataType::Int64);
}
