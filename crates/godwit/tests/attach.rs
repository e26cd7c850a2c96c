//! Databases in files that are attached to another one.

#[path = "support/texts.rs"]
mod texts;

use std::path::Path;

use godwit::{Config, Connection, Database};

use texts::texts;

fn open(path: &Path) -> Connection {
    Database::open_with(path, Config { threads: Some(2), ..Config::default() })
        .expect("the file can be opened")
        .connect()
}

/// Returns the only value of a query's result, as text.
fn value(connection: &Connection, sql: &str) -> String {
    let batches: Vec<_> = connection.query(sql).unwrap().collect::<Result<_, _>>().unwrap();
    let batch = batches.iter().find(|batch| batch.num_rows() > 0).expect("there is a row");
    texts(batch, "").remove(0).remove(0)
}

fn error(connection: &Connection, sql: &str) -> String {
    connection.execute(sql).expect_err(sql).to_string()
}

#[test]
fn what_is_written_to_an_attached_file_is_there_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let (first, second) = (folder.path().join("first.godwit"), folder.path().join("second.godwit"));
    {
        let connection = open(&first);
        connection.execute(&format!("ATTACH '{}'", second.display())).unwrap();
        connection
            .execute(
                "CREATE TABLE t AS SELECT 1 AS x; CREATE TABLE second.t AS SELECT i AS x FROM range(20000) r(i);
                 CREATE SCHEMA second.s; CREATE SEQUENCE second.s.q; CREATE VIEW second.s.v AS SELECT max(x) AS m FROM t;
                 CREATE TABLE second.s.u (id BIGINT DEFAULT nextval('second.s.q'), n INTEGER);
                 INSERT INTO second.s.u (n) SELECT x FROM t;",
            )
            .unwrap();
        assert!(
            error(&connection, "BEGIN; INSERT INTO t VALUES (2); DELETE FROM second.t").contains("has changed first")
        );
        connection.execute("ROLLBACK").unwrap();
        assert_eq!(value(&connection, "SELECT m FROM second.s.v"), "19999");
        // A file can only be opened once.
        assert!(connection.execute(&format!("ATTACH '{}' AS again", second.display())).is_err());
        connection.execute("DETACH second").unwrap();
        assert!(error(&connection, "FROM second.t").contains("no table"));
    }
    let connection = open(&second);
    assert_eq!(value(&connection, "SELECT count(*) FROM t"), "20000");
    assert_eq!(value(&connection, "SELECT id FROM s.u"), "1");
    assert_eq!(value(&connection, "SELECT nextval('s.q')"), "2");
    connection.execute(&format!("ATTACH '{}' AS other (READ_ONLY)", first.display())).unwrap();
    assert!(error(&connection, "INSERT INTO other.t VALUES (2)").contains("for reading only"));
    assert_eq!(value(&connection, "SELECT t.x + o.x FROM t, other.t AS o WHERE t.x = 41"), "42");
}

#[test]
fn numbers_of_sequences_are_not_given_twice_by_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.godwit");
    let threads = 4;
    {
        let connection = open(&path);
        connection
            .execute("CREATE SEQUENCE s; CREATE TABLE t (id BIGINT DEFAULT nextval('s') PRIMARY KEY, n BIGINT)")
            .unwrap();
        let database = connection.database();
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    let connection = database.connect();
                    for _ in 0..20 {
                        connection.execute("INSERT INTO t (n) SELECT * FROM range(100)").unwrap();
                    }
                });
            }
        });
        assert_eq!(value(&connection, "SELECT count(DISTINCT id) = 8000 AND max(id) = 8000 FROM t"), "true");
    }
    assert_eq!(value(&open(&path), "SELECT nextval('s')"), "8001");
}
