//! Inserts rows as fast as possible, each statement in a durable transaction.
//!
//! ```sh
//! inserts x.godwit 2 1000 3              2 connections, 1,000 rows in a statement, 3 seconds
//! inserts x.godwit 1 1 3 10000000        the same into a table of so many rows with a primary key
//! ```
//!
//! The table is recreated. New keys lie between existing ones, in no order. Writes one line: transactions and seconds.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use godwit::{Connection, Database, Error, Result};

#[global_allocator]
static ALLOCATOR: godwit_allocator::Allocator = godwit_allocator::Allocator;

/// A prime that is coprime to typical numbers of rows: its multiples visit all smaller numbers.
const STEP: u64 = 7919;

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
    let usage = || Error::user("usage: inserts FILE CONNECTIONS ROWS SECONDS [TABLE_ROWS]");
    let (arguments, table_rows) = match arguments {
        [first @ .., last] if first.len() == 4 => (first, Some(last)),
        all => (all, None),
    };
    let [file, connections, rows, seconds] = arguments else { return Err(usage()) };
    let number = |text: &String| text.parse::<u64>().map_err(|_| usage());
    let (connections, rows, seconds) = (number(connections)?, number(rows)?, number(seconds)?);
    let database = Database::open(Path::new(file))?;
    let table_rows = table_rows.map(number).transpose()?.unwrap_or(0);
    let connection = database.connect();
    match table_rows {
        0 => connection.execute("CREATE OR REPLACE TABLE t (a BIGINT, b VARCHAR, c DOUBLE)")?,
        _ => connection.execute(&format!(
            "CREATE OR REPLACE TABLE t AS SELECT i * {STEP} % {table_rows} * 2 AS a, 'text ' || (i % 1000) AS b, \
             CAST(i + 0.5 AS DOUBLE) AS c FROM range({table_rows}) r(i);
             ALTER TABLE t ADD PRIMARY KEY (a); CHECKPOINT"
        ))?,
    }
    let key_of = move |number: u64| match table_rows {
        0 => number,
        rows => number * STEP % rows * 2 + 1,
    };
    let begin = Instant::now();
    let end = begin + Duration::from_secs(seconds);
    let transactions: Vec<Result<u64>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..connections)
            .map(|number| {
                let connection = database.connect();
                let first = if table_rows == 0 { number << 32 } else { number * (table_rows / connections) };
                scope.spawn(move || insert_until(&connection, first, rows, end, key_of))
            })
            .collect();
        running.into_iter().map(|thread| thread.join().expect("an insert doesn't panic")).collect()
    });
    let transactions: u64 = transactions.into_iter().sum::<Result<u64>>()?;
    println!("{transactions} {}", begin.elapsed().as_secs_f64());
    Ok(())
}

/// Inserts until a deadline; returns the number of transactions.
fn insert_until(
    connection: &Connection,
    first: u64,
    rows: u64,
    end: Instant,
    key_of: impl Fn(u64) -> u64,
) -> Result<u64> {
    let mut transactions = 0;
    while Instant::now() < end {
        let start = first + transactions * rows;
        let values: Vec<String> =
            (start..start + rows).map(|row| format!("({}, 'text {}', {row}.5)", key_of(row), row % 1000)).collect();
        connection.execute(&format!("INSERT INTO t VALUES {}", values.join(", ")))?;
        transactions += 1;
    }
    Ok(transactions)
}
