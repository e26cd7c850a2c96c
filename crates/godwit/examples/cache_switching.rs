//! Measures the cost of moving workers between partitions of the last-level cache: runs queries with partitioning on
//! and off in turns, over a simulated resctrl, so that nothing is gained.
//!
//! ```sh
//! cache_switching FOLDER TURNS THREADS < queries
//! ```
//!
//! The folder is a database of Parquet files; each line of standard input is a query. A turn runs a query in one mode,
//! then in the other; which comes first alternates. Each query gives a line of output: its number, median seconds on
//! and off, and thread moves per turn. The last line has the overall ratios: their geometric mean, and the ratio of the
//! sums of medians.

use std::io::{self, stdin};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use godwit::{Config, Connection, Database, DebugOptions, Error, Imitation, Result};

#[global_allocator]
static ALLOCATOR: godwit_allocator::Allocator = godwit_allocator::Allocator;

/// The cache of the thesis.
const WAYS: u32 = 20;
const CLASSES: u32 = 16;
/// The pool keeps a page for good once it is read again.
const WARM_UP_TURNS: usize = 3;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let [folder, turns, threads] = arguments else {
        return Err(Error::user("usage: cache_switching FOLDER TURNS THREADS < queries"));
    };
    let number = |text: &String| text.parse().map_err(|_| Error::user(format!("'{text}' is no number")));
    let failed = |error: io::Error| Error::io("preparing the measurement", &error);
    let queries: Vec<String> = stdin().lines().collect::<io::Result<_>>().map_err(failed)?;
    // Like resctrl's files, the simulated ones are in memory if possible.
    let memory = Some(PathBuf::from("/dev/shm")).filter(|folder| folder.is_dir());
    let imitated = memory.unwrap_or_else(std::env::temp_dir).join(format!("godwit-resctrl-{}", std::process::id()));
    std::fs::create_dir_all(&imitated).map_err(failed)?;
    let machine = Imitation::new(&imitated, WAYS, CLASSES);
    machine.pace_moves();
    let measured = measure(Path::new(folder), number(turns)?, number(threads)?, &machine, &queries);
    std::fs::remove_dir_all(&imitated).map_err(failed)?;
    measured.map(|()| ExitCode::SUCCESS)
}

fn measure(folder: &Path, turns: usize, threads: usize, machine: &Imitation, queries: &[String]) -> Result<()> {
    // One database per mode: threads stay in theirs, and both have read their files before the measurement.
    let open = |mode: &str| -> Result<Connection> {
        let debug = DebugOptions { resctrl: Some(machine.clone()), ..DebugOptions::default() };
        let database = Database::open_with(folder, Config { debug, ..Config::default() }.with_threads(threads)?)?;
        let connection = database.connect();
        connection.execute(&format!("SET cache_partitioning = '{mode}'"))?;
        Ok(connection)
    };
    let (on, off) = (open("on")?, open("off")?);
    for _ in 0..WARM_UP_TURNS {
        for query in queries {
            execute(&on, query)?;
            execute(&off, query)?;
        }
    }
    machine.take_moves();
    let (mut log_sum, mut seconds) = (0.0, [0.0; 2]);
    for (number, query) in queries.iter().enumerate() {
        let mut times = [const { Vec::new() }; 2];
        for turn in 0..turns {
            for is_on in if turn % 2 == 0 { [true, false] } else { [false, true] } {
                times[usize::from(is_on)].push(execute(if is_on { &on } else { &off }, query)?.as_secs_f64());
            }
        }
        let [off, on] = times.map(median);
        println!("{}\t{on:.5}\t{off:.5}\t{:.1}", number + 1, machine.take_moves().len() as f64 / turns as f64);
        log_sum += (on / off).ln();
        seconds[0] += off;
        seconds[1] += on;
    }
    let geometric_mean = (log_sum / queries.len() as f64).exp();
    println!("geometric mean {geometric_mean:.4}, total {:.4}", seconds[1] / seconds[0]);
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs a query and drops its rows.
fn execute(connection: &Connection, query: &str) -> Result<Duration> {
    let started = Instant::now();
    for batch in connection.query(query)? {
        batch?;
    }
    Ok(started.elapsed())
}
