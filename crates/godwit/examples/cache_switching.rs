//! What it costs to move workers between partitions of the last-level cache: queries with partitioning on and off in
//! turns, over an imitated resctrl, so nothing is gained.
//!
//! ```sh
//! cache_switching FOLDER TURNS THREADS < queries
//! ```
//!
//! The folder is a database of Parquet files; a line of standard input is a query. A turn runs all queries with one mode,
//! then with the other; which is first alternates. A turn gives a line of output: seconds on and off, and moves of threads.
//! The last line has the medians of the ratio and of the moves.

use std::io::{self, stdin};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use godwit::{Config, Connection, Database, DebugOptions, Error, Imitation, Result};

#[global_allocator]
static ALLOCATOR: godwit_allocator::MiMalloc = godwit_allocator::MiMalloc;

/// The thesis's cache.
const WAYS: u32 = 20;
const CLASSES: u32 = 16;

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
    let imitated = std::env::temp_dir().join(format!("godwit-resctrl-{}", std::process::id()));
    std::fs::create_dir_all(&imitated).map_err(failed)?;
    let machine = Imitation::new(&imitated, WAYS, CLASSES);
    let measured = measure(Path::new(folder), number(turns)?, number(threads)?, &machine, &queries);
    std::fs::remove_dir_all(&imitated).map_err(failed)?;
    measured.map(|()| ExitCode::SUCCESS)
}

fn measure(folder: &Path, turns: usize, threads: usize, machine: &Imitation, queries: &[String]) -> Result<()> {
    let debug = DebugOptions { resctrl: Some(machine.clone()), ..DebugOptions::default() };
    let config = Config { whole_process: true, debug, ..Config::default() }.with_threads(threads)?;
    let database = Database::open_with(folder, config)?;
    let connection = database.connect();
    let (mut ratios, mut moves) = (Vec::new(), Vec::new());
    for turn in 0..=turns {
        let mut seconds = [0.0; 2];
        for on in if turn % 2 == 0 { [true, false] } else { [false, true] } {
            connection.execute(&format!("SET cache_partitioning = '{}'", if on { "on" } else { "off" }))?;
            // Not measured: threads enter groups for the first time, or leave them for good.
            execute(&connection, &queries[0])?;
            machine.take_moves();
            let time: Duration = queries.iter().map(|query| execute(&connection, query)).sum::<Result<_>>()?;
            seconds[usize::from(on)] = time.as_secs_f64();
            if on {
                moves.push(machine.moves());
            }
        }
        let [off, on] = seconds;
        println!("{on:.4}\t{off:.4}\t{}", moves[turn]);
        ratios.push(on / off);
    }
    // The first turn warms up.
    let (mut ratios, mut moves) = (ratios.split_off(1), moves.split_off(1));
    ratios.sort_by(f64::total_cmp);
    moves.sort_unstable();
    let quartile = |part: usize| ratios[(ratios.len() - 1) * part / 4];
    println!(
        "ratio {:.4} (quartiles {:.4} and {:.4}), {} moves",
        quartile(2),
        quartile(1),
        quartile(3),
        moves[moves.len() / 2]
    );
    Ok(())
}

/// Runs a query and drops its rows.
fn execute(connection: &Connection, query: &str) -> Result<Duration> {
    let started = Instant::now();
    for batch in connection.query(query)? {
        batch?;
    }
    Ok(started.elapsed())
}
