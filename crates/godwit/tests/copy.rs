//! `COPY … TO` as seen by a host program: the files' content, what remains after failures, and memory use.

#[path = "support/texts.rs"]
mod texts;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use godwit::{Config, Connection, Database, DebugOptions, DiskFault, ErrorKind, Files, ReadFault, ReadFaults};
use godwit::{Result, SimulatedDisk};

use texts::texts;

fn connect(memory_limit: &str, threads: usize) -> Connection {
    let config = Config::default().with_memory_limit(memory_limit).unwrap().with_threads(threads).unwrap();
    Database::open_with(":memory:", config).unwrap().connect()
}

/// Connects to a database in memory, with files elsewhere.
fn connect_to(files: impl Files + 'static) -> Connection {
    let debug = DebugOptions { files: Some(Arc::new(files)), ..DebugOptions::default() };
    let config = Config { memory_limit_bytes: Some(256 << 20), threads: Some(1), debug, ..Config::default() };
    Database::open_with(":memory:", config).unwrap().connect()
}

fn rows(connection: &Connection, sql: &str) -> Vec<Vec<String>> {
    try_rows(connection, sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
}

fn try_rows(connection: &Connection, sql: &str) -> Result<Vec<Vec<String>>> {
    let mut rows = Vec::new();
    for batch in connection.query(sql)? {
        rows.extend(texts(&batch?, ""));
    }
    Ok(rows)
}

/// Returns the text of a file that one worker wrote.
fn copied(query: &str, name: &str, options: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let connection = connect("256MB", 1);
    let counted = rows(&connection, &format!("COPY ({query}) TO '{}' {options}", path.display()));
    assert_eq!(counted.len(), 1);
    assert_eq!(names_in(folder.path()), [name], "nothing else is left");
    String::from_utf8(fs::read(path).unwrap()).unwrap()
}

fn names_in(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

const SAMPLE: &str = "SELECT * FROM (VALUES (1, 'plain', 1.50, DATE '2024-02-29'), (2, 'a,\"b\"', NULL, NULL), \
                      (3, '', 0.25, DATE '1999-12-31'), (4, NULL, -1.00, DATE '2000-01-01')) AS t(n, s, d, day)";

#[test]
fn csv_has_quotes_where_they_are_needed() {
    assert_eq!(
        copied(SAMPLE, "a.csv", ""),
        "n,s,d,day\n1,plain,1.50,2024-02-29\n2,\"a,\"\"b\"\"\",,\n3,\"\",0.25,1999-12-31\n4,,-1.00,2000-01-01\n"
    );
    let options = "(FORMAT csv, HEADER false, DELIM '|', QUOTE '''', ESCAPE '\\', NULL 'nil', DATEFORMAT '%d.%m.%Y')";
    assert_eq!(
        copied(SAMPLE, "a.txt", options),
        "1|plain|1.50|29.02.2024\n2|a,\"b\"|nil|nil\n3||0.25|31.12.1999\n4|nil|-1.00|01.01.2000\n"
    );
    assert_eq!(copied("SELECT 1 AS a, 'x' AS b", "a.tsv", ""), "a\tb\n1\tx\n");
    assert_eq!(copied("SELECT 'nil' AS a", "a.csv", "(NULL 'nil')"), "a\n\"nil\"\n");
}

#[test]
fn json_is_lines_or_an_array() {
    let query = "SELECT * FROM (VALUES (1, 'a\"\nb'), (2, NULL)) AS t(n, s)";
    let (first, second) = ("{\"n\":1,\"s\":\"a\\\"\\nb\"}", "{\"n\":2,\"s\":null}");
    assert_eq!(copied(query, "a.json", ""), format!("{first}\n{second}\n"));
    assert_eq!(copied(query, "a.json", "(ARRAY)"), format!("[\n\t{first},\n\t{second}\n]\n"));
    assert_eq!(copied("SELECT 1 AS a WHERE false", "a.json", "(FORMAT json, ARRAY true)"), "[\n]\n");
}

#[test]
fn compressed_text_is_the_same_text() {
    use std::io::Read;
    let folder = tempfile::tempdir().unwrap();
    let connection = connect("256MB", 2);
    for (name, options) in [("a.csv.gz", ""), ("b.txt", "(FORMAT json, ARRAY true, COMPRESSION gzip)")] {
        let path = folder.path().join(name);
        let query = "SELECT x, 'some text ' || x AS t FROM range(300000) AS s(x)";
        assert_eq!(rows(&connection, &format!("COPY ({query}) TO '{}' {options}", path.display())), [["300000"]]);
        let mut text = String::new();
        flate2::read::MultiGzDecoder::new(fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        let mut found: Vec<u64> = text
            .lines()
            .filter(|line| line.contains("some text"))
            .map(|line| {
                let digits: String =
                    line.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
                digits.parse().unwrap()
            })
            .collect();
        found.sort_unstable();
        assert!(found.into_iter().eq(0..300_000), "{name}");
    }
}

#[test]
fn rows_of_a_sort_keep_their_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sorted.parquet");
    let connection = connect("256MB", 2);
    let query = "SELECT x, hash_of FROM (SELECT x, (x * 7919) % 200003 AS hash_of FROM range(200003) t(x)) s";
    rows(&connection, &format!("COPY ({query} ORDER BY hash_of DESC) TO '{}'", path.display()));
    let single = connect("256MB", 1);
    let found = rows(&single, &format!("SELECT hash_of FROM '{}'", path.display()));
    assert!(found.into_iter().map(|row| row[0].parse::<u64>().unwrap()).eq((0..200_003_u64).rev()));
}

#[test]
fn a_failed_or_cancelled_copy_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.parquet");
    let connection = connect("256MB", 2);
    rows(&connection, &format!("COPY (SELECT 42 AS x) TO '{}'", path.display()));
    let fail = |sql: &str| connection.query(sql).and_then(|result| result.collect::<Result<Vec<_>>>()).unwrap_err();
    let error = fail(&format!("COPY (SELECT 1 / (x - 900000) AS x FROM range(1000000) t(x)) TO '{}'", path.display()));
    assert!(error.message().contains("division by zero"), "{error}");
    assert_eq!(names_in(folder.path()), ["kept.parquet"]);

    let endless = format!("COPY (SELECT x FROM range(100000000000) t(x)) TO '{}'", path.display());
    let result = connection.query(&endless).unwrap();
    #[cfg(target_os = "linux")]
    assert_eq!(names_in(folder.path()), ["kept.parquet"], "the unfinished file has no name");
    connection.cancel();
    let error = result.collect::<Result<Vec<_>>>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert_eq!(names_in(folder.path()), ["kept.parquet"]);
    drop(connection.query(&endless).unwrap());
    assert_eq!(names_in(folder.path()), ["kept.parquet"]);
    assert_eq!(rows(&connection, &format!("SELECT x FROM '{}'", path.display())), [["42"]]);
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_named() {
    let connection = connect("256MB", 2);
    for format in ["csv", "parquet"] {
        let sql = format!("COPY (SELECT x FROM range(1000000) t(x)) TO '/dev/full' (FORMAT {format})");
        let result = connection.query(&sql).and_then(|result| result.collect::<Result<Vec<_>>>());
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Resource, "{error}");
        assert!(error.message().contains("no space is left"), "{error}");
    }
}

/// Each step of a COPY fails in each way, including a power failure: then there is the old file or the new one.
#[test]
fn whatever_fails_there_is_the_old_file_or_the_new_one() {
    const ROWS: &str = "20000";
    for format in ["parquet", "csv", "json"] {
        let copy =
            |rows: &str| format!("COPY (SELECT x, 'text ' || x AS t FROM range({rows}) r(x)) TO '/data/x.{format}'");
        let count = format!("SELECT count(*) FROM '/data/x.{format}'");
        let disk = SimulatedDisk::new();
        let connection = connect_to(disk.clone());
        let before = disk.changes();
        rows(&connection, &copy(ROWS));
        let steps = disk.changes() - before;
        assert!(steps >= 5, "{format}: {steps} steps");
        for seed in 0..4 {
            assert_eq!(rows(&connect_to(disk.restart(seed)), &count), [[ROWS]], "{format}: what was told survives");
        }
        let (mut short, mut survived) = (0, 0);
        for fault in [DiskFault::Full, DiskFault::Broken, DiskFault::Short, DiskFault::Crash] {
            for step in 1..=steps {
                let what = format!("{format}, {fault:?} at {step} of {steps}");
                let disk = SimulatedDisk::new();
                let connection = connect_to(disk.clone());
                rows(&connection, &copy("1"));
                disk.fail(step, fault);
                let outcome = try_rows(&connection, &copy(ROWS));
                let after = if fault == DiskFault::Crash { connect_to(disk.restart(step)) } else { connection };
                let found = rows(&after, &count)[0][0].clone();
                match outcome {
                    Ok(_) => {
                        assert_eq!((fault, &*found), (DiskFault::Short, ROWS), "{what}");
                        short += 1;
                    }
                    Err(error) => {
                        let is_full = matches!(fault, DiskFault::Full | DiskFault::Short);
                        let expected = if is_full { ErrorKind::Resource } else { ErrorKind::Io };
                        assert_eq!(error.kind(), expected, "{what}: {error}");
                        assert_eq!(error.message().contains("no space is left"), is_full, "{what}: {error}");
                        // Only the last steps come after the new file got its name.
                        let may_be_new = step + 1 >= steps;
                        assert!(found == "1" || (found == ROWS && may_be_new), "{what}: {found} rows");
                        survived += u32::from(found == ROWS);
                    }
                }
            }
        }
        assert!(short > 0 && survived > 0, "{format}: {short} short writes, {survived} files named at the last moment");
    }
}

#[test]
fn text_that_cant_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["csv", "json", "csv.gz"] {
        let path = folder.path().join(format!("x.{format}"));
        let faults = ReadFaults::default();
        let connection = connect_to(faults.clone());
        rows(
            &connection,
            &format!("COPY (SELECT x, 'text ' || x AS t FROM range(200000) r(x)) TO '{}'", path.display()),
        );
        let sql = format!("SELECT count(*), sum(x) FROM '{}'", path.display());
        let before = faults.reads();
        assert_eq!(rows(&connection, &sql), [["200000", "19999900000"]]);
        let reads = faults.reads() - before;
        assert!(reads >= 3, "{format}: {reads} reads");
        for read in 1..=reads.min(40) {
            // A file's metadata is cached as long as the file doesn't change.
            let connection = connect_to(faults.clone());
            faults.fail(read, ReadFault::Broken);
            let error = try_rows(&connection, &sql).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Io, "{format}, read {read}: {error}");
            assert!(error.message().contains("x."), "{format}, read {read}: {error}");
            faults.forget();
        }
    }
}

#[test]
fn globs_and_exports_go_to_the_same_disk() {
    let disk = SimulatedDisk::new();
    let connection = connect_to(disk.clone());
    for part in ["a/b/1", "a/b/2", "a/c/3", "a/4"] {
        rows(&connection, &format!("COPY (SELECT '{part}' AS part) TO '/data/{part}.parquet'"));
    }
    for (pattern, expected) in [
        ("/data/a/b/*.parquet", "a/b/1,a/b/2"),
        ("/data/a/*/[23].parquet", "a/b/2,a/c/3"),
        ("/data/**/?.parquet", "a/4,a/b/1,a/b/2,a/c/3"),
        ("/data/a/**", "a/4,a/b/1,a/b/2,a/c/3"),
        ("/data/**/c/*", "a/c/3"),
    ] {
        let found = rows(&connection, &format!("SELECT string_agg(part, ',' ORDER BY part) FROM '{pattern}'"));
        assert_eq!(found, [[expected]], "{pattern}");
    }
    rows(&connection, "CREATE TABLE t AS SELECT 7 AS seven");
    rows(&connection, "EXPORT DATABASE '/out' (FORMAT csv)");
    let connection = connect_to(disk.restart(0));
    rows(&connection, "IMPORT DATABASE '/out'");
    assert_eq!(rows(&connection, "SELECT seven FROM t"), [["7"]]);
}

#[test]
fn wide_rows_end_row_groups_early_and_memory_stays_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("wide.parquet");
    let connection = connect("96MiB", 2);
    let text = "repeat(CAST(x AS VARCHAR) || '-', 100)";
    let query = format!("SELECT x, {text} AS a, {text} || 'b' AS b, {text} || 'c' AS c FROM range(150000) t(x)");
    let options = "(COMPRESSION uncompressed)";
    let mut result = connection.query(&format!("COPY ({query}) TO '{}' {options}", path.display())).unwrap();
    result.by_ref().for_each(|batch| drop(batch.unwrap()));
    let peak = connection.database().memory_statistics().peak_bytes;
    assert!(peak > 4 << 20, "the writer's buffers are counted: {peak}");
    assert!(peak <= 96 << 20, "{peak}");
    assert!(fs::metadata(&path).unwrap().len() > 100 << 20);
    let found = rows(&connection, &format!("SELECT count(*), sum(x), sum(length(c)) FROM '{}'", path.display()));
    let length: u64 = (0..150_000_u64).map(|x| (x.to_string().len() as u64 + 1) * 100 + 1).sum();
    assert_eq!(found, [["150000".to_owned(), (150_000_u64 * 149_999 / 2).to_string(), length.to_string()]]);
}
