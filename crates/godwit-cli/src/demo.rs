//! `godwit demo`: generates TPC-H data as Parquet, runs the 22 queries on it, and shows the cost of each.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use godwit::{Connection, Database, Error, ErrorKind, QueryMemory, Result, format_bytes};

use crate::arguments::Demo;
use crate::interrupt::Interrupt;
use crate::output::with_separators;
use crate::progress::ProgressBar;
use crate::shell::{complain, print_line};
use crate::tpch::{QUERIES, generate};
use crate::version;

/// Runs the demo; fails if a query does.
pub fn run(arguments: &Demo) -> Result<ExitCode> {
    let interrupt = Interrupt::install()?;
    let directory = match &arguments.directory {
        Some(directory) => directory.clone(),
        None => default_directory(arguments.scale)?,
    };
    make_data(arguments.scale, &directory)?;
    let connection = Arc::new(Database::open_with(&directory, arguments.limits.config())?.connect());
    let (threads, _) = version::setting(&connection, "threads")?;
    let (limit, reason) = version::setting(&connection, "memory_limit")?;
    print_line(&format!(
        "TPC-H at scale factor {} from Parquet, {threads} threads, memory limit {limit} ({reason})\n",
        arguments.scale,
    ))?;
    print_line("query       rows   seconds   peak memory      spilled")?;
    let bar = ProgressBar::new(QUERIES.len() as u64);
    let mut seconds = Vec::new();
    for (number, sql) in (1..).zip(QUERIES) {
        bar.set_text(format!("query {number} of {}", QUERIES.len()));
        let running = interrupt.running(&connection);
        let outcome = measure(&connection, sql);
        drop(running);
        bar.advance(1);
        match outcome {
            Ok(run) => {
                bar.above(|| print_line(&run.line(number)))?;
                seconds.push(run.seconds);
            }
            Err(error) if error.kind() == ErrorKind::Cancelled => {
                drop(bar);
                complain("cancelled\n");
                return Ok(interrupt.exit_status().into());
            }
            Err(error) => bar.above(|| complain(format_args!("Q{number:<4} {error}\n"))),
        }
    }
    drop(bar);
    print_line(&summary(&seconds))?;
    print_line(&next_steps(&directory))?;
    Ok(if seconds.len() == QUERIES.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The result and cost of a query.
struct Run {
    rows: usize,
    seconds: f64,
    memory: QueryMemory,
}

impl Run {
    fn line(&self, number: usize) -> String {
        let spilled = if self.memory.spilled_bytes == 0 { "-".into() } else { format_bytes(self.memory.spilled_bytes) };
        let peak = format_bytes(self.memory.peak_bytes);
        let query = format!("Q{number}");
        format!("{query:<5} {:>10} {:>9.3} {peak:>13} {spilled:>12}", with_separators(self.rows), self.seconds)
    }
}

fn measure(connection: &Connection, sql: &str) -> Result<Run> {
    let started = Instant::now();
    let mut result = connection.query(sql)?;
    let mut rows = 0;
    for batch in &mut result {
        rows += batch?.num_rows();
    }
    Ok(Run { rows, seconds: started.elapsed().as_secs_f64(), memory: result.memory() })
}

fn summary(seconds: &[f64]) -> String {
    let queries = seconds.len() as f64;
    let total: f64 = seconds.iter().sum();
    let geometric_mean = (seconds.iter().map(|seconds| seconds.ln()).sum::<f64>() / queries.max(1.0)).exp();
    format!("\n{queries} of {} queries in {total:.3} s, geometric mean {geometric_mean:.3} s", QUERIES.len())
}

fn next_steps(directory: &Path) -> String {
    let program = std::env::args().next().unwrap_or_else(|| "godwit".into());
    let directory = directory.display();
    format!(
        "\nThe data stays in {directory}. Go on with your own queries:\n  \
         {program} {directory}\n  \
         {program} {directory} -c \"SELECT l_shipmode, count(*) FROM lineitem GROUP BY ALL ORDER BY 2 DESC\"\n  \
         {program} {directory} -c \"EXPLAIN ANALYZE SELECT o_orderpriority, count(*) FROM orders GROUP BY ALL\"\n  \
         {program} demo --memory-limit 512MB"
    )
}

fn make_data(scale: f64, directory: &Path) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    if !generate::is_complete(directory) {
        print_line(&format!("Making the TPC-H tables in {} (once) ...", directory.display()))?;
    }
    generate::generate(scale, directory, threads, &ProgressBar::new(0))
}

/// Returns `godwit/tpch-sf<scale>` in the user's cache folder.
fn default_directory(scale: f64) -> Result<PathBuf> {
    let folder = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    match cache {
        Some(cache) => Ok(cache.join(format!("godwit/tpch-sf{scale}"))),
        None => {
            Err(Error::user("there is no cache folder, as HOME isn't set")
                .with_hint("choose a folder with --directory"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_straight_and_the_means_are_right() {
        let run =
            Run { rows: 11_620, seconds: 1.5, memory: QueryMemory { peak_bytes: 3 << 20, ..QueryMemory::default() } };
        assert_eq!(run.line(7), "Q7        11,620     1.500       3.0 MiB            -");
        assert_eq!(summary(&[1.0, 4.0]), "\n2 of 22 queries in 5.000 s, geometric mean 2.000 s");
    }

    #[test]
    fn every_query_is_there() {
        assert!(QUERIES.iter().all(|sql| sql.to_lowercase().contains("select")));
    }
}
