//! Helpers for operator tests: a query on a small pool, sources of given chunks for several workers, a sink that keeps
//! its input, and random columns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use arrow_schema::DataType;
use godwit_common::Result;
use godwit_expression::{Layout, PlanContext, Predicate};
use godwit_memory::{BufferConfig, BufferManager};
use godwit_pipeline::*;
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Plan};
use godwit_vector::sql::sql_type;
use godwit_vector::{Bitmap, Chunk, ColumnType, Flat, PhysicalType, RowType, StrColumn, Vector, match_flat};
use parking_lot::{Condvar, Mutex, RwLock};

use crate::WorkerPool;

/// Guards the process-wide switch that makes all hashes collide: tests that hash take it for reading, tests that set
/// the switch for writing.
pub(crate) static COLLISIONS: RwLock<()> = RwLock::new(());

/// A pool and the shape of the work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct World {
    pub memory_limit: u64,
    pub force_spill: bool,
    pub chunk_rows: usize,
    pub workers: usize,
}

impl World {
    pub(crate) fn query(&self) -> Arc<QueryContext> {
        self.query_with(false)
    }

    /// A query with profiling, as for EXPLAIN ANALYZE.
    pub(crate) fn profiled_query(&self) -> Arc<QueryContext> {
        self.query_with(true)
    }

    fn query_with(&self, profile: bool) -> Arc<QueryContext> {
        let config = BufferConfig { force_spill: self.force_spill, ..BufferConfig::new(self.memory_limit) };
        let settings = QuerySettings {
            chunk_rows: self.chunk_rows,
            workers: self.workers,
            profile,
            compress_from_bytes: None,
            compaction: Default::default(),
            join_filters: true,
            cache: None,
            join_load_factor: JOIN_LOAD_FACTOR,
        };
        QueryContext::new(BufferManager::new(config).unwrap(), settings, CancelToken::default())
    }
}

/// Runs pipelines to completion.
pub(crate) fn run(query: &Arc<QueryContext>, pipelines: Vec<Pipeline>) -> Result<()> {
    let pool = WorkerPool::new(query.settings.workers).unwrap();
    let done: Arc<(Mutex<Option<Result<()>>>, Condvar)> = Arc::default();
    let done_there = done.clone();
    pool.run(query.clone(), pipelines, move |result| {
        *done_there.0.lock() = Some(result);
        done_there.1.notify_one();
    });
    let mut result = done.0.lock();
    while result.is_none() {
        done.1.wait(&mut result);
    }
    result.take().unwrap()
}

/// A pipeline that waits for others.
pub(crate) fn pipeline(
    source: Arc<dyn Source>,
    transforms: Vec<Arc<dyn Transform>>,
    sink: Arc<dyn Sink>,
    depends_on: &[usize],
) -> Pipeline {
    Pipeline { source, transforms, sink, depends_on: depends_on.to_vec() }
}

/// Keeps the thread busy for `duration`.
pub(crate) fn work_for(duration: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < duration {
        std::hint::spin_loop();
    }
}

/// Emits chunks from all workers.
pub(crate) struct Chunks {
    chunks: Vec<Chunk>,
    next: AtomicUsize,
    metrics: Arc<OperatorMetrics>,
}

impl Chunks {
    pub(crate) fn new(chunks: Vec<Chunk>) -> Arc<Self> {
        Arc::new(Self { chunks, next: AtomicUsize::new(0), metrics: OperatorMetrics::new("Chunks") })
    }
}

impl Operator for Chunks {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Source for Chunks {
    fn parallelism(&self) -> usize {
        usize::MAX
    }

    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SourceWorker>> {
        Ok(Box::new(ChunksWorker(self)))
    }
}

struct ChunksWorker(Arc<Chunks>);

impl SourceWorker for ChunksWorker {
    fn next(&mut self) -> Result<SourceVerdict> {
        let chunk = self.0.chunks.get(self.0.next.fetch_add(1, Ordering::Relaxed));
        Ok(chunk.cloned().map_or(SourceVerdict::Done, SourceVerdict::Chunk))
    }
}

/// Passes chunks on, and calls a function for each.
pub(crate) struct ForEachChunk {
    action: Box<dyn Fn() + Send + Sync>,
    metrics: Arc<OperatorMetrics>,
}

impl ForEachChunk {
    pub(crate) fn new(action: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { action: Box::new(action), metrics: OperatorMetrics::new("ForEachChunk") })
    }
}

impl Operator for ForEachChunk {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Transform for ForEachChunk {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn TransformWorker>> {
        Ok(Box::new(ForEachChunkWorker(self)))
    }

    fn effect(&self) -> ChunkEffect {
        ChunkEffect::Streams
    }
}

struct ForEachChunkWorker(Arc<ForEachChunk>);

impl TransformWorker for ForEachChunkWorker {
    fn push(&mut self, chunk: Chunk) -> Result<TransformVerdict> {
        (self.0.action)();
        Ok(TransformVerdict::LastChunk(chunk))
    }
}

/// Keeps its input rows, as values.
pub(crate) struct Collected {
    rows: Mutex<Vec<Row>>,
    chunk_rows: usize,
    metrics: Arc<OperatorMetrics>,
}

impl Collected {
    pub(crate) fn new(query: &QueryContext) -> Arc<Self> {
        let chunk_rows = query.settings.chunk_rows;
        Arc::new(Self { rows: Mutex::default(), chunk_rows, metrics: OperatorMetrics::new("Collected") })
    }

    pub(crate) fn rows(&self) -> Vec<Row> {
        self.rows.lock().clone()
    }
}

impl Operator for Collected {
    fn metrics(&self) -> &Arc<OperatorMetrics> {
        &self.metrics
    }
}

impl Sink for Collected {
    fn worker(self: Arc<Self>, _query: &Arc<QueryContext>) -> Result<Box<dyn SinkWorker>> {
        Ok(Box::new(CollectedWorker(self)))
    }
}

struct CollectedWorker(Arc<Collected>);

impl SinkWorker for CollectedWorker {
    fn sink(&mut self, chunk: Chunk) -> Result<SinkVerdict> {
        assert!(!chunk.is_empty() && chunk.len() <= self.0.chunk_rows, "chunks have between 1 and chunk_rows rows");
        self.0.rows.lock().extend(rows_of(&chunk));
        Ok(SinkVerdict::NeedInput)
    }

    fn combine(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}

/// A value as tests compare it: all integers are one type, floats are compared by bits except −0 and NaN.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Value {
    Null,
    Integer(i128),
    /// Bits in the order of the values.
    Float(u64),
    Bytes(Vec<u8>),
}

pub(crate) type Row = Vec<Value>;

fn float(value: f64) -> Value {
    let value = if value == 0.0 { 0.0 } else { value };
    let bits = if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() };
    Value::Float(if bits >> 63 == 1 { !bits } else { bits | 1 << 63 })
}

trait IntoValue: Copy {
    fn value(self) -> Value;
}
macro_rules! integers {
    ($($t:ty),*) => { $( impl IntoValue for $t { fn value(self) -> Value { Value::Integer(self as i128) } } )* };
}
integers!(i8, i16, i32, i64, i128, u8, u16, u32, u64);
impl IntoValue for f32 {
    fn value(self) -> Value {
        float(self as f64)
    }
}
impl IntoValue for f64 {
    fn value(self) -> Value {
        float(self)
    }
}

/// The values of a vector.
pub(crate) fn values_of(vector: &Vector) -> Vec<Value> {
    let flat = vector.to_flat();
    let value = |row: usize| -> Value {
        match_flat!(&flat, v => v[row].value(), s => Value::Bytes(s.get(row).to_vec()), _a => panic!("nested"))
    };
    (0..vector.len()).map(|row| if vector.is_valid(row) { value(row) } else { Value::Null }).collect()
}

/// The rows of a chunk.
pub(crate) fn rows_of(chunk: &Chunk) -> Vec<Row> {
    let columns: Vec<Vec<Value>> = chunk.dense_columns().iter().map(values_of).collect();
    (0..chunk.len()).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect()
}

/// A reproducible stream of numbers.
pub(crate) struct Random(pub u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// A logical type stored as `physical`.
pub(crate) fn column_type(physical: PhysicalType, nullable: bool) -> ColumnType {
    let logical = match physical {
        PhysicalType::Bool => DataType::Boolean,
        PhysicalType::I8 => DataType::Int8,
        PhysicalType::I16 => DataType::Int16,
        PhysicalType::I32 => DataType::Int32,
        PhysicalType::I64 => DataType::Int64,
        PhysicalType::I128 => DataType::Decimal128(38, 0),
        PhysicalType::U8 => DataType::UInt8,
        PhysicalType::U16 => DataType::UInt16,
        PhysicalType::U32 => DataType::UInt32,
        PhysicalType::U64 => DataType::UInt64,
        PhysicalType::F32 => DataType::Float32,
        PhysicalType::F64 => DataType::Float64,
        PhysicalType::Str => DataType::Utf8,
        PhysicalType::Nested => panic!("no nested columns in these tests"),
    };
    ColumnType::new(logical, nullable).unwrap()
}

/// A random column with about `distinct` different values, extreme ones among them.
pub(crate) fn random_vector(random: &mut Random, ty: &ColumnType, rows: usize, distinct: u64) -> Vector {
    let seeds: Vec<u64> = (0..rows).map(|_| Random(random.below(distinct)).next()).collect();
    macro_rules! integers {
        ($variant:ident, $t:ty) => {
            Flat::$variant(
                seeds
                    .iter()
                    .map(|&s| match s % 16 {
                        0 => <$t>::MIN,
                        1 => <$t>::MAX,
                        2..6 => (s >> 8) as u8 as i8 as $t,
                        _ => ((s as u128) << 64 | (s as u128) * 7) as $t >> (s % 8),
                    })
                    .collect::<Vec<$t>>()
                    .into(),
            )
        };
    }
    macro_rules! floats {
        ($variant:ident, $t:ty) => {
            Flat::$variant(
                seeds
                    .iter()
                    .map(|&s| match s % 8 {
                        0 => <$t>::NAN,
                        1 => -0.0,
                        2 => 0.0,
                        3 => <$t>::INFINITY,
                        4 => <$t>::NEG_INFINITY,
                        _ => (s as i64 as $t) / 1e12,
                    })
                    .collect::<Vec<$t>>()
                    .into(),
            )
        };
    }
    let flat = match ty.physical {
        PhysicalType::Bool => Flat::Bool(seeds.iter().map(|s| (s % 2) as u8).collect::<Vec<u8>>().into()),
        PhysicalType::I8 => integers!(I8, i8),
        PhysicalType::I16 => integers!(I16, i16),
        PhysicalType::I32 => integers!(I32, i32),
        PhysicalType::I64 => integers!(I64, i64),
        PhysicalType::I128 => integers!(I128, i128),
        PhysicalType::U8 => integers!(U8, u8),
        PhysicalType::U16 => integers!(U16, u16),
        PhysicalType::U32 => integers!(U32, u32),
        PhysicalType::U64 => integers!(U64, u64),
        PhysicalType::F32 => floats!(F32, f32),
        PhysicalType::F64 => floats!(F64, f64),
        PhysicalType::Str => Flat::Str(StrColumn::from_strings(seeds.iter().map(|&s| random_string(s)))),
        PhysicalType::Nested => panic!("no nested columns in these tests"),
    };
    let validity = ty.nullable.then(|| Bitmap::from_fn(rows, |_| !random.next().is_multiple_of(5)));
    let plain = Vector::flat(flat, validity);
    match random.below(4) {
        // Also under a dictionary, whose values repeat.
        0 => {
            let codes: Vec<u32> = (0..rows as u32).rev().collect();
            let dictionary = Arc::new(godwit_vector::Dictionary::new(plain.to_flat(), false));
            Vector::dictionary(codes.into(), dictionary, plain.validity().map(|v| (**v).clone()))
        }
        _ => plain,
    }
}

/// Strings that share prefixes, contain zeros and bytes of all sizes, and are short or long.
fn random_string(seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut bytes = match random.below(4) {
        0 => Vec::new(),
        1 => b"ab".to_vec(),
        2 => b"Customer#00000000".to_vec(),
        _ => vec![b'x'; random.below(40) as usize],
    };
    bytes.extend((0..random.below(6)).map(|_| [0, 1, b'a', b'b', 0xff][random.below(5) as usize]));
    bytes
}

/// The condition that one column is less than another of the same type.
pub(crate) fn is_less(left: usize, right: usize, types: &RowType) -> Predicate {
    let mut plan = Plan::new();
    let ty = sql_type(&types[left].logical).expect("a type of SQL");
    let columns: Vec<ColumnId> = types.iter().map(|_| plan.add_column("column", ty.clone(), true)).collect();
    let column = |at: usize| Expr::new(ExprKind::Column(columns[at]), ty.clone(), true);
    let condition = Expr::compare(Comparison::Less, column(left), column(right));
    let layout = Layout { columns: &columns, types };
    Predicate::compile(&[condition], layout, &PlanContext::default()).expect("numbers compare")
}
