//! Tests the sort against sorting a vector of values.

use std::cmp::Ordering;

use godwit_vector::{CHUNK_ROWS, Chunk, ColumnType, Flat, PhysicalType, StrColumn, ValueRange, Vector};
use proptest::prelude::*;

use super::*;
use crate::operators::NothingSink;
use crate::testing::{
    Chunks, Collected, Random, Row, Value, World, column_type, pipeline, random_vector, rows_of, run,
};

const MIB: u64 = 1 << 20;

#[derive(Debug, Clone)]
struct Key {
    column: usize,
    descending: bool,
    nulls_first: bool,
}

struct Case {
    types: RowType,
    keys: Vec<Key>,
    output: Vec<usize>,
    limit: Option<usize>,
}

fn compare(keys: &[Key], a: &Row, b: &Row) -> Ordering {
    for key in keys {
        let (a, b) = (&a[key.column], &b[key.column]);
        let order = match (a == &Value::Null, b == &Value::Null) {
            (false, false) if key.descending => b.cmp(a),
            (false, false) => a.cmp(b),
            (true, true) => Ordering::Equal,
            (a_is_null, _) if a_is_null == key.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

/// Sorts `chunks`, checks the result, and returns the query for inspection.
fn check(case: &Case, chunks: Vec<Chunk>, world: World) -> Arc<QueryContext> {
    let query = world.query();
    let spec = SortSpec {
        keys: case
            .keys
            .iter()
            .map(|key| SortKey {
                expression: Expression::column(key.column, case.types[key.column].clone()),
                descending: key.descending,
                nulls_first: key.nulls_first,
            })
            .collect(),
        input: case.types.clone(),
        output: case.output.clone(),
        limit: case.limit,
        bound: None,
    };
    let mut expected: Vec<Row> = chunks.iter().flat_map(rows_of).collect();
    expected.sort_by(|a, b| compare(&case.keys, a, b));

    let sort = Sort::new(spec, &query, "Sort").unwrap();
    let collected = Collected::new(&query);
    let pipelines = vec![
        pipeline(Chunks::new(chunks), vec![], sort.sink(), &[]),
        pipeline(sort.merge_source().unwrap(), vec![], NothingSink::new("Nothing"), &[0]),
        pipeline(sort.source(), vec![], collected.clone(), &[1]),
    ];
    run(&query, pipelines).unwrap();
    drop(sort);
    query.memory.wait_for_io();
    assert_eq!(query.memory.used_bytes(), 0, "a finished sort holds no memory");

    let rows = collected.rows();
    let wanted = case.limit.map_or(expected.len(), |limit| limit.min(expected.len()));
    assert_eq!(rows.len(), wanted);
    // Keys are in order; rows with equal keys may come in any order, so groups are compared as sets. The last group may
    // be cut by the limit: then its rows are some of the expected ones.
    let project = |row: &Row| -> Row { case.output.iter().map(|&column| row[column].clone()).collect() };
    let mut start = 0;
    while start < wanted {
        let same = |row: &&Row| compare(&case.keys, &expected[start], row).is_eq();
        let group = expected[start..].iter().take_while(same).count();
        let mut group_expected: Vec<Row> = expected[start..start + group].iter().map(project).collect();
        let mut group_found = rows[start..wanted.min(start + group)].to_vec();
        group_expected.sort();
        group_found.sort();
        if group_found.len() == group_expected.len() {
            assert_eq!(group_found, group_expected, "rows {start}..");
        } else {
            let mut candidates = group_expected.into_iter();
            assert!(group_found.iter().all(|row| candidates.any(|candidate| &candidate == row)), "rows {start}..");
        }
        start += group;
    }
    query
}

fn random_chunks(seed: u64, types: &[ColumnType], rows: usize, chunk_rows: usize, distinct: u64) -> Vec<Chunk> {
    let mut random = Random(seed);
    let mut chunks = Vec::new();
    let mut left = rows;
    while left > 0 {
        let len = (1 + random.below(chunk_rows as u64) as usize).min(left);
        left -= len;
        let mut chunk = Chunk::new(types.iter().map(|ty| random_vector(&mut random, ty, len, distinct)).collect(), len);
        if random.below(2) == 0 {
            chunk.select(&(0..len as u32).rev().collect::<Vec<_>>());
        }
        chunks.push(chunk);
    }
    chunks
}

fn any_type() -> impl Strategy<Value = ColumnType> {
    use PhysicalType::*;
    let physical =
        prop::sample::select(vec![Bool, I8, I16, I32, I64, I128, U8, U16, U32, U64, F32, F64, Str, Str, Str]);
    (physical, any::<bool>()).prop_map(|(physical, nullable)| column_type(physical, nullable))
}

fn any_case() -> impl Strategy<Value = Case> {
    let types = prop::collection::vec(any_type(), 1..6);
    types.prop_flat_map(|types| {
        let columns = types.len();
        let key = (0..columns, any::<bool>(), any::<bool>()).prop_map(|(column, descending, nulls_first)| Key {
            column,
            descending,
            nulls_first,
        });
        let limit = prop_oneof![Just(None), Just(None), (0usize..300).prop_map(Some)];
        (prop::collection::vec(key, 1..5), prop::collection::vec(0..columns, 0..5), limit)
            .prop_map(move |(keys, output, limit)| Case { types: types.clone(), keys, output, limit })
    })
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let types: Vec<_> = self.types.iter().map(|ty| (ty.physical, ty.nullable)).collect();
        write!(f, "{types:?} by {:?}, columns {:?}, limit {:?}", self.keys, self.output, self.limit)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn sorts_like_a_vector(
        case in any_case(),
        seed: u64,
        rows in 0usize..6000,
        distinct in prop::sample::select(vec![2u64, 30, 100_000]),
        chunk_rows in prop::sample::select(vec![1usize, 7, 300, CHUNK_ROWS]),
        workers in 1usize..4,
        force_spill: bool,
    ) {
        let rows = if chunk_rows < 100 { rows / 10 } else { rows };
        let world = World { memory_limit: 96 * MIB, force_spill, chunk_rows, workers };
        check(&case, random_chunks(seed, &case.types, rows, chunk_rows, distinct), world);
    }
}

/// Strings that share long prefixes; some differ only in zero bytes or where they end.
fn similar_strings(random: &mut Random, len: usize) -> Vector {
    let string = |random: &mut Random| {
        let shared = [0, 9, 15, 16, 40, 300][random.below(6) as usize];
        let mut string = vec![b'a'; shared];
        string.extend((0..random.below(20)).map(|_| [0, b'a', 255][random.below(3) as usize]));
        string
    };
    Vector::flat(Flat::Str(StrColumn::from_strings((0..len).map(|_| string(random)))), None)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(30))]
    #[test]
    fn rows_are_told_apart_behind_what_keys_have_room_for(
        descending in prop::array::uniform4(any::<bool>()),
        seed: u64,
        rows in 2usize..4000,
        workers in 1usize..3,
        force_spill: bool,
    ) {
        let mut random = Random(seed);
        let types = [PhysicalType::Str, PhysicalType::Str, PhysicalType::F64, PhysicalType::I128];
        let types = types.map(|physical| column_type(physical, false)).to_vec();
        let keys = descending.iter().enumerate();
        let keys = keys.map(|(column, &descending)| Key { column, descending, nulls_first: false }).collect();
        let case = Case { types, keys, output: vec![3, 0], limit: None };
        let chunks = (0..rows.div_ceil(700)).map(|_| {
            let mut columns = vec![similar_strings(&mut random, 700), similar_strings(&mut random, 700)];
            columns.extend(case.types[2..].iter().map(|ty| random_vector(&mut random, ty, 700, 3)));
            Chunk::new(columns, 700)
        });
        let world = World { memory_limit: 96 * MIB, force_spill, chunk_rows: CHUNK_ROWS, workers };
        check(&case, chunks.collect(), world);
    }
}

fn wide_case(limit: Option<usize>) -> Case {
    use PhysicalType::*;
    let types: RowType = [I32, Str, I64, Str, F64].map(|physical| column_type(physical, true)).to_vec();
    let key = |column, descending| Key { column, descending, nulls_first: !descending };
    Case { types, keys: vec![key(0, false), key(1, true)], output: vec![3, 0, 1, 2, 4], limit }
}

#[test]
fn writes_runs_and_merges_them_in_several_passes() {
    let case = wide_case(None);
    // Runs have at least 2 MiB, and there are 16 MiB for everything: six runs are more than one merge can open.
    let world = World { memory_limit: 16 * MIB, force_spill: false, chunk_rows: CHUNK_ROWS, workers: 2 };
    let query = check(&case, random_chunks(1, &case.types, 300_000, CHUNK_ROWS, 1 << 40), world);
    let statistics = query.memory.statistics();
    assert!(statistics.spilled_bytes_total > 16 * MIB, "{statistics:?}");
    assert!(statistics.peak_bytes <= 16 * MIB, "{statistics:?}");
}

#[test]
fn a_top_n_of_much_input_keeps_little() {
    let case = wide_case(Some(1000));
    let world = World { memory_limit: 16 * MIB, force_spill: false, chunk_rows: CHUNK_ROWS, workers: 2 };
    let query = check(&case, random_chunks(2, &case.types, 300_000, CHUNK_ROWS, 1 << 40), world);
    let statistics = query.memory.statistics();
    assert_eq!(statistics.spilled_bytes_total, 0);
    assert!(statistics.peak_bytes <= 8 * MIB, "{statistics:?}");
}

#[test]
fn a_top_n_larger_than_memory_spills() {
    let case = wide_case(Some(150_000));
    let world = World { memory_limit: 16 * MIB, force_spill: false, chunk_rows: CHUNK_ROWS, workers: 2 };
    let query = check(&case, random_chunks(3, &case.types, 300_000, CHUNK_ROWS, 1 << 40), world);
    assert!(query.memory.statistics().spilled_bytes_total > 0);
}

#[test]
fn proven_ranges_make_keys_narrow() {
    let range = |min, max| ColumnType { range: Some(ValueRange { min, max }), ..column_type(PhysicalType::I64, true) };
    let key = |ty: ColumnType| SortKey { expression: Expression::column(0, ty), descending: false, nulls_first: true };
    let keys = [key(range(-5, 1_000_000)), key(range(7, 7)), key(column_type(PhysicalType::I32, false))];
    assert_eq!(KeyLayout::exact_bits(&keys), Some(20 + 1 + 1 + 32));
    let text = key(column_type(PhysicalType::Str, false));
    assert_eq!(KeyLayout::exact_bits(&[text]), None);
}

#[test]
fn keys_that_fill_a_word_keep_their_last_bit() {
    let constant = |nullable| ColumnType {
        range: Some(ValueRange { min: 7, max: 7 }),
        ..column_type(PhysicalType::I64, nullable)
    };
    let key = |ty: ColumnType| SortKey { expression: Expression::column(0, ty), descending: false, nulls_first: true };
    let narrow =
        ColumnType { range: Some(ValueRange { min: 0, max: (1 << 63) - 1 }), ..column_type(PhysicalType::I64, false) };
    // 64 bits and none; 63 bits and a NULL bit.
    for keys in [[column_type(PhysicalType::I64, false), constant(false)], [narrow, constant(true)]] {
        let keys = keys.map(key);
        assert_eq!(KeyLayout::exact_bits(&keys), Some(64));
        let layout = KeyLayout::new::<u64>(&keys);
        assert!(!layout.has_open_keys());
        let values = [Vector::from_values(vec![42i64, 43], None), Vector::constant(Flat::I64(vec![7].into()), 2)];
        let mut words: Vec<u64> = Vec::new();
        layout.encode(&values, 2, &mut words);
        assert!(words[0] < words[1], "{words:?}");
    }
}
