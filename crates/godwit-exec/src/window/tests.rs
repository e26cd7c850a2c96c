//! Tests window functions against loops over all rows of a partition.

use std::cmp::Ordering;
use std::collections::HashSet;

use godwit_pipeline::{Operator, Pipeline};
use godwit_vector::{CHUNK_ROWS, Chunk, ColumnType, PhysicalType, Vector};
use proptest::prelude::*;

use super::*;
use crate::hash_aggregate::{AggregateCall, AggregateKind};
use crate::operators::{NothingSink, ProjectTransform};
use crate::sort::Sort;
use crate::testing::{
    COLLISIONS, Chunks, Collected, Random, Row, Value, World, column_type, pipeline, random_vector, rows_of, run,
};

const MIB: u64 = 1 << 20;

/// Columns of the input: a number that no other row has, then three with NULLs.
const ID: usize = 0;
const GROUP: usize = 1;
const KEY: usize = 2;
const VALUE: usize = 3;
/// The distance of the row's frame bounds.
const DISTANCE: usize = 4;

fn types() -> RowType {
    vec![
        column_type(PhysicalType::I64, false),
        column_type(PhysicalType::U8, true),
        column_type(PhysicalType::I16, true),
        column_type(PhysicalType::I32, true),
        column_type(PhysicalType::I32, false),
    ]
}

fn column(index: usize) -> Expression {
    Expression::column(index, types()[index].clone())
}

#[derive(Debug, Clone)]
struct Case {
    is_partitioned: bool,
    /// Rows with equal keys come in any order unless their numbers are compared, too.
    is_total: bool,
    descending: bool,
    nulls_first: bool,
    frame: Frame,
    n: i64,
    ignore_nulls: bool,
}

impl Case {
    fn aggregate(&self, kind: AggregateKind, arguments: Vec<Expression>, output: ColumnType) -> WindowCall {
        let call = AggregateCall {
            kind,
            arguments,
            filter: None,
            distinct: false,
            order_by: Vec::new(),
            output: output.clone(),
        };
        WindowCall { function: WindowFunction::Aggregate(call), arguments: Vec::new(), frame: self.frame, output }
    }

    fn calls(&self) -> Vec<WindowCall> {
        let (number, float) = (column_type(PhysicalType::U64, true), column_type(PhysicalType::F64, true));
        let (integer, value) = (column_type(PhysicalType::I64, true), column_type(PhysicalType::I32, true));
        let call = |function, arguments, output: &ColumnType| WindowCall {
            function,
            arguments,
            frame: self.frame,
            output: output.clone(),
        };
        let mut calls = vec![
            call(WindowFunction::Rank, vec![], &number),
            call(WindowFunction::DenseRank, vec![], &number),
            call(WindowFunction::PercentRank, vec![], &float),
            call(WindowFunction::CumeDist, vec![], &float),
            self.aggregate(AggregateKind::CountStar, vec![], integer.clone()),
            self.aggregate(AggregateKind::Sum, vec![column(VALUE)], integer.clone()),
            self.aggregate(AggregateKind::Min, vec![column(VALUE)], value.clone()),
            self.aggregate(AggregateKind::Max, vec![column(VALUE)], value.clone()),
            call(WindowFunction::Listed(ListedKind::Max), vec![column(VALUE)], &value),
            call(WindowFunction::Listed(ListedKind::CountDistinct), vec![column(VALUE)], &integer),
            call(WindowFunction::Listed(ListedKind::Quantile(0.0)), vec![column(VALUE)], &value),
        ];
        if self.is_total {
            let ignore_nulls = self.ignore_nulls;
            calls.extend([
                call(WindowFunction::RowNumber, vec![], &number),
                call(WindowFunction::Ntile(3), vec![], &number),
                call(WindowFunction::Shift { offset: self.n, ignore_nulls }, vec![column(VALUE)], &value),
                call(WindowFunction::Nth { n: self.n, ignore_nulls }, vec![column(VALUE)], &value),
            ]);
        }
        calls
    }

    fn spec(&self) -> WindowSpec {
        let key = |index, descending, nulls_first| SortKey { expression: column(index), descending, nulls_first };
        let mut order_by = vec![key(KEY, self.descending, self.nulls_first)];
        if self.is_total {
            order_by.push(key(ID, false, false));
        }
        let partition_by = if self.is_partitioned { vec![column(GROUP)] } else { Vec::new() };
        WindowSpec {
            partition_by,
            order_by,
            calls: self.calls(),
            distances: vec![column(DISTANCE)],
            passed: vec![column(ID)],
            estimated_rows: None,
        }
    }

    fn compare(&self, a: &Row, b: &Row) -> Ordering {
        let (x, y) = (&a[KEY], &b[KEY]);
        let by_key = match (x == &Value::Null, y == &Value::Null) {
            (false, false) if self.descending => y.cmp(x),
            (false, false) => x.cmp(y),
            (true, true) => Ordering::Equal,
            (x_is_null, _) if x_is_null == self.nulls_first => Ordering::Less,
            _ => Ordering::Greater,
        };
        if self.is_total { by_key.then(a[ID].cmp(&b[ID])) } else { by_key }
    }

    /// The expected results of all rows, each after the row's number.
    fn expected(&self, mut rows: Vec<Row>) -> Vec<Row> {
        rows.sort_by(|a, b| {
            let partition = if self.is_partitioned { a[GROUP].cmp(&b[GROUP]) } else { Ordering::Equal };
            partition.then_with(|| self.compare(a, b))
        });
        let same_partition = |a: &Row, b: &Row| !self.is_partitioned || a[GROUP] == b[GROUP];
        rows.chunk_by(same_partition).flat_map(|partition| self.expected_of(partition)).collect()
    }

    fn expected_of(&self, rows: &[Row]) -> Vec<Row> {
        let mut groups: Vec<i64> = vec![0];
        for pair in rows.windows(2) {
            groups.push(groups[groups.len() - 1] + self.compare(&pair[0], &pair[1]).is_ne() as i64);
        }
        (0..rows.len()).map(|i| self.expected_row(rows, &groups, i)).collect()
    }

    fn expected_row(&self, rows: &[Row], groups: &[i64], i: usize) -> Row {
        let len = rows.len();
        let integer = |value: usize| Value::Integer(value as i128);
        let float = |value: f64| Value::Float(value.to_bits() | 1 << 63);
        let peers: Vec<usize> = (0..len).filter(|&j| groups[j] == groups[i]).collect();
        let (first_peer, behind_peers) = (peers[0], peers[peers.len() - 1] + 1);
        let frame: Vec<usize> = (0..len).filter(|&j| self.is_in_frame(rows, groups, i, j)).collect();
        let values: Vec<i128> = frame.iter().filter_map(|&j| as_integer(&rows[j][VALUE])).collect();
        let optional = |value: Option<i128>| value.map_or(Value::Null, Value::Integer);
        let mut row = vec![
            rows[i][ID].clone(),
            integer(first_peer + 1),
            integer(groups[i] as usize + 1),
            float(if first_peer == 0 { 0.0 } else { first_peer as f64 / (len - 1) as f64 }),
            float(behind_peers as f64 / len as f64),
            integer(frame.len()),
            optional((!values.is_empty()).then(|| values.iter().sum())),
            optional(values.iter().min().copied()),
            optional(values.iter().max().copied()),
            optional(values.iter().max().copied()),
            integer(values.iter().collect::<HashSet<_>>().len()),
            optional(values.iter().min().copied()),
        ];
        if self.is_total {
            let large = len % 3 * (len / 3 + 1);
            let tile = if i < large { i / (len / 3 + 1) } else { len % 3 + (i - large) / (len / 3).max(1) };
            let counts = |j: &usize| !self.ignore_nulls || rows[*j][VALUE] != Value::Null;
            let value_at = |j: Option<usize>| j.map_or(Value::Null, |j| rows[j][VALUE].clone());
            let distance = self.n.unsigned_abs() as usize - 1;
            let shifted = match self.n > 0 {
                true => (i + 1..len).filter(counts).nth(distance),
                false => (0..i).rev().filter(counts).nth(distance),
            };
            let nth = match self.n > 0 {
                true => frame.iter().copied().filter(counts).nth(distance),
                false => frame.iter().rev().copied().filter(counts).nth(distance),
            };
            row.extend([integer(i + 1), integer(tile + 1), value_at(shifted), value_at(nth)]);
        }
        row
    }

    fn is_in_frame(&self, rows: &[Row], groups: &[i64], i: usize, j: usize) -> bool {
        // Compares the distance of row j from row i, in the frame's units, with that of the bound.
        let at_value = |offset: i128| match (as_integer(&rows[j][KEY]), as_integer(&rows[i][KEY])) {
            (Some(there), Some(here)) if self.descending => (here - offset).cmp(&there),
            (Some(there), Some(here)) => there.cmp(&(here + offset)),
            _ => groups[j].cmp(&groups[i]),
        };
        let (there, here) = match self.frame.units {
            FrameUnits::Rows => (j as i64, i as i64),
            _ => (groups[j], groups[i]),
        };
        let distance = |bound: FrameBound| -> Option<Ordering> {
            Some(match bound {
                FrameBound::UnboundedPreceding | FrameBound::UnboundedFollowing => return None,
                FrameBound::CurrentRow => there.cmp(&here),
                FrameBound::Shifted(offset) => there.cmp(&(here + offset)),
                FrameBound::ShiftedValue(RangeOffset::Integer(offset)) => at_value(offset),
                FrameBound::ShiftedValue(other) => panic!("{other:?}"),
                FrameBound::Varying { is_following, .. } => {
                    let distance = as_integer(&rows[i][DISTANCE]).expect("no distance is NULL");
                    let offset = if is_following { distance } else { -distance };
                    match self.frame.units {
                        FrameUnits::Range => at_value(offset),
                        _ => there.cmp(&(here + offset as i64)),
                    }
                }
            })
        };
        let is_excluded = match self.frame.exclude {
            FrameExclusion::NoOthers => false,
            FrameExclusion::CurrentRow => i == j,
            FrameExclusion::Group => groups[i] == groups[j],
            FrameExclusion::Ties => i != j && groups[i] == groups[j],
        };
        !is_excluded
            && distance(self.frame.start).is_none_or(Ordering::is_ge)
            && distance(self.frame.end).is_none_or(Ordering::is_le)
    }
}

fn as_integer(value: &Value) -> Option<i128> {
    match value {
        Value::Integer(value) => Some(*value),
        _ => None,
    }
}

/// Rows of random groups, keys and values.
fn chunks(seed: u64, rows: usize, chunk_rows: usize, groups: u64, keys: u64) -> Vec<Chunk> {
    let mut random = Random(seed);
    let random_distance = 1 + random.below(rows as u64 + 1);
    let mut first = 0;
    let mut chunks = Vec::new();
    while first < rows {
        let len = (1 + random.below(chunk_rows as u64) as usize).min(rows - first);
        let ids = Vector::from_values((first as i64..(first + len) as i64).collect::<Vec<i64>>(), None);
        let types = types();
        let columns = vec![
            ids,
            random_vector(&mut random, &types[GROUP], len, groups),
            random_vector(&mut random, &types[KEY], len, keys),
            random_vector(&mut random, &types[VALUE], len, 1 << 40),
            Vector::from_values((0..len).map(|_| random.below(random_distance) as i32).collect::<Vec<i32>>(), None),
        ];
        chunks.push(Chunk::new(columns, len));
        first += len;
    }
    chunks
}

/// The pipelines into the operator; its source comes next.
fn input_pipelines(window: &Arc<Window>, chunks: Vec<Chunk>, query: &Arc<QueryContext>) -> Vec<Pipeline> {
    match window.input() {
        WindowInput::Any => vec![pipeline(Chunks::new(chunks), vec![], window.sink(), &[])],
        WindowInput::Sorted { columns, sort } => {
            let sort = Sort::new(sort, query, "Sort").unwrap();
            let project = ProjectTransform::new(columns, "Project");
            vec![
                pipeline(Chunks::new(chunks), vec![project], sort.sink(), &[]),
                pipeline(sort.merge_source().unwrap(), vec![], NothingSink::new("Nothing"), &[0]),
                pipeline(sort.source(), vec![], window.sink(), &[1]),
            ]
        }
    }
}

/// The output rows of a window, sorted by the first column.
fn evaluate(spec: &WindowSpec, chunks: Vec<Chunk>, query: &Arc<QueryContext>) -> (Vec<Row>, Arc<OperatorMetrics>) {
    let window = Window::new(spec, query, "Window").unwrap();
    let metrics = window.metrics.clone();
    let collected = Collected::new(query);
    let mut pipelines = input_pipelines(&window, chunks, query);
    let last = pipelines.len() - 1;
    pipelines.push(pipeline(window.source(), vec![], collected.clone(), &[last]));
    run(query, pipelines).unwrap();
    drop(window);
    query.memory.wait_for_io();
    assert_eq!(query.memory.used_bytes(), 0, "a finished window holds no memory");
    let mut rows = collected.rows();
    rows.sort();
    (rows, metrics)
}

fn any_frame(has_one_key: bool) -> impl Strategy<Value = Frame> {
    let bound = |offset: i64, units| match units {
        FrameUnits::Range => FrameBound::ShiftedValue(RangeOffset::Integer(offset as i128 * 13)),
        _ => FrameBound::Shifted(offset),
    };
    let units = if has_one_key {
        vec![FrameUnits::Groups, FrameUnits::Range]
    } else {
        vec![FrameUnits::Rows, FrameUnits::Rows, FrameUnits::Groups]
    };
    let position = || prop_oneof![-3i64..4, -900i64..900];
    let exclude = [
        FrameExclusion::NoOthers,
        FrameExclusion::NoOthers,
        FrameExclusion::CurrentRow,
        FrameExclusion::Group,
        FrameExclusion::Ties,
    ];
    let exclude = prop::sample::select(exclude.to_vec());
    let frame = (prop::sample::select(units), 0..4, 0..4, position(), position(), exclude);
    frame.prop_map(move |(units, first, last, a, b, exclude)| Frame {
        units,
        start: match first {
            0 => FrameBound::UnboundedPreceding,
            1 => FrameBound::CurrentRow,
            2 => FrameBound::Varying { distance: 0, is_following: a > 400 },
            _ => bound(a.min(b), units),
        },
        end: match last {
            0 => FrameBound::UnboundedFollowing,
            1 => FrameBound::CurrentRow,
            2 => FrameBound::Varying { distance: 0, is_following: b > -400 },
            _ => bound(a.max(b), units),
        },
        exclude,
    })
}

fn any_case() -> impl Strategy<Value = Case> {
    (any::<[bool; 5]>(), prop::sample::select(vec![-9i64, -2, -1, 1, 2, 5])).prop_flat_map(|(flags, n)| {
        let [is_partitioned, is_total, descending, nulls_first, ignore_nulls] = flags;
        any_frame(!is_total).prop_map(move |frame| Case {
            is_partitioned,
            is_total,
            descending,
            nulls_first,
            frame,
            n,
            ignore_nulls,
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]
    #[test]
    fn computes_like_loops(
        case in any_case(),
        seed: u64,
        rows in prop_oneof![0usize..40, 0usize..1500],
        groups in prop::sample::select(vec![1u64, 5, 200]),
        keys in prop::sample::select(vec![3u64, 60, 100_000]),
        chunk_rows in prop::sample::select(vec![1usize, 7, 300, CHUNK_ROWS]),
        workers in 1usize..4,
        force_spill: bool,
    ) {
        let _collisions = COLLISIONS.read();
        let rows = if chunk_rows < 10 { rows / 8 } else { rows };
        let chunks = chunks(seed, rows, chunk_rows, groups, keys);
        let mut expected = case.expected(chunks.iter().flat_map(rows_of).collect());
        expected.sort();
        let query = World { memory_limit: 96 * MIB, force_spill, chunk_rows, workers }.query();
        let (found, _) = evaluate(&case.spec(), chunks, &query);
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(found, expected);
        }
    }
}

/// Row numbers, running sums, and sums to the end, whose expected values need no loop over frames.
fn check_large(groups: u64, is_partitioned: bool, note: Option<&str>) {
    let _collisions = COLLISIONS.read();
    let query = World { memory_limit: 16 * MIB, force_spill: false, chunk_rows: CHUNK_ROWS, workers: 2 }.query();
    let chunks = chunks(7, 700_000, CHUNK_ROWS, groups, 1000);
    let case = Case {
        is_partitioned,
        is_total: true,
        descending: false,
        nulls_first: true,
        frame: Frame { start: FrameBound::CurrentRow, ..Frame::WHOLE },
        n: 1,
        ignore_nulls: false,
    };
    let integer = column_type(PhysicalType::I64, true);
    let mut spec = case.spec();
    let count_rest = case.aggregate(AggregateKind::CountStar, vec![], integer.clone());
    let count_before = WindowCall {
        frame: Frame { start: FrameBound::UnboundedPreceding, end: FrameBound::CurrentRow, ..Frame::WHOLE },
        ..count_rest.clone()
    };
    let row_number = WindowCall {
        function: WindowFunction::RowNumber,
        arguments: vec![],
        frame: Frame::WHOLE,
        output: column_type(PhysicalType::U64, true),
    };
    spec.calls = vec![row_number, count_before, count_rest];

    let mut rows: Vec<Row> = chunks.iter().flat_map(rows_of).collect();
    rows.sort_by(|a, b| {
        let partition = if is_partitioned { a[GROUP].cmp(&b[GROUP]) } else { Ordering::Equal };
        partition.then_with(|| case.compare(a, b))
    });
    let mut expected: Vec<Row> = Vec::new();
    for partition in rows.chunk_by(|a, b| !is_partitioned || a[GROUP] == b[GROUP]) {
        for (i, row) in partition.iter().enumerate() {
            let integer = |value: usize| Value::Integer(value as i128);
            expected.push(vec![row[ID].clone(), integer(i + 1), integer(i + 1), integer(partition.len() - i)]);
        }
    }
    expected.sort();
    let (found, metrics) = evaluate(&spec, chunks, &query);
    assert!(found == expected);
    let statistics = query.memory.statistics();
    assert!(statistics.spilled_bytes_total > 2 * MIB, "{statistics:?}");
    assert!(statistics.peak_bytes <= 16 * MIB, "{statistics:?}");
    if let Some(note) = note {
        assert!(metrics.notes().iter().any(|(name, _)| name == note), "{:?}", metrics.notes());
    }
}

#[test]
fn many_partitions_larger_than_memory() {
    check_large(200, true, None);
}

#[test]
fn one_of_the_partitions_larger_than_memory() {
    check_large(1, true, Some("partitions sorted externally"));
}

#[test]
fn one_partition_larger_than_memory() {
    check_large(200, false, None);
}

/// The chunks that a worker lets through, and the number of their rows.
fn first_rows(spec: &WindowSpec, rows: usize, with_ties: bool, chunks: Vec<Chunk>) -> (Vec<Row>, u64) {
    let query = World { memory_limit: 64 * MIB, force_spill: false, chunk_rows: CHUNK_ROWS, workers: 1 }.query();
    let (first, passed) = (FirstRows::new(spec, rows, with_ties, &query).unwrap(), Collected::new(&query));
    run(&query, vec![pipeline(Chunks::new(chunks), vec![first.clone()], passed.clone(), &[])]).unwrap();
    let metrics = first.metrics();
    (passed.rows(), metrics.output().rows)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    /// The rows that pass have the same first rows as all rows, with and without ties.
    #[test]
    fn first_rows_pass(
        seed: u64,
        flags: [bool; 4],
        rows in 1usize..5,
        groups in prop::sample::select(vec![1u64, 5, 200]),
        keys in prop::sample::select(vec![3u64, 60, 100_000]),
    ) {
        let [is_partitioned, descending, nulls_first, with_ties] = flags;
        let case = Case { is_partitioned, is_total: !with_ties, descending, nulls_first, frame: Frame::WHOLE, n: 1, ignore_nulls: false };
        let number = if with_ties { WindowFunction::Rank } else { WindowFunction::RowNumber };
        let call = WindowCall { function: number, arguments: vec![], frame: Frame::WHOLE, output: column_type(PhysicalType::U64, false) };
        let spec = WindowSpec { calls: vec![call], passed: (0..4).map(column).collect(), ..case.spec() };
        let chunks = chunks(seed, 900, 100, groups, keys);
        let first = |input: Vec<Chunk>| {
            let query = World { memory_limit: 64 * MIB, force_spill: false, chunk_rows: CHUNK_ROWS, workers: 1 }.query();
            let (mut found, _) = evaluate(&spec, input, &query);
            found.retain(|row| row[4] <= Value::Integer(rows as i128));
            found
        };
        let (passed, _) = first_rows(&spec, rows, with_ties, chunks.clone());
        let all: Vec<Row> = chunks.iter().flat_map(rows_of).collect();
        let kept: Vec<Chunk> = chunks.iter().map(|chunk| {
            let mut chunk = chunk.clone();
            let is_kept = |row: &Row| passed.contains(row);
            let rows: Vec<u32> = rows_of(&chunk).iter().enumerate().filter(|(_, row)| is_kept(row)).map(|(at, _)| at as u32).collect();
            chunk.select(&rows);
            chunk
        }).filter(|chunk| !chunk.is_empty()).collect();
        prop_assert!(passed.len() <= all.len());
        prop_assert_eq!(first(kept), first(chunks));
    }
}

/// Of many rows in few partitions, few are sorted; where filtering would be useless, all pass.
#[test]
fn few_rows_of_large_partitions_pass() {
    let case = Case {
        is_partitioned: true,
        is_total: false,
        descending: true,
        nulls_first: false,
        frame: Frame::WHOLE,
        n: 1,
        ignore_nulls: false,
    };
    let rows = 200_000;
    let numbers = |f: &dyn Fn(usize) -> i64| Vector::from_values((0..rows).map(f).collect::<Vec<i64>>(), None);
    let spec_of = |partition_by: Vec<Expression>| WindowSpec {
        partition_by,
        order_by: vec![SortKey {
            expression: Expression::column(1, column_type(PhysicalType::I64, false)),
            descending: true,
            nulls_first: false,
        }],
        ..case.spec()
    };
    let group = |physical| Expression::column(0, column_type(physical, false));
    let input = |groups: i64, f: &dyn Fn(usize) -> i64| {
        let columns = vec![numbers(&|row| row as i64 % groups), numbers(f)];
        let whole = Chunk::new(columns, rows);
        (0..rows)
            .step_by(CHUNK_ROWS)
            .map(|start| {
                let mut chunk = whole.clone();
                chunk.select(&(start as u32..rows.min(start + CHUNK_ROWS) as u32).collect::<Vec<_>>());
                chunk
            })
            .collect::<Vec<_>>()
    };
    let scattered = |row: usize| (row as i64).wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64) >> 20;
    let spec = spec_of(vec![group(PhysicalType::I64)]);
    let (_, passed) = first_rows(&spec, 3, false, input(10, &scattered));
    assert!((30..2_000).contains(&passed), "{passed} rows");
    // In the opposite order each row is the first so far; with a partition for each row there is nothing to drop.
    for (groups, order) in [(10, &(|row: usize| row as i64) as &dyn Fn(usize) -> i64), (rows as i64, &scattered)] {
        assert_eq!(first_rows(&spec, 3, false, input(groups, order)).1, rows as u64);
    }
    // In descending order, the fourth and later rows are dropped.
    assert_eq!(first_rows(&spec, 3, true, input(10, &|row| -(row as i64))).1, 30);
    assert_eq!(first_rows(&spec_of(Vec::new()), 3, true, input(10, &|row| -(row as i64))).1, 3);
}
