//! Estimates from samples of files, where statistics of single columns aren't enough.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int32Array, RecordBatch, StringArray};
use godwit::{Config, Connection, Database};
use godwit_common::MemoryTag;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

const MOVIES: i32 = 100_000;
const FACTS: i32 = 400_000;
const KINDS: i32 = 40;

fn write(folder: &Path, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(50_000)).build();
    let file = File::create(folder.join(format!("{name}.parquet"))).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn integers(rows: i32, value: impl Fn(i32) -> i32) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values((0..rows).map(value)))
}

fn texts(rows: i32, value: impl Fn(i32) -> String) -> ArrayRef {
    Arc::new(StringArray::from_iter_values((0..rows).map(value)))
}

/// Writes facts, half of which are of kind 3, the others of the other kinds. Only facts of kind 3 have a genre; the
/// text of all others is unique.
fn write_tables(folder: &Path) {
    let mixed = |row: i32| (i64::from(row) * 7919 % i64::from(FACTS)) as i32;
    let kind = |row: i32| if mixed(row) % 2 == 0 { 3 } else { mixed(row) / 2 % KINDS };
    let genre = |row: i32| ["Crime", "Drama", "Horror", "Comedy"][(mixed(row) / 2 % 4) as usize].to_owned();
    write(
        folder,
        "kinds",
        vec![("id", integers(KINDS, |row| row)), ("name", texts(KINDS, |row| format!("kind {row}")))],
    );
    write(
        folder,
        "movies",
        vec![
            ("id", integers(MOVIES, |row| row)),
            ("title", texts(MOVIES, |row| format!("{} number {row}", ["The", "A"][usize::from(row % 50 == 0)]))),
        ],
    );
    write(
        folder,
        "facts",
        vec![
            ("movie", integers(FACTS, |row| row % MOVIES)),
            ("kind", integers(FACTS, kind)),
            ("text", texts(FACTS, |row| if mixed(row) % 2 == 0 { genre(row) } else { format!("text {row}") })),
        ],
    );
}

/// Returns the lines of a plan.
fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let batches: Vec<RecordBatch> = connection.query(&format!("EXPLAIN {sql}")).unwrap().map(Result::unwrap).collect();
    let lines = |batch: &RecordBatch| {
        batch.column(0).as_string::<i32>().iter().map(|line| line.unwrap().to_owned()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(lines).collect()
}

/// Returns the estimated rows of a table's scan.
fn expected_rows(plan: &[String], table: &str) -> f64 {
    let line = plan.iter().find(|line| line.contains(&format!("Scan {table}"))).expect("the table is scanned");
    let (_, rest) = line.split_once("[~").expect("an estimate");
    rest.split_once(" rows").expect("an estimate").0.parse().unwrap()
}

const JOINS: &str = "SELECT count(*) FROM facts f JOIN kinds k ON f.kind = k.id JOIN movies m ON f.movie = m.id";

fn check(connection: &Connection) {
    for (filter, table, truth) in [
        ("f.kind = 3 AND f.text = 'Crime'", "facts", f64::from(FACTS) / 8.0),
        ("f.kind = 3", "facts", f64::from(FACTS) / 2.0 * (1.0 + 1.0 / f64::from(KINDS))),
        // No row of the sample passes: half a row of 8,192 is expected, or the statistics' estimate if that is less.
        ("f.text IN ('Crime', 'Horror') AND f.kind <> 3", "facts", f64::from(FACTS) * 0.5 / 8192.0),
        ("m.title LIKE 'A %'", "movies", f64::from(MOVIES) / 50.0),
        ("k.name LIKE '%1%'", "kinds", 13.0),
    ] {
        let plan = plan(connection, &format!("{JOINS} WHERE {filter}"));
        let expected = expected_rows(&plan, table);
        let error = (expected + 30.0) / (truth + 30.0);
        assert!((0.6..1.34).contains(&error), "{filter}: {expected} rows expected of {truth}\n{}", plan.join("\n"));
    }
}

#[test]
fn filters_on_dependent_and_skewed_columns_are_estimated_by_samples() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let open = |path: &Path| Database::open_with(path, Config { threads: Some(2), ..Config::default() }).unwrap();
    let files = open(folder.path());
    let before = files.memory_statistics();
    check(&files.connect());
    let after = files.memory_statistics();
    let held = after.bytes_of(MemoryTag::Other) - before.bytes_of(MemoryTag::Other);
    assert!((100_000..8 << 20).contains(&held), "{held} bytes of samples");
    // Their pages stay for the scan, but can be dropped.
    let pages = after.bytes_of(MemoryTag::Reader) - before.bytes_of(MemoryTag::Reader);
    assert!(pages > 0 && pages <= after.evictable_bytes, "{pages} bytes of pages, {after:?}");
}

#[test]
fn keys_of_a_small_table_are_looked_up_in_the_sample_of_the_other() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let database = Database::open_with(folder.path(), Config { threads: Some(2), ..Config::default() }).unwrap();
    // One of the 40 kinds has half of all facts: with any other, there are fewer facts than movies, so they become the
    // build side.
    let builds_on = |kind: i32| {
        let filter = format!("k.name = 'kind {kind}' AND m.title LIKE 'The %'");
        let plan = plan(&database.connect(), &format!("{JOINS} WHERE {filter}"));
        (plan.iter().any(|line| line.contains("build: Scan movies")), plan.join("\n"))
    };
    let (with_common, plan) = builds_on(3);
    assert!(with_common, "{plan}");
    let (with_rare, plan) = builds_on(7);
    assert!(!with_rare, "{plan}");
}

#[test]
fn tables_of_a_database_file_have_samples_too() {
    let folder = tempfile::tempdir().unwrap();
    write_tables(folder.path());
    let config = Config { threads: Some(2), ..Config::default() };
    let database = Database::open_with(folder.path().join("x.godwit"), config).unwrap();
    let connection = database.connect();
    let run = |sql: &str| connection.query(sql).unwrap().for_each(|batch| drop(batch.unwrap()));
    for table in ["kinds", "movies", "facts"] {
        run(&format!("CREATE TABLE {table} AS FROM '{}'", folder.path().join(format!("{table}.parquet")).display()));
    }
    check(&connection);
    // Rows of the delta are sampled, deleted rows aren't.
    run("DELETE FROM kinds WHERE id > 2");
    run("INSERT INTO kinds SELECT i, 'kind ' || i FROM range(3, 40) t(i)");
    run("DELETE FROM facts WHERE text = 'Crime'");
    for (filter, table, truth) in [
        ("k.name LIKE '%1%'", "kinds", 13),
        ("k.id < 2", "kinds", 2),
        ("f.kind = 3", "facts", FACTS / 2 + FACTS / 2 / KINDS - FACTS / 8),
        ("f.kind = 3 AND f.text = 'Drama'", "facts", FACTS / 8),
    ] {
        let plan = plan(&connection, &format!("{JOINS} WHERE {filter}"));
        let expected = expected_rows(&plan, table);
        let error = (expected + 30.0) / (f64::from(truth) + 30.0);
        assert!((0.9..1.1).contains(&error), "{filter}: {expected} rows expected of {truth}\n{}", plan.join("\n"));
    }
}
