//! State that a connection keeps between statements: prepared statements and their plans, a time limit.

use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use godwit::{Connection, Database, ErrorKind, SqlType, Value};

fn connect() -> Connection {
    Database::open(":memory:").unwrap().connect()
}

/// Returns the integers of the first column.
fn integers(rows: godwit::QueryResult) -> Vec<i64> {
    let of_batch = |batch: godwit::Result<arrow_array::RecordBatch>| {
        batch.unwrap().column(0).as_primitive::<Int64Type>().values().to_vec()
    };
    rows.flat_map(of_batch).collect()
}

#[test]
fn prepared_statements_see_what_has_changed() {
    let connection = connect();
    connection.execute("CREATE TABLE t (k BIGINT, v VARCHAR)").unwrap();
    let add = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    let types: Vec<&SqlType> = add.parameters().iter().map(|parameter| &parameter.ty).collect();
    assert_eq!(types, [&SqlType::BigInt, &SqlType::Varchar]);
    let count = connection.prepare("SELECT count(*) FROM t WHERE k >= $1").unwrap();
    for number in 0..5_i64 {
        assert_eq!(integers(add.run(&[number.into(), "x".into()]).unwrap()), [1]);
        assert_eq!(integers(count.run(&[1_i64.into()]).unwrap()), [number]);
    }
    // The plan is cached now, and gives the same result as an uncached one.
    assert_eq!(integers(count.run(&[3_i64.into()]).unwrap()), [2]);
    assert_eq!(integers(count.run(&["3".into()]).unwrap()), [2]);
    assert_eq!(integers(count.run(&[Value::Null]).unwrap()), [0]);
    connection.execute("DELETE FROM t WHERE k = 4").unwrap();
    assert_eq!(integers(count.run(&[3_i64.into()]).unwrap()), [1]);
    // A transaction sees its own rows; it doesn't use others' plans.
    connection.execute("BEGIN").unwrap();
    add.run(&[9_i64.into(), Value::Null]).unwrap().for_each(drop);
    assert_eq!(integers(count.run(&[3_i64.into()]).unwrap()), [2]);
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(integers(count.run(&[3_i64.into()]).unwrap()), [1]);
    connection.execute("ALTER TABLE t DROP COLUMN v").unwrap();
    let error = add.run(&[1_i64.into(), "x".into()]).map(drop).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User, "{error}");
    connection.execute("DROP TABLE t").unwrap();
    assert!(count.run(&[1_i64.into()]).map(drop).unwrap_err().message().contains("no table or view named t"));
}

#[test]
fn kept_plans_rely_on_nothing_that_rows_decide() {
    let connection = connect();
    connection.execute("CREATE TABLE t (k BIGINT PRIMARY KEY); INSERT INTO t SELECT range FROM range(5)").unwrap();
    connection.execute("CREATE TABLE u AS SELECT range AS k FROM range(5000)").unwrap();
    // All keys are below 100 when it is planned.
    let below = connection.prepare("SELECT count(*) FROM t WHERE k < 100 AND k >= $1").unwrap();
    let joined = connection.prepare("SELECT count(*) FROM t JOIN u USING (k) WHERE t.k < 100 AND u.k >= $1").unwrap();
    for statement in [&below, &joined] {
        assert_eq!(integers(statement.run(&[1_i64.into()]).unwrap()), [4]);
    }
    connection.execute("INSERT INTO t VALUES (50), (200)").unwrap();
    for statement in [&below, &joined] {
        assert_eq!(integers(statement.run(&[1_i64.into()]).unwrap()), [5]);
    }
    // Enough rows for joins to be reordered.
    connection.execute("INSERT INTO t SELECT 1000 + range FROM range(20000)").unwrap();
    connection.execute("DELETE FROM u WHERE k = 3").unwrap();
    assert_eq!(integers(below.run(&[1_i64.into()]).unwrap()), [5]);
    assert_eq!(integers(joined.run(&[1_i64.into()]).unwrap()), [4]);
    // A table of the same name is a different one.
    connection.execute("DROP TABLE t; CREATE TABLE t (k BIGINT PRIMARY KEY); INSERT INTO t VALUES (7)").unwrap();
    assert_eq!(integers(below.run(&[1_i64.into()]).unwrap()), [1]);
    connection.execute("CREATE TEMPORARY TABLE t AS SELECT 8::BIGINT AS k UNION ALL SELECT 9").unwrap();
    assert_eq!(integers(below.run(&[1_i64.into()]).unwrap()), [2]);
}

#[test]
fn scans_are_pruned_by_values_of_parameters() {
    let connection = connect();
    connection.execute("CREATE TABLE t (k BIGINT PRIMARY KEY); INSERT INTO t SELECT range FROM range(300000)").unwrap();
    let explain = connection.prepare("EXPLAIN ANALYZE SELECT * FROM t WHERE k = ?").unwrap();
    let lines: Vec<String> = explain
        .run(&[200_000_i64.into()])
        .unwrap()
        .flat_map(|batch| {
            let batch = batch.unwrap();
            batch.column(0).as_string::<i32>().iter().map(|line| line.unwrap().to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let text = lines.join("\n");
    assert!(text.contains("k = 200000") && text.contains("row groups pruned"), "{text}");
}

#[test]
fn prepared_statements_refuse_what_they_cannot_take() {
    let connection = connect();
    let twice = connection.prepare("SELECT $1::BIGINT * 2").unwrap();
    assert_eq!(integers(twice.run(&[21_i64.into()]).unwrap()), [42]);
    assert!(twice.run(&[]).map(drop).unwrap_err().message().contains("takes 1 values, 0 were given"));
    assert!(twice.run(&["many".into()]).map(drop).unwrap_err().message().contains("many"));
    assert!(connection.prepare("SELECT 1; SELECT 2").map(drop).is_err());
    assert!(connection.prepare("COMMIT").map(drop).unwrap_err().message().contains("can't be prepared"));
    assert!(connection.query("SELECT $1").map(drop).unwrap_err().message().contains("parameter"));
}

#[test]
fn statements_end_with_their_time() {
    let connection = connect();
    connection.execute("SET statement_timeout = '100ms'").unwrap();
    let started = Instant::now();
    let ended = connection
        .query("SELECT count(*) FROM range(100000000000) a(x) WHERE x * 7 % 13 = 5")
        .and_then(|mut rows| rows.try_for_each(|batch| batch.map(drop)));
    let error = ended.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(error.message().contains("statement_timeout"), "{error}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    assert!(connection.execute("SET statement_timeout = 'soon'").unwrap_err().message().contains("'soon' is no time"));
    connection.execute("SET statement_timeout = 'unlimited'").unwrap();
    assert_eq!(integers(connection.query("SELECT count(*) FROM range(1000)").unwrap()), [1000]);
}

#[test]
fn prepared_writes_change_the_rows_that_there_are() {
    let connection = connect();
    connection.execute("CREATE TABLE t (k BIGINT PRIMARY KEY, v VARCHAR, CHECK (k < 100))").unwrap();
    let add = connection.prepare("INSERT INTO t VALUES (?, ?)").unwrap();
    let change = connection.prepare("UPDATE t SET v = v || $2 WHERE k = $1 RETURNING length(v)").unwrap();
    let put = connection.prepare("INSERT INTO t VALUES ($1, 'new') ON CONFLICT (k) DO UPDATE SET v = 'old'").unwrap();
    let remove = connection.prepare("DELETE FROM t WHERE k = ?").unwrap();
    let others = connection.prepare("DELETE FROM t WHERE k < (SELECT max(k) FROM t) AND v = ?").unwrap();
    for number in 0..10_i64 {
        assert_eq!(integers(add.run(&[number.into(), "x".into()]).unwrap()), [1]);
        let lengths = change.run(&[number.into(), "yz".into()]).unwrap();
        assert_eq!(lengths.map(|batch| batch.unwrap().num_rows()).sum::<usize>(), 1);
        assert_eq!(integers(change.run(&[(number + 1).into(), "?".into()]).unwrap()), [0_i64; 0]);
    }
    let count =
        |condition: &str| integers(connection.query(&format!("SELECT count(*) FROM t WHERE {condition}")).unwrap())[0];
    assert_eq!(count("v = 'xyz'"), 10);
    assert_eq!(integers(remove.run(&[3_i64.into()]).unwrap()), [1]);
    assert_eq!(integers(remove.run(&[3_i64.into()]).unwrap()), [0]);
    for number in [3_i64, 3, 4] {
        assert_eq!(integers(put.run(&[number.into()]).unwrap()), [1]);
    }
    assert_eq!(count("v = 'old'"), 2);
    assert_eq!(integers(others.run(&["old".into()]).unwrap()), [2]);
    let collect = |rows: godwit::QueryResult| rows.collect::<godwit::Result<Vec<_>>>();
    assert!(collect(add.run(&[5_i64.into(), "again".into()]).unwrap()).is_err(), "a key is there once");
    assert!(collect(add.run(&[100_i64.into(), "large".into()]).unwrap()).is_err(), "a check fails");
    // A transaction's changes are visible within it, and not after it is rolled back.
    connection.execute("BEGIN").unwrap();
    assert_eq!(integers(remove.run(&[5_i64.into()]).unwrap()), [1]);
    assert_eq!(integers(remove.run(&[5_i64.into()]).unwrap()), [0]);
    connection.execute("ROLLBACK").unwrap();
    assert_eq!(integers(remove.run(&[5_i64.into()]).unwrap()), [1]);
    connection.execute("ALTER TABLE t DROP CONSTRAINT t_check").unwrap_or_default();
    connection.execute("ALTER TABLE t ADD COLUMN w INTEGER DEFAULT 9").unwrap();
    assert_eq!(integers(remove.run(&[6_i64.into()]).unwrap()), [1]);
    assert_eq!(integers(put.run(&[50_i64.into()]).unwrap()), [1]);
    assert_eq!(count("w = 9 AND v = 'new'"), 1);
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls a result; returns the number of its rows, or its error.
fn polled(mut rows: godwit::QueryResult) -> godwit::Result<usize> {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut count = 0;
    loop {
        match rows.poll_next(&mut context) {
            Poll::Ready(Some(batch)) => count += batch?.num_rows(),
            Poll::Ready(None) => return Ok(count),
            Poll::Pending => std::thread::park(),
        }
    }
}

#[test]
fn results_can_be_polled() {
    let connection = connect();
    assert_eq!(
        polled(connection.query("SELECT i FROM range(3000000) AS t(i) WHERE i % 3 = 0").unwrap()).unwrap(),
        1_000_000
    );
    assert_eq!(polled(connection.query("SELECT i FROM range(10) AS t(i) ORDER BY -i").unwrap()).unwrap(), 10);
    let error = polled(connection.query("SELECT 1 // (5 - i) FROM range(10) AS t(i)").unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::User, "{error}");
    // Changes are visible once the end has been reached; rows of a statement that fails at its end aren't returned.
    connection.execute("CREATE TABLE t (k INTEGER PRIMARY KEY)").unwrap();
    assert_eq!(
        polled(connection.query("INSERT INTO t SELECT * FROM range(100000) RETURNING k").unwrap()).unwrap(),
        100_000
    );
    assert!(polled(connection.query("INSERT INTO t VALUES (7) RETURNING k").unwrap()).is_err());
    assert_eq!(integers(connection.query("SELECT count(*) FROM t").unwrap()), [100_000]);
}

#[test]
fn rejected_rows_are_those_of_the_connection() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.csv");
    std::fs::write(&path, "a,b\n1,2\nx,3\n4\n").unwrap();
    let database = Database::open(":memory:").unwrap();
    let (one, other) = (database.connect(), database.connect());
    let read =
        format!("SELECT count(a) FROM read_csv('{}', delim = ',', types = ['BIGINT'], header = true", path.display());
    assert_eq!(integers(one.query(&format!("{read}, store_rejects = true)")).unwrap()), [1]);
    assert_eq!(integers(other.query(&format!("{read}, rejects_table = 'wrong')")).unwrap()), [1]);
    let count = |connection: &Connection, table: &str| {
        connection.query(&format!("SELECT count(*) FROM {table}")).map(integers).map_err(|error| error.to_string())
    };
    assert_eq!(count(&one, "reject_errors"), Ok(vec![2]));
    assert_eq!(count(&one, "reject_scans"), Ok(vec![1]));
    assert!(count(&one, "wrong").unwrap_err().contains("no table or view named wrong"));
    assert_eq!(count(&other, "reject_errors"), Ok(vec![0]));
    assert_eq!(count(&other, "wrong"), Ok(vec![2]));
    // A table of the name comes first, and rows can't be rejected into it.
    other.execute("CREATE TABLE wrong AS SELECT 1 AS i").unwrap();
    assert_eq!(count(&other, "wrong"), Ok(vec![1]));
    let error = other.query(&format!("{read}, rejects_table = 'wrong')")).err().expect("the name is taken").to_string();
    assert!(error.contains("there is a table or view of that name"), "{error}");
}
