//! Runs queries on separate connections under one memory limit, all at once or in turn.
//!
//! ```sh
//! concurrent at-once 256MB 2 < statements
//! concurrent in-turn 256MB 2 < statements
//! ```
//!
//! The arguments after the mode are the memory limit of the process and the number of worker threads. Each line of
//! standard input is a statement: those that begin with CREATE run first, all others are queries. Each query gives a
//! line of output, in the order of the input: seconds, then `rows` and the rows as text, or `error` and its message,
//! separated by tabs. The last line has the total seconds.

use std::io::{self, stdin};
use std::process::ExitCode;
use std::time::Instant;

use godwit::{ColumnReader, Config, Connection, Database, Error, Result};

#[global_allocator]
static ALLOCATOR: godwit_allocator::Allocator = godwit_allocator::Allocator;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let [mode, limit, threads] = arguments else {
        return Err(Error::user("usage: concurrent at-once|in-turn MEMORY_LIMIT THREADS < statements"));
    };
    let threads = threads.parse().map_err(|_| Error::user(format!("'{threads}' is not a number of threads")))?;
    let config = Config { whole_process: true, ..Config::default() }.with_memory_limit(limit)?.with_threads(threads)?;
    // Like the shell under a tight limit.
    godwit_allocator::give_back_at_once();
    let database = Database::open_with(":memory:", config)?;

    let unreadable = |error: io::Error| Error::user(format!("standard input: {error}"));
    let statements: Vec<String> = stdin().lines().collect::<io::Result<_>>().map_err(unreadable)?;
    let (setup, queries): (Vec<_>, Vec<_>) = statements.iter().partition(|sql| sql.starts_with("CREATE"));
    setup.iter().try_for_each(|sql| database.connect().execute(sql))?;

    let started = Instant::now();
    let answers: Vec<String> = match mode.as_str() {
        "in-turn" => queries.iter().map(|sql| answer(&database.connect(), sql)).collect(),
        "at-once" => std::thread::scope(|scope| {
            let database = &database;
            let running: Vec<_> = queries.iter().map(|sql| scope.spawn(|| answer(&database.connect(), sql))).collect();
            running.into_iter().map(|thread| thread.join().expect("a query doesn't panic")).collect()
        }),
        other => return Err(Error::user(format!("'{other}' is neither at-once nor in-turn"))),
    };
    for line in answers {
        println!("{line}");
    }
    println!("{:.3}", started.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

/// Runs a query; returns its line of output.
fn answer(connection: &Connection, sql: &str) -> String {
    let started = Instant::now();
    let (kind, text) = match rows(connection, sql) {
        Ok(rows) => ("rows", rows.join(" | ")),
        Err(error) => ("error", error.to_string().replace(['\n', '\t'], " ")),
    };
    format!("{:.3}\t{kind}\t{text}", started.elapsed().as_secs_f64())
}

fn rows(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let result = connection.query(sql)?;
    let types = result.types()?;
    let mut rows = Vec::new();
    for batch in result {
        let batch = batch?;
        let columns = batch.columns().iter().zip(&types).map(|(array, ty)| ColumnReader::new(array, ty));
        let columns: Vec<ColumnReader<'_>> = columns.collect::<Result<_>>()?;
        for row in 0..batch.num_rows() {
            let texts = columns.iter().map(|column| Ok(column.text(row)?.unwrap_or_default()));
            rows.push(texts.collect::<Result<Vec<_>>>()?.join(", "));
        }
    }
    Ok(rows)
}
