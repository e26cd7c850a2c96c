//! Tests the aggregation against a naive one with a map of groups.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::DataType;
use godwit_common::{ErrorKind, MemoryTag};
use godwit_memory::BufferConfig;
use godwit_pipeline::SourceVerdict;
use godwit_rows::aggregate_state::StateKind;
use godwit_vector::kernels::hash::force_hash_collisions;
use godwit_vector::{Bitmap, Chunk, ColumnType, Dictionary, Flat, StrColumn, ValueRange};
use proptest::prelude::*;

use super::*;
use crate::testing::{
    COLLISIONS, Chunks, Collected as CollectedRows, Random, Row, Value, World, column_type, pipeline, random_vector,
    rows_of, run, values_of,
};

pub(super) const MIB: u64 = 1 << 20;
pub(super) const ROOMY: World = World { memory_limit: 256 * MIB, force_spill: false, chunk_rows: 2048, workers: 2 };

/// Arguments after the keys: an integer of a small range, a decimal without proven range, a float, a string, a boolean.
fn argument_types() -> RowType {
    let mut small = ColumnType::new(DataType::Int32, true).unwrap();
    small.range = Some(ValueRange { min: -500, max: 500 });
    vec![
        small,
        ColumnType::new(DataType::Decimal128(30, 2), false).unwrap(),
        ColumnType::new(DataType::Float64, true).unwrap(),
        ColumnType::new(DataType::Utf8, true).unwrap(),
        ColumnType::new(DataType::Boolean, true).unwrap(),
    ]
}

fn arguments(random: &mut Random, rows: usize) -> Vec<Vector> {
    let mut validity = |share: u64| Some(Bitmap::from_fn(rows, |_| !random.next().is_multiple_of(share)));
    let (some, few) = (validity(7), validity(2));
    let text = validity(4);
    let logical = validity(9);
    let names = ["", "short", "quite a long string", "quite a long strinG", "another one, as long"];
    vec![
        Vector::from_values((0..rows).map(|_| random.below(1001) as i32 - 500).collect::<Vec<i32>>(), some),
        Vector::from_values((0..rows).map(|_| random.next() as i64 as i128 * 1000).collect::<Vec<i128>>(), None),
        // Small integers: their sums are exact in any order.
        Vector::from_values((0..rows).map(|_| random.below(2000) as f64 - 1000.0).collect::<Vec<f64>>(), few),
        Vector::flat(Flat::Str(StrColumn::from_strings((0..rows).map(|_| names[random.below(5) as usize]))), text),
        Vector::from_bools((0..rows).map(|_| random.below(2) as u8).collect(), logical),
    ]
}

pub(super) const INT: usize = 0;
pub(super) const DECIMAL: usize = 1;
pub(super) const FLOAT: usize = 2;
pub(super) const TEXT: usize = 3;
pub(super) const BOOL: usize = 4;

/// An aggregate over arguments: kind, argument, filtered by the boolean argument, distinct.
#[derive(Clone)]
pub(super) struct Call(pub(super) AggregateKind, pub(super) Option<usize>, pub(super) bool, pub(super) bool);

pub(super) fn plain(kind: AggregateKind, argument: usize) -> Call {
    Call(kind, Some(argument), false, false)
}

pub(super) fn quantile(fraction: f64, interpolated: bool) -> AggregateKind {
    AggregateKind::Quantile { fractions: vec![fraction], interpolated, as_list: false }
}

fn all_calls() -> Vec<Call> {
    use AggregateKind::*;
    let distinct = |kind, argument, filtered| Call(kind, Some(argument), filtered, true);
    vec![
        Call(CountStar, None, false, false),
        Call(CountStar, None, true, false),
        plain(Count, INT),
        plain(Sum, INT),
        plain(Sum, DECIMAL),
        plain(Sum, FLOAT),
        Call(Sum, Some(INT), true, false),
        plain(Avg, INT),
        plain(Avg, DECIMAL),
        plain(Avg, FLOAT),
        plain(Min, INT),
        plain(Max, DECIMAL),
        plain(Max, FLOAT),
        Call(Min, Some(FLOAT), true, false),
        plain(Min, TEXT),
        plain(Max, TEXT),
        plain(AnyValue, INT),
        plain(AnyValue, DECIMAL),
        plain(AnyValue, TEXT),
        Call(AnyValue, Some(TEXT), true, false),
        Call(Max, Some(TEXT), true, false),
        plain(BoolAnd, BOOL),
        plain(BoolOr, BOOL),
        plain(BitXor, INT),
        plain(VarSamp, FLOAT),
        plain(AggregateKind::median(), FLOAT),
        Call(quantile(0.25, true), Some(INT), true, false),
        plain(quantile(0.9, false), TEXT),
        plain(Mode, INT),
        Call(Mode, Some(TEXT), true, false),
        distinct(Count, INT, false),
        distinct(Sum, INT, false),
        distinct(Count, TEXT, true),
        distinct(Count, TEXT, false),
        plain(StringAgg("; ".into()), TEXT),
        plain(FirstValue { ignore_nulls: false }, FLOAT),
        plain(LastValue { ignore_nulls: true }, TEXT),
    ]
}

/// Calls whose results for a coarser grouping set can be computed from those for a finer one.
fn mergeable_calls() -> Vec<Call> {
    use AggregateKind::*;
    let needs_values = |kind: &AggregateKind| matches!(kind, Quantile { .. } | Mode | StringAgg(_) | LastValue { .. });
    let first = plain(FirstValue { ignore_nulls: false }, FLOAT);
    let calls = all_calls().into_iter().filter(|call| !call.3 && !needs_values(&call.0) && call.0 != first.0);
    calls.collect()
}

impl Call {
    fn planned(&self, keys: usize) -> AggregateCall {
        use AggregateKind::*;
        let types = argument_types();
        let argument = |index: usize| Expression::column(keys + index, types[index].clone());
        let logical = match (&self.0, self.1) {
            (CountStar | Count, _) | (Sum, Some(INT)) => DataType::Int64,
            (Sum, Some(DECIMAL)) => DataType::Decimal128(38, 2),
            (Avg, Some(DECIMAL)) => DataType::Decimal128(34, 6),
            (Sum | Avg | VarSamp, _) => DataType::Float64,
            (_, Some(index)) => types[index].logical.clone(),
            (_, None) => unreachable!("only count(*) has no argument"),
        };
        let is_ordered = matches!(self.0, StringAgg(_) | FirstValue { .. } | LastValue { .. });
        let order = self.1.filter(|_| is_ordered).map(|index| AggregateOrder {
            expression: argument(index),
            descending: true,
            nulls_first: true,
        });
        AggregateCall {
            kind: self.0.clone(),
            arguments: self.1.map(argument).into_iter().collect(),
            filter: self.2.then(|| argument(BOOL)),
            distinct: self.3,
            order_by: order.into_iter().collect(),
            output: ColumnType::new(logical, true).unwrap(),
        }
    }

    /// Whether the value is a non-NULL one of the group, or NULL if all are NULL. A mode has to be one of the most
    /// frequent.
    fn could_be(&self, value: &Value, rows: &[&[Value]]) -> bool {
        let argument = self.1.expect("any_value has an argument");
        let passing = rows.iter().filter(|row| !self.2 || row[BOOL] == Value::Integer(1));
        let mut frequencies: BTreeMap<&Value, usize> = BTreeMap::new();
        for value in passing.map(|row| &row[argument]).filter(|value| **value != Value::Null) {
            *frequencies.entry(value).or_default() += 1;
        }
        let Some(most) = frequencies.values().max() else { return *value == Value::Null };
        let frequency = frequencies.get(value);
        if self.0 == AggregateKind::Mode { frequency == Some(most) } else { frequency.is_some() }
    }

    /// The result over the rows of a group, which hold the arguments.
    fn expected(&self, rows: &[&[Value]]) -> Value {
        use AggregateKind::*;
        let passing = rows.iter().filter(|row| !self.2 || row[BOOL] == Value::Integer(1));
        let Some(argument) = self.1 else { return Value::Integer(passing.count() as i128) };
        let all: Vec<Value> = passing.map(|row| row[argument].clone()).collect();
        let mut values: Vec<Value> = all.iter().filter(|value| **value != Value::Null).cloned().collect();
        values.sort();
        if self.3 {
            values.dedup();
        }
        if self.0 == Count {
            return Value::Integer(values.len() as i128);
        }
        if let FirstValue { ignore_nulls: false } = self.0 {
            // NULLs come first, then the largest.
            let has_null = all.contains(&Value::Null);
            return if has_null { Value::Null } else { values.last().cloned().unwrap_or(Value::Null) };
        }
        let (Some(first), Some(last)) = (values.first(), values.last()) else { return Value::Null };
        let integers = || values.iter().map(integer);
        let floats = || values.iter().map(number);
        match &self.0 {
            Sum if argument == FLOAT => as_float(floats().sum()),
            Sum => Value::Integer(integers().sum()),
            Avg if argument == DECIMAL => {
                let (sum, count) = (integers().sum::<i128>() * 10_000, values.len() as i128);
                Value::Integer((2 * sum.abs() + count) / (2 * count) * sum.signum())
            }
            Avg => as_float(floats().sum::<f64>() / values.len() as f64),
            Min => first.clone(),
            Max => last.clone(),
            BoolAnd => first.clone(),
            BoolOr => last.clone(),
            BitXor => Value::Integer(integers().fold(0, |a, b| a ^ b)),
            LastValue { .. } => first.clone(),
            VarSamp if values.len() < 2 => Value::Null,
            VarSamp => {
                let mean = floats().sum::<f64>() / values.len() as f64;
                as_float(floats().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64)
            }
            Quantile { fractions, interpolated: false, .. } => {
                values[(fractions[0] * values.len() as f64).ceil() as usize - 1].clone()
            }
            Quantile { fractions, .. } => {
                let fraction = fractions[0];
                let place = fraction * (values.len() - 1) as f64;
                let (lower, upper) = (&values[place.floor() as usize], &values[place.ceil() as usize]);
                if argument == FLOAT {
                    return as_float(number(lower) + (number(upper) - number(lower)) * place.fract());
                }
                let distance = (integer(upper) - integer(lower)) as f64;
                // The sum is cut towards zero, as a cast is: of values that a float represents only.
                assert!([lower, upper].iter().all(|end| integer(end).unsigned_abs() <= 1 << 53));
                Value::Integer((integer(lower) as f64 + distance * place.fract()) as i128)
            }
            StringAgg(separator) => {
                let parts: Vec<&[u8]> = values.iter().rev().map(bytes).collect();
                Value::Bytes(parts.join(separator.as_bytes()))
            }
            other => unreachable!("{other:?}"),
        }
    }
}

fn integer(value: &Value) -> i128 {
    let Value::Integer(value) = value else { panic!("{value:?}") };
    *value
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Integer(value) => *value as f64,
        Value::Float(bits) => f64::from_bits(if bits >> 63 == 1 { bits & !(1 << 63) } else { !bits }),
        other => panic!("{other:?}"),
    }
}

fn bytes(value: &Value) -> &[u8] {
    let Value::Bytes(value) = value else { panic!("{value:?}") };
    value
}

fn as_float(value: f64) -> Value {
    values_of(&Vector::from_values(vec![value], None)).remove(0)
}

fn is_close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float(_), Value::Float(_)) => {
            let (a, b) = (number(a), number(b));
            (a - b).abs() <= 1e-9 * a.abs().max(1.0) || a.is_nan() && b.is_nan()
        }
        _ => a == b,
    }
}

pub(super) struct Case {
    pub(super) key_types: RowType,
    pub(super) calls: Vec<Call>,
    pub(super) grouping_sets: Option<Vec<Vec<usize>>>,
}

/// The outcome of an aggregation.
pub(super) struct Outcome {
    query: Arc<QueryContext>,
    rows: Vec<Row>,
    output_type: RowType,
    table: String,
}

fn key_set(keys: &[usize]) -> KeySet {
    KeySet { keys: keys.to_owned(), estimated_groups: 0 }
}

/// Aggregates chunks of keys and arguments.
pub(super) fn aggregate(case: &Case, chunks: Vec<Chunk>, world: World) -> Result<Outcome> {
    let query = world.query();
    let keys = case.key_types.len();
    let column = |(index, ty): (usize, &ColumnType)| Expression::column(index, ty.clone());
    let spec = HashAggregateSpec {
        groups: case.key_types.iter().enumerate().map(column).collect(),
        grouping_sets: case.grouping_sets.as_ref().map(|sets| sets.iter().map(|keys| key_set(keys)).collect()),
        aggregates: case.calls.iter().map(|call| call.planned(keys)).collect(),
        ..HashAggregateSpec::default()
    };
    let operator = HashAggregate::new(spec, &query, "HashAggregate")?;
    let collected = CollectedRows::new(&query);
    let pipelines = vec![
        pipeline(Chunks::new(chunks), Vec::new(), operator.sink(), &[]),
        pipeline(operator.source(), Vec::new(), collected.clone(), &[0]),
    ];
    run(&query, pipelines)?;
    let table = operator.metrics.notes().into_iter().find(|(name, _)| name == "table").map(|(_, note)| note);
    let output_type = operator.output_type();
    Ok(Outcome { query, rows: collected.rows(), output_type, table: table.unwrap_or_default() })
}

/// Aggregates chunks of keys and arguments, checks the result, and returns the query and the table it used.
pub(super) fn check(case: &Case, chunks: Vec<Chunk>, world: World) -> (Arc<QueryContext>, String) {
    let keys = case.key_types.len();
    let input: Vec<Row> = chunks.iter().flat_map(rows_of).collect();
    let Outcome { query, rows: mut found, output_type, table } = aggregate(case, chunks, world).unwrap();

    let all_keys = vec![(0..keys).collect::<Vec<usize>>()];
    let sets = case.grouping_sets.as_ref().unwrap_or(&all_keys);
    let mut groups: BTreeMap<Row, Vec<&[Value]>> = BTreeMap::new();
    for set in sets {
        let key_of = |row: Option<&Row>| -> Row {
            let key =
                |key| if set.contains(&key) { row.map_or(Value::Null, |row| row[key].clone()) } else { Value::Null };
            let id = (0..keys).fold(0, |id, key| id << 1 | !set.contains(&key) as i128);
            (0..keys).map(key).chain(case.grouping_sets.as_ref().map(|_| Value::Integer(id))).collect()
        };
        if set.is_empty() {
            groups.entry(key_of(None)).or_default();
        }
        input.iter().for_each(|row| groups.entry(key_of(Some(row))).or_default().push(&row[keys..]));
    }
    found.sort();
    assert_eq!(found.len(), groups.len(), "number of groups");
    let width = keys + case.grouping_sets.is_some() as usize;
    for (row, (key, rows)) in found.iter().zip(&groups) {
        assert_eq!(row[..width], key[..], "keys");
        for (index, (value, call)) in row[width..].iter().zip(&case.calls).enumerate() {
            if matches!(call.0, AggregateKind::AnyValue | AggregateKind::Mode) {
                assert!(call.could_be(value, rows), "aggregate {index}: {value:?} is not of the group");
                continue;
            }
            let expected = call.expected(rows);
            assert!(is_close(value, &expected), "aggregate {index}, {:?}: {value:?}, not {expected:?}", call.0);
        }
    }
    assert_eq!(output_type.len(), width + case.calls.len());
    (query, table)
}

pub(super) fn chunks_of(
    random: &mut Random,
    types: &RowType,
    rows: usize,
    chunk_rows: usize,
    distinct: u64,
) -> Vec<Chunk> {
    (0..rows)
        .step_by(chunk_rows)
        .map(|begin| {
            let len = chunk_rows.min(rows - begin);
            let keys = types.iter().map(|ty| random_vector(random, ty, len, distinct));
            let keys: Vec<Vector> = keys.collect();
            Chunk::new(keys.into_iter().chain(arguments(random, len)).collect(), len)
        })
        .collect()
}

fn any_key() -> impl Strategy<Value = ColumnType> {
    use PhysicalType::*;
    let physical = prop::sample::select(vec![Bool, I8, I32, I64, I128, U16, U64, F32, F64, Str, Str]);
    (physical, any::<bool>()).prop_map(|(physical, nullable)| column_type(physical, nullable))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn groups_agree_with_a_map(
        key_types in prop::collection::vec(any_key(), 0..4),
        seed: u64,
        rows in prop::sample::select(vec![0usize, 1, 50, 3000, 9000]),
        chunk_rows in prop::sample::select(vec![1usize, 7, 100, 2048]),
        distinct in prop::sample::select(vec![1u64, 5, 300, 100_000]),
        workers in 1..4usize,
        force_spill: bool,
    ) {
        let _no_collisions = COLLISIONS.read();
        let rows = rows.min(chunk_rows * 50);
        let mut random = Random(seed);
        let chunks = chunks_of(&mut random, &key_types, rows, chunk_rows, distinct);
        let case = Case { key_types, calls: all_calls(), grouping_sets: None };
        check(&case, chunks, World { force_spill, chunk_rows, workers, ..ROOMY });
    }

    #[test]
    fn grouping_sets_are_groups_under_partial_keys(
        seed: u64,
        rows in prop::sample::select(vec![0usize, 1, 300, 3000]),
        chunk_rows in prop::sample::select(vec![3usize, 100, 2048]),
        distinct in prop::sample::select(vec![6u64, 100_000]),
        mask in 1..256u32,
        all_calls_at_once: bool,
        force_spill: bool,
    ) {
        let _no_collisions = COLLISIONS.read();
        let key_types: RowType =
            [PhysicalType::I32, PhysicalType::Str, PhysicalType::Bool].map(|ty| column_type(ty, true)).to_vec();
        let set = |set: u32| (0..3).filter(|key| set >> key & 1 == 1).collect::<Vec<usize>>();
        let sets = (0..8).filter(|index| mask >> index & 1 == 1).map(set).collect();
        let chunks = chunks_of(&mut Random(seed), &key_types, rows, chunk_rows, distinct);
        // With some calls, every set is filled from the input.
        let calls = if all_calls_at_once { all_calls() } else { mergeable_calls() };
        let case = Case { key_types, calls, grouping_sets: Some(sets) };
        check(&case, chunks, World { force_spill, chunk_rows, ..ROOMY });
    }
}

/// Keys with small domains: a dictionary of strings, an integer of known range, a boolean.
fn direct_case(random: &mut Random, chunks: usize, new_strings_per_chunk: usize) -> (Case, Vec<Chunk>) {
    let mut year = column_type(PhysicalType::I32, true);
    year.range = Some(ValueRange { min: 1992, max: 1998 });
    let key_types = vec![column_type(PhysicalType::Str, true), year, column_type(PhysicalType::Bool, false)];
    let chunks = (0..chunks)
        .map(|chunk| {
            let strings: Vec<String> = (0..4 + new_strings_per_chunk)
                .map(|i| if i < 4 { format!("flag {i}") } else { format!("number {i} of chunk {chunk}") })
                .collect();
            let dictionary = Arc::new(Dictionary::new(Flat::Str(StrColumn::from_strings(&strings)), false));
            let codes: Vec<u32> = (0..2048).map(|_| random.below(strings.len() as u64) as u32).collect();
            let validity = || Some(Bitmap::from_fn(2048, |i| i % 11 != 3));
            let years: Vec<i32> =
                (0..2048).map(|i| if i % 11 == 3 { 7 } else { 1992 + random.below(7) as i32 }).collect();
            let flags = (0..2048).map(|_| random.below(2) as u8).collect();
            let keys = vec![
                Vector::dictionary(codes.into(), dictionary, validity()),
                Vector::from_values(years, validity()),
                Vector::from_bools(flags, None),
            ];
            Chunk::new(keys.into_iter().chain(arguments(random, 2048)).collect(), 2048)
        })
        .collect();
    (Case { key_types, calls: all_calls(), grouping_sets: None }, chunks)
}

#[test]
fn small_domains_use_a_direct_array() {
    let _no_collisions = COLLISIONS.read();
    let (case, chunks) = direct_case(&mut Random(1), 20, 0);
    let (_, table) = check(&case, chunks, ROOMY);
    assert!(table.starts_with("direct array, "), "{table}");
    let case = Case { key_types: Vec::new(), calls: all_calls(), grouping_sets: None };
    let chunks = chunks_of(&mut Random(2), &case.key_types, 10_000, 1000, 1);
    assert_eq!(check(&case, chunks, ROOMY).1, "one group");
}

#[test]
fn a_direct_array_gives_up_when_strings_keep_coming() {
    let _no_collisions = COLLISIONS.read();
    let (case, chunks) = direct_case(&mut Random(3), 40, 20);
    // One worker sees all strings; of several, the last one to report may have seen few.
    let (_, table) = check(&case, chunks, World { workers: 1, ..ROOMY });
    assert!(table.starts_with("hash table, "), "{table}");
}

#[test]
fn many_groups_spill_and_come_back() {
    let _no_collisions = COLLISIONS.read();
    let mut random = Random(4);
    let key_types = vec![column_type(PhysicalType::I64, true), column_type(PhysicalType::Str, false)];
    let calls: Vec<Call> = all_calls().into_iter().filter(|call| !call.3).collect();
    let chunks = chunks_of(&mut random, &key_types, 200_000, 2048, 150_000);
    let world = World { memory_limit: 24 * MIB, workers: 2, ..ROOMY };
    let (query, _) = check(&Case { key_types: key_types.clone(), calls, grouping_sets: None }, chunks.clone(), world);
    query.memory.wait_for_io();
    let statistics = query.memory.statistics();
    assert!(statistics.spilled_bytes_total > 10 * MIB, "{} bytes spilled", statistics.spilled_bytes_total);
    assert_eq!((statistics.used_bytes, statistics.temp_file_bytes), (0, 0), "all is freed");

    let calls = vec![Call(AggregateKind::Count, Some(INT), false, true), plain(AggregateKind::Sum, DECIMAL)];
    let (query, _) = check(&Case { key_types, calls, grouping_sets: None }, chunks, world);
    assert!(query.memory.statistics().spilled_bytes_total > 0);
}

#[test]
fn longer_and_longer_strings_replace_each_other() {
    let _no_collisions = COLLISIONS.read();
    let calls =
        vec![plain(AggregateKind::Max, TEXT), plain(AggregateKind::Min, TEXT), plain(AggregateKind::AnyValue, TEXT)];
    for (key_types, distinct) in [(Vec::new(), 1), (vec![column_type(PhysicalType::I64, false)], 500)] {
        let mut chunks = chunks_of(&mut Random(7), &key_types, 30_000, 1000, distinct);
        for (number, chunk) in chunks.iter_mut().enumerate() {
            let mut columns = chunk.dense_columns();
            let text = |row: usize| format!("{number:03} {row:06} and as much as {}", "x".repeat(number));
            let strings = StrColumn::from_strings((0..chunk.len()).map(text));
            // Some groups begin with NULL.
            let validity = Bitmap::from_fn(chunk.len(), |row| (number + row) % 3 > 0);
            columns[key_types.len() + TEXT] = Vector::flat(Flat::Str(strings), Some(validity));
            *chunk = Chunk::new(columns, chunk.len());
        }
        for (memory_limit, force_spill) in [(256 * MIB, false), (256 * MIB, true), (12 * MIB, false)] {
            let case = Case { key_types: key_types.clone(), calls: calls.clone(), grouping_sets: None };
            check(&case, chunks.clone(), World { memory_limit, force_spill, ..ROOMY });
        }
    }
}

#[test]
fn wide_groups_that_repeat_far_apart_get_a_large_table() {
    let _no_collisions = COLLISIONS.read();
    let key_types = vec![column_type(PhysicalType::I64, false)];
    let calls = vec![
        plain(AggregateKind::Sum, INT),
        plain(AggregateKind::AnyValue, TEXT),
        plain(AggregateKind::Max, TEXT),
        Call(AggregateKind::Min, Some(TEXT), true, false),
    ];
    let mut random = Random(8);
    let chunks = (0..600).map(|_| {
        let keys: Vec<i64> = (0..2048).map(|_| random.below(400_000) as i64).collect();
        let columns = std::iter::once(Vector::from_values(keys, None)).chain(arguments(&mut random, 2048));
        Chunk::new(columns.collect(), 2048)
    });
    let chunks = chunks.collect();
    let world = World { memory_limit: 80 * MIB, workers: 1, ..ROOMY };
    let (query, table) = check(&Case { key_types, calls, grouping_sets: None }, chunks, world);
    assert!(table.contains(", large, "), "{table}");
    assert!(query.memory.statistics().spilled_bytes_total > 0);
}

#[test]
fn a_partition_that_does_not_fit_is_split() {
    let _no_collisions = COLLISIONS.read();
    let mut random = Random(5);
    let key_types = vec![column_type(PhysicalType::I64, false)];
    let calls = vec![plain(AggregateKind::Sum, INT), plain(AggregateKind::Max, DECIMAL)];
    // 8 partitions of 400,000 groups take 3 MiB each; a worker may take 1.5.
    let mut chunks = chunks_of(&mut random, &key_types, 800_000, 2048, u64::MAX);
    // In addition, one key is half of all rows.
    for chunk in chunks.iter_mut().step_by(2) {
        let mut columns = chunk.dense_columns();
        columns[0] = Vector::constant(Flat::I64(vec![42].into()), chunk.len());
        *chunk = Chunk::new(columns, chunk.len());
    }
    let world = World { memory_limit: 12 * MIB, workers: 4, ..ROOMY };
    let (query, _) = check(&Case { key_types, calls, grouping_sets: None }, chunks, world);
    assert!(query.memory.statistics().spilled_bytes_total > 0);
}

#[test]
fn coarser_sets_are_filled_with_groups_that_spill() {
    let _no_collisions = COLLISIONS.read();
    let key_types = [PhysicalType::I64, PhysicalType::Str, PhysicalType::I32].map(|ty| column_type(ty, true)).to_vec();
    let chunks = chunks_of(&mut Random(9), &key_types, 60_000, 2048, 20_000);
    let sets = vec![vec![0, 1, 2], vec![0, 1], vec![1], vec![2], vec![]];
    let case = Case { key_types, calls: mergeable_calls(), grouping_sets: Some(sets) };
    let world = World { memory_limit: 24 * MIB, ..ROOMY };
    let (query, _) = check(&case, chunks, world);
    query.memory.wait_for_io();
    let statistics = query.memory.statistics();
    assert!(statistics.spilled_bytes_total > MIB, "{} bytes spilled", statistics.spilled_bytes_total);
    assert_eq!((statistics.used_bytes, statistics.temp_file_bytes), (0, 0), "all is freed");
}

#[test]
fn who_waits_for_groups_is_woken_if_nobody_makes_them_any_more() {
    let _no_collisions = COLLISIONS.read();
    let query = ROOMY.query();
    let spec = HashAggregateSpec {
        groups: vec![Expression::column(0, column_type(PhysicalType::I64, false))],
        grouping_sets: Some([vec![0], vec![]].iter().map(|keys: &Vec<usize>| key_set(keys)).collect()),
        aggregates: vec![plain(AggregateKind::Sum, INT).planned(1)],
        ..HashAggregateSpec::default()
    };
    let operator = HashAggregate::new(spec, &query, "HashAggregate").unwrap();
    let (sink, source) = (operator.sink(), operator.source());
    let mut fed = sink.clone().worker(&query).unwrap();
    for chunk in chunks_of(&mut Random(10), &vec![column_type(PhysicalType::I64, false)], 1000, 1000, 100) {
        fed.sink(chunk).unwrap();
    }
    fed.combine().unwrap();
    sink.finalize(&query).unwrap();
    source.start(&query).unwrap();
    let (mut first, mut second) = (source.clone().worker(&query).unwrap(), source.worker(&query).unwrap());
    // The first worker takes the only morsel, and ends early, as under a LIMIT.
    assert!(matches!(first.next().unwrap(), SourceVerdict::Worked));
    let SourceVerdict::Blocked(signal) = second.next().unwrap() else { panic!("there is nothing to do yet") };
    assert!(matches!(first.next().unwrap(), SourceVerdict::Chunk(_)));
    drop(first);
    let is_woken = Arc::new(AtomicBool::new(false));
    let woken = is_woken.clone();
    signal.subscribe(move || woken.store(true, Ordering::Relaxed));
    assert!(is_woken.load(Ordering::Relaxed));
    assert!(matches!(second.next().unwrap(), SourceVerdict::Done));
}

#[test]
fn sets_are_filled_with_the_smallest_that_has_their_keys() {
    let spec = |calls: &[Call]| HashAggregateSpec {
        groups: (0..3).map(|key| Expression::column(key, column_type(PhysicalType::I64, false))).collect(),
        // The last pair of keys is expected to have the fewest groups.
        grouping_sets: Some(
            [(vec![0, 1, 2], 100), (vec![0, 1], 90), (vec![1, 2], 20), (vec![1], 10), (vec![], 1), (vec![], 1)]
                .map(|(keys, estimated_groups)| KeySet { keys, estimated_groups })
                .to_vec(),
        ),
        aggregates: calls.iter().map(|call| call.planned(3)).collect(),
        ..HashAggregateSpec::default()
    };
    let plan = Plan::new(&spec(&[plain(AggregateKind::Sum, INT)])).unwrap();
    let sets = plan.grouping_sets.as_ref().unwrap();
    let children = |id| sets.sets_of_groups(id).map(|set| set.id).collect::<Vec<u64>>();
    assert_eq!(sets.sets_of_input().map(|set| set.id).collect::<Vec<u64>>(), [0b000]);
    assert_eq!((children(0b000), children(0b001)), (vec![0b001, 0b100], vec![]));
    assert_eq!((children(0b100), children(0b101)), (vec![0b101], vec![0b111]));
    // The same set a second time.
    assert_eq!(children(0b111), [0b1111]);
    assert_eq!((plan.levels(), sets.global().count()), (5, 1));
    // Rows fed from the input have all keys and a single set number, so that a direct array needs no room for others.
    assert!(plan.key_types[..3].iter().all(|ty| ty.nullable));
    assert!(plan.key_types_from_input[..3].iter().all(|ty| !ty.nullable));
    assert_eq!(plan.key_types_from_input[3].range, Some(ValueRange { min: 0, max: 0 }));

    let distinct = Call(AggregateKind::Count, Some(INT), false, true);
    let plan = Plan::new(&spec(&[plain(AggregateKind::Sum, INT), distinct])).unwrap();
    assert_eq!(plan.grouping_sets.as_ref().unwrap().sets_of_input().count(), 6);
    assert_eq!(plan.levels(), 1);
}

#[test]
fn groups_are_found_when_all_hashes_collide() {
    let _collisions = COLLISIONS.write();
    force_hash_collisions(true);
    let key_types = vec![column_type(PhysicalType::I64, true), column_type(PhysicalType::Str, true)];
    for force_spill in [false, true] {
        let chunks = chunks_of(&mut Random(6), &key_types, 1000, 100, 12);
        for grouping_sets in [None, Some(vec![vec![0, 1], vec![1], vec![]])] {
            let case = Case { key_types: key_types.clone(), calls: mergeable_calls(), grouping_sets };
            check(&case, chunks.clone(), World { force_spill, ..ROOMY });
        }
        let case = Case { key_types: key_types.clone(), calls: all_calls(), grouping_sets: None };
        check(&case, chunks, World { force_spill, ..ROOMY });
    }
    force_hash_collisions(false);
}

#[test]
fn sums_that_do_not_fit_are_errors() {
    let _no_collisions = COLLISIONS.read();
    let query = ROOMY.query();
    let ty = ColumnType::new(DataType::Int64, false).unwrap();
    let call = AggregateCall {
        kind: AggregateKind::Sum,
        arguments: vec![Expression::column(0, ty.clone())],
        filter: None,
        distinct: false,
        order_by: Vec::new(),
        output: ty,
    };
    let spec = HashAggregateSpec { aggregates: vec![call], ..HashAggregateSpec::default() };
    let operator = HashAggregate::new(spec, &query, "HashAggregate").unwrap();
    let chunk = Chunk::new(vec![Vector::from_values(vec![i64::MAX, 1], None)], 2);
    let pipelines = vec![
        pipeline(Chunks::new(vec![chunk]), Vec::new(), operator.sink(), &[]),
        pipeline(operator.source(), Vec::new(), CollectedRows::new(&query), &[0]),
    ];
    let error = run(&query, pipelines).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User);
    assert!(error.message().contains("sum"), "{error}");
}

#[test]
fn equal_states_exist_once() {
    let keys = [column_type(PhysicalType::I64, false)];
    let calls = [
        plain(AggregateKind::Sum, DECIMAL),
        plain(AggregateKind::Avg, DECIMAL),
        plain(AggregateKind::Count, DECIMAL),
        Call(AggregateKind::CountStar, None, false, false),
        plain(AggregateKind::Max, DECIMAL),
    ];
    let spec = HashAggregateSpec {
        groups: vec![Expression::column(0, keys[0].clone())],
        aggregates: calls.iter().map(|call| call.planned(1)).collect(),
        ..HashAggregateSpec::default()
    };
    let plan = Plan::new(&spec).unwrap();
    // The decimal is never NULL: a sum, a count of rows, a maximum.
    assert_eq!(plan.states.len(), 3);
    assert_eq!(plan.inputs.expressions().len(), 2);
}

#[test]
fn a_table_gives_its_pages_when_there_are_no_others() {
    let memory = BufferManager::new(BufferConfig::new(16 * MIB)).unwrap();
    let states = StateLayout::new(&[StateKind::Min(PhysicalType::I64)]);
    let grouping = Grouping::new(&memory, 1, &[PhysicalType::I64], &[], &states, 2).unwrap();
    let mut local = LocalGroups::new(&grouping).unwrap();
    let chunks = |range: std::ops::Range<i64>| {
        range.map(|chunk| Vector::from_values((chunk * 2048..(chunk + 1) * 2048).collect::<Vec<i64>>(), None))
    };
    let mut hashes = Vec::new();
    let mut assign = |keys: Vector, local: &mut LocalGroups| {
        hash_vectors(std::slice::from_ref(&keys), 2048, &mut hashes);
        local.assign(std::slice::from_ref(&keys), &[], &hashes).unwrap();
        local.update(0, None, std::slice::from_ref(&keys)).unwrap();
    };
    chunks(0..16).for_each(|keys| assign(keys, &mut local));
    // From now on, there is only the memory that the groups so far have pinned, and a little for the pages being
    // filled.
    let _others = memory.reserve(memory.available_bytes() as usize - (256 << 10), MemoryTag::Other).unwrap();
    chunks(16..64).for_each(|keys| assign(keys, &mut local));
    assert!(memory.statistics().spilled_bytes_total > 0);
    let (rows, has_duplicates) = local.finish();
    assert!(rows.rows() >= 64 * 2048 && has_duplicates);
    // Every group has its value, and rows that were made unnecessarily have none.
    let mut found = BTreeMap::new();
    for rows in rows.into_partitions() {
        let mut scan = rows.into_scan();
        while let Some(block) = scan.next_block().unwrap() {
            let keys = block.rows().gather(0).to_flat();
            let least = states.extremes(0, block.rows());
            for (&key, &least) in keys.values::<i64>().iter().zip(least.values::<i64>()) {
                found.entry(key).and_modify(|known: &mut i64| *known = least.min(*known)).or_insert(least);
            }
        }
    }
    assert!(found.len() == 64 * 2048 && found.iter().all(|(key, least)| key == least));
}
