//! Whole queries on a disk that fails, with memory that runs out, and in a process that is killed: the error says what
//! happened, no wrong rows are returned, nothing is left behind, and the same connection answers the next query.

#[path = "support/texts.rs"]
mod texts;

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use godwit::{Config, Connection, Database, DebugOptions, ErrorKind, Fault, Result, SimulatedFiles};
use godwit::{MemoryStatistics, ReadFault, ReadFaults, RequestFaults};
use parquet::arrow::ArrowWriter;

use texts::texts;

/// Statements of all kinds, each with a result of one row. `$folder` is the folder for files.
const STATEMENTS: [(&str, &str); 7] = [
    ("aggregate", "SELECT count(*), sum(n), sum(m) FROM (SELECT t, count(*) AS n, max(k) AS m FROM facts GROUP BY t)"),
    ("distinct", "SELECT sum(n) FROM (SELECT g, count(DISTINCT t) AS n FROM facts GROUP BY g)"),
    ("join", "SELECT count(*), sum(a.k), min(b.t) FROM facts a JOIN facts b ON a.k = b.k WHERE a.t <> b.t || 'x'"),
    (
        "nested loop join",
        "SELECT count(*), max(a.t) FROM facts a JOIN (SELECT k FROM facts WHERE k < 3) b ON a.k < b.k",
    ),
    ("sort", "SELECT count(*), sum(k), min(t) FROM (SELECT k, t FROM facts ORDER BY t, k OFFSET 10)"),
    (
        "window",
        "SELECT sum(r), sum(p) FROM (SELECT row_number() OVER (ORDER BY t) * k AS r, \
         lag(k) OVER (PARTITION BY g ORDER BY t) AS p FROM facts)",
    ),
    ("copy", "COPY (SELECT t, k FROM facts ORDER BY t) TO '$folder/copy.parquet'"),
];

/// Returns those that don't fit into [`tight`] memory.
fn spilling() -> impl Iterator<Item = (&'static str, &'static str)> {
    STATEMENTS.into_iter().filter(|(name, _)| *name != "nested loop join")
}

fn write_facts(folder: &Path, rows: i64) {
    let keys: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row * 7919 % rows)));
    let groups: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|row| row % 100)));
    let texts: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..rows).map(|row| format!("{:040}", row * 31 % rows))));
    let batch = RecordBatch::try_from_iter([("k", keys), ("g", groups), ("t", texts)]).unwrap();
    let mut writer =
        ArrowWriter::try_new(File::create(folder.join("facts.parquet")).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// A database that fails on demand, with one folder for tables and results.
struct World {
    folder: tempfile::TempDir,
    database: Database,
    connection: Connection,
    files: SimulatedFiles,
    requests: RequestFaults,
    /// Bytes held by open tables only.
    base_bytes: u64,
}

impl World {
    fn new(rows: i64, threads: usize, debug: DebugOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write_facts(folder.path(), rows);
        let (files, requests) = (SimulatedFiles::new(), RequestFaults::default());
        let debug = DebugOptions { spill_files: Some(files.clone()), request_faults: Some(requests.clone()), ..debug };
        let database = Database::open_with(folder.path(), Config { debug, ..config(threads) }).unwrap();
        let connection = database.connect();
        let mut world = Self { folder, database, connection, files, requests, base_bytes: 0 };
        world.base_bytes = world.held_bytes();
        world
    }

    fn held_bytes(&self) -> u64 {
        let MemoryStatistics { used_bytes, evictable_bytes, .. } = self.database.memory_statistics();
        used_bytes.saturating_sub(evictable_bytes)
    }

    fn run(&self, sql: &str) -> Result<Vec<String>> {
        rows(&self.connection, &sql.replace("$folder", self.folder.path().to_str().unwrap()))
    }

    /// Asserts the state required after each statement, however it ended. I/O threads may need a moment to release
    /// memory.
    fn assert_clean(&self, what: &str) {
        let began = Instant::now();
        let is_clean = || {
            let bytes = self.database.memory_statistics().temp_file_bytes + self.files.stored_bytes();
            // Less is held if the index of a file's pages couldn't be read: the file is read without it.
            self.held_bytes() <= self.base_bytes && bytes == 0
        };
        while !is_clean() {
            let statistics = self.database.memory_statistics();
            assert!(began.elapsed() < Duration::from_secs(60), "{what}: base {}, {statistics:?}", self.base_bytes);
            thread::sleep(Duration::from_millis(1));
        }
        assert!(self.database.queries().is_empty(), "{what}");
        let names: Vec<_> = fs::read_dir(self.folder.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        let is_expected = |name: &String| name == "facts.parquet" || name == "copy.parquet";
        assert!(names.iter().all(is_expected), "{what}: {names:?}");
    }
}

fn config(threads: usize) -> Config {
    Config { memory_limit_bytes: Some(1 << 30), threads: Some(threads), ..Config::default() }
}

/// Returns the rows of a result as text.
fn rows(connection: &Connection, sql: &str) -> Result<Vec<String>> {
    let mut rows = Vec::new();
    for batch in connection.query(sql)? {
        rows.extend(texts(&batch?, "").iter().map(|row| row.join("|")));
    }
    Ok(rows)
}

/// Number of rows of some 60 bytes that don't fit into [`tight`] memory.
const SPILLED_ROWS: i64 = 1_000_000;

/// Number of consecutive reads or writes that fail.
const FAILING_CALLS: u64 = 200;

/// Returns options for few pages, so that everything spills.
fn tight() -> DebugOptions {
    DebugOptions { pool_bytes: Some(40 << 20), ..DebugOptions::default() }
}

#[test]
fn a_disk_that_fails_is_an_error_and_nothing_else() {
    let world = World::new(SPILLED_ROWS, 2, tight());
    let mut failed = 0;
    for (name, sql) in spilling() {
        world.files.forget_faults();
        let (reads, writes) = (world.files.reads(), world.files.writes());
        let expected = world.run(sql).unwrap_or_else(|error| panic!("{name}: {error}"));
        world.assert_clean(name);
        let (reads, writes) = (world.files.reads() - reads, world.files.writes() - writes);
        assert!(reads > 10 && writes > 10, "{name}: {reads} reads, {writes} writes");
        let write_faults = [Fault::DiskFull, Fault::Broken, Fault::ShortWrite].map(|fault| (fault, false, writes));
        let read_faults = [Fault::Broken, Fault::BitFlip].map(|fault| (fault, true, reads));
        for (fault, is_read, calls) in write_faults.into_iter().chain(read_faults) {
            for call in [1, calls / 2] {
                let what = format!("{name}, {fault:?} at {call} of {calls}");
                // Several in a row: a single failure may hit read-ahead, or a write that no one waits for.
                for call in call..call + FAILING_CALLS {
                    if is_read { world.files.fail_read(call, fault) } else { world.files.fail_write(call, fault) }
                }
                match world.run(sql) {
                    Ok(rows) => assert_eq!(rows, expected, "{what}"),
                    Err(error) => {
                        failed += 1;
                        let kind = match fault {
                            Fault::DiskFull | Fault::ShortWrite => ErrorKind::Resource,
                            Fault::Broken => ErrorKind::Io,
                            Fault::BitFlip => ErrorKind::Corrupt,
                        };
                        assert_eq!(error.kind(), kind, "{what}: {error}");
                        assert!(error.to_string().contains("temp"), "{what}: the error names the place: {error}");
                    }
                }
                world.files.forget_faults();
                world.assert_clean(&what);
                assert_eq!(world.run("SELECT count(*) FROM facts").unwrap(), [SPILLED_ROWS.to_string()], "{what}");
            }
        }
        assert_eq!(world.run(sql).unwrap(), expected, "{name} after faults");
    }
    assert!(failed > spilling().count() * 5, "only {failed} runs met their fault");
}

#[test]
fn every_request_for_memory_may_fail() {
    const ROWS: i64 = 20_000;
    let world = World::new(ROWS, 2, DebugOptions { force_spill: true, ..DebugOptions::default() });
    for (name, sql) in STATEMENTS {
        let expected = world.run(sql).unwrap();
        let mut failed = 0;
        // Request by request at first, then in larger steps.
        let (mut request, mut requests) = (1, u64::MAX);
        while request <= requests {
            let before = world.requests.requests();
            world.requests.fail(request);
            let outcome = world.run(sql);
            world.requests.fail(0);
            let what = format!("{name}, request {request}");
            match outcome {
                // It managed without the memory, or made fewer requests this time.
                Ok(rows) => {
                    assert_eq!(rows, expected, "{what}");
                    requests = requests.min(world.requests.requests() - before);
                }
                Err(error) => {
                    failed += 1;
                    assert_eq!(error.kind(), ErrorKind::Resource, "{what}: {error}");
                    assert!(error.to_string().contains("out of memory"), "{what}: {error}");
                    assert!(error.hint().is_some(), "{what}: {error}");
                }
            }
            world.assert_clean(&what);
            request += 1 + request / 16;
        }
        assert!(failed > 10, "{name}: only {failed} requests failed");
        assert_eq!(world.run(sql).unwrap(), expected, "{name} after faults");
    }
}

#[test]
fn a_disk_that_fails_under_a_table_is_an_error_and_nothing_else() {
    const ROWS: i64 = 300_000;
    let faults = ReadFaults::default();
    let mut world =
        World::new(ROWS, 2, DebugOptions { files: Some(Arc::new(faults.clone())), ..DebugOptions::default() });
    let path = world.folder.path().join("facts.parquet");
    // A file that has changed is opened again: nothing about it is known, none of its pages is cached.
    let change = |second| {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
        File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
    };
    let statements = [
        ("all columns", "SELECT count(*), sum(k), max(g), min(t) FROM '$folder/facts.parquet'"),
        ("join", "SELECT count(*) FROM '$folder/facts.parquet' a JOIN facts b ON a.t = b.t"),
        ("copy", "COPY (SELECT t, k FROM '$folder/facts.parquet') TO '$folder/copy.parquet'"),
    ];
    let mut failed = 0;
    for (name, sql) in statements {
        change(0);
        let before = faults.reads();
        let expected = world.run(sql).unwrap();
        let reads = faults.reads() - before;
        world.base_bytes = world.held_bytes();
        assert!(reads >= 3, "{name}: {reads} reads");
        for fault in [ReadFault::Broken, ReadFault::Short, ReadFault::Garbage] {
            for call in 1..=reads {
                let what = format!("{name}, {fault:?} at {call} of {reads}");
                change(call);
                faults.fail(call, fault);
                match world.run(sql) {
                    // Two workers may need fewer reads than before: data read by one is available to the other. Wrong
                    // bytes may be a valid value.
                    Ok(rows) => assert!(rows == expected || fault == ReadFault::Garbage, "{what}: {rows:?}"),
                    Err(error) => {
                        failed += 1;
                        let is_expected = match fault {
                            ReadFault::Broken => error.kind() == ErrorKind::Io,
                            ReadFault::Short => error.kind() == ErrorKind::Corrupt,
                            // A file without its magic number can't be read.
                            ReadFault::Garbage => matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::User),
                        };
                        assert!(is_expected && error.to_string().contains("facts.parquet"), "{what}: {error}");
                    }
                }
                faults.forget();
                world.assert_clean(&what);
            }
        }
        assert_eq!(world.run(sql).unwrap(), expected, "{name} after faults");
    }
    assert!(failed > 3 * statements.len(), "only {failed} runs met their fault");
    // The file also becomes shorter while it is read.
    let mut rows = world.connection.query("SELECT * FROM facts").unwrap();
    assert!(rows.next().unwrap().is_ok());
    File::options().write(true).open(&path).unwrap().set_len(1000).unwrap();
    let error = rows.find_map(|batch| batch.err()).expect("most of the file is gone");
    assert!(error.to_string().contains("shorter"), "{error}");
    drop(rows);
    world.assert_clean("a file that became shorter");
    assert_eq!(world.run("SELECT 1").unwrap(), ["1"]);
}

#[test]
fn a_quota_that_is_reached_says_so_and_can_be_raised() {
    let world = World::new(SPILLED_ROWS, 2, tight());
    for (name, sql) in spilling() {
        let expected = world.run(sql).unwrap();
        world.run("SET max_temp_directory_size = '1MB'").unwrap();
        let error = world.run(sql).expect_err(name);
        assert_eq!(error.kind(), ErrorKind::Resource, "{name}: {error}");
        assert!(error.to_string().contains("out of temporary disk space"), "{name}: {error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("max_temp_directory_size")), "{name}: {error}");
        world.assert_clean(name);
        world.run("SET max_temp_directory_size = '1GB'").unwrap();
        assert_eq!(world.run(sql).unwrap(), expected, "{name}");
        world.assert_clean(name);
    }
}

#[test]
fn a_full_disk_under_the_result_of_copy_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let world = World::new(300_000, 2, DebugOptions::default());
    for format in ["parquet", "csv", "json"] {
        let sql = format!("COPY (SELECT t, k FROM facts) TO '/dev/full' (FORMAT {format})");
        let error = world.run(&sql).expect_err(format);
        assert_eq!(error.kind(), ErrorKind::Resource, "{format}: {error}");
        assert!(error.to_string().contains("no space is left"), "{format}: {error}");
        world.assert_clean(format);
        assert_eq!(world.run("SELECT count(*) FROM facts").unwrap(), ["300000"]);
    }
}

/// The folder in which [`a_killed_process_leaves_nothing`] makes a separate process spill.
const KILLED_FOLDER: &str = "GODWIT_TEST_KILLED_FOLDER";
const MARKER: &str = "spilled";

/// Spills until it is killed; does nothing unless asked to.
#[test]
fn spill_until_killed() {
    let Some(folder) = std::env::var_os(KILLED_FOLDER) else { return };
    let folder = Path::new(&folder);
    let config = Config { temp_directory: Some(folder.join("temp")), debug: tight(), ..config(2) };
    let database = Database::open_with(folder.join("tables"), config).unwrap();
    let connection = database.connect();
    thread::scope(|scope| {
        scope.spawn(|| {
            while database.memory_statistics().temp_file_bytes == 0 {
                thread::sleep(Duration::from_millis(1));
            }
            fs::write(folder.join(MARKER), "").unwrap();
        });
        loop {
            rows(&connection, "SELECT count(*) FROM (SELECT t FROM facts ORDER BY t OFFSET 1)").unwrap();
        }
    });
}

#[test]
fn a_killed_process_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("tables")).unwrap();
    write_facts(&folder.path().join("tables"), SPILLED_ROWS);
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "spill_until_killed"])
        .env(KILLED_FOLDER, folder.path())
        .spawn()
        .unwrap();
    let began = Instant::now();
    while !folder.path().join(MARKER).exists() {
        assert!(began.elapsed() < Duration::from_secs(120), "nothing was spilled");
        assert_eq!(child.try_wait().unwrap(), None, "the process ended by itself");
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left: Vec<_> = fs::read_dir(folder.path().join("temp")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    let config = Config { temp_directory: Some(folder.path().join("temp")), debug: tight(), ..config(2) };
    let database = Database::open_with(folder.path().join("tables"), config).unwrap();
    assert_eq!(rows(&database.connect(), "SELECT count(*) FROM facts").unwrap(), [SPILLED_ROWS.to_string()]);
}
