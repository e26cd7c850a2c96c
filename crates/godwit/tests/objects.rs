//! SQL over files in a simulated S3: statements, their requests, and what remains after failures.
#![cfg(feature = "objects")]

#[path = "../../godwit-objects/tests/support/mod.rs"]
mod server;

use std::thread;
use std::time::{Duration, Instant};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use godwit::{Config, Connection, Database, Error, ErrorKind};
use server::{Fault, Server};

fn connect(server: &Server) -> Connection {
    let database = Database::open_with(":memory:", Config::default().with_threads(2).unwrap()).unwrap();
    let connection = database.connect();
    let sql = format!(
        "SET s3_endpoint = '{}'; SET s3_access_key_id = 'the-key'; SET s3_secret_access_key = 'the-secret'",
        server.url()
    );
    connection.execute(&sql).unwrap();
    connection
}

/// Returns the only number of a result.
fn number(connection: &Connection, sql: &str) -> i64 {
    let result = connection.query(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let batches: Vec<_> = result.map(|batch| batch.unwrap_or_else(|error| panic!("{sql}: {error}"))).collect();
    batches.iter().find(|batch| batch.num_rows() > 0).expect("a row").column(0).as_primitive::<Int64Type>().value(0)
}

fn error(connection: &Connection, sql: &str) -> Error {
    connection.execute(sql).expect_err(sql)
}

/// Returns all text of a result.
fn text(connection: &Connection, sql: &str) -> String {
    let batches: Vec<_> = connection.query(sql).unwrap().map(Result::unwrap).collect();
    format!("{batches:?}")
}

#[test]
fn all_formats_are_written_and_read() {
    let server = Server::start();
    let connection = connect(&server);
    for ending in ["parquet", "csv", "json", "arrow"] {
        let sql = format!("COPY (SELECT i, i * 2 AS j FROM range(100000) t(i)) TO 's3://b/out/x.{ending}'");
        connection.execute(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert!(server.get(&format!("/b/out/x.{ending}")).is_some());
        let sql = format!("SELECT sum(j)::BIGINT FROM 's3://b/out/x.{ending}' WHERE i >= 10");
        assert_eq!(number(&connection, &sql), 9_999_900_000 - 90, "{ending}");
    }
    assert_eq!(number(&connection, "SELECT count(*) FROM read_csv('s3://b/out/x.csv')"), 100_000);
    let url = format!("{}/b/out/x.parquet?X-Amz-Signature=the-signature", server.url());
    assert_eq!(number(&connection, &format!("SELECT count(*) FROM read_parquet('{url}')")), 100_000);
    assert_eq!(number(&connection, &format!("SELECT count(*) FROM '{url}'")), 100_000);
    assert!(!text(&connection, &format!("EXPLAIN SELECT * FROM '{url}'")).contains("the-signature"));
    connection.execute("CREATE TABLE t(i BIGINT, j BIGINT); COPY t FROM 's3://b/out/x.csv'").unwrap();
    assert_eq!(number(&connection, "SELECT count(*) FROM t"), 100_000);
    connection.execute("EXPORT DATABASE 's3://b/export' (FORMAT parquet)").unwrap();
    connection.execute("DROP TABLE t; IMPORT DATABASE 's3://b/export'").unwrap();
    assert_eq!(number(&connection, "SELECT count(*) FROM t"), 100_000);
}

#[test]
fn patterns_find_objects_by_their_names() {
    let server = Server::start();
    let connection = connect(&server);
    for (name, rows) in [("a/1", 10), ("a/2", 20), ("a/deep/3", 40), ("b/1", 80)] {
        connection.execute(&format!("COPY (SELECT * FROM range({rows})) TO 's3://b/{name}.parquet'")).unwrap();
    }
    server.take_requests();
    for (pattern, rows, requests) in [
        ("s3://b/a/*.parquet", 30, 3),
        ("s3://b/a/[2-9].parquet", 20, 2),
        ("s3://b/*/1.parquet", 90, 5),
        ("s3://b/**/*.parquet", 150, 0),
    ] {
        assert_eq!(number(&connection, &format!("SELECT count(*) FROM '{pattern}'")), rows, "{pattern}");
        let seen = server.take_requests();
        assert!(requests == 0 || seen.len() <= requests, "{pattern}: {seen:#?}");
    }
    assert!(error(&connection, "FROM 's3://b/x*/*.parquet'").to_string().contains("no file matches"));
    let error = error(&connection, "FROM 's3://b/a/9.parquet'").to_string();
    assert!(error.contains("there is no file s3://b/a/9.parquet"), "{error}");
}

#[test]
fn few_requests_are_made_and_none_for_what_is_known() {
    let server = Server::start();
    let connection = connect(&server);
    connection.execute("COPY (SELECT i, i % 7 AS g FROM range(300000) t(i)) TO 's3://b/x.parquet'").unwrap();
    server.take_requests();
    let sql = "SELECT sum(g)::BIGINT FROM 's3://b/x.parquet' WHERE i < 250000";
    let sum = number(&connection, sql);
    let first = server.take_requests();
    assert!(first.len() <= 10, "{first:#?}");
    assert!(first.iter().all(|request| request.headers.contains_key("authorization")));
    let whole = server.get("/b/x.parquet").unwrap().len();
    assert!(first.iter().map(|request| request.bytes).sum::<usize>() <= 2 * whole + (256 << 10));
    assert_eq!(number(&connection, "SELECT count(*) FROM 's3://b/x.parquet'"), 300_000);
    let counted = server.take_requests();
    assert_eq!((counted.len(), counted[0].bytes), (1, 0), "it is asked whether it is still the same");

    connection.execute("COPY (SELECT i, 1 AS g FROM range(300000) t(i)) TO 's3://b/x.parquet'").unwrap();
    assert_ne!(number(&connection, sql), sum);
}

#[test]
fn failed_copies_leave_nothing() {
    let server = Server::start();
    let connection = connect(&server);
    let wide =
        "SELECT i, digits FROM (SELECT i, repeat((i * 7919 % 1000003)::VARCHAR, 40) AS digits FROM range(600000) t(i))";
    // When the last row comes, many more parts have begun than may be in flight.
    let sql = format!("COPY ({wide} WHERE 1 / (i - 599999) < 5) TO 's3://b/x.csv'");
    assert!(error(&connection, &sql).to_string().contains("division"));
    assert!(server.take_requests().iter().any(|request| request.target.contains("partNumber")), "some parts were sent");
    assert_eq!((server.open_uploads(), server.get("/b/x.csv")), (0, None));
    server.fail_always(Some(Fault::Status(403)));
    assert!(error(&connection, "COPY (SELECT 1 AS a) TO 's3://b/x.csv'").to_string().contains("403"));
    server.fail_always(None);
    assert_eq!((server.open_uploads(), server.get("/b/x.csv")), (0, None));
    connection.execute(&format!("COPY ({wide} WHERE i < 200000) TO 's3://b/x.csv'")).unwrap();
    assert_eq!(number(&connection, "SELECT count(*) FROM 's3://b/x.csv'"), 200_000);
    assert!(
        error(&connection, &format!("COPY (SELECT 1 AS a) TO '{}/x.csv'", server.url())).to_string().contains("read")
    );
}

#[test]
fn waits_end_with_the_statement() {
    let server = Server::start();
    let connection = connect(&server);
    connection.execute("COPY (SELECT * FROM range(300000)) TO 's3://b/x.parquet'").unwrap();
    number(&connection, "SELECT count(*) FROM 's3://b/x.parquet'");
    let scan = "SELECT sum(range)::BIGINT FROM 's3://b/x.parquet'";
    // The second request of the scan, and the lookup of an unknown file.
    for (sql, answered) in [(scan, 1), ("SELECT count(*) FROM 's3://b/y.parquet'", 0)] {
        let start = || {
            (0..answered).for_each(|_| server.pass_next());
            server.fail_always(Some(Fault::Hang));
            Instant::now()
        };
        connection.execute("SET statement_timeout = '300ms'").unwrap();
        let started = start();
        let timeout = error(&connection, sql);
        assert_eq!(timeout.kind(), ErrorKind::Cancelled, "{timeout}");
        assert!(started.elapsed() < Duration::from_millis(450), "{:?}", started.elapsed());
        connection.execute("SET statement_timeout = 'unlimited'").unwrap();
        let started = start();
        let failed = thread::scope(|scope| {
            scope.spawn(|| {
                thread::sleep(Duration::from_millis(200));
                connection.cancel();
            });
            error(&connection, sql)
        });
        assert_eq!(failed.kind(), ErrorKind::Cancelled, "{failed}");
        assert!(started.elapsed() < Duration::from_millis(350), "{:?}", started.elapsed());
    }
    server.fail_always(None);
    assert_eq!(number(&connection, "SELECT count(*) FROM 's3://b/x.parquet'"), 300_000);
}

#[test]
fn settings_are_checked_and_secrets_not_shown() {
    let server = Server::start();
    let connection = connect(&server);
    connection
        .execute("SET s3_session_token = 'the-secret-token'; SET http_bearer_token = 'the-secret-bearer'")
        .unwrap();
    let shown = text(&connection, "SELECT * FROM godwit_settings()") + &text(&connection, "SHOW s3_secret_access_key");
    assert!(!shown.contains("the-secret") && shown.contains("not shown") && shown.contains("the-key"), "{shown}");
    connection.execute("SET s3_endpoint = 'http://user:the-secret@localhost:1'").unwrap();
    let shown = text(&connection, "SHOW s3_endpoint");
    assert!(!shown.contains("the-secret") && shown.contains("localhost"), "{shown}");
    connection.execute(&format!("SET s3_endpoint = '{}'", server.url())).unwrap();
    assert!(error(&connection, "SET s3_url_style = 'x'").to_string().contains("'path' or 'vhost'"));
    assert!(error(&connection, "FROM 'ftp://h/x.parquet'").to_string().contains("ftp://"));
    server.fail_always(Some(Fault::Status(403)));
    let url = format!("{}/x.parquet?sig=the-secret-signature", server.url());
    for sql in
        [format!("FROM '{url}'"), format!("FROM read_csv('{url}')"), "FROM 's3://u:the-secret@b/x.parquet'".into()]
    {
        let error = error(&connection, &sql);
        assert!(!format!("{error} {error:?}").contains("the-secret"), "{error}");
    }
    connection.execute("RESET s3_secret_access_key; RESET s3_access_key_id").unwrap();
}

#[test]
fn broken_answers_are_read_again_and_changes_noticed() {
    let server = Server::start();
    let connection = connect(&server);
    connection
        .execute("COPY (SELECT i, i * 7919 % 1000003 AS h FROM range(300000) t(i)) TO 's3://b/x.parquet'")
        .unwrap();
    number(&connection, "SELECT count(*) FROM 's3://b/x.parquet'");
    for fault in [Fault::Short, Fault::Close, Fault::Status(500)] {
        server.pass_next();
        server.fail_next(fault);
        let sql = "SELECT count(*) FROM 's3://b/x.parquet' WHERE h >= 500000";
        let count = number(&connection, sql);
        assert!((140_000..160_000).contains(&count), "{fault:?}: {count}");
    }
}
