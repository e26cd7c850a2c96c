//! Many connections under one small limit: queries wait for their memory, and all of them finish.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use godwit::{Config, Connection, Database, ErrorKind, QueryState, minimum_memory_limit};
use parquet::arrow::ArrowWriter;

const THREADS: usize = 2;
const ROWS: i64 = 1_000_000;

/// Writes a file of distinct keys and strings of 40 bytes.
fn write_table(path: &Path) {
    let batch = |begin: i64| {
        let keys: ArrayRef =
            Arc::new(Int64Array::from_iter_values((begin..begin + 100_000).map(|row| row * 7919 % ROWS)));
        let texts = (begin..begin + 100_000).map(|row| format!("{row:040}"));
        let texts: ArrayRef = Arc::new(StringArray::from_iter_values(texts));
        RecordBatch::try_from_iter([("k", keys), ("t", texts)]).unwrap()
    };
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batch(0).schema(), None).unwrap();
    (0..ROWS).step_by(100_000).for_each(|begin| writer.write(&batch(begin)).unwrap());
    writer.close().unwrap();
}

fn open(folder: &Path) -> Database {
    write_table(&folder.join("facts.parquet"));
    let limit = minimum_memory_limit(THREADS);
    let config = Config { memory_limit_bytes: Some(limit), threads: Some(THREADS), ..Config::default() };
    Database::open_with(folder, config).unwrap()
}

fn number(connection: &Connection, sql: &str) -> i64 {
    let batch = connection.query(sql).unwrap().next().expect("one row").unwrap();
    batch.column(0).as_primitive::<Int64Type>().value(0)
}

fn states(database: &Database) -> Vec<QueryState> {
    database.queries().iter().map(|query| query.state).collect()
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < Duration::from_secs(60), "{what} didn't happen");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Keeps rows of a join, and has a result that isn't read to its end at once.
const LARGE: &str = "SELECT a.k, b.t FROM facts a JOIN facts b ON a.k = b.k";

#[test]
fn hungry_queries_of_many_connections_all_finish() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    let sql = "SELECT count(*) FROM facts a JOIN facts b ON a.k = b.k WHERE a.t <> b.t || 'x'";
    let has_waited = thread::scope(|scope| {
        let queries: Vec<_> = (0..8)
            .map(|_| {
                let connection = database.connect();
                scope.spawn(move || number(&connection, sql))
            })
            .collect();
        let mut has_waited = false;
        while queries.iter().any(|query| !query.is_finished()) {
            has_waited |= states(&database).contains(&QueryState::Waiting);
            thread::sleep(Duration::from_millis(1));
        }
        queries.into_iter().for_each(|query| assert_eq!(query.join().unwrap(), ROWS));
        has_waited
    });
    assert!(has_waited, "eight minima don't fit under the limit");
    assert!(database.memory_statistics().spilled_bytes_total > 0);
    assert!(database.queries().is_empty());
    wait_until("the freeing of temporary files", || database.memory_statistics().temp_file_bytes == 0);
}

#[test]
fn a_waiting_query_can_be_cancelled_and_the_next_one_starts() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    let (first, second, third) = (database.connect(), database.connect(), database.connect());
    let mut running = first.query(LARGE).unwrap();
    let mut rows = running.next().unwrap().unwrap().num_rows();
    let mut waiting = second.query(LARGE).unwrap();
    let dropped = third.query(LARGE).unwrap();
    assert_eq!(states(&database), [QueryState::Running, QueryState::Waiting, QueryState::Waiting]);
    let info = &database.queries()[1];
    assert_eq!((info.connection, info.sql.as_str()), (second.id(), LARGE));
    assert!(info.memory_bytes < 1 << 20, "only what planning took");

    second.cancel();
    assert_eq!(waiting.next().unwrap().unwrap_err().kind(), ErrorKind::Cancelled);
    drop(dropped);
    assert_eq!(states(&database), [QueryState::Running]);

    let last = third.query(LARGE).unwrap();
    assert_eq!(states(&database), [QueryState::Running, QueryState::Waiting]);
    rows += running.by_ref().map(|batch| batch.unwrap().num_rows()).sum::<usize>();
    assert_eq!(rows as i64, ROWS);
    wait_until("the last query starts", || states(&database) == [QueryState::Running]);
    assert_eq!(last.map(|batch| batch.unwrap().num_rows()).sum::<usize>() as i64, ROWS);
    assert!(database.queries().is_empty());
}

#[test]
fn a_connection_does_not_wait_for_itself() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    let (connection, other) = (database.connect(), database.connect());
    let mut outer = connection.query(LARGE).unwrap();
    assert!(outer.next().unwrap().unwrap().num_rows() > 0);
    assert_eq!(number(&connection, "SELECT count(*) FROM (SELECT k FROM facts GROUP BY k)"), ROWS);
    assert_eq!(number(&other, "SELECT k FROM facts WHERE k = 5"), 5, "what keeps no rows starts at once");
}

/// A join whose result is being read gives memory back when a second one arrives, and both return all of their rows.
/// With one worker nothing depends on timing: it gives memory back with the next chunk that it probes.
#[test]
fn a_query_shrinks_when_another_one_arrives() {
    let folder = tempfile::tempdir().unwrap();
    write_table(&folder.path().join("facts.parquet"));
    let config = Config { memory_limit_bytes: Some(160 << 20), threads: Some(1), ..Config::default() };
    let database = Database::open_with(folder.path(), config).unwrap();
    let pinned_bytes = || {
        let statistics = database.memory_statistics();
        statistics.used_bytes.saturating_sub(statistics.evictable_bytes)
    };
    let (first, second) = (database.connect(), database.connect());
    let mut running = first.query(LARGE).unwrap();
    let mut rows = running.next().unwrap().unwrap().num_rows();
    // Its rows are so wide that it has to wait for its reader before it gets past its first table.
    let wide = "SELECT a.t || b.t || a.t, b.t || a.t || b.t, a.k FROM facts a JOIN facts b ON a.k = b.k";
    let mut arriving = second.query(wide).unwrap();
    let mut other_rows = arriving.next().unwrap().unwrap().num_rows();
    assert_eq!(states(&database), [QueryState::Running, QueryState::Running]);
    let before = pinned_bytes();
    // More than the rows that were waiting to be read, less than those found in the first table.
    while rows < ROWS as usize / 4 {
        rows += running.next().unwrap().unwrap().num_rows();
    }
    let after = pinned_bytes();
    assert!(after + (24 << 20) < before, "{before} bytes were pinned, now {after}");
    rows += running.map(|batch| batch.unwrap().num_rows()).sum::<usize>();
    other_rows += arriving.map(|batch| batch.unwrap().num_rows()).sum::<usize>();
    assert_eq!([rows, other_rows], [ROWS as usize; 2]);
    assert!(database.memory_statistics().spilled_bytes_total > 0);
    wait_until("the freeing of temporary files", || database.memory_statistics().temp_file_bytes == 0);
}

/// One thread that reads several results in turn can't finish the first before it has read from the last.
#[test]
fn a_thread_may_read_results_of_several_connections_in_turn() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    let connections: Vec<Connection> = (0..3).map(|_| database.connect()).collect();
    connections[0].execute("SET memory_limit = '256MB'").unwrap();
    let mut results: Vec<_> = connections.iter().map(|connection| connection.query(LARGE).unwrap()).collect();
    assert!(states(&database).contains(&QueryState::Waiting));
    let mut rows = vec![0; results.len()];
    while rows.iter().sum::<usize>() < results.len() * ROWS as usize {
        for (result, rows) in results.iter_mut().zip(&mut rows) {
            *rows += result.next().map_or(0, |batch| batch.unwrap().num_rows());
        }
    }
    assert_eq!(rows, [ROWS as usize; 3]);
}

#[test]
fn joins_of_one_pipeline_share_the_memory_under_every_policy() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    let connection = database.connect();
    let sql = "SELECT count(b.t) + count(c.t) + count(d.t) FROM facts a LEFT JOIN facts b ON a.k = b.k \
               LEFT JOIN facts c ON a.k = c.k LEFT JOIN (SELECT * FROM facts WHERE k < 1000) d ON a.k = d.k";
    for policy in ["weighted", "unweighted", "equality", "equity"] {
        connection.execute(&format!("SET memory_policy = '{policy}'")).unwrap();
        let spilled = database.memory_statistics().spilled_bytes_total;
        assert_eq!(number(&connection, sql), 2 * ROWS + 1000, "{policy}");
        assert!(database.memory_statistics().spilled_bytes_total > spilled, "{policy}");
    }
}

#[test]
fn a_query_keeps_to_its_own_limit() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    database.connect().execute("SET memory_limit = '2GB'").unwrap();
    let sql = "SELECT count(*) FROM facts a JOIN facts b ON a.k = b.k WHERE a.t <> b.t || 'x'";
    for (limit, spills) in [("unlimited", false), ("64MB", true)] {
        for setting in ["query_memory_limit", "connection_memory_limit"] {
            let connection = database.connect();
            connection.execute(&format!("SET {setting} = '{limit}'")).unwrap();
            let plan = connection.query(&format!("EXPLAIN ANALYZE {sql}")).unwrap().next().unwrap().unwrap();
            let is_partial = (0..plan.num_rows())
                .any(|row| plan.column(0).as_string::<i32>().value(row).contains("resident partitions"));
            assert_eq!(is_partial, spills, "{setting} {limit}");
            connection.execute(&format!("RESET {setting}")).unwrap();
        }
    }
}

/// A polling reader sleeps elsewhere: a query waiting behind others whose results aren't read is admitted all the same.
#[test]
fn a_thread_may_poll_one_of_several_results() {
    let folder = tempfile::tempdir().unwrap();
    let database = open(folder.path());
    let connections: Vec<Connection> = (0..3).map(|_| database.connect()).collect();
    connections[0].execute("SET memory_limit = '256MB'").unwrap();
    let mut results: Vec<_> = connections.iter().map(|connection| connection.query(LARGE).unwrap()).collect();
    assert_eq!(states(&database)[2], QueryState::Waiting);
    assert!(results[2].poll_next(&mut Context::from_waker(Waker::noop())).is_pending());
    wait_until("the last query is let in", || states(&database)[2] == QueryState::Running);
}
