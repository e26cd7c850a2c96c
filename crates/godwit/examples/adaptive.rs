//! Adaptive compression workloads, after Windheuser et al., "Adaptive Compression For Databases", 2024, section 4.
//!
//! ```sh
//! adaptive scan 200000000 5                   sums ascending numbers, flat, compact and frozen, 5 times each      (figure 4)
//! adaptive run x.godwit 512 "SELECT …" 3      a query on a file in 512 MiB, 3 times                               (figure 5)
//! adaptive zipf 10000000 1.5 6 on             point queries for 6 seconds, drawn by a Zipf distribution           (figure 6)
//! adaptive phases 53000000 10 on              three phases of 10 seconds with different hot ranges                (figure 7)
//! ```
//!
//! The last word of the lookups is the mode: `hot`, `compact`, `off`, `on` (α = 0.9, a period of one second), another α
//! and period as in `0.5@10s`, or `auto`. It writes one line per measurement, a JSON object.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use godwit::{Config, Connection, Database, Error, Result};

#[global_allocator]
static ALLOCATOR: godwit_allocator::Allocator = godwit_allocator::Allocator;

/// Number of keys of point queries, drawn in advance and then repeated.
const KEYS_DRAWN: usize = 1 << 20;

/// In a phase, one in this many lookups goes anywhere in the table.
const ELSEWHERE_ONE_IN: u64 = 20;

/// A phase mostly reads one n-th of the table.
const HOT_RANGE_SHARE: u64 = 12;

/// Lookups per inserted row.
const LOOKUPS_PER_INSERT: u64 = 200;

/// Time for forms to adapt to the reads: several periods.
const SETTLING: Duration = Duration::from_secs(4);

/// Interval between reports of a phase.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// Memory limit: enough for two workers, and for a pool that holds all flat vectors.
const LIMIT_MIB: u64 = 6 * 1024;

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
    let usage = || {
        Error::user(
            "usage: adaptive scan ROWS RUNS | run FILE MIB SQL TIMES | zipf ROWS K SECONDS MODE | phases ROWS SECONDS MODE",
        )
    };
    let number = |text: &str| text.parse::<u64>().map_err(|_| usage());
    match arguments {
        ["scan", rows, runs] => scan(number(rows)?, number(runs)?),
        ["run", file, mib, sql, times] => run_query(Path::new(file), number(mib)?, sql, number(times)?),
        ["zipf", rows, skew, seconds, mode] => {
            let skew = skew.parse().map_err(|_| usage())?;
            zipf(number(rows)?, skew, Duration::from_secs(number(seconds)?), mode)
        }
        ["phases", rows, seconds, mode] => phases(number(rows)?, Duration::from_secs(number(seconds)?), mode),
        _ => Err(usage()),
    }
}

fn open(path: &Path, limit_mib: u64) -> Result<Database> {
    let config = Config { threads: Some(2), memory_limit_bytes: Some(limit_mib << 20), ..Config::default() };
    Database::open_with(path, config)
}

/// Returns the numbers in a query's only row.
fn numbers(connection: &Connection, sql: &str) -> Result<Vec<u64>> {
    let mut found = Vec::new();
    for batch in connection.query(sql)? {
        let batch = batch?;
        found.extend((0..batch.num_columns()).map(|column| batch.column(column).as_primitive::<UInt64Type>().value(0)));
    }
    Ok(found)
}

/// Returns the bytes in memory of the segments of table `t`: hot, compact, frozen.
fn bytes(connection: &Connection) -> Result<[u64; 3]> {
    let sums = ["hot", "compact", "frozen"].map(|form| format!("coalesce(sum({form}_bytes), 0)::UBIGINT"));
    let sql =
        format!("SELECT {} FROM godwit_heat() WHERE kind = 'segment' AND object LIKE '%.main.t.%'", sums.join(", "));
    let found = numbers(connection, &sql)?;
    Ok([found[0], found[1], found[2]])
}

/// Waits until forms no longer change.
fn settle(connection: &Connection) -> Result<[u64; 3]> {
    let mut before = bytes(connection)?;
    loop {
        std::thread::sleep(Duration::from_millis(500));
        let now = bytes(connection)?;
        if now == before {
            return Ok(now);
        }
        before = now;
    }
}

fn scan(rows: u64, runs: u64) -> Result<()> {
    let database = open(Path::new(":memory:"), LIMIT_MIB)?;
    let connection = database.connect();
    connection.execute("SET adaptive_compression = 'off'; SET adaptation_period = '50ms'")?;
    for (form, encoding, settings) in [
        ("compact", "auto", "SET adaptive_compression = 'compact'"),
        ("flat", "auto", "SET adaptive_compression = 'hot'"),
        ("frozen", "plain", "SET compaction_threshold = 1; SET adaptive_compression = 'on'"),
    ] {
        connection.execute(&format!("SET adaptive_compression = 'off'; SET force_encoding = '{encoding}'"))?;
        connection.execute(&format!("CREATE OR REPLACE TABLE t AS SELECT i AS id FROM range({rows}) r(i)"))?;
        connection.execute(settings)?;
        let [hot, compact, frozen] = settle(&connection)?;
        let mut seconds = Vec::new();
        for _ in 0..=runs {
            let began = Instant::now();
            assert_eq!(numbers(&connection, "SELECT (sum(id) - count(*))::UBIGINT FROM t")?, [rows * (rows - 3) / 2]);
            seconds.push(began.elapsed().as_secs_f64());
        }
        // The first run is a warm-up.
        seconds.remove(0);
        println!(
            r#"{{"form": "{form}", "hot": {hot}, "compact": {compact}, "frozen": {frozen}, "seconds": {seconds:?}}}"#
        );
    }
    Ok(())
}

fn run_query(file: &Path, limit_mib: u64, sql: &str, times: u64) -> Result<()> {
    let database = open(file, limit_mib)?;
    let connection = database.connect();
    let mut seconds = Vec::new();
    for _ in 0..times {
        let began = Instant::now();
        for batch in connection.query(sql)? {
            batch?;
        }
        seconds.push(began.elapsed().as_secs_f64());
    }
    println!(r#"{{"seconds": {seconds:?}}}"#);
    Ok(())
}

/// Choice of forms.
#[derive(Clone, Copy)]
enum Mode<'a> {
    /// One form for all segments, or no changes.
    Fixed(&'a str),
    /// The hottest (1 − α) of the segments are hot.
    On {
        alpha: &'a str,
        period: &'a str,
    },
    Auto,
}

impl<'a> Mode<'a> {
    fn of(text: &'a str) -> Self {
        match text {
            "auto" => Mode::Auto,
            "on" => Mode::On { alpha: "0.9", period: "1s" },
            text => match text.split_once('@') {
                Some((alpha, period)) => Mode::On { alpha, period },
                None => Mode::Fixed(text),
            },
        }
    }
}

/// Creates a table of keys `0 .. rows`, whose forms are set by `mode`.
fn keys(rows: u64, ty: &str, mode: &str) -> Result<Connection> {
    let connection = open(Path::new(":memory:"), LIMIT_MIB)?.connect();
    connection.execute(&format!(
        "SET adaptive_compression = 'off'; CREATE TABLE t (id {ty} PRIMARY KEY); INSERT INTO t SELECT i FROM range({rows}) r(i); CHECKPOINT"
    ))?;
    match Mode::of(mode) {
        Mode::On { alpha, period } => connection.execute(&format!(
            "SET compaction_threshold = {alpha}; SET adaptation_period = '{period}'; SET adaptive_compression = 'on'"
        ))?,
        Mode::Auto => connection.execute("SET adaptation_period = '1s'; SET adaptive_compression = 'auto'")?,
        Mode::Fixed(form) => {
            connection.execute(&format!("SET adaptation_period = '50ms'; SET adaptive_compression = '{form}'"))?;
            settle(&connection)?;
        }
    };
    Ok(connection)
}

fn zipf(rows: u64, skew: f64, time: Duration, mode: &str) -> Result<()> {
    let connection = keys(rows, "INTEGER", mode)?;
    let mut random = Random(7);
    let drawn = zipf_keys(rows, skew, &mut random);
    let point = connection.prepare("SELECT id FROM t WHERE id = ?")?;
    let mut at = 0;
    let mut look_up_for = |time: Duration| -> Result<f64> {
        let (began, mut count) = (Instant::now(), 0u64);
        while began.elapsed() < time {
            for _ in 0..100 {
                at = (at + 1) % drawn.len();
                let found: usize = point
                    .run(&[drawn[at].into()])?
                    .map(|batch| batch.map(|batch| batch.num_rows()))
                    .sum::<Result<usize>>()?;
                assert_eq!(found, 1, "each key is there once");
            }
            count += 100;
        }
        Ok(count as f64 / began.elapsed().as_secs_f64())
    };
    look_up_for(SETTLING)?;
    let rate = look_up_for(time)?;
    let [hot, compact, frozen] = bytes(&connection)?;
    println!(
        r#"{{"mode": "{mode}", "skew": {skew}, "rate": {rate}, "hot": {hot}, "compact": {compact}, "frozen": {frozen}}}"#
    );
    Ok(())
}

/// Draws keys whose ranks are Zipf-distributed: key 0 is the most frequent, so hot keys are adjacent.
fn zipf_keys(rows: u64, skew: f64, random: &mut Random) -> Vec<i64> {
    let mut sums = Vec::with_capacity(rows as usize);
    let mut sum = 0.0;
    for rank in 1..=rows {
        sum += (rank as f64).powf(-skew);
        sums.push(sum);
    }
    let draw = |_| sums.partition_point(|&below| below < random.unit() * sum) as i64;
    (0..KEYS_DRAWN).map(draw).collect()
}

fn phases(rows: u64, time: Duration, mode: &str) -> Result<()> {
    let connection = keys(rows, "BIGINT", mode)?;
    let point = connection.prepare("SELECT id FROM t WHERE id = ?")?;
    let insert = connection.prepare("INSERT INTO t VALUES (?)")?;
    let mut random = Random(11);
    let (began, mut next_id) = (Instant::now(), rows);
    for phase in 0..3 {
        let first = rows / 3 * phase;
        let phase_began = Instant::now();
        while phase_began.elapsed() < time {
            let (report_began, mut count) = (Instant::now(), 0u64);
            while report_began.elapsed() < REPORT_INTERVAL {
                for _ in 0..LOOKUPS_PER_INSERT {
                    let key = match random.draw() % ELSEWHERE_ONE_IN {
                        0 => random.draw() % rows,
                        _ => first + random.draw() % (rows / HOT_RANGE_SHARE),
                    };
                    let found: usize = point
                        .run(&[(key as i64).into()])?
                        .map(|batch| batch.map(|batch| batch.num_rows()))
                        .sum::<Result<usize>>()?;
                    assert_eq!(found, 1, "each key is there once");
                }
                insert.run(&[(next_id as i64).into()])?.try_for_each(|batch| batch.map(drop))?;
                next_id += 1;
                count += LOOKUPS_PER_INSERT;
            }
            let rate = count as f64 / report_began.elapsed().as_secs_f64();
            let [hot, compact, frozen] = bytes(&connection)?;
            println!(
                r#"{{"mode": "{mode}", "at": {}, "phase": {phase}, "rate": {rate}, "hot": {hot}, "compact": {compact}, "frozen": {frozen}}}"#,
                began.elapsed().as_secs_f64()
            );
        }
    }
    Ok(())
}

/// Random numbers, the same in each run (xorshift).
struct Random(u64);

impl Random {
    fn draw(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }
}
