//! Lookups by a key whose values are in no order.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use godwit::{Config, Connection, Database};

/// Several row groups.
const ROWS: i64 = 900_000;

/// Rows that are read together.
const WINDOW_ROWS: i64 = 2_048;

/// Returns the number of row groups or rows that were pruned, according to an analyzed plan.
fn pruned(connection: &Connection, what: &str, sql: &str) -> i64 {
    let plan = connection.query(&format!("EXPLAIN ANALYZE {sql}")).unwrap();
    let lines: Vec<String> = plan
        .flat_map(|batch| {
            let batch = batch.unwrap();
            let column = batch.column(0).as_string::<i32>();
            column.iter().map(|line| line.unwrap().to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let lines = lines.join("\n");
    let Some((_, number)) = lines.split_once(&format!("{what} pruned: ")) else { return 0 };
    number.split(' ').next().unwrap().parse().unwrap()
}

fn values(connection: &Connection, sql: &str) -> Vec<i64> {
    let batches = connection.query(sql).unwrap().map(|batch| batch.unwrap());
    batches.flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

#[test]
fn only_windows_that_may_have_a_key_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { threads: Some(2), memory_limit_bytes: Some(512 << 20), ..Config::default() };
    let database = Database::open_with(folder.path(), config).unwrap();
    let connection = database.connect();
    let script = format!(
        "CREATE TABLE t (k BIGINT PRIMARY KEY, text VARCHAR UNIQUE, v BIGINT, a BIGINT, b VARCHAR, UNIQUE (b, a));
        CREATE INDEX of_v ON t (v);
        INSERT INTO t SELECT i * 7919 % {ROWS} - 1000, 'text ' || (i * 7919 % {ROWS}) * 2654435761 % 4294967296, i * 31 % {ROWS},
            i * 7919 % {ROWS} % 1000, 'b ' || (i * 7919 % {ROWS} // 1000)
            FROM range({ROWS}) r(i);
        CHECKPOINT;"
    );
    connection.execute(&script).unwrap();
    let groups = values(&connection, "SELECT count(DISTINCT row_group)::BIGINT FROM godwit_segments()")[0];
    assert!(groups >= 6, "{groups}");
    let by_number = |key: i64| format!("SELECT k FROM t WHERE k = {key}");
    let by_text = |key: i64| format!("SELECT k FROM t WHERE text = 'text {}'", (key + 1000) * 2654435761 % 4294967296);
    let by_index = |key: i64| format!("SELECT v - 1000 FROM t WHERE v = {key} + 1000");
    let by_two = |key: i64| {
        let place = key + 1000;
        format!("SELECT k FROM t WHERE a = {} AND b = 'b {}'", place % 1000, place / 1000)
    };
    let queries: [&dyn Fn(i64) -> String; 4] = [&by_number, &by_text, &by_index, &by_two];
    for query in queries {
        for key in (-1000..ROWS - 1000).step_by(ROWS as usize / 40) {
            assert_eq!(values(&connection, &query(key)), [key], "{}", query(key));
        }
        let left_out = pruned(&connection, "row groups", &query(77));
        assert_eq!(left_out, groups - 1, "{}", query(77));
        let left = ROWS - pruned(&connection, "    rows", &query(77));
        assert!(left <= WINDOW_ROWS, "{left} rows of {}", query(77));
    }
    // So are few keys: of a list, of a join, of rows to insert.
    let texts = [77, 500_000].map(|key| format!("'text {}'", (key + 1000) * 2654435761_i64 % 4294967296));
    let few = [
        "SELECT k FROM t WHERE k IN (77, 500000)".to_owned(),
        format!("SELECT k FROM t WHERE text IN ({}, {})", texts[0], texts[1]),
        "SELECT k FROM t JOIN (VALUES (77), (500000), (-5000)) s(x) ON k = x".to_owned(),
        format!("SELECT k FROM t JOIN (VALUES ({}), ({})) s(x) ON text = x", texts[0], texts[1]),
        "SELECT k FROM t WHERE k IN (SELECT x FROM (VALUES (77), (500000)) s(x))".to_owned(),
    ];
    for query in few {
        let mut found = values(&connection, &query);
        found.sort_unstable();
        assert_eq!(found, [77, 500_000], "{query}");
        let left = ROWS - pruned(&connection, "    rows", &query);
        assert!(left <= 2 * WINDOW_ROWS, "{left} rows of {query}");
    }
    let insert = "INSERT INTO t (k, v) VALUES (77, 0) ON CONFLICT (k) DO UPDATE SET v = t.v";
    let left = ROWS - pruned(&connection, "    rows", insert);
    assert!(left <= WINDOW_ROWS, "{left} rows of {insert}");
    assert_eq!(values(&connection, "SELECT count(*)::BIGINT FROM t WHERE k = 77"), [1]);
    // Rows changed since then are in the delta, and are found only there.
    connection.execute("UPDATE t SET k = k + 10000000 WHERE k = 77; DELETE FROM t WHERE k = 78").unwrap();
    assert!(values(&connection, &by_number(77)).is_empty());
    assert!(values(&connection, &by_number(78)).is_empty());
    assert_eq!(values(&connection, &by_number(10_000_077)), [10_000_077]);
    assert_eq!(values(&connection, "SELECT k FROM t WHERE k = 79 OR k = 80 ORDER BY k"), [79, 80]);
    assert_eq!(values(&connection, "SELECT k FROM t WHERE k = -1000"), [-1000]);
    assert!(values(&connection, "SELECT k FROM t WHERE k = 1.5").is_empty());
}
