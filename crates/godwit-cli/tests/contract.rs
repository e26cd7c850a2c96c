//! The memory contract, measured from outside: the shell's resident size as reported by the operating system, sampled
//! during statements whose data doesn't fit, never exceeds the limit by more than 32 MiB.
#![cfg(target_os = "linux")]

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::Duration;

const MIB: u64 = 1 << 20;

/// Excess over the limit that the contract allows.
const OVERHEAD: u64 = 32 * MIB;

/// Interval between samples: 50 Hz.
const PERIOD: Duration = Duration::from_millis(20);

/// Measurements of a run.
struct Run {
    peak_bytes: u64,
    samples: usize,
    output: String,
    /// Its standard error.
    remarks: String,
}

/// Runs a script and samples the size of the process until it ends. The output is read slowly if `slow`.
fn run(limit_mib: u64, script: &str, slow: bool) -> Run {
    let limit = format!("{limit_mib}MiB");
    let arguments = ["--memory-limit", &limit, "--threads", "2", "--format", "csv", "-c", script];
    let mut child = Command::new(env!("CARGO_BIN_EXE_godwit"))
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the shell was built");
    let status = format!("/proc/{}/status", child.id());
    let mut stdout = child.stdout.take().expect("standard output is a pipe");
    let reader = std::thread::spawn(move || read_output(&mut stdout, slow));
    let mut run = Run { peak_bytes: 0, samples: 0, output: String::new(), remarks: String::new() };
    while child.try_wait().expect("the child is ours").is_none() {
        // The kernel's high-water mark also covers the time between samples.
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        for name in ["VmRSS:", "VmHWM:"] {
            let line = text.lines().find(|line| line.starts_with(name));
            let kib: Option<u64> = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
            run.peak_bytes = run.peak_bytes.max(kib.unwrap_or(0) * 1024);
        }
        run.samples += 1;
        std::thread::sleep(PERIOD);
    }
    let output = child.wait_with_output().expect("the shell has ended");
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    run.remarks = String::from_utf8_lossy(&output.stderr).into_owned();
    run.output = reader.join().expect("the reader doesn't panic");
    run
}

/// Returns the last part of the output.
fn read_output(stdout: &mut impl Read, slow: bool) -> String {
    const TAIL_BYTES: usize = 4096;
    let mut tail = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let bytes = stdout.read(&mut buffer).expect("the pipe can be read");
        if bytes == 0 {
            return String::from_utf8_lossy(&tail).into_owned();
        }
        tail.extend_from_slice(&buffer[..bytes]);
        let surplus = tail.len().saturating_sub(TAIL_BYTES);
        tail.drain(..surplus);
        if slow {
            std::thread::sleep(Duration::from_micros(500));
        }
    }
}

/// Runs a statement under a limit and checks the contract; it runs long enough to be sampled.
fn check(limit_mib: u64, script: &str, slow: bool) -> Run {
    let run = check_peak(limit_mib, script, slow);
    assert!(run.samples > 5, "the statement ended before it was looked at: {script}");
    run
}

fn check_peak(limit_mib: u64, script: &str, slow: bool) -> Run {
    let run = run(limit_mib, script, slow);
    let (peak_mib, most_mib) = (run.peak_bytes / MIB, limit_mib + OVERHEAD / MIB);
    println!("limit {limit_mib} MiB, peak {peak_mib} MiB in {} samples: {script}", run.samples);
    assert!(run.peak_bytes <= most_mib * MIB, "limit {limit_mib} MiB, peak {peak_mib} MiB: {script}");
    run
}

/// Returns a query for rows of about 100 bytes in an unhelpful order.
fn rows(count: u64) -> String {
    format!(
        "SELECT x, (x * 7919) % {count} AS k, 'a text that is stored with row number ' || CAST(x AS VARCHAR) AS t \
         FROM range({count}) AS s(x)"
    )
}

/// Asserts that a query spills under a limit, so that the tests above test what they claim.
fn assert_spills(limit_mib: u64, query: &str) {
    let plan = run(limit_mib, &format!("EXPLAIN ANALYZE {query}"), false).output;
    assert!(plan.contains("spilled"), "{query}\n{plan}");
}

#[test]
fn sorts_stay_within_the_limit() {
    let query = format!(
        "SELECT count(*), max(t) FROM (SELECT * FROM ({}) r ORDER BY k LIMIT 1 OFFSET 2999000) s",
        rows(3_000_000)
    );
    for limit_mib in [128, 256] {
        check(limit_mib, &query, false);
    }
    assert_spills(128, &query);
}

#[test]
fn aggregations_stay_within_the_limit() {
    let query = format!(
        "SELECT count(*), max(t), max(x) FROM (SELECT k, max(x) AS x, max(t) AS t FROM ({}) r GROUP BY k) s",
        rows(3_000_000)
    );
    for limit_mib in [128, 512] {
        check(limit_mib, &query, false);
    }
    assert_spills(128, &query);
}

#[test]
fn joins_stay_within_the_limit() {
    let rows = rows(2_000_000);
    let query = format!("SELECT count(*), max(a.t || b.t) FROM ({rows}) a JOIN ({rows}) b ON a.k = b.k");
    for limit_mib in [128, 256] {
        check(limit_mib, &query, false);
    }
    assert_spills(128, &query);
}

#[test]
fn files_are_written_within_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let rows = rows(3_000_000);
    for (limit_mib, name) in [(128, "a.parquet"), (256, "b.csv"), (128, "c.json"), (128, "d.csv.gz")] {
        let run = check(limit_mib, &format!("COPY ({rows}) TO '{}'", path(name)), false);
        assert!(run.remarks.contains("3,000,000 rows written"), "{}", run.remarks);
    }
    let sorted = format!("COPY (SELECT * FROM ({rows}) r ORDER BY k) TO '{}'", path("e.parquet"));
    check(128, &sorted, false);
    let read = format!("SELECT count(*), count(DISTINCT t) FROM '{}'", path("e.parquet"));
    assert!(check(128, &read, false).output.contains("3000000,3000000"));
}

#[test]
fn large_results_are_fetched_within_the_limit() {
    check(128, &rows(2_000_000), false);
    // Rows held back for the widths of a box.
    let boxed = check(128, &format!(".mode box\n.maxrows all\n{}", rows(2_000_000)), false);
    assert!(boxed.output.contains("2,000,000 rows ("), "{}", boxed.output);
    // A client slower than the query.
    check(128, &rows(500_000), true);
    check(128, &format!("SELECT * FROM ({}) r ORDER BY k", rows(1_000_000)), true);
}

/// Pages of such texts are freed by the thread that reads the result; sorted, each chunk has a dozen of them.
#[test]
fn texts_of_a_megabyte_stay_within_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let long = path("long.parquet");
    let texts = "SELECT i, repeat(md5(i::VARCHAR), 31250) AS s FROM range(300) t(i)";
    check(128, &format!("COPY ({texts}) TO '{long}'"), false);
    check(128, &format!("FROM '{long}'"), false);
    let copies = ["a.parquet", "b.arrow", "c.csv", "d.json"];
    let copies = copies.map(|name| format!("COPY (FROM '{long}' ORDER BY s) TO '{}'", path(name)));
    let tables = ["", "ORDER BY s"].map(|order| format!("CREATE TABLE t AS FROM '{long}' {order}"));
    copies.iter().chain(&tables).for_each(|statement| drop(check(128, statement, false)));
    for statement in [&copies[0], &tables[1]] {
        check(256, statement, false);
    }
}

/// The smallest limit for two threads.
const FLOOR_MIB: u64 = 96;

/// Returns small TPC-H tables, and its queries with their names in the repository. Tests run in the folder of their
/// package, wherever they were built.
fn tpch() -> (tempfile::TempDir, Vec<(String, String)>) {
    let folder = tempfile::tempdir().unwrap();
    let demo = ["demo", "--scale", "0.3", "--directory", folder.path().to_str().expect("the path is text")];
    let output = Command::new(env!("CARGO_BIN_EXE_godwit")).args(demo).output().expect("the shell was built");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = std::fs::read_dir("../../tests/tpch").unwrap().map(|entry| entry.unwrap().path());
    let query = |path: std::path::PathBuf| {
        (path.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(path).unwrap())
    };
    (folder, files.map(query).collect())
}

#[test]
fn the_floor_is_enough_for_all_queries_of_tpch_and_more() {
    let (folder, queries) = tpch();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let views = ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"];
    let views =
        views.map(|name| format!("CREATE VIEW {name} AS FROM '{}';", path(&format!("{name}.parquet")))).concat();
    assert_eq!(queries.len(), 22);
    for (name, query) in &queries {
        println!("{name}");
        check_peak(FLOOR_MIB, &format!("{views}{query}"), false);
    }
    for query in [
        "SELECT * FROM lineitem ORDER BY l_comment".to_owned(),
        "FROM lineitem".to_owned(),
        format!("COPY (FROM lineitem) TO '{}'", path("copy.parquet")),
        format!("COPY (FROM lineitem) TO '{}'", path("copy.csv")),
        "SELECT l_comment, count(*), max(l_shipinstruct) FROM lineitem GROUP BY l_comment".to_owned(),
        "SELECT l_orderkey, rank() OVER (PARTITION BY l_suppkey ORDER BY l_comment) FROM lineitem".to_owned(),
    ] {
        check_peak(FLOOR_MIB, &format!("{views}{query}"), false);
    }
}
