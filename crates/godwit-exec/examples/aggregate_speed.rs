//! Nanoseconds per row of hash aggregation, phase by phase, on one thread: `cargo run --release --example aggregate_speed`.

use std::sync::Arc;
use std::time::Instant;

use arrow_schema::DataType;
use godwit_exec::hash_aggregate::{AggregateCall, AggregateKind, HashAggregate, HashAggregateSpec};
use godwit_expression::Expression;
use godwit_memory::{BufferConfig, BufferManager};
use godwit_pipeline::{CancelToken, JOIN_LOAD_FACTOR, QueryContext, QuerySettings, SourceVerdict};
use godwit_vector::{CHUNK_ROWS, Chunk, ColumnType, Dictionary, Flat, StrColumn, ValueRange, Vector};

const ROWS: usize = 6_000_000;

fn mixed(i: usize) -> u64 {
    let x = (i as u64 ^ 0x5851_F42D).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ x >> 31).wrapping_mul(0x94D0_49BB_1331_11EB) >> 7
}

fn integer(logical: DataType, min: i128, max: i128) -> ColumnType {
    let mut ty = ColumnType::new(logical, false).expect("an integer type");
    ty.range = Some(ValueRange { min, max });
    ty
}

fn call(kind: AggregateKind, column: usize, types: &[ColumnType], logical: DataType) -> AggregateCall {
    AggregateCall {
        arguments: vec![Expression::column(column, types[column].clone())],
        kind,
        filter: None,
        distinct: false,
        order_by: Vec::new(),
        output: ColumnType::new(logical, true).expect("a plain type"),
    }
}

fn measure(
    name: &str,
    types: &[ColumnType],
    keys: usize,
    aggregates: Vec<AggregateCall>,
    make: impl Fn(usize) -> Vec<Vector>,
) {
    let chunks: Vec<Chunk> =
        (0..ROWS / CHUNK_ROWS).map(|chunk| Chunk::new(make(chunk * CHUNK_ROWS), CHUNK_ROWS)).collect();
    for _ in 0..2 {
        let memory = BufferManager::new(BufferConfig::new(8 << 30)).expect("a pool");
        let settings = QuerySettings {
            chunk_rows: CHUNK_ROWS,
            workers: 1,
            profile: false,
            compress_from_bytes: None,
            compaction: Default::default(),
            join_filters: true,
            cache: None,
            join_load_factor: JOIN_LOAD_FACTOR,
        };
        let query = QueryContext::new(memory, settings, CancelToken::default());
        let spec = HashAggregateSpec {
            groups: (0..keys).map(|key| Expression::column(key, types[key].clone())).collect(),
            aggregates: aggregates.clone(),
            ..HashAggregateSpec::default()
        };
        let operator = HashAggregate::new(spec, &query, name).expect("a plan");
        let (sink, source) = (operator.sink(), operator.source());
        let start = Instant::now();
        let mut worker = sink.clone().worker(&query).expect("a worker");
        for chunk in &chunks {
            worker.sink(chunk.clone()).expect("enough memory");
        }
        worker.combine().expect("enough memory");
        sink.finalize(&query).expect("enough memory");
        let phase_one = start.elapsed();
        let start = Instant::now();
        source.start(&query).expect("enough memory");
        let mut worker = source.clone().worker(&query).expect("a worker");
        let mut groups = 0;
        loop {
            match worker.next().expect("enough memory") {
                SourceVerdict::Chunk(chunk) => groups += chunk.len(),
                SourceVerdict::Done => break,
                _ => {}
            }
        }
        let phase_two = start.elapsed();
        let per_row = |time: std::time::Duration| time.as_nanos() as f64 / ROWS as f64;
        println!(
            "{name:28} {groups:>9} groups  sink {:6.2} ns/row  source {:6.2} ns/row",
            per_row(phase_one),
            per_row(phase_two)
        );
    }
}

fn main() {
    let decimal = DataType::Decimal128(15, 2);
    let values = |begin: usize, below: u64| -> Vector {
        Vector::from_values((begin..begin + CHUNK_ROWS).map(|i| (mixed(i) % below) as i64).collect::<Vec<i64>>(), None)
    };

    let text = ColumnType::new(DataType::Utf8, false).expect("text");
    let price = integer(decimal.clone(), 0, 10_494_950);
    let product = integer(DataType::Decimal128(38, 4), 0, 1_049_495_000);
    let charge = integer(DataType::Decimal128(38, 6), 0, 113_345_460_000);
    let mut charge = charge;
    charge.physical = godwit_vector::PhysicalType::I64;
    let mut product = product;
    product.physical = godwit_vector::PhysicalType::I64;
    let types = [
        text.clone(),
        text.clone(),
        integer(decimal.clone(), 100, 5000),
        price.clone(),
        product,
        charge,
        integer(decimal.clone(), 0, 10),
    ];
    let flags = Arc::new(Dictionary::new(Flat::Str(StrColumn::from_strings(["A", "N", "R"])), true));
    let status = Arc::new(Dictionary::new(Flat::Str(StrColumn::from_strings(["F", "O"])), true));
    let sum = |column| call(AggregateKind::Sum, column, &types, DataType::Decimal128(38, 2));
    let avg = |column| call(AggregateKind::Avg, column, &types, DataType::Decimal128(38, 6));
    let count = |types: &[ColumnType]| AggregateCall {
        arguments: Vec::new(),
        ..call(AggregateKind::CountStar, 0, types, DataType::Int64)
    };
    let q1 = vec![sum(2), sum(3), sum(4), sum(5), avg(2), avg(3), avg(6), count(&types)];
    measure("TPC-H Q1", &types, 2, q1, |begin| {
        let code = |i: usize| (mixed(i) % 4) as u32;
        let rows = begin..begin + CHUNK_ROWS;
        vec![
            Vector::dictionary(
                rows.clone().map(|i| [0, 1, 1, 2][code(i) as usize]).collect::<Vec<u32>>().into(),
                flags.clone(),
                None,
            ),
            Vector::dictionary(
                rows.map(|i| [0, 1, 1, 0][code(i) as usize]).collect::<Vec<u32>>().into(),
                status.clone(),
                None,
            ),
            values(begin, 4900),
            values(begin, 10_000_000),
            values(begin, 1_000_000_000),
            values(begin, 100_000_000_000),
            values(begin, 10),
        ]
    });

    let types = [integer(DataType::Int64, 0, 1 << 40), price.clone()];
    let calls = || vec![call(AggregateKind::Sum, 1, &types, DataType::Decimal128(25, 2)), count(&types)];
    let keys = |begin: usize, key: &dyn Fn(usize) -> usize| {
        Vector::from_values((begin..begin + CHUNK_ROWS).map(|i| key(i) as i64).collect::<Vec<i64>>(), None)
    };
    for groups in [100usize, 10_000, 200_000, 1_500_000, 1 << 40] {
        measure("random integers", &types, 1, calls(), |begin| {
            vec![keys(begin, &|i| mixed(i) as usize % groups), values(begin, 10_000_000)]
        });
    }
    let dense = [integer(DataType::Int64, 0, 199_999), types[1].clone()];
    let of_dense = vec![call(AggregateKind::Sum, 1, &dense, DataType::Decimal128(25, 2)), count(&dense)];
    measure("dense integers", &dense, 1, of_dense, |begin| {
        vec![keys(begin, &|i| mixed(i) as usize % 200_000), values(begin, 10_000_000)]
    });
    measure("clustered integers", &types, 1, calls(), |begin| vec![keys(begin, &|i| i / 4), values(begin, 10_000_000)]);
    let types = [text, price];
    let calls = vec![call(AggregateKind::Sum, 1, &types, DataType::Decimal128(25, 2)), count(&types)];
    measure("25 flat strings", &types, 1, calls, |begin| {
        let strings = (begin..begin + CHUNK_ROWS).map(|i| format!("NATION {}", mixed(i) % 25));
        vec![Vector::flat(Flat::Str(StrColumn::from_strings(strings)), None), values(begin, 10_000_000)]
    });
}
