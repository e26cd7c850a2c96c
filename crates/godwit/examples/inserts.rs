//! Inserts rows as fast as it can, each statement a durable transaction.
//!
//! ```sh
//! inserts x.godwit 2 1000 3        2 connections, 1,000 rows in a statement, 3 seconds
//! ```
//!
//! The table is made anew. Writes one line: transactions, and seconds.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use godwit::{Connection, Database, Error, Result};

#[global_allocator]
static ALLOCATOR: godwit_allocator::MiMalloc = godwit_allocator::MiMalloc;

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
    let usage = || Error::user("usage: inserts FILE CONNECTIONS ROWS SECONDS");
    let [file, connections, rows, seconds] = arguments else { return Err(usage()) };
    let number = |text: &String| text.parse::<u64>().map_err(|_| usage());
    let (connections, rows, seconds) = (number(connections)?, number(rows)?, number(seconds)?);
    let database = Database::open(Path::new(file))?;
    database.connect().execute("CREATE OR REPLACE TABLE t (a BIGINT, b VARCHAR, c DOUBLE)")?;
    let begin = Instant::now();
    let end = begin + Duration::from_secs(seconds);
    let transactions: Vec<Result<u64>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..connections)
            .map(|number| {
                let connection = database.connect();
                scope.spawn(move || insert_until(&connection, number << 32, rows, end))
            })
            .collect();
        running.into_iter().map(|thread| thread.join().expect("an insert doesn't panic")).collect()
    });
    let transactions: u64 = transactions.into_iter().sum::<Result<u64>>()?;
    println!("{transactions} {}", begin.elapsed().as_secs_f64());
    Ok(())
}

/// The transactions that were made.
fn insert_until(connection: &Connection, first: u64, rows: u64, end: Instant) -> Result<u64> {
    let mut transactions = 0;
    while Instant::now() < end {
        let start = first + transactions * rows;
        let values: Vec<String> =
            (start..start + rows).map(|row| format!("({row}, 'text {}', {row}.5)", row % 1000)).collect();
        connection.execute(&format!("INSERT INTO t VALUES {}", values.join(", ")))?;
        transactions += 1;
    }
    Ok(transactions)
}
