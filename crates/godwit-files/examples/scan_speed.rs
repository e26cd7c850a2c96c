//! Scan speed of the columns of a Parquet file: `cargo run --release --example scan_speed -- FILE [THREADS]`.
//!
//! Prints nanoseconds per row for each column alone, for all of them, and, for TPC-H's lineitem, for the scans of
//! queries 1 and 6.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use godwit_common::Result;
use godwit_expression::PlanContext;
use godwit_files::ParquetTable;
use godwit_memory::{BufferConfig, BufferManager};
use godwit_pipeline::scan_filter::Conjunct;
use godwit_pipeline::{CancelToken, JOIN_LOAD_FACTOR, QueryContext, QuerySettings, ScanRequest, SourceVerdict, Table};
use godwit_plan::{ColumnId, Comparison, Expr, ExprKind, Match, Plan};
use godwit_types::{SqlType, Value};
use godwit_vector::sql::sql_type;

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
        let columns = Columns::of(&table)?;
        let shipped = |comparison, days| columns.compare("l_shipdate", comparison, Value::Date(days));
        let filters = [shipped(Comparison::LessOrEqual, 10471)];
        report("query 1", &table, &[4, 5, 6, 7, 8, 9], &columns.conjuncts(&filters)?, &memory, threads)?;
        let decimal = |name, comparison, value| columns.compare(name, comparison, Value::Integer(value));
        let filters = [
            shipped(Comparison::GreaterOrEqual, 8766),
            shipped(Comparison::Less, 9131),
            decimal("l_discount", Comparison::GreaterOrEqual, 5),
            decimal("l_discount", Comparison::LessOrEqual, 7),
            decimal("l_quantity", Comparison::Less, 2400),
        ];
        report("query 6", &table, &[5, 6], &columns.conjuncts(&filters)?, &memory, threads)?;
        let filters = [columns.compare("l_shipmode", Comparison::Equal, Value::text("x"))];
        report("l_shipmode = 'x'", &table, &[0], &columns.conjuncts(&filters)?, &memory, threads)?;
        let kind = ExprKind::Match {
            kind: Match::Like,
            input: Box::new(columns.column("l_comment")),
            pattern: Box::new(Expr::literal(Value::text("%special%requests%"), SqlType::Varchar)),
            escape: None,
        };
        let filters = [Expr::new(kind, SqlType::Boolean, true)];
        report("l_comment LIKE", &table, &[0], &columns.conjuncts(&filters)?, &memory, threads)?;
    }
    Ok(())
}

/// The columns of a table in a plan.
struct Columns<'t> {
    table: &'t ParquetTable,
    plan: Plan,
    ids: Vec<(ColumnId, usize)>,
}

impl<'t> Columns<'t> {
    fn of(table: &'t ParquetTable) -> Result<Self> {
        let mut plan = Plan::new();
        let fields = table.schema().fields().iter().enumerate();
        let ids = fields.map(|(at, field)| Ok((plan.add_column(field.name(), sql_type(field.data_type())?, true), at)));
        let ids = ids.collect::<Result<_>>()?;
        Ok(Self { table, plan, ids })
    }

    fn column(&self, name: &str) -> Expr {
        let id = self.ids[self.table.schema().index_of(name).expect("a column of lineitem")].0;
        Expr::new(ExprKind::Column(id), self.plan.column(id).ty.clone(), true)
    }

    fn compare(&self, name: &str, comparison: Comparison, value: Value) -> Expr {
        let column = self.column(name);
        let value = Expr::literal(value, column.ty.clone());
        Expr::compare(comparison, column, value)
    }

    fn conjuncts(&self, filters: &[Expr]) -> Result<Vec<Conjunct>> {
        Conjunct::of_plan(filters, &self.ids, self.table.row_type(), &PlanContext::default())
    }
}

fn report(
    name: &str,
    table: &Arc<ParquetTable>,
    columns: &[usize],
    filters: &[Conjunct],
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
    filters: &[Conjunct],
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
        cache: None,
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
    let source = table.clone().scan(request, &query)?;
    source.start(&query)?;
    let work = || -> Result<usize> {
        let mut worker = source.clone().worker(&query)?;
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
