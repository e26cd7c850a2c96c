//! Measures how fast queries are while deltas become row groups in the background.
//!
//! ```sh
//! merging x.godwit 16MB 3        3 seconds with checkpoints from 16 MB of log on
//! ```
//!
//! One connection repeatedly runs a query over a table; another one inserts into it at a steady rate. Writes one line:
//! queries, seconds, rows inserted, and checkpoints made in the meantime.

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use godwit::{Connection, Database, Error, Result};

#[global_allocator]
static ALLOCATOR: godwit_allocator::Allocator = godwit_allocator::Allocator;

/// Initial rows of the table.
const ROWS: u64 = 3_000_000;
/// Rows per transaction, and transactions per second.
const BATCH_ROWS: u64 = 500;
const BATCHES_PER_SECOND: u64 = 100;
const QUERY: &str = "SELECT b, count(*), sum(c), min(d), max(a) FROM t WHERE a % 10 < 8 GROUP BY b";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> Result<()> {
    let usage = || Error::user("usage: merging FILE THRESHOLD SECONDS");
    let [file, threshold, seconds] = arguments else { return Err(usage()) };
    let seconds: u64 = seconds.parse().map_err(|_| usage())?;
    let database = Database::open(Path::new(file))?;
    let (reader, writer) = (database.connect(), database.connect());
    reader.execute(&format!(
        "CREATE OR REPLACE TABLE t AS SELECT i AS a, 'text ' || (i % 1000) AS b, CAST(i * 0.5 AS DOUBLE) AS c, i % 1000 AS d \
         FROM range({ROWS}) r(i)"
    ))?;
    reader.execute(&format!("CHECKPOINT; SET checkpoint_threshold = '{threshold}'"))?;
    reader.execute(QUERY)?;
    let before = database.checkpoints();
    let is_over = AtomicBool::new(false);
    let (queries, took, rows) = std::thread::scope(|scope| {
        let inserting = scope.spawn(|| insert(&writer, &is_over));
        let begin = Instant::now();
        let mut queries = 0;
        while begin.elapsed() < Duration::from_secs(seconds) {
            reader.execute(QUERY)?;
            queries += 1;
        }
        let took = begin.elapsed();
        is_over.store(true, Ordering::Relaxed);
        let rows = inserting.join().expect("an insert doesn't panic")?;
        Ok((queries, took, rows))
    })?;
    println!("{queries} {} {rows} {}", took.as_secs_f64(), database.checkpoints() - before);
    Ok(())
}

/// Inserts batches at their scheduled times; returns the rows inserted.
fn insert(connection: &Connection, is_over: &AtomicBool) -> Result<u64> {
    let begin = Instant::now();
    let mut batches = 0;
    while !is_over.load(Ordering::Relaxed) {
        let due = Duration::from_micros(batches * 1_000_000 / BATCHES_PER_SECOND);
        std::thread::sleep(due.saturating_sub(begin.elapsed()));
        let first = ROWS + batches * BATCH_ROWS;
        let values: Vec<String> = (first..first + BATCH_ROWS)
            .map(|row| format!("({row}, 'text {}', {row}.5, {})", row % 1100, row % 2000))
            .collect();
        connection.execute(&format!("INSERT INTO t VALUES {}", values.join(", ")))?;
        batches += 1;
    }
    Ok(batches * BATCH_ROWS)
}
