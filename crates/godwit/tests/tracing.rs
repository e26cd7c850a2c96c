//! Memory traces: a query's loads are attributed to objects, and trace files are complete when they are requested.
//!
//! A process has one trace at a time, so the tests run one after the other in a separate program.

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use godwit::{Config, Connection, Database};

fn open() -> Connection {
    let config = Config { threads: Some(2), memory_limit_bytes: Some(256 << 20), ..Config::default() };
    let connection = Database::open_with(":memory:", config).unwrap().connect();
    connection
        .execute(
            "CREATE TABLE t AS
             SELECT i AS id, i * 7919 % 100000 AS key, i % 1000 AS few,
                    CASE WHEN i % 4 = 0 THEN 'often' ELSE 'name ' || (i % 5000)::VARCHAR END AS name
             FROM range(600000) AS r(i);
             CHECKPOINT;
             SET trace_source = 'software';
             SET adaptive_compression = 'off'",
        )
        .unwrap();
    connection
}

/// Returns the fraction of a query's loads of each kind of object, and of each column of the table.
fn shares(connection: &Connection, threshold: u32, query: &str) -> BTreeMap<String, f64> {
    let mut shares = BTreeMap::new();
    for batch in connection.query(&format!("TRACE (THRESHOLD {threshold}) {query}")).unwrap() {
        let batch = batch.unwrap();
        let (objects, kinds) = (batch.column(0).as_string::<i32>(), batch.column(1).as_string::<i32>());
        for row in 0..batch.num_rows() {
            let name = match kinds.value(row) {
                "segment" => objects.value(row).rsplit_once('.').unwrap().0.to_owned(),
                kind => kind.to_owned(),
            };
            *shares.entry(name).or_insert(0.0) += batch.column(4).as_primitive::<Float64Type>().value(row);
        }
    }
    shares
}

fn number(connection: &Connection, sql: &str) -> i64 {
    let batches: Vec<_> = connection.query(sql).unwrap().collect::<Result<_, _>>().unwrap();
    batches[0].column(0).as_primitive::<Int64Type>().value(0)
}

fn error(connection: &Connection, sql: &str) -> String {
    connection.execute(sql).unwrap_err().to_string()
}

#[test]
fn traces() {
    let connection = open();
    scans_load_the_columns_that_they_read(&connection);
    operators_load_their_structures(&connection);
    deltas_and_arrow_files_are_objects(&connection);
    samples_have_the_shares_of_all_loads(&connection);
    files_are_whole(&connection);
    dictionaries_name_their_hottest_entry(&connection);
    mistakes_are_told(&connection);
    // A closed database ends its trace.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("closed.parquet");
    connection.execute(&format!("SET trace = '{}'; SELECT sum(id) FROM t", path.display())).unwrap();
    drop(connection);
    assert!(path.exists());
}

fn scans_load_the_columns_that_they_read(connection: &Connection) {
    let shares = shares(connection, 1, "SELECT sum(key) FROM t WHERE few < 1000000");
    assert!(shares["memory.main.t.key"] > 0.5, "{shares:?}");
    assert!(!shares.contains_key("memory.main.t.id"), "{shares:?}");
}

fn operators_load_their_structures(connection: &Connection) {
    let groups = shares(connection, 10, "SELECT key, sum(id) FROM t GROUP BY key");
    assert!(groups["hash table"] > 0.1, "{groups:?}");
    let joined = shares(connection, 10, "SELECT count(*) FROM t JOIN (SELECT DISTINCT key + 1 AS k FROM t) ON key = k");
    assert!(joined["hash table"] > 0.1, "{joined:?}");
    let sorted = shares(connection, 10, "SELECT key, name FROM t ORDER BY key");
    assert!(sorted["sort"] > 0.1 && sorted["row page"] > 0.01, "{sorted:?}");
}

/// A column of 16,384 numbers of 8 bytes, 32 bytes at a time: 4,096 loads. Rows selected by a filter are loaded one by
/// one.
fn deltas_and_arrow_files_are_objects(connection: &Connection) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("numbers.arrow").display().to_string();
    connection
        .execute(&format!(
            "CREATE TABLE d (a BIGINT, b BIGINT); INSERT INTO d SELECT i, i % 4096 FROM range(16384) r(i);
             COPY d TO '{file}' (FORMAT arrow)"
        ))
        .unwrap();
    let loads = |query: &str, object: &str| {
        let sql = format!("TRACE (THRESHOLD 1) {query}");
        let batches: Vec<_> = connection.query(&sql).unwrap().collect::<Result<_, _>>().unwrap();
        let rows = batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)));
        let of_object = rows.filter(|(batch, row)| batch.column(0).as_string::<i32>().value(*row).ends_with(object));
        of_object.map(|(batch, row)| batch.column(3).as_primitive::<UInt64Type>().value(row)).sum::<u64>()
    };
    assert_eq!(loads("SELECT sum(a) FROM d", "main.d.(delta)"), 4096);
    assert_eq!(loads("SELECT sum(a) FROM d WHERE b = 7", "main.d.(delta)"), 4096 + 4);
    assert_eq!(loads(&format!("SELECT sum(a) FROM '{file}'"), "numbers.arrow.a"), 4096);
    assert_eq!(loads("SELECT count(*) FROM d", "main.d.(delta)"), 0);
    connection.execute("DROP TABLE d").unwrap();
}

/// The samples have the same distribution as the loads, within 5 percentage points. With several workers, runs of a
/// query differ from each other.
fn samples_have_the_shares_of_all_loads(connection: &Connection) {
    connection.execute("SET threads = 1").unwrap();
    for query in ["SELECT sum(key), sum(few) FROM t", "SELECT key, sum(id) FROM t GROUP BY key"] {
        let all = shares(connection, 1, query);
        for threshold in [10, 100] {
            let sampled = shares(connection, threshold, query);
            for (object, share) in &all {
                let seen = sampled.get(object).copied().unwrap_or(0.0);
                assert!(
                    (share - seen).abs() < 0.05,
                    "{query}: {object} has {share} of all, {seen} of 1 in {threshold}"
                );
            }
        }
    }
    connection.execute("RESET threads").unwrap();
}

fn files_are_whole(connection: &Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet").display().to_string();
    connection.execute(&format!("SET trace_threshold = 50; SET trace = '{path}'")).unwrap();
    assert!(error(connection, "SET trace = 'other.parquet'").contains("RESET trace"));
    assert!(error(connection, "TRACE SELECT 1").contains("running"));
    connection.execute("SELECT sum(id) FROM t; SELECT few, count(*) FROM t GROUP BY few").unwrap();
    connection.execute("RESET trace; RESET trace_threshold").unwrap();
    let samples = number(connection, &format!("SELECT count(*) FROM '{path}'"));
    assert!(samples > 1_000, "{samples} samples");
    // Times ascend within each thread, and rows lie within their row groups.
    let unordered = format!(
        "SELECT count(*) FROM (SELECT time < lag(time) OVER (PARTITION BY thread ORDER BY position) AS is_late
         FROM (SELECT *, row_number() OVER () AS position FROM '{path}')) WHERE is_late"
    );
    assert_eq!(number(connection, &unordered), 0);
    assert_eq!(number(connection, &format!("SELECT count(*) FROM '{path}' WHERE entry >= 600000")), 0);
    // The limit on the file's size.
    connection.execute("SET trace_size_max = '100kB'; SET trace_threshold = 1").unwrap();
    connection
        .execute(&format!("SET trace = '{path}'; SELECT sum(id) FROM t; RESET trace; RESET trace_size_max"))
        .unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 200_000);
    let kept = number(connection, &format!("SELECT count(*) FROM '{path}'"));
    assert!((1..=3_000).contains(&kept), "{kept} samples");
    connection.execute("RESET trace_threshold").unwrap();
}

fn dictionaries_name_their_hottest_entry(connection: &Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("names.parquet").display().to_string();
    // Each row's string is looked up.
    connection.execute(&format!("TRACE (THRESHOLD 20, FILE '{path}') SELECT max(name || key) FROM t")).unwrap();
    let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
    let dictionary = text.find("\"kind\":\"dictionary\"").expect("the dictionary was read");
    let entries = &text[dictionary..][text[dictionary..].find("\"entries\":[{").expect("entries have values")..];
    assert!(entries.split('}').next().unwrap().ends_with("\"value\":\"often\""), "{}", &entries[..200]);
}

fn mistakes_are_told(connection: &Connection) {
    assert!(error(connection, "TRACE (THRESHOLD 0) SELECT 1").contains("THRESHOLD takes a number"));
    assert!(error(connection, "TRACE (SPEED 1) SELECT 1").contains("expected FILE or THRESHOLD"));
    assert!(error(connection, "TRACE DELETE FROM t").contains("expected a query"));
    assert!(error(connection, "SET trace = 'no/such/folder/t.parquet'").contains("no folder"));
    assert!(error(connection, "TRACE SELECT 1 / 0 FROM t").contains("division"));
    // The processor samples, or the error says what is missing, and where.
    connection.execute("SET trace_source = 'hardware'").unwrap();
    if let Err(unavailable) = connection.execute("TRACE SELECT sum(id) FROM t") {
        let text = unavailable.to_string();
        assert!(text.contains("can't sample loads") && text.contains("trace_source = 'software'"), "{text}");
    }
    assert!(error(connection, "SET trace_source = 'both'").contains("'hardware'"));
    connection
        .execute("SET trace_source = 'auto'; TRACE SELECT sum(id) FROM t; SET trace_source = 'software'")
        .unwrap();
    // A failed trace leaves nothing running.
    connection.execute("TRACE SELECT 1").unwrap();
}
