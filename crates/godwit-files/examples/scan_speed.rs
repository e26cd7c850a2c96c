//! How fast columns of a Parquet file are scanned: `cargo run --release --example scan_speed -- FILE [THREADS]`.
//!
//! Prints nanoseconds per row for each column alone, for all of them, and, for TPC-H's lineitem, for the scans of
//! queries 1 and 6.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::{Expr, col, lit};
use godwit_common::Result;
use godwit_exec::pipeline::SourceVerdict;
use godwit_exec::{CancelToken, JOIN_LOAD_FACTOR, QueryContext, QuerySettings, ScanRequest};
use godwit_files::ParquetTable;
use godwit_memory::{BufferConfig, BufferManager};

const REPETITIONS: usize = 5;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("usage: scan_speed FILE [THREADS]"));
    let threads = arguments.next().map_or(1, |threads| threads.parse().expect("THREADS is a number"));
    let memory = BufferManager::new(BufferConfig::new(2 << 30))?;
    let start = Instant::now();
    let table = ParquetTable::open(vec![path], &memory)?;
    println!("opened in {:?}: {} rows", start.elapsed(), table.statistics().rows);
    let names: Vec<String> = table.schema().fields().iter().map(|field| field.name().clone()).collect();
    for (column, name) in names.iter().enumerate() {
        let distinct = table.statistics().columns[column].distinct;
        report(&format!("{name} (distinct {distinct:?})"), &table, &[column], &[], &memory, threads)?;
    }
    report("all columns", &table, &(0..names.len()).collect::<Vec<_>>(), &[], &memory, threads)?;
    if names.iter().any(|name| name == "l_shipdate") {
        let date = |days| Expr::Literal(ScalarValue::Date32(Some(days)), None);
        let decimal = |value| Expr::Literal(ScalarValue::Decimal128(Some(value), 15, 2), None);
        report("query 1", &table, &[4, 5, 6, 7, 8, 9], &[col("l_shipdate").lt_eq(date(10471))], &memory, threads)?;
        let filters = [
            col("l_shipdate").gt_eq(date(8766)).and(col("l_shipdate").lt(date(9131))),
            col("l_discount").between(decimal(5), decimal(7)),
            col("l_quantity").lt(decimal(2400)),
        ];
        report("query 6", &table, &[5, 6], &filters, &memory, threads)?;
        report("l_shipmode = 'x'", &table, &[0], &[col("l_shipmode").eq(lit("x"))], &memory, threads)?;
        let text = datafusion_common::ScalarValue::Utf8View(Some("%special%requests%".into()));
        assert_eq!(table.schema().field(15).data_type(), &DataType::Utf8View);
        report("l_comment LIKE", &table, &[0], &[col("l_comment").like(Expr::Literal(text, None))], &memory, threads)?;
    }
    Ok(())
}

fn report(
    name: &str,
    table: &Arc<ParquetTable>,
    columns: &[usize],
    filters: &[Expr],
    memory: &BufferManager,
    threads: usize,
) -> Result<()> {
    let mut best = Duration::MAX;
    let (mut rows, mut notes) = (0, Vec::new());
    for _ in 0..REPETITIONS {
        let start = Instant::now();
        (rows, notes) = scan(table, columns, filters, memory, threads)?;
        best = best.min(start.elapsed());
    }
    let per_row = best.as_nanos() as f64 / table.statistics().rows as f64;
    let notes: Vec<String> = notes.into_iter().map(|(name, value)| format!("{name} {value}")).collect();
    println!(
        "{name:48} {:8.1} ms {per_row:7.2} ns/row {rows:9} rows out; {}",
        best.as_secs_f64() * 1e3,
        notes.join(", ")
    );
    Ok(())
}

type Notes = Vec<(String, String)>;

fn scan(
    table: &Arc<ParquetTable>,
    columns: &[usize],
    filters: &[Expr],
    memory: &BufferManager,
    threads: usize,
) -> Result<(usize, Notes)> {
    let settings = QuerySettings {
        chunk_rows: godwit_vector::CHUNK_ROWS,
        workers: threads,
        profile: false,
        compress_from_bytes: None,
        compaction: Default::default(),
        join_filters: true,
        join_load_factor: JOIN_LOAD_FACTOR,
    };
    let query = QueryContext::new(memory.clone(), settings, CancelToken::default());
    let request = ScanRequest {
        name: "Scan".into(),
        columns: columns.to_vec(),
        filters: filters.to_vec(),
        join_filters: Vec::new(),
        limit: None,
    };
    let source = table.scan(request, &query)?;
    source.start(&query)?;
    let work = || -> Result<usize> {
        let mut worker = source.worker(&query)?;
        let mut rows = 0;
        loop {
            match worker.next()? {
                SourceVerdict::Chunk(chunk) => rows += std::hint::black_box(chunk).len(),
                SourceVerdict::Done => return Ok(rows),
                _ => {}
            }
        }
    };
    let rows = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        handles.into_iter().map(|handle| handle.join().expect("no worker panics")).sum::<Result<usize>>()
    })?;
    Ok((rows, source.metrics().notes()))
}
