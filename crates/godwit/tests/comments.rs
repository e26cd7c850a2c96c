//! COMMENT ON is stored like other definitions: in the log, and in checkpoints.

#[path = "support/texts.rs"]
mod texts;

use std::fs;
use std::path::{Path, PathBuf};

use godwit::{Connection, Database};

use texts::texts;

fn open(path: &Path) -> Connection {
    Database::open(path).expect("the file can be opened").connect()
}

/// Returns all comments of the database, one per line.
fn comments(connection: &Connection) -> Vec<String> {
    let sql = "SELECT concat_ws(' ', object_name, object_type, column_name, comment) FROM information_schema.comments
               ORDER BY 1";
    connection.query(sql).unwrap().flat_map(|batch| texts(&batch.unwrap(), "").concat()).collect()
}

/// Copies a database as it would be if the process ended now.
fn copied(path: &Path, name: &str) -> PathBuf {
    let copy = path.with_file_name(name);
    for end in ["", ".wal"] {
        let file = |path: &Path| PathBuf::from(format!("{}{end}", path.display()));
        if file(path).exists() {
            fs::copy(file(path), file(&copy)).unwrap();
        }
    }
    copy
}

#[test]
fn comments_outlive_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.godwit");
    let connection = open(&path);
    connection
        .execute(
            "CREATE TABLE t (i INTEGER DEFAULT 7); INSERT INTO t VALUES (1); CREATE SCHEMA s; CREATE SEQUENCE s.q;
             CREATE VIEW v AS FROM t; CREATE VIEW s.w(x) AS FROM t; CREATE TYPE e AS ENUM ('a'); CREATE MACRO m(x) AS x;
             COMMENT ON TABLE t IS 'a table'; COMMENT ON COLUMN t.i IS 'its column'; COMMENT ON VIEW v IS 'a view';
             COMMENT ON COLUMN s.w.x IS 'a view''s column'; COMMENT ON SCHEMA s IS 'a schema';
             COMMENT ON TYPE e IS 'a type'; COMMENT ON MACRO m IS 'a macro'; SELECT nextval('s.q');
             COMMENT ON SEQUENCE s.q IS 'a sequence'; SELECT nextval('s.q'); CREATE TABLE s.t (i INTEGER);
             COMMENT ON TABLE s.t IS 'gone'; COMMENT ON TABLE s.t IS NULL;",
        )
        .unwrap();
    let expected = [
        "e TYPE a type",
        "m MACRO a macro",
        "q SEQUENCE a sequence",
        "s SCHEMA a schema",
        "t COLUMN i its column",
        "t TABLE a table",
        "v VIEW a view",
        "w COLUMN x a view's column",
    ];
    assert_eq!(comments(&connection), expected);
    let of_log = open(&copied(&path, "log.godwit"));
    assert_eq!(comments(&of_log), expected, "of the log");
    connection.execute("CHECKPOINT").unwrap();
    let of_checkpoint = open(&copied(&path, "checkpoint.godwit"));
    assert_eq!(comments(&of_checkpoint), expected, "of the checkpoint");
    for connection in [of_log, of_checkpoint] {
        connection.execute("INSERT INTO t VALUES (DEFAULT); COMMENT ON TABLE t IS NULL; DROP VIEW v").unwrap();
        assert_eq!(comments(&connection).len(), expected.len() - 2);
        // Numbers taken under another comment stay taken.
        let rows: Vec<_> = connection.query("SELECT 1 WHERE nextval('s.q') <= 2").unwrap().collect();
        assert!(rows.into_iter().all(|batch| batch.unwrap().num_rows() == 0));
    }
}

/// Two transactions that change the same schema: neither reverts the other's comment.
#[test]
fn a_schema_is_used_while_it_is_commented() {
    let database = Database::open(":memory:").unwrap();
    let (one, other) = (database.connect(), database.connect());
    one.execute("CREATE SCHEMA s; BEGIN; CREATE TABLE s.t (i INTEGER)").unwrap();
    other.execute("COMMENT ON SCHEMA s IS 'kept'").unwrap();
    one.execute("COMMIT").unwrap();
    assert_eq!(comments(&one), ["s SCHEMA kept"]);
}
