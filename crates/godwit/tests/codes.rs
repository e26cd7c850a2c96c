//! Groups, joins, sorts and windows on the codes of text columns: what plans show, and that codes are spilled.

#[path = "support/texts.rs"]
mod texts;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use godwit::{Config, Connection, Database};

use texts::texts;

/// Number of distinct names: too many for a direct array of strings, and enough for codes of both 16 and 32 bits.
const NAMES: u64 = 50_000;
const OTHERS: u64 = 80_000;

fn run(connection: &Connection, sql: &str) -> Vec<RecordBatch> {
    connection.query(sql).unwrap().map(Result::unwrap).collect()
}

fn plan(connection: &Connection, sql: &str) -> String {
    let batches = run(connection, &format!("EXPLAIN {sql}"));
    let lines =
        |batch: &RecordBatch| batch.column(0).as_string::<i32>().iter().flatten().collect::<Vec<_>>().join("\n");
    batches.iter().map(lines).collect::<Vec<_>>().join("\n")
}

/// Returns the rows as text.
fn rows(connection: &Connection, sql: &str) -> Vec<String> {
    run(connection, sql).iter().flat_map(|batch| texts(batch, "")).map(|row| row.join("|")).collect()
}

fn make_tables(connection: &Connection, rows: u64) {
    let name = |values: u64, factor: u64| format!("'a name that is long, number ' || (i * {factor} % {values})");
    for (table, values, factor) in [("t", NAMES, 7919), ("u", OTHERS, 104_729)] {
        let name = name(values, factor);
        run(connection, &format!("CREATE TABLE {table} AS SELECT i AS n, {name} AS name FROM range({rows}) r(i)"));
    }
}

#[test]
fn plans_say_what_works_on_codes() {
    let connection =
        Database::open_with(":memory:", Config { threads: Some(2), ..Config::default() }).unwrap().connect();
    make_tables(&connection, 400_000);
    let queries = [
        ("SELECT name, count(*) FROM t GROUP BY name", "HashAggregate by t.name (codes)"),
        ("SELECT DISTINCT name FROM t", "(codes)"),
        ("SELECT n, name FROM t ORDER BY name, n", "Sort by t.name ASC NULLS LAST, t.n ASC NULLS LAST (codes)"),
        ("SELECT count(*) FROM t JOIN u ON t.name = u.name", "HashJoin Inner t.name = u.name (codes)"),
        ("SELECT t.name, u.name FROM t JOIN u ON t.n = u.n", "build: Compress"),
        ("SELECT rank() OVER (PARTITION BY name ORDER BY n) FROM t", "Window by t.name"),
    ];
    let has_codes = |sql: &str, line: &str| {
        let plan = plan(&connection, sql);
        plan.lines().any(|of_plan| of_plan.contains(line) && of_plan.contains("(codes)"))
    };
    let all_have_codes = || queries.iter().filter(|(sql, line)| has_codes(sql, line)).count();
    assert_eq!(all_have_codes(), queries.len());
    // Also while the delta has known values and new ones.
    run(&connection, "INSERT INTO t SELECT n + 1000000, name FROM t LIMIT 1000");
    run(&connection, "INSERT INTO u SELECT n + 1000000, name FROM u LIMIT 1000");
    assert_eq!(all_have_codes(), queries.len());
    run(&connection, "SET compressed_materialization = false");
    assert_eq!(all_have_codes(), 0);
    run(&connection, "SET compressed_materialization = true");
    run(&connection, "INSERT INTO t VALUES (2000000, 'new')");
    run(&connection, "INSERT INTO u VALUES (2000000, 'new')");
    assert_eq!(all_have_codes(), queries.len());
    run(&connection, "CHECKPOINT");
    assert_eq!(all_have_codes(), queries.len());
}

#[test]
fn codes_are_spilled_in_place_of_strings() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config { threads: Some(2), memory_limit_bytes: Some(100 << 20), ..Config::default() };
    let database = Database::open_with(folder.path().join("x.godwit"), config).unwrap();
    let connection = database.connect();
    make_tables(&connection, 1_200_000);
    let queries = [
        "SELECT sum(g % 1000), count(DISTINCT g) FROM (SELECT name, n % 8 AS g, count(*) FROM t GROUP BY ALL)",
        "SELECT max(name), sum(r % 7) FROM (SELECT name, row_number() OVER (PARTITION BY n % 2 ORDER BY name, n) r FROM t)",
        "SELECT count(*), min(t.name), max(u.name) FROM t JOIN u ON t.name = u.name AND t.n % 8 = u.n % 8",
        "SELECT name, n FROM (SELECT name, n FROM t ORDER BY name DESC, n OFFSET 1199990)",
    ];
    let mut spilled = [0, 0];
    for sql in queries {
        let mut results = Vec::new();
        for (at, compressed) in [(0, "true"), (1, "false")] {
            run(&connection, &format!("SET compressed_materialization = {compressed}"));
            let before = database.memory_statistics().spilled_bytes_total;
            results.push(rows(&connection, sql));
            spilled[at] += database.memory_statistics().spilled_bytes_total - before;
        }
        assert_eq!(results[0], results[1], "{sql}");
    }
    assert!(spilled[1] > 0, "strings don't fit");
    assert!(spilled[0] < spilled[1] / 2, "{spilled:?} bytes spilled with and without codes");
}
