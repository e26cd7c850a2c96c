//! Measures planning times, and prepared point queries per second.
//!
//! ```sh
//! planning queries data/tpch-sf1 q.sql 50     each query of a script over a database or a folder of Parquet files, 50 times
//! planning join 50                            a join of 17 small tables
//! planning points x.godwit 10000000 3         point queries on new tables with this many rows, 3 seconds each
//! ```
//!
//! Planning is the work of EXPLAIN: from text to pipelines, and to the text that shows them. Writes one line per
//! measurement: a name, a number, its unit. Times are medians after a warm-up, which reads statistics and samples.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use godwit::{Database, Error, QueryResult, Result};

#[global_allocator]
static ALLOCATOR: godwit_allocator::Allocator = godwit_allocator::Allocator;

/// Tables of the join: as many as in the largest query of the Join Order Benchmark.
const JOINED_TABLES: usize = 17;

/// Number of times that one point query is planned.
const POINT_RUNS: usize = 2_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[&str]) -> Result<()> {
    let usage = || Error::user("usage: planning queries DATABASE SCRIPT RUNS | join RUNS | points FILE ROWS SECONDS");
    let number = |text: &str| text.parse::<u64>().map_err(|_| usage());
    match arguments {
        ["queries", database, script, runs] => queries(Path::new(database), Path::new(script), number(runs)? as usize),
        ["join", runs] => join(number(runs)? as usize),
        ["points", file, rows, seconds] => {
            points(Path::new(file), number(rows)?.max(1), Duration::from_secs(number(seconds)?))
        }
        _ => Err(usage()),
    }
}

/// Plans each query of a script.
fn queries(database: &Path, script: &Path, runs: usize) -> Result<()> {
    let connection = Database::open(database)?.connect();
    let text = std::fs::read_to_string(script).map_err(|error| Error::io("reading the script", &error))?;
    for (number, statement) in (1..).zip(connection.parse(&text)?) {
        let explain = format!("EXPLAIN {}", statement.text());
        report(&format!("query {number}"), median(runs, || connection.execute(&explain))?);
    }
    Ok(())
}

/// Plans a join of a table of titles with sixteen tables that refer to it or to each other, half of them filtered.
fn join(runs: usize) -> Result<()> {
    let connection = Database::open(":memory:")?.connect();
    for table in 0..JOINED_TABLES {
        connection.execute(&format!(
            "CREATE TABLE t{table} AS SELECT i AS id, (i * 7) % 1000 AS title, (i * 31) % 500 AS other, \
             'text ' || (i % 40) AS kind FROM range({}) r(i)",
            1000 + 500 * table,
        ))?;
    }
    let tables: Vec<String> = (0..JOINED_TABLES).map(|table| format!("t{table}")).collect();
    let conditions = (1..JOINED_TABLES).map(|table| match table % 3 {
        0 => format!("t{table}.other = t{}.id AND t{table}.kind LIKE '%{}'", table - 1, table % 10),
        1 => format!("t{table}.title = t0.id AND t{table}.kind = 'text {table}'"),
        _ => format!("t{table}.title = t0.id AND t{table}.id = t{}.other", table - 1),
    });
    let conditions = conditions.collect::<Vec<_>>().join(" AND ");
    let explain = format!("EXPLAIN SELECT min(t0.kind), count(*) FROM {} WHERE {conditions}", tables.join(", "));
    report("join of 17", median(runs, || connection.execute(&explain))?);
    Ok(())
}

/// Creates tables with a primary key, plans point queries on them, and runs them for keys in no order. The rows are in
/// the order of their keys in one of the tables, in none in the other.
fn points(file: &Path, rows: u64, time: Duration) -> Result<()> {
    let database = Database::open(file)?;
    let connection = database.connect();
    connection.execute(&format!(
        "CREATE OR REPLACE TABLE t (id BIGINT PRIMARY KEY, a INTEGER, b VARCHAR, c DOUBLE);
         INSERT INTO t SELECT i, i % 1000, 'text ' || (i % 1000), i + 0.5 FROM range({rows}) r(i);
         CREATE OR REPLACE TABLE scattered (id BIGINT PRIMARY KEY, a INTEGER, b VARCHAR, c DOUBLE);
         INSERT INTO scattered SELECT * FROM t ORDER BY hash(id);
         CHECKPOINT"
    ))?;
    report("point query", median(POINT_RUNS, || connection.execute("EXPLAIN SELECT * FROM t WHERE id = 1"))?);
    let explain = connection.prepare("EXPLAIN SELECT * FROM t WHERE id = ?")?;
    let prepared = median(POINT_RUNS, || explain.run(&[1_i64.into()])?.try_for_each(|batch| batch.map(drop)))?;
    report("prepared point query", prepared);
    let point = connection.prepare("SELECT * FROM t WHERE id = ?")?;
    let found = rate(rows, time, |key| point.run(&[key.into()]))?;
    println!("prepared point queries run: {found:.0} per second");
    for (name, table) in [("point queries run", "t"), ("point queries run, rows in no order", "scattered")] {
        let found = rate(rows, time, |key| connection.query(&format!("SELECT * FROM {table} WHERE id = {key}")))?;
        println!("{name}: {found:.0} per second");
    }
    Ok(())
}

/// Returns how often a key can be looked up in a second.
fn rate(rows: u64, time: Duration, query: impl Fn(i64) -> Result<QueryResult>) -> Result<f64> {
    let mut keys = Keys(1);
    let mut look_up = |count: u64| -> Result<()> {
        for _ in 0..count {
            let key = (keys.draw() % rows) as i64;
            let mut found = 0;
            for batch in query(key)? {
                found += batch?.num_rows();
            }
            assert_eq!(found, 1, "each key is there once");
        }
        Ok(())
    };
    look_up(1000)?;
    let (begin, mut count) = (Instant::now(), 0);
    while begin.elapsed() < time {
        look_up(100)?;
        count += 100;
    }
    Ok(count as f64 / begin.elapsed().as_secs_f64())
}

/// Random numbers, the same in each run.
struct Keys(u64);

impl Keys {
    /// Xorshift.
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Returns the median time of some runs, after a tenth of them as a warm-up.
fn median(runs: usize, mut run: impl FnMut() -> Result<()>) -> Result<Duration> {
    for _ in 0..runs / 10 + 1 {
        run()?;
    }
    let timed = |_| {
        let begin = Instant::now();
        run()?;
        Ok(begin.elapsed())
    };
    let mut times = (0..runs.max(1)).map(timed).collect::<Result<Vec<Duration>>>()?;
    times.sort_unstable();
    Ok(times[times.len() / 2])
}

fn report(name: &str, time: Duration) {
    println!("{name}: {:.1} µs", time.as_secs_f64() * 1e6);
}
