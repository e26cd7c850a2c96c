//! Lookups by a key whose values are in no order.

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use godwit::{Config, Connection, Database};

/// Several row groups.
const ROWS: i64 = 900_000;

/// Returns the number of row groups that were pruned, according to an analyzed plan.
fn groups_pruned(connection: &Connection, sql: &str) -> usize {
    let plan = connection.query(&format!("EXPLAIN ANALYZE {sql}")).unwrap();
    let lines: Vec<String> = plan
        .flat_map(|batch| {
            let batch = batch.unwrap();
            let column = batch.column(0).as_string::<i32>();
            column.iter().map(|line| line.unwrap().to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let pruned = lines.join("\n");
    let Some((_, number)) = pruned.split_once("row groups pruned: ") else { return 0 };
    number.split(' ').next().unwrap().parse().unwrap()
}

fn values(connection: &Connection, sql: &str) -> Vec<i64> {
    let batches = connection.query(sql).unwrap().map(|batch| batch.unwrap());
    batches.flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

#[test]
fn filters_of_keys_leave_out_row_groups() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { threads: Some(2), memory_limit_bytes: Some(512 << 20), ..Config::default() };
    let database = Database::open_with(folder.path(), config).unwrap();
    let connection = database.connect();
    let script = format!(
        "CREATE TABLE t (k BIGINT PRIMARY KEY, text VARCHAR UNIQUE, v BIGINT);
        CREATE INDEX of_v ON t (v);
        INSERT INTO t SELECT i * 7919 % {ROWS} - 1000, 'text ' || (i * 7919 % {ROWS}) * 2654435761 % 4294967296, i * 31 % {ROWS}
            FROM range({ROWS}) r(i);
        CHECKPOINT;"
    );
    connection.execute(&script).unwrap();
    let groups = values(&connection, "SELECT count(DISTINCT row_group)::BIGINT FROM godwit_segments()")[0] as usize;
    assert!(groups >= 6, "{groups}");
    let by_number = |key: i64| format!("SELECT k FROM t WHERE k = {key}");
    let by_text = |key: i64| format!("SELECT k FROM t WHERE text = 'text {}'", (key + 1000) * 2654435761 % 4294967296);
    let by_index = |key: i64| format!("SELECT v - 1000 FROM t WHERE v = {key} + 1000");
    let queries: [&dyn Fn(i64) -> String; 3] = [&by_number, &by_text, &by_index];
    for query in queries {
        for key in (-1000..ROWS - 1000).step_by(ROWS as usize / 40) {
            assert_eq!(values(&connection, &query(key)), [key], "{}", query(key));
        }
        let pruned = groups_pruned(&connection, &query(77));
        assert!(pruned >= groups - 2, "{pruned} of {groups}: {}", query(77));
    }
    // Rows changed since then are in the delta, and are found only there.
    connection.execute("UPDATE t SET k = k + 10000000 WHERE k = 77; DELETE FROM t WHERE k = 78").unwrap();
    assert!(values(&connection, &by_number(77)).is_empty());
    assert!(values(&connection, &by_number(78)).is_empty());
    assert_eq!(values(&connection, &by_number(10_000_077)), [10_000_077]);
    // No filter applies to anything but equality with one value.
    assert_eq!(values(&connection, "SELECT k FROM t WHERE k = 79 OR k = 80 ORDER BY k"), [79, 80]);
    assert_eq!(values(&connection, "SELECT k FROM t WHERE k = -1000"), [-1000]);
    assert!(values(&connection, "SELECT k FROM t WHERE k = 1.5").is_empty());
}
